"""Learn from annotated trees: boosted trees over the frozen span model of a pipeline, scored on the dev part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.core.parser import Parser
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import TrainingDataError
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
from .statements import ParserCorrector, choose_way

WITH_SPAN_MODEL = FitRecipe.from_json(Path(__file__).parents[1] / "recipes" / "sample_read.json")
WITHOUT_SPAN_MODEL = FitRecipe.from_json(Path(__file__).parents[1] / "recipes" / "sample.json")


@dataclass(frozen=True)
class Learned:
    """A parser that was trained on `trees` trees. `f1`, `before`: its F1 on the dev trees, in per cent, and that of the
    parser used so far; `statements`, `statements_before`: statements of a simulated annotator about each dev tree, with
    either parser; `reparses`: whether fewer are needed if the parser parses again after each (see `Corrector`)."""

    parser: DtreeParser
    trees: int
    f1: float
    before: float
    statements: tuple[int, ...]
    statements_before: tuple[int, ...]
    reparses: bool = True

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
        }


def annotated_sentences(trees: Sequence[Tree], tags: Sequence[Sequence[str]]) -> list[Sentence]:
    """Return trees as training sentences, with the tags that the parser will get."""
    return [
        Sentence(Tree(map(raw_word, one.words), one.tags, one.labels, one.starts, one.ends), tuple(row), "annotated")
        for one, row in zip(trees, tags, strict=True)
    ]


def frozen_span_model(parser: Parser | None) -> SpanParser | None:
    """Return the span model of a parser; None if it has none."""
    inner: Any = None if parser is None else parser.inner_parser
    found = inner if isinstance(inner, SpanParser) else getattr(inner, "span_parser", None)
    return found if isinstance(found, SpanParser) else None


@lock_dir("workdir")
def learn(
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    workdir: Path,
    current: Any,
    span_model: SpanParser | None = None,
    labels: Sequence[str] = (),
    lang: str = "en",
) -> Learned:
    """Train boosted trees; a killed run is resumed from `workdir`.

    `current`: the parser used so far, or anything with its `parse`. `span_model`: whose marginals are features, and
    which stays unchanged. `labels`: those that trees may have besides those of the trees given. λ is chosen on the dev
    part, too, so the new scores are a little too good. Raises TrainingDataError without a tree in one of the parts.
    """
    for name, part in (("train", train), ("dev", dev)):
        if not part:
            raise TrainingDataError(f"the {name} part has no accepted tree yet; annotate more")
    if span_model is not None and not has_known_tags(span_model, train):
        span_model = None
    recipe = replace(WITHOUT_SPAN_MODEL if span_model is None else WITH_SPAN_MODEL, n_workers=1)
    run = BoostingRun(recipe, train, dev, workdir, {"lang": lang}, Resources(span_model))
    parser = DtreeParser(run.run()[0])
    known = sorted({*labels, *(label for one in (*train, *dev) for label in one.tree.labels)} - {TOP})
    corrector, used = ParserCorrector(parser, known), ParserCorrector(current, known)
    counts = choose_way(corrector, dev), choose_way(used, dev)
    return Learned(parser, len(train), f1_of(parser, dev), f1_of(current, dev), *counts, corrector.reparses)


def f1_of(parser: Any, sentences: Sequence[Sentence]) -> float:
    """Return F1 of all brackets of a parser, or of anything with its `parse`, in per cent."""
    report = score_trees(sentences, parse_sentences(parser, sentences))[0]
    return 100 * float(report.to_dict()["all"]["f1"])
