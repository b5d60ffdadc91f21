"""The inferences of the current state of a search: those that are possible, their scores, and their application."""

from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel
from ...trees.kernels import HeadTable
from . import agenda as at
from .agenda import Agenda
from .constraints import constrain_labels, constrain_windows, is_label_allowed, must_wait
from .features import Nodes, ParseState, Windows
from .marginals import has_marginals
from .pruning import prune_by_marginals, skip_cost
from .score import SHIFT_SEED, WINDOW_SEED, ScoreCache, Scorer, score_windows
from .spines import SupertagArrays, follow_chain, may_shift, prune_windows
from .state import SHIFT_REDUCE, Grammar, infer, is_label_legal, list_windows
from .window_filter import filter_windows

_BIT = np.uint64(1)


class Search(NamedTuple):
    """The search of one sentence, by a `SearchModel` with a `SearchScratch`. (These are separate arguments, because
    compile time grows faster than the number of arrays in a bundle.)

    `tokens` int32 (rows, columns), `tag_symbols` int32 (n_tokens,): see `batch.Sentences`. `node_costs` float64: see
    `batch.Workspace`; its last entry is the cost that a parse must stay below to be one of the k best.
    `shift_threshold`, `min_sum`: see `batch.search_all`.
    """

    tokens: np.ndarray
    tag_symbols: np.ndarray
    n_tokens: int
    supertags: SupertagArrays
    nodes: Nodes
    agenda: Agenda
    cache: ScoreCache
    node_costs: np.ndarray
    shift_threshold: float
    min_sum: int


class WindowSelector(NamedTuple):
    """All that selects the windows of a state: the parts of `SearchModel` and `SearchScratch` with these names."""

    grammar: Grammar
    heads: HeadTable
    labels: np.ndarray
    window_filter: np.ndarray
    min_sum: int
    supertags: SupertagArrays
    windows: Windows
    children: np.ndarray
    window_keys: np.ndarray


class Candidates(NamedTuple):
    """The inferences of a state: the first `n_windows` of `windows` with their `scores`, and, if `can_shift`, a shift
    with the score `shift[0, 0]`. `forced`: it is the only one, which costs nothing and is not scored."""

    windows: Windows
    scores: np.ndarray
    shift: np.ndarray
    n_windows: int
    can_shift: bool
    forced: bool


# Functions that are called often, or in several places, take the arrays that they use instead of the whole `Search`:
# every array of an argument costs compile time, and a copy per call.


@inner_kernel
def current_state(tokens, n_tokens, nodes, frontier, mark):
    """The current state."""
    return ParseState(tokens, n_tokens, nodes, frontier, mark[at.LOW], mark[at.CURSOR], mark[at.SIZE])


@inner_kernel
def apply_inference(grammar, heads, supertags, state, children, agenda, slot):
    """Apply to the current state the inference that created the state in `slot`."""
    mark, created = agenda.mark, agenda.states[slot]
    i, j, label = np.int64(created["i"]), np.int64(created["j"]), np.int64(created["label"])
    mark[at.LOW], mark[at.CURSOR], mark[at.SIZE] = infer(grammar, heads, state, i, j, label, children)
    if label != grammar.options[3]:
        follow_chain(supertags, state.nodes)


@inner_kernel
def has_supertags(supertags):
    """Whether there are supertags, which prune the search."""
    return supertags.levels.shape[2] > 1


@inner_kernel
def _is_pruned(supertags, tokens):
    """Whether the windows are pruned, so that their `labels` are the allowed ones."""
    return has_supertags(supertags) or has_marginals(tokens)


@inner_kernel
def is_allowed(grammar, supertags, state, windows, w, label):
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
            if is_allowed(grammar, supertags, state, windows, w, label):
                windows.i[n_kept], windows.j[n_kept] = windows.i[w], windows.j[w]
                n_kept += 1
                break
    return n_kept


@inner_kernel
def list_inferences(selector, state):
    """List the inferences that are possible in the current state: (number of windows that pass the window filter,
    whether a shift is allowed, whether the windows are more likely than the shift)."""
    grammar, supertags, windows = selector.grammar, selector.supertags, selector.windows
    nodes, frontier = state.nodes, state.frontier
    can_shift = grammar.options[0] == SHIFT_REDUCE and state.cursor > state.low
    if can_shift and has_supertags(supertags):
        can_shift = may_shift(supertags, nodes, frontier, state.cursor, state.size)
    constrained, may_shift_now = len(supertags.constraints) > 0, can_shift
    n_windows, windows_first = np.int64(0), False
    if nodes.used[0] < len(nodes.item) - 1:  # there is space for one more item, and for TOP over pieces
        n_windows = np.int64(list_windows(grammar, state, windows))
        if constrained:
            n_windows = constrain_windows(supertags.constraints, nodes, frontier, windows, n_windows)
        if has_supertags(supertags):
            heads, children = selector.heads, selector.children
            n_windows = prune_windows(supertags, grammar, heads, state, children, windows, n_windows)
        elif has_marginals(state.tokens):
            n_windows, windows_first, is_certain = prune_by_marginals(
                grammar, selector.labels, state, windows, n_windows
            )
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
    elif len(selector.window_filter) > 1 and n_windows > 0:
        n_kept, max_sum = filter_windows(
            selector.window_filter, selector.min_sum, state, windows, n_windows, selector.window_keys
        )
        if n_kept > 0 or can_shift:  # if there is no other inference, all windows are kept
            n_windows, windows_first = n_kept, max_sum > 0
    return n_windows, can_shift, windows_first


@inner_kernel
def is_forced(supertags, tokens, windows, n_windows, can_shift):
    """Whether supertags or marginals leave a single inference; it costs nothing and is not scored."""
    if not _is_pruned(supertags, tokens) or n_windows != 1 or can_shift:
        return False
    labels = windows.labels[0]
    return not labels & (labels - _BIT)  # a single bit


@inner_kernel
def score_inferences(model, scratch, search, state, n_windows, can_shift, windows_first):
    """Score the windows and, as one more window, the shift, starting with the one that the window filter considers more
    likely. If its score is above `shift_threshold`, the other is skipped: return (number of windows, whether to shift)
    that remain."""
    windows, supertags, shift_threshold = scratch.windows, search.supertags, search.shift_threshold
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
                if scratch.shift[0, 0] > shift_threshold and skip_cost_of(state) == 0.0:
                    return np.int64(0), can_shift
            elif _best_score(model.grammar, supertags, state, windows, scratch.scores, n_windows) > shift_threshold:
                return n_windows, False
    return n_windows, can_shift


@inner_kernel
def skip_cost_of(state):
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
