"""How a dependency parser is trained."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.features.linear.linkparts import TextRules
from spacy_dtparse.model.linear.dependency import DECODERS, MAX_STAGES

METHODS = ("perceptron", "mira")


@dataclass(frozen=True)
class DependencyOptions:
    """`rules`: how text becomes atoms. `decoder`: "projective" or "spanning". `stages`: linear models in a row, each
    with the tree of the one before as its guide; 1 is the paper's parser. `method`: of the online learners,
    "perceptron" or single-best "mira", whose steps are at most `step`. `members`: learners, each on a shuffle of its
    own, whose averages are averaged: the Bayes point; 1 is one averaged perceptron. `epochs`: passes of each. `folds`:
    parts of the training sentences, each of which gets its guide from a parser of the others; `guide_members`: learners
    of such a parser. `seed`: of all shuffles. `max_words`: longer sentences are left out of training. `least`: how
    often a link feature must occur. `max_features`: kept of each stage, the greatest weights. `label_members`,
    `label_epochs`, `label_least`, `max_label_weights`: the same for the labels; without members there is no labeller.

    Raises ConfigError for values out of range.
    """

    rules: TextRules = field(default_factory=TextRules)
    decoder: str = "projective"
    stages: int = 2
    method: str = "perceptron"
    step: float = 0.1
    members: int = 10
    epochs: int = 6
    folds: int = 10
    guide_members: int = 2
    seed: int = 0
    max_words: int = 100
    least: int = 1
    max_features: int = 2_000_000
    label_members: int = 3
    label_epochs: int = 5
    label_least: int = 1
    max_label_weights: int = 500_000

    def __post_init__(self) -> None:
        for name, allowed in (("decoder", DECODERS), ("method", METHODS)):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(allowed)}")
        least = {"seed": 0, "label_members": 0, "folds": 2, "max_words": 2}
        for name in (
            "stages", "members", "epochs", "folds", "guide_members", "seed", "max_words", "least", "max_features",
            "label_members", "label_epochs", "label_least", "max_label_weights",
        ):  # fmt: skip
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least.get(name, 1):
                raise ConfigError(f"{name} is {value!r}; it must be a whole number from {least.get(name, 1)}")
        if self.stages > MAX_STAGES:
            raise ConfigError(f"stages is {self.stages}; at most {MAX_STAGES} are allowed")
        if not self.step > 0:
            raise ConfigError(f"step is {self.step!r}; it must be above 0")

    def facts(self) -> dict[str, Any]:
        """Plain data, for a model's meta and for checks."""
        return {**asdict(self), "rules": self.rules.to_dict()}
