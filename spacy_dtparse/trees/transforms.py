"""Recipes: which preprocessing steps are done to training trees and sentences, and undone on parses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..errors import ConfigError, TreeError
from .labels import PUNCTUATION_TAGS
from .punctuation import insert_tokens, lower_punctuation
from .steps import (
    Removal,
    drop_repeated_unary,
    kept_without_edges,
    kept_without_empty,
    kept_without_quotes,
    merge_prt,
    raise_punctuation,
    remove_edge_punctuation,
    remove_quotes,
    split_prt,
    strip_empty,
)
from .tree import Tree

_STEPS = {
    "strip_empty": strip_empty,
    "merge_prt": merge_prt,
    "remove_quotes": remove_quotes,
    "remove_edge_punctuation": remove_edge_punctuation,
    "raise_punctuation": raise_punctuation,
    "drop_repeated_unary": drop_repeated_unary,
}
_KEPT = {
    "strip_empty": kept_without_empty,
    "remove_quotes": kept_without_quotes,
    "remove_edge_punctuation": kept_without_edges,
}
STEPS = tuple(_STEPS)
"""The names of all steps, in the order in which they are done."""


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
            tree = _STEPS[step](tree)[0]
        return tree

    def prepare(self, words: Sequence[str], tags: Sequence[str]) -> Removal:
        """Which tokens of a sentence to parse: those `kept` in the record, never none of them.

        They are the tokens that `apply` leaves of a tree with the same tags. Raises TreeError when there
        are no words, or not as many tags.
        """
        if not words or len(words) != len(tags):
            raise TreeError(
                f"{len(words)} words and {len(tags)} tags; a sentence needs one tag for each of its words"
            )
        kept = list(range(len(words)))
        for step in self.steps:
            if step in _KEPT:
                kept = [kept[i] for i in _KEPT[step]([tags[i] for i in kept])]
        return Removal(tuple(words), tuple(tags), tuple(kept))

    def restore(self, tree: Tree, record: Removal) -> Tree:
        """A parse of the kept tokens as a tree over all tokens of the sentence.

        The words and tags are those of the record. Raises TreeError when the tree does not have as many
        tokens as were kept.
        """
        tree = insert_tokens(tree, record)
        movable = set(range(len(record.words))).difference(record.kept)
        if "raise_punctuation" in self.steps:
            movable.update(i for i, tag in enumerate(record.tags) if tag in PUNCTUATION_TAGS)
        tree = lower_punctuation(tree, movable)
        return split_prt(tree) if "merge_prt" in self.steps else tree


Recipe.PLAIN = Recipe(("strip_empty", "drop_repeated_unary"))
Recipe.TM2006 = Recipe(STEPS)
