"""Trees of a teacher's span marginals, without torch, for training from trees only."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.kernels.span.spans import best_inside, best_spans
from spacy_dtparse.parsers.base import BatchParser
from spacy_dtparse.trees import TOP, Tree

from ..data.shards import read_shard, text_of

PENALTY = 0.45
"""Posterior probability that a constituent must exceed to be included in the tree."""
Beliefs = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Starts, ends, ids of label chains (0: no label) and probabilities, arrays of equal length."""


def best_tree(
    words: Sequence[str],
    tags: Sequence[str],
    beliefs: Beliefs,
    chains: Sequence[tuple[str, ...]],
    penalty: float = PENALTY,
) -> tuple[Tree, float]:
    """Return (the tree with the highest expected number of correct labels, the smallest probability of a constituent in
    it)."""
    n = len(words)
    gains = np.zeros((n + 1, n + 1), dtype=REAL)
    chosen: dict[tuple[int, int], tuple[int, float]] = {}
    constituent: dict[tuple[int, int], float] = {}
    for start, end, label, mass in zip(*(part.tolist() for part in beliefs), strict=True):
        if label == 0:
            continue
        constituent[start, end] = constituent.get((start, end), 0.0) + mass
        if mass > chosen.get((start, end), (0, 0.0))[1]:
            chosen[start, end] = label, mass
    for (start, end), mass in constituent.items():
        gains[start, end] = max(0.0, len(chains[chosen[start, end][0]]) * (mass - penalty))
    best = np.empty_like(gains)
    best_inside(gains, n, best)
    spans = np.empty((2 * n + 2, 2), dtype=INDEX)
    labels, starts, ends = [TOP], [0], [n]
    sure = 1.0
    for start, end in spans[: best_spans(best, n, spans)].tolist():
        if gains[start, end] > 0:
            label, mass = chosen[start, end]
            sure = min(sure, mass)
            labels += chains[label]
            starts += [start] * len(chains[label])
            ends += [end] * len(chains[label])
    return Tree(words, tags, labels, starts, ends), sure


def trees_of(shards: Iterable[Path], least_sure: float = 0.0) -> Iterator[tuple[Tree, float]]:
    """Yield the `best_tree` of each sentence of shards, with the shards' tags, unless a constituent has a probability
    below `least_sure`."""
    for path in shards:
        shard = read_shard(path)
        for sentence in shard.sentences:
            tree, sure = best_tree(sentence.words, sentence.tags, sentence.beliefs, shard.chains)
            if sure >= least_sure:
                yield tree, sure


def parsed_trees(shards: Iterable[Path], parser: BatchParser) -> Iterator[tuple[str, Tree, float]]:
    """Parse the sentences of shards, with the shards' tags; yields (text, tree, cost per word) of each. Fallback parses
    are excluded."""
    for path in shards:
        sentences = [(sentence.words, sentence.tags) for sentence in read_shard(path).sentences]
        for (words, _), result in zip(sentences, parser.parse_batch(sentences), strict=True):
            if result.status != "fallback":
                yield text_of(path), result.tree, result.cost / len(words)


def surest(
    found: Iterable[tuple[str, Tree, float]], share: float = 1.0, most: int | None = None, seed: int = 0
) -> list[Tree]:
    """Select the fraction `share` of each text's trees with the lowest cost. If more than `most` trees remain, the same
    fraction of each text is drawn at random. The result is in random order."""
    texts: dict[str, list[tuple[float, Tree]]] = {}
    for text, tree, cost in found:
        texts.setdefault(text, []).append((cost, tree))
    kept = []
    for rows in texts.values():
        limit = sorted(cost for cost, _ in rows)[max(0, math.ceil(share * len(rows)) - 1)]
        kept.append([tree for cost, tree in rows if cost <= limit])
    rng, total = np.random.default_rng(seed), sum(map(len, kept))
    part = 1.0 if most is None else min(1.0, most / max(total, 1))
    drawn = [rows[k] for rows in kept for k in rng.permutation(len(rows))[: int(part * len(rows))].tolist()]
    return [drawn[k] for k in rng.permutation(len(drawn)).tolist()]


LEAST = 0.005
"""Smaller interpolated probabilities are omitted."""


class Believer(Protocol):
    """A parser that computes probabilities of constituents: latent grammars and span parsers."""

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> dict[tuple[int, int, str], float]: ...


class Beside(NamedTuple):
    """Another parser to interpolate with, and the weight of its marginals; the teacher's weight is 1 - `share`."""

    parser: Believer
    share: float


def mixed(
    beliefs: Beliefs, chains: Sequence[tuple[str, ...]], posteriors: Mapping[tuple[int, int, str], float], share: float
) -> Beliefs:
    """Interpolate the teacher's marginals with another parser's. The other parser's probability of a label chain is
    that of its least probable label; chains that the teacher's marginals lack are added if they have one label."""
    number_of = {chain: number for number, chain in enumerate(chains)}
    mass = {
        (start, end, label): (1 - share) * value
        for start, end, label, value in zip(*(part.tolist() for part in beliefs), strict=True)
    }
    for start, end, name in posteriors:
        label = number_of.get((name,))
        if label:
            mass.setdefault((start, end, label), 0.0)
    for start, end, label in mass:
        if label:
            other = min(posteriors.get((start, end, name), 0.0) for name in chains[label])
            mass[start, end, label] += share * other
    kept = {place: value for place, value in mass.items() if value >= LEAST}
    starts, ends, labels = np.array(list(kept), dtype=INDEX).reshape(-1, 3).T
    return starts, ends, labels, np.array(list(kept.values()), dtype=REAL)
