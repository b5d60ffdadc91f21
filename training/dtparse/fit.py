"""Train a boosted-tree parser: from treebanks and tags to a model file. A killed run resumes from its working
folder."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse import __version__
from spacy_dtparse.core import Parser
from spacy_dtparse.core import load_span_parser as load_span_model
from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.features.templates import compile_templates
from spacy_dtparse.dtparse.kernels import features as k
from spacy_dtparse.dtparse.kernels.atoms import AtomMap
from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble, empty_ensemble
from spacy_dtparse.dtparse.model.model import SHIFT, DtreeModel, compose, renumber, used_atoms
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError
from spacy_dtparse.models import SPAN_MODEL, find_model
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import TOP

from ..data.corpus import Sentence
from ..data.evaluate import parse_sentences, score_trees
from ..data.reading import load_tagger
from ..data.tag_mapping import has_known_tags, map_tags
from ..data.treebanks import TreebankFile, read_files, span_model_treebanks, training_origin
from ..runs.files import append_line, read_lines, write_atomically
from ..runs.lock import lock_dir
from ..runs.metrics_log import log_metrics
from ..runs.processes import optional_pool
from .boosting.labels import Label
from .boosting.path import PathResult, train_path
from .boosting.path_log import LOG_FILE, plot_path, seconds_used
from .boosting.store import open_store
from .examples import Replayer
from .recipe import FitRecipe
from .stores import ExampleStores
from .training_set import Resources, make_training_set, short_sentences

NOTHING = Resources()


class BoostingRun:
    """One training run in a working folder.

    `sentences`: training sentences; `dev`: sentences whose F1 chooses λ. `meta`: entries for the model's meta. `large`:
    see `ExampleStores`.
    """

    def __init__(
        self,
        recipe: FitRecipe,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        workdir: str | Path,
        meta: dict[str, Any] | None = None,
        resources: Resources = NOTHING,
        large: Callable[..., dict[str, dict[str, Any]]] | None = None,
    ):
        self.recipe, self.meta, self.workdir = recipe, meta or {}, Path(workdir)
        self.dev, self.span_parser = short_sentences(recipe, dev), resources.span_parser
        self.workdir.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        self.data = make_training_set(recipe, sentences, self.meta.get("lang", "en"), resources)
        self.log("corpus", seconds=time.perf_counter() - began, **self.data.report)
        self.stores = ExampleStores(recipe, self.data, self.workdir, self.log, large)

    def log(self, step: str, **values: Any) -> None:
        """Print a finished step, and append it to fit.jsonl."""
        printed = {name: value for name, value in values.items() if value and not isinstance(value, dict | list)}
        log_metrics(None, did=step, **printed)
        append_line(self.workdir / "fit.jsonl", {"what": step, **values})

    def model(self, ensembles: dict[str, LabelEnsemble], atoms: AtomMap, named: bool = False) -> DtreeModel:
        """Build a model of the given ensembles; `named`: with the parts of its hashed atoms (needs a replay)."""
        recipe, data, span_parser = self.recipe, self.data, self.span_parser
        ordered = [ensembles.get(name, empty_ensemble()) for name in (*data.lexicon.labels, SHIFT)]
        atom_ids = used_atoms(ordered, int(atoms.state[0]))
        used = compose(atoms, atom_ids)
        described = {name: value for name, value in recipe.to_stored().items() if name != "n_workers"}  # no matter
        return DtreeModel(
            data.lexicon,
            data.templates,
            data.heads,
            recipe.strategy,
            recipe.max_arity,
            recipe.edge_punctuation,
            recipe.preprocessing,
            used,
            self._atom_parts(used, named),
            tuple(renumber(ensemble, atom_ids) for ensemble in ordered),
            {**self.meta, "recipe": described},
            self.stores.window_filter,
            b"" if span_parser is None else span_parser.to_bytes(),
            data.labels,
        )

    def _atom_parts(self, atoms: AtomMap, named: bool) -> np.ndarray:
        """The parts of hashed atoms, int32 (n_atoms, PARTS_WIDTH), from a replay of derivations; 0 unless `named`."""
        n_atoms, data = int(atoms.state[0]), self.data
        parts = np.zeros((n_atoms, k.PARTS_WIDTH), dtype=INDEX)
        if named and n_atoms:
            table, _ = compile_templates(data.templates, data.lexicon.sizes)
            replayer = Replayer(data.grammar, data.head_table, table, atoms, n_atoms, parts)
            hashed = atoms.values[atoms.keys != 0]
            for n in data.sample_indices(self.recipe.atom_sentences, self.recipe.seed):
                replayer.run(data.derivations[n])
                if n % 256 == 0 and bool((parts[hashed, 1] > 0).all()):
                    break
        return parts

    def _dev_scores(self, atoms: AtomMap, ensembles: dict[str, LabelEnsemble]) -> dict[str, float]:
        """Scores of ensembles on the dev sentences, for the λ path."""
        began = time.perf_counter()
        settings = SearchSettings(budget=self.recipe.dev_budget)
        parser = DtreeParser(self.model(ensembles, atoms), settings, span_parser=self.span_parser)
        scores = parser_scores(parser, self.dev[:: max(1, len(self.dev) // self.recipe.dev_sentences)])
        return {**scores, "seconds": time.perf_counter() - began}

    def run(self) -> tuple[DtreeModel, PathResult]:
        """Train and return the model of the best λ; the log, checkpoints and the plot are in the working folder."""
        atoms = self.stores.prepare()
        began, n_workers = time.perf_counter(), self.recipe.n_workers
        labels = [Label(name, n, "top" if name == TOP else "window") for n, name in enumerate(self.data.lexicon.labels)]
        if self.recipe.strategy == "shift_reduce":
            labels.insert(0, Label(SHIFT, len(labels), "shift"))
        stores = {label.store: self.workdir / "stores" / label.store for label in labels}
        empty = {name for name, folder in stores.items() if not open_store(str(folder)).n_examples}
        if "window" in empty:
            raise TrainingDataError("the span model decides all these trees, so there is nothing to learn; give others")
        labels = [label for label in labels if label.store not in empty]  # the span model decides all others
        stores = {name: folder for name, folder in stores.items() if name not in empty}
        config = replace(self.recipe.path, learner=self.recipe.learner, n_workers=n_workers)
        evaluate = partial(self._dev_scores, atoms) if self.dev else None
        with optional_pool(n_workers) as pool:
            result = train_path(stores, labels, config, pool, self.workdir / "path", evaluate)
        self.log("path", seconds=time.perf_counter() - began, stopped=result.stopped, notes=result.notes)
        plot_path({self.recipe.name: result.rows}, self.workdir / "f1.svg")
        return self.model(result.ensembles, atoms, named=True), result


def parser_scores(parser: DtreeParser, dev: Sequence[Sentence]) -> dict[str, float]:
    """PARSEVAL of a parser with the sentences' tags: f1 (all brackets) and f1_evalb, from 0 to 1."""
    scores = score_trees(dev, parse_sentences(parser, dev))[0].to_dict()
    return {"f1": scores["all"]["f1"], "f1_evalb": scores["evalb"]["f1"]}


