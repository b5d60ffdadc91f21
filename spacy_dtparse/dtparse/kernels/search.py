"""Best-first search over states: pop the cheapest, complete it greedily, queue all other successors on the way.

Turian & Melamed 2006a, sections 2 and 4.1: the cost of an inference is ln(1 + exp(-h)), so costs only increase along a
path, and the first popped state that costs at least as much as the best complete parse proves that parse optimal.
Successors are stored in one array (see `agenda`); a popped state is rebuilt by applying its path from the start. The
kernel allocates nothing: if an array is full it saves its progress and returns, and is called again with larger arrays
(see `batch`).
"""

from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel
from . import agenda as at
from .agenda import Agenda, add_parse, heap_pop, heap_push, item_hash, put_state, tree_key, visit
from .constraints import constrain_labels, constrain_windows, is_label_allowed, must_wait
from .features import Nodes, ParseState
from .marginals import has_marginals
from .pruning import build_cost, label_cost, prune_by_marginals, skip_cost
from .score import (
    SHIFT_SEED,
    WINDOW_SEED,
    ScoreCache,
    Scorer,
    SearchModel,
    SearchScratch,
    inference_cost,
    score_windows,
)
from .spines import SupertagArrays, follow_chain, may_shift, prune_windows, start_chains
from .state import BOTTOM_UP, SHIFT_REDUCE, add_item, infer, is_complete, is_label_legal, list_windows, start_sentence
from .window_filter import filter_windows

OPTIMAL, COMPLETE, GREEDY, FALLBACK = 0, 1, 2, 3
STATUSES = ("optimal", "complete", "greedy", "fallback")
OUT_OF_SPACE = -1
_PARSED, _STUCK, _TOO_COSTLY = 0, 1, 2
"""Outcomes of a greedy completion: a parse, no inference left, or a cost of at least that of the best parse."""
_BIT = np.uint64(1)

_TRIES = 4
"""For k parses, this many times k are tried, beyond the budget if necessary: some may have the same tree or be joined
pieces."""
GLUE_COST = 1000.0
"""Cost per frontier item if no inference is left and the pieces are joined under TOP: any real parse is cheaper."""


class Search(NamedTuple):
    """The search of one sentence.

    `tokens` int32 (rows, columns), `tag_symbols` int32 (n_tokens,): see `batch.Sentences`. `node_costs` float64: see
    `batch.Workspace`; its last entry is the cost that a parse must stay below to be one of the k best.
    `shift_threshold`, `min_sum`: see `batch.search_all`.
    """

    model: SearchModel
    tokens: np.ndarray
    tag_symbols: np.ndarray
    n_tokens: int
    supertags: SupertagArrays
    nodes: Nodes
    scratch: SearchScratch
    agenda: Agenda
    cache: ScoreCache
    node_costs: np.ndarray
    shift_threshold: float
    min_sum: int


# Functions that are called often, or in several places, take the arrays that they use instead of the whole `Search`:
# every array of an argument costs compile time, and a copy per call.


@inner_kernel
def _current(tokens, n_tokens, nodes, frontier, mark):
    """The current state."""
    return ParseState(tokens, n_tokens, nodes, frontier, mark[at.LOW], mark[at.CURSOR], mark[at.SIZE])


@inner_kernel
def _infer(grammar, heads, supertags, state, children, agenda, slot):
    """Apply to the current state the inference that created the state in `slot`."""
    mark, created = agenda.mark, agenda.states[slot]
    i, j, label = np.int64(created["i"]), np.int64(created["j"]), np.int64(created["label"])
    mark[at.LOW], mark[at.CURSOR], mark[at.SIZE] = infer(grammar, heads, state, i, j, label, children)
    if label != grammar.options[3]:
        follow_chain(supertags, state.nodes)


