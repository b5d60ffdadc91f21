"""Trees to pick from: for the whole sentence, within a constituent, or with selected words as a constituent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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
    other trees of the sentence, that differ only there. Else the tokens are a constituent in each of the trees, and the
    rest differs from `tree` only within the smallest constituent around them that both trees have. `constraints`: the
    statements so far, which hold in all. Empty for tokens that cross a constituent stated before.
    """
    ours, whole = unary_chains(tree), (0, tree.n_tokens)
    if extent in ours or extent == whole:
        within = [] if extent == whole else _best_within(parse, tree, constraints, extent)
        found = [*within, *local_alternatives(tree, others, MAX_PICKS).get(extent, [])]
    else:
        found = [
            replace_within(tree, one, _common_extent(tree, one, extent))
            for one in _parse_with(parse, tree, constraints, [Constraint(*extent)])
        ]
    return [one for one in dict.fromkeys(found) if one != tree][:MAX_PICKS]


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
