"""Search over the sentences of a batch: one kernel call parses them all, and other threads can run meanwhile."""

from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX, OFFSET, SCORE
from ..jit import bare_kernel, give_way, inner_kernel
from . import agenda as at
from .agenda import END, Agenda, begin, make_agenda, with_room
from .features import Nodes
from .score import ScoreCache, SearchModel, SearchScratch, make_cache
from .search import MORE_ROOM, advance, make_parse, status_of
from .spines import Offers
from .state import BOTTOM_UP, make_nodes


class Sentences(NamedTuple):
    """S sentences of a batch, concatenated.

    `tokens` int32 (rows, columns): the matrix of sentence s is the rows [`rows[s]`, `rows[s + 1]`). `tags` int32
    (tokens,): symbol of each token's tag. `firsts` int64 (S + 1,): offsets of the sentences' tokens, and the number of
    tokens. `budgets` int64 (S,): see `search_all`.
    """

    tokens: np.ndarray
    rows: np.ndarray
    tags: np.ndarray
    firsts: np.ndarray
    budgets: np.ndarray


class Parses(NamedTuple):
    """The P = k S best parses of S sentences, k of each, cheapest first.

    `items` int32 (I, 3): start, end, label in pre-order, the root first; parse p has `items[firsts[p] : firsts[p + 1]]`
    (`firsts` int64 (P + 1,)), none if there are fewer than k parses. `item_costs` float64 (I,): cost of each item's
    inference. `costs` float64 (P,): costs of the parses. `statuses` int64 (P,): OPTIMAL, COMPLETE, GREEDY or FALLBACK.
    `counts` int64 (S, 4): states expanded, inferences scored, 1 if the first (greedy) parse is the best, states
    created.
    """

    items: np.ndarray
    item_costs: np.ndarray
    firsts: np.ndarray
    costs: np.ndarray
    statuses: np.ndarray
    counts: np.ndarray


class Room(NamedTuple):
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
def _write_items(nodes, n_tokens, node_costs, places, parses, first):
    """Write a parse's items in pre-order, starting at row `first`; return the row after the last. `places` int32:
    scratch, one element per token."""
    item, used = nodes.item, np.int64(nodes.used[0])
    for t in range(n_tokens):
        places[t] = 0
    for node in range(n_tokens, used):
        places[item[node]["start"]] += 1
    total = first
    for t in range(n_tokens):
        here = places[t]
        places[t] = total
        total += here
    for node in range(used - 1, n_tokens - 1, -1):  # an item contains the earlier items that start at the same token
        start = np.int64(item[node]["start"])
        at_row = np.int64(places[start])
        places[start] += 1
        parses.items[at_row, 0] = start
        parses.items[at_row, 1] = item[node]["end"]
        parses.items[at_row, 2] = item[node]["label"]
        parses.item_costs[at_row] = node_costs[node]
    return total


@bare_kernel
def search_each(
    model, sentences, sentence, confident, least, offers, nodes, scratch, agenda, cache, node_costs, parses
):  # fmt: skip
    """Parse all sentences, starting with index `sentence`. Return the index of the sentence for which an array is too
    short, or the number of sentences. For the arguments see `search_all`."""
    mark, k = agenda.mark, len(agenda.ends)
    while sentence < len(sentences.budgets):
        give_way()
        first, last = sentences.firsts[sentence], sentences.firsts[sentence + 1]
        tokens = sentences.tokens[sentences.rows[sentence] : sentences.rows[sentence + 1]]
        n = last - first
        own = Nodes(nodes.item[: _ITEMS * n + _MORE], nodes.pool[: _POOL * (_ITEMS * n + _MORE)], nodes.used)
        if mark[at.BEGUN] == 0:
            begin(agenda, cache.entries, cache.used)
            node_costs[-1] = np.inf
            if scratch.features.mark[0] > _LAST_STAMP:
                scratch.features.mark[0] = 0
                scratch.features.stamp[:] = 0
        tags, counts = sentences.tags[first:last], parses.counts[sentence]
        ended = advance(
            model, tokens, tags, n, sentences.budgets[sentence], confident, least, offers,
            own, scratch, agenda, cache, node_costs,
        )  # fmt: skip
        if ended == MORE_ROOM:
            break
        mark[at.BEGUN] = 0
        counts[0], counts[1], counts[3] = mark[at.EXPANDED], mark[at.SCORED], mark[at.N_STATES]
        counts[2] = 1 if agenda.ends[0]["state"] == mark[at.FIRST] else 0
        for number in range(k):
            parse = k * sentence + number
            parses.firsts[parse + 1] = parses.firsts[parse]
            if number < mark[at.N_ENDS]:
                make_parse(model, tokens, tags, n, offers, own, scratch, agenda, number, node_costs)
                parses.firsts[parse + 1] = _write_items(
                    own, n, node_costs, scratch.frontier, parses, parses.firsts[parse]
                )
                parses.costs[parse], parses.statuses[parse] = agenda.ends[number]["cost"], status_of(agenda, number)
        sentence += 1
    return sentence


