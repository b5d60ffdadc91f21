"""Calibrate a parser that was trained beside annotation on the accepted trees of the dev part, which are few."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spacy_dtparse.core.calibration import CALIBRATION, Calibration
from spacy_dtparse.core.parser import Capability
from spacy_dtparse.errors import TrainingDataError

from ..data.calibrating import CalibrationData, collect_probabilities, fit_calibration
from ..data.corpus import Sentence

FOLDS = 5
MIN_COUNT = 10
"""Minimum number of right and of wrong constituents, and trees, of the dev part."""


def recalibrate(parser: Any, dev: Sequence[Sentence], used: Calibration | None) -> tuple[Any, bool]:
    """Return a parser with a calibration, and whether it is a new one, fitted on dev sentences.

    The new one is taken if it predicts better which constituents are right than `used`, the calibration of the parser
    before: the mean log loss on each fold, fitted on the others, is smaller. Else the parser gets `used`, if any. A
    parser without probabilities stays as it is.
    """
    if Capability.POSTERIORS not in parser.capabilities:
        return parser, False
    parts = [dev[first::FOLDS] for first in range(min(FOLDS, len(dev)))]
    data = [collect_probabilities(parser, part, [one.tags for one in part]) for part in parts]
    found = used
    try:
        fitted = fit_calibration(data, MIN_COUNT)
        held_out = [fit_calibration([*data[:k], *data[k + 1 :]], 1) for k in range(len(data))]
    except TrainingDataError:
        held_out = []
    if held_out and (used is None or log_loss(held_out, data) < log_loss([used] * len(data), data)):
        found = fitted
    if found is None:
        return parser, False
    model = replace(parser.model, meta={**parser.meta, CALIBRATION: found.to_dict()})
    return type(parser)(model), found is not used


def log_loss(calibrations: Sequence[Calibration], data: Sequence[CalibrationData]) -> float:
    """Return the mean of −ln p over all constituents, where p is the probability that a calibration, the one of the
    same part, gives to what is true of each: that it is right, or wrong."""
    losses = []
    for calibration, part in zip(calibrations, data, strict=True):
        probability = calibration.calibrate_constituents(part.probs)
        losses.append(-np.log(np.where(part.right, probability, 1 - probability)))
    return float(np.concatenate(losses).mean())
