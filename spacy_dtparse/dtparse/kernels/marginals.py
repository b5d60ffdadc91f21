"""Span marginals of a sentence as integers in the token matrix.

A span model gives probabilities of spans and of their labels: the span network in the model's file, or another. Its
marginals are written below the tokens, in rows of the same matrix: one row for each span that may be a constituent,
ordered by start, then end. Probabilities are stored as bins, so the trees test them like any other value, and the text
of a rule shows exactly what the kernel tests.
"""

import math

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel

FIRST_SPAN, LAST_SPAN, TOTAL_SKIP_COST, NO_MARGINAL_COST = 6, 7, 8, 9
"""Columns of a token: the rows [first, last) of the spans that start there; the sum of their `SKIP_COST`; the cost of a
constituent over a span without marginals."""

END, SPAN_PROB, CHAIN, CHAIN_PROB, CHAIN_2, CHAIN_PROB_2, STARTING, ENDING, CROSSING, BUILD_COST, SKIP_COST = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
)
SECOND_COST, OTHER_COST, DECISION = 11, 12, 13
"""Columns of a span.

`END`: its end. `SPAN_PROB`: bin of the probability of a constituent there. `CHAIN`, `CHAIN_2`: ids of the most likely
and the second most likely label chain, with the bins of their probabilities in `CHAIN_PROB` and `CHAIN_PROB_2`.
`STARTING`, `ENDING`, `CROSSING`: bins of the expected number of longer constituents that start where it does, that end
where it does, and of constituents that cross it. `BUILD_COST`, `SKIP_COST`: cost in the search of a constituent there,
and of none. One of the two is 0; the outcome that is less likely than not costs its log odds times the weight of the
marginals, in units of 1 / `COST_UNIT`. `SECOND_COST`, `OTHER_COST`: cost of a label of the second chain, and of a label
of neither chain: the log ratio of the most likely chain's probability to theirs. `DECISION`: 1 if the span model is
confident of a constituent and its labels, -1 if it is confident that there is none, else 0."""
COLUMNS = 14
"""Number of columns of a matrix with marginals."""
COST_UNIT = 1024
_MIN_PROB, _MAX_PROB = 0.002, 0.998
"""Limits to which probabilities are clipped before their costs are computed."""

LIMITS = np.array([0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.995])
"""The bin of a probability is the number of these limits that it reaches."""
N_BINS = len(LIMITS) + 1
_N_LIMITS = len(LIMITS)


@inner_kernel
def probability_bin(probability):
    """The bin of a probability, 0 … N_BINS - 1."""
    bin_id = 0
    while bin_id < _N_LIMITS and probability >= LIMITS[bin_id]:
        bin_id += 1
    return bin_id


@inner_kernel
def span_row(tokens, start, end):
    """The row of the span [start, end), -1 if it has no marginals. The matrix must have marginals."""
    for row in range(tokens[start, FIRST_SPAN], tokens[start, LAST_SPAN]):
        if tokens[row, END] == end:
            return np.int64(row)
    return np.int64(-1)


@inner_kernel
def has_marginals(tokens):
    """Whether a token matrix has span marginals."""
    return tokens.shape[1] == COLUMNS


