"""Calibrate a parser on development trees: fit its probabilities to how often it is right.

See `spacy_dtparse.core.calibration` for the calibration map.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spacy_dtparse.core.calibration import Calibration, constituent_terms, sigmoid, tree_estimates, tree_terms
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.trees.tree import TOP

from ..runs.tables import markdown
from .corpus import Sentence

BINS = 10
_RIDGE = 1e-3
"""Regularisation that keeps weights finite if right and wrong are separable."""
_MIN_COUNT = 20
"""Minimum number of right and of wrong constituents, and trees, to fit a map on."""


@dataclass(frozen=True)
class CalibrationData:
    """A parser's probabilities for its trees of a treebank, and which constituents and trees are right.

    `probs` float64 (c,): uncalibrated probabilities of the constituents of its trees, without TOP; `right` bool (c,).
    `errors` float64 (s,): expected number of wrong and missing constituents of each tree; `products` float64 (s,):
    product of the probabilities of a tree's constituents; `right_trees` bool (s,): whether the tree is right.
    """

    probs: np.ndarray
    right: np.ndarray
    errors: np.ndarray
    products: np.ndarray
    right_trees: np.ndarray


def collect_probabilities(parser: Any, sentences: Sequence[Sentence], tags: Sequence[Sequence[str]]) -> CalibrationData:
    """Parse sentences with the given tags, and compare the parser's probabilities with the gold trees. Raises
    DtparseError for a parser without probabilities."""
    probs: list[float] = []
    right: list[bool] = []
    errors, products, right_trees = [], [], []
    for sentence, row in zip(sentences, tags, strict=True):
        words = sentence.tree.words
        ((result, posteriors),) = parser.parse_with_posteriors([(words, row)])
        tree = result.tree
        estimates = tree_estimates(posteriors, tree)
        gold, found = Counter(sentence.tree.spans()), Counter(tree.spans())
        for span, probability in zip(tree.spans(), estimates.probabilities, strict=True):
            if span[2] != TOP:
                probs.append(probability)
                right.append(gold[span] > 0)
                gold[span] -= 1
        errors.append(estimates.errors)
        products.append(float(np.prod(estimates.probabilities)))
        right_trees.append(found == Counter(sentence.tree.spans()))
    return CalibrationData(
        np.array(probs), np.array(right), np.array(errors), np.array(products), np.array(right_trees)
    )


def fit_calibration(data: Sequence[CalibrationData], min_count: int = _MIN_COUNT) -> Calibration:
    """Fit the calibration map by maximum likelihood; a treebank's weight is the square root of its size. Raises
    TrainingDataError with less than `min_count` right or wrong constituents, or trees: if there are too few trees, or
    the parser is almost always right or almost always wrong."""
    rights, wholes = [one.right for one in data], [one.right_trees for one in data]
    for what, found in (("constituents", np.concatenate(rights)), ("trees", np.concatenate(wholes))):
        if min(np.count_nonzero(found), np.count_nonzero(~found)) < min_count:
            raise TrainingDataError(
                f"{np.count_nonzero(found)} right and {np.count_nonzero(~found)} wrong {what} are too few to calibrate "
                f"on; give development trees with at least {min_count} of each"
            )
    constituent = _likeliest([constituent_terms(one.probs) for one in data], rights, (1, 1, 0))
    tree = _likeliest([tree_terms(one.errors) for one in data], wholes, (-1, 0))
    return Calibration.from_dict({"constituent": constituent.tolist(), "tree": tree.tolist()})


def _likeliest(parts: Sequence[np.ndarray], right: Sequence[np.ndarray], signs: Sequence[int]) -> np.ndarray:
    """Maximum-likelihood weights of the columns of all parts (c, d) together, by Newton's method. A weight that would
    not have the sign in `signs` (0: any) is 0."""
    x, y = np.concatenate(parts), np.concatenate(right).astype(float)
    counts = np.concatenate([np.full(len(part), 1 / max(len(part), 1) ** 0.5) for part in parts])
    counts *= len(counts) / counts.sum()
    used = np.ones(x.shape[1], dtype=bool)
    while True:
        weights = np.zeros(x.shape[1])
        columns = x[:, used]
        for _ in range(100):
            p = sigmoid(x @ weights)
            slope = columns.T @ (counts * (y - p)) - _RIDGE * weights[used]
            bend = (columns * (counts * p * (1 - p))[:, None]).T @ columns + _RIDGE * np.eye(columns.shape[1])
            step = np.linalg.solve(bend, slope)
            weights[used] += np.clip(step, -2, 2)
            if np.abs(step).max() < 1e-9:
                break
        wrong = used & (weights * np.array(signs) < 0)
        if not wrong.any():
            return weights
        used &= ~wrong


def reliability(probs: np.ndarray, right: np.ndarray) -> list[dict[str, float]]:
    """For each non-empty bin (of BINS equal parts of [0, 1]): the `mean` probability, the fraction that is `right`, and
    the `count`."""
    bins = np.minimum((probs * BINS).astype(int), BINS - 1)
    parts = [bins == k for k in range(BINS) if (bins == k).any()]
    return [
        {"mean": float(probs[part].mean()), "right": float(right[part].mean()), "count": int(part.sum())}
        for part in parts
    ]


def calibration_error(probs: np.ndarray, right: np.ndarray) -> float:
    """Expected calibration error: the mean difference between the mean probability and the fraction that is right, in
    the bins of `reliability` (Naeini, Cooper and Hauskrecht 2015)."""
    bins = reliability(probs, right)
    return sum(one["count"] * abs(one["mean"] - one["right"]) for one in bins) / max(len(probs), 1)


def sampling_error(probs: np.ndarray) -> float:
    """The mean calibration error of perfect probabilities on a sample of this size, from 100 simulations."""
    random = np.random.default_rng(0)
    return float(np.mean([calibration_error(probs, random.random(len(probs)) < probs) for _ in range(100)]))


def errors_by_treebank(by_treebank: Mapping[str, CalibrationData], calibration: Calibration) -> list[dict[str, Any]]:
    """For each treebank the calibration errors of constituents and of trees: `raw`: of the uncalibrated probabilities
    (of a tree: the product over its constituents); `fitted`; `others`: fitted on the other treebanks only, None if
    there is no other; `chance`: see `sampling_error`; with the counts, the fraction that is right, and the reliability
    curves before and after."""
    records = []
    for name, data in by_treebank.items():
        rest = [one for other, one in by_treebank.items() if other != name]
        left_out = fit_calibration(rest) if rest else None
        record: dict[str, Any] = {"treebank": name}
        for what, probs, right, raw, maps in (
            ("constituents", data.probs, data.right, data.probs, "calibrate_constituents"),
            ("trees", data.errors, data.right_trees, data.products, "calibrate_trees"),
        ):
            fitted = getattr(calibration, maps)(probs)
            record[what] = {
                "count": len(right),
                "right": float(right.mean()),
                "raw": calibration_error(raw, right),
                "fitted": calibration_error(fitted, right),
                "others": None if left_out is None else calibration_error(getattr(left_out, maps)(probs), right),
                "chance": sampling_error(fitted),
                "curve_raw": reliability(raw, right),
                "curve": reliability(fitted, right),
            }
        records.append(record)
    return records


def calibration_table(records: Sequence[Mapping[str, Any]]) -> str:
    """The records as a Markdown table."""
    heads = [
        f"{what}, {name}"
        for what in ("constituents", "trees")
        for name in ("right", "raw", "fitted", "others", "chance")
    ]
    rows = []
    for record in records:
        cells = []
        for what in ("constituents", "trees"):
            one = record[what]
            cells.append(f"{100 * one['right']:.1f}")
            cells += ["" if one[name] is None else f"{one[name]:.3f}" for name in ("raw", "fitted", "others", "chance")]
        rows.append([record["treebank"], *cells])
    return markdown(["treebank", *heads], rows)
