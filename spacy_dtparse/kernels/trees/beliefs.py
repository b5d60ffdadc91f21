"""Span marginals of a sentence as integers in the token matrix.

A span model gives probabilities of spans and of their labels: the span network in the model's file, or another. Its
marginals are written below the tokens, in rows of the same matrix: one row for each span that may be a constituent,
ordered by start, then end. Probabilities are stored as bins, so the trees test them like any other value, and the text
of a rule shows exactly what the kernel tests.
"""

import math

import numpy as np

from ..jit import bare_kernel, inner_kernel

FIRST_SPAN, LAST_SPAN, ALL_SKIPPED, DISBELIEVED = 6, 7, 8, 9
"""Columns of a token: the rows [first, last) of the spans that start there; the sum of their `SKIPPED`; the cost of a
constituent over a span without marginals."""

END, MASS, CHAIN, SURE, CHAIN_2, SURE_2, STARTING, ENDING, CROSSING, BUILT, SKIPPED = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
SECOND, OTHER, DECIDED = 11, 12, 13
"""Columns of a span.

`END`: its end. `MASS`: bin of the probability of a constituent there. `CHAIN`, `CHAIN_2`: ids of the most likely and
the second most likely label chain, with the bins of their probabilities in `SURE` and `SURE_2`. `STARTING`, `ENDING`,
`CROSSING`: bins of the expected number of longer constituents that start where it does, that end where it does, and of
constituents that cross it. `BUILT`, `SKIPPED`: cost in the search of a constituent there, and of none. One of the two
is 0; the outcome that is less likely than not costs its log odds times the weight of the marginals, in units of 1 /
`COST_UNIT`. `SECOND`, `OTHER`: cost of a label of the second chain, and of a label of neither chain: the log ratio of
the most likely chain's probability to theirs. `DECIDED`: 1 if the span model is confident of a constituent and its
labels, -1 if it is confident that there is none, else 0."""
COLUMNS = 14
"""Number of columns of a matrix with marginals."""
COST_UNIT = 1024
_LEAST, _MOST = 0.002, 0.998
"""Limits to which probabilities are clipped before their costs are computed."""

LIMITS = np.array([0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.995])
"""The bin of a probability is the number of these limits that it reaches."""
N_BINS = len(LIMITS) + 1
_N_LIMITS = len(LIMITS)


@inner_kernel
def bin_of(probability):
    """The bin of a probability, 0 … N_BINS - 1."""
    number = 0
    while number < _N_LIMITS and probability >= LIMITS[number]:
        number += 1
    return number


@inner_kernel
def span_row(tokens, start, end):
    """The row of the span [start, end), -1 if it has no marginals. The matrix must have marginals."""
    for row in range(tokens[start, FIRST_SPAN], tokens[start, LAST_SPAN]):
        if tokens[row, END] == end:
            return np.int64(row)
    return np.int64(-1)


@inner_kernel
def believed(tokens):
    """Whether a token matrix has span marginals."""
    return tokens.shape[1] == COLUMNS


