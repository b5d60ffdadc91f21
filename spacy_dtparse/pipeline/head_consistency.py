"""How far the dependency heads of a Doc are consistent with its constituents."""

from bisect import bisect_left
from typing import NamedTuple

from spacy.tokens import Doc

from ..errors import MissingAnnotationError
from ..trees.heads import HeadRules
from .attributes import to_tree
from .constituents import read_constituents
from .phrases import head_rules_for
from .sentences import visible_tokens


class HeadConsistency(NamedTuple):
    """Counts of consistent heads and constituents; white space does not count, a unary chain counts once.

    `tokens`: number of words. `same_heads`: number of words whose head is the one that the head rules find in the
    constituents. `constituents`: number of constituents that have more than one word and do not cover their sentence.
    `connected`: number of these in which exactly one word has its head outside, as in a phrase with a head.
    """

    tokens: int
    same_heads: int
    constituents: int
    connected: int

    @property
    def same_head_rate(self) -> float:
        """Fraction of words with the same head, from 0 to 1; 1 if there are no words."""
        return self.same_heads / self.tokens if self.tokens else 1.0

    @property
    def connected_rate(self) -> float:
        """Fraction of connected constituents, from 0 to 1; 1 if there are none. Unlike `same_head_rate`, it does not
        depend on a convention for the head word."""
        return self.connected / self.constituents if self.constituents else 1.0


def head_consistency(doc: Doc, key: str | None = None, rules: HeadRules | None = None) -> HeadConsistency:
    """Compare `token.head` with the constituents in `doc.spans[key]`.

    `key`: as for `constituents`. `rules`: head rules, by default those of the parser's model, else of the Doc's
    language. Raises NotParsedError if the Doc has no constituents, MissingAnnotationError if it has no heads.
    """
    found = read_constituents(doc, key)
    if len(doc) and not doc.has_annotation("DEP"):
        raise MissingAnnotationError(
            "this Doc has no dependency heads; put a component that sets them, such as bpm_parser, into the pipeline"
        )
    rules = rules or head_rules_for(doc, key)
    extents = sorted(set(zip(found.starts, found.ends, strict=True)))
    tokens = same = constituents = connected = 0
    for start, end, words in visible_tokens(doc):
        if not words:
            continue
        heads, _, _ = rules.links(to_tree(doc[start:end], key))
        index_of = {token.i: index for index, token in enumerate(words)}
        tokens += len(words)
        for token, head in zip(words, heads, strict=True):
            head_index = -1 if token.head.i == token.i else index_of.get(token.head.i, -2)
            same += head_index == head
        for first, last in extents[bisect_left(extents, (start,)) : bisect_left(extents, (end,))]:
            inside = [token for token in words if first <= token.i < last]
            if 1 < len(inside) < len(words):
                constituents += 1
                connected += sum(token.head.i == token.i or not first <= token.head.i < last for token in inside) == 1
    return HeadConsistency(tokens, same, constituents, connected)
