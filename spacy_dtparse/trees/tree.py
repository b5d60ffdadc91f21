"""The constituent tree of a sentence as spans in pre-order: immutable and hashable, without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import TreeError

TOP = "TOP"
"""The label of the root."""

Strings = Iterable[str]
Integers = Iterable[int]


@dataclass(init=False, repr=False, slots=True, unsafe_hash=True)
class Tree:
    """An immutable constituent tree over n tokens with m constituents.

    `words`, `tags` (n strings each) are the leaves; `labels` (m strings), `starts`, `ends` (m ints) are the
    constituents in pre-order: constituent k covers the half-open span [starts[k], ends[k]), a parent comes
    before its children, siblings are ordered from left to right, and a unary chain from top to bottom.
    Constituent 0 is the root and covers all tokens. Parts of speech are tags, not constituents.

    Raises TreeError if lengths differ, there is no token or no constituent, a word or a label below the root is
    empty, a span is empty or out of range, or the spans cross or are not in pre-order.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    labels: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def __init__(self, words: Strings, tags: Strings, labels: Strings, starts: Integers, ends: Integers):
        self._fill(tuple(words), tuple(tags), tuple(labels), tuple(map(int, starts)), tuple(map(int, ends)))
        self._validate()

    @classmethod
    def unchecked(cls, words: Strings, tags: Strings, labels: Strings, starts: Integers, ends: Integers) -> Tree:
        """Build a tree from parts that are well formed by construction; nothing is checked or converted."""
        tree = cls.__new__(cls)
        tree._fill(tuple(words), tuple(tags), tuple(labels), tuple(starts), tuple(ends))
        return tree

    @classmethod
    def from_spans(cls, words: Strings, tags: Strings, spans: Iterable[tuple[int, int, str]]) -> Tree:
        """Build a tree from (start, end, label) triples in any order; equal spans must be given from top to bottom.

        Raises TreeError like the constructor.
        """
        ordered = sorted(spans, key=lambda span: (span[0], -span[1]))
        return cls(words, tags, (s[2] for s in ordered), (s[0] for s in ordered), (s[1] for s in ordered))

    def _fill(self, *values: Any) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def _validate(self) -> None:
        n, m = len(self.words), len(self.labels)
        if len(self.tags) != n:
            raise TreeError(f"{n} words but {len(self.tags)} tags; give one tag per word")
        if not len(self.starts) == len(self.ends) == m:
            raise TreeError(
                f"{m} labels, {len(self.starts)} starts and {len(self.ends)} ends; there must be as many of each"
            )
        if n == 0:
            raise TreeError("a tree has no token; a tree needs at least one")
        if m == 0:
            raise TreeError("a tree has no constituent; a tree needs at least a root that covers all tokens")
        for kind, strings in (("word", self.words), ("tag", self.tags), ("label", self.labels)):
            for index, string in enumerate(strings):
                if not isinstance(string, str):
                    raise TreeError(f"{kind} {index} is {string!r}; words, tags and labels are strings")
                if kind == "word" and not string:
                    raise TreeError(f"word {index} is empty; every token needs some text")
                if kind == "label" and not string and index:
                    raise TreeError(f"label {index} is empty; only a root may have none, as with top=None")
        if self.starts[0] != 0 or self.ends[0] != n:
            raise TreeError(
                f"constituent 0 ({self.labels[0]!r}) covers [{self.starts[0]}, {self.ends[0]}); "
                f"the root must cover all tokens, [0, {n})"
            )
        stack = [0]
        for k in range(1, m):
            start, end = self.starts[k], self.ends[k]
            if not 0 <= start < end <= n:
                raise TreeError(
                    f"constituent {k} ({self.labels[k]!r}) covers [{start}, {end}); "
                    f"a span must contain at least one token and lie within [0, {n})"
                )
            while self.ends[stack[-1]] <= start:
                stack.pop()
            above = stack[-1]
            if start < self.starts[above] or end > self.ends[above]:
                raise TreeError(
                    f"constituent {k} ({self.labels[k]!r}, [{start}, {end})) crosses constituent {above} "
                    f"({self.labels[above]!r}, [{self.starts[above]}, {self.ends[above]})) or is late; "
                    "spans must nest and come in pre-order (Tree.from_spans sorts them)"
                )
            stack.append(k)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Tree is immutable; build a new one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Tree is immutable; {name!r} cannot be deleted")

    def __reduce__(self) -> tuple:
        return Tree.unchecked, (self.words, self.tags, self.labels, self.starts, self.ends)

    def __copy__(self) -> Tree:
        return self

    def __deepcopy__(self, memo: dict) -> Tree:
        return self

    def __len__(self) -> int:
        """Number of constituents."""
        return len(self.labels)

    def __repr__(self) -> str:
        words = " ".join(self.words[:6]) + (" …" if len(self.words) > 6 else "")
        return f"<Tree: {len(self.labels)} constituents over {len(self.words)} tokens: {words}>"

    def __str__(self) -> str:
        from .bracket_writer import write_tree

        return write_tree(self)

    def _repr_svg_(self) -> str | None:
        """The drawing of the tree, for notebooks."""
        from ..viz import draw  # the one import of a layer above, at run time only: what displays a tree is drawn there

        return draw([self])._repr_svg_()

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.words)

    def spans(self) -> list[tuple[int, int, str]]:
        """Return all constituents as (start, end, label), in pre-order."""
        return list(zip(self.starts, self.ends, self.labels, strict=True))

    def parents(self) -> list[int]:
        """Return the parent of each constituent, -1 for the root (m ints)."""
        parents, stack, ends = [], [-1], self.ends
        for k, start in enumerate(self.starts):
            while len(stack) > 1 and ends[stack[-1]] <= start:
                stack.pop()
            parents.append(stack[-1])
            stack.append(k)
        return parents

    def token_parents(self) -> list[int]:
        """Return the lowest constituent over each token (n ints)."""
        found = [0] * len(self.words)
        for k, children in enumerate(self.child_lists()):
            for child in children:
                if child < 0:
                    found[~child] = k
        return found

    def child_lists(self) -> list[list[int]]:
        """Return the ordered children of every constituent: k >= 0 is constituent k, ~i < 0 is token i. Linear."""
        lists: list[list[int]] = [[] for _ in self.labels]
        listed = list(self.starts)  # end of the part of each constituent whose children are in its list
        for k, (parent, start, end) in enumerate(zip(self.parents(), self.starts, self.ends, strict=True)):
            if parent >= 0:
                lists[parent] += (~i for i in range(listed[parent], start))
                lists[parent].append(k)
                listed[parent] = end
        for children, index, end in zip(lists, listed, self.ends, strict=True):
            children += (~i for i in range(index, end))
        return lists

    def depths(self) -> list[int]:
        """Return the number of constituents above each constituent (m ints, 0 for the root)."""
        depths: list[int] = []
        for parent in self.parents():
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return depths

    def with_labels(self, labels: Sequence[str]) -> Tree:
        """Return the same tree with other labels. Raises TreeError if their number differs."""
        if len(labels) != len(self.labels):
            raise TreeError(f"{len(labels)} labels for a tree of {len(self.labels)} constituents; give one for each")
        return Tree.unchecked(self.words, self.tags, labels, self.starts, self.ends)
