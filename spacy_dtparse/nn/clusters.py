"""Word clusters: words with similar neighbours in raw text share a cluster."""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..model_io.schema import CLUSTER, MAX_CLUSTERS, TAG, record, texts
from ..symbols import CompactSymbolTable, SymbolTable

CLUSTERS = "clusters"
"""The kind of token features that a network with word clusters has in addition; the key of its data in a model."""
OPTIONAL_CLUSTERS = {CLUSTERS: record({"names": texts(TAG, 0, MAX_CLUSTERS), "words": texts(CLUSTER, 1, MAX_CLUSTERS)})}
"""The check of that data, for a model that may have clusters."""


class WordClusters:
    """The cluster of each word; immutable. `clusters`: the normalized words of each cluster (see `text.normal_word`),
    separated by blanks. Raises DtparseError if a word is listed twice."""

    def __init__(self, clusters: Sequence[str]):
        self.clusters = tuple(clusters)
        words = [line.split() for line in self.clusters]
        self._words = CompactSymbolTable([word for line in words for word in line])
        self._cluster_of = array("i", np.repeat(np.arange(len(words), dtype=np.intc), list(map(len, words))).tobytes())

    def __reduce__(self) -> tuple:
        return WordClusters, (self.clusters,)

    def name_of(self, word: str) -> str:
        """The name of a normalized word's cluster, its number; "" for a word that is in none."""
        index = self._words.id_of(word)
        return str(self._cluster_of[index]) if index >= 0 else ""

    def count_names(self, words: Counter[str]) -> Counter[str]:
        """How often words of each cluster occur, and words that are in none; `words`: how often each word occurs."""
        counts: Counter[str] = Counter()
        for word, times in words.items():
            counts[self.name_of(word)] += times
        return counts


_loaded: WeakValueDictionary[tuple[str, ...], WordClusters] = WeakValueDictionary()
"""The clusters of all loaded models, by their words."""


def clusters_to_dict(names: SymbolTable, clusters: WordClusters) -> dict[str, Any]:
    """The vocabulary of the names of clusters, and the clusters, as plain data."""
    return {CLUSTERS: {"names": list(names), "words": list(clusters.clusters)}}


def clusters_from_dict(data: dict[str, Any]) -> tuple[list[SymbolTable], WordClusters | None]:
    """The vocabulary of the names of clusters, and the clusters, from the data of `clusters_to_dict`, which may have
    more keys; ([], None) if it has no clusters. Models with the same clusters share them, as they take some 10 MB."""
    if CLUSTERS not in data:
        return [], None
    words = tuple(data[CLUSTERS]["words"])
    clusters = _loaded.get(words)
    if clusters is None:
        clusters = _loaded[words] = WordClusters(words)
    return [SymbolTable(data[CLUSTERS]["names"])], clusters
