"""The preprocessing steps of the 2006 recipe and their inverses (Turian & Melamed 2006a, section 4.1).

A step is a function Tree -> (Tree, record). Its inverse is applied to a different tree, a parse of the
transformed sentence, so it cannot undo the step; it puts every token back and follows the treebank's
habits. Which tokens a step removes depends on words and tags alone (`kept_…`), so that it is the same for
a tree and for a raw sentence. No step leaves a sentence without tokens: where it would, it removes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ..errors import TreeError
from .labels import EMPTY_TAG, PUNCTUATION_TAGS, QUOTE_TAGS, base_label
from .tree import Tree


class Removal(NamedTuple):
    """Record of a step that removes tokens: all `words` and `tags`, and which tokens were `kept`."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    kept: tuple[int, ...]


def strip_empty(tree: Tree) -> tuple[Tree, Removal]:
    """Without empty elements, the constituents that hold nothing else, and function tags (NP-SBJ-1 -> NP).

    Inverse: `restore_tokens`, which puts empty elements back where they stood, not in their old constituents;
    function tags do not come back.
    """
    removal = _removal(tree, kept_without_empty(tree.tags))
    stripped = keep_tokens(tree, removal.kept)
    return stripped.with_labels([base_label(label) for label in stripped.labels]), removal


def merge_prt(tree: Tree) -> tuple[Tree, None]:
    """PRT becomes ADVP. Inverse: `split_prt`."""
    return tree.with_labels(["ADVP" if label == "PRT" else label for label in tree.labels]), None


def split_prt(tree: Tree) -> Tree:
    """Inverse of `merge_prt`: an ADVP over nothing but one token of tag RP becomes PRT."""
    labels = [
        "PRT" if label == "ADVP" and end == start + 1 and tree.tags[start] == "RP" else label
        for start, end, label in tree.spans()
    ]
    return tree.with_labels(labels)


def remove_quotes(tree: Tree) -> tuple[Tree, Removal]:
    """Without tokens whose tag is a quotation mark's. Inverse: `restore_tokens`."""
    removal = _removal(tree, kept_without_quotes(tree.tags))
    return keep_tokens(tree, removal.kept), removal


def remove_edge_punctuation(tree: Tree) -> tuple[Tree, Removal]:
    """Without the punctuation at the beginning and the end of the sentence. Inverse: `restore_tokens`."""
    removal = _removal(tree, kept_without_edges(tree.tags))
    return keep_tokens(tree, removal.kept), removal


def raise_punctuation(tree: Tree) -> tuple[Tree, None]:
    """Punctuation at the edge of a constituent moves up beside it; a constituent of punctuation alone goes.

    The root keeps what reaches it. Inverse: `punctuation.lower_punctuation`.
    """
    n = len(tree.words)
    after = list(range(n + 1))  # the first token at or after a place that is not punctuation
    for i in range(n - 1, -1, -1):
        if tree.tags[i] in PUNCTUATION_TAGS:
            after[i] = after[i + 1]
    before = list(range(n + 1))  # the end of the last token before a place that is not punctuation
    for i in range(1, n + 1):
        if tree.tags[i - 1] in PUNCTUATION_TAGS:
            before[i] = before[i - 1]
    spans = [tree.spans()[0]]
    for start, end, label in tree.spans()[1:]:
        if after[start] < before[end]:
            spans.append((after[start], before[end], label))
    return _with_spans(tree, spans), None


def drop_repeated_unary(tree: Tree) -> tuple[Tree, None]:
    """In a unary chain each label stays once, where it stands lowest; the root stays. Nothing to invert."""
    spans = tree.spans()
    kept = []
    chain: set[str] = set()
    for k in range(len(spans) - 1, -1, -1):
        if k + 1 == len(spans) or spans[k][:2] != spans[k + 1][:2]:
            chain = set()
        if k == 0 or spans[k][2] not in chain:
            kept.append(spans[k])
        chain.add(spans[k][2])
    if len(kept) == len(spans):
        return tree, None
    return _with_spans(tree, kept[::-1]), None


def kept_without_empty(tags: Sequence[str]) -> list[int]:
    """The tokens that `strip_empty` keeps."""
    return _some([i for i, tag in enumerate(tags) if tag != EMPTY_TAG], tags)


def kept_without_quotes(tags: Sequence[str]) -> list[int]:
    """The tokens that `remove_quotes` keeps."""
    return _some([i for i, tag in enumerate(tags) if tag not in QUOTE_TAGS], tags)


def kept_without_edges(tags: Sequence[str]) -> list[int]:
    """The tokens that `remove_edge_punctuation` keeps."""
    inner = [i for i, tag in enumerate(tags) if tag not in PUNCTUATION_TAGS]
    return list(range(inner[0], inner[-1] + 1)) if inner else list(range(len(tags)))


def keep_tokens(tree: Tree, kept: Sequence[int]) -> Tree:
    """`tree` over the tokens `kept` (ascending); constituents that hold none of them go.

    Raises TreeError when `kept` is empty, not ascending or out of range.
    """
    n = len(tree.words)
    if not kept:
        raise TreeError("no token is kept; a tree needs at least one")
    if any(b <= a for a, b in pairwise(kept)) or kept[0] < 0 or kept[-1] >= n:
        raise TreeError(f"kept tokens {list(kept)[:8]} must ascend within [0, {n})")
    if len(kept) == n:
        return tree
    place = [0] * (n + 1)  # how many kept tokens come before each place
    for i in kept:
        place[i + 1] = 1
    for i in range(n):
        place[i + 1] += place[i]
    spans = [(place[s], place[e], label) for s, e, label in tree.spans() if place[s] < place[e]]
    return Tree.trusted(
        [tree.words[i] for i in kept],
        [tree.tags[i] for i in kept],
        [label for _, _, label in spans],
        [start for start, _, _ in spans],
        [end for _, end, _ in spans],
    )


def _some(kept: list[int], tags: Sequence[str]) -> list[int]:
    return kept or list(range(len(tags)))


def _removal(tree: Tree, kept: list[int]) -> Removal:
    return Removal(tree.words, tree.tags, tuple(kept))


def _with_spans(tree: Tree, spans: Sequence[tuple[int, int, str]]) -> Tree:
    """The leaves of `tree` under spans that are known to nest and to be in pre-order."""
    return Tree.trusted(
        tree.words,
        tree.tags,
        [label for _, _, label in spans],
        [start for start, _, _ in spans],
        [end for _, end, _ in spans],
    )
