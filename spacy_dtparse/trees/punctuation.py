"""Lower the punctuation of a parse, after preprocessing steps that removed or raised it.

Raised punctuation is attached as high as possible: to the lowest constituent that has it strictly inside, or to the
root. `lower_punctuation` moves it to its usual position in treebanks. These conventions were counted in wsj, masc and
craft: final punctuation is the last child of the highest constituent below the root, but inside a TITLE, HEADING or
CAPTION; a pair of commas or dashes around a PRN is inside it; an apposition's second comma closes the noun phrase that
contains the first; a closing quotation mark is in the same constituent as the opening one if that ends there.
"""

from collections import Counter
from collections.abc import Collection

from .labels import PUNCTUATION_TAGS
from .tree import Tree

_WRAPPERS = frozenset(("TITLE", "HEADING", "CAPTION"))
_NOMINALS = frozenset(("NP", "NML", "NX", "NAC"))
_PAIRED_TAGS = frozenset((",", ":"))


def lower_punctuation(tree: Tree, movable: Collection[int] | None = None) -> Tree:
    """Lower the tokens `movable` (all punctuation if None): the inverse of `raise_punctuation`."""
    if movable is None:
        movable = {i for i, tag in enumerate(tree.tags) if tag in PUNCTUATION_TAGS}
    if not movable or len(tree.labels) == 1:
        return tree
    lowering = _Lowering(tree, movable)
    lowering.edges()
    lowering.parentheticals()
    lowering.pairs()
    return Tree.unchecked(tree.words, tree.tags, tree.labels, lowering.starts, lowering.ends)


class _Lowering:
    """Extends spans over neighbouring punctuation; keeps track of the lowest constituent over each token."""

    def __init__(self, tree: Tree, movable: Collection[int]):
        self.tree, self.movable = tree, movable
        self.starts, self.ends = list(tree.starts), list(tree.ends)
        self.parents, self.token_parents = tree.parents(), tree.token_parents()

    def edges(self) -> None:
        """Move sentence-initial and sentence-final punctuation into the neighbouring child of the root."""
        n = len(self.tree.words)
        first, last = 0, n
        while last > 0 and self._is_movable_child(last - 1, 0):
            last -= 1
        while first < last and self._is_movable_child(first, 0):
            first += 1
        if first == last:
            return
        before, after = self.starts[:], self.ends[:]
        for k in range(1, len(before)):  # the highest at each edge, and the children of wrappers
            above = self.parents[k]
            same = before[above] == before[k] and after[above] == after[k]
            wrapped = same and self.tree.labels[above] in _WRAPPERS
            if above != 0 and not wrapped:
                continue
            if last < n and after[k] == last and self.ends[above] == n:
                self.ends[k] = n
                self._attach(range(last, n), k)
            if first > 0 and before[k] == first and self.starts[above] == 0:
                self.starts[k] = 0
                self._attach(range(first), k)

    def parentheticals(self) -> None:
        """Move a pair of commas or dashes around a PRN into it."""
        for k, label in enumerate(self.tree.labels):
            left, right, above = self.starts[k] - 1, self.ends[k], self.parents[k]
            if (
                label != "PRN"
                or above < 0
                or not (self._is_movable_child(left, above) and self._is_movable_child(right, above))
            ):
                continue
            if self.tree.tags[left] == self.tree.tags[right] and self.tree.tags[left] in _PAIRED_TAGS:
                self.starts[k], self.ends[k] = left, right + 1
                self._attach((left, right), k)

    def pairs(self) -> None:
        """Move second commas of appositions and closing quotation marks, from left to right."""
        tags = self.tree.tags
        inner = Counter(zip(self.token_parents, tags, strict=True))  # number of a constituent's children with a tag
        ending: dict[int, list[int]] = {}  # constituents by end position, from top to bottom
        for k, end in enumerate(self.ends):
            ending.setdefault(end, []).append(k)
        opened: list[int] = []
        for i, tag in enumerate(tags):
            if tag == "``":
                opened.append(i)
            target = -1
            if tag == "''" and opened:
                home = self.token_parents[opened.pop()]
                target = home if self.ends[home] == i else -1
            elif tag == ",":
                nominals = (k for k in ending.get(i, ()) if self.tree.labels[k] in _NOMINALS)
                target = next((k for k in nominals if inner[k, ","] == 1 and not inner[k, "CC"]), -1)
            if target < 0 or i not in self.movable or not self._is_movable_child(i, self._above(target, i)):
                continue
            inner[self.token_parents[i], tag] -= 1
            inner[target, tag] += 1
            grown = [k for k in ending[i] if k <= target]
            for k in grown:  # the target and its ancestors with the same end
                self.ends[k] = i + 1
            ending[i] = [k for k in ending[i] if k > target]
            ending[i + 1] = sorted(ending.get(i + 1, []) + grown)
            self._attach((i,), target)

    def _above(self, k: int, position: int) -> int:
        """Return the lowest ancestor of k that does not end at `position`."""
        while self.ends[k] == position:
            k = self.parents[k]
        return k

    def _is_movable_child(self, i: int, k: int) -> bool:
        """Whether token i may be moved and is a child of constituent k."""
        return 0 <= i < len(self.token_parents) and i in self.movable and self.token_parents[i] == k

    def _attach(self, tokens: Collection[int], k: int) -> None:
        for i in tokens:
            self.token_parents[i] = k
