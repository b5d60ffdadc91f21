"""Trees of a teacher's span marginals, without torch, for training from trees only."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from spacy_dtparse.core.parser import Parser
from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.span_parser.kernels.chart import best_inside, best_spans
from spacy_dtparse.trees import TOP, Tree

from ..data.shards import read_shard, text_name

PENALTY = 0.45
"""Posterior probability that a constituent must exceed to be included in the tree."""
SpanProbs = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Starts, ends, ids of label chains (0: no label) and probabilities, arrays of equal length."""


def most_probable_tree(
    words: Sequence[str],
    tags: Sequence[str],
    marginals: SpanProbs,
    chains: Sequence[tuple[str, ...]],
    penalty: float = PENALTY,
) -> tuple[Tree, float]:
    """Return (the tree with the highest expected number of correct labels, the smallest probability of a constituent in
    it)."""
    n = len(words)
    gains = np.zeros((n + 1, n + 1), dtype=REAL)
    chosen: dict[tuple[int, int], tuple[int, float]] = {}
    constituent: dict[tuple[int, int], float] = {}
    for start, end, label, prob in zip(*(part.tolist() for part in marginals), strict=True):
        if label == 0:
            continue
        constituent[start, end] = constituent.get((start, end), 0.0) + prob
        if prob > chosen.get((start, end), (0, 0.0))[1]:
            chosen[start, end] = label, prob
    for (start, end), prob in constituent.items():
        gains[start, end] = max(0.0, len(chains[chosen[start, end][0]]) * (prob - penalty))
    best = np.empty_like(gains)
    best_inside(gains, n, best)
    spans = np.empty((2 * n + 2, 2), dtype=INDEX)
    labels, starts, ends = [TOP], [0], [n]
    confidence = 1.0
    for start, end in spans[: best_spans(best, n, spans)].tolist():
        if gains[start, end] > 0:
            label, prob = chosen[start, end]
            confidence = min(confidence, prob)
            labels += chains[label]
            starts += [start] * len(chains[label])
            ends += [end] * len(chains[label])
    return Tree(words, tags, labels, starts, ends), confidence


def shard_trees(shards: Iterable[Path], min_confidence: float = 0.0) -> Iterator[tuple[Tree, float]]:
    """Yield the `most_probable_tree` of each sentence of shards, with the shards' tags, unless a constituent has a
    probability below `min_confidence`."""
    for path in shards:
        shard = read_shard(path)
        for sentence in shard.sentences:
            tree, confidence = most_probable_tree(sentence.words, sentence.tags, sentence.distribution, shard.chains)
            if confidence >= min_confidence:
                yield tree, confidence


def parse_shards(shards: Iterable[Path], parser: Parser) -> Iterator[tuple[str, Tree, float]]:
    """Parse the sentences of shards, with the shards' tags; yields (text, tree, cost per word) of each. Fallback parses
    are excluded."""
    for path in shards:
        sentences = [(sentence.words, sentence.tags) for sentence in read_shard(path).sentences]
        for (words, _), result in zip(sentences, parser.parse_batch(sentences), strict=True):
            if result.status != "fallback":
                yield text_name(path), result.tree, result.cost / len(words)


def lowest_cost_trees(
    found: Iterable[tuple[str, Tree, float]], fraction: float = 1.0, max_trees: int | None = None, seed: int = 0
) -> list[Tree]:
    """Select the fraction `fraction` of each text's trees with the lowest cost. If more than `max_trees` trees remain,
    the same fraction of each text is drawn at random. The result is in random order."""
    texts: dict[str, list[tuple[float, Tree]]] = {}
    for text, tree, cost in found:
        texts.setdefault(text, []).append((cost, tree))
    selected = []
    for rows in texts.values():
        limit = sorted(cost for cost, _ in rows)[max(0, math.ceil(fraction * len(rows)) - 1)]
        selected.append([tree for cost, tree in rows if cost <= limit])
    rng, total = np.random.default_rng(seed), sum(map(len, selected))
    fraction_drawn = 1.0 if max_trees is None else min(1.0, max_trees / max(total, 1))
    drawn = [
        rows[k] for rows in selected for k in rng.permutation(len(rows))[: int(fraction_drawn * len(rows))].tolist()
    ]
    return [drawn[k] for k in rng.permutation(len(drawn)).tolist()]


MIN_PROB = 0.005
"""Smaller interpolated probabilities are omitted."""


class MarginalAnnotator(Protocol):
    """A parser that computes probabilities of constituents: latent grammars and span parsers."""

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> dict[tuple[int, int, str], float]: ...


class Interpolation(NamedTuple):
    """Another parser to interpolate with, and the weight of its marginals; the teacher's weight is 1 - `weight`."""

    parser: MarginalAnnotator
    weight: float


def interpolate(
    marginals: SpanProbs,
    chains: Sequence[tuple[str, ...]],
    posteriors: Mapping[tuple[int, int, str], float],
    weight: float,
) -> SpanProbs:
    """Interpolate the teacher's marginals with another parser's. The other parser's probability of a label chain is
    that of its least probable label; chains that the teacher's marginals lack are added if they have one label."""
    chain_ids = {chain: i for i, chain in enumerate(chains)}
    probs = {
        (start, end, label): (1 - weight) * value
        for start, end, label, value in zip(*(part.tolist() for part in marginals), strict=True)
    }
    for start, end, name in posteriors:
        label = chain_ids.get((name,))
        if label:
            probs.setdefault((start, end, label), 0.0)
    for start, end, label in probs:
        if label:
            other = min(posteriors.get((start, end, name), 0.0) for name in chains[label])
            probs[start, end, label] += weight * other
    listed = {key: value for key, value in probs.items() if value >= MIN_PROB}
    starts, ends, labels = np.array(list(listed), dtype=INDEX).reshape(-1, 3).T
    return starts, ends, labels, np.array(list(listed.values()), dtype=REAL)
