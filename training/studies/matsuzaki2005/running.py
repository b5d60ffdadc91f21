"""One run of the plan: train, parse dev in every view, write result.json. Finished cycles and views are kept."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from spacy_dtparse import __version__
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.parsers import load_parser
from spacy_dtparse.parsers.pcfg import PcfgParser

from ...data.corpus import Sentence
from ...data.evaluate import score_parser
from ...pcfg.latent_training import describe_latent, train_latent
from ...runs.files import append_line, read_lines, write_atomically, write_json
from ..sources import Sources, corpus_sources, every
from .plan import Run, View

RESULT, LOG, MODEL = "result.json", "log.jsonl", "model"
KEPT = ("all", "evalb", "tag_accuracy", "sentences", "tokens", "seconds", "tokens_per_second", "status")


@dataclass
class Study:
    """What all runs of one call share. `corpus`: folder of treebanks. `tags`: folder of predicted tags, None: views
    with predicted tags are left out. `out`: a run has the folder `out`/NAME. `scale`: share of all sentences."""

    corpus: Path
    tags: Path | None
    out: Path
    threads: int = 2
    scale: float = 1.0
    command: tuple[str, ...] = ()
    _sources: dict[str, Sources] = field(default_factory=dict)

    def sources(self, treebank: str) -> Sources:
        """The trees of a treebank with gold tags."""
        if treebank not in self._sources:
            self._sources[treebank] = corpus_sources(self.corpus, [treebank], None, self.scale)
        return self._sources[treebank]

    def predicted(self, treebank: str) -> tuple[Sentence, ...]:
        """The dev sentences with the tagger's tags."""
        from ...data.treebanks import corpus_files, read_files

        return every(read_files(corpus_files(self.corpus, [treebank], "dev", self.tags)), self.scale)


def execute(run: Run, study: Study) -> tuple[dict[str, Any], bool]:
    """(the run's result, whether anything was made now). Views that the result of the same facts has stay as they are.

    Raises TrainingDataError and ConfigError for what cannot be used.
    """
    sources = study.sources(run.treebank)
    options = {name: value for name, value in describe_latent(run.options).items() if name != "candidates" or value}
    facts = {"run": run.name, "options": options, "data": sources.facts()}
    facts = json.loads(json.dumps(facts))
    folder = study.out / run.name
    path = folder / RESULT
    held = read_result(path)
    if held is not None and held["facts"] != facts:
        raise TrainingDataError(
            f"{path} is of other trees or options; delete its folder to make it again, or give another --out"
        )
    wanted = [view for view in run.views if study.tags is not None or view.tags != "predicted"]
    views = {} if held is None else dict(held["views"])
    todo = [view for view in wanted if view.name not in views]
    if held is not None and not todo:
        return held, False
    model = folder / MODEL
    result = held or {"facts": facts, **_train(run, study, sources, model)}
    parser = load_parser(model)
    if not isinstance(parser, PcfgParser):
        raise ConfigError(f"{model} is no PCFG; delete {folder} to make it again")
    for view in todo:
        views[view.name] = _look(view, run, parser, study)
        result |= {
            "views": views,
            "command": list(study.command),
            "version": __version__,
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
        write_json(path, result)
    return result, True


def _train(run: Run, study: Study, sources: Sources, model: Path) -> dict[str, Any]:
    folder = model.parent
    folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()

    def log(**facts: object) -> None:
        append_line(folder / LOG, facts)

    made = train_latent(sources.train, run.options, {"name": run.name}, study.threads, folder / "cycles", log)
    write_atomically(model, PcfgParser(made).to_bytes())
    rows = [row for row in read_lines(folder / LOG) if row["step"] == "em"]
    last = next((row for row in reversed(rows) if row["held_out"] is not None), rows[-1] if rows else None)
    n = len(sources.train) - made.meta["left_out"]
    step = run.options.hold_out
    n_learned = n - (-(-n // step) if step and n >= step else 0)
    return {
        "train_seconds": round(time.perf_counter() - began, 1),
        "sentences": n,
        "train_log": None if last is None else last["log_likelihood"] / n_learned,
        "held_out_log": None if last is None else last["held_out"],
        "values": [int(part.sizes.sum()) for part in made.latent],
        "parameters": [int((part.values > 0).sum()) + len(part.emissions.symbol) for part in made.latent],
        "megabytes": model.stat().st_size / 1e6,
    }


def _look(view: View, run: Run, parser: PcfgParser, study: Study) -> dict[str, Any]:
    gold: Sequence[Sentence] = study.sources(run.treebank).dev
    if not gold:
        raise TrainingDataError(f"{run.treebank} has no dev part; give a folder with {run.treebank}/dev.mrg")
    given = study.predicted(run.treebank) if view.tags == "predicted" else gold
    pairs = [(a, b.tags) for a, b in zip(gold, given, strict=True) if view.most is None or len(a.tags) <= view.most]
    if not pairs:
        raise TrainingDataError(f"no dev sentence of {run.treebank} has at most {view.most} words")
    sentences = [replace(sentence, tags=sentence.tree.tags) for sentence, _ in pairs]
    used = [tags if view.tags == "predicted" else sentence.tree.tags for sentence, tags in pairs]
    chosen = parser.with_settings(tags="own" if view.tags == "own" else "given", **view.settings)
    found = score_parser(chosen, sentences, used)
    return {"settings": {**view.settings, "tags": view.tags, "most": view.most}, **{key: found[key] for key in KEPT}}


def read_result(path: Path) -> dict[str, Any] | None:
    """A run's result; None when there is none. Raises ConfigError when it is damaged."""
    if not path.is_file():
        return None
    try:
        held = json.loads(path.read_text(encoding="utf8"))
        return {**held, "facts": held["facts"], "views": held["views"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is no readable result ({error!r}); delete it to make it again") from error