@inner_kernel
def _rebuild(search, number):
    """Make the state with a number the current one by applying its path from the initial state. The cost of each
    inference is written to `node_costs` at the index of the node that it creates."""
    model, nodes, agenda, n_tokens = search.model, search.nodes, search.agenda, search.n_tokens
    states, path, mark = agenda.states, agenda.path, agenda.mark
    frontier, children = search.scratch.frontier, search.scratch.features.children
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
        state = _current(search.tokens, n_tokens, nodes, frontier, mark)
        _infer(model.grammar, model.heads, search.supertags, state, children, agenda, s)


@inner_kernel
def _has_supertags(supertags):
    """Whether there are supertags, which prune the search."""
    return supertags.levels.shape[2] > 1


@inner_kernel
def _is_pruned(supertags, tokens):
    """Whether the windows are pruned, so that their `labels` are the allowed ones."""
    return _has_supertags(supertags) or has_marginals(tokens)


@inner_kernel
def _is_allowed(grammar, supertags, state, windows, w, label):
    """Whether a label is allowed over window w."""
    top = grammar.options[4]
    if label == top and state.size - state.low != 1:
        return False
    if _is_pruned(supertags, state.tokens):
        return windows.labels[w] & (_BIT << np.uint64(label)) != 0
    i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
    if len(supertags.constraints) > 0:
        if not is_label_allowed(supertags.constraints, state.nodes, state.frontier, i, j, label, top):
            return False
    if j - i > 1 and label != top:
        return True
    return is_label_legal(grammar, state, i, j, label)


@inner_kernel
def _drop_unlabelled(grammar, supertags, state, windows, n_windows):
    """Keep the windows that have an allowed label, in their order; return their number. Only for windows that are not
    pruned."""
    n_kept = np.int64(0)
    for w in range(n_windows):
        for label in range(grammar.options[3]):
            if _is_allowed(grammar, supertags, state, windows, w, label):
                windows.i[n_kept], windows.j[n_kept] = windows.i[w], windows.j[w]
                n_kept += 1
                break
    return n_kept


@inner_kernel
def _list_inferences(search, state):
    """List the inferences that are possible in the current state: (number of windows that pass the window filter,
    whether a shift is allowed, whether the windows are more likely than the shift)."""
    model, supertags, nodes, scratch = search.model, search.supertags, search.nodes, search.scratch
    grammar, frontier, windows = model.grammar, scratch.frontier, scratch.windows
    can_shift = grammar.options[0] == SHIFT_REDUCE and state.cursor > state.low
    if can_shift and _has_supertags(supertags):
        can_shift = may_shift(supertags, nodes, frontier, state.cursor, state.size)
    constrained, may_shift_now = len(supertags.constraints) > 0, can_shift
    n_windows, windows_first = np.int64(0), False
    if nodes.used[0] < len(nodes.item) - 1:  # there is space for one more item, and for TOP over pieces
        n_windows = np.int64(list_windows(grammar, state, windows))
        if constrained:
            n_windows = constrain_windows(supertags.constraints, nodes, frontier, windows, n_windows)
        if _has_supertags(supertags):
            children = scratch.features.children
            n_windows = prune_windows(supertags, grammar, model.heads, state, children, windows, n_windows)
        elif has_marginals(state.tokens):
            n_windows, windows_first, is_certain = prune_by_marginals(grammar, model.labels, state, windows, n_windows)
            can_shift = can_shift and not is_certain
    if constrained:
        if _is_pruned(supertags, state.tokens):
            top = np.int64(grammar.options[4])
            n_windows = constrain_labels(supertags.constraints, nodes, frontier, windows, n_windows, top)
        else:
            n_windows = _drop_unlabelled(grammar, supertags, state, windows, n_windows)
        if n_windows == 0:
            can_shift = may_shift_now
        elif can_shift:
            can_shift = not must_wait(supertags.constraints, nodes, frontier, state.cursor, state.size)
    elif len(model.window_filter) > 1 and n_windows > 0:
        n_kept, max_sum = filter_windows(
            model.window_filter, search.min_sum, state, windows, n_windows, scratch.window_keys
        )
        if n_kept > 0 or can_shift:  # if there is no other inference, all windows are kept
            n_windows, windows_first = n_kept, max_sum > 0
    return n_windows, can_shift, windows_first


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
def _is_forced(supertags, tokens, windows, n_windows, can_shift):
    """Whether supertags or marginals leave a single inference; it costs nothing and is not scored."""
    if not _is_pruned(supertags, tokens) or n_windows != 1 or can_shift:
        return False
    labels = windows.labels[0]
    return not labels & (labels - _BIT)  # a single bit


