"""The search for the k best parses of one sentence, in memory that grows with the list, not with the search.

A search creates a state for each inference that it scores, and a long sentence has millions. Of these it needs the
paths to the parses found so far, and the cheapest states of the queue, because each state taken from the queue is one
more parse that is tried. So when the array of states is full, the others are removed (`remove_states`). The order of
the remaining states is as before, and the search takes the same states as without this.
"""

import math

import numpy as np

from ..core.time_limit import TimeLimit
from ..dtypes import INDEX, OFFSET, SCORE
from .kernels import agenda as at
from .kernels.agenda import END, Agenda, enlarge
from .kernels.batch import Parses, Sentences, Workspace, search_from
from .kernels.score import ScoreCache, SearchModel
from .kernels.search import COMPLETE, OPTIMAL
from .kernels.spines import SupertagArrays

MAX_STATES, MAX_QUEUE, MAX_CACHE = 1 << 18, 1 << 16, 1 << 17
"""Above `MAX_STATES` states, needless ones are removed, and at most `MAX_QUEUE` are queued: a search that takes that
many from the queue would last for minutes. The cache of scores is emptied when it has `MAX_CACHE` rows."""
_STEP = 1 << 12
"""The search returns after about as many new states (some ten milliseconds), so that it can end at a limit of time."""
_TRIES = 4
"""For k parses, at most this many times k are tried beyond the budget; see `dtparse.kernels.search`."""


def search_list(
    model: SearchModel,
    sentence: Sentences,
    shift_threshold: float,
    min_sum: int,
    supertags: SupertagArrays,
    workspace: Workspace,
    k: int,
    limit: TimeLimit,
) -> tuple[Parses, Workspace]:
    """Find the k best parses of one sentence; see `dtparse.kernels.batch.search_all`. When the time of the `limit` is
    over, the parses are those found so far."""
    agenda = _first_states(workspace.agenda._replace(ends=np.zeros(k, dtype=END)), _STEP)
    all_states = workspace.agenda.states
    workspace = workspace._replace(agenda=agenda)
    max_items = k * len(workspace.nodes.item)
    parses = Parses(
        items=np.empty((max_items, 3), dtype=INDEX),  # memory is used only for the items that are written
        item_costs=np.empty(max_items, dtype=SCORE),
        offsets=np.zeros(k + 1, dtype=OFFSET),
        costs=np.full(k, np.inf, dtype=SCORE),
        statuses=np.zeros(k, dtype=OFFSET),
        counts=np.zeros((1, 4), dtype=OFFSET),
    )
    mark, budget = agenda.mark, int(sentence.budgets[0])
    mark[at.STARTED] = 0
    proven_below = math.inf  # no parse that was not found costs less than this and less than the queued states
    while search_from(model, sentence, 0, shift_threshold, min_sum, supertags, workspace, parses) == 0:
        agenda, cache = workspace.agenda, workspace.cache
        if limit.is_over():
            proven_below = min(proven_below, _stop(agenda, workspace.node_costs))
        elif mark[at.NEED_STATES] > len(all_states) >= MAX_STATES:
            n_tries = max(0, budget - int(mark[at.SCORED])) + _TRIES * k + 1
            proven_below = min(proven_below, remove_states(agenda, min(n_tries, MAX_QUEUE)))
            if mark[at.N_STATES] > len(all_states) // 2:  # else they would soon be removed again
                mark[at.NEED_STATES] = max(int(mark[at.NEED_STATES]), len(all_states) + 1)
        if mark[at.NEED_CACHE] > len(cache.scores) >= MAX_CACHE:
            _empty(cache, mark)
        agenda, cache = enlarge(agenda._replace(states=all_states), cache)
        all_states = agenda.states
        agenda = _first_states(agenda, max(int(mark[at.NEED_STATES]), int(mark[at.N_STATES])) + _STEP)
        workspace = workspace._replace(agenda=agenda, cache=cache)
    workspace = workspace._replace(agenda=workspace.agenda._replace(states=all_states))
    statuses = parses.statuses
    statuses[(statuses == OPTIMAL) & (parses.costs > proven_below)] = COMPLETE
    found = int(parses.offsets[-1])
    return parses._replace(items=parses.items[:found], item_costs=parses.item_costs[:found]), workspace


