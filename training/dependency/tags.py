"""Parts of speech of a dependency treebank by taggers that have not seen its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spacy_dtparse.features.linkparts import TextRules
from spacy_dtparse.parsers.tagging import SequenceTagger

from ..sequence.corpus import LabelledSentence
from ..sequence.fitting import Tell, fit_tagger
from ..sequence.options import SequenceOptions
from ..sequence.running import jackknifed
from .corpus import DependencySentence

_BETWEEN, _NOTHING = "|", "-"


def labelled(sentence: DependencySentence, rules: TextRules) -> LabelledSentence:
    """What a tagger learns from a sentence: of its parts of speech, coarse and fine ("NOUN|NN"), all that `rules` read;
    characters of a positional tag that they pass over are "-".
    """
    tags, pos = sentence.columns.tags, sentence.columns.pos
    if rules.places:
        tags = tuple(
            "".join(char if place in rules.places else _NOTHING for place, char in enumerate(tag)) for tag in tags
        )
    none = ("",) * len(sentence.heads)
    return LabelledSentence(
        tuple(sentence.columns.words),
        (),
        tuple(
            f"{coarse}{_BETWEEN}{fine}"
            for coarse, fine in zip(
                none if rules.source == "tag" else pos, none if rules.source == "pos" else tags, strict=True
            )
        ),
    )


def with_labels(sentence: DependencySentence, labels: Sequence[str]) -> DependencySentence:
    """The sentence with parts of speech from labels such as `labelled` gives."""
    parts = [label.partition(_BETWEEN) for label in labels]
    columns = sentence.columns._replace(tags=tuple(fine for *_, fine in parts), pos=tuple(part[0] for part in parts))
    return replace(sentence, columns=columns)


def retagged(tagger: SequenceTagger, sentences: Sequence[DependencySentence]) -> list[DependencySentence]:
    """The sentences with parts of speech by a tagger of such labels."""
    return [with_labels(sentence, tagger.tag(sentence.columns.words)) for sentence in sentences]


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
    gold = [labelled(sentence, rules) for sentence in train]
    found, scores = jackknifed(gold, options, folds, folder, workers, say=say)
    say(tags_words=scores["words"], tags_accuracy=scores["accuracy"])
    facts = {**(meta or {}), "jackknifed": scores["accuracy"]}
    model = fit_tagger(gold, (), options, folder / "all", facts, workers, say)
    sentences = [with_labels(sentence, own.labels) for sentence, own in zip(train, found, strict=True)]
    return sentences, SequenceTagger(model)
