"""What a reader believes of a sentence's spans, as whole numbers beside its tokens.

A reader is anything that gives probabilities of spans and of their labels: the span network of the model's file, or
another. Its beliefs are written below the tokens, in rows of the same matrix: one row for each span that may be a
constituent, those that begin at the same token together, by their ends. Probabilities are kept as bins, so that trees
test them like any other value, and what a person reads of a rule is what the kernel tests.
"""

import math

import numpy as np

from ..jit import bare_kernel, inner_kernel

FIRST_SPAN, LAST_SPAN, ALL_SKIPPED, DISBELIEVED = 6, 7, 8, 9
"""Columns of a token: the rows [first, last) of the spans that begin there; the sum of their SKIPPED; the cost of a
constituent in which the reader does not believe at all."""

END, MASS, CHAIN, SURE, CHAIN_2, SURE_2, STARTING, ENDING, CROSSING, BUILT, SKIPPED = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
SECOND, OTHER, DECIDED = 11, 12, 13
"""Columns of a span: where it ends; how probable a constituent is there; the likeliest chain of labels and the one
after it, by number, with their probabilities; how many longer constituents begin and end where it does, and how many
cross it, as expected; what the search pays for a constituent there, and for none. Of the last two one is 0: what is
less likely than not costs its log odds, times the trust in the reader, in units of 1 / COST_UNIT. SECOND and OTHER are
what a label costs that the second chain stands for, or neither: by how much the likeliest is likelier. DECIDED: 1 where
the reader is sure of a constituent and its labels, -1 where it is sure that there is none, 0 where that is in doubt."""
COLUMNS = 14
"""Of the matrix, where there are beliefs."""
COST_UNIT = 1024
_LEAST, _MOST = 0.002, 0.998
"""Probabilities below and above cost as these do."""

LIMITS = np.array([0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.995])
"""A probability's bin is how many of these it reaches."""
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
    """The row of the span [start, end), -1 where the reader does not believe in it. There must be beliefs."""
    for row in range(tokens[start, FIRST_SPAN], tokens[start, LAST_SPAN]):
        if tokens[row, END] == end:
            return np.int64(row)
    return np.int64(-1)


@inner_kernel
def believed(tokens):
    """Whether there are beliefs beside the tokens."""
    return tokens.shape[1] == COLUMNS


@inner_kernel(error_model="numpy")
def write_beliefs(columns, spans, masses, chains, chances, trust, sure, tokens, sums):
    """Write tokens and beliefs into one matrix.

    `columns` int32 (n, TOKEN_COLUMNS): the tokens. `spans` int32 (c, 2), ordered by start, then end, none twice;
    `masses` float64 (c,): probability that a constituent is there; `chains` int32 (c, 2), `chances` float64 (c, 2): the
    likeliest chains of labels (-1: there is no other) and the probability that the tree has just these labels there.
    `trust`: what the log odds of a constituent count in the search. `sure`: probability from which on a constituent
    with its labels, or that there is none, is not in doubt.
    Filled: `tokens` int32 (n + c, COLUMNS). `sums` float64 (n + 1 + c,), all 0: room.
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
    """Fill CROSSING: from the left, the spans that begin before a span and end within it; from the right, those that
    begin within it and end behind it."""
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
    """`write_beliefs` for the sentences of a batch, one behind the other. `columns` int32 (tokens, TOKEN_COLUMNS),
    those of a sentence from `firsts[s]` to `firsts[s + 1]`; its beliefs from `believed_from[s]` on, in the arrays of
    `write_beliefs`; its rows of `tokens`, all 0, from `rows[s]`. `sums` float64 (rows and sentences,), all 0: room."""
    for s in range(len(firsts) - 1):
        t, b = slice(firsts[s], firsts[s + 1]), slice(believed_from[s], believed_from[s + 1])
        write_beliefs(
            columns[t], spans[b], masses[b], chains[b], chances[b], trust, sure, tokens[rows[s] : rows[s + 1]],
            sums[rows[s] + s : rows[s + 1] + s + 1],
        )  # fmt: skip


def count_tokens(tokens: np.ndarray) -> int:
    """How many of a matrix's rows are tokens."""
    return int(tokens[0, FIRST_SPAN]) if len(tokens) and tokens.shape[1] == COLUMNS else len(tokens)
