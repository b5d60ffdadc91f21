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
from .constraints import constrain_labels, constrain_windows, is_label_allowed, must_wait
from .marginals import has_marginals
from .pruning import build_cost, label_cost, prune_by_marginals, skip_cost
from .score import SHIFT_SEED, WINDOW_SEED, inference_cost, score_windows
from .spines import follow_chain, may_shift, prune_windows, start_chains
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


@inner_kernel
def rebuild(
    grammar, heads, tokens, tag_symbols, n_tokens, supertags, nodes, frontier, children, states, state, path, out_cost
):
    """Make `state` the current one by applying its path from the initial state; return (low, cursor, size).

    `path` int32: scratch for the path, whose length is the number of ancestors. The cost of each inference is written
    to `out_cost` at the index of the node that it creates.
    """
    length = 0
    s = state
    while s > 0:
        path[length] = s
        length += 1
        s = np.int64(states[s]["parent"])
    start_sentence(tokens, n_tokens, tag_symbols, nodes, frontier)
    start_chains(supertags, n_tokens)
    low, size = np.int64(0), np.int64(n_tokens)
    cursor = np.int64(n_tokens) if grammar.options[0] == SHIFT_REDUCE else np.int64(0)
    for k in range(length - 1, -1, -1):
        s = np.int64(path[k])
        node = np.int64(nodes.used[0])
        out_cost[node] = states[s]["cost"] - states[states[s]["parent"]]["cost"]
        low, cursor, size = infer(
            grammar, heads, nodes, frontier, low, cursor, size, np.int64(states[s]["i"]), np.int64(states[s]["j"]),
            np.int64(states[s]["label"]), children,
        )  # fmt: skip
        if nodes.used[0] > node:
            follow_chain(supertags, nodes)
    return low, cursor, size


@inner_kernel
def _has_supertags(supertags):
    """Whether there are supertags, which prune the search."""
    return supertags.levels.shape[2] > 1


@inner_kernel
def _is_pruned(supertags, tokens):
    """Whether the windows are pruned, so that `window_labels` has the allowed labels of each."""
    return _has_supertags(supertags) or has_marginals(tokens)


@inner_kernel
def _is_allowed(model, supertags, tokens, nodes, scratch, mark, w, label):
    """Whether a label is allowed over window w."""
    low, size, top = mark[at.LOW], mark[at.SIZE], model.grammar.options[4]
    if label == top and size - low != 1:
        return False
    if _is_pruned(supertags, tokens):
        return scratch.window_labels[w] & (_BIT << np.uint64(label)) != 0
    i, j = np.int64(scratch.windows_i[w]), np.int64(scratch.windows_j[w])
    if len(supertags.constraints) > 0:
        if not is_label_allowed(supertags.constraints, nodes, scratch.frontier, i, j, label, top):
            return False
    if j - i > 1 and label != top:
        return True
    return is_label_legal(model.grammar, nodes, scratch.frontier, low, size, i, j, label)


@inner_kernel
def _drop_unlabelled(model, tokens, supertags, nodes, scratch, mark, n_windows):
    """Keep the windows that have an allowed label, in their order; return their number. Only for windows that are not
    pruned."""
    n_kept = np.int64(0)
    for w in range(n_windows):
        for label in range(model.grammar.options[3]):
            if _is_allowed(model, supertags, tokens, nodes, scratch, mark, w, label):
                scratch.windows_i[n_kept], scratch.windows_j[n_kept] = scratch.windows_i[w], scratch.windows_j[w]
                n_kept += 1
                break
    return n_kept


