"""Best-first search over states: pop the cheapest, complete it greedily, queue all other successors on the way.

Turian & Melamed 2006a, sections 2 and 4.1: the cost of an inference is ln(1 + exp(-h)), so costs only increase along a
path, and the first popped state that costs at least as much as the best complete parse proves that parse optimal.
Successors are stored in one array (see `agenda`); a popped state is rebuilt by applying its path from the start. The
kernel allocates nothing: if an array is full it saves its progress and returns, and is called again with larger arrays
(see `batch`).
"""

import numpy as np

from ...jit.decorator import inner_kernel
from . import agenda as at
from .agenda import add_parse, heap_pop, heap_push, item_hash, put_state, tree_key, visit
from .inferences import (
    Candidates,
    WindowSelector,
    apply_inference,
    current_state,
    has_supertags,
    is_allowed,
    is_forced,
    list_inferences,
    score_inferences,
    skip_cost_of,
)
from .marginals import has_marginals
from .pruning import build_cost, label_cost
from .score import inference_cost
from .spines import start_chains
from .state import BOTTOM_UP, SHIFT_REDUCE, add_item, is_complete, start_sentence

OPTIMAL, COMPLETE, GREEDY, FALLBACK = 0, 1, 2, 3
STATUSES = ("optimal", "complete", "greedy", "fallback")
OUT_OF_SPACE = -1
_PARSED, _STUCK, _TOO_COSTLY = 0, 1, 2
"""Outcomes of a greedy completion: a parse, no inference left, or a cost of at least that of the best parse."""

_TRIES = 4
"""For k parses, this many times k are tried, beyond the budget if necessary: some may have the same tree or be joined
pieces."""
GLUE_COST = 1000.0
"""Cost per frontier item if no inference is left and the pieces are joined under TOP: any real parse is cheaper."""


@inner_kernel
def _rebuild(model, scratch, search, number):
    """Make the state with a number the current one by applying its path from the initial state. The cost of each
    inference is written to `node_costs` at the index of the node that it creates."""
    nodes, agenda, n_tokens = search.nodes, search.agenda, search.n_tokens
    states, path, mark = agenda.states, agenda.path, agenda.mark
    frontier, children = scratch.frontier, scratch.features.children
    length = 0
    s = number
    while s > 0:
        path[length] = s  # it fits: a path has at most one shift per token and one inference per node
        length += 1
        s = np.int64(states[s]["parent"])
    start_sentence(search.tokens, n_tokens, search.tag_symbols, nodes, frontier)
    start_chains(search.supertags, n_tokens)
    mark[at.LOW], mark[at.SIZE] = 0, n_tokens
    mark[at.CURSOR] = n_tokens if model.grammar.options[0] == SHIFT_REDUCE else 0
    for k in range(length - 1, -1, -1):
        s = np.int64(path[k])
        search.node_costs[nodes.used[0]] = states[s]["cost"] - states[states[s]["parent"]]["cost"]
        state = current_state(search.tokens, n_tokens, nodes, frontier, mark)
        apply_inference(model.grammar, model.heads, search.supertags, state, children, agenda, s)


@inner_kernel
def _fits(grammar, agenda, cache, n_windows):
    """Whether the successors of `n_windows` windows fit in all arrays; write the needed sizes to the marks."""
    states, heap, visited, mark = agenda.states, agenda.heap, agenda.visited, agenda.mark
    queues_states = len(heap) > 1
    successors = n_windows * np.int64(grammar.options[3])
    mark[at.NEED_STATES] = mark[at.N_STATES] + 2 + (successors if queues_states else 0)
    mark[at.NEED_VISITED] = 2 * (mark[at.N_VISITED] + successors) if _finds_duplicates(grammar, agenda) else 0
    mark[at.NEED_CACHE] = cache.used[0] + n_windows + 1 if len(cache.entries) > 2 else 0
    return (
        mark[at.NEED_STATES] <= len(states)
        and mark[at.NEED_VISITED] <= len(visited)
        and mark[at.NEED_CACHE] <= len(cache.scores)
    )


@inner_kernel
def _finds_duplicates(grammar, agenda):
    """Whether duplicate states are detected, because several paths can lead to the same items."""
    return grammar.options[0] == BOTTOM_UP and len(agenda.heap) > 1


@inner_kernel
def _visit_successor(agenda, nodes, frontier, i, j, label, total):
    """(Whether the items after this inference were visited at the same or a lower cost, their key); see
    `agenda.visit`."""
    item = nodes.item
    below = np.int64(item[frontier[i]]["label"]) if j - i == 1 else np.int64(-1)
    key = agenda.states[agenda.mark[at.CURRENT]]["hash"] ^ item_hash(
        item[frontier[i]]["start"], item[frontier[j - 1]]["end"], label, below
    )
    agenda.mark[at.N_VISITED] += 1
    return visit(agenda.visited, key, total), key