@inner_kernel
def _score_inferences(search, state, n_windows, can_shift, windows_first):
    """Score the windows and, as one more window, the shift, starting with the one that the window filter considers more
    likely. If its score is above `shift_threshold`, the other is skipped: return (number of windows, whether to shift)
    that remain."""
    model, scratch, windows = search.model, search.scratch, search.scratch.windows
    if can_shift:  # the arrays have one more entry than a state can have windows
        windows.i[n_windows] = state.cursor - 1
        windows.j[n_windows] = state.cursor
    for turn in range(2 if can_shift else 1):
        # One call for both, because every call of the scorer is compiled separately.
        if can_shift and windows_first == (turn == 1):
            atoms, rules, bits = model.shift_atoms, model.shift_rules, scratch.shifts
            seed, scores, first, last = SHIFT_SEED, scratch.shift, n_windows, n_windows + 1
        else:
            atoms, rules, bits = model.window_atoms, model.window_rules, scratch.window
            seed, scores, first, last = WINDOW_SEED, scratch.scores, np.int64(0), n_windows
        scorer = Scorer(model.grammar, model.heads, model.table, model.labels, atoms, rules, bits, seed, scores)
        score_windows(scorer, state, windows, first, last, scratch.features, search.cache)
        if turn == 0 and can_shift:
            if not windows_first:
                if scratch.shift[0, 0] > search.shift_threshold and _skip_cost(state) == 0.0:
                    return np.int64(0), can_shift
            elif (
                _best_score(model.grammar, search.supertags, state, windows, scratch.scores, n_windows)
                > search.shift_threshold
            ):
                return n_windows, False
    return n_windows, can_shift


@inner_kernel
def _skip_cost(state):
    """Cost of a shift, or of TOP, in a state by the marginals; 0 without marginals."""
    if not has_marginals(state.tokens) or state.cursor >= state.size:
        return 0.0
    return skip_cost(state.tokens, state.nodes, np.int64(state.frontier[state.cursor]))


@inner_kernel
def _best_score(grammar, supertags, state, windows, scores, n_windows):
    """The highest score of any allowed label except TOP over the windows of several items."""
    pruned, best = _is_pruned(supertags, state.tokens), -np.inf
    for w in range(n_windows):
        if windows.j[w] - windows.i[w] > 1:
            for label in range(grammar.options[4]):
                if not pruned or windows.labels[w] & (_BIT << np.uint64(label)):
                    best = max(best, scores[w, label])
    return best


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
def _make_successors(search, state, n_windows, can_shift, forced):
    """Create the state after each inference if it is cheaper than the best parses; in greedy parsing only that after
    the cheapest one. Return (index of the cheapest state, or -1; number of legal labels of windows)."""
    model, scratch, agenda, windows = search.model, search.scratch, search.agenda, search.scratch.windows
    tokens, nodes, frontier = state.tokens, state.nodes, state.frontier
    states, mark, best_cost = agenda.states, agenda.mark, search.node_costs[-1]
    n_labels = np.int64(model.grammar.options[3])
    queues_states, finds_duplicates = len(agenda.heap) > 1, _finds_duplicates(model.grammar, agenda)
    current, cost = mark[at.CURRENT], states[mark[at.CURRENT]]["cost"]
    cheapest, lowest_cost, n_legal = np.int64(-1), np.inf, 0
    skipped = _skip_cost(state)
    for w in range(n_windows):
        i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
        span_cost = build_cost(tokens, nodes, frontier, i, j) if has_marginals(tokens) else 0.0
        for label in range(n_labels):
            if not _is_allowed(model.grammar, search.supertags, state, windows, w, label):
                continue
            n_legal += 1
            step_cost = skipped
            if label != model.grammar.options[4]:
                step_cost = span_cost
                if has_marginals(tokens):
                    step_cost += label_cost(model.labels, tokens, nodes, frontier, i, j, label)
            if not forced:
                mark[at.SCORED] += 1
                step_cost += inference_cost(scratch.scores[w, label])
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
        step_cost = skipped + inference_cost(scratch.shift[0, 0])
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
    cost = states[current]["cost"] + _skip_cost(state)
    put_state(states, slot, current, cursor - 1, cursor, label, cost, states[current]["hash"])
    mark[at.N_STATES] += 1
    return slot