@inner_kernel
def _list_inferences(model, tokens, min_sum, supertags, nodes, scratch, mark):
    """List the inferences that are possible in the current state: (number of windows that pass the window filter,
    whether a shift is allowed, whether the windows are more likely than the shift)."""
    grammar, frontier = model.grammar, scratch.frontier
    low, cursor, size = mark[at.LOW], mark[at.CURSOR], mark[at.SIZE]
    windows_i, windows_j, window_labels = scratch.windows_i, scratch.windows_j, scratch.window_labels
    can_shift = grammar.options[0] == SHIFT_REDUCE and cursor > low
    if can_shift and _has_supertags(supertags):
        can_shift = may_shift(supertags, nodes, frontier, cursor, size)
    constrained, may_shift_now = len(supertags.constraints) > 0, can_shift
    n_windows, windows_first = np.int64(0), False
    if nodes.used[0] < len(nodes.item) - 1:
        n_windows = np.int64(list_windows(grammar, nodes, tokens, frontier, cursor, size, windows_i, windows_j))
        if constrained:
            n_windows = constrain_windows(supertags.constraints, nodes, frontier, windows_i, windows_j, n_windows)
        if _has_supertags(supertags):
            n_windows = prune_windows(
                supertags, grammar, model.heads, nodes, frontier, low, size, scratch.features.children, windows_i,
                windows_j, n_windows, window_labels,
            )  # fmt: skip
        elif has_marginals(tokens):
            n_windows, windows_first, is_certain = prune_by_marginals(
                grammar, model.labels, tokens, nodes, frontier, low, size, windows_i, windows_j, n_windows,
                window_labels,
            )  # fmt: skip
            can_shift = can_shift and not is_certain
    if constrained:
        if _is_pruned(supertags, tokens):
            n_windows = constrain_labels(
                supertags.constraints, nodes, frontier, windows_i, windows_j, window_labels, n_windows,
                np.int64(grammar.options[4]),
            )  # fmt: skip
        else:
            n_windows = _drop_unlabelled(model, tokens, supertags, nodes, scratch, mark, n_windows)
        if n_windows == 0:
            can_shift = may_shift_now
        elif can_shift:
            can_shift = not must_wait(supertags.constraints, nodes, frontier, cursor, size)
    elif len(model.window_filter) > 1 and n_windows > 0:
        n_kept, max_sum = filter_windows(
            model.window_filter, min_sum, tokens, nodes, frontier, low, size, windows_i, windows_j, window_labels,
            n_windows, scratch.window_keys,
        )  # fmt: skip
        if n_kept > 0 or can_shift:  # if there is no other inference, all windows are kept
            n_windows, windows_first = n_kept, max_sum > 0
    return n_windows, can_shift, windows_first


@inner_kernel
def _fits(model, agenda, cache, n_windows):
    """Whether the successors of `n_windows` windows fit in all arrays; write the needed sizes to the marks."""
    states, heap, visited, mark = agenda.states, agenda.heap, agenda.visited, agenda.mark
    queues_states = len(heap) > 1
    successors = n_windows * np.int64(model.grammar.options[3])
    mark[at.NEED_STATES] = mark[at.N_STATES] + 2 + (successors if queues_states else 0)
    mark[at.NEED_VISITED] = 2 * (mark[at.N_VISITED] + successors) if _finds_duplicates(model, agenda) else 0
    mark[at.NEED_CACHE] = cache.used[0] + n_windows + 1 if len(cache.entries) > 2 else 0
    return (
        mark[at.NEED_STATES] <= len(states)
        and mark[at.NEED_VISITED] <= len(visited)
        and mark[at.NEED_CACHE] <= len(cache.scores)
    )


@inner_kernel
def _finds_duplicates(model, agenda):
    """Whether duplicate states are detected, because several paths can lead to the same items."""
    return model.grammar.options[0] == BOTTOM_UP and len(agenda.heap) > 1


@inner_kernel
def _is_forced(supertags, tokens, scratch, n_windows, can_shift):
    """Whether supertags or marginals leave a single inference; it costs nothing and is not scored."""
    if not _is_pruned(supertags, tokens) or n_windows != 1 or can_shift:
        return False
    return not scratch.window_labels[0] & (scratch.window_labels[0] - _BIT)


@inner_kernel
def _score_inferences(
    model,
    tokens,
    n_tokens,
    shift_threshold,
    supertags,
    nodes,
    scratch,
    cache,
    mark,
    n_windows,
    can_shift,
    windows_first,
):
    """Score the windows and, as one more window, the shift, starting with the one that the window filter considers more
    likely. If its score is above `shift_threshold`, the other is skipped: return (number of windows, whether to shift)
    that remain."""
    low, cursor, size = mark[at.LOW], mark[at.CURSOR], mark[at.SIZE]
    windows_i, windows_j = scratch.windows_i, scratch.windows_j
    if can_shift:
        windows_i[n_windows] = cursor - 1
        windows_j[n_windows] = cursor
    for turn in range(2 if can_shift else 1):
        # One call for both, because every call of the scorer is compiled separately.
        if can_shift and windows_first == (turn == 1):
            atom_map, rules, bits = model.shift_atoms, model.shift_rules, scratch.shifts
            seed, out, first, last = SHIFT_SEED, scratch.shift, n_windows, n_windows + 1
        else:
            atom_map, rules, bits = model.window_atoms, model.window_rules, scratch.window
            seed, out, first, last = WINDOW_SEED, scratch.scores, np.int64(0), n_windows
        score_windows(
            model.grammar, model.heads, model.table, atom_map, rules, bits, seed, tokens, n_tokens, nodes,
            scratch.frontier, low, size, windows_i, windows_j, first, last, scratch.features, out, cache, model.labels,
        )  # fmt: skip
        if turn == 0 and can_shift:
            if not windows_first:
                if scratch.shift[0, 0] > shift_threshold and _skip_cost(tokens, nodes, scratch, mark) == 0.0:
                    return np.int64(0), can_shift
            elif _best_score(model, supertags, tokens, scratch, n_windows) > shift_threshold:
                return n_windows, False
    return n_windows, can_shift


