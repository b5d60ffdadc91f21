"""Trees and marginals of the sentences of an encoded batch: one kernel call computes them all, and other threads can
run meanwhile."""

import math
from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX, REAL
from ...jit.decorator import kernel, yield_cpu
from .attach import attach_unattached, first_unattached, mask_tags
from .network import LabelLayer, constituent_marginals, decode_scored, span_probabilities

DONE, OUT_OF_SPACE, UNATTACHED, LONG = 0, 1, 2, 3
"""Reasons why `parse_from` and `marginals_from` return: there are no more sentences; the output is too short for the
next one; the last one is long and has unattached tokens; the next one is too long for a chart."""
_ROUNDING = 1e-3
"""Margin of a logarithm within which the float32 exponential of the caller decides."""


class Encoded(NamedTuple):
    """S sentences and the output of Q networks for them, made once and handed on to whatever needs it.

    `ids` int32 (rows, k), `offsets` int32 (S + 1,): as in `kernels.network.encode_gaps`; `tags` int32 (rows,): the id
    of each row's tag. `gaps`, `left_scores` float32: the output of `encode_gaps` for all sentences (G = rows - S gaps),
    of one network after another: 4 · m · G and G numbers of each. `layer`: the networks' LabelLayer.
    """

    ids: np.ndarray
    offsets: np.ndarray
    tags: np.ndarray
    gaps: np.ndarray
    left_scores: np.ndarray
    layer: LabelLayer


class ChartArrays(NamedTuple):
    """Options of the chart, see `kernels.network.decode`.

    `chain_from` int32 (chains + 1,), `chain_labels` int32: the labels of each chain. `min_prob`, `penalty`:
    probabilities. `candidate`: minimum probability of spans to which unattached tokens may be attached, in sentences of
    at most `piece` tokens. A sentence of more than `max_tokens` tokens is too long for a chart.
    """

    chain_from: np.ndarray
    chain_labels: np.ndarray
    min_prob: float
    penalty: float
    candidate: float
    piece: int
    max_tokens: int


class Trees(NamedTuple):
    """Output: `items` int32 (…, 3): start, end, label in pre-order, without the root, and `costs` float64; sentence s
    has items[ends[s] : ends[s + 1]] (`ends` int64 (S + 1,)). `tried` int64 (S,): number of labelled spans. `max_cost`
    float64 (S,): the highest cost before tokens are attached, at least 0."""

    items: np.ndarray
    costs: np.ndarray
    ends: np.ndarray
    tried: np.ndarray
    max_cost: np.ndarray


class ChainListing(NamedTuple):
    """Output: the label chains of spans that may have a probability of at least `min_prob`; above 1: none are listed.

    `entries` int32 (…, 3): start, end, chain, ordered by span, then chain; `posteriors` float64 (…,): of the span;
    `logs` float32 (…,): log-probability of the chain; sentence s has entries[ends[s] : ends[s + 1]] (`ends` int64
    (S + 1,)).
    """

    min_prob: float
    entries: np.ndarray
    posteriors: np.ndarray
    logs: np.ndarray
    ends: np.ndarray


@kernel(error_model="numpy")
def outputs_of(encoded, s):
    """The output of the networks for sentence s of n tokens: `gaps` float32 (Q, 4, n + 1, m), `left_scores`
    (Q, n + 1)."""
    used, m = encoded.layer.weights.shape[0], encoded.layer.weights.shape[1]
    # A sentence of n tokens has n + 2 rows and n + 1 gaps: one gap fewer than rows for each sentence before it.
    gap = encoded.offsets[s] - s
    size = encoded.offsets[s + 1] - encoded.offsets[s] - 1
    total = len(encoded.ids) - (len(encoded.offsets) - 1)
    if used == 1:
        gaps = encoded.gaps[4 * m * gap : 4 * m * (gap + size)].reshape((1, 4, size, m))
        return gaps, encoded.left_scores[gap : gap + size].reshape((1, size))
    gaps, left_scores = np.empty((used, 4, size, m), dtype=REAL), np.empty((used, size), dtype=REAL)
    for q in range(used):
        first = 4 * m * (q * total + gap)
        gaps[q] = encoded.gaps[first : first + 4 * m * size].reshape((4, size, m))
        left_scores[q] = encoded.left_scores[q * total + gap : q * total + gap + size]
    return gaps, left_scores


@kernel(error_model="numpy")
def list_chains(listing, s, spans, posteriors, logs):
    """List the label chains of sentence s, given the output of `span_probabilities`; return whether there was enough
    space."""
    at = listing.ends[s]
    for c in range(len(spans)):
        limit = math.log(listing.min_prob) - math.log(posteriors[c]) - _ROUNDING
        for chain in range(1, logs.shape[1]):
            if logs[c, chain] >= limit:
                if at == len(listing.entries):
                    return False
                listing.entries[at, 0], listing.entries[at, 1], listing.entries[at, 2] = spans[c, 0], spans[c, 1], chain
                listing.posteriors[at], listing.logs[at] = posteriors[c], logs[c, chain]
                at += 1
    listing.ends[s + 1] = at
    return True


