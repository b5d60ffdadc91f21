"""Edits of a tree, each as constraints on the next parse.

An annotator states facts about single constituents; the parser finds the best tree in which all of them hold. An edit
therefore is a list of constraints, and `add_constraints` adds it to the earlier ones of a sentence.
"""

from collections.abc import Iterable, Sequence

from ..core.constraints import Constraint, Constraints
from ..errors import ConstraintError, EditError
from ..trees.tree import TOP, Tree

Extent = tuple[int, int]
Span = tuple[int, int, str]
Chains = dict[Extent, tuple[str, ...]]
"""The labels of the constituents over each extent, from top to bottom."""


def unary_chains(tree: Tree) -> Chains:
    """Return the labels over each extent of a tree, from top to bottom, without TOP."""
    found: dict[Extent, list[str]] = {}
    for start, end, label in tree.spans():
        if label != TOP:
            found.setdefault((start, end), []).append(label)
    return {extent: tuple(labels) for extent, labels in found.items()}


def insert_constituent(tree: Tree, start: int, end: int, label: str) -> list[Constraint]:
    """Return the edit that makes the tokens [start, end) a constituent; a label that they have already is doubled."""
    chain = unary_chains(tree).get((start, end), ())
    if label in chain:
        return [Constraint(start, end, " ".join((label, *chain)), exact=True)]
    return [Constraint(start, end, label)]


def remove_constituent(tree: Tree, constituent: int) -> list[Constraint]:
    """Return the edit that removes a constituent; its tokens are then no constituent, unless others cover the same."""
    span = _proper(tree, constituent)
    remaining = list(unary_chains(tree)[span[:2]])
    remaining.remove(span[2])
    return [_without(span, remaining)]


def relabel_constituent(tree: Tree, constituent: int, label: str) -> list[Constraint]:
    """Return the edit that gives a constituent another label."""
    start, end, before = _proper(tree, constituent)
    chain = list(unary_chains(tree)[start, end])
    if label not in chain and chain.count(before) == 1:
        return [Constraint(start, end, label), Constraint(start, end, before, False)]
    first = next(k for k, span in enumerate(tree.spans()) if span[:2] == (start, end) and span[2] != TOP)
    chain[constituent - first] = label
    return [Constraint(start, end, " ".join(chain), exact=True)]


def move_extent(tree: Tree, start: int, end: int, target: int) -> tuple[Tree, list[Constraint]]:
    """Return the tree in which the constituents over [start, end), or a token, are children of constituent `target`,
    and the edit for it.

    Constituents that lose the tokens shrink, those that gain them grow. A constituent that shrinks to its only child of
    the same label disappears. The edit requires those that grow or shrink, and forbids those that shrink in their old
    extent; the parser decides whether the words of one that grows are still a constituent inside of it. Raises
    EditError where a constituent would have a gap.
    """
    spans = tree.spans()
    goal = spans[target]
    above = _above(tree, start, end)
    if goal[0] < end and start < goal[1] and target not in above:
        raise EditError("a constituent cannot move into itself; choose another parent")
    common = max(k for k in above if spans[k][0] <= goal[0] and goal[1] <= spans[k][1] and k <= target)
    moved: list[tuple[int, int, str]] = []
    lost: list[tuple[int, int, str]] = []
    edit: list[Constraint] = []
    for k, (a, b, label) in enumerate(spans):
        loses = k in above and k > common
        gains = k > common and k <= target and a <= goal[0] and goal[1] <= b and k not in above
        if loses and a == start:
            a = end
        elif loses and b == end:
            b = start
        elif gains and b == start:
            b = end
        elif gains and a == end:
            a = start
        elif loses or gains:
            words = " ".join(tree.words[spans[k][0] : spans[k][1]])
            raise EditError(f"{label} ({words!r}) would have a gap; move something at its edge")
        if loses:
            lost.append(spans[k])
        if loses and (a, b, label) in spans:
            continue
        if (gains or loses) and a < b:
            edit.append(Constraint(a, b, label))
        if a < b:
            moved.append((a, b, label))
    found = Tree.from_spans(tree.words, tree.tags, moved)
    remaining = unary_chains(found)
    edit = [*(_without(span, remaining.get(span[:2], ())) for span in lost), *edit]
    return found, list(dict.fromkeys(edit))


def _without(span: tuple[int, int, str], remaining: Sequence[str]) -> Constraint:
    """Return the constraint that a constituent is gone, where those of labels `remaining` still have its tokens."""
    start, end, label = span
    if label in remaining:
        return Constraint(start, end, " ".join(remaining), exact=True)
    return Constraint(start, end, label if remaining else "", False)


def raise_extent(tree: Tree, start: int, end: int) -> list[Constraint]:
    """Return the edit that takes the constituents over [start, end), or a token, out of their parent: the parent's
    tokens are no constituent, and the parser decides where they belong. Raises EditError if the parent is the root."""
    above = _above(tree, start, end)
    parent = tree.spans()[above[-1]]
    if parent[:2] == (0, tree.n_tokens):
        raise EditError("its parent covers the whole sentence, so it cannot be raised further")
    return [Constraint(*parent[:2], "", False)]


