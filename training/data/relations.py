"""Relations of dependencies as labels of tokens: what a span network may learn to predict beside the constituents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.errors import TrainingDataError

from .corpus import Sentence
from .phrase_trees import read_sentences
from .treebanks import CONLLU, TreebankFile

if TYPE_CHECKING:
    from .spans import SpanExample

MIN_COUNT = 5
"""Rarer relations are not predicted."""


def directional_relations(heads: Sequence[int], relations: Sequence[str]) -> tuple[str, ...]:
    """The relation of each token without its subtype, and the side of its head: `nsubj>` if the head follows, `obj<` if
    it precedes, `root` without a head. `heads`: 0-based, -1 for the root."""
    return tuple(
        relation.partition(":")[0] + ("" if head < 0 else "<" if head < i else ">")
        for i, (head, relation) in enumerate(zip(heads, relations, strict=True))
    )


def with_relations(sentences: Sequence[Sentence], path: Path) -> list[Sentence]:
    """Add the relations of a CoNLL-U file to the first sentences of a treebank. Raises TrainingDataError if there is no
    such file, or if it has other sentences."""
    if not path.is_file():
        raise TrainingDataError(f"there is no file {path}; give the dependencies of the trees")
    found = [directional_relations(one.heads, one.relations) for one in read_sentences(path)][: len(sentences)]
    if [len(one) for one in found] != [len(sentence.tags) for sentence in sentences]:
        raise TrainingDataError(f"{path} has the dependencies of other sentences; convert the treebank again")
    return [replace(sentence, relations=one) for sentence, one in zip(sentences, found, strict=True)]


def with_relation_files(files: Iterable[TreebankFile]) -> list[TreebankFile]:
    """Add the CoNLL-U file of the same name to each file of trees beside which there is one, as `convert` writes it."""
    links = ((file, file.path.with_suffix(CONLLU)) for file in files)
    return [replace(file, relations=path) if path.is_file() else file for file, path in links]


def list_relations(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    """The relations that occur at least MIN_COUNT times, sorted."""
    counts = Counter(relation for sentence in sentences for relation in sentence.relations)
    return tuple(sorted(relation for relation, times in counts.items() if times >= MIN_COUNT))


def add_relations(example: SpanExample, sentence: Sentence, relations: Sequence[str]) -> SpanExample:
    """The example with the indices of the sentence's relations in a list of relations; -1: not listed."""
    if not sentence.relations:
        return example
    ids = {relation: i for i, relation in enumerate(relations)}
    indices = np.full(len(example.rows), -1, dtype=INDEX)
    indices[1:-1] = [ids.get(relation, -1) for relation in sentence.relations]
    return replace(example, relations=indices)
