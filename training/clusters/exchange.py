"""The exchange algorithm: move each word in turn to the cluster that maximises the likelihood of the text.

The probability of a word is conditioned on the word before it, P(w | v) = P(c(w) | v) P(w | c(w)), or in alternate
rounds on the word after it (the predictive exchange of Uszkoreit & Brants 2008, in both directions as Dehdari, Tan &
van Genabith 2016). The log likelihood is Σ N(v, c) ln N(v, c) − Σ N(c) ln N(c), plus a constant.
"""

import logging
from typing import NamedTuple

import numpy as np

from spacy_dtparse.jit.decorator import inner_kernel, kernel

logger = logging.getLogger(__name__)


class Bigrams(NamedTuple):
    """Counts of bigrams, by the second word: the words before w are `word[start[w] : start[w + 1]]`, int32, with counts
    `times`, int32. `start` int64 (V + 1,)."""

    start: np.ndarray
    word: np.ndarray
    times: np.ndarray


def count_bigrams(first: np.ndarray, second: np.ndarray, n_words: int) -> Bigrams:
    """Count pairs of words: `first` and `second` int (m,), word ids below `n_words`."""
    keys, counts = np.unique(second.astype(np.int64) * n_words + first, return_counts=True)
    start = np.searchsorted(keys, np.arange(n_words + 1, dtype=np.int64) * n_words)
    return Bigrams(start, (keys % n_words).astype(np.int32), counts.astype(np.int32))


def exchange(text: np.ndarray, n_words: int, n_clusters: int, rounds: int) -> np.ndarray:
    """The cluster of each word, int32 (n_words,), below `n_clusters`.

    `text` int32 (m,): word ids, lower ids for more frequent words; −1 ends a paragraph. `rounds`: passes over the
    words, every second one with the text reversed. Initially the words are assigned to the clusters in turn, by
    frequency.
    """
    clusters = (np.arange(n_words) % n_clusters).astype(np.int32)
    inside = (text[:-1] >= 0) & (text[1:] >= 0)
    pairs = text[:-1][inside], text[1:][inside]
    before, after = count_bigrams(*pairs, n_words), count_bigrams(*pairs[::-1], n_words)
    for i in range(rounds):
        moved = _pass(*(after if i % 2 else before), clusters, n_clusters)
        logger.info(f"clusters: round {i + 1} of {rounds}, {moved:,} words moved")
        if not moved:
            break
    return clusters


@inner_kernel
def _x_log_x(n: int) -> float:
    return n * np.log(n) if n > 0 else 0.0


@kernel
def _pass(start: np.ndarray, word: np.ndarray, count: np.ndarray, clusters: np.ndarray, n_clusters: int) -> int:
    """One pass over the words, frequent ones first; returns the number of moved words. `clusters` is changed in
    place."""
    n_words = len(start) - 1
    joint = np.zeros((n_words, n_clusters), dtype=np.int32)  # counts of (word, cluster of the next word)
    total = np.zeros(n_clusters, dtype=np.int64)
    for w in range(n_words):
        for k in range(start[w], start[w + 1]):
            joint[word[k], clusters[w]] += count[k]
            total[clusters[w]] += count[k]
    table = np.array([_x_log_x(n) for n in range(1 << 16)])
    gain = np.zeros(n_clusters)
    moved = 0
    for w in range(n_words):
        old, word_count = clusters[w], 0
        for k in range(start[w], start[w + 1]):
            joint[word[k], old] -= count[k]
            word_count += count[k]
        if word_count == 0:
            continue
        total[old] -= word_count
        for c in range(n_clusters):
            gain[c] = _x_log_x(total[c]) - _x_log_x(total[c] + word_count)
        for k in range(start[w], start[w + 1]):
            v, n = word[k], count[k]
            new_pair_gain = _x_log_x(n)
            for c in range(n_clusters):
                m = joint[v, c]
                if m == 0:
                    gain[c] += new_pair_gain
                elif m + n < len(table):
                    gain[c] += table[m + n] - table[m]
                else:
                    gain[c] += _x_log_x(m + n) - _x_log_x(m)
        best = old
        for c in range(n_clusters):
            if gain[c] > gain[best] + 1e-9:
                best = c
        for k in range(start[w], start[w + 1]):
            joint[word[k], best] += count[k]
        total[best] += word_count
        clusters[w] = best
        moved += 1 * (best != old)
    return moved