def make_room(model: SearchModel, n_tokens: int, scratch: SearchScratch, keep: bool) -> Room:
    """Allocate a workspace for sentences of up to `n_tokens` tokens. `keep`: whether states are queued; otherwise only
    greedy parses can be found (a budget of 0). `scratch`: for the same number of tokens."""
    options = model.grammar.options
    capacity = _ITEMS * n_tokens + _MORE
    nodes = make_nodes(capacity, _POOL * capacity)
    return Room(
        nodes, scratch,
        make_agenda(n_tokens, len(nodes.item), keep, keep and int(options[0]) == BOTTOM_UP),
        make_cache(2048 if keep and options[6] >= 0 else 2, scratch.scores.shape[1]),
        np.zeros(len(nodes.item) + 1),
    )  # fmt: skip


def search_all(
    model: SearchModel, sentences: Sentences, confident: float, least: int, offers: Offers, room: Room, k: int = 1
) -> tuple[Parses, Room]:
    """Find the k best parses, with different trees, of sentences of at least one token each. Return the parses and the
    workspace, which may have grown; for k = 1 it has the nodes of the last sentence, of which the last is the root.

    A sentence's budget: stop when so many inferences are scored and k parses exist (or more than k were tried); with
    supertags a state counts as as many inferences as there are labels. 0: greedy only, with a workspace that queues no
    states. `confident`: a shift that scores more is taken without scoring the windows of its state, and, if the window
    filter finds a window likely, a window that scores more is taken without scoring the shift (infinity: never). Then
    OPTIMAL means the cheapest of the remaining parses. `least`: minimum sum of weights (in the window filter's units)
    of the windows that are scored, if the model has a window filter; if no window passes, a shift costs nothing.
    `offers`: spines that each token may head, with chains for all nodes, for a single sentence; if they allow only one
    inference, it costs nothing.
    """
    n = len(sentences.budgets)
    most = k * (_ITEMS * int(sentences.firsts[-1]) + _MORE * n)
    parses = Parses(
        np.empty((most, 3), dtype=INDEX), np.empty(most, dtype=SCORE), np.zeros(k * n + 1, dtype=OFFSET),
        np.empty(k * n, dtype=SCORE), np.empty(k * n, dtype=OFFSET), np.zeros((n, 4), dtype=OFFSET),
    )  # fmt: skip
    if k != len(room.agenda.ends):
        room = room._replace(agenda=room.agenda._replace(ends=np.zeros(k, dtype=END)))
    room.agenda.mark[at.BEGUN] = 0
    done = 0
    while True:
        done = search_each(model, sentences, done, confident, least, offers, *room, parses)
        if done == n:
            found = int(parses.firsts[-1])
            return parses._replace(items=parses.items[:found], item_costs=parses.item_costs[:found]), room
        agenda, cache = with_room(room.agenda, room.cache)
        room = room._replace(agenda=agenda, cache=cache)