@kernel(error_model="numpy")
def select_probable(spans, posteriors, logs, min_prob):
    """The rows of the output of `span_probabilities` with a posterior of at least `min_prob`."""
    count = 0
    for c in range(len(spans)):
        count += posteriors[c] >= min_prob
    some_spans, some_posteriors = np.empty((count, 2), dtype=INDEX), np.empty(count)
    some_logs = np.empty((count, logs.shape[1]), dtype=REAL)
    count = 0
    for c in range(len(spans)):
        if posteriors[c] >= min_prob:
            some_spans[count], some_posteriors[count], some_logs[count] = spans[c], posteriors[c], logs[c]
            count += 1
    return some_spans, some_posteriors, some_logs


@kernel(error_model="numpy")
def parse_from(encoded, trees, listing, sentence, chart, never, one_root, verb_phrase, is_verb):
    """Call `kernels.network.decode` for all sentences, starting with index `sentence`, and attach unattached
    tokens (`attach_unattached`). Return (index of the next sentence, DONE, `OUT_OF_SPACE`, `UNATTACHED` or `LONG`).

    `never`, `one_root`, `verb_phrase`, `is_verb`: see `kernels.attach`; if `never` is empty, no token counts as
    unattached. A tree of n tokens has at most 3 · longest chain · (n + 1) items.
    """
    longest = np.diff(chart.chain_from).max()
    layer, chain_from, chain_labels = encoded.layer, chart.chain_from, chart.chain_labels
    parents, masked = np.empty((2, len(encoded.tags)), dtype=INDEX)
    while sentence < len(encoded.offsets) - 1:
        yield_cpu()
        row, at = encoded.offsets[sentence], trees.ends[sentence]
        n = encoded.offsets[sentence + 1] - row - 2
        if n > chart.max_tokens:
            return sentence, LONG
        if at + 3 * longest * (n + 1) > len(trees.items):
            return sentence, OUT_OF_SPACE
        gaps, left_scores = outputs_of(encoded, sentence)
        lowest = min(chart.min_prob, listing.min_prob)
        spans, posteriors, logs = span_probabilities(gaps, left_scores, layer, 0, n, lowest)
        if listing.min_prob <= 1.0:
            if not list_chains(listing, sentence, spans, posteriors, logs):
                return sentence, OUT_OF_SPACE
            if lowest < chart.min_prob:
                spans, posteriors, logs = select_probable(spans, posteriors, logs, chart.min_prob)
        items, costs = trees.items[at:], trees.costs[at:]
        count = decode_scored(spans, posteriors, logs, chain_from, chain_labels, 0, n, chart.penalty, items, costs)
        trees.tried[sentence] = len(spans)
        trees.max_cost[sentence] = 0.0
        for k in range(count):
            trees.max_cost[sentence] = max(trees.max_cost[sentence], costs[k])
        unattached = False
        if len(never) > 0:
            tags = masked[:n]
            mask_tags(items, count, encoded.tags[row + 1 : row + 1 + n], verb_phrase, is_verb, parents[:n], tags)
            lacks_root = one_root and count > 0 and (items[0, 0] > 0 or items[0, 1] < n)
            unattached = lacks_root or first_unattached(items, count, n, tags, never, parents[:n], 0) >= 0
            if unattached and n <= chart.piece:
                if chart.min_prob <= chart.candidate:
                    spans, posteriors, logs = select_probable(spans, posteriors, logs, chart.candidate)
                else:
                    spans, posteriors, logs = span_probabilities(gaps, left_scores, layer, 0, n, chart.candidate)
                count = attach_unattached(
                    items, costs, count, tags, never, one_root, spans, posteriors, logs, chain_from, chain_labels
                )
        trees.ends[sentence + 1] = at + count
        sentence += 1
        if unattached and n > chart.piece:
            return sentence, UNATTACHED
    return sentence, DONE


@kernel(error_model="numpy")
def marginals_from(encoded, listing, max_tokens, min_prob, sentence, marginals, ends):
    """Compute the marginals (`constituent_marginals`) of the sentences of a batch, concatenated, starting with index
    `sentence`. Return (index of the next sentence, DONE, `OUT_OF_SPACE` or `LONG`: it has more than `max_tokens`
    tokens). Filled: the four arrays of `marginals`, see `core.marginals.SpanMarginals`; `ends` int64 (S + 1,): offsets
    of the sentences' marginals, and their number."""
    spans, span_probs, chains, chain_probs = marginals
    while sentence < len(encoded.offsets) - 1:
        yield_cpu()
        n, at = encoded.offsets[sentence + 1] - encoded.offsets[sentence] - 2, ends[sentence]
        if n > max_tokens:
            return sentence, LONG
        gaps, left_scores = outputs_of(encoded, sentence)
        lowest = min(min_prob, listing.min_prob)
        found, posteriors, logs = span_probabilities(gaps, left_scores, encoded.layer, 0, n, lowest)
        if at + len(found) > len(spans):
            return sentence, OUT_OF_SPACE
        if listing.min_prob <= 1.0 and not list_chains(listing, sentence, found, posteriors, logs):
            return sentence, OUT_OF_SPACE
        # constituents less probable than min_prob are left out there, so more spans than necessary do no harm
        ends[sentence + 1] = at + constituent_marginals(
            found, posteriors, logs, min_prob, spans[at:], span_probs[at:], chains[at:], chain_probs[at:]
        )
        sentence += 1
    return sentence, DONE