@inner_kernel(error_model="numpy")
def write_marginals(columns, marginals, marginal_weight, commit_threshold, tokens, sums):
    """Write tokens and span marginals into one matrix.

    `columns` int32 (n, TOKEN_COLUMNS): the tokens. `marginals`: the four arrays of `core.marginals.SpanMarginals`, c
    spans ordered by start, then end, without repeats. `marginal_weight`: weight of the log odds of a constituent in the
    search. `commit_threshold`: minimum probability at which a constituent with its labels, or the absence of one,
    counts as decided. Filled: `tokens` int32 (n + c, COLUMNS). Scratch: `sums` float64 (n + 1 + c,), all 0.
    """
    spans, span_probs, chains, chain_probs = marginals
    n, c = len(columns), len(spans)
    for t in range(n):
        for k in range(columns.shape[1]):
            tokens[t, k] = columns[t, k]
    row = 0
    for t in range(n):
        tokens[t, FIRST_SPAN] = n + row  # spans are ordered by start: those of a token are adjacent
        while row < c and spans[row, 0] == t:
            row += 1
        tokens[t, LAST_SPAN] = n + row
        tokens[t, NO_MARGINAL_COST] = round(COST_UNIT * marginal_weight * math.log(_MAX_PROB / (1.0 - _MAX_PROB)))
    ending, crossing = sums[: n + 1], sums[n + 1 :]
    for r in range(c):
        at, j = n + r, spans[r, 1]
        tokens[at, END] = j
        tokens[at, SPAN_PROB] = probability_bin(span_probs[r])
        tokens[at, CHAIN], tokens[at, CHAIN_2] = chains[r, 0], chains[r, 1]
        tokens[at, CHAIN_PROB], tokens[at, CHAIN_PROB_2] = (
            probability_bin(chain_probs[r, 0]),
            probability_bin(chain_probs[r, 1]),
        )
        tokens[at, ENDING] = probability_bin(ending[j])
        span_prob = min(max(span_probs[r], _MIN_PROB), _MAX_PROB)
        odds = round(COST_UNIT * marginal_weight * math.log(span_prob / (1.0 - span_prob)))
        tokens[at, BUILD_COST], tokens[at, SKIP_COST] = max(-odds, 0), max(odds, 0)
        first = max(chain_probs[r, 0], _MIN_PROB)
        rest = max(span_probs[r] - chain_probs[r, 0] - chain_probs[r, 1], _MIN_PROB)
        tokens[at, SECOND_COST] = max(
            0, round(COST_UNIT * marginal_weight * math.log(first / max(chain_probs[r, 1], _MIN_PROB)))
        )
        tokens[at, OTHER_COST] = max(0, round(COST_UNIT * marginal_weight * math.log(first / rest)))
        tokens[at, DECISION] = 1 * (chain_probs[r, 0] >= commit_threshold) - 1 * (
            span_probs[r] <= 1.0 - commit_threshold
        )
        tokens[spans[r, 0], TOTAL_SKIP_COST] += max(odds, 0)
        ending[j] += span_probs[r]
    starting = 0.0
    for r in range(c - 1, -1, -1):
        if r == c - 1 or spans[r + 1, 0] != spans[r, 0]:
            starting = 0.0
        tokens[n + r, STARTING] = probability_bin(starting)
        starting += span_probs[r]
    _write_crossing(n, spans, span_probs, crossing, tokens)


@inner_kernel
def _write_crossing(n, spans, span_probs, crossing, tokens):
    """Fill CROSSING, the expected number of constituents that cross a span: a pair of spans crosses if one starts
    within the other and ends after it."""
    c = len(spans)
    for r in range(c):
        i, j = spans[r, 0], spans[r, 1]
        if j - i < 2:
            continue
        for t in range(i + 1, j):
            for other in range(tokens[t, LAST_SPAN] - n - 1, tokens[t, FIRST_SPAN] - n - 1, -1):
                if spans[other, 1] <= j:  # nor do the others that start here: ends are ascending
                    break
                crossing[r] += span_probs[other]
                crossing[other] += span_probs[r]
    for r in range(c):
        tokens[n + r, CROSSING] = probability_bin(crossing[r])


@noalloc_kernel(error_model="numpy", nogil=False)
def write_marginals_batch(
    columns, token_offsets, marginals, marginal_offsets, marginal_weight, commit_threshold, tokens, row_offsets, sums
):
    """Call `write_marginals` for the sentences of a batch, which are concatenated.

    `columns` int32 (tokens, TOKEN_COLUMNS): sentence s has `columns[token_offsets[s] : token_offsets[s + 1]]`. Its
    marginals start at `marginal_offsets[s]` in the arrays of `write_marginals`, its rows of `tokens`, all 0, at
    `row_offsets[s]`. Scratch: `sums` float64 (rows plus sentences,), all 0.
    """
    spans, span_probs, chains, chain_probs = marginals
    for s in range(len(token_offsets) - 1):
        t, b = slice(token_offsets[s], token_offsets[s + 1]), slice(marginal_offsets[s], marginal_offsets[s + 1])
        rows = slice(row_offsets[s], row_offsets[s + 1])
        scratch = sums[row_offsets[s] + s : row_offsets[s + 1] + s + 1]
        here = spans[b], span_probs[b], chains[b], chain_probs[b]
        write_marginals(columns[t], here, marginal_weight, commit_threshold, tokens[rows], scratch)


def count_tokens(tokens: np.ndarray) -> int:
    """The number of rows of a matrix that are tokens."""
    return int(tokens[0, FIRST_SPAN]) if len(tokens) and tokens.shape[1] == COLUMNS else len(tokens)
