"""Options of the trainer of dependency parsers."""

from dataclasses import dataclass, field
from typing import Any

from spacy_dtparse.bpm_parser.features import TextRules
from spacy_dtparse.bpm_parser.model import DECODERS, MAX_STAGES
from spacy_dtparse.checks import check, integer, one_of, real
from spacy_dtparse.stored_names import stored_as, to_stored


@stored_as(
    "rules decoder stages method step members epochs folds guide_members seed max_words least max_features "
    "label_members label_epochs label_least max_label_weights"
)
@dataclass(frozen=True)
class DependencyOptions:
    """Options for training a dependency parser.

    `rules`: conversion of text to atomic features. `decoder`: "projective" or "spanning". `stages`: number of linear
    models in sequence, each with the tree of the previous one as its guide; 1 is the paper's parser. `method`: of the
    online learners, "perceptron" or single-best "mira", whose steps are at most `step`. `members`: number of learners,
    each with its own shuffles, whose averages are averaged: the Bayes point; 1 is one averaged perceptron. `epochs`:
    passes of each. `folds`: parts of the training sentences, each of which gets its guide from a parser trained on the
    others; `guide_members`: learners of such a parser. `seed`: of all shuffles. `max_words`: longer sentences are left
    out of training. `min_count`: minimum occurrences of a link feature. `max_features`: maximum features of each stage,
    those with the largest weights. `label_members`, `label_epochs`, `label_min_count`, `max_label_weights`: the same
    for labels; without members there is no labeller. Raises ConfigError for values out of range."""

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
    min_count: int = 1
    max_features: int = 2_000_000
    label_members: int = 3
    label_epochs: int = 5
    label_min_count: int = 1
    max_label_weights: int = 500_000

    def __post_init__(self) -> None:
        positive = "members epochs guide_members min_count max_features label_epochs label_min_count max_label_weights"
        check(self, {
            "decoder": one_of(*DECODERS), "method": one_of("perceptron", "mira"), "stages": integer(1, MAX_STAGES),
            "seed": integer(0), "label_members": integer(0), "folds": integer(2),
            "max_words": integer(2), "step": real(0, above=True),
            **dict.fromkeys(positive.split(), integer(1)),
        })  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The options as plain data, for a model's meta and for checks."""
        return {**to_stored(self), "rules": self.rules.to_dict()}
