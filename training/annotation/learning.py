"""Learn from annotated trees, scored on the dev part: boosted trees over the frozen span model of a pipeline, and from
some number of trees on also the network of the span model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.span_parser.model import SpanModel
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.text import raw_word
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.tree import TOP

from ..data.corpus import Sentence
from ..data.evaluate import parse_sentences, score_trees
from ..data.tag_mapping import has_known_tags
from ..dtparse.fit import BoostingRun
from ..dtparse.recipe import FitRecipe
from ..dtparse.training_set import Resources
from ..runs.lock import lock_dir
from ..span_parser.fitting import make_model, make_training_data, train_network
from .jackknife import FINE_TUNING, NEW_NETWORK
from .recalibrating import recalibrate
from .statements import ParserCorrector, choose_way

WITH_SPAN_MODEL = FitRecipe.from_json(Path(__file__).parents[1] / "recipes" / "sample_read.json")
WITHOUT_SPAN_MODEL = FitRecipe.from_json(Path(__file__).parents[1] / "recipes" / "sample.json")


@dataclass(frozen=True)
class Learned:
    """A parser that was trained on `trees` trees. `f1`, `before`: its F1 on the dev trees, in per cent, and that of the
    parser used so far; `statements`, `statements_before`: statements of a simulated annotator about each dev tree, with
    either parser; `reparses`: whether fewer are needed if the parser parses again after each (see `Corrector`); `kind`:
    "trees" or "network"; `calibrated`: whether its probabilities were calibrated on the dev trees; `compared`: F1 on
    the dev trees and statements per tree of each kind that was trained."""

    parser: Any
    trees: int
    f1: float
    before: float
    statements: tuple[int, ...]
    statements_before: tuple[int, ...]
    reparses: bool = True
    kind: str = "trees"
    calibrated: bool = False
    compared: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def better(self) -> bool:
        """Whether it needs fewer statements than the parser used so far: the mean of the differences, tree by tree, is
        above its standard error. A small dev part cannot show small differences."""
        differences = np.subtract(self.statements_before, self.statements, dtype=float)
        if len(differences) < 2:
            return False
        return float(differences.mean()) > float(differences.std(ddof=1)) / len(differences) ** 0.5

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the parser; statements are means per tree."""
        return {
            "trees": self.trees,
            "dev": len(self.statements),
            "f1": round(self.f1, 2),
            "before": round(self.before, 2),
            "statements": round(float(np.mean(self.statements)), 3),
            "statements_before": round(float(np.mean(self.statements_before)), 3),
            "better": self.better,
            "reparses": self.reparses,
            "kind": self.kind,
            "calibrated": self.calibrated,
            "compared": {kind: [round(f1, 2), round(mean, 3)] for kind, (f1, mean) in self.compared.items()},
        }


def annotated_sentences(trees: Sequence[Tree], tags: Sequence[Sequence[str]]) -> list[Sentence]:
    """Return trees as training sentences, with the tags that the parser will get."""
    return [
        Sentence(Tree(map(raw_word, one.words), one.tags, one.labels, one.starts, one.ends), tuple(row), "annotated")
        for one, row in zip(trees, tags, strict=True)
    ]


@dataclass(frozen=True)
class Start:
    """The start of a training. `span_model`: whose marginals are features of boosted trees; `labels`: those that
    trees may have besides those of the trees given; `network_from`: number of trees from which a network is trained,
    too (None: never)."""

    span_model: SpanParser | None = None
    labels: Sequence[str] = ()
    lang: str = "en"
    network_from: int | None = None


@lock_dir("workdir")
def learn(
    train: Sequence[Sentence], dev: Sequence[Sentence], workdir: Path, current: Any, start: Start = Start()
) -> Learned:
    """Train boosted trees over the frozen span model, and from `start.network_from` trees on a network; return the
    parser that needs fewer statements on the dev part. A killed run is resumed from `workdir`.

    `current`: the parser used so far, or anything with its `parse`. λ and the parser are chosen on the dev part, and
    its probabilities are calibrated on it, so the new scores are a little too good. Raises TrainingDataError without a
    tree in one of the parts.
    """
    for name, part in (("train", train), ("dev", dev)):
        if not part:
            raise TrainingDataError(f"the {name} part has no accepted tree yet; annotate more")
    span_model = start.span_model
    if span_model is not None and not has_known_tags(span_model, train):
        span_model = None
    recipe = replace(WITHOUT_SPAN_MODEL if span_model is None else WITH_SPAN_MODEL, n_workers=1)
    run = BoostingRun(recipe, train, dev, workdir, {"lang": start.lang}, Resources(span_model))
    parsers: dict[str, Any] = {"trees": DtreeParser(run.run()[0])}
    if start.network_from is not None and len(train) >= start.network_from:
        parsers["network"] = SpanParser(train_span_model(train, span_model, workdir, start.lang))
    known = sorted({*start.labels, *(label for one in (*train, *dev) for label in one.tree.labels)} - {TOP})
    used = ParserCorrector(current, known)
    before, found = choose_way(used, dev), {}
    for kind, parser in parsers.items():
        corrector = ParserCorrector(parser, known)
        found[kind] = choose_way(corrector, dev), corrector.reparses
    kind = min(found, key=lambda name: sum(found[name][0]))
    parser, calibrated = recalibrate(parsers[kind], dev, getattr(current, "calibration", None))
    f1 = f1_of(parser, dev), f1_of(current, dev)
    compared = {name: (f1_of(parsers[name], dev), float(np.mean(one[0]))) for name, one in found.items()}
    return Learned(parser, len(train), *f1, found[kind][0], before, found[kind][1], kind, calibrated, compared)


def train_span_model(
    train: Sequence[Sentence], span_parser: SpanParser | None, workdir: Path, lang: str = "en"
) -> SpanModel:
    """Train a span model on few trees: the networks of a span parser further, if it knows the labels of the trees, or
    else a new network. A killed run is resumed from `workdir`, each network from the last state that was saved."""
    model = None if span_parser is None else span_parser.model
    labels = {label for one in train for label in one.tree.labels} - {TOP}
    if model is not None and labels.issubset(span_parser.labels if span_parser else ()):
        options = replace(FINE_TUNING, seeds=tuple(range(len(model.networks))))
    else:
        options, model = NEW_NETWORK, None
    data = make_training_data(train, (), options, start=model)
    networks = [train_network(data, options, seed, workdir) for seed in options.seeds]
    return make_model(data, networks, {"lang": lang})


def f1_of(parser: Any, sentences: Sequence[Sentence]) -> float:
    """Return F1 of all brackets of a parser, or of anything with its `parse`, in per cent."""
    report = score_trees(sentences, parse_sentences(parser, sentences))[0]
    return 100 * float(report.to_dict()["all"]["f1"])