def load_span_parser(source: str | Path) -> SpanParser:
    """Load the span parser of a model file, or of an English model by name, which may be the span model inside boosted
    trees; "en": that of en_span. Raises ModelFormatError for another kind of model."""
    span_parser = load_span_model(find_model(SPAN_MODEL if str(source) == "en" else source))
    if not isinstance(span_parser, SpanParser):
        raise ModelFormatError(
            f"{source} is a model of kind {span_parser.name!r}; the span model must be of kind 'span' or 'pretrained': "
            "train one with python -m training train-span, or teacher fit and teacher export"
        )
    return span_parser


def replace_span_model(parser: Parser, source: Path) -> DtreeParser:
    """Boosted trees with the span parser of `source` in the place of theirs, and with its credits. Raises ConfigError
    unless `parser` has a span model, ModelFormatError if the label chains differ or `source` is another model."""
    if not isinstance(parser, DtreeParser) or parser.span_parser is None:
        raise ConfigError("this parser has no span model inside; give boosted trees that have one, such as en_dtparse")
    span_parser, model = load_span_parser(source), parser.model
    credits = list(dict.fromkeys([*model.meta.get("credits", []), *span_parser.meta.get("credits", [])]))
    meta = {**model.meta, **_span_model_facts(span_parser), "credits": credits}
    return DtreeParser(replace(model, span_model=span_parser.to_bytes(), meta=meta), parser.settings)


