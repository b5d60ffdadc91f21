"""States of a parse as plain Python objects, written from the definitions of the strategies; no kernels' code.

A state is the tuple of items and tokens without a parent, from left to right, and the number of tokens not
yet read (only `shift_reduce` reads; elsewhere it is 0 and every token is in reach).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from spacy_dtparse.trees import CANDIDATE, HeadRules, Tree

PUNCTUATION = {":", ",", ".", "``", "''"}
STRATEGIES = ("l2r", "r2l", "bottom_up", "shift_reduce")
SHIFT = "*shift*"


@dataclass(frozen=True, eq=False)
class Node:
    """A token (no children, the label is its tag) or an item; `head` is the head token's position.

    Made by `node` only: equal nodes are one object, so that states compare fast.
    """

    label: str
    start: int
    end: int
    head: int
    children: tuple[Node, ...] = ()
    middle: Node | None = None

    @property
    def is_token(self) -> bool:
        return not self.children


node = cache(Node)


class State(NamedTuple):
    frontier: tuple[Node, ...]
    unread: int


@dataclass(frozen=True)
class Rules:
    """The legal inferences. `labels` end with TOP."""

    strategy: str
    labels: tuple[str, ...]
    heads: HeadRules
    max_arity: int = 5
    edge_punctuation: bool = True

    @property
    def top(self) -> str:
        return self.labels[-1]

    def start(self, tags: tuple[str, ...]) -> State:
        tokens = tuple(node(tag, t, t + 1, t) for t, tag in enumerate(tags))
        return State(tokens, len(tokens) if self.strategy == "shift_reduce" else 0)

    def windows(self, state: State) -> list[tuple[int, int]]:
        """Every pair (i, j) that some inference of this state may cover, by start, then end."""
        found = []
        for i in range(len(state.frontier)):
            for j in range(i + 1, len(state.frontier) + 1):
                if j - i <= self.max_arity and self._edges(state, i, j) and self._in_order(state, i, j):
                    found.append((i, j))
        return found

    def _edges(self, state: State, i: int, j: int) -> bool:
        outer = (state.frontier[i], state.frontier[j - 1])
        return self.edge_punctuation or not any(x.is_token and x.label in PUNCTUATION for x in outer)

    def _in_order(self, state: State, i: int, j: int) -> bool:
        if self.strategy == "shift_reduce":  # the top of the stack is the first item after the unread tokens
            return i == state.unread
        items = [k for k, piece in enumerate(state.frontier) if not piece.is_token]
        if self.strategy == "bottom_up" or not items:
            return True
        if self.strategy == "r2l":  # dominates the leftmost non-terminal, or lies wholly to its left
            return i <= items[0] < j or j <= items[0]
        return i <= items[-1] < j or i > items[-1]

    def label_fits(self, state: State, i: int, j: int, label: str) -> bool:
        below = state.frontier[i]
        if label == self.top:
            return len(state.frontier) == 1 and not below.is_token and below.label != self.top
        if j - i > 1:
            return True
        chain = []
        while not below.is_token:
            chain.append(below.label)
            if len(below.children) > 1:
                break
            below = below.children[0]
        return label not in chain and self.top not in chain

    def candidates(self, state: State) -> list[tuple[int, int, str]]:
        """All legal inferences, then the shift if there is one to make."""
        found = [
            (i, j, label)
            for i, j in self.windows(state)
            for label in self.labels
            if self.label_fits(state, i, j, label)
        ]
        if self.may_shift(state):
            found.append((state.unread - 1, state.unread, SHIFT))
        return found

    def may_shift(self, state: State) -> bool:
        return state.unread > 0

    @property
    def state_price(self) -> int:
        """Scored inferences that a state counts for in the budget, in addition to those that are scored."""
        return 0

    def is_free(self, state: State) -> bool:
        """Whether the only way on costs nothing: a shift where nothing can be inferred."""
        return not self.windows(state)

    def head_of(self, state: State, i: int, j: int, label: str = CANDIDATE) -> int:
        """Position in the frontier of the head of the window."""
        names = [piece.label for piece in state.frontier[i:j]]
        return i + (self.heads.head_child(label, names) if len(names) > 1 else 0)

    def apply(self, state: State, i: int, j: int, label: str) -> State:
        if label == SHIFT:
            return State(state.frontier, state.unread - 1)
        members = state.frontier[i:j]
        middle = state.frontier[self.head_of(state, i, j, label)]
        item = node(label, members[0].start, members[-1].end, middle.head, members, middle)
        return State((*state.frontier[:i], item, *state.frontier[j:]), state.unread)

    def is_complete(self, state: State) -> bool:
        return len(state.frontier) == 1 and state.frontier[0].label == self.top

    def reachable(self, tags: tuple[str, ...]) -> Iterator[tuple[State, int]]:
        """Every reachable state with the number of paths to it, the start first."""
        paths, order = {self.start(tags): 1}, [self.start(tags)]
        level = [self.start(tags)]
        while level:  # every inference adds an item or reads a token, so paths to a state are of one length
            after: dict[State, int] = {}
            for state in level:
                if not self.is_complete(state):
                    for action in self.candidates(state):
                        new = self.apply(state, *action)
                        after[new] = after.get(new, 0) + paths[state]
            paths.update(after)
            order.extend(after)
            level = list(after)
        for state in order:
            yield state, paths[state]


def spans(state: State) -> list[tuple[int, int, str]]:
    """All items of a state in pre-order."""
    found, stack = [], list(reversed(state.frontier))
    while stack:
        piece = stack.pop()
        if not piece.is_token:
            found.append((piece.start, piece.end, piece.label))
            stack.extend(reversed(piece.children))
    return found


def gold_constituents(tree: Tree) -> list[tuple[int, int, str, int]]:
    """(start, end, label, depth) of a tree; of equal spans the deeper is the lower."""
    return [(*span, depth) for span, depth in zip(tree.spans(), tree.depths(), strict=True)]


def correct_right_to_left(state: State, tree: Tree) -> tuple[int, int, str] | None:
    """The rightmost gold constituent that is not built and whose children are all on the frontier (Turian &
    Melamed)."""
    built = spans(state)
    chains: dict[tuple[int, int], list[str]] = {}
    for start, end, label, _ in reversed(gold_constituents(tree)):  # of a chain the lowest first
        chains.setdefault((start, end), []).append(label)
    edges = [piece.start for piece in state.frontier] + [state.frontier[-1].end]
    ready = []
    for (start, end), labels in chains.items():
        height = sum(1 for span in built if span[:2] == (start, end))
        if height == len(labels) or start not in edges or end not in edges:
            continue
        inside = [(s, e) for s, e in chains if start <= s and e <= end and (s, e) != (start, end)]
        if all(sum(1 for span in built if span[:2] == pair) == len(chains[pair]) for pair in inside):
            ready.append((end, start, labels[height]))
    if not ready:
        return None
    end, start, label = max(ready)
    return edges.index(start), edges.index(end), label


def random_tree(rng: random.Random, tags: tuple[str, ...], labels: tuple[str, ...], most: int) -> Tree:
    """A random tree over `tags` under TOP (the last label) with at most `most` children anywhere, unary
    chains too."""
    level: list[list[tuple[int, int, str]]] = [[] for _ in tags]  # the items of each piece, and where it stands
    places = [(t, t + 1) for t in range(len(tags))]
    plain = labels[:-1]
    while True:
        i = rng.randrange(len(places))
        j = min(len(places), i + rng.randint(1, most))
        start, end = places[i][0], places[j - 1][1]
        label = rng.choice(plain)
        chain = [item[2] for item in level[i] if item[:2] == (start, end)] if j - i == 1 else []
        if label not in chain:
            merged = [(start, end, label), *(item for piece in level[i:j] for item in piece)]
            level[i:j], places[i:j] = [merged], [(start, end)]
        if len(places) == 1 and level[0] and rng.random() < 0.7:
            break
    words = [f"w{t}" for t in range(len(tags))]
    return Tree.from_spans(words, tags, [(0, len(tags), labels[-1]), *level[0]])
