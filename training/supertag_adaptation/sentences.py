"""The parser's trees as sentences, and sentences with the categories that a tagger learns."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.trees import Recipe, Tree, parse_tree

from ..data.corpus import Sentence
from ..data.spines import categorised
from ..loglinear_tagger.corpus import LabelledSentence
from ..self_train.selecting import WHOLE
from ..self_train.teaching import Lesson

HELD_OUT = 10
"""One of so many sentences is not learned from."""
_BLOCK = 10
"""At most so many neighbours are held out together: sentences of one text are alike."""
_LEARNED = (*WHOLE, "greedy")
"""Statuses of parses that are learned from."""


def split(lesson: Lesson) -> tuple[list[Sentence], list[Sentence]]:
    """(trees to learn from, in an order of their own that does not change; held out). The first are without those that
    the parser did not finish, the others are all of every tenth block of neighbours.

    Raises TrainingDataError for fewer sentences than HELD_OUT, and when there is nothing left to learn from.
    """
    n = len(lesson.sentences)
    if n < HELD_OUT:
        raise TrainingDataError(f"{n} sentences are too few to learn from and to measure on; give more text")
    block = max(1, min(_BLOCK, n // (HELD_OUT * _BLOCK)))
    train: list[Sentence] = []
    held: list[Sentence] = []
    for number, (sentence, taught) in enumerate(zip(lesson.sentences, lesson.trees, strict=True)):
        shape = parse_tree(taught.tree)
        tree = Tree.trusted(sentence.words, sentence.tags, shape.labels, shape.starts, shape.ends)
        name = lesson.counts[sentence.file]["name"]
        if number // block % HELD_OUT == HELD_OUT - 1:
            held.append(Sentence(tree, sentence.tags, name))
        elif taught.status in _LEARNED:
            train.append(Sentence(tree, sentence.tags, name))
    if not train:
        raise TrainingDataError(
            f"the parser finished none of the {n} sentences; give other text, or boosted trees a larger budget"
        )
    random.Random(0).shuffle(train)
    return train, held


def labelled(
    sentences: Sequence[Sentence], recipe: Recipe, categories: Callable[[Tree], Sequence[str]]
) -> list[LabelledSentence]:
    """The words and tags that parser and tagger get, with the categories of the tree that the parser builds (see
    `categorised`); a token that the recipe takes out has that of the tree as it is.

    Raises TrainingDataError for a tree that has no categories.
    """
    made = []
    for sentence, tokens in zip(sentences, categorised(sentences, recipe, categories), strict=True):
        words, tags = sentence.tree.words, sentence.tags
        labels = [token.category for token in tokens]
        if len(labels) < len(words):
            own, labels = labels, [t.category for t in categorised([sentence], Recipe(()), categories)[0]]
            for place, label in zip(recipe.prepare(words, tags).kept, own, strict=True):
                labels[place] = label
        made.append(LabelledSentence(words, tags, tuple(labels)))
    return made
