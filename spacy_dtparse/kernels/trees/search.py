"""Best-first search over states: pop the cheapest, complete it greedily, queue all other successors on the way.

Turian & Melamed 2006a, sections 2 and 4.1: the cost of an inference is ln(1 + exp(-h)), so costs only increase along a
path, and the first popped state that costs at least as much as the best complete parse proves that parse optimal.
Successors are stored in one array (see `agenda`); a popped state is rebuilt by applying its path from the start. The
kernel allocates nothing: if an array is full it saves its progress and returns, and is called again with larger arrays
(see `batch`).
"""

import numpy as np

from ..jit import inner_kernel
from . import agenda as at
from .agenda import heap_pop, heap_push, item_hash, keep_end, meet, put_state, tree_key
from .beliefs import believed
from .constraints import constrain_labels, constrain_windows, label_may_be, must_wait
from .gate import gate_windows
from .pruning import believed_windows, built_cost, label_cost, skipped_cost
from .score import SHIFT_SEED, WINDOW_SEED, inference_cost, score_windows
from .spines import follow_chain, may_shift, prune_windows, start_chains
from .state import BOTTOM_UP, SHIFT_REDUCE, add_item, infer, is_complete, label_allowed, list_windows, start_sentence

OPTIMAL, COMPLETE, GREEDY, FALLBACK = 0, 1, 2, 3
STATUSES = ("optimal", "complete", "greedy", "fallback")
MORE_ROOM = -1
_PARSED, _STUCK, _TOO_DEAR = 0, 1, 2
"""Outcomes of a greedy completion: a parse, no inference left, or a cost of at least that of the best parse."""
_BIT = np.uint64(1)

_TRIES = 4
"""For k parses, this many times k are tried, beyond the budget if necessary: some may have the same tree or be joined
pieces."""
GLUE_COST = 1000.0
"""Cost per frontier item if no inference is left and the pieces are joined under TOP: any real parse is cheaper."""


