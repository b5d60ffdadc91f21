"""Small random taggers over a few sentences, for tests."""

from __future__ import annotations

from functools import cache

import numpy as np

from spacy_dtparse.linear.features import pack_pairs
from spacy_dtparse.spine_tagger.features import TagParts
from spacy_dtparse.spine_tagger.model import TaggerModel
from training.spine_tagger.corpus import LabelledSentence
from training.spine_tagger.learners import list_features, make_data

SENTENCES = [
    LabelledSentence(
        ("The", "old", "cats", "sat", "on", "the", "mat", "."),
        ("DT", "JJ", "NNS", "VBD", "IN", "DT", "NN", "."),
        ("-", "-", "NP", "VP+S", "PP", "-", "NP", "-"),
    ),
    LabelledSentence(("Dogs", "bark"), ("NNS", "VBP"), ("NP", "VP+S")),
    LabelledSentence(
        ("The", "farmer", "fed", "12", "cats", "on", "it"),
        ("DT", "NN", "VBD", "CD", "NNS", "IN", "PRP"),
        ("-", "NP", "VP+S", "-", "NP+NP", "PP", "NP"),
    ),
    LabelledSentence(("Stop",), ("VB",), ("VP+S",)),
    LabelledSentence(
        ("the", "cat", "on", "the", "mat"), ("DT", "NN", "IN", "DT", "NN"), ("-", "NP+NP", "PP", "-", "NP")
    ),
]


def small_parts(tagged: bool = True, **options: int) -> TagParts:
    """The lists of SENTENCES, with or without their tags."""
    sentences = [s if tagged else s._replace(tags=()) for s in SENTENCES]
    return TagParts.build(sentences, **{"min_word_count": 1, "plain": 3, "min_affix_count": 1, "cutoff": 3, **options})


@cache
def random_tagger(seed: int = 0, scale: float = 0.7, tagged: bool = True, **options: int) -> TaggerModel:
    """A model with random weights for all features of SENTENCES, each with about half of the labels."""
    rng = np.random.default_rng(seed)
    parts = small_parts(tagged, **options)
    sentences = [s if tagged else s._replace(tags=()) for s in SENTENCES]
    keys = list_features(make_data(sentences, parts), parts, 1).keys
    used = rng.random((len(keys), len(parts.labels))) < 0.5
    features, labels = np.nonzero(used)
    stage = pack_pairs(keys, features, labels, rng.standard_normal(len(labels)))
    return TaggerModel(parts, stage, scale, {"name": "random", "lang": "en"})


def weights_by_key(model: TaggerModel) -> dict[int, dict[int, float]]:
    """The weights of a model in the format of the reference implementation."""
    stage = model.weights
    found: dict[int, dict[int, float]] = {}
    for number, key in enumerate(stage.keys.tolist()):
        pairs = slice(int(stage.starts[number]), int(stage.starts[number + 1]))
        values = (stage.weights[pairs] * 2.0**-stage.grid).tolist()
        found[key] = dict(zip(stage.labels[pairs].tolist(), values, strict=True))
    return found


def allowed_labels(parts: TagParts, atoms: np.ndarray) -> list[list[int]]:
    """The labels that the tag dictionary allows each token."""
    starts = parts.allowed_from
    return [parts.allowed[starts[e] : starts[e + 1]].tolist() for e in atoms[2:-2, 2]]
