"""Calibrated probabilities that a constituent, or a whole tree, is correct.

The raw probabilities of a parser are overconfident: of the constituents with probability 0.85, three quarters are
correct. A few parameters, fitted on development trees, map raw probabilities to the fraction of correct constituents.
Constituents use beta calibration (Kull, Silva Filho and Flach 2017). Trees use a logistic curve over the number of
wrong and missing constituents that the parser itself expects.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import DtparseError, ModelFormatError
from ..stored_names import from_stored, stored_as, stored_names, to_stored
from ..trees.tree import TOP, Tree
from .constraints import Constraints
from .parser import Capability, Parser, ParseResult, Posteriors

CALIBRATION = "calibration"
"""Key of the calibration in a model's metadata."""
PACKAGED = Path(__file__).with_name("calibrations.json")
"""Calibrations of the package's models, by the digest of the model file, so that calibrating rewrites no model."""
_MIN_PROB, _MAX_PROB = 5e-4, 1 - 1e-5
"""Probabilities are clipped to this range: parsers report none that are smaller than about a thousandth."""
_SMOOTHING = 0.01
"""Added to the expected number of errors before taking the logarithm."""
NO_SPAN_MODEL = (
    "this dtparse model has no span model, so it gives no probabilities and cannot be calibrated: use en_dtparse, "
    "en_span or en_pcfgla, or train one with `python -m training train-boosted --span-model MODEL` and "
    "then calibrate it with `python -m training calibrate`"
)
"""Message for probabilities of boosted trees without a span model."""


def constituent_terms(probabilities: np.ndarray) -> np.ndarray:
    """Return the terms of calibrated log odds of constituents (c, 3): ln p, −ln(1 − p), 1; `probabilities`: (c,)."""
    p = np.clip(np.asarray(probabilities, dtype=float), _MIN_PROB, _MAX_PROB)
    return np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)], axis=-1)


def tree_terms(errors: np.ndarray) -> np.ndarray:
    """Return the terms of the calibrated log odds of trees, (s, 2): log of the expected number of errors (s,), 1."""
    expected_errors = np.asarray(errors, dtype=float)
    return np.stack([np.log(expected_errors + _SMOOTHING), np.ones_like(expected_errors)], axis=-1)


def sigmoid(log_odds: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + e^−x) for each element."""
    return 1 / (1 + np.exp(-np.asarray(log_odds)))


@stored_as("constituent", "tree")
@dataclass(frozen=True)
class Calibration:
    """A map from raw probabilities of a parser to calibrated probabilities of constituents and trees.

    `constituent`: weights of `constituent_terms`. `tree`: weights of `tree_terms`. Raises ModelFormatError
    for another number of weights, one that is not finite, or one that makes the map decreasing.
    """

    constituent: tuple[float, float, float]
    tree: tuple[float, float]

    def __post_init__(self) -> None:
        for field, size in (("constituent", 3), ("tree", 2)):
            weights = getattr(self, field)
            is_valid = isinstance(weights, list | tuple) and all(type(one) in (int, float) for one in weights)
            if not is_valid or len(weights) != size or not all(map(isfinite, weights)):
                raise ModelFormatError(
                    f"a calibration's {field!r} is {str(weights)[:60]}; it has {size} finite numbers: calibrate the "
                    "model again"
                )
            object.__setattr__(self, field, tuple(map(float, weights)))
        if min(self.constituent[:2]) < 0 or self.tree[0] > 0:
            raise ModelFormatError(
                f"the calibration {to_stored(self)} gives more confident constituents or trees lower probabilities; "
                "calibrate the model again, on more trees"
            )

    @classmethod
    def from_dict(cls, stored: Any) -> Calibration:
        """Build a calibration from the plain data of `to_dict`. Raises ModelFormatError for anything else."""
        names = set(stored_names(cls))
        if not isinstance(stored, Mapping) or set(stored) != names:
            raise ModelFormatError(
                f"a calibration is {str(stored)[:60]!r}; it has {', '.join(sorted(names))}: calibrate the model again"
            )
        return cls(**from_stored(cls, stored))

    def to_dict(self) -> dict[str, list[float]]:
        """Return plain data, each number rounded to six digits."""
        return {name: [float(f"{one:.6g}") for one in weights] for name, weights in to_stored(self).items()}

    def calibrate_constituents(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the calibrated probabilities of constituents, given raw probabilities of any shape."""
        return sigmoid(constituent_terms(probabilities) @ np.array(self.constituent))

    def calibrate_trees(self, errors: np.ndarray) -> np.ndarray:
        """Return the calibrated probabilities of trees, given their expected numbers of errors."""
        terms, (slope, intercept) = tree_terms(errors), self.tree
        # no product of matrices, whose last bits depend on the number of rows
        return sigmoid(terms[..., 0] * slope + terms[..., 1] * intercept)


