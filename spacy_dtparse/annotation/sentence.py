"""The state of a sentence in an annotation, and the steps from one state to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.ambiguous_tags import format_tag, parse_tag
from ..core.constraints import Constraint, Constraints
from ..trees.tree import Tree

NO_CONSTRAINTS = Constraints()
SPLIT, JOIN = "split sentence", "join sentences"
"""The kinds of the steps that add and remove a sentence."""
_NO_STATEMENTS = ("accept", "flag", "take")
"""The kinds of steps that say nothing about a tree."""


@dataclass(frozen=True)
class Sentence:
    """The state of a sentence. `fixed`: tokens whose tag the annotator set; `first`: the tree before all steps;
    `tree`: the present one; `accepted`: whether it is in the file of trees; `flagged`: put off for later."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    tree: Tree
    first: Tree
    fixed: tuple[int, ...] = ()
    constraints: Constraints = NO_CONSTRAINTS
    accepted: bool = False
    flagged: bool = False

    @classmethod
    def from_tree(cls, tree: Tree, accepted: bool = False) -> Sentence:
        """Return the first state of a sentence."""
        return cls(tree.words, tree.tags, tree, tree, accepted=accepted)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        plain = {
            "words": self.words,
            "tags": [*map(format_tag, self.tags)],
            "fixed": self.fixed,
            "accepted": self.accepted,
            "flagged": self.flagged,
        }
        trees = {"tree": _tree_data(self.tree), "first": None if self.first == self.tree else _tree_data(self.first)}
        return {**plain, **trees, "constraints": [list(one) for one in self.constraints]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sentence:
        """Build a sentence from the plain data of `to_dict`."""
        words, tags = tuple(data["words"]), tuple(map(parse_tag, data["tags"]))
        tree = Tree(words, tags, *data["tree"][:3])
        first = tree if data["first"] is None else Tree(*data["first"][3:], *data["first"][:3])
        constraints = Constraints(Constraint(*one) for one in data["constraints"])
        return cls(words, tags, tree, first, tuple(data["fixed"]), constraints, data["accepted"], data["flagged"])


@dataclass(frozen=True)
class Neighbour:
    """The sentence that a step adds after another one (SPLIT) or removes (JOIN): its index, its states before and after
    the step, None while it is not opened, and the parts of both sentences, (sentence, neighbour), before and after."""

    index: int
    before: Sentence | None
    after: Sentence | None
    parts_before: tuple[str, str | None]
    parts_after: tuple[str, str | None]


@dataclass(frozen=True)
class Step:
    """A step of a session: the index of the sentence, its kind, and the states before and after."""

    sentence: int
    kind: str
    before: Sentence
    after: Sentence
    neighbour: Neighbour | None = None

    @property
    def changes_files(self) -> bool:
        """Whether the files of trees change with the step."""
        states = [self.before, self.after]
        if self.neighbour is not None:
            states += [one for one in (self.neighbour.before, self.neighbour.after) if one is not None]
        return any(one.accepted for one in states)

    @property
    def is_statement(self) -> bool:
        """Whether the step says something about a tree."""
        return self.kind not in _NO_STATEMENTS


def _tree_data(tree: Tree) -> list[Any]:
    """Return labels, starts and ends of a tree, and its words and tags."""
    return [list(tree.labels), list(tree.starts), list(tree.ends), list(tree.words), list(tree.tags)]
