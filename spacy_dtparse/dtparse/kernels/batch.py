"""Search over the sentences of a batch: one kernel call parses them all, and other threads can run meanwhile."""

from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX, OFFSET, SCORE
from ...jit.decorator import inner_kernel, noalloc_kernel, yield_cpu
from . import agenda as at
from .agenda import END, Agenda, enlarge, make_agenda, reset
from .features import Nodes
from .inferences import Search
from .score import ScoreCache, SearchModel, SearchScratch, make_cache
from .search import OUT_OF_SPACE, advance, build_parse, status_of
from .spines import SupertagArrays
from .state import BOTTOM_UP, make_nodes


class Sentences(NamedTuple):
    """S sentences of a batch, concatenated.

    `tokens` int32 (rows, columns): the matrix of sentence s is the rows [`row_offsets[s]`, `row_offsets[s + 1]`).
    `tags` int32 (tokens,): symbol of each token's tag. `offsets` int64 (S + 1,): offsets of the sentences' tokens, and
    the number of tokens. `budgets` int64 (S,): see `search_all`.
    """

    tokens: np.ndarray
    row_offsets: np.ndarray
    tags: np.ndarray
    offsets: np.ndarray
    budgets: np.ndarray


class Parses(NamedTuple):
    """The P = k S best parses of S sentences, k of each, cheapest first.

    `items` int32 (I, 3): start, end, label in pre-order, the root first; parse p has
    `items[offsets[p] : offsets[p + 1]]` (`offsets` int64 (P + 1,)), none if there are fewer than k parses. `item_costs`
    float64 (I,): cost of each item's inference. `costs` float64 (P,): costs of the parses. `statuses` int64 (P,):
    OPTIMAL, COMPLETE, GREEDY or FALLBACK. `counts` int64 (S, 4): states expanded, inferences scored, 1 if the first
    (greedy) parse is the best, states created.
    """

    items: np.ndarray
    item_costs: np.ndarray
    offsets: np.ndarray
    costs: np.ndarray
    statuses: np.ndarray
    counts: np.ndarray


class Workspace(NamedTuple):
    """Arrays with which one thread searches, for sentences up to the length for which they were allocated.

    `node_costs` float64 (node capacity + 1,): cost of each item's inference, by node; in the last entry the cost that
    a parse must stay below. The agenda and the cache grow when necessary.
    """

    nodes: Nodes
    scratch: SearchScratch
    agenda: Agenda
    cache: ScoreCache
    node_costs: np.ndarray


_ITEMS, _MORE, _POOL = 8, 576, 2
"""A sentence has at most 8 nodes per token plus 576; together these have fewer than twice as many children."""
_LAST_STAMP = 2**31 - 2**26
"""When the stamp is above this, it is reset before the next sentence, so that it cannot overflow within one."""


@inner_kernel
def _write_items(nodes, n_tokens, node_costs, next_row, parses, first):
    """Write a parse's items in pre-order, starting at row `first`; return the row after the last. `next_row` int32:
    scratch, one element per token."""
    item, used = nodes.item, np.int64(nodes.used[0])
    for t in range(n_tokens):
        next_row[t] = 0
    for node in range(n_tokens, used):
        next_row[item[node]["start"]] += 1
    total = first
    for t in range(n_tokens):
        count = next_row[t]
        next_row[t] = total
        total += count
    for node in range(used - 1, n_tokens - 1, -1):  # an item contains the earlier items that start at the same token
        start = np.int64(item[node]["start"])
        at_row = np.int64(next_row[start])
        next_row[start] += 1
        parses.items[at_row, 0] = start
        parses.items[at_row, 1] = item[node]["end"]
        parses.items[at_row, 2] = item[node]["label"]
        parses.item_costs[at_row] = node_costs[node]
    return total


