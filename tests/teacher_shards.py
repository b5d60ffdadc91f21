"""Shards of made-up marginals, for tests without torch."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.span_models import SENTENCES
from training.data.corpus import Sentence
from training.data.shards import LEVELS, save_shard
from training.data.spans import count_chains, label_chains

CHAINS = ((), ("NP",), ("VP",), ("S",), ("FRAG", "S"), ("X",))
WORDS = [*(words for words, _ in SENTENCES), ("Stop",), ("caf\u00e9s", "\u2026", "\u20ac5")]
TAGS = [*(tags for _, tags in SENTENCES), ("VB",), ("NNS", ":", "CD")]


class MadeLabelSets(NamedTuple):
    """Stands for the teacher's `LabelSets`, whose module needs torch."""

    chains: tuple
    tags: tuple

    def to_dict(self) -> dict:
        return {"chains": [list(chain) for chain in self.chains], "tags": list(self.tags), "sources": ["*"]}


class MadeDistribution(NamedTuple):
    """Stands for the teacher's `SpanDistribution`."""

    spans: np.ndarray
    labels: np.ndarray
    probs: np.ndarray
    tags: np.ndarray
    tag_probs: np.ndarray


LISTS = MadeLabelSets(CHAINS, tuple(sorted({tag for tags in TAGS for tag in tags})))


def made_distribution(tags: tuple[str, ...], rng: np.random.Generator) -> MadeDistribution:
    """All tokens, the whole and some of the other spans, some with two chains, whose probabilities are in 255ths."""
    n = len(tags)
    spans = [(i, j) for i in range(n) for j in range(i + 1, n + 1) if j - i in (1, n) or rng.random() < 0.5]
    rows = [(span, label) for span in spans for label in rng.permutation(len(CHAINS))[: rng.integers(1, 3)]]
    return MadeDistribution(
        np.array([span for span, _ in rows], dtype=np.int32),
        np.array([label for _, label in rows], dtype=np.int32),
        (rng.integers(6, LEVELS + 1, len(rows)) / LEVELS).astype(np.float32),
        np.array([LISTS.tags.index(tag) for tag in tags], dtype=np.int32),
        rng.random(n).astype(np.float32),
    )


def made_shard(path: Path, words=tuple(WORDS), tags=tuple(TAGS), seed: int = 0) -> list[MadeDistribution]:
    """Write a shard with made-up marginals, and return them."""
    rng = np.random.default_rng(seed)
    distributions = [made_distribution(row, rng) for row in tags]
    save_shard(path, LISTS, words, distributions)
    return distributions


def shard_of_trees(path: Path, sentences: list[Sentence]) -> None:
    """Write a shard that gives the constituents of sentences' trees a probability of 0.9."""
    chains = ((), *sorted(count_chains(s.tree for s in sentences)))
    tags = tuple(sorted({tag for s in sentences for tag in s.tags}))
    distributions = []
    for s in sentences:
        n = len(s.tags)
        labels = {(k, k + 1): 0 for k in range(n)} | {(0, n): 0}
        labels |= {span: chains.index(chain) for span, chain in label_chains(s.tree).items()}
        distributions.append(
            MadeDistribution(
                np.array(list(labels)),
                np.array(list(labels.values())),
                np.full(len(labels), 0.9, dtype=np.float32),
                np.array([tags.index(tag) for tag in s.tags]),
                np.ones(n, dtype=np.float32),
            )
        )
    save_shard(path, MadeLabelSets(chains, tags), [s.tree.words for s in sentences], distributions)
