"""Search over reference states: every derivation, and the agenda as in the papers; no code of the kernels."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass

from .states import Rules, State, spans

GLUE = 1000.0
Action = tuple[int, int, str]
Score = Callable[[State, Action], float]


def price(rules: Rules, state: State, action: Action, score: Score) -> float:
    """ln(1 + e^-h); free steps cost nothing."""
    if rules.is_free(state):
        return 0.0
    h = score(state, action)
    return math.log1p(math.exp(-h)) if h > 0 else -h + math.log1p(math.exp(h))


@dataclass
class Best:
    cost: float
    glued: bool
    n_states: int


def exhaustive(rules: Rules, tags: tuple[str, ...], score: Score) -> Best:
    """The least cost of any derivation, found by visiting every state, last ones first.

    A state without a legal inference is completed at a cost of GLUE per piece.
    """
    rest: dict[State, tuple[float, bool]] = {}
    for state in [state for state, _ in rules.reachable(tags)][::-1]:
        if rules.is_complete(state):
            rest[state] = (0.0, False)
            continue
        actions = rules.candidates(state)
        ways = [
            (
                price(rules, state, action, score) + rest[rules.apply(state, *action)][0],
                rest[rules.apply(state, *action)][1],
            )
            for action in actions
        ]
        rest[state] = min(ways) if ways else (GLUE * len(state.frontier), True)
    cost, glued = rest[rules.start(tags)]
    return Best(cost, glued, len(rest))


def all_trees(rules: Rules, tags: tuple[str, ...], score: Score) -> dict[tuple, float]:
    """Every complete tree, as its spans in pre-order, with the least cost of any of its derivations."""
    least = {rules.start(tags): 0.0}
    found: dict[tuple, float] = {}
    for state, _ in rules.reachable(tags):  # those that lead to a state come before it
        if rules.is_complete(state):
            found[tuple(spans(state))] = least[state]
            continue
        for action in rules.candidates(state):
            after, cost = rules.apply(state, *action), least[state] + price(rules, state, action, score)
            least[after] = min(cost, least.get(after, cost))
    return found


@dataclass
class Found:
    cost: float
    state: State
    status: str
    expanded: int
    scored: int
    queued: int
    first_is_best: bool


def agenda(rules: Rules, tags: tuple[str, ...], score: Score, budget: int, *, merge: bool = True) -> Found:
    """Pop the cheapest state, complete it greedily, queue all alternatives.

    `budget` 0: the first completion only. `merge`: under bottom_up skip a state met before at no greater
    cost.
    """
    states, costs = [rules.start(tags)], [0.0]
    met: dict[State, float] = {}
    heap: list[tuple[float, int]] = []
    best, best_cost, best_glued, first = None, math.inf, False, None
    expanded = scored = 0
    current, status = 0, "greedy"
    while True:
        followed, start = set(), len(states)
        while True:
            state, so_far = states[current], costs[current]
            if rules.is_complete(state):
                end = (so_far, False)
                break
            expanded += 1
            free, actions = rules.is_free(state), rules.candidates(state)
            if not actions:
                end = (so_far + GLUE * len(state.frontier), True)
                break
            choices = []
            for action in actions:
                extra = price(rules, state, action, score)
                if not free:
                    scored += 1
                    if so_far + extra >= best_cost:
                        continue
                after = rules.apply(state, *action)
                if merge and budget and rules.strategy == "bottom_up":
                    if met.get(after, math.inf) <= so_far + extra:
                        continue
                    met[after] = so_far + extra
                choices.append((extra, len(choices), after))
            if not choices:
                end = (math.inf, False)
                break
            extra, chosen, after = min(choices, key=lambda choice: choice[:2])
            if not budget:
                choices, chosen = [(extra, 0, after)], 0
            followed.add(len(states) + chosen)
            current = len(states) + chosen
            for extra, _, after in choices:
                states.append(after)
                costs.append(so_far + extra)
        if end[0] < best_cost:
            best_cost, best_glued, best = end[0], end[1], current
            first = current if first is None else first
        if not budget:
            break
        for number in range(start, len(states)):
            if number not in followed and costs[number] < best_cost:
                heapq.heappush(heap, (costs[number], number))
        if not heap or heap[0][0] >= best_cost:
            status = "optimal"
            break
        if scored + expanded * rules.state_price >= budget and best is not None:
            status = "complete"
            break
        _, current = heapq.heappop(heap)
    assert best is not None
    return Found(
        best_cost, states[best], "fallback" if best_glued else status, expanded, scored, len(states), best == first
    )
