"""Preprocessing of the 2006 recipe (Turian & Melamed 2006a, section 4.1): applied to training trees and sentences, and
undone on parses.

A step is a function of trees. Its inverse is applied to a different tree, a parse of the transformed sentence, so it
cannot undo the step exactly; it restores every token and follows the treebank's conventions. The tokens that a step
removes depend on tags alone (`_TOKEN_FILTERS`), so they are the same for a tree and for a raw sentence. A step that
would remove all tokens of a sentence removes none.
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
    """Remove empty elements, the constituents that contain nothing else, and function tags (NP-SBJ-1 -> NP).

    The inverse restores empty elements at their positions, but not in their old constituents; function tags are lost.
    """
    stripped = strip_empty_elements(tree)
    return stripped.with_labels([base_label(label) for label in stripped.labels])


def strip_empty_elements(tree: Tree) -> Tree:
    """Remove empty elements and the constituents that contain nothing else; function tags stay."""
    return keep_tokens(tree, _TOKEN_FILTERS["strip_empty"](tree.tags))


def merge_prt(tree: Tree) -> Tree:
    """Relabel PRT as ADVP. Inverse: `split_prt`."""
    return tree.with_labels(["ADVP" if label == "PRT" else label for label in tree.labels])


def split_prt(tree: Tree) -> Tree:
    """Relabel each ADVP over a single token with tag RP as PRT: the inverse of `merge_prt`."""
    labels = [
        "PRT" if label == "ADVP" and end == start + 1 and tree.tags[start] == "RP" else label
        for start, end, label in tree.spans()
    ]
    return tree.with_labels(labels)


def remove_quotes(tree: Tree) -> Tree:
    """Remove tokens whose tag is a quotation mark's."""
    return keep_tokens(tree, _TOKEN_FILTERS["remove_quotes"](tree.tags))


def remove_edge_punctuation(tree: Tree) -> Tree:
    """Remove the punctuation at the beginning and the end of the sentence."""
    return keep_tokens(tree, _TOKEN_FILTERS["remove_edge_punctuation"](tree.tags))


def raise_punctuation(tree: Tree) -> Tree:
    """Move punctuation at the edge of a constituent up next to it; remove constituents of punctuation alone.

    Punctuation that reaches the root stays there. Inverse: `punctuation.lower_punctuation`.
    """
    n = len(tree.words)
    is_word = [tag not in PUNCTUATION_TAGS for tag in tree.tags]
    # for each position the end of the last word before it, and the first word at or after it
    before = list(accumulate(((i + 1) * is_word[i] for i in range(n)), max, initial=0))
    after = list(accumulate((i if is_word[i] else n for i in range(n - 1, -1, -1)), min, initial=n))[::-1]
    root, *below = tree.spans()
    inner = [(after[start], before[end], label) for start, end, label in below if after[start] < before[end]]
    return _tree(tree.words, tree.tags, [root, *inner])


def drop_repeated_unary(tree: Tree) -> Tree:
    """Remove all but the lowest occurrence of each label in a unary chain; the root stays. There is no inverse."""
    spans = tree.spans()
    last = {span: k for k, span in enumerate(spans)}  # equal spans are in one chain
    kept = [span for k, span in enumerate(spans) if k == 0 or last[span] == k]
    return tree if len(kept) == len(spans) else _tree(tree.words, tree.tags, kept)


def keep_tokens(tree: Tree, kept: Sequence[int]) -> Tree:
    """Restrict `tree` to the tokens `kept` (ascending, at least one); constituents without any of them are removed."""
    if len(kept) == len(tree.words):
        return tree
    new_index = [bisect_left(kept, i) for i in range(len(tree.words) + 1)]  # number of kept tokens before i
    spans = [(new_index[s], new_index[e], label) for s, e, label in tree.spans() if new_index[s] < new_index[e]]
    return _tree([tree.words[i] for i in kept], [tree.tags[i] for i in kept], spans)


