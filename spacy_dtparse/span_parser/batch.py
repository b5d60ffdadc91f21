"""Decoding the sentences of an encoded batch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..dtypes import INDEX, OFFSET, SCORE
from .attach import PIECE
from .attacher import NO_RULES, Attacher
from .decoder import Decoder, double, double_listing
from .encoder import n_tokens, output_of
from .kernels.batch import DONE, LONG, OUT_OF_SPACE, ChainListing, Encoded, Trees, parse_from
from .posteriors import list_chains_of


class DecodedColumns(NamedTuple):
    """The tree of a sentence: starts, ends and label ids of its constituents in pre-order, without TOP, and their
    costs; the status; the number of labelled spans; the highest cost before tokens were attached."""

    columns: Sequence[Sequence[int]]
    costs: Sequence[float]
    status: str
    tried: int
    max_cost: float


def decode_batch(
    decoder: Decoder, attacher: Attacher, encoded: Encoded, listing: ChainListing
) -> tuple[list[DecodedColumns], ChainListing]:
    """Return the tree of each sentence of a batch with its tokens attached, and the filled listing."""
    n, longest = len(encoded.offsets) - 1, int(np.diff(encoded.offsets).max())
    capacity = 2 * len(encoded.ids) + 3 * int(decoder.chain_sizes.max()) * longest
    trees = Trees(
        np.empty((capacity, 3), INDEX),
        np.empty(capacity, SCORE),
        np.zeros(n + 1, OFFSET),
        np.zeros(n, OFFSET),
        np.zeros(n, SCORE),
    )
    chart, rules = decoder.chart(PIECE), attacher.rules or NO_RULES
    apart: dict[int, DecodedColumns] = {}  # by index: sentences that the kernel leaves to this function
    done, reason = 0, OUT_OF_SPACE
    while reason != DONE:
        done, reason = parse_from(encoded, trees, listing, done, chart, *rules)
        if reason == OUT_OF_SPACE:
            trees = trees._replace(items=double(trees.items), costs=double(trees.costs))
            listing = double_listing(listing)
        elif reason == LONG:
            apart[done], listing = _decode_long(decoder, attacher, encoded, listing, done)
            trees.ends[done + 1] = trees.ends[done]
            done += 1
        elif reason != DONE:  # unattached tokens in the last sentence, which is long
            s = done - 1
            count = int(trees.ends[done] - trees.ends[s])
            here, (items, costs) = slice(trees.ends[s], trees.ends[done]), decoder.workspace(n_tokens(encoded, s))
            items[:count], costs[:count] = trees.items[here], trees.costs[here]
            found = attacher.attach(count, _tags(encoded, s), output_of(encoded, s))
            apart[s] = _constituents(*found, decoder.exact_status, int(trees.tried[s]), float(trees.max_cost[s]))
    ends, tried, max_costs = trees.ends.tolist(), trees.tried.tolist(), trees.max_cost.tolist()
    columns, all_costs = trees.items[: ends[-1]].T.tolist(), trees.costs[: ends[-1]].tolist()
    return [
        apart[s]
        if s in apart
        else DecodedColumns(
            [column[ends[s] : ends[s + 1]] for column in columns],
            all_costs[ends[s] : ends[s + 1]],
            decoder.exact_status,
            tried[s],
            max_costs[s],
        )
        for s in range(n)
    ], listing


def _decode_long(
    decoder: Decoder, attacher: Attacher, encoded: Encoded, listing: ChainListing, s: int
) -> tuple[DecodedColumns, ChainListing]:
    """Decode a sentence that is too long for a chart."""
    output = output_of(encoded, s)
    if listing.min_prob <= 1:
        listing = list_chains_of(decoder.scored_spans(output, listing.min_prob), listing, s)
    decoded = decoder.decode(output)
    found = attacher.attach(len(decoded.items), _tags(encoded, s), output, decoded.scored)
    return _constituents(*found, decoded.status, decoded.tried, max(decoded.costs, default=0.0)), listing


def _constituents(
    items: Sequence[Sequence[int]], costs: Sequence[float], status: str, tried: int, max_cost: float
) -> DecodedColumns:
    return DecodedColumns([*zip(*items, strict=True)] or [(), (), ()], costs, status, tried, max_cost)


def _tags(encoded: Encoded, s: int) -> np.ndarray:
    """Return the ids of the tags of a sentence."""
    return encoded.tags[encoded.offsets[s] + 1 : encoded.offsets[s + 1] - 1]
