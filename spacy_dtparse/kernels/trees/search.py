"""Search over whole states: pop the cheapest, complete it greedily, queue every successor that was passed over.

Turian & Melamed 2006a, sections 2 and 4.1: cost of an inference is ln(1 + exp(-h)), so costs only rise along a path and
the first popped state that costs no less than the best complete parse proves that parse optimal. Successors live in
one array (see `agenda`); a popped state is rebuilt by applying its path from the start. The kernel allocates nothing:
where room runs out it notes where it stands and returns, and `search` calls it again with more.
"""

from __future__ import annotations

import numpy as np

from ..jit import bare_kernel, inner_kernel
from . import agenda as at
from .agenda import heap_pop, heap_push, item_hash, make_agenda, meet, put_state, with_room
from .features import Nodes
from .gate import gate_windows
from .score import SHIFT_SEED, WINDOW_SEED, SearchModel, SearchScratch, inference_cost, make_cache, score_windows
from .spines import Offers, follow_chain, may_shift, prune_windows, start_chains
from .state import BOTTOM_UP, SHIFT_REDUCE, add_item, infer, is_complete, label_allowed, list_windows, start_sentence

OPTIMAL, COMPLETE, GREEDY, FALLBACK = 0, 1, 2, 3
STATUSES = ("optimal", "complete", "greedy", "fallback")
_MORE_ROOM = -1
_BIT = np.uint64(1)

GLUE_COST = 1000.0
"""Added per frontier item when no inference is left and the pieces are joined under TOP: any real parse is cheaper."""


@inner_kernel
def _best(scores, windows_i, windows_j, pruned, window_labels, n_windows, top):
    """The highest score of any allowed label but TOP over the windows of several items."""
    best = -np.inf
    for w in range(n_windows):
        if windows_j[w] - windows_i[w] > 1:
            for label in range(top):
                if not pruned or window_labels[w] & (_BIT << np.uint64(label)):
                    best = max(best, scores[w, label])
    return best