@inner_kernel
def _make_successors(grammar, labels, supertags, state, candidates, agenda, best_cost):
    """Create the state after each inference if it is cheaper than the best parses; in greedy parsing only that after
    the cheapest one. Return (index of the cheapest state, or -1; number of legal labels of windows)."""
    windows, scores, shift, n_windows, can_shift, forced = candidates
    tokens, nodes, frontier = state.tokens, state.nodes, state.frontier
    states, mark = agenda.states, agenda.mark
    n_labels = np.int64(grammar.options[3])
    queues_states, finds_duplicates = len(agenda.heap) > 1, _finds_duplicates(grammar, agenda)
    current, cost = mark[at.CURRENT], states[mark[at.CURRENT]]["cost"]
    cheapest, lowest_cost, n_legal = np.int64(-1), np.inf, 0
    skipped = skip_cost_of(state)
    for w in range(n_windows):
        i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
        span_cost = build_cost(tokens, nodes, frontier, i, j) if has_marginals(tokens) else 0.0
        for label in range(n_labels):
            if not is_allowed(grammar, supertags, state, windows, w, label):
                continue
            n_legal += 1
            step_cost = skipped
            if label != grammar.options[4]:
                step_cost = span_cost
                if has_marginals(tokens):
                    step_cost += label_cost(labels, tokens, nodes, frontier, i, j, label)
            if not forced:
                mark[at.SCORED] += 1
                step_cost += inference_cost(scores[w, label])
            total, key, is_known = cost + step_cost, at.EMPTY, False
            if total >= best_cost:
                continue
            if finds_duplicates:
                is_known, key = _visit_successor(agenda, nodes, frontier, i, j, label, total)
            if is_known or not (queues_states or step_cost < lowest_cost):
                continue
            put_state(states, mark[at.N_STATES], current, i, j, label, total, key)
            if step_cost < lowest_cost:
                cheapest, lowest_cost = mark[at.N_STATES], step_cost
            mark[at.N_STATES] += queues_states
    if can_shift:
        cursor = mark[at.CURSOR]
        mark[at.SCORED] += 1
        step_cost = skipped + inference_cost(shift[0, 0])
        if cost + step_cost < best_cost and (queues_states or step_cost < lowest_cost):
            put_state(states, mark[at.N_STATES], current, cursor - 1, cursor, n_labels, cost + step_cost, at.EMPTY)
            if step_cost < lowest_cost:
                cheapest = mark[at.N_STATES]
            mark[at.N_STATES] += queues_states
    mark[at.N_STATES] += cheapest >= 0 and not queues_states
    return cheapest, n_legal


@inner_kernel
def _make_shift(grammar, agenda, state):
    """Create the state after a shift that is the only possible action, so that it costs only what the marginals add."""
    states, mark = agenda.states, agenda.mark
    current, cursor, slot = mark[at.CURRENT], mark[at.CURSOR], mark[at.N_STATES]
    label = np.int64(grammar.options[3])
    cost = states[current]["cost"] + skip_cost_of(state)
    put_state(states, slot, current, cursor - 1, cursor, label, cost, states[current]["hash"])
    mark[at.N_STATES] += 1
    return slot


@inner_kernel
def _complete_greedily(model, scratch, search):
    """Apply the cheapest inference repeatedly from the current state, and create states for the others; return the
    outcome."""
    agenda, supertags = search.agenda, search.supertags
    grammar, heads, labels = model.grammar, model.heads, model.labels
    windows, children = scratch.windows, scratch.features.children
    selector = WindowSelector(
        grammar, heads, labels, model.window_filter, search.min_sum, supertags, windows, children, scratch.window_keys
    )
    while True:
        state = current_state(search.tokens, search.n_tokens, search.nodes, scratch.frontier, agenda.mark)
        if is_complete(grammar, state):
            return _PARSED
        n_windows, can_shift, windows_first = list_inferences(selector, state)
        if not _fits(grammar, agenda, search.cache, n_windows):
            return OUT_OF_SPACE
        agenda.mark[at.EXPANDED] += 1
        if n_windows == 0 and can_shift:
            cheapest = _make_shift(grammar, agenda, state)
        else:
            forced = is_forced(supertags, state.tokens, windows, n_windows, can_shift)
            if n_windows > 0 and not forced:
                n_windows, can_shift = score_inferences(
                    model, scratch, search, state, n_windows, can_shift, windows_first
                )
            candidates = Candidates(windows, scratch.scores, scratch.shift, n_windows, can_shift, forced)
            best_cost = search.node_costs[-1]
            cheapest, n_legal = _make_successors(grammar, labels, supertags, state, candidates, agenda, best_cost)
            if cheapest < 0:  # all cost at least as much as the best parse, or were visited before; or there is none
                return _STUCK if n_legal == 0 and not can_shift else _TOO_COSTLY
        if len(agenda.heap) > 1:  # its parent is stored as a negative value, so that it is not queued
            agenda.states[cheapest]["parent"] = -2 - agenda.states[cheapest]["parent"]
        apply_inference(grammar, heads, supertags, state, children, agenda, cheapest)
        agenda.mark[at.CURRENT] = cheapest


