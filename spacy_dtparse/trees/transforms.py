"""The preprocessing of the 2006 recipe (Turian & Melamed 2006a, section 4.1), done to training trees and sentences, and
undone on parses.

A step is a function of trees. Its inverse is applied to a different tree, a parse of the transformed sentence, so it
cannot undo the step; it puts every token back and follows the treebank's habits. What tokens a step removes depends on
tags alone (`_KEPT`), so it is the same for a tree and for a raw sentence. No step leaves a sentence without tokens:
where it would, it removes none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import ClassVar, NamedTuple

from ..errors import ConfigError, TreeError
from ..stored_names import stored_as
from .labels import EMPTY_TAG, PUNCTUATION_TAGS, QUOTE_TAGS, base_label
from .punctuation import lower_punctuation
from .tree import Tree


def strip_empty(tree: Tree) -> Tree:
    """Without empty elements, the constituents that hold nothing else, and function tags (NP-SBJ-1 -> NP).

    Its inverse puts empty elements back where they stood, not in their old constituents; function tags do not come
    back.
    """
    stripped = keep_tokens(tree, _KEPT["strip_empty"](tree.tags))
    return stripped.with_labels([base_label(label) for label in stripped.labels])


def merge_prt(tree: Tree) -> Tree:
    """PRT becomes ADVP. Inverse: `split_prt`."""
    return tree.with_labels(["ADVP" if label == "PRT" else label for label in tree.labels])


def split_prt(tree: Tree) -> Tree:
    """Inverse of `merge_prt`: an ADVP over nothing but one token of tag RP becomes PRT."""
    labels = [
        "PRT" if label == "ADVP" and end == start + 1 and tree.tags[start] == "RP" else label
        for start, end, label in tree.spans()
    ]
    return tree.with_labels(labels)


def remove_quotes(tree: Tree) -> Tree:
    """Without tokens whose tag is a quotation mark's."""
    return keep_tokens(tree, _KEPT["remove_quotes"](tree.tags))


def remove_edge_punctuation(tree: Tree) -> Tree:
    """Without the punctuation at the beginning and the end of the sentence."""
    return keep_tokens(tree, _KEPT["remove_edge_punctuation"](tree.tags))


def raise_punctuation(tree: Tree) -> Tree:
    """Punctuation at the edge of a constituent moves up beside it; a constituent of punctuation alone goes.

    The root keeps what reaches it. Inverse: `punctuation.lower_punctuation`.
    """
    n = len(tree.words)
    is_word = [tag not in PUNCTUATION_TAGS for tag in tree.tags]
    # for each place the end of the last word before it, and the first word at or after it
    before = list(accumulate(((i + 1) * is_word[i] for i in range(n)), max, initial=0))
    after = list(accumulate((i if is_word[i] else n for i in range(n - 1, -1, -1)), min, initial=n))[::-1]
    root, *below = tree.spans()
    inner = [(after[start], before[end], label) for start, end, label in below if after[start] < before[end]]
    return _tree(tree.words, tree.tags, [root, *inner])


def drop_repeated_unary(tree: Tree) -> Tree:
    """In a unary chain each label stays once, where it stands lowest; the root stays. Nothing to invert."""
    spans = tree.spans()
    last = {span: k for k, span in enumerate(spans)}  # equal spans are of one chain
    kept = [span for k, span in enumerate(spans) if k == 0 or last[span] == k]
    return tree if len(kept) == len(spans) else _tree(tree.words, tree.tags, kept)


def keep_tokens(tree: Tree, kept: Sequence[int]) -> Tree:
    """`tree` over the tokens `kept` (ascending, at least one); constituents that hold none of them go."""
    if len(kept) == len(tree.words):
        return tree
    place = [bisect_left(kept, i) for i in range(len(tree.words) + 1)]  # how many kept tokens come before
    spans = [(place[s], place[e], label) for s, e, label in tree.spans() if place[s] < place[e]]
    return _tree([tree.words[i] for i in kept], [tree.tags[i] for i in kept], spans)


def _tree(words: Sequence[str], tags: Sequence[str], spans: Sequence[tuple[int, int, str]]) -> Tree:
    """The tree of spans that are known to nest and to be in pre-order."""
    starts, ends, labels = zip(*spans, strict=True)
    return Tree.trusted(words, tags, labels, starts, ends)


