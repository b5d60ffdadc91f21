"""From labelled sentences to a tagger's model, and how good it is."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.errors import DtparseError, TrainingDataError
from spacy_dtparse.features.linear.tagparts import TagParts
from spacy_dtparse.model.linear.features import LabelStage, pack_pairs
from spacy_dtparse.model.linear.tagger import TaggerModel
from spacy_dtparse.parsers.tagging import SequenceTagger

from ..data.folds import fold_numbers
from ..runs.resuming import digest, own_folder
from ..runs.telling import Tell
from .corpus import LabelledSentence
from .learners import train_loglinear, train_online
from .listing import list_features, make_data
from .options import SequenceOptions

BETAS = (0.075, 0.03, 0.01, 0.005, 0.001)
"""Those of the C&C parser's passes (Clark & Curran 2007)."""
_HELD_OUT = 10
"""Without development sentences one block of sentences in so many is kept from an online learner, for the scale."""
_UNLIKELY = 1e-30
"""Probability that a label counts as having at least, so that one sentence cannot decide on the scale alone."""


def fit_tagger(
    train: Sequence[LabelledSentence],
    dev: Sequence[LabelledSentence],
    options: SequenceOptions,
    workdir: Path,
    meta: dict[str, Any],
    workers: int = 1,
    tell: Tell = lambda **_: None,
) -> TaggerModel:
    """Train; `workdir` keeps what an unfinished run goes on from. `workers`: threads of GIS and L-BFGS; the model does
    not depend on them. An online learner's scale is fitted on `dev`, or without it on a tenth of `train` that is not
    learned from.

    Raises TrainingDataError when there is nothing to learn from, or `workdir` is another run's.
    """
    if not train:
        raise TrainingDataError("there is no sentence to learn from; give a file with more of them")
    if len({bool(sentence.tags) for sentence in train}) > 1:
        raise TrainingDataError("some sentences have tags and some have none; give files of one kind")
    held_out = list(dev)
    if options.online and not dev:
        held = fold_numbers(len(train), _HELD_OUT, 10) == _HELD_OUT - 1
        held_out, train = ([s for s, out in zip(train, held, strict=True) if out == own] for own in (True, False))
        if not held_out:
            raise TrainingDataError(
                f"{len(train)} sentences are too few to keep a tenth of them for the scale; give {_HELD_OUT} or more, "
                "or development sentences"
            )
    own_folder(workdir, {"options": options.facts(), "sentences": digest(train)})
    began = time.perf_counter()
    try:
        parts = TagParts.build(train, options.least_word, options.plain, options.least_affix, options.cutoff)
    except DtparseError as error:
        raise TrainingDataError(f"these labels cannot be learned: {error}") from error
    data = make_data(train, parts)
    listing = list_features(data, parts, options.least)
    tell(
        sentences=len(train), tokens=sum(len(s.words) for s in train), labels=len(parts.labels),
        features=len(listing.keys), pairs=len(listing.codes), seconds=round(time.perf_counter() - began, 1),
    )  # fmt: skip
    state = workdir / "learner.npz"
    if options.online:
        codes, weights = train_online(data, parts, listing, options, state, tell)
    else:
        codes, weights = train_loglinear(data, parts, listing, options, state, tell, workers)
    features, labels = (found.astype(np.int64) for found in np.divmod(codes, np.uint64(len(parts.labels))))
    stage = pack_pairs(listing.keys, features, labels, weights, options.max_weights, options.levels)
    scale = fit_scale(parts, stage, held_out) if options.online else 1.0
    model = TaggerModel(parts, stage, scale, meta)
    tell(weights=len(stage.weights), scale=scale, seconds=round(time.perf_counter() - began, 1))
    return model


def fit_scale(parts: TagParts, stage: LabelStage, sentences: Sequence[LabelledSentence]) -> float:
    """The scale (1 / temperature) that makes the labels of sentences the most probable, by golden sections of its
    logarithm to a part in a hundred."""
    used = [s for s in sentences if s.words]

    def loss(log_scale: float) -> float:
        tagger = SequenceTagger(TaggerModel(parts, stage, math.exp(log_scale), {}))
        return -sum(_log_probability(tagger, sentence) for sentence in used)

    greatest = max(float(np.abs(stage.weights).max(initial=1)) * 2.0**-stage.grid, 2.0**-20)
    low, high = math.log(0.001 / greatest), math.log(100.0 / greatest)
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = loss(left), loss(right)
    while high - low > 0.01:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = loss(right)
    return round(math.exp((low + high) / 2), 6) or 1e-6


def _log_probability(tagger: SequenceTagger, sentence: LabelledSentence) -> float:
    """The sum of the logarithms of the labels' probabilities, without labels that the tag dictionary forbids."""
    total = 0.0
    for offered, label in zip(tagger.multitag(sentence.words, sentence.tags, 0.0), sentence.labels, strict=True):
        chance = dict(offered).get(label)
        if chance is not None:
            total += math.log(max(chance, _UNLIKELY))
    return total


def judge(
    tagger: SequenceTagger, sentences: Sequence[LabelledSentence], betas: Sequence[float] = BETAS
) -> dict[str, Any]:
    """`accuracy`: share of words whose most probable label is right; `sequence_accuracy`: of the best sequence's;
    `betas`: for each β the share of words whose right label is offered, and how many labels a word has."""
    words = right = in_sequence = 0
    counts = {beta: [0, 0] for beta in betas}
    least = min(betas, default=1.0)
    for sentence in sentences:
        words += len(sentence.words)
        path = tagger.tag(sentence.words, sentence.tags)
        in_sequence += sum(a == b for a, b in zip(path, sentence.labels, strict=True))
        for offered, label in zip(tagger.multitag(sentence.words, sentence.tags, least), sentence.labels, strict=True):
            right += offered[0][0] == label
            for beta, count in counts.items():
                kept = [name for name, chance in offered if chance >= beta * offered[0][1]]
                count[0] += label in kept
                count[1] += len(kept)
    total = max(words, 1)
    return {
        "words": words,
        "accuracy": right / total,
        "sequence_accuracy": in_sequence / total,
        "betas": {
            str(beta): {"accuracy": hits / total, "labels": offered / total} for beta, (hits, offered) in counts.items()
        },
    }
