"""Phrases of a dependency tree: rules for Universal Dependencies, as a pure function.

Each head projects a chain of phrases: a noun NP and PP; a verb VP, S and SBAR. Every dependent has a rank, the level of
the chain at which it is attached. A dependent further from the head is never lower than a nearer one on its side, so
the phrases of a head nest whatever the ranks are; and as subtrees do not overlap, all phrases do.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .chain import CLAUSE, VERB_PHRASE, Chain, after_conjunct
from .profile import Profile
from .projectivity import make_projective
from .sentence import Sentence

Span = tuple[int, int, int, str]
"""Start, -end, -rank, label: sorted, spans are in pre-order, and a chain of equal extent goes from top to bottom."""
_BRACKETS_RANK = 1000


class Phrases(NamedTuple):
    """The constituents of a sentence.

    `spans`: (start, end, label) in pre-order, a parent before its children; the first one covers all tokens. `lifted`,
    `repaired`: see `ProjectiveTree`.
    """

    spans: list[tuple[int, int, str]]
    lifted: int
    repaired: int


def find_phrases(
    words: Sequence[str],
    pos: Sequence[str],
    features: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str],
    profile: Profile,
) -> Phrases:
    """Find the phrases of a dependency tree of n tokens, n ≥ 1, with the relations of Universal Dependencies.

    `pos`: universal parts of speech; `features`: morphology as in CoNLL-U ("Number=Sing|PronType=Rel"), "" for none;
    `heads`: 0-based, -1 for the root. Any heads, parts of speech and relations are allowed (see `make_projective`).
    """
    tree = make_projective(heads)
    sentence = Sentence(words, pos, features, tree, relations, profile)
    spans: list[Span] = []
    for head in tree.order:
        if not sentence.is_mark[head]:
            _project(sentence, head, spans)
    spans.sort()
    in_order = [(start, -end, label) for start, end, _, label in spans]
    return Phrases(_cover(in_order, len(words)), tree.lifted, tree.repaired)


def _cover(spans: list[tuple[int, int, str]], n: int) -> list[tuple[int, int, str]]:
    """Extend the highest phrase to all n tokens, which takes in punctuation before and after it."""
    if not spans:
        return [(0, n, "X")]
    start, end, label = spans[0]
    if (start, end) == (0, n):
        return spans
    if label == "PRN" or spans[-1][0] >= end:  # brackets around it, or words that are in no phrase
        return [(0, n, "X"), *spans]
    return [(0, n, label), *spans[1:]]


def _project(s: Sentence, h: int, spans: list[Span]) -> None:
    """Add the phrases that token `h` projects."""
    chain = Chain(s, h)
    before, after = s.before[h], s.after[h]
    ranked: list[tuple[int, int]] = []
    for ranks in (chain.ranks_before(), chain.ranks_after()):
        least = 0
        for rank, d in ranks:
            if rank < least:
                rank = after_conjunct(least)
            least = rank
            ranked.append((rank, d))
    assert len(ranked) == len(before) + len(after)
    if chain.add_predicate_question(
        spans, min([h, *(s.starts[d] for d in before)]), max([h + 1, *(s.ends[d] for d in after)])
    ):
        return
    ranked.sort()
    start, end, at, n_ranked = h, h + 1, 0, len(ranked)
    needed = chain.needed_ranks()
    last: tuple[int, int, str] | None = None
    for rank in sorted({*needed, *(rank for rank, _ in ranked)}):
        grown = False
        while at < n_ranked and ranked[at][0] == rank:
            d = ranked[at][1]
            grown = True
            at += 1
            start, end = min(start, s.starts[d]), max(end, s.closing[d] or s.ends[d])
        start, end = s.extend(start, end)
        label = chain.label(rank) if grown or rank in needed else ""
        if label and (start, end, label) != last:
            last = (start, end, label)
            spans.append((start, -end, -rank, label))
    for rank, d in ranked:
        if s.relations[d] == "xcomp" and rank == VERB_PHRASE and (first := s.small_clause_start(d)) >= 0:
            spans.append((first, -s.ends[d], -CLAUSE, "S"))
    if s.in_brackets[h]:
        spans.append((s.starts[h], -s.ends[h], -_BRACKETS_RANK, "PRN"))
