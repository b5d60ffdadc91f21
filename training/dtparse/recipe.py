"""Training recipes: every setting of a run as one checked, plain-data object."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from spacy_dtparse.checks import boolean, integer, one_of, optional, real
from spacy_dtparse.core.settings import Settings
from spacy_dtparse.dtparse.features.tables import TABLES
from spacy_dtparse.dtparse.kernels.state import STRATEGIES
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.stored_names import stored_as, to_stored
from spacy_dtparse.trees import STEPS

from .boosting.tree import MAX_SPLITS


@stored_as(
    "sample_size gain split_ratio root_slack max_splits sweeps shrinkage prior solver max_empty seed subtraction"
)
@dataclass(frozen=True)
class LearnerConfig(Settings):
    """Settings for growing one tree (Turian & Melamed 2006a, section 3.2; 2006b, section 3.3).

    sample_size: examples drawn by priority sampling for each tree; None: all of them.
    gain: "soft" = max(0, |g| - λ), as printed; "hard" = |g| if above λ, else 0.
    split_ratio: below the root a split's gain must exceed this times the node's.
    root_slack: at the root a split must gain more than this times λ on top of the root's own gain; 0 is the
      papers' rule, 0.1 ends a λ level earlier, when little is left to gain.
    max_splits: splits per tree; 1 makes stumps.
    shrinkage: factor that each step is multiplied by; 1 is the papers' way.
    sweeps: steps towards each leaf's minimum. solver: "majoriser", or "newton": the longer of the majoriser's
      step and a damped Newton step (see `leaves`; no step of either passes the minimum).
    prior: the first tree is a single leaf, the label's log-odds, so that a label whose root cannot be split yet does
      not score 0, which is too high for a rare label. The papers have no such tree.
    subtraction: compute the histogram of a split's larger child by subtraction; otherwise sum up both children's (the
      same tree, as sums are exact; only to measure the time saved).
    max_empty: this many trees in a row whose leaves are all 0 over the full data end the λ level.
    seed: seed of the priority samples.
    """

    sample_size: int | None = 100_000
    gain: str = "soft"
    split_ratio: float = 1.01
    root_slack: float = 0.0
    max_splits: int = 60
    sweeps: int = 1
    shrinkage: float = 1.0
    prior: bool = False
    solver: str = "newton"
    max_empty: int = 2
    seed: int = 0
    subtraction: bool = True

    KIND = ""
    ALLOWED = {  # noqa: RUF012 (never changed)
        "sample_size": optional(integer(1)), "gain": one_of("soft", "hard"), "split_ratio": real(1),
        "root_slack": real(0), "max_splits": integer(1, MAX_SPLITS), "sweeps": integer(1),
        "shrinkage": real(0, 1, above=True), "solver": one_of("majoriser", "newton"),
        "max_empty": integer(1), "subtraction": boolean(), "seed": integer(0, 2**63 - 1),
    }  # fmt: skip


@stored_as(
    "decay lambda_start lambda_floor max_levels max_trees_per_level patience budget_seconds lookahead keep_scores "
    "save_seconds n_workers quiet learner"
)
@dataclass(frozen=True)
class PathConfig(Settings):
    """The schedule of λ, and the conditions that stop training.

    decay: λ of the next level is this times λ. lambda_start: λ of level 0; None: decay × the largest root gradient of
      any label. lambda_floor: smallest λ. max_levels, max_trees_per_level: None = no limit.
    patience: stop when the dev F1 has not risen for this many levels. budget_seconds: wall clock of this call of
      `train_path`, None = no limit. lookahead: a label may be this many levels ahead of the slowest one; 0 is a barrier
      after every level. keep_scores: write every label's scores between levels (4 bytes per example) instead of
      computing them again. save_seconds: a level that takes longer is saved at this interval.
    learner: settings of each classifier. n_workers: maximum number of submitted tasks; None: the executor's number of
      workers, else the number of CPUs. quiet: no progress bar.
    """

    decay: float = 0.9
    lambda_start: float | None = None
    lambda_floor: float = 0.0
    max_levels: int | None = None
    max_trees_per_level: int | None = None
    patience: int | None = 5
    budget_seconds: float | None = None
    lookahead: int = 1
    keep_scores: bool = True
    save_seconds: float = 300.0
    n_workers: int | None = None
    quiet: bool = False
    learner: LearnerConfig = field(default_factory=LearnerConfig)

    KIND = ""
    ALLOWED = {  # noqa: RUF012 (never changed)
        "decay": real(0, 1, above=True, below=True),
        "lambda_start": real(0, above=True),
        "lambda_floor": real(0),
        "max_levels": integer(1),
        "max_trees_per_level": integer(1),
        "patience": optional(integer(1)),
        "n_workers": integer(1),
        "budget_seconds": real(0, above=True),
        "lookahead": integer(0),
        "save_seconds": real(0, above=True),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lambda_floor == 0 and self.max_levels is self.patience is self.budget_seconds is None:
            raise ConfigError(
                "lambda_floor is 0 and max_levels, patience and budget_seconds are None, so training would never "
                "end; set one of them."
            )


@stored_as(
    "name strategy templates preprocessing max_arity edge_punctuation negative_weight example_weights max_words "
    "min_word_sentences min_atom_count atom_sentences atom_table_bits memory_gib dev_sentences dev_budget gate_bits "
    "gate_share n_workers seed learner path"
)
@dataclass(frozen=True)
class FitRecipe(Settings):
    """Settings for training a parser from trees.

    `strategy`, `templates`: names (see `dtparse.kernels.state`, `dtparse.features.tables`). `preprocessing`: steps of
    `trees.Recipe`. `max_arity`: maximum number of children of an inferred item. `edge_punctuation`: whether punctuation
    may be an item's first or last child. `negative_weight`: total weight of the negatives of a state, as a multiple of
    that of its positives (1: half and half, as in the papers). `example_weights` (Turian & Melamed 2006a, section 3.3):
    "state" divides a state's weight among its examples like that; "uniform" gives every example the weight of its
    sentence (negatives: times `negative_weight`). `min_word_sentences`: words seen in fewer sentences are one rare-word
    symbol. `min_atom_count`: atomic features seen in fewer examples are dropped; they are counted on at most
    `atom_sentences` sentences, drawn with `seed`.
    `max_words`: longer sentences are excluded from the training and the dev trees (None: none are); as in the 2006
    papers, punctuation counts as words, empty elements do not.
    `memory_gib`: maximum size of the rows, in memory and on disk.
    `dev_sentences`, `dev_budget`: number of dev sentences on which each λ level is scored, and the search budget.
    `filter_bits`: log2 of the size of the window filter's weight table (see `dtparse.kernels.window_filter`); 0: no
    filter. `filter_loss`: 0: classifiers are trained on all windows; above: only on the correct windows and on those
    that pass the window filter when it may lose this fraction of the correct ones, which gives fewer and harder
    examples. Parsing then needs the window filter, with no smaller fraction. `learner`, `path`: see `LearnerConfig`,
    `PathConfig`.

    Raises ConfigError for names or values that are not allowed.
    """

    name: str = "standard"
    strategy: str = "shift_reduce"
    templates: str = "standard"
    preprocessing: tuple[str, ...] = ("strip_empty", "drop_repeated_unary")
    max_arity: int = 6
    edge_punctuation: bool = True
    negative_weight: float = 1.0
    example_weights: str = "state"
    max_words: int | None = None
    min_word_sentences: int = 5
    min_atom_count: int = 10
    atom_sentences: int = 20_000
    atom_table_bits: int = 24
    memory_gib: float = 6.0
    dev_sentences: int = 1500
    dev_budget: int = 0
    filter_bits: int = 20
    filter_loss: float = 0.0
    n_workers: int = 2
    seed: int = 0
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    path: PathConfig = field(default_factory=PathConfig)

    KIND = "recipe"
    ALLOWED = {  # noqa: RUF012 (never changed)
        "strategy": one_of(*STRATEGIES), "templates": one_of(*TABLES), "example_weights": one_of("state", "uniform"),
        "max_arity": integer(2, 64), "negative_weight": real(1e-6), "max_words": integer(1),
        "atom_table_bits": integer(10, 28), "memory_gib": real(0), "filter_bits": integer(0, 24),
        "filter_loss": real(0, 0.05), "edge_punctuation": boolean(), "dev_budget": integer(0),
        "seed": integer(0), "min_word_sentences": integer(1), "min_atom_count": integer(1),
        "atom_sentences": integer(1), "dev_sentences": integer(1), "n_workers": integer(1),
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        for step in self.preprocessing:
            if step not in STEPS:
                raise ConfigError(f"recipe setting 'preprocessing' is {step!r}; allowed are {', '.join(STEPS)}")
        if self.filter_loss > 0 and self.filter_bits == 0:
            raise ConfigError(
                f"recipe setting 'filter_loss' is {self.filter_loss} but 'filter_bits' is 0, so there is no window "
                "filter; give both or neither"
            )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FitRecipe:
        """Build a recipe from plain data; missing settings get their defaults. Raises ConfigError for unknown names."""
        data = {"preprocessing": cls.preprocessing, "path": {}, "learner": {}, **data}
        for name, needed in (("preprocessing", "list"), ("path", "object"), ("learner", "object")):
            if not isinstance(data[name], dict if needed == "object" else list | tuple):
                raise ConfigError(f"recipe setting {name!r} is {data[name]!r}; it must be a JSON {needed}")
        try:
            learner = LearnerConfig(**data["learner"])
            path = PathConfig(**data["path"], learner=learner)
        except TypeError as error:
            raise ConfigError(f"a recipe setting is unknown or has the wrong type: {error}") from error
        parts = {"preprocessing": tuple(data["preprocessing"]), "learner": learner, "path": path}
        return cls().with_changes(**{**data, **parts})

    @classmethod
    def from_json(cls, path: str | Path) -> FitRecipe:
        """Read a recipe from a JSON file. Raises ConfigError when it cannot be read."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf8"))
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{path}: cannot read the recipe ({error}); give a JSON file of recipe settings"
            ) from error
        if not isinstance(data, dict):
            raise ConfigError(f"{path}: a recipe is a JSON object, not a {type(data).__name__}")
        return cls.from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for `from_dict`."""
        data = asdict(self)
        data["path"].pop("learner")
        return data

    def to_stored(self) -> dict[str, Any]:
        """Plain data by stored names, as written to models and run folders."""
        data = to_stored(self)
        del data["path"]["learner"]
        return data

    def conditions(self) -> dict[str, Any]:
        """The settings that affect the result of training, by stored names."""
        data = self.to_stored()
        for section, name in _RUN_ONLY_SETTINGS:
            del (data[section] if section else data)[name]
        return data


_RUN_ONLY_SETTINGS = (
    ("", "n_workers"),
    *(("path", name) for name in ("n_workers", "quiet", "save_seconds", "lookahead")),
)
"""(Section, stored name) of the settings that do not affect the result of training."""
