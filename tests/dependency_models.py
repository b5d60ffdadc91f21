"""Small random dependency models over a few sentences, for tests."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from spacy_dtparse.bpm_parser.features import LinkParts, TextRules, TokenColumns
from spacy_dtparse.bpm_parser.kernels.link_labels import MAX_LABEL_KEYS, tree_label_keys
from spacy_dtparse.bpm_parser.kernels.links import make_guide, tree_keys
from spacy_dtparse.bpm_parser.model import DependencyModel, LinkStage, pack_links
from spacy_dtparse.linear.features import LabelStage, pack_labels

SENTENCES = [
    TokenColumns(
        ("The", "cats", "sat", "on", "the", "mat", "."),
        ("DT", "NNS", "VBD", "IN", "DT", "NN", "."),
        ("DET", "NOUN", "VERB", "ADP", "DET", "NOUN", "PUNCT"),
        ("the", "cat", "sit", "on", "the", "mat", "."),
    ),
    TokenColumns(("Dogs", "bark"), ("NNS", "VBP"), ("NOUN", "VERB"), ("dog", "bark")),
    TokenColumns(
        ("A", "farmer", "fed", "12", "cats"),
        ("DT", "NN", "VBD", "CD", "NNS"),
        ("DET", "NOUN", "VERB", "NUM", "NOUN"),
        ("a", "farmer", "feed", "12", "cat"),
    ),
    TokenColumns(("Stop",), ("VB",), ("VERB",), ("stop",)),
]
HEADS = [(2, 3, 0, 3, 6, 4, 3), (2, 0), (2, 3, 0, 5, 3), (0,)]
"""Trees of SENTENCES; from 1, 0 for the root."""
LABELS = ("root", "nsubj", "obj", "det", "punct")


def _some_keys(parts: LinkParts, guided: bool, rng: np.random.Generator) -> np.ndarray:
    """The keys of all links of all sentences: tree_keys does not need a tree."""
    found = []
    for sentence in SENTENCES:
        n = len(sentence.words)
        guide = make_guide(_chain(n, rng) if guided else None)
        atoms = parts.encode(sentence)
        for head in range(n + 1):
            heads = np.full(n + 1, head, np.int32)
            heads[head] = -1
            room = np.zeros(2 * n * (80 + n), np.uint64)
            found.append(room[: tree_keys(atoms, guide, heads, room)])
    return np.unique(np.concatenate(found))


def _chain(n: int, rng: np.random.Generator) -> np.ndarray:
    """A tree without branches."""
    order, heads = rng.permutation(n) + 1, np.full(n + 1, -1, np.int32)
    heads[order] = [0, *order[:-1]]
    return heads


def random_links(parts: LinkParts, guided: bool, seed: int = 0) -> LinkStage:
    """A stage of random weights."""
    rng = np.random.default_rng(seed)
    keys = _some_keys(parts, guided, rng)
    return pack_links(keys, rng.standard_normal(len(keys)))


def random_labels(parts: LinkParts, seed: int = 0, n_labels: int = len(LABELS)) -> LabelStage:
    """A labeller of random weights."""
    rng, found = np.random.default_rng(seed), []
    for sentence, heads in zip(SENTENCES, HEADS, strict=True):
        n = len(heads)
        written, ends = np.zeros(n * MAX_LABEL_KEYS, np.uint64), np.zeros(n + 1, np.int64)
        tree = make_guide(np.array([-1, *heads], np.int32))
        found.append(written[: tree_label_keys(parts.encode(sentence), tree, written, ends)])
    keys = np.unique(np.concatenate(found))
    weights = rng.standard_normal((len(keys), n_labels)) * (rng.random((len(keys), n_labels)) < 0.5)
    return pack_labels(keys, weights)


@cache
def random_model(
    stages: int = 2, seed: int = 0, *, decoder: str = "projective", labels: bool = True, **rules: Any
) -> DependencyModel:
    """A model of random weights over SENTENCES; `rules` as in TextRules."""
    parts = LinkParts.build(SENTENCES, TextRules(**rules))
    links = tuple(random_links(parts, number > 0, seed + number) for number in range(stages))
    labeller = random_labels(parts, seed) if labels else None
    return DependencyModel(parts, links, labeller, LABELS, decoder, {"name": "random", "lang": "en"})