@noalloc_kernel
def search_from(model, sentences, sentence, shift_threshold, min_sum, supertags, workspace, parses):
    """Parse all sentences, starting with index `sentence`. Return the index of the sentence for which an array is too
    short, or the number of sentences. For the arguments see `search_all`."""
    nodes, scratch, agenda, cache, node_costs = workspace
    mark, k = agenda.mark, len(agenda.ends)
    while sentence < len(sentences.budgets):
        yield_cpu()
        first, last = sentences.offsets[sentence], sentences.offsets[sentence + 1]
        tokens = sentences.tokens[sentences.row_offsets[sentence] : sentences.row_offsets[sentence + 1]]
        n = last - first
        sentence_nodes = Nodes(nodes.item[: _ITEMS * n + _MORE], nodes.pool[: _POOL * (_ITEMS * n + _MORE)], nodes.used)
        if mark[at.STARTED] == 0:
            reset(agenda, cache.entries, cache.used)
            node_costs[-1] = np.inf
            if scratch.features.mark[0] > _LAST_STAMP:
                scratch.features.mark[0] = 0
                scratch.features.stamp[:] = 0
        counts = parses.counts[sentence]
        search = Search(
            tokens,
            sentences.tags[first:last],
            n,
            supertags,
            sentence_nodes,
            agenda,
            cache,
            node_costs,
            shift_threshold,
            min_sum,
        )
        if advance(model, scratch, search, sentences.budgets[sentence]) == OUT_OF_SPACE:
            break
        mark[at.STARTED] = 0
        counts[0], counts[1], counts[3] = mark[at.EXPANDED], mark[at.SCORED], mark[at.N_STATES]
        counts[2] = 1 if agenda.ends[0]["state"] == mark[at.FIRST] else 0
        for rank in range(k):
            parse = k * sentence + rank
            parses.offsets[parse + 1] = parses.offsets[parse]
            if rank < mark[at.N_ENDS]:
                build_parse(model, scratch, search, rank)
                parses.offsets[parse + 1] = _write_items(
                    sentence_nodes, n, node_costs, scratch.frontier, parses, parses.offsets[parse]
                )
                parses.costs[parse], parses.statuses[parse] = agenda.ends[rank]["cost"], status_of(agenda, rank)
        sentence += 1
    return sentence


def make_workspace(model: SearchModel, n_tokens: int, scratch: SearchScratch, queue_states: bool) -> Workspace:
    """Allocate a workspace for sentences of up to `n_tokens` tokens. `queue_states`: whether states are queued;
    otherwise only greedy parses can be found (a budget of 0). `scratch`: for the same number of tokens."""
    options = model.grammar.options
    capacity = _ITEMS * n_tokens + _MORE
    nodes = make_nodes(capacity, _POOL * capacity)
    agenda = make_agenda(n_tokens, capacity, queue_states, queue_states and int(options[0]) == BOTTOM_UP)
    cache = make_cache(2048 if queue_states and options[6] >= 0 else 2, scratch.scores.shape[1])
    return Workspace(nodes, scratch, agenda, cache, np.zeros(capacity + 1))


def search_all(
    model: SearchModel,
    sentences: Sentences,
    shift_threshold: float,
    min_sum: int,
    supertags: SupertagArrays,
    workspace: Workspace,
    k: int = 1,
) -> tuple[Parses, Workspace]:
    """Find the k best parses, with different trees, of sentences of at least one token each. Return the parses and the
    workspace, which may have grown; for k = 1 it has the nodes of the last sentence, of which the last is the root.

    A sentence's budget: stop when so many inferences are scored and k parses exist (or more than k were tried); with
    supertags a state counts as as many inferences as there are labels. 0: greedy only, with a workspace that queues no
    states. `shift_threshold`: a shift that scores more is taken without scoring the windows of its state, and, if the
    window filter finds a window likely, a window that scores more is taken without scoring the shift (infinity: never).
    Then OPTIMAL means the cheapest of the remaining parses. `min_sum`: minimum sum of weights (in the window filter's
    units) of the windows that are scored, if the model has a window filter; if no window passes, a shift costs nothing.
    `supertags`: spines that each token may head, with chains for all nodes, for a single sentence; if they allow only
    one inference, it costs nothing.
    """
    n = len(sentences.budgets)
    max_items = k * (_ITEMS * int(sentences.offsets[-1]) + _MORE * n)
    parses = Parses(
        items=np.empty((max_items, 3), dtype=INDEX),
        item_costs=np.empty(max_items, dtype=SCORE),
        offsets=np.zeros(k * n + 1, dtype=OFFSET),
        costs=np.empty(k * n, dtype=SCORE),
        statuses=np.empty(k * n, dtype=OFFSET),
        counts=np.zeros((n, 4), dtype=OFFSET),
    )
    if k != len(workspace.agenda.ends):
        workspace = workspace._replace(agenda=workspace.agenda._replace(ends=np.zeros(k, dtype=END)))
    workspace.agenda.mark[at.STARTED] = 0
    done = 0
    while True:
        done = search_from(model, sentences, done, shift_threshold, min_sum, supertags, workspace, parses)
        if done == n:
            found = int(parses.offsets[-1])
            return parses._replace(items=parses.items[:found], item_costs=parses.item_costs[:found]), workspace
        agenda, cache = enlarge(workspace.agenda, workspace.cache)
        workspace = workspace._replace(agenda=agenda, cache=cache)
