"""Nested spans with labels from the gold dependencies of a treebank in CoNLL-U, as Docs for a spancat.

Universal Dependencies have no spans, but many answers about a sentence are subtrees: who (`subject`), what (`object`),
when, where and with what (`oblique`), why and under which condition (`adverbial`), which one (`relative`), the content
of speech (`complement`). Each is the subtree of a word whose relation is in `RELATIONS`. Punctuation at its edges is
excluded, except for brackets and quotes with their partner inside. `name` is a proper noun with its `flat` and
`compound` dependents, often only a part of a noun phrase. A subtree with a gap is excluded and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

KEY = "sc"
"""The key of the spans in `doc.spans`: the default of spancat."""

RELATIONS = {
    "nsubj": "subject", "nsubj:pass": "subject", "nsubj:outer": "subject", "csubj": "subject", "csubj:pass": "subject",
    "obj": "object", "iobj": "object", "obl": "oblique", "obl:agent": "oblique", "obl:unmarked": "oblique",
    "advcl": "adverbial", "acl:relcl": "relative", "ccomp": "complement",
}  # fmt: skip
LABELS = (*dict.fromkeys(RELATIONS.values()), "name")
PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("“", "”"), ('"', '"'))
PARTS_OF_NAMES = frozenset(("flat", "compound"))


class Row(NamedTuple):
    """A word of a sentence. `head`: index of its head from 0, -1 for the root; `space`: whether a space follows."""

    word: str
    pos: str
    head: int
    relation: str
    space: bool


class LabelledSpan(NamedTuple):
    """The words [start, end) of a sentence, from 0."""

    start: int
    end: int
    label: str


def read_docs(path: Path, vocab: Vocab, sentences: int = 10) -> tuple[list[Doc], Counter[str]]:
    """Return Docs of few sentences with `doc.spans[KEY]`, and counts of subtrees with gaps by label."""
    docs: list[Doc] = []
    gaps: Counter[str] = Counter()
    for block in _blocks(path, sentences):
        words = [row.word for rows in block for row in rows]
        doc = Doc(
            vocab,
            words=words,
            spaces=[row.space for rows in block for row in rows],
            sent_starts=[k == 0 for rows in block for k in range(len(rows))],
        )
        spans, offset = [], 0
        for rows in block:
            found, left_out = labelled_spans(rows)
            gaps.update(left_out)
            spans += [Span(doc, offset + span.start, offset + span.end, span.label) for span in found]
            offset += len(rows)
        doc.spans[KEY] = spans
        docs.append(doc)
    return docs, gaps


def labelled_spans(rows: list[Row]) -> tuple[list[LabelledSpan], list[str]]:
    """Return the spans of a sentence, and the labels of the subtrees with gaps."""
    below: list[list[int]] = [[] for _ in rows]
    for number, row in enumerate(rows):
        if row.head >= 0:
            below[row.head].append(number)
    found, gaps = [], []
    for number, row in enumerate(rows):
        label = RELATIONS.get(row.relation)
        if label is not None:
            words = _descend(number, below)
            start, end = _without_edges(rows, words[0], words[-1] + 1)
            inside = set(words)
            if all(k in inside or rows[k].pos == "PUNCT" for k in range(start, end)):
                if start < end:
                    found.append(LabelledSpan(start, end, label))
            else:
                gaps.append(label)
        if row.pos == "PROPN" and not (row.head >= 0 and rows[row.head].pos == "PROPN" and _names(row)):
            words = _descend(number, [[k for k in own if rows[k].pos == "PROPN" and _names(rows[k])] for own in below])
            if words[-1] - words[0] == len(words) - 1:
                found.append(LabelledSpan(words[0], words[-1] + 1, "name"))
            else:
                gaps.append("name")
    return found, gaps


def _without_edges(rows: list[Row], start: int, end: int) -> tuple[int, int]:
    """Trim punctuation at the edges of a range, except for brackets and quotes with their partner inside."""
    while start < end and rows[start].pos == "PUNCT" and not _paired(rows, start, end, start):
        start += 1
    while start < end and rows[end - 1].pos == "PUNCT" and not _paired(rows, start, end, end - 1):
        end -= 1
    return start, end


def _paired(rows: list[Row], start: int, end: int, place: int) -> bool:
    mark, words = rows[place].word, [row.word for row in rows[start:end]]
    for opening, closing in PAIRS:
        if mark in (opening, closing):
            return len(words) > 1 and (
                words.count(opening) == words.count(closing) if opening != closing else words.count(mark) % 2 == 0
            )
    return False


def _names(row: Row) -> bool:
    return row.relation.partition(":")[0] in PARTS_OF_NAMES


def _descend(number: int, below: list[list[int]]) -> list[int]:
    """Return a word and all its descendants, in order."""
    words, open_words = [], [number]
    while open_words:
        words.append(open_words.pop())
        open_words += below[words[-1]]
    return sorted(words)


def _blocks(path: Path, most: int) -> Iterator[list[list[Row]]]:
    """Yield groups of sentences of one document, of limited size."""
    block: list[list[Row]] = []
    for text in path.read_text(encoding="utf8").split("\n\n"):
        lines = text.strip("\n").splitlines()
        if block and (len(block) == most or any(line.startswith("# newdoc") for line in lines)):
            yield block
            block = []
        if rows := _rows([line.split("\t") for line in lines if line[:1] != "#"]):
            block.append(rows)
    if block:
        yield block


def _rows(columns: list[list[str]]) -> list[Row]:
    glued: set[int] = set()
    for first, last in (map(int, row[0].split("-")) for row in columns if "-" in row[0]):
        glued.update(range(first, last))
    glued |= {int(row[0].partition("-")[2]) for row in columns if "-" in row[0] and "SpaceAfter=No" in row[9]}
    return [
        Row(row[1], row[3], int(row[6]) - 1, row[7], int(row[0]) not in glued and "SpaceAfter=No" not in row[9])
        for row in columns
        if row[0].isdigit()
    ]
