"""A log-linear tagger: features of a token and of the two previous labels, and the distribution over labels.

The features are those of Ratnaparkhi (1996) as Clark & Curran (2007) use them for supertags: words and tags in a window
of five, pairs of neighbouring tags, affixes of rare words, the labels of the last two tokens. In addition: a word with
a tag or with its neighbour, triples of tags, the shape of every word, the last label with the token's tag or word.

Tokens are given as atoms, int32 (n + 4, COLUMNS): two rows for positions before the sentence, the n tokens, two rows
for positions after it. 0 is an atom that the model does not have; no feature contains it. Keys are those of `links`:
words below 2**24, tags and labels below 2**12.

Each token's distribution is normalised separately, given the previous labels. So the forward sums are the probabilities
of a token's labels given the entire sentence: those of the backward pass would all be 1.
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit.decorator import inner_kernel, kernel
from ..linear.kernels.feature_table import add_scores
from ..linear.kernels.keys import ONE, put_fours, put_two, put_twos, tag_pair

WORD, TAG, ENTRY, SHAPE, AFFIXES = 0, 1, 2, 3, 4
"""Columns of atoms. ENTRY: entry of the tag dictionary. AFFIXES: the first of eight columns, prefixes and suffixes of
one to four characters, 0 for a frequent word."""
AFFIX = 4
"""Length of the longest affix in characters."""
COLUMNS = AFFIXES + 2 * AFFIX
EDGE = 2
"""Number of rows before and after the tokens."""
START = 1
"""Atom of the label before a sentence; that of label k is FIRST_LABEL + k."""
FIRST_LABEL = 2
MAX_TOKEN_KEYS, MAX_HISTORY_KEYS = 34, 6
_HISTORY = 64
"""First template of the features with a label."""


class TagTables(NamedTuple):
    """A tagger's model: the arrays of a PairTable, and a tag dictionary. Entry e of the tag dictionary allows the
    labels allowed[allowed_from[e] : allowed_from[e + 1]], ascending; entry 0 allows all. `scale`: factor that converts
    a sum of integer weights to an unnormalised log-probability."""

    slots: np.ndarray
    ids: np.ndarray
    starts: np.ndarray
    pairs: np.ndarray
    allowed_from: np.ndarray
    allowed: np.ndarray
    scale: float


@inner_kernel
def token_keys(atoms, row, keys):
    """Write the keys of a token's features without labels; return their number, at most MAX_TOKEN_KEYS."""
    w, t = atoms[row, WORD], atoms[row, TAG]
    w_before, w_after = atoms[row - 1, WORD], atoms[row + 1, WORD]
    t_first, t_before = atoms[row - 2, TAG], atoms[row - 1, TAG]
    t_after, t_last = atoms[row + 1, TAG], atoms[row + 2, TAG]
    count = put_twos(keys, 0, 1, (
        (ONE, w), (ONE, w_before), (ONE, w_after), (ONE, atoms[row - 2, WORD]), (ONE, atoms[row + 2, WORD]),
    ))  # fmt: skip
    count = put_twos(keys, count, 6, ((ONE, t), (ONE, t_before), (ONE, t_after), (ONE, t_first), (ONE, t_last)))
    count = put_twos(keys, count, 11, (
        (t_before, t), (t, t_after), (t_first, t_before), (t_after, t_last), (t_before, t_after),
        (tag_pair(t_before, t), t_after), (tag_pair(t_first, t_before), t), (tag_pair(t, t_after), t_last),
    ))  # fmt: skip
    count = put_twos(keys, count, 19, (
        (w, t), (w_before, t), (w_after, t), (w, t_before), (w, t_after), (w_before, w), (w, w_after),
        (ONE, atoms[row, SHAPE]),
    ))  # fmt: skip
    for affix in range(2 * AFFIX):
        count = put_two(keys, count, 27 + affix, 1, atoms[row, AFFIXES + affix])
    return count


@inner_kernel
def history_keys(atoms, row, last, second, keys, count):
    """Write the keys of a token's features with the atoms of the last label and of the second last, starting at
    `count`; return the new count, at most MAX_HISTORY_KEYS more."""
    w, t = atoms[row, WORD], atoms[row, TAG]
    count = put_twos(keys, count, _HISTORY, ((ONE, last), (second, last), (last, t), (w, last)))
    return put_fours(keys, count, _HISTORY + 4, ((ONE, second, last, t), (ONE, last, t, atoms[row + 1, TAG])))


@inner_kernel
def to_probabilities(scores, allowed, first, end, scale, probabilities):
    """Write the softmax of `scale` times the scores of the labels allowed[first:end]; return the log of its
    normaliser."""
    highest = scores[allowed[first]]
    for k in range(first + 1, end):
        highest = max(highest, scores[allowed[k]])
    total = 0.0
    for k in range(first, end):
        value = math.exp(scale * (scores[allowed[k]] - highest))
        probabilities[k - first] = value
        total += value
    for k in range(end - first):
        probabilities[k] /= total
    return scale * highest + math.log(total)


@inner_kernel
def _select_cells(totals, n_cells, min_ratio, selected):
    """Select the greatest cells, each at least `min_ratio` times the greatest one, best first, the first of equals
    first; return their number, at most the length of `selected`."""
    highest = 0.0
    for cell in range(n_cells):
        highest = max(highest, totals[cell])
    limit, count = highest * min_ratio, 0
    for cell in range(n_cells):
        value = totals[cell]
        if value < limit or value == 0.0:
            continue
        index = count
        while index > 0 and totals[selected[index - 1]] < value:
            index -= 1
        if index == len(selected):
            continue
        count = min(count + 1, len(selected))
        for k in range(count - 1, index, -1):
            selected[k] = selected[k - 1]
        selected[index] = cell
    return count