@inner_kernel
def rebuild(
    grammar, heads, tokens, tag_symbols, n_tokens, offers, nodes, frontier, children, states, state, path, out_cost
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
    start_chains(offers, n_tokens)
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
            follow_chain(offers, nodes)
    return low, cursor, size


@inner_kernel
def _has_offers(offers):
    """Whether there are supertags, which prune the search."""
    return offers.levels.shape[2] > 1


@inner_kernel
def _is_pruned(offers, tokens):
    """Whether the windows are pruned, so that `window_labels` has the allowed labels of each."""
    return _has_offers(offers) or believed(tokens)


@inner_kernel
def _may_be(model, offers, tokens, nodes, scratch, mark, w, label):
    """Whether a label is allowed over window w."""
    low, size, top = mark[at.LOW], mark[at.SIZE], model.grammar.options[4]
    if label == top and size - low != 1:
        return False
    if _is_pruned(offers, tokens):
        return scratch.window_labels[w] & (_BIT << np.uint64(label)) != 0
    i, j = np.int64(scratch.windows_i[w]), np.int64(scratch.windows_j[w])
    if len(offers.constraints) > 0:
        if not label_may_be(offers.constraints, nodes, scratch.frontier, i, j, label, top):
            return False
    if j - i > 1 and label != top:
        return True
    return label_allowed(model.grammar, nodes, scratch.frontier, low, size, i, j, label)


@inner_kernel
def _with_labels(model, tokens, offers, nodes, scratch, mark, n_windows):
    """Keep the windows that have an allowed label, in their order; return their number. Only for windows that are not
    pruned."""
    kept = np.int64(0)
    for w in range(n_windows):
        for label in range(model.grammar.options[3]):
            if _may_be(model, offers, tokens, nodes, scratch, mark, w, label):
                scratch.windows_i[kept], scratch.windows_j[kept] = scratch.windows_i[w], scratch.windows_j[w]
                kept += 1
                break
    return kept


@inner_kernel
def _list_inferences(model, tokens, least, offers, nodes, scratch, mark):
    """List the inferences that are possible in the current state: (number of windows that pass the window filter,
    whether a shift is allowed, whether the windows are more likely than the shift)."""
    grammar, frontier = model.grammar, scratch.frontier
    low, cursor, size = mark[at.LOW], mark[at.CURSOR], mark[at.SIZE]
    windows_i, windows_j, window_labels = scratch.windows_i, scratch.windows_j, scratch.window_labels
    can_shift = grammar.options[0] == SHIFT_REDUCE and cursor > low
    if can_shift and _has_offers(offers):
        can_shift = may_shift(offers, nodes, frontier, cursor, size)
    constrained, may = len(offers.constraints) > 0, can_shift
    n_windows, windows_first = np.int64(0), False
    if nodes.used[0] < len(nodes.item) - 1:
        n_windows = np.int64(list_windows(grammar, nodes, tokens, frontier, cursor, size, windows_i, windows_j))
        if constrained:
            n_windows = constrain_windows(offers.constraints, nodes, frontier, windows_i, windows_j, n_windows)
        if _has_offers(offers):
            n_windows = prune_windows(
                offers, grammar, model.heads, nodes, frontier, low, size, scratch.features.children, windows_i,
                windows_j, n_windows, window_labels,
            )  # fmt: skip
        elif believed(tokens):
            n_windows, windows_first, sure = believed_windows(
                grammar, model.labels, tokens, nodes, frontier, low, size, windows_i, windows_j, n_windows,
                window_labels,
            )  # fmt: skip
            can_shift = can_shift and not sure
    if constrained:
        if _is_pruned(offers, tokens):
            n_windows = constrain_labels(
                offers.constraints, nodes, frontier, windows_i, windows_j, window_labels, n_windows,
                np.int64(grammar.options[4]),
            )  # fmt: skip
        else:
            n_windows = _with_labels(model, tokens, offers, nodes, scratch, mark, n_windows)
        if n_windows == 0:
            can_shift = may
        elif can_shift:
            can_shift = not must_wait(offers.constraints, nodes, frontier, cursor, size)
    elif len(model.gate) > 1 and n_windows > 0:
        kept, most = gate_windows(
            model.gate, least, tokens, nodes, frontier, low, size, windows_i, windows_j, window_labels,
            n_windows, scratch.gate_keys,
        )  # fmt: skip
        if kept > 0 or can_shift:  # if there is no other inference, all windows are kept
            n_windows, windows_first = kept, most > 0
    return n_windows, can_shift, windows_first


@inner_kernel
def _has_room(model, agenda, cache, n_windows):
    """Whether the successors of `n_windows` windows fit in all arrays; write the needed sizes to the marks."""
    states, heap, met, mark = agenda.states, agenda.heap, agenda.met, agenda.mark
    keep = len(heap) > 1
    successors = n_windows * np.int64(model.grammar.options[3])
    mark[at.NEED_STATES] = mark[at.N_STATES] + 2 + (successors if keep else 0)
    mark[at.NEED_MET] = 2 * (mark[at.N_MET] + successors) if _tracks(model, agenda) else 0
    mark[at.NEED_CACHE] = cache.used[0] + n_windows + 1 if len(cache.entries) > 2 else 0
    return (
        mark[at.NEED_STATES] <= len(states)
        and mark[at.NEED_MET] <= len(met)
        and mark[at.NEED_CACHE] <= len(cache.scores)
    )


@inner_kernel
def _tracks(model, agenda):
    """Whether duplicate states are detected, because several paths can lead to the same items."""
    return model.grammar.options[0] == BOTTOM_UP and len(agenda.heap) > 1


@inner_kernel
def _is_forced(offers, tokens, scratch, n_windows, can_shift):
    """Whether supertags or marginals leave a single inference; it costs nothing and is not scored."""
    if not _is_pruned(offers, tokens) or n_windows != 1 or can_shift:
        return False
    return not scratch.window_labels[0] & (scratch.window_labels[0] - _BIT)


@inner_kernel
def _score_inferences(
    model, tokens, n_tokens, confident, offers, nodes, scratch, cache, mark, n_windows, can_shift, windows_first
):
    """Score the windows and, as one more window, the shift, starting with the one that the window filter considers more
    likely. If its score is above `confident`, the other is skipped: return (number of windows, whether to shift) that
    remain."""
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
                if scratch.shift[0, 0] > confident and _skipped(tokens, nodes, scratch, mark) == 0.0:
                    return np.int64(0), can_shift
            elif _best(model, offers, tokens, scratch, n_windows) > confident:
                return n_windows, False
    return n_windows, can_shift


@inner_kernel
def _skipped(tokens, nodes, scratch, mark):
    """Cost of a shift, or of TOP, in the current state by the marginals; 0 without marginals."""
    if not believed(tokens) or mark[at.CURSOR] >= mark[at.SIZE]:
        return 0.0
    return skipped_cost(tokens, nodes, np.int64(scratch.frontier[mark[at.CURSOR]]))


@inner_kernel
def _best(model, offers, tokens, scratch, n_windows):
    """The highest score of any allowed label except TOP over the windows of several items."""
    pruned, best = _is_pruned(offers, tokens), -np.inf
    for w in range(n_windows):
        if scratch.windows_j[w] - scratch.windows_i[w] > 1:
            for label in range(model.grammar.options[4]):
                if not pruned or scratch.window_labels[w] & (_BIT << np.uint64(label)):
                    best = max(best, scratch.scores[w, label])
    return best


@inner_kernel
def _met_before(agenda, nodes, frontier, i, j, label, total):
    """(Whether the items after this inference were visited at the same or a lower cost, their key); see
    `agenda.meet`."""
    item = nodes.item
    below = np.int64(item[frontier[i]]["label"]) if j - i == 1 else np.int64(-1)
    key = agenda.states[agenda.mark[at.CURRENT]]["hash"] ^ item_hash(
        item[frontier[i]]["start"], item[frontier[j - 1]]["end"], label, below
    )
    agenda.mark[at.N_MET] += 1
    return meet(agenda.met, key, total), key


@inner_kernel
def _make_successors(model, offers, tokens, nodes, scratch, agenda, best_cost, n_windows, can_shift, forced):
    """Create the state after each inference if it is cheaper than the best parses; in greedy parsing only that after
    the cheapest one. Return (index of the cheapest state, or -1; number of legal labels of windows)."""
    states, mark = agenda.states, agenda.mark
    n_labels = np.int64(model.grammar.options[3])
    keep, track = len(agenda.heap) > 1, _tracks(model, agenda)
    current, cost = mark[at.CURRENT], states[mark[at.CURRENT]]["cost"]
    cheapest, step, legal = np.int64(-1), np.inf, 0
    skipped = _skipped(tokens, nodes, scratch, mark)
    for w in range(n_windows):
        i, j = np.int64(scratch.windows_i[w]), np.int64(scratch.windows_j[w])
        read = built_cost(tokens, nodes, scratch.frontier, i, j) if believed(tokens) else 0.0
        for label in range(n_labels):
            if not _may_be(model, offers, tokens, nodes, scratch, mark, w, label):
                continue
            legal += 1
            extra = skipped
            if label != model.grammar.options[4]:
                extra = read
                if believed(tokens):
                    extra += label_cost(model.labels, tokens, nodes, scratch.frontier, i, j, label)
            if not forced:
                mark[at.SCORED] += 1
                extra += inference_cost(scratch.scores[w, label])
            total, key, known = cost + extra, at.EMPTY, False
            if total >= best_cost:
                continue
            if track:
                known, key = _met_before(agenda, nodes, scratch.frontier, i, j, label, total)
            if known or not (keep or extra < step):
                continue
            put_state(states, mark[at.N_STATES], current, i, j, label, total, key)
            if extra < step:
                cheapest, step = mark[at.N_STATES], extra
            mark[at.N_STATES] += keep
    if can_shift:
        cursor = mark[at.CURSOR]
        mark[at.SCORED] += 1
        extra = skipped + inference_cost(scratch.shift[0, 0])
        if cost + extra < best_cost and (keep or extra < step):
            put_state(states, mark[at.N_STATES], current, cursor - 1, cursor, n_labels, cost + extra, at.EMPTY)
            if extra < step:
                cheapest = mark[at.N_STATES]
            mark[at.N_STATES] += keep
    mark[at.N_STATES] += cheapest >= 0 and not keep
    return cheapest, legal


@inner_kernel
def _make_shift(model, tokens, nodes, scratch, agenda):
    """Create the state after a shift that is the only possible action, so that it costs only what the marginals add."""
    states, mark = agenda.states, agenda.mark
    current, cursor, slot = mark[at.CURRENT], mark[at.CURSOR], mark[at.N_STATES]
    label = np.int64(model.grammar.options[3])
    cost = states[current]["cost"] + _skipped(tokens, nodes, scratch, mark)
    put_state(states, slot, current, cursor - 1, cursor, label, cost, states[current]["hash"])
    mark[at.N_STATES] += 1
    return slot


@inner_kernel
def _follow(model, offers, nodes, scratch, agenda, slot):
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
        follow_chain(offers, nodes)
    mark[at.CURRENT] = slot


@inner_kernel
def _complete_greedily(model, tokens, n_tokens, confident, least, offers, nodes, scratch, agenda, cache, best_cost):
    """Apply the cheapest inference repeatedly from the current state, and create states for the others; return the
    outcome."""
    mark = agenda.mark
    while not is_complete(model.grammar, nodes, scratch.frontier, mark[at.LOW], mark[at.SIZE]):
        n_windows, can_shift, windows_first = _list_inferences(model, tokens, least, offers, nodes, scratch, mark)
        if not _has_room(model, agenda, cache, n_windows):
            return MORE_ROOM
        mark[at.EXPANDED] += 1
        if n_windows == 0 and can_shift:
            _follow(model, offers, nodes, scratch, agenda, _make_shift(model, tokens, nodes, scratch, agenda))
            continue
        forced = _is_forced(offers, tokens, scratch, n_windows, can_shift)
        if n_windows > 0 and not forced:
            n_windows, can_shift = _score_inferences(
                model, tokens, n_tokens, confident, offers, nodes, scratch, cache, mark, n_windows, can_shift,
                windows_first,
            )  # fmt: skip
        cheapest, legal = _make_successors(
            model, offers, tokens, nodes, scratch, agenda, best_cost, n_windows, can_shift, forced
        )
        if cheapest < 0:  # all cost at least as much as the best parse, or were visited before; or there is none
            return _STUCK if legal == 0 and not can_shift else _TOO_DEAR
        _follow(model, offers, nodes, scratch, agenda, cheapest)
    return _PARSED


@inner_kernel
def _keep_best(agenda, nodes, n_tokens, ended, out_cost):
    """Add the current state to the parses if it is one of the k cheapest so far. Pieces without an inference left count
    as joined under TOP, at most one such parse."""
    mark, key = agenda.mark, at.EMPTY
    if ended == _TOO_DEAR:
        return
    total = agenda.states[mark[at.CURRENT]]["cost"]
    mark[at.N_TRIED] += 1
    if ended == _STUCK:
        total += GLUE_COST * (mark[at.SIZE] - mark[at.LOW])
    elif len(agenda.ends) > 1:
        key = tree_key(nodes, n_tokens)
    out_cost[-1] = keep_end(agenda, total, key, mark[at.CURRENT], ended == _STUCK)
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
    model, tokens, tag_symbols, n_tokens, budget, confident, least, offers, nodes, scratch, agenda, cache,
    out_cost,
):  # fmt: skip
    """Continue the search of `agenda`; return `MORE_ROOM` if an array is full (the marks show which), else 0. The
    parses are the agenda's `ends`, from which `make_parse` builds trees.

    The last entry of `out_cost` is the cost that a parse must stay below to be one of the k best.
    """
    states, heap, mark, k = agenda.states, agenda.heap, agenda.mark, len(agenda.ends)
    per_state = np.int64(model.grammar.options[3]) if _has_offers(offers) else 0
    while True:
        if mark[at.RESUMED] == 0:
            _rebuild(model, tokens, tag_symbols, n_tokens, offers, nodes, scratch, agenda, mark[at.CURRENT], out_cost)
            mark[at.QUEUED_FROM] = mark[at.N_STATES]
        ended = _complete_greedily(
            model, tokens, n_tokens, confident, least, offers, nodes, scratch, agenda, cache, out_cost[-1]
        )
        mark[at.RESUMED] = ended == MORE_ROOM
        if ended == MORE_ROOM:
            return MORE_ROOM
        _keep_best(agenda, nodes, n_tokens, ended, out_cost)
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
def status_of(agenda, number):
    """The status of one of the agenda's parses: OPTIMAL if no parse other than those before it can cost less."""
    end = agenda.ends[number]
    if end["glued"]:
        return FALLBACK
    if len(agenda.heap) == 1:
        return GREEDY
    proven = agenda.mark[at.N_HEAP] == 0 or agenda.states[agenda.heap[0]]["cost"] >= end["cost"]
    return OPTIMAL if proven else COMPLETE


@inner_kernel
def make_parse(model, tokens, tag_symbols, n_tokens, offers, nodes, scratch, agenda, number, out_cost):
    """Build the items of one of the agenda's parses."""
    mark, end = agenda.mark, agenda.ends[number]
    _rebuild(model, tokens, tag_symbols, n_tokens, offers, nodes, scratch, agenda, end["state"], out_cost)
    if end["glued"]:
        low, size = mark[at.LOW], mark[at.SIZE]
        out_cost[nodes.used[0]] = GLUE_COST * (size - low)
        top, children = np.int64(model.grammar.options[4]), scratch.features.children
        add_item(model.heads, nodes, scratch.frontier, low, size, top, children)


@inner_kernel
def _rebuild(model, tokens, tag_symbols, n_tokens, offers, nodes, scratch, agenda, state, out_cost):
    """Make `state` the current one; see `rebuild`."""
    mark = agenda.mark
    mark[at.LOW], mark[at.CURSOR], mark[at.SIZE] = rebuild(
        model.grammar, model.heads, tokens, tag_symbols, n_tokens, offers, nodes, scratch.frontier,
        scratch.features.children, agenda.states, state, agenda.path, out_cost,
    )  # fmt: skip