@inner_kernel
def _skip_cost(tokens, nodes, scratch, mark):
    """Cost of a shift, or of TOP, in the current state by the marginals; 0 without marginals."""
    if not has_marginals(tokens) or mark[at.CURSOR] >= mark[at.SIZE]:
        return 0.0
    return skip_cost(tokens, nodes, np.int64(scratch.frontier[mark[at.CURSOR]]))


@inner_kernel
def _best_score(model, supertags, tokens, scratch, n_windows):
    """The highest score of any allowed label except TOP over the windows of several items."""
    pruned, best = _is_pruned(supertags, tokens), -np.inf
    for w in range(n_windows):
        if scratch.windows_j[w] - scratch.windows_i[w] > 1:
            for label in range(model.grammar.options[4]):
                if not pruned or scratch.window_labels[w] & (_BIT << np.uint64(label)):
                    best = max(best, scratch.scores[w, label])
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
def _make_successors(model, supertags, tokens, nodes, scratch, agenda, best_cost, n_windows, can_shift, forced):
    """Create the state after each inference if it is cheaper than the best parses; in greedy parsing only that after
    the cheapest one. Return (index of the cheapest state, or -1; number of legal labels of windows)."""
    states, mark = agenda.states, agenda.mark
    n_labels = np.int64(model.grammar.options[3])
    queues_states, finds_duplicates = len(agenda.heap) > 1, _finds_duplicates(model, agenda)
    current, cost = mark[at.CURRENT], states[mark[at.CURRENT]]["cost"]
    cheapest, lowest_cost, n_legal = np.int64(-1), np.inf, 0
    skipped = _skip_cost(tokens, nodes, scratch, mark)
    for w in range(n_windows):
        i, j = np.int64(scratch.windows_i[w]), np.int64(scratch.windows_j[w])
        span_cost = build_cost(tokens, nodes, scratch.frontier, i, j) if has_marginals(tokens) else 0.0
        for label in range(n_labels):
            if not _is_allowed(model, supertags, tokens, nodes, scratch, mark, w, label):
                continue
            n_legal += 1
            step_cost = skipped
            if label != model.grammar.options[4]:
                step_cost = span_cost
                if has_marginals(tokens):
                    step_cost += label_cost(model.labels, tokens, nodes, scratch.frontier, i, j, label)
            if not forced:
                mark[at.SCORED] += 1
                step_cost += inference_cost(scratch.scores[w, label])
            total, key, is_known = cost + step_cost, at.EMPTY, False
            if total >= best_cost:
                continue
            if finds_duplicates:
                is_known, key = _visit_successor(agenda, nodes, scratch.frontier, i, j, label, total)
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
def _make_shift(model, tokens, nodes, scratch, agenda):
    """Create the state after a shift that is the only possible action, so that it costs only what the marginals add."""
    states, mark = agenda.states, agenda.mark
    current, cursor, slot = mark[at.CURRENT], mark[at.CURSOR], mark[at.N_STATES]
    label = np.int64(model.grammar.options[3])
    cost = states[current]["cost"] + _skip_cost(tokens, nodes, scratch, mark)
    put_state(states, slot, current, cursor - 1, cursor, label, cost, states[current]["hash"])
    mark[at.N_STATES] += 1
    return slot


@inner_kernel
def _follow(model, supertags, nodes, scratch, agenda, slot):
    """Make the successor in `slot` the current state; its parent is stored as a negative value, so that it is not
    queued."""
    states, mark = agenda.states, agenda.mark
    i, j, label = np.int64(states[slot]["i"]), np.int64(states[slot]["j"]), np.int64(states[slot]["label"])
    if len(agenda.heap) > 1:
        states[slot]["parent"] = -2 - states[slot]["parent"]
    mark[at.LOW], mark[at.CURSOR], mark[at.SIZE] = infer(
        model.grammar, model.heads, nodes, scratch.frontier, mark[at.LOW], mark[at.CURSOR], mark[at.SIZE], i, j, label,
        scratch.features.children,
    )  # fmt: skip
    if label != model.grammar.options[3]:
        follow_chain(supertags, nodes)
    mark[at.CURRENT] = slot