@inner_kernel
def _assign_columns(last, n_states, columns, column_of):
    """Assign the same column to states with the same last label; return the number of `columns`, each a label's
    atom."""
    n_columns = 0
    for state in range(n_states):
        column = 0
        while column < n_columns and columns[column] != last[state]:
            column += 1
        if column == n_columns:
            columns[column] = last[state]
            n_columns += 1
        column_of[state] = column
    return n_columns


@inner_kernel
def _add_state(state, sum_, best, probs, column, n_columns, sums, bests, origins):
    """Extend a state by each label: add to the forward sum of its cell, and record the best path to it so far."""
    for k in range(len(probs)):
        cell = k * n_columns + column
        sums[cell] += sum_ * probs[k]
        if best * probs[k] > bests[cell]:
            bests[cell], origins[cell] = best * probs[k], state


@inner_kernel
def _write_marginals(sums, n_columns, marginals):
    """Write each label's fraction of the forward sums."""
    total = 0.0
    for k in range(len(marginals)):
        value = 0.0
        for column in range(n_columns):
            value += sums[k * n_columns + column]
        marginals[k] = value
        total += value
    for k in range(len(marginals)):
        marginals[k] /= total


@inner_kernel
def _scale_states(selected, n_states, sums, bests, sum_of, best_of):
    """Scale the forward sums of the selected cells to a sum of 1, and the probabilities of their best paths to a
    maximum of 1."""
    total, highest = 0.0, 0.0
    for state in range(n_states):
        total += sums[selected[state]]
        highest = max(highest, bests[selected[state]])
    for state in range(n_states):
        sum_of[state] = sums[selected[state]] / total
        best_of[state] = bests[selected[state]] / highest if highest > 0.0 else 1.0


@kernel
def tag_sentence(atoms, tables, n_labels, beam, min_ratio, marginals, ends, path):
    """Compute the distribution of each token's label given the sentence, and the labels of the best sequence.

    At each token the beam has at most `beam` pairs of labels with the greatest forward sums, each at least `min_ratio`
    times the greatest one. Token i has ends[i] - ends[i - 1] probabilities in `marginals`, float64, one for each label
    of its entry in that order; `ends`: int64 (n,). `path`: int32 (n,), the best sequence in the beam.
    """
    n = len(atoms) - 2 * EDGE
    keys = np.empty(MAX_TOKEN_KEYS + MAX_HISTORY_KEYS, np.uint64)
    features = np.empty(len(keys), np.int32)
    token_scores, scores, probs = np.empty(n_labels, np.int32), np.empty(n_labels, np.int32), np.empty(n_labels)
    # A cell is a pair of labels: a label of the token, and, by column, the previous one.
    sums, bests = np.empty(n_labels * beam), np.empty(n_labels * beam)
    origins = np.empty(n_labels * beam, np.int32)
    selected, columns = np.empty(beam, np.int64), np.empty(beam, np.int32)
    last, second = np.full((n + 1, beam), START, np.int32), np.full(beam, START, np.int32)
    origin, column_of = np.zeros((n + 1, beam), np.int32), np.zeros(beam, np.int32)
    sum_of, best_of = np.ones(beam), np.ones(beam)
    n_states, written = 1, np.int64(0)
    for i in range(n):
        row = i + EDGE
        entry = atoms[row, ENTRY]
        first, end = tables.allowed_from[entry], tables.allowed_from[entry + 1]
        size = end - first
        token_scores[:] = 0
        add_scores(keys, token_keys(atoms, row, keys), tables, features, token_scores)
        n_columns = _assign_columns(last[i], n_states, columns, column_of)
        n_cells = size * n_columns
        sums[:n_cells], bests[:n_cells], origins[:n_cells] = 0.0, 0.0, 0
        for state in range(n_states):
            scores[:] = token_scores
            count = history_keys(atoms, row, last[i, state], second[state], keys, 0)
            add_scores(keys, count, tables, features, scores)
            to_probabilities(scores, tables.allowed, first, end, tables.scale, probs)
            _add_state(
                state, sum_of[state], best_of[state], probs[:size], column_of[state], n_columns, sums, bests, origins
            )
        _write_marginals(sums, n_columns, marginals[written : written + size])
        written += size
        ends[i] = written
        n_states = _select_cells(sums, n_cells, min_ratio, selected)
        _scale_states(selected, n_states, sums, bests, sum_of, best_of)
        for state in range(n_states):
            label, column = divmod(selected[state], n_columns)
            last[i + 1, state] = FIRST_LABEL + tables.allowed[first + label]
            second[state] = columns[column]
            origin[i + 1, state] = origins[selected[state]]
    state = np.argmax(best_of[:n_states])
    for i in range(n, 0, -1):
        path[i - 1] = last[i, state] - FIRST_LABEL
        state = origin[i, state]


@kernel
def select_labels(atoms, allowed_from, allowed, marginals, beta, labels, probs, ends):
    """Select from the marginals of `tag_sentence` the labels with at least `beta` times the greatest probability, best
    first, of equals the lower id first. Filled: `labels` int32 and `probs` float64, both as long as `marginals`;
    those of token i end at ends[i], int64 (n,). Return their number."""
    start, written = np.int64(0), np.int64(0)
    selected = np.empty(allowed_from[1], np.int64)  # entry 0 allows all labels
    for i in range(len(atoms) - 2 * EDGE):
        entry = atoms[i + EDGE, ENTRY]
        first, size = allowed_from[entry], allowed_from[entry + 1] - allowed_from[entry]
        token_marginals = marginals[start : start + size]
        for k in range(_select_cells(token_marginals, size, beta, selected)):
            labels[written], probs[written] = allowed[first + selected[k]], token_marginals[selected[k]]
            written += 1
        start += size
        ends[i] = written
    return written
