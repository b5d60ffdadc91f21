"""Parts of speech of a dependency treebank by taggers that have not seen its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacy_dtparse.features.linear.linkparts import TextRules
from spacy_dtparse.parsers.tagging import SequenceTagger

from ..data.dependencies import DependencySentence
from ..data.parts_of_speech import part_labels, with_labels
from .corpus import LabelledSentence
from .fitting import Tell, fit_tagger
from .options import SequenceOptions
from .running import jackknifed


@dataclass(frozen=True)
class Jackknife:
    """How a treebank is tagged for `dependency.running.fit_dependency`: by how many taggers."""

    folds: int

    def tag(
        self, train: Sequence[DependencySentence], rules: TextRules, folder: Path, workers: int, say: Tell,
        meta: dict[str, Any],
    ) -> tuple[list[DependencySentence], SequenceTagger]:
        """See `jackknifed_tags`."""
        return jackknifed_tags(train, rules, SequenceOptions(), self.folds, folder, workers, say, meta)


def jackknifed_tags(
    train: Sequence[DependencySentence],
    rules: TextRules,
    options: SequenceOptions,
    folds: int,
    folder: Path,
    workers: int = 2,
    say: Tell = lambda **_: None,
    meta: dict[str, Any] | None = None,
) -> tuple[list[DependencySentence], SequenceTagger]:
    """The training sentences with parts of speech of taggers that have not seen them, and a tagger of them all for
    others. A finished fold is kept in the `folder`; `workers`: folds at a time; `meta`: facts for the tagger's model.

    Raises TrainingDataError where there are fewer blocks of sentences than folds.
    """
    gold = [LabelledSentence(tuple(s.columns.words), (), part_labels(s, rules)) for s in train]
    found, scores = jackknifed(gold, options, folds, folder, workers, say=say)
    say(tags_words=scores["words"], tags_accuracy=scores["accuracy"])
    facts = {**(meta or {}), "jackknifed": scores["accuracy"]}
    model = fit_tagger(gold, (), options, folder / "all", facts, workers, say)
    sentences = [with_labels(sentence, own.labels) for sentence, own in zip(train, found, strict=True)]
    return sentences, SequenceTagger(model)
