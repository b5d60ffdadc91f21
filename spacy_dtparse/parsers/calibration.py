"""How probable it is that a constituent, or a whole tree, is right.

A parser's own probabilities say more than it knows: of the constituents that it gives 0.85, three quarters are right.
So a few numbers, fitted on development trees, map them to shares of right ones. For constituents it is beta calibration
(Kull, Silva Filho and Flach 2017), for trees a logistic curve over the number of wrong and missing constituents that
the parser itself expects.
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
from .base import ParseResult
from .constraints import Constraints

CALIBRATION = "calibration"
"""Its place in a model's meta."""
PACKAGED = Path(__file__).with_name("calibrations.json")
"""Those of the package's models, by the digest of their files: the models need not be written anew for them."""
_LEAST, _MOST = 5e-4, 1 - 1e-5
"""Probabilities outside of this range count as its ends: parsers tell of none that are smaller than some thousandth."""
_FEW = 0.01
"""Added to the number of errors that are expected, whose logarithm is taken."""


def logits_of_constituents(probabilities: np.ndarray) -> np.ndarray:
    """What a constituent's calibrated log odds are a sum of, (c, 3): ln p, −ln(1 − p), 1. `probabilities`: (c,)."""
    p = np.clip(np.asarray(probabilities, dtype=float), _LEAST, _MOST)
    return np.stack([np.log(p), -np.log1p(-p), np.ones_like(p)], axis=-1)


def logits_of_trees(errors: np.ndarray) -> np.ndarray:
    """What a tree's calibrated log odds are a sum of, (s, 2): the logarithm of the errors that are expected (s,), 1."""
    expected = np.asarray(errors, dtype=float)
    return np.stack([np.log(expected + _FEW), np.ones_like(expected)], axis=-1)


def odds_to_probabilities(log_odds: np.ndarray) -> np.ndarray:
    """1 / (1 + e^−x) of each."""
    return 1 / (1 + np.exp(-np.asarray(log_odds)))


@stored_as("constituent", "tree")
@dataclass(frozen=True)
class Calibration:
    """A map from what a parser says to shares of right constituents and trees.

    `constituent`: weights of `logits_of_constituents`. `tree`: weights of `logits_of_trees`. Raises ModelFormatError
    for another number of weights, one that is not finite, or one that makes less sure of what the parser is surer of.
    """

    constituent: tuple[float, float, float]
    tree: tuple[float, float]

    def __post_init__(self) -> None:
        for field, size in (("constituent", 3), ("tree", 2)):
            weights = getattr(self, field)
            numbers = isinstance(weights, list | tuple) and all(type(one) in (int, float) for one in weights)
            if not numbers or len(weights) != size or not all(map(isfinite, weights)):
                raise ModelFormatError(
                    f"a calibration's {field!r} is {str(weights)[:60]}; it has {size} finite numbers: calibrate the "
                    "model again"
                )
            object.__setattr__(self, field, tuple(map(float, weights)))
        if min(self.constituent[:2]) < 0 or self.tree[0] > 0:
            raise ModelFormatError(
                f"the calibration {to_stored(self)} has surer constituents or trees right less often; calibrate the "
                "model again, on more trees"
            )

    @classmethod
    def from_dict(cls, stored: Any) -> Calibration:
        """One from the plain data of `to_dict`. Raises ModelFormatError for anything else."""
        names = set(stored_names(cls))
        if not isinstance(stored, Mapping) or set(stored) != names:
            raise ModelFormatError(
                f"a calibration is {str(stored)[:60]!r}; it has {', '.join(sorted(names))}: calibrate the model again"
            )
        return cls(**from_stored(cls, stored))

    def to_dict(self) -> dict[str, list[float]]:
        """Plain data, six digits of each number."""
        return {name: [float(f"{one:.6g}") for one in weights] for name, weights in to_stored(self).items()}

    def of_constituents(self, probabilities: np.ndarray) -> np.ndarray:
        """The share of right ones among constituents of such probabilities, of any shape."""
        return odds_to_probabilities(logits_of_constituents(probabilities) @ np.array(self.constituent))

    def of_trees(self, errors: np.ndarray) -> np.ndarray:
        """The share of right trees among those with so many errors expected."""
        return odds_to_probabilities(logits_of_trees(errors) @ np.array(self.tree))