def lower_extent(tree: Tree, start: int, end: int) -> list[Constraint]:
    """Return the edit that attaches the constituents over [start, end), or a token, to the smallest constituent of
    several words that ends before them, or else begins after them, within their parent; of one word if none has more.
    Raises EditError if there is none."""
    spans, parent = tree.spans(), tree.spans()[_above(tree, start, end)[-1]]
    before = [(a, b, label) for a, b, label in spans if b == start and a >= parent[0] and label != TOP]
    after = [(a, b, label) for a, b, label in spans if a == end and b <= parent[1] and label != TOP]
    for beside in (before, after):
        if beside:
            found = min(beside, key=lambda one: (one[1] - one[0] == 1, one[1] - one[0]))
            return [Constraint(min(found[0], start), max(found[1], end), found[2])]
    raise EditError("there is no constituent beside it, so it cannot be lowered")


def tree_difference(before: Tree, after: Tree) -> list[Constraint]:
    """Return the edit that leads from a tree to another one over the same words."""
    old, new = unary_chains(before), unary_chains(after)
    extents = [extent for extent in {**old, **new} if old.get(extent) != new.get(extent)]
    return [
        Constraint(*extent, " ".join(new[extent]), exact=True) if extent in new else Constraint(*extent, "", False)
        for extent in sorted(extents)
    ]


def local_alternatives(tree: Tree, others: Iterable[Tree], maximum: int = 9) -> dict[Extent, list[Tree]]:
    """Return the alternatives to the inside of constituents: {extent: trees that differ from `tree` only inside of it}.

    `others`: other trees over the same words, the best first. The differences of a tree are split: each belongs to the
    smallest constituent around it that both trees have. At most `maximum` alternatives for each extent.
    """
    ours, found = unary_chains(tree), {(0, tree.n_tokens): [tree]}
    for other in others:
        theirs = unary_chains(other)
        same = [extent for extent, chain in ours.items() if theirs.get(extent) == chain]
        groups: dict[Extent, list[Extent]] = {}
        for start, end in {**ours, **theirs}:
            if ours.get((start, end)) != theirs.get((start, end)):
                around = [(a, b) for a, b in same if a <= start and end <= b]
                groups.setdefault(min(around, key=lambda one: one[1] - one[0], default=(0, tree.n_tokens)), []).append(
                    (start, end)
                )
        for extent, changed in groups.items():
            alternative = {**ours, **{one: theirs.get(one, ()) for one in changed}}
            spans = [(*one, label) for one, chain in alternative.items() for label in chain]
            root = [(0, tree.n_tokens, TOP)] if tree.labels[0] == TOP else []
            made = Tree.from_spans(tree.words, tree.tags, [*root, *spans])
            listed = found.setdefault(extent, [tree])
            if made not in listed and len(listed) <= maximum:
                listed.append(made)
    return {extent: listed[1:] for extent, listed in found.items() if len(listed) > 1}


def add_constraints(constraints: Iterable[Constraint], edit: Sequence[Constraint], words: Sequence[str]) -> Constraints:
    """Return the constraints of a sentence after an edit: what it contradicts over the same tokens is dropped.

    Raises ConstraintError, which names both, if the edit crosses a constituent that was stated before.
    """
    left = [one for one in constraints if not any(_is_overruled(one, new) for new in edit)]
    for new in edit:
        for one in left:
            if new.required and one.required and is_crossing(one, new):
                raise ConstraintError(
                    f"{_words(new, words)} crosses {_words(one, words)}, which you stated before; take that back first"
                )
    return Constraints(dict.fromkeys((*left, *edit)))


def consequences(before: Tree, edit: Iterable[Constraint], grows: bool) -> set[Span]:
    """Return the constituents of a tree that had to go after an edit: those that cross a required one, and if `grows`,
    the one that a required one of the same label extends at one edge."""
    required, found = [one for one in edit if one.required], set()
    for one in required:
        found |= {span for span in before.spans() if is_crossing(Constraint(*span[:2]), one)}
        smaller = [span for span in before.spans() if span[2] in one.labels and _extends(one, span[:2])]
        if grows and smaller:
            found.add(max(smaller, key=lambda span: span[1] - span[0]))
    return found


def _extends(one: Constraint, extent: Extent) -> bool:
    start, end = extent
    return one.start <= start and end <= one.end and (one.start == start) != (one.end == end)


def _is_overruled(old: Constraint, new: Constraint) -> bool:
    """Return whether an earlier constraint is replaced by a new one over the same tokens."""
    if (old.start, old.end) != (new.start, new.end):
        return False
    if new.exact or old.exact or not (new.label and old.label):
        return new.required != old.required or new.exact or old.exact
    return new.label == old.label


def is_crossing(one: Constraint, other: Constraint) -> bool:
    """Return whether the tokens of two constraints overlap without one containing the other."""
    return one.start < other.start < one.end < other.end or other.start < one.start < other.end < one.end


def _above(tree: Tree, start: int, end: int) -> list[int]:
    """Return the constituents that contain an extent and more, and the root, from the root down."""
    spans = enumerate(tree.spans())
    return [k for k, (a, b, label) in spans if a <= start and end <= b and ((a, b) != (start, end) or label == TOP)]


def _proper(tree: Tree, constituent: int) -> tuple[int, int, str]:
    """Return the span of a constituent that is not the root."""
    if not 0 < constituent < len(tree.labels):
        raise EditError(f"there is no constituent {constituent} below the root; the tree has {len(tree.labels) - 1}")
    return tree.spans()[constituent]


def _words(one: Constraint, words: Sequence[str]) -> str:
    return f"{one.label or 'a constituent'} ({' '.join(words[one.start : one.end])!r})"