@inner_kernel
def rebuild(
    grammar, heads, tokens, tag_symbols, n_tokens, offers, nodes, frontier, children, states, state, path, out_cost
):
    """Make `state` the current one by applying its path from the initial state; returns (low, cursor, size).

    `path` int32: room for the path, which is as long as the number of ancestors. The cost of every inference is
    written to `out_cost` at the node it makes.
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


@bare_kernel
def _advance(
    model, tokens, tag_symbols, n_tokens, budget, confident, least, offers, nodes, scratch, agenda, cache, out_cost,
    out_count
):  # fmt: skip
    """Search on from where `agenda` stands; _MORE_ROOM when an array is full (the marks say which), else the status.

    The cost of the best parse so far stands in the last entry of `out_cost`.
    """
    grammar, heads = model.grammar, model.heads
    options = grammar.options
    strategy = np.int64(options[0])
    n_labels = np.int64(options[3])
    top = np.int64(options[4])
    table, features = model.table, scratch.features
    window_atoms, window_rules, window_bits = model.window_atoms, model.window_rules, scratch.window
    shift_atoms, shift_rules, shift_bits = model.shift_atoms, model.shift_rules, scratch.shifts
    frontier, children, keys = scratch.frontier, features.children, scratch.gate_keys
    windows_i, windows_j, window_labels = scratch.windows_i, scratch.windows_j, scratch.window_labels
    scores, shift = scratch.scores, scratch.shift
    states, heap, met, path, mark = agenda.states, agenda.heap, agenda.met, agenda.path, agenda.mark
    item = nodes.item
    node_room = item.shape[0] - 1
    keep = heap.shape[0] > 1
    track = strategy == BOTTOM_UP and keep
    caching = cache.entries.shape[0] > 2
    gated = model.gate.shape[0] > 1
    pruned = offers.levels.shape[2] > 1 or offers.controls.shape[0] > 0
    current, n_states, n_heap, n_met = mark[at.CURRENT], mark[at.N_STATES], mark[at.N_HEAP], mark[at.N_MET]
    low, cursor, size, queued_from = mark[at.LOW], mark[at.CURSOR], mark[at.SIZE], mark[at.QUEUED_FROM]
    scored, expanded = mark[at.SCORED], mark[at.EXPANDED]
    resumed = mark[at.RESUMED] == 1
    best_cost = out_cost[out_cost.shape[0] - 1]
    status = GREEDY
    while True:
        if not resumed:
            low, cursor, size = rebuild(
                grammar, heads, tokens, tag_symbols, n_tokens, offers, nodes, frontier, children, states, current,
                path, out_cost,
            )  # fmt: skip
            queued_from = n_states
        resumed = False
        # Complete it greedily; every successor passed over becomes a state.
        done, glued = False, False
        while not done:
            if is_complete(grammar, nodes, frontier, low, size):
                done = True
                break
            can_shift = strategy == SHIFT_REDUCE and cursor > low
            if can_shift and pruned:
                can_shift = may_shift(offers, nodes, frontier, cursor, size)
            n_windows = np.int64(0)
            if nodes.used[0] < node_room:
                n_windows = np.int64(list_windows(grammar, nodes, tokens, frontier, cursor, size, windows_i, windows_j))
                if pruned:
                    n_windows = prune_windows(
                        offers, grammar, heads, nodes, frontier, low, size, children, windows_i, windows_j, n_windows,
                        window_labels,
                    )  # fmt: skip
            windows_first = False
            if gated and n_windows > 0:
                kept, most = gate_windows(
                    model.gate, least, tokens, nodes, frontier, low, size, windows_i, windows_j, window_labels,
                    n_windows, keys,
                )
                if kept > 0 or can_shift:  # where nothing else is left, all windows stay
                    n_windows = kept
                    windows_first = most > 0
            successors = n_windows * n_labels
            need_states = n_states + 2 + (successors if keep else 0)
            need_met = 2 * (n_met + successors) if track else 0
            need_cache = cache.used[0] + n_windows + 1 if caching else 0
            if need_states > states.shape[0] or need_met > met.shape[0] or need_cache > cache.scores.shape[0]:
                mark[at.CURRENT], mark[at.N_STATES], mark[at.N_HEAP], mark[at.N_MET] = current, n_states, n_heap, n_met
                mark[at.LOW], mark[at.CURSOR], mark[at.SIZE], mark[at.QUEUED_FROM] = low, cursor, size, queued_from
                mark[at.SCORED], mark[at.EXPANDED], mark[at.RESUMED] = scored, expanded, 1
                mark[at.NEED_STATES], mark[at.NEED_MET], mark[at.NEED_CACHE] = need_states, need_met, need_cache
                return _MORE_ROOM
            legal = 0
            expanded += 1
            # Where spines leave one inference only, it costs nothing, and the loop below finds it unscored.
            forced = pruned and n_windows == 1 and not can_shift
            if forced:
                forced = not window_labels[0] & (window_labels[0] - _BIT)
            best_i, best_j, best_label, step = np.int64(-1), np.int64(-1), np.int64(-1), np.inf
            best_slot = np.int64(-1)
            if n_windows == 0:
                if can_shift:
                    best_i, best_j, best_label, step = cursor - 1, cursor, n_labels, 0.0  # the only way on
            else:
                # The shift, as one more window, and the windows; first what the gate takes for likelier. Where that is
                # sure enough, the other is left out. One call for both, because every call of the scorer is compiled
                # on its own.
                if can_shift:
                    windows_i[n_windows] = cursor - 1
                    windows_j[n_windows] = cursor
                for turn in range(2 if can_shift else 0 if forced else 1):
                    if can_shift and windows_first == (turn == 1):
                        atom_map, rules, bits, seed, out = shift_atoms, shift_rules, shift_bits, SHIFT_SEED, shift
                        first, last = n_windows, n_windows + 1
                    else:
                        atom_map, rules, bits, seed, out = window_atoms, window_rules, window_bits, WINDOW_SEED, scores
                        first, last = np.int64(0), n_windows
                    score_windows(
                        grammar, heads, table, atom_map, rules, bits, seed, tokens, n_tokens, nodes, frontier, low,
                        size, windows_i, windows_j, first, last, features, out, cache,
                    )  # fmt: skip
                    if turn == 0 and can_shift:
                        if not windows_first:
                            if shift[0, 0] > confident:
                                n_windows = np.int64(0)
                                break
                        elif _best(scores, windows_i, windows_j, pruned, window_labels, n_windows, top) > confident:
                            can_shift = False
                            break
                top_allowed = size - low == 1
                for w in range(n_windows):
                    i, j = np.int64(windows_i[w]), np.int64(windows_j[w])
                    single = j - i == 1
                    for label in range(n_labels):
                        if label == top and not top_allowed:
                            continue
                        if pruned:
                            if not window_labels[w] & (_BIT << np.uint64(label)):
                                continue
                        elif (single or label == top) and not label_allowed(
                            grammar, nodes, frontier, low, size, i, j, label
                        ):
                            continue
                        legal += 1
                        extra = 0.0
                        if not forced:
                            scored += 1
                            extra = inference_cost(scores[w, label])
                        total = states[current]["cost"] + extra
                        if total >= best_cost:
                            continue
                        slot, key = np.int64(-1), at.EMPTY
                        if track:
                            below = np.int64(item[frontier[i]]["label"]) if single else np.int64(-1)
                            key = states[current]["hash"] ^ item_hash(
                                item[frontier[i]]["start"], item[frontier[j - 1]]["end"], label, below
                            )
                            n_met += 1
                            if meet(met, key, total):
                                continue
                        if keep:
                            slot = n_states
                            put_state(states, slot, current, i, j, label, total, key)
                            n_states += 1
                        if extra < step:
                            best_i, best_j, best_label, step = i, j, label, extra
                            best_slot = slot
                if can_shift:
                    scored += 1
                    extra = inference_cost(shift[0, 0])
                    total = states[current]["cost"] + extra
                    if total < best_cost:
                        slot = np.int64(-1)
                        if keep:
                            slot = n_states
                            put_state(states, slot, current, cursor - 1, cursor, n_labels, total, at.EMPTY)
                            n_states += 1
                        if extra < step:
                            best_i, best_j, best_label, step = cursor - 1, cursor, n_labels, extra
                            best_slot = slot
            if best_label < 0:
                # Either every successor costs at least as much as the best parse, or was met before; or there is none.
                glued = legal == 0 and not can_shift
                break
            if best_slot < 0:
                best_slot = n_states
                total = states[current]["cost"] + step
                put_state(states, best_slot, current, best_i, best_j, best_label, total, states[current]["hash"])
                n_states += 1
            if keep:
                states[best_slot]["parent"] = -2 - states[best_slot]["parent"]  # followed, so not to be queued
            low, cursor, size = infer(
                grammar, heads, nodes, frontier, low, cursor, size, best_i, best_j, best_label, children
            )
            if best_label != n_labels:
                follow_chain(offers, nodes)
            current = best_slot
        total = states[current]["cost"]
        if glued:
            total += GLUE_COST * (size - low)
        if (done or glued) and total < best_cost:
            best_cost = total
            mark[at.BEST], mark[at.BEST_GLUED] = current, glued
            out_cost[out_cost.shape[0] - 1] = best_cost
            if mark[at.FIRST] < 0:
                mark[at.FIRST] = current
        if not keep:
            break
        for s in range(queued_from, n_states):
            parent = states[s]["parent"]
            if parent <= -2:
                states[s]["parent"] = -2 - parent  # followed, not queued
            elif states[s]["cost"] < best_cost:
                n_heap = heap_push(heap, n_heap, states, s)
        if n_heap == 0 or states[heap[0]]["cost"] >= best_cost:
            status = OPTIMAL
            break
        # Pruned states have few inferences to score, but each is a state to build and to look at.
        if scored + (expanded * n_labels if pruned else 0) >= budget and mark[at.BEST] >= 0:
            status = COMPLETE
            break
        current = np.int64(heap[0])
        n_heap = heap_pop(heap, n_heap, states)
    low, cursor, size = rebuild(
        grammar, heads, tokens, tag_symbols, n_tokens, offers, nodes, frontier, children, states, mark[at.BEST], path,
        out_cost,
    )  # fmt: skip
    if mark[at.BEST_GLUED] == 1:
        out_cost[nodes.used[0]] = GLUE_COST * (size - low)
        add_item(heads, nodes, frontier, low, size, top, children)
        status = FALLBACK
    out_cost[out_cost.shape[0] - 1] = best_cost
    out_count[0] = expanded
    out_count[1] = scored
    out_count[2] = 1 if mark[at.BEST] == mark[at.FIRST] else 0
    out_count[3] = n_states
    return status


def search(
    model: SearchModel,
    tokens: np.ndarray,
    tag_symbols: np.ndarray,
    n_tokens: int,
    budget: int,
    confident: float,
    least: int,
    offers: Offers,
    nodes: Nodes,
    scratch: SearchScratch,
    out_cost: np.ndarray,
    out_count: np.ndarray,
) -> int:
    """Parse one sentence of at least one token; the items of the parse are left in `nodes`, the root is the last node.

    `budget`: stop once this many inferences were scored and some parse exists, a state with offers counting as as many
    inferences as there are labels; 0: greedy only. `confident`: a shift
    that scores more is taken without scoring the windows of its state, and, if the gate finds a window likely, a window
    that scores more without scoring the shift (infinity: never); then OPTIMAL means the
    cheapest of the parses that are left. `least`: least margin (in the gate's units) of the windows that are scored, if
    the model has a gate; where it lets no window pass, a shift costs nothing. `offers`: spines that every token may
    head, with room for the nodes; where they leave one inference only, it costs nothing.
    `out_cost` float64 (node capacity + 1,): cost of each item's inference, by node; the parse's cost in the last entry.
    `out_count` int64 (4,): states expanded, inferences scored, 1 if the first (greedy) parse is the one returned,
    states made. Returns a status: OPTIMAL, COMPLETE, GREEDY or FALLBACK.
    """
    options = model.grammar.options
    keep = budget > 0
    agenda = make_agenda(n_tokens, len(nodes.item), keep, keep and int(options[0]) == BOTTOM_UP)
    cache = make_cache(2048 if keep and options[6] >= 0 else 2, scratch.scores.shape[1])
    out_cost[-1] = np.inf
    while True:
        status = _advance(
            model, tokens, tag_symbols, n_tokens, budget, confident, least, offers, nodes, scratch, agenda, cache,
            out_cost, out_count,
        )  # fmt: skip
        if status != _MORE_ROOM:
            return int(status)
        agenda, cache = with_room(agenda, cache)