def _tree(words: Sequence[str], tags: Sequence[str], spans: Sequence[tuple[int, int, str]]) -> Tree:
    """Build a tree from spans that are known to nest and to be in pre-order."""
    starts, ends, labels = zip(*spans, strict=True)
    return Tree.unchecked(words, tags, labels, starts, ends)


def _other_tokens(tags: Sequence[str], left_out: Collection[str]) -> list[int]:
    return [i for i, tag in enumerate(tags) if tag not in left_out] or list(range(len(tags)))


def _inner_tokens(tags: Sequence[str]) -> list[int]:
    inner = [i for i, tag in enumerate(tags) if tag not in PUNCTUATION_TAGS] or [0, len(tags) - 1]
    return list(range(inner[0], inner[-1] + 1))


_STEPS: dict[str, Callable[[Tree], Tree]] = {
    step.__name__: step
    for step in (strip_empty, merge_prt, remove_quotes, remove_edge_punctuation, raise_punctuation, drop_repeated_unary)
}
_TOKEN_FILTERS: dict[str, Callable[[Sequence[str]], list[int]]] = {
    "strip_empty": partial(_other_tokens, left_out=(EMPTY_TAG,)),
    "remove_quotes": partial(_other_tokens, left_out=QUOTE_TAGS),
    "remove_edge_punctuation": _inner_tokens,
}
STEPS = tuple(_STEPS)
"""Names of all steps, in the order in which they are applied."""


class Removal(NamedTuple):
    """Indices of the `kept` tokens of a sentence, and all its `words` and `tags`."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    kept: tuple[int, ...]


@stored_as("steps")
@dataclass(frozen=True)
class Recipe:
    """Names of the preprocessing steps in use; they are always applied in the order of STEPS.

    Raises ConfigError for a name that is not in STEPS.
    """

    steps: tuple[str, ...]

    PLAIN: ClassVar[Recipe]
    TM2006: ClassVar[Recipe]

    def __post_init__(self) -> None:
        steps = (self.steps,) if isinstance(self.steps, str) else tuple(self.steps)
        for step in steps:
            if step not in _STEPS:
                raise ConfigError(f"unknown preprocessing step {step!r}; allowed are {', '.join(STEPS)}")
        object.__setattr__(self, "steps", tuple(step for step in STEPS if step in steps))

    def apply(self, tree: Tree) -> Tree:
        """Convert a treebank tree to the form on which the parser is trained."""
        for step in self.steps:
            tree = _STEPS[step](tree)
        return tree

    def prepare(self, words: Sequence[str], tags: Sequence[str]) -> Removal:
        """Select the tokens of a sentence to parse, `kept` in the returned record; at least one.

        They are the tokens that `apply` leaves in a tree with the same tags. Raises TreeError if there are no words, or
        if the number of tags differs.
        """
        if not words or len(words) != len(tags):
            raise TreeError(f"{len(words)} words and {len(tags)} tags; a sentence needs one tag for each of its words")
        kept = list(range(len(words)))
        for step in self.steps:
            if step in _TOKEN_FILTERS:
                kept = [kept[i] for i in _TOKEN_FILTERS[step]([tags[i] for i in kept])]
        return Removal(tuple(words), tuple(tags), tuple(kept))

    def restore(self, tree: Tree, record: Removal) -> Tree:
        """Convert a parse of the kept tokens to a tree over all tokens of the sentence, with the words and tags of
        the record.

        A removed token between two kept ones is attached to the lowest constituent over both, one at an edge of the
        sentence to the root; then `lower_punctuation` moves it. Raises TreeError if the number of tokens of the tree is
        not the number of kept ones.
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
        tree = lower_punctuation(Tree.unchecked(words, tags, tree.labels, starts, ends), movable)
        return split_prt(tree) if "merge_prt" in self.steps else tree


Recipe.PLAIN = Recipe(("strip_empty", "drop_repeated_unary"))
Recipe.TM2006 = Recipe(STEPS)