def _span_model_facts(span_parser: SpanParser) -> dict[str, Any]:
    """The entry of a model's meta that names its span model."""
    return {"reader": {name: span_parser.meta.get(name) for name in ("name", "version", "license", "treebanks")}}


def limit_minutes(recipe: FitRecipe, minutes: float | None, workdir: Path) -> FitRecipe:
    """The recipe with the time that is left of `minutes` for the λ path of a working folder."""
    if minutes is None:
        return recipe
    left = max(1.0, 60 * minutes - seconds_used(read_lines(workdir / "path" / LOG_FILE)))
    limit = recipe.path.budget_seconds
    return replace(recipe, path=replace(recipe.path, budget_seconds=left if limit is None else min(left, limit)))


@lock_dir("workdir")
def train_boosted_parser(
    recipe: FitRecipe,
    train: Sequence[TreebankFile],
    dev: Sequence[TreebankFile],
    workdir: Path,
    out: Path,
    meta: dict[str, Any] | None = None,
    resources: Resources = NOTHING,
    span_model_tagger: str | None = None,
) -> PathResult:
    """Train a parser and write it to `out`; an unfinished run in `workdir` is resumed. `span_model_tagger`: a pipeline
    with the tag set of the span model, "embedded": the English one; used to map the treebanks' tags if the span model
    does not have them.

    `meta`: entries added to the model's meta (treebanks, licence, credits, dev scores). Raises TrainingDataError and
    ConfigError for unusable input.
    """
    sentences, held_out = read_files(train), read_files(dev)
    metadata = _metadata(train, sentences, resources)
    if resources.span_parser is not None:
        span_parser = _map_unknown_tags(resources.span_parser, sentences, span_model_tagger)
        resources = replace(resources, span_parser=span_parser)
    model, result = BoostingRun(recipe, sentences, held_out, workdir, {**metadata, **(meta or {})}, resources).run()
    best = result.best or {}
    chosen = {name: best.get(name) for name in ("lambda", "parameters", "trees")}
    scores = {name: score for name, score in best.get("scores", {}).items() if name != "seconds"}  # the bytes are equal
    model.meta["fit"] = {**chosen, "dev": scores, "stopped": result.stopped}
    write_atomically(out, DtreeParser(model).to_bytes())
    return result


def _metadata(train: Sequence[TreebankFile], sentences: Sequence[Sentence], resources: Resources) -> dict[str, Any]:
    """Entries for a model's meta: treebanks, licence and credits of the training data and of the span model."""
    counts = Counter(sentence.source for sentence in sentences)
    span_parser = resources.span_parser
    about = {} if span_parser is None else _span_model_facts(span_parser)
    origin = training_origin(train, span_model_treebanks(about), resources.texts)
    if span_parser is not None:
        origin["credits"] = list(dict.fromkeys([*origin["credits"], *span_parser.meta.get("credits", [])]))
    return {
        "version": __version__,
        "treebanks": [
            {"name": f.name, "sentences": counts[f.name], "weight": f.weight, "tags": "predicted" if f.tags else "gold"}
            for f in train
        ],
        **{key: value for key, value in origin.items() if key != "notices"},
        **about,
    }


def _map_unknown_tags(span_parser: SpanParser, sentences: Sequence[Sentence], tagger: str | None) -> SpanParser:
    """The span parser, with the sentences' tags mapped to its own by a `tagger` if it does not have them."""
    if has_known_tags(span_parser, sentences):
        return span_parser
    if tagger is None:
        log_metrics(
            None,
            note="the span model was trained on other tags than these trees have, and uses only their words: give "
            "--span-model-tagger",
        )
        return span_parser
    span_parser = map_tags(span_parser, sentences, load_tagger(None if tagger == "embedded" else tagger))
    mapping = ", ".join(f"{tag} for {other}" for tag, other in list(span_parser.model.words.aliases.items())[:8])
    log_metrics(None, note=f"the span model replaces unknown tags by known ones: {mapping} …")
    return span_parser