@inner_kernel
def _complete_greedily(
    model, tokens, n_tokens, shift_threshold, min_sum, supertags, nodes, scratch, agenda, cache, best_cost
):
    """Apply the cheapest inference repeatedly from the current state, and create states for the others; return the
    outcome."""
    mark = agenda.mark
    while not is_complete(model.grammar, nodes, scratch.frontier, mark[at.LOW], mark[at.SIZE]):
        n_windows, can_shift, windows_first = _list_inferences(model, tokens, min_sum, supertags, nodes, scratch, mark)
        if not _fits(model, agenda, cache, n_windows):
            return OUT_OF_SPACE
        mark[at.EXPANDED] += 1
        if n_windows == 0 and can_shift:
            _follow(model, supertags, nodes, scratch, agenda, _make_shift(model, tokens, nodes, scratch, agenda))
            continue
        forced = _is_forced(supertags, tokens, scratch, n_windows, can_shift)
        if n_windows > 0 and not forced:
            n_windows, can_shift = _score_inferences(
                model, tokens, n_tokens, shift_threshold, supertags, nodes, scratch, cache, mark, n_windows, can_shift,
                windows_first,
            )  # fmt: skip
        cheapest, n_legal = _make_successors(
            model, supertags, tokens, nodes, scratch, agenda, best_cost, n_windows, can_shift, forced
        )
        if cheapest < 0:  # all cost at least as much as the best parse, or were visited before; or there is none
            return _STUCK if n_legal == 0 and not can_shift else _TOO_COSTLY
        _follow(model, supertags, nodes, scratch, agenda, cheapest)
    return _PARSED


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
def advance(
    model, tokens, tag_symbols, n_tokens, budget, shift_threshold, min_sum, supertags, nodes, scratch, agenda, cache,
    out_cost,
):  # fmt: skip
    """Continue the search of `agenda`; return `OUT_OF_SPACE` if an array is full (the marks show which), else 0. The
    parses are the agenda's `ends`, from which `build_parse` builds trees.

    The last entry of `out_cost` is the cost that a parse must stay below to be one of the k best.
    """
    states, heap, mark, k = agenda.states, agenda.heap, agenda.mark, len(agenda.ends)
    per_state = np.int64(model.grammar.options[3]) if _has_supertags(supertags) else 0
    while True:
        if mark[at.RESUMED] == 0:
            _rebuild(
                model, tokens, tag_symbols, n_tokens, supertags, nodes, scratch, agenda, mark[at.CURRENT], out_cost
            )
            mark[at.QUEUED_FROM] = mark[at.N_STATES]
        ended = _complete_greedily(
            model, tokens, n_tokens, shift_threshold, min_sum, supertags, nodes, scratch, agenda, cache, out_cost[-1]
        )
        mark[at.RESUMED] = ended == OUT_OF_SPACE
        if ended == OUT_OF_SPACE:
            return OUT_OF_SPACE
        _add_current(agenda, nodes, n_tokens, ended, out_cost)
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
def build_parse(model, tokens, tag_symbols, n_tokens, supertags, nodes, scratch, agenda, rank, out_cost):
    """Build the items of one of the agenda's parses."""
    mark, end = agenda.mark, agenda.ends[rank]
    _rebuild(model, tokens, tag_symbols, n_tokens, supertags, nodes, scratch, agenda, end["state"], out_cost)
    if end["glued"]:
        low, size = mark[at.LOW], mark[at.SIZE]
        out_cost[nodes.used[0]] = GLUE_COST * (size - low)
        top, children = np.int64(model.grammar.options[4]), scratch.features.children
        add_item(model.heads, nodes, scratch.frontier, low, size, top, children)


@inner_kernel
def _rebuild(model, tokens, tag_symbols, n_tokens, supertags, nodes, scratch, agenda, state, out_cost):
    """Make `state` the current one; see `rebuild`."""
    mark = agenda.mark
    mark[at.LOW], mark[at.CURSOR], mark[at.SIZE] = rebuild(
        model.grammar, model.heads, tokens, tag_symbols, n_tokens, supertags, nodes, scratch.frontier,
        scratch.features.children, agenda.states, state, agenda.path, out_cost,
    )  # fmt: skip