class Expected(NamedTuple):
    """What a parser says of a tree: `probabilities` of its constituents in pre-order, that of TOP 1, as it has them;
    `errors`: how many constituents are wrong or missing on average."""

    probabilities: tuple[float, ...]
    errors: float


def expected(parser: Any, words: Sequence[str], tags: Sequence[str], tree: Tree) -> Expected:
    """What the parser says of a tree of the words. Raises DtparseError where it has no probabilities."""
    if not hasattr(parser, "span_posteriors"):
        raise DtparseError(f"a parser of kind {parser.name!r} has no probabilities of constituents")
    return _expected(parser.span_posteriors(words, tags), tree)


def _expected(posteriors: Mapping[tuple[int, int, str], float], tree: Tree) -> Expected:
    spans = tree.spans()
    own = [1.0 if label == TOP else posteriors.get((start, end, label), 0.0) for start, end, label in spans]
    missing = set(posteriors).difference(spans)
    return Expected(tuple(own), len(own) - sum(own) + sum(posteriors[span] for span in missing))


@cache
def packaged() -> dict[str, Any]:
    """The calibrations of the package's models by the digests of their files, as plain data."""
    return json.loads(PACKAGED.read_text(encoding="utf8"))


class Calibrated:
    """A parser's results with the probabilities that they are right.

    Raises DtparseError where the parser's model has no calibration.
    """

    def __init__(self, parser: Any):
        found: Calibration | None = getattr(parser, "calibration", None)
        if found is None:
            raise DtparseError(
                f"the model of this parser (kind {parser.name!r}) has no calibration, so it cannot say how probable "
                "its constituents are: python -m training calibrate MODEL --dev TREES --out MODEL writes one"
            )
        self.parser, self.calibration = parser, found

    def probabilities(self, words: Sequence[str], tags: Sequence[str], tree: Tree) -> tuple[tuple[float, ...], float]:
        """The probability that each constituent of a tree is right, in pre-order, and that all of it is."""
        said = expected(self.parser, words, tags, tree)
        calibrated = self.calibration.of_constituents(np.array(said.probabilities)).tolist()
        right = (1.0 if label == TOP else p for label, p in zip(tree.labels, calibrated, strict=True))
        return tuple(right), float(self.calibration.of_trees(np.array(said.errors)))

    def result(
        self, words: Sequence[str], tags: Sequence[str], result: ParseResult, known: Constraints | None = None
    ) -> ParseResult:
        """The result with `probabilities` and `tree_probability`; 1 for constituents that are `known`."""
        each, whole = self.probabilities(words, tags, result.tree)
        for one in known.wanted if known is not None else ():
            spans = enumerate(zip(result.tree.spans(), each, strict=True))
            same = {k for k, ((*extent, label), _) in spans if (*extent,) == one[:2] and one.label in ("", label)}
            each = tuple(1.0 if k in same else p for k, p in enumerate(each))
        return replace(result, probabilities=each, tree_probability=whole)

    def ranked(self, words: Sequence[str], tags: Sequence[str], results: Sequence[ParseResult]) -> list[ParseResult]:
        """The best parses of a sentence, in order, each with its `tree_probability`: what its expected errors say, of
        the second half of that, of the third a third, as the first was chosen among all. They never rise, and their sum
        is at most 1. (On development trees that fits; see docs/experiments/shipped.md.)"""
        posteriors = self.parser.span_posteriors(words, tags)
        found, last, left = [], 1.0, 1.0
        for rank, one in enumerate(results, 1):
            own = float(self.calibration.of_trees(np.array(_expected(posteriors, one.tree).errors))) / rank
            last = min(own, last, left)
            left -= last
            found.append(replace(one, tree_probability=last))
        return found
