"""Sentences of the sample treebanks, and options of small dependency parsers."""

from __future__ import annotations

from pathlib import Path

from spacy_dtparse.bpm_parser.features import LinkParts, TextRules
from training.bpm_parser.fitting import make_examples
from training.bpm_parser.learning import Example
from training.bpm_parser.options import DependencyOptions
from training.data.dependencies import DependencySentence, read_conllu

SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample"
CONLLU = SAMPLE / "dependencies.conllu"

FEW = DependencyOptions(
    stages=2, members=2, epochs=2, folds=2, guide_members=1, label_members=1, label_epochs=2, seed=3
)


def sentences() -> list[DependencySentence]:
    return list(read_conllu(CONLLU))


def examples_of(found: list[DependencySentence], rules: TextRules | None = None) -> list[Example]:
    return make_examples(found, LinkParts.build((s.columns for s in found), rules or TextRules()))
