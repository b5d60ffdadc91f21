"""The state of a sentence as plain data for the annotation page."""

from collections.abc import Sequence
from typing import Any

from ..core.parser import Capability
from ..trees.label_names import describe_label, describe_tag
from ..trees.tree import TOP, Tree
from ..viz import draw
from ..viz.svg import fitting_layout, probability_text
from ..web.answers import tree_changes
from .corrector import Corrector
from .edits import Extent, Span, consequences, unary_chains
from .sentence import Sentence
from .session import Session

LEGIBLE = 8
"""Tokens of a small picture that needs no abridgement."""


def sentence_state(
    sentence: Sentence, before: Sentence | None, kind: str, corrector: Corrector, theme: str, space: tuple[int, int]
) -> dict[str, Any]:
    """Return the tree of a sentence with its drawing, its statements, and what the last one changed besides.

    `before`: the state before the last step, None if that was in another sentence; `kind`: of this step; `space`:
    width and height of the page's space for the drawing, in pixels.
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
    gone = []
    if before is not None:
        gone = tree_changes(before.tree, tree, "−", sentence.constraints, find_removed(before, sentence, kind))
    return {
        "words": tree.words,
        "tags": tree.tags,
        "accepted": sentence.accepted,
        "drawing": drawing(tree, theme, space, shown),
        "constituents": [
            {
                "start": start, "end": end, "label": label, "shown": probability_text(p),
                "stated": (start, end, label) in stated,
                "changed": (start, end, label) not in was and (start, end, label) not in stated,
            }
            for (start, end, label), p in zip(tree.spans(), shown, strict=True)
        ],
        "gone": gone,
        "names": {label: words for label in set(tree.labels) if (words := describe_label(label))},
        "tag_names": {tag: words for tag in set(tree.tags) if (words := describe_tag(tag))},
        "statements": [str(one) for one in sentence.constraints],
        "has_alternatives": Capability.K_BEST in corrector.parser.capabilities,
    }  # fmt: skip


def texts_around(session: Session, index: int) -> dict[str, str]:
    """Return the texts of the sentences before and after one, in the order of the input; "" if there is none."""
    reading, found = session.reading, {}
    for name, place in (("before", reading.index(index) - 1), ("after", reading.index(index) + 1)):
        near = reading[place] if 0 <= place < len(reading) else None
        opened = None if near is None else session.sentences.get(near)
        found[name] = "" if near is None else " ".join(session.inputs[near] if opened is None else opened.words)
    return found


def drawing(tree: Tree, theme: str, space: tuple[int, int], probabilities: Sequence[float | None] | None = None) -> str:
    """Draw a tree for a space, its width and height in pixels: the words in one row if they fit, else a line for
    each."""
    shown = [None] * len(tree) if probabilities is None else list(probabilities)
    options = {
        "theme": theme,
        "probabilities": probabilities is not None,
        "layout": fitting_layout(tree, shown, *space),
    }
    return str(draw([tree], "tree", options=options, probabilities=[shown], numbered=True))


def find_removed(before: Sentence, after: Sentence, kind: str) -> set[Span]:
    """Return the constituents that a step removes by itself: what it names crosses them, or, after a move, extends
    them."""
    new = [one for one in after.constraints if one not in set(before.constraints)]
    return consequences(before.tree, new, kind in ("move", "lower"))


def differing_part(tree: Tree, other: Tree) -> Tree:
    """Return the part of the other tree that has all differences, for a small picture.

    It is the smallest constituent of both around them. If it has more than 8 tokens, constituents of two or more
    tokens in it without differences have one token, with the tag "…" and their first and last words.
    """
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
    whole = min(around, key=lambda extent: extent[1] - extent[0], default=(0, other.n_tokens))
    if not around and other.n_tokens <= LEGIBLE:
        return other
    return _abridge(other, whole, changed, bool(around))


def _abridge(tree: Tree, whole: Extent, changed: Sequence[Extent], is_part: bool) -> Tree:
    """Return the part of a tree over the tokens `whole`, if it is long with one token for each constituent without
    changes in it. `is_part`: without TOP."""
    first, last = whole
    spans = [span for span in tree.spans() if first <= span[0] and span[1] <= last and not (is_part and span[2] == TOP)]
    same = [
        (start, end)
        for start, end, _ in spans
        if last - first > LEGIBLE
        and end - start > 1
        and (start, end) != whole
        and not any(start <= a and b <= end for a, b in changed)
    ]
    outer = sorted({one for one in same if not any(_is_inside(one, other) for other in same)})
    place = [0] * (last - first + 1)  # the new index of each edge between tokens
    words, tags, edge = [], [], first
    while edge < last:
        end = next((end for start, end in outer if start == edge), edge + 1)
        words.append(tree.words[edge] if end == edge + 1 else _abridge_words(tree.words[edge:end]))
        tags.append(tree.tags[edge] if end == edge + 1 else "…")
        place[end - first] = len(words)
        edge = end
    kept = [span for span in spans if not any(_is_inside(span[:2], one) for one in outer)]
    return Tree.from_spans(words, tags, [(place[a - first], place[b - first], label) for a, b, label in kept])


def _is_inside(inner: Extent, outer: Extent) -> bool:
    """Return whether tokens are a part of others, but not all."""
    return inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]


def _abridge_words(words: Sequence[str]) -> str:
    """Return the words, or the first and the last of more than two, as one token."""
    return "\u00a0".join(words if len(words) == 2 else (words[0], "…", words[-1]))
