"""Options of the trainer of log-linear taggers."""

import math
from dataclasses import dataclass
from typing import Any

from spacy_dtparse.checks import check, integer, one_of, real
from spacy_dtparse.linear.features import LEVELS
from spacy_dtparse.stored_names import stored_as, to_stored

ESTIMATORS = ("perceptron", "mira", "gis", "lbfgs")


@stored_as(
    "estimator epochs history grow step seed iterations sigma tolerance least least_word plain least_affix cutoff "
    "max_weights levels"
)
@dataclass(frozen=True)
class SequenceOptions:
    """Options for training a tagger.

    `estimator`: one of ESTIMATORS. For online estimators: `epochs`: passes; `history`: the labels before a token in
    training, "gold" or "greedy" (predicted); `grow`: number of passes after which wrongly predicted labels get weights
    for features that never occur with them; `step`: maximum step of MIRA; `seed`: of shuffles. For the others:
    `iterations`: maximum number; `sigma`: standard deviation of the Gaussian prior; `tolerance`: relative gain of an
    iteration below which training ends. `min_count`: minimum occurrences of a feature. `min_word_count`, `plain`,
    `min_affix_count`, `cutoff`: see `TagParts.build`. `max_weights`: maximum weights in the model, the largest ones;
    `levels`: the largest weight in units of the grid on which weights are stored. Raises ConfigError for values out of
    range."""

    estimator: str = "perceptron"
    epochs: int = 10
    history: str = "greedy"
    grow: int = 3
    step: float = 0.01
    seed: int = 0
    iterations: int = 100
    sigma: float = 0.5
    tolerance: float = 1e-5
    min_count: int = 1
    min_word_count: int = 2
    plain: int = 10
    min_affix_count: int = 5
    cutoff: int = 20
    max_weights: int = 600_000
    levels: int = 1023

    def __post_init__(self) -> None:
        positive = "epochs iterations min_count min_word_count plain min_affix_count cutoff max_weights"
        check(self, {
            "estimator": one_of(*ESTIMATORS), "history": one_of("gold", "greedy"), "levels": integer(1, LEVELS),
            **dict.fromkeys(("grow", "seed"), integer(0)), **dict.fromkeys(positive.split(), integer(1)),
            **dict.fromkeys(("step", "sigma", "tolerance"), real(0, math.inf, above=True, below=True)),
        })  # fmt: skip

    @property
    def online(self) -> bool:
        """True if the estimator updates sentence by sentence, so that its scores are not log probabilities."""
        return self.estimator in ("perceptron", "mira")

    def to_dict(self) -> dict[str, Any]:
        """The options as plain data, for a model's meta and for checks."""
        return to_stored(self)