def _without(tags: Sequence[str], left_out: Collection[str]) -> list[int]:
    return [i for i, tag in enumerate(tags) if tag not in left_out] or list(range(len(tags)))


def _without_edges(tags: Sequence[str]) -> list[int]:
    inner = [i for i, tag in enumerate(tags) if tag not in PUNCTUATION_TAGS] or [0, len(tags) - 1]
    return list(range(inner[0], inner[-1] + 1))


_STEPS: dict[str, Callable[[Tree], Tree]] = {
    step.__name__: step
    for step in (
        strip_empty, merge_prt, remove_quotes, remove_edge_punctuation, raise_punctuation, drop_repeated_unary,
    )
}  # fmt: skip
_KEPT: dict[str, Callable[[Sequence[str]], list[int]]] = {
    "strip_empty": partial(_without, left_out=(EMPTY_TAG,)),
    "remove_quotes": partial(_without, left_out=QUOTE_TAGS),
    "remove_edge_punctuation": _without_edges,
}
STEPS = tuple(_STEPS)
"""The names of all steps, in the order in which they are done."""


class Removal(NamedTuple):
    """Which tokens of a sentence were `kept`, by number, of all its `words` and `tags`."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    kept: tuple[int, ...]


@stored_as("steps")
@dataclass(frozen=True)
class Recipe:
    """The preprocessing steps in use, by name; they are always done in the order of STEPS.

    Raises ConfigError for a name that is not in STEPS.
    """

    steps: tuple[str, ...]

    PLAIN: ClassVar[Recipe]
    TM2006: ClassVar[Recipe]

    def __post_init__(self) -> None:
        steps = (self.steps,) if isinstance(self.steps, str) else tuple(self.steps)
        for step in steps:
            if step not in _STEPS:
                raise ConfigError(f"preprocessing step {step!r} is not known; allowed are {', '.join(STEPS)}")
        object.__setattr__(self, "steps", tuple(step for step in STEPS if step in steps))

    def apply(self, tree: Tree) -> Tree:
        """A treebank tree as the parser shall learn it."""
        for step in self.steps:
            tree = _STEPS[step](tree)
        return tree

    def prepare(self, words: Sequence[str], tags: Sequence[str]) -> Removal:
        """Which tokens of a sentence to parse: those `kept` in the record, never none of them.

        They are the tokens that `apply` leaves of a tree with the same tags. Raises TreeError when there are no words,
        or not as many tags.
        """
        if not words or len(words) != len(tags):
            raise TreeError(f"{len(words)} words and {len(tags)} tags; a sentence needs one tag for each of its words")
        kept = list(range(len(words)))
        for step in self.steps:
            if step in _KEPT:
                kept = [kept[i] for i in _KEPT[step]([tags[i] for i in kept])]
        return Removal(tuple(words), tuple(tags), tuple(kept))

    def restore(self, tree: Tree, record: Removal) -> Tree:
        """A parse of the kept tokens as a tree over all tokens of the sentence, with the record's words and tags.

        A removed token between two kept ones goes to the lowest constituent that holds both, one at an edge of the
        sentence to the root; then `lower_punctuation` places it. Raises TreeError when the tree does not have as many
        tokens as were kept.
        """
        words, tags, kept = record
        if len(tree.words) != len(kept):
            raise TreeError(
                f"the tree has {len(tree.words)} tokens, but {len(kept)} of {len(words)} were kept; "
                "restore a parse with the record of its own sentence"
            )
        starts = [0, *(kept[start] for start in tree.starts[1:])]
        ends = [len(words), *(kept[end - 1] + 1 for end in tree.ends[1:])]
        movable = set(range(len(words))).difference(kept)
        if "raise_punctuation" in self.steps:
            movable.update(i for i, tag in enumerate(tags) if tag in PUNCTUATION_TAGS)
        tree = lower_punctuation(Tree.trusted(words, tags, tree.labels, starts, ends), movable)
        return split_prt(tree) if "merge_prt" in self.steps else tree


Recipe.PLAIN = Recipe(("strip_empty", "drop_repeated_unary"))
Recipe.TM2006 = Recipe(STEPS)
