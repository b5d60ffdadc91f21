"""Pruning by spines over reference states: each supertag is compared with the nodes built; no code of the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .states import Node, Rules, State


class Supertag(NamedTuple):
    """A spine from the lowest label up; `sides`: "", "<", ">" or "<>" for each, `place`: one of "(|)."; None: any."""

    labels: tuple[str, ...]
    sides: tuple[str, ...] | None = None
    place: str | None = None

    def agrees(self, built: list[tuple[str, str]]) -> bool:
        """Whether the lowest labels are those built so far, with these sides."""
        labels, sides = [label for label, _ in built], [side for _, side in built]
        below = list(self.labels[: len(built)]) == labels
        return below and (self.sides is None or list(self.sides[: len(built)]) == sides)

    def ends(self, built: list[tuple[str, str]], place: str) -> bool:
        """Whether all of it is built, and is allowed at a position."""
        return self.agrees(built) and len(self.labels) == len(built) and self.place in (None, place)

    def goes_on_with_left_siblings(self, built: list[tuple[str, str]]) -> bool:
        if not self.agrees(built) or len(self.labels) == len(built):
            return False
        return self.sides is None or "<" in self.sides[len(built)]


def side(head: int, i: int, j: int) -> str:
    return ("<" if head > i else "") + (">" if head < j - 1 else "")


def built_by_head(node: Node) -> list[tuple[str, str]]:
    """Labels and sides of the constituents in a node that its head token heads, from the lowest up."""
    found = []
    while not node.is_token:
        assert node.middle is not None
        found.append((node.label, side(node.children.index(node.middle), 0, len(node.children))))
        node = node.middle
    return found[::-1]


@dataclass(frozen=True)
class PrunedRules(Rules):
    """Rules of one sentence: `supertags` of each token."""

    supertags: tuple[tuple[Supertag, ...], ...] = ()

    def label_fits(self, state: State, i: int, j: int, label: str) -> bool:
        if not super().label_fits(state, i, j, label):
            return False
        if label == self.top:
            return self._may_end(state.frontier[i], ".")
        head = self.head_of(state, i, j, label)
        after = [*built_by_head(state.frontier[head]), (label, side(head, i, j))]
        if not any(supertag.agrees(after) for supertag in self.supertags[state.frontier[head].head]):
            return False
        return all(
            self._may_end(state.frontier[k], "(" if k == i else ")" if k == j - 1 else "|")
            for k in range(i, j)
            if k != head
        )

    def _may_end(self, node: Node, place: str) -> bool:
        return any(supertag.ends(built_by_head(node), place) for supertag in self.supertags[node.head])

    def windows(self, state: State) -> list[tuple[int, int]]:
        """The windows that can get a label."""
        return [
            (i, j)
            for i, j in super().windows(state)
            if any(self.label_fits(state, i, j, label) for label in self.labels)
        ]

    def may_shift(self, state: State) -> bool:
        """False if the leftmost item of the stack must be a first child, since it waits for no other."""
        if not super().may_shift(state) or state.unread == len(state.frontier):
            return super().may_shift(state)
        node = state.frontier[state.unread]
        if self._may_end(node, "|") or self._may_end(node, ")"):
            return True
        return any(supertag.goes_on_with_left_siblings(built_by_head(node)) for supertag in self.supertags[node.head])

    @property
    def state_price(self) -> int:
        return len(self.labels)

    def is_free(self, state: State) -> bool:
        """Whether there is only one way to continue; it costs nothing."""
        return len(self.candidates(state)) == 1
