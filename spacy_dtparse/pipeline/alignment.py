"""Gold and predicted constituents of one text as pairs of trees over the same leaves, whatever the
tokenizations.

The leaves are the pieces that result when both tokenizations cut the text (white space left out), so
constituents are compared by the characters they cover; with equal tokens the leaves are the tokens. A pair
spans as many sentences as it takes for both sides to begin and end together; with equal sentences it is one
sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from spacy.tokens import Doc

from ..errors import DtparseError
from ..parsers.base import UNKNOWN_TAG
from ..trees.tree import TOP, Tree
from .constituents import read_constituents
from .sentences import is_blank, sentence_bounds


class _Side(NamedTuple):
    """A Doc in offsets of visible characters. `cuts`: end of each visible token; `edges`: end of each
    sentence."""

    text: str
    cuts: list[int]
    tags: list[str]
    edges: list[int]
    spans: list[tuple[int, int, str]]


def tree_pairs(gold: Doc, predicted: Doc, key: str | None = None) -> Iterator[tuple[Tree, Tree]]:
    """Pairs (gold, predicted) over equal leaves, which carry the gold tags.

    A predicted Doc without constituents is all misses. Raises NotParsedError when `gold` has none,
    DtparseError when the texts differ in more than white space.
    """
    ours, theirs = _side(gold, key, needed=True), _side(predicted, key, needed=False)
    if ours.text != theirs.text:
        place = next(
            (k for k, pair in enumerate(zip(ours.text, theirs.text, strict=False)) if pair[0] != pair[1]),
            min(len(ours.text), len(theirs.text)),
        )
        raise DtparseError(
            f"the gold and the predicted Doc have different texts, {ours.text[place : place + 20]!r} against "
            f"{theirs.text[place : place + 20]!r} after {place} visible characters; they can only be "
            "compared on the "
            "same text"
        )
    cuts = sorted(set(ours.cuts) | set(theirs.cuts))
    begins = [0, *cuts[:-1]]
    tags = _tags_of(begins, ours)
    edge_cuts = sorted(set(ours.edges) & set(theirs.edges))
    leaf = {cut: k + 1 for k, cut in enumerate(cuts)} | {0: 0}
    our_spans, their_spans = ([(leaf[a], leaf[b], label) for a, b, label in s.spans] for s in (ours, theirs))
    start = i = j = 0
    for edge in edge_cuts:
        end = leaf[edge]
        words = [ours.text[begins[k] : cuts[k]] for k in range(start, end)]
        inside: list[list[tuple[int, int, str]]] = []
        for spans, position in ((our_spans, i), (their_spans, j)):
            stop = position
            while stop < len(spans) and spans[stop][0] < end:
                stop += 1
            inside.append([(a - start, b - start, label) for a, b, label in spans[position:stop]])
        i, j = i + len(inside[0]), j + len(inside[1])
        gold_tree, predicted_tree = (
            Tree.from_spans(
                words, tags[start:end], [(0, end - start, TOP), *(s for s in spans if s[2] != TOP)]
            )
            for spans in inside
        )
        yield gold_tree, predicted_tree
        start = end


def _side(doc: Doc, key: str | None, needed: bool) -> _Side:
    cuts, tags, texts = [], [], []
    ends = []  # per token, offset of its visible end
    position = 0
    for token in doc:
        if not is_blank(token.text):
            visible = "".join(token.text.split())
            position += len(visible)
            texts.append(visible)
            cuts.append(position)
            tags.append(token.tag_ or UNKNOWN_TAG)
        ends.append(position)
    begins = [0, *ends[:-1]]
    edges = [ends[end - 1] for _, end in sentence_bounds(doc)]
    edges = [edge for k, edge in enumerate(edges) if edge and (k == 0 or edge != edges[k - 1])]
    spans: list[tuple[int, int, str]] = []
    if needed or doc.spans:
        try:
            found = read_constituents(doc, key)
        except DtparseError:
            if needed:
                raise
        else:
            spans = [
                (begins[a], ends[b - 1], label)
                for a, b, label in zip(found.starts, found.ends, found.labels, strict=True)
                if begins[a] < ends[b - 1]
            ]
    return _Side("".join(texts), cuts, tags, edges, spans)


def _tags_of(begins: list[int], side: _Side) -> list[str]:
    tags, token = [], 0
    for begin in begins:
        while side.cuts[token] <= begin:
            token += 1
        tags.append(side.tags[token])
    return tags
