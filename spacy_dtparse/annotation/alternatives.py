"""Trees to pick from: for the whole sentence, within a constituent, or with selected words as a constituent."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..core.constraints import Constraint, Constraints
from ..errors import ConstraintError
from ..trees.tree import TOP, Tree
from .edits import Extent, add_constraints, local_alternatives, unary_chains

MAX_PICKS = 9
"""Trees to pick from, for each selection: one for each digit key."""
K_BEST = 100
"""Number of trees of the whole sentence that alternatives come from."""
K_BEST_POINTED = 40
"""Number of trees that alternatives for selected words, or within a constituent, come from."""

Parse = Callable[[Constraints, int], list[Tree]]
"""Given constraints and k: the k best trees of one sentence in which they hold, the best first."""


def pointed_alternatives(
    parse: Parse, tree: Tree, others: Iterable[Tree], constraints: Constraints, extent: Extent
) -> list[Tree]:
    """Return up to 9 trees that differ from a tree only where an annotator points.

    If the tokens `extent` are a constituent, the trees differ only in constituents over them or inside them: first the
    k best trees in which all other constituents stay, the most probable first, then the parts of `others`, which are
    other trees of the sentence, that differ only there. For the whole sentence the order is the other way round, with
    all of `others`. Else the tokens are a constituent in each of the trees, and the
    rest differs from `tree` only within the smallest constituent around them that both trees have. `constraints`: the
    statements so far, which hold in all. Of more than 9 the most useful are listed, see `choose_useful`. Empty for
    tokens that cross a constituent stated before.
    """
    ours, whole = unary_chains(tree), (0, tree.n_tokens)
    if extent in ours or extent == whole:
        others = list(others)
        within = others if extent == whole else _best_within(parse, tree, constraints, extent)
        local = local_alternatives(tree, others, MAX_PICKS).get(extent, [])
        found = [*local, *within] if extent == whole else [*within, *local]
    else:
        found = [
            replace_within(tree, one, _common_extent(tree, one, extent))
            for one in _parse_with(parse, tree, constraints, [Constraint(*extent)])
        ]
    return choose_useful(tree, [one for one in dict.fromkeys(found) if one != tree])


def choose_useful(tree: Tree, ranked: Sequence[Tree], maximum: int = MAX_PICKS) -> list[Tree]:
    """Return the other trees to list, the most probable first: those that are expected to correct most brackets.

    `ranked`: trees over the same words, the most probable first. Each may be the right one, with a weight of
    1 / (rank + 1). A listed tree corrects brackets of a right one if all its differences from `tree` are in that one,
    too. In turn the tree is taken with which the best pick corrects most brackets on average. So what a listed tree
    corrects does not count again, and a tree that is much like one of them is taken later.
    """
    if len(ranked) < 2:
        return [*ranked]
    ours, number = unary_chains(tree), dict[tuple[Extent, tuple[str, ...]], int]()
    rows = []
    for other in ranked:
        theirs = unary_chains(other)
        changed = [extent for extent in {**ours, **theirs} if ours.get(extent) != theirs.get(extent)]
        rows.append([number.setdefault((one, theirs.get(one, ())), len(number)) for one in changed])
    has = np.zeros((len(ranked), len(number)), np.float32)  # (trees, differences)
    for row, listed in zip(has, rows, strict=True):
        row[listed] = 1
    brackets = np.array([len(chain) + len(ours.get(extent, ())) for extent, chain in number], np.float32)
    corrected = np.where(has @ (1 - has.T) == 0, (has @ brackets)[:, None], 0)  # of each right tree, by each pick
    weights = 1 / np.arange(2, len(ranked) + 2)
    best, chosen = np.zeros(len(ranked)), list[int]()
    while len(chosen) < min(maximum, len(ranked)):
        gains = np.maximum(corrected - best, 0) @ weights
        gains[chosen] = -1
        chosen.append(int(np.argmax(gains)))  # the first of equal ones
        best = np.maximum(best, corrected[chosen[-1]])
    return [ranked[one] for one in sorted(chosen)]


def _best_within(parse: Parse, tree: Tree, constraints: Constraints, extent: Extent) -> list[Tree]:
    """Return the best trees that differ from a tree only within a constituent of several tokens."""
    if extent[1] - extent[0] == 1:
        return []
    around = [(*one, chain) for one, chain in unary_chains(tree).items() if not _is_within(one, extent)]
    edit = [Constraint(start, end, " ".join(chain), exact=True) for start, end, chain in around]
    return [replace_within(tree, one, extent) for one in _parse_with(parse, tree, constraints, edit)]


def _parse_with(parse: Parse, tree: Tree, constraints: Constraints, edit: Sequence[Constraint]) -> list[Tree]:
    try:
        return parse(add_constraints(constraints, edit, tree.words), K_BEST_POINTED)
    except ConstraintError:
        return []


def replace_within(tree: Tree, other: Tree, extent: Extent) -> Tree:
    """Return a tree with another one's constituents over the tokens `extent` and inside them; `extent` crosses no
    constituent of either."""
    ours = [span for span in tree.spans() if not (_is_within(span[:2], extent) and span[2] != TOP)]
    theirs = [span for span in other.spans() if _is_within(span[:2], extent) and span[2] != TOP]
    return Tree.from_spans(tree.words, tree.tags, [*ours, *theirs])


def _common_extent(tree: Tree, other: Tree, extent: Extent) -> Extent:
    """Return the smallest constituent around an extent that both trees have with the same labels."""
    theirs, best = unary_chains(other), (0, tree.n_tokens)
    for one, chain in unary_chains(tree).items():
        if _is_within(extent, one) and theirs.get(one) == chain and one[1] - one[0] < best[1] - best[0]:
            best = one
    return best


def _is_within(inner: tuple[int, ...], outer: Extent) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