@inner_kernel(error_model="numpy")
def write_beliefs(columns, spans, masses, chains, chances, trust, sure, tokens, sums):
    """Write tokens and span marginals into one matrix.

    `columns` int32 (n, TOKEN_COLUMNS): the tokens. `spans` int32 (c, 2): ordered by start, then end, without repeats.
    `masses` float64 (c,): probability of a constituent over the span. `chains` int32 (c, 2), `chances` float64 (c, 2):
    the two most likely label chains (-1: there is no second) and the probability that the tree has exactly these
    labels there. `trust`: weight of the log odds of a constituent in the search. `sure`: minimum probability at which a
    constituent with its labels, or the absence of one, counts as decided.
    Filled: `tokens` int32 (n + c, COLUMNS). Scratch: `sums` float64 (n + 1 + c,), all 0.
    """
    n, c = len(columns), len(spans)
    for t in range(n):
        for k in range(columns.shape[1]):
            tokens[t, k] = columns[t, k]
    row = 0
    for t in range(n):
        tokens[t, FIRST_SPAN] = n + row
        while row < c and spans[row, 0] == t:
            row += 1
        tokens[t, LAST_SPAN] = n + row
        tokens[t, DISBELIEVED] = round(COST_UNIT * trust * math.log(_MOST / (1.0 - _MOST)))
    ending, crossing = sums[: n + 1], sums[n + 1 :]
    for r in range(c):
        at, j = n + r, spans[r, 1]
        tokens[at, END] = j
        tokens[at, MASS] = bin_of(masses[r])
        tokens[at, CHAIN], tokens[at, CHAIN_2] = chains[r, 0], chains[r, 1]
        tokens[at, SURE], tokens[at, SURE_2] = bin_of(chances[r, 0]), bin_of(chances[r, 1])
        tokens[at, ENDING] = bin_of(ending[j])
        mass = min(max(masses[r], _LEAST), _MOST)
        odds = round(COST_UNIT * trust * math.log(mass / (1.0 - mass)))
        tokens[at, BUILT], tokens[at, SKIPPED] = max(-odds, 0), max(odds, 0)
        first = max(chances[r, 0], _LEAST)
        rest = max(masses[r] - chances[r, 0] - chances[r, 1], _LEAST)
        tokens[at, SECOND] = max(0, round(COST_UNIT * trust * math.log(first / max(chances[r, 1], _LEAST))))
        tokens[at, OTHER] = max(0, round(COST_UNIT * trust * math.log(first / rest)))
        tokens[at, DECIDED] = 1 * (chances[r, 0] >= sure) - 1 * (masses[r] <= 1.0 - sure)
        tokens[spans[r, 0], ALL_SKIPPED] += max(odds, 0)
        ending[j] += masses[r]
    starting = 0.0
    for r in range(c - 1, -1, -1):
        if r == c - 1 or spans[r + 1, 0] != spans[r, 0]:
            starting = 0.0
        tokens[n + r, STARTING] = bin_of(starting)
        starting += masses[r]
    _write_crossing(n, spans, masses, crossing, tokens)


@inner_kernel
def _write_crossing(n, spans, masses, crossing, tokens):
    """Fill CROSSING, the expected number of constituents that cross a span: a pair of spans crosses if one starts
    within the other and ends after it."""
    c = len(spans)
    for r in range(c):
        i, j = spans[r, 0], spans[r, 1]
        if j - i < 2:
            continue
        for t in range(i + 1, j):
            for other in range(tokens[t, LAST_SPAN] - n - 1, tokens[t, FIRST_SPAN] - n - 1, -1):
                if spans[other, 1] <= j:
                    break
                crossing[r] += masses[other]
                crossing[other] += masses[r]
    for r in range(c):
        tokens[n + r, CROSSING] = bin_of(crossing[r])


@bare_kernel(error_model="numpy", nogil=False)
def write_all(columns, firsts, spans, masses, chains, chances, believed_from, trust, sure, tokens, rows, sums):
    """Call `write_beliefs` for the sentences of a batch, which are concatenated.

    `columns` int32 (tokens, TOKEN_COLUMNS): sentence s has `columns[firsts[s] : firsts[s + 1]]`. Its marginals start at
    `believed_from[s]` in the arrays of `write_beliefs`, its rows of `tokens`, all 0, at `rows[s]`. Scratch: `sums`
    float64 (rows plus sentences,), all 0.
    """
    for s in range(len(firsts) - 1):
        t, b = slice(firsts[s], firsts[s + 1]), slice(believed_from[s], believed_from[s + 1])
        write_beliefs(
            columns[t], spans[b], masses[b], chains[b], chances[b], trust, sure,
            tokens[rows[s] : rows[s + 1]], sums[rows[s] + s : rows[s + 1] + s + 1],
        )  # fmt: skip


def count_tokens(tokens: np.ndarray) -> int:
    """The number of rows of a matrix that are tokens."""
    return int(tokens[0, FIRST_SPAN]) if len(tokens) and tokens.shape[1] == COLUMNS else len(tokens)
