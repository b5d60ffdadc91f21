"""The search over the sentences of a batch: one call of a kernel parses them all, and other threads run meanwhile."""

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
    """The sentences of a batch, one behind the other. `tokens` int32 (rows, columns): the matrix of each, the rows
    [rows[s], rows[s + 1]); `tags` int32 (tokens,): symbol of each token's tag; `firsts` int64 (S + 1,): where the
    tokens of each begin, and their number; `budgets` int64 (S,)."""

    tokens: np.ndarray
    rows: np.ndarray
    tags: np.ndarray
    firsts: np.ndarray
    budgets: np.ndarray


class Parses(NamedTuple):
    """The P = k S best parses of S sentences, k of each, cheapest first. `items` int32 (I, 3): start, end, label in
    pre-order, the root first, those of parse p from firsts[p] to firsts[p + 1] (`firsts` int64 (P + 1,)), none where
    there are fewer parses; `item_costs` float64 (I,): of each item's inference. `costs` float64 (P,): of the parses.
    `statuses` int64 (P,): OPTIMAL, COMPLETE, GREEDY or FALLBACK. `counts` int64 (S, 4): states expanded, inferences
    scored, 1 if the first (greedy) parse is the best, states made."""

    items: np.ndarray
    item_costs: np.ndarray
    firsts: np.ndarray
    costs: np.ndarray
    statuses: np.ndarray
    counts: np.ndarray


class Room(NamedTuple):
    """What a thread searches with, for sentences of up to as many tokens as it was made for. `node_costs` float64 (node
    capacity + 1,): cost of each item's inference, by node; the parse's cost in the last entry. The agenda and the cache
    grow where need be."""

    nodes: Nodes
    scratch: SearchScratch
    agenda: Agenda
    cache: ScoreCache
    node_costs: np.ndarray


_ITEMS, _MORE, _POOL = 8, 576, 2
"""A sentence has at most 8 nodes for each token and 576 more; these have fewer than twice as many children in all."""
_LAST_STAMP = 2**31 - 2**26
"""From then on stamps begin anew before a sentence, so that none overflows within it."""


@inner_kernel
def _write_items(nodes, n_tokens, node_costs, places, parses, first):
    """Write a parse's items from `first` on, in pre-order; returns where the next begin. `places` int32: room for a
    number for each token."""
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
    for node in range(used - 1, n_tokens - 1, -1):  # of items that begin at one token the later has the others in it
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
    """Parse the sentences from `sentence` on; the number of the one that needs more room, or how many there are."""
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
            model, tokens, tags, n, sentences.budgets[sentence], confident, least, offers, own, scratch, agenda, cache,
            node_costs,
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
    """Room for sentences of up to `n_tokens` tokens; `keep`: whether states are queued, else only greedy parses are
    found (a budget of 0). `scratch`: for as many tokens."""
    options = model.grammar.options
    capacity = _ITEMS * n_tokens + _MORE
    nodes = make_nodes(capacity, _POOL * capacity)
    return Room(
        nodes, scratch, make_agenda(n_tokens, len(nodes.item), keep, keep and int(options[0]) == BOTTOM_UP),
        make_cache(2048 if keep and options[6] >= 0 else 2, scratch.scores.shape[1]), np.zeros(len(nodes.item) + 1),
    )  # fmt: skip


def search_all(
    model: SearchModel, sentences: Sentences, confident: float, least: int, offers: Offers, room: Room, k: int = 1
) -> tuple[Parses, Room]:
    """The k best parses, of different trees, of sentences of at least one token each. Returns the parses, and the room,
    which may have grown; for k = 1 the nodes of the last sentence are left in it, its root is the last node.

    A budget: stop once so many inferences were scored and k parses exist (or some more were tried), a state with offers
    counting as as many inferences as there are labels; 0: greedy only, in a room that keeps no states. `confident`: a
    shift that scores more is taken without scoring the windows of its state, and, if the gate finds a window likely, a
    window that scores more without scoring the shift (infinity: never); then OPTIMAL means the cheapest of the parses
    that are left. `least`: least margin (in the gate's units) of the windows that are scored, if the model has a gate;
    where it lets no window pass, a shift costs nothing. `offers`: spines that every token may head, with room for the
    nodes, for a single sentence; where they leave one inference only, it costs nothing.
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
