"""Settings of the learner of one classifier and of the λ path over all labels."""

from dataclasses import dataclass, field

from spacy_dtparse.checks import one_of, optional, real_number, truth, whole_number
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.parsers.settings import Settings

from .tree import MAX_SPLITS


@dataclass(frozen=True)
class LearnerConfig(Settings):
    """How one tree is made (Turian & Melamed 2006a, section 3.2; 2006b, section 3.3).

    sample_size: examples kept by priority sampling for every tree; None builds on all of them.
    gain: "soft" = max(0, |g| - λ), as printed; "hard" = |g| if above λ, else 0.
    split_ratio: below the root a split's gain must exceed this times the node's.
    root_slack: at the root a split must gain more than this times λ on top of the root's own gain; 0 is the
      papers' rule, 0.1 ends a λ level earlier, when little is left to gain.
    max_splits: splits per tree; 1 makes stumps.
    shrinkage: each step is cut to this share of itself; 1 is the papers' way.
    sweeps: steps towards each leaf's minimum. solver: "majoriser", or "newton": the longer of the majoriser's
      step and a damped Newton step (see `leaves`; no step of either passes the minimum).
    prior: the first tree is a lone leaf, the label's log-odds, so that a label whose root cannot be split yet does
      not score 0, which is much for a rare one. The papers have no such tree.
    subtraction: a split's larger child gets its histogram by subtraction; without, both children's are summed up
      (the same tree, as sums are exact; only to measure what it saves).
    max_empty: this many trees in a row whose leaves are all 0 over the full data end the λ level.
    seed: of the priority samples.
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
        "sample_size": optional(whole_number(1)), "gain": one_of("soft", "hard"), "split_ratio": real_number(1),
        "root_slack": real_number(0), "max_splits": whole_number(1, MAX_SPLITS), "sweeps": whole_number(1),
        "shrinkage": real_number(0, 1, above=True), "solver": one_of("majoriser", "newton"),
        "max_empty": whole_number(1), "subtraction": truth(), "seed": whole_number(0, 2**63 - 1),
    }  # fmt: skip


@dataclass(frozen=True)
class PathConfig(Settings):
    """How λ goes down and when training stops.

    decay: λ of the next level is this times λ. lambda_start: λ of level 0; None takes decay × the largest root gradient
      of any label. lambda_floor: no level below it. max_levels, max_trees_per_level: None = no limit.
    patience: stop when the dev F1 has not risen for this many levels. budget_seconds: wall clock of this call of
      `train_path`, None = no limit. lookahead: a label may be this many levels ahead of the slowest one; 0 is a barrier
      after every level. keep_scores: write every label's scores between levels (4 bytes per example) instead of
      computing them again. save_seconds: a level that takes longer is saved in between.
    learner: how each classifier is trained. n_workers: tasks kept in flight; None asks the executor, else the number of
      CPUs. quiet: no progress bar.
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
        "decay": real_number(0, 1, above=True, below=True), "lambda_start": real_number(0, above=True),
        "lambda_floor": real_number(0), "max_levels": whole_number(1), "max_trees_per_level": whole_number(1),
        "patience": optional(whole_number(1)), "n_workers": whole_number(1),
        "budget_seconds": real_number(0, above=True), "lookahead": whole_number(0),
        "save_seconds": real_number(0, above=True),
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lambda_floor == 0 and self.max_levels is self.patience is self.budget_seconds is None:
            raise ConfigError(
                "lambda_floor is 0 and max_levels, patience and budget_seconds are None, so training would never "
                "end; set one of them."
            )
