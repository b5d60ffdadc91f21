"""Write `token.head`, `token.dep_` and sentence roots of a Doc."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.tokens import Doc

from .sentences import WordPositions

ROOT = "ROOT"
"""`token.dep_` of a sentence's root, as everywhere in spaCy."""
OTHER = "dep"
"""`token.dep_` of white space, and of all dependencies if a model has no labels."""


class UnlabelledHeads(NamedTuple):
    """The heads of a sentence's words, from 0, -1 for the root, for `write_dependencies`."""

    heads: Sequence[int]
    labels: tuple[str, ...] = ()


def write_dependencies(doc: Doc, sentences: Sequence[WordPositions], parses_of_doc: Sequence[Any]) -> None:
    """Set `token.head` and `token.dep_` of a Doc that has a token from the heads and labels of its sentences' words.

    Parses are None for sentences without words; those without labels get ROOT and OTHER. Sentence boundaries stay.
    """
    add = doc.vocab.strings.add
    hashes = {label: add(label) for label in {ROOT, OTHER}.union(*(parse.labels for parse in parses_of_doc if parse))}
    root, other = hashes[ROOT], hashes[OTHER]
    heads, labels = [0] * len(doc), [other] * len(doc)  # heads relative to the token, as in spaCy
    for (start, end, positions), parse in zip(sentences, parses_of_doc, strict=True):
        if len(positions) < end - start:
            for i, above in _above_blanks(start, end, positions).items():
                heads[i] = above - i
        if parse is None:
            labels[start] = root
            continue
        sentence_labels = list(map(hashes.__getitem__, parse.labels)) or [other] * len(positions)
        sentence_labels = [
            label if head >= 0 else root for head, label in zip(parse.heads, sentence_labels, strict=True)
        ]
        if isinstance(positions, range):
            pairs = zip(positions, parse.heads, strict=True)
            heads[start:end] = [head + start - i if head >= 0 else 0 for i, head in pairs]
            labels[start:end] = sentence_labels
            continue
        for i, head, label in zip(positions, parse.heads, sentence_labels, strict=True):
            heads[i] = positions[head] - i if head >= 0 else 0
            labels[i] = label
    columns = np.empty((len(doc), 2), np.uint64)
    columns[:, 0] = np.fromiter(heads, np.int64, len(doc)).view(np.uint64)
    columns[:, 1] = np.fromiter(labels, np.uint64, len(doc))
    doc.from_array([HEAD, DEP], columns)  # type: ignore[arg-type]
    _keep_boundaries(doc, [sentence.start for sentence in sentences])


def _above_blanks(start: int, end: int, positions: Sequence[int]) -> dict[int, int]:
    """The head of each white-space token of a sentence: the word before it, else the first word, or the first token of
    a sentence without words."""
    above: dict[int, int] = {}
    for i in sorted(set(range(start, end)).difference(positions)):
        above[i] = above.get(i - 1, i - 1) if i > start else positions[0] if positions else start
    return above


def _keep_boundaries(doc: Doc, starts: list[int]) -> None:
    """Restore sentence starts that spaCy changed.

    spaCy takes them from the left edges of trees, and fails on trees with many crossing dependencies.
    """
    flags = np.full(len(doc), -1, np.int64)
    flags[starts] = 1
    if not np.array_equal(doc.to_array([SENT_START]).reshape(-1).astype(np.int64), flags):
        doc.from_array([SENT_START], flags.view(np.uint64).reshape(-1, 1))  # type: ignore[arg-type]