class TreeEstimates(NamedTuple):
    """Raw estimates of a parser about a tree. `probabilities`: of its constituents in pre-order, that of TOP is 1;
    `errors`: expected number of wrong or missing constituents."""

    probabilities: tuple[float, ...]
    errors: float


def tree_estimates(posteriors: Posteriors, tree: Tree) -> TreeEstimates:
    """Return a parser's raw estimates about a tree, given the posteriors of its sentence."""
    spans = tree.spans()
    probabilities = [1.0 if label == TOP else posteriors.get((start, end, label), 0.0) for start, end, label in spans]
    missing = sorted(set(posteriors).difference(spans))  # the order of a set, and so the last bits of a sum, vary
    return TreeEstimates(
        tuple(probabilities), len(probabilities) - sum(probabilities) + sum(posteriors[span] for span in missing)
    )


@cache
def packaged_calibrations() -> dict[str, Any]:
    """Return the calibrations of the package's models by the digests of their files, as plain data."""
    return json.loads(PACKAGED.read_text(encoding="utf8"))


class ResultCalibrator:
    """Adds calibrated probabilities to the results of a parser.

    Raises DtparseError if the parser's model has no calibration, or, as boosted trees without a span model, no
    probabilities.
    """

    def __init__(self, parser: Parser):
        if Capability.POSTERIORS not in parser.capabilities:
            raise DtparseError(parser.missing_posteriors)
        found: Calibration | None = parser.calibration
        if found is None:
            raise DtparseError(
                f"the model of this parser (kind {parser.name!r}) has no calibration, so the probabilities of its "
                "constituents are unknown: calibrate it, `python -m training calibrate MODEL --dev TREES --out MODEL`"
            )
        self.parser, self.calibration = parser, found

    def probabilities(self, words: Sequence[str], tags: Sequence[str], tree: Tree) -> tuple[tuple[float, ...], float]:
        """Return the probabilities that each constituent, in pre-order, and that the whole tree is correct."""
        return self.calibrate_trees([tree], [self.parser.span_posteriors(words, tags)])[0]

    def calibrate_trees(
        self, trees: Sequence[Tree], posteriors: Sequence[Posteriors]
    ) -> list[tuple[tuple[float, ...], float]]:
        """Return `probabilities` of several trees, given the posteriors of their sentences."""
        estimates = [tree_estimates(own, tree) for own, tree in zip(posteriors, trees, strict=True)]
        raw = [p for one in estimates for p in one.probabilities]
        calibrated = self.calibration.calibrate_constituents(np.array(raw)).tolist()
        whole = self.calibration.calibrate_trees(np.array([one.errors for one in estimates])).tolist()
        found, at = [], 0
        for tree, probability in zip(trees, whole, strict=True):
            own = calibrated[at : at + len(tree.labels)]
            at += len(own)
            each = tuple(1.0 if label == TOP else p for label, p in zip(tree.labels, own, strict=True))
            found.append((each, probability))
        return found

    def with_probabilities(
        self,
        results: Sequence[ParseResult],
        posteriors: Sequence[Posteriors],
        constraints: Sequence[Constraints | None] = (),
    ) -> list[ParseResult]:
        """Return the results with `probabilities` and `tree_probability`, given the posteriors of their sentences;
        constituents that a sentence's constraints require have probability 1."""
        found = []
        calibrated = self.calibrate_trees([one.tree for one in results], posteriors)
        for index, (result, (each, whole)) in enumerate(zip(results, calibrated, strict=True)):
            given = constraints[index] if constraints else None
            for one in given.requirements if given is not None else ():
                spans = enumerate(zip(result.tree.spans(), each, strict=True))
                same = {
                    k
                    for k, ((*extent, label), _) in spans
                    if (*extent,) == one[:2] and label in (one.labels or (label,))
                }
                each = tuple(1.0 if k in same else p for k, p in enumerate(each))
            found.append(replace(result, probabilities=each, tree_probability=whole))
        return found

    def with_tree_probabilities(
        self, words: Sequence[str], tags: Sequence[str], results: Sequence[ParseResult]
    ) -> list[ParseResult]:
        """Return the best parses of a sentence, in order, each with its `tree_probability`.

        This is the calibrated probability of its expected errors divided by its rank, because the first parse was
        chosen among all. The probabilities never increase, and their sum is at most 1. (This fits development trees;
        see docs/experiments/shipped.md.)
        """
        posteriors = self.parser.span_posteriors(words, tags)
        found, last, left = [], 1.0, 1.0
        for rank, one in enumerate(results, 1):
            probability = (
                float(self.calibration.calibrate_trees(np.array(tree_estimates(posteriors, one.tree).errors))) / rank
            )
            last = min(probability, last, left)
            left -= last
            found.append(replace(one, tree_probability=last))
        return found