@inner_kernel
def _add_current(agenda, nodes, n_tokens, ended, out_cost):
    """Add the current state to the parses if it is one of the k cheapest so far. Pieces without an inference left count
    as joined under TOP, at most one such parse."""
    mark, key = agenda.mark, at.EMPTY
    if ended == _TOO_COSTLY:
        return
    total = agenda.states[mark[at.CURRENT]]["cost"]
    mark[at.N_TRIED] += 1
    if ended == _STUCK:
        total += GLUE_COST * (mark[at.SIZE] - mark[at.LOW])
    elif len(agenda.ends) > 1:
        key = tree_key(nodes, n_tokens)
    out_cost[-1] = add_parse(agenda, total, key, mark[at.CURRENT], ended == _STUCK)
    if mark[at.FIRST] < 0:
        mark[at.FIRST] = mark[at.CURRENT]


@inner_kernel
def _queue_successors(agenda, best_cost):
    """Queue the states created since the last one was popped, except those that were made current."""
    states, heap, mark = agenda.states, agenda.heap, agenda.mark
    for s in range(mark[at.QUEUED_FROM], mark[at.N_STATES]):
        parent = states[s]["parent"]
        if parent <= -2:
            states[s]["parent"] = -2 - parent
        elif states[s]["cost"] < best_cost:
            mark[at.N_HEAP] = heap_push(heap, mark[at.N_HEAP], states, s)


@inner_kernel
def advance(model, scratch, search, budget):
    """Continue a search; return `OUT_OF_SPACE` if an array is full (the marks show which), else 0. The parses are the
    agenda's `ends`, from which `build_parse` builds trees."""
    agenda, out_cost = search.agenda, search.node_costs
    states, heap, mark, k = agenda.states, agenda.heap, agenda.mark, len(agenda.ends)
    per_state = np.int64(model.grammar.options[3]) if has_supertags(search.supertags) else 0
    while True:
        if mark[at.RESUMED] == 0:
            _rebuild(model, scratch, search, mark[at.CURRENT])
            mark[at.QUEUED_FROM] = mark[at.N_STATES]
        ended = _complete_greedily(model, scratch, search)
        mark[at.RESUMED] = ended == OUT_OF_SPACE
        if ended == OUT_OF_SPACE:
            return OUT_OF_SPACE
        _add_current(agenda, search.nodes, search.n_tokens, ended, out_cost)
        if len(heap) == 1:
            return 0
        _queue_successors(agenda, out_cost[-1])
        if mark[at.N_HEAP] == 0 or states[heap[0]]["cost"] >= out_cost[-1]:
            return 0
        # States pruned by supertags have few inferences to score, but each state must be built and examined.
        if mark[at.SCORED] + mark[at.EXPANDED] * per_state >= budget:
            if mark[at.N_ENDS] == k or mark[at.N_TRIED] >= _TRIES * k:
                return 0
        mark[at.CURRENT] = heap[0]
        mark[at.N_HEAP] = heap_pop(heap, mark[at.N_HEAP], states)


@inner_kernel
def status_of(agenda, rank):
    """The status of one of the agenda's parses: OPTIMAL if no parse other than those before it can cost less."""
    end = agenda.ends[rank]
    if end["glued"]:
        return FALLBACK
    if len(agenda.heap) == 1:
        return GREEDY
    proven = agenda.mark[at.N_HEAP] == 0 or agenda.states[agenda.heap[0]]["cost"] >= end["cost"]
    return OPTIMAL if proven else COMPLETE


@inner_kernel
def build_parse(model, scratch, search, rank):
    """Build the items of one of the agenda's parses."""
    nodes, mark, end = search.nodes, search.agenda.mark, search.agenda.ends[rank]
    _rebuild(model, scratch, search, end["state"])
    if end["glued"]:
        low, size = mark[at.LOW], mark[at.SIZE]
        search.node_costs[nodes.used[0]] = GLUE_COST * (size - low)
        top, children = np.int64(model.grammar.options[4]), scratch.features.children
        add_item(model.heads, nodes, scratch.frontier, low, size, top, children)