def _first_states(agenda: Agenda, count: int) -> Agenda:
    """Return the agenda with room for at most this many states."""
    return agenda._replace(states=agenda.states[:count])


def remove_states(agenda: Agenda, max_queue: int) -> float:
    """Remove, in place, the states that are on no path to a parse, to the current state, or to one of the `max_queue`
    cheapest states that are or will be queued. Return the lowest cost of those that are no longer queued, infinity if
    there are none."""
    mark, states, heap = agenda.mark, agenda.states, agenda.heap
    n, queued_from = int(mark[at.N_STATES]), int(mark[at.QUEUED_FROM])
    parents = states["parent"][:n].copy()
    was_taken = parents <= -2  # made current since the last state was taken from the queue
    parents[was_taken] = -2 - parents[was_taken]
    created = np.arange(queued_from, n)[~was_taken[queued_from:]]
    waiting = np.concatenate([heap[: mark[at.N_HEAP]], created])
    costs = states["cost"][waiting]
    removed_cost = math.inf
    if len(waiting) > max_queue:
        removed_cost = float(np.partition(costs, max_queue)[max_queue])
        waiting, costs = waiting[costs <= removed_cost], costs[costs <= removed_cost]
    waiting = waiting[np.lexsort((waiting, costs))[:max_queue]]
    ends = agenda.ends[: mark[at.N_ENDS]]
    needed, above = bytearray(n), parents.tolist()
    for ends_of_paths in (waiting, ends["state"], mark[[at.CURRENT, at.FIRST]], np.flatnonzero(was_taken)):
        for s in ends_of_paths.tolist():
            while s >= 0 and not needed[s]:
                needed[s] = 1
                s = above[s]
    is_needed = np.frombuffer(needed, dtype=np.bool_)
    new = np.cumsum(is_needed) - 1  # index of each remaining state
    count = int(new[-1]) + 1
    remaining = states[:n][is_needed]
    has_parent = parents[is_needed] >= 0
    remaining["parent"][has_parent] = new[parents[is_needed][has_parent]]
    taken = was_taken[is_needed]
    remaining["parent"][taken] = -2 - remaining["parent"][taken]
    states[:count] = remaining
    queued = waiting[waiting < queued_from]  # cheapest first, so it is a heap
    heap[: len(queued)] = new[queued]
    ends["state"] = new[ends["state"]]
    mark[at.N_HEAP] = len(queued)
    mark[at.CURRENT] = new[mark[at.CURRENT]]
    if mark[at.FIRST] >= 0:
        mark[at.FIRST] = new[mark[at.FIRST]]
    mark[at.QUEUED_FROM] = int(is_needed[:queued_from].sum())
    mark[at.NEED_STATES] -= n - count
    mark[at.N_STATES] = count
    return removed_cost


def _stop(agenda: Agenda, node_costs: np.ndarray) -> float:
    """Make the search end with the parses found so far. Return the lowest cost of a state that is not complete."""
    mark, states = agenda.mark, agenda.states
    queued_from, n = int(mark[at.QUEUED_FROM]), int(mark[at.N_STATES])
    left = [agenda.heap[: mark[at.N_HEAP]], np.arange(queued_from, n), mark[[at.CURRENT]]]
    parents = states["parent"][queued_from:n]
    parents[parents <= -2] = -2 - parents[parents <= -2]
    mark[at.QUEUED_FROM], mark[at.N_HEAP] = n, 0
    node_costs[-1] = -np.inf  # no inference is cheaper, so the current state is given up
    return float(states["cost"][np.concatenate(left)].min())


def _empty(cache: ScoreCache, mark: np.ndarray) -> None:
    cache.entries["key"] = 0
    mark[at.NEED_CACHE] -= cache.used[0]
    cache.used[0] = 0
