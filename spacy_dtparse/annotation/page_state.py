"""The state of a sentence as plain data for the annotation page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.constraints import Constraint
from ..core.parser import Capability
from ..trees.label_names import describe_label, describe_tag
from ..trees.tree import TOP, Tree
from ..viz import draw
from ..viz.svg import down_width, score_text, side_width
from .corrector import Corrector
from .edits import unary_chains
from .sentence import Sentence


def sentence_state(
    sentence: Sentence, before: Sentence | None, corrector: Corrector, theme: str, width: int
) -> dict[str, Any]:
    """Return the tree of a sentence with its drawing, its statements, and what the last one changed besides.

    `before`: the state before the last step, None if that was in another sentence. `width`: of the page, in pixels.
    """
    tree = sentence.tree
    probabilities = corrector.probabilities(sentence.words, sentence.tags, tree)
    shown = [None if label == TOP else p for p, label in zip(probabilities, tree.labels, strict=True)]
    stated = {(one.start, one.end, label) for one in sentence.constraints if one.required for label in one.labels}
    stated |= {
        span
        for one in sentence.constraints
        if one.required and not one.labels
        for span in tree.spans()
        if span[:2] == one[:2]
    }
    was = set(tree.spans() if before is None else before.tree.spans())
    return {
        "words": tree.words,
        "tags": tree.tags,
        "accepted": sentence.accepted,
        "drawing": drawing(tree, theme, width, shown),
        "constituents": [
            {
                "start": start, "end": end, "label": label, "shown": score_text(p),
                "stated": (start, end, label) in stated,
                "changed": (start, end, label) not in was and (start, end, label) not in stated,
            }
            for (start, end, label), p in zip(tree.spans(), shown, strict=True)
        ],
        "gone": [] if before is None else tree_changes(before.tree, tree, "−", sentence.constraints),
        "names": {label: words for label in set(tree.labels) if (words := describe_label(label))},
        "tag_names": {tag: words for tag in set(tree.tags) if (words := describe_tag(tag))},
        "statements": [str(one) for one in sentence.constraints],
        "has_alternatives": Capability.K_BEST in corrector.parser.capabilities,
    }  # fmt: skip


def drawing(tree: Tree, theme: str, width: int, scores: Sequence[float | None] | None = None) -> str:
    """Draw a tree for a space of `width` pixels: the words in one row if they fit, else a line for each."""
    shown = [None] * len(tree) if scores is None else list(scores)
    layout = "down" if down_width(tree, shown) <= max(width, side_width(tree, shown)) else "side"
    options = {"theme": theme, "scores": scores is not None, "layout": layout}
    return str(draw([tree], "tree", options=options, scores=[shown], numbered=True))


def differing_part(tree: Tree, other: Tree) -> Tree:
    """Return the part of the other tree that has all differences: the smallest constituent of both around them."""
    ours, theirs = unary_chains(tree), unary_chains(other)
    changed = [extent for extent in {**ours, **theirs} if ours.get(extent) != theirs.get(extent)]
    if not changed:
        return other
    first, last = min(start for start, _ in changed), max(end for _, end in changed)
    around = [
        (start, end)
        for start, end in ours
        if ours[start, end] == theirs.get((start, end)) and start <= first and last <= end
    ]
    if not around:
        return other
    start, end = min(around, key=lambda extent: extent[1] - extent[0])
    spans = [(a - start, b - start, label) for a, b, label in other.spans() if start <= a and b <= end and label != TOP]
    return Tree.from_spans(other.words[start:end], other.tags[start:end], spans)


def tree_changes(tree: Tree, other: Tree, signs: str = "+−", stated: Sequence[Constraint] = ()) -> list[str]:
    """Return the constituents that only the other tree has (+) and that only this tree has (−), but not those over the
    tokens of a statement."""
    about = {(one.start, one.end) for one in stated}
    ours, theirs = tree.spans(), other.spans()
    signed = [("+", span) for span in theirs if span not in ours] + [("−", span) for span in ours if span not in theirs]
    return [
        f"{sign} {label}: {' '.join(tree.words[start:end])}"
        for sign, (start, end, label) in signed
        if sign in signs and (start, end) not in about
    ]