@inner_kernel
def _complete_greedily(search):
    """Apply the cheapest inference repeatedly from the current state, and create states for the others; return the
    outcome."""
    model, agenda, windows = search.model, search.agenda, search.scratch.windows
    grammar = model.grammar
    while True:
        state = _current(search.tokens, search.n_tokens, search.nodes, search.scratch.frontier, agenda.mark)
        if is_complete(grammar, state):
            return _PARSED
        n_windows, can_shift, windows_first = _list_inferences(search, state)
        if not _fits(grammar, agenda, search.cache, n_windows):
            return OUT_OF_SPACE
        agenda.mark[at.EXPANDED] += 1
        if n_windows == 0 and can_shift:
            cheapest = _make_shift(grammar, agenda, state)
        else:
            forced = _is_forced(search.supertags, state.tokens, windows, n_windows, can_shift)
            if n_windows > 0 and not forced:
                n_windows, can_shift = _score_inferences(search, state, n_windows, can_shift, windows_first)
            cheapest, n_legal = _make_successors(search, state, n_windows, can_shift, forced)
            if cheapest < 0:  # all cost at least as much as the best parse, or were visited before; or there is none
                return _STUCK if n_legal == 0 and not can_shift else _TOO_COSTLY
        if len(agenda.heap) > 1:  # its parent is stored as a negative value, so that it is not queued
            agenda.states[cheapest]["parent"] = -2 - agenda.states[cheapest]["parent"]
        _infer(grammar, model.heads, search.supertags, state, search.scratch.features.children, agenda, cheapest)
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
def advance(search, budget):
    """Continue a search; return `OUT_OF_SPACE` if an array is full (the marks show which), else 0. The parses are the
    agenda's `ends`, from which `build_parse` builds trees."""
    agenda, out_cost = search.agenda, search.node_costs
    states, heap, mark, k = agenda.states, agenda.heap, agenda.mark, len(agenda.ends)
    per_state = np.int64(search.model.grammar.options[3]) if _has_supertags(search.supertags) else 0
    while True:
        if mark[at.RESUMED] == 0:
            _rebuild(search, mark[at.CURRENT])
            mark[at.QUEUED_FROM] = mark[at.N_STATES]
        ended = _complete_greedily(search)
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
def build_parse(search, rank):
    """Build the items of one of the agenda's parses."""
    model, nodes, mark, end = search.model, search.nodes, search.agenda.mark, search.agenda.ends[rank]
    _rebuild(search, end["state"])
    if end["glued"]:
        low, size = mark[at.LOW], mark[at.SIZE]
        search.node_costs[nodes.used[0]] = GLUE_COST * (size - low)
        top, children = np.int64(model.grammar.options[4]), search.scratch.features.children
        add_item(model.heads, nodes, search.scratch.frontier, low, size, top, children)
