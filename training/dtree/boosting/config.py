"""Settings of the learner of one classifier and of the λ path over all labels."""

from __future__ import annotations

from dataclasses import dataclass, field

from spacy_dtparse.errors import ConfigError

from .tree import MAX_SPLITS


def _check(name: str, value: object, allowed: bool, rule: str) -> None:
    if not allowed:
        raise ConfigError(f"{name} is {value!r}; allowed: {rule}. Change it in the training configuration.")


@dataclass(frozen=True)
class LearnerConfig:
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

    def __post_init__(self) -> None:
        size = self.sample_size
        _check("sample_size", size, size is None or size >= 1, "None, or a whole number from 1")
        _check("gain", self.gain, self.gain in ("soft", "hard"), '"soft" or "hard"')
        _check("split_ratio", self.split_ratio, self.split_ratio >= 1, "1 or more")
        _check("root_slack", self.root_slack, self.root_slack >= 0, "0 or more")
        _check("max_splits", self.max_splits, 1 <= self.max_splits <= MAX_SPLITS, f"1 to {MAX_SPLITS}")
        _check("shrinkage", self.shrinkage, 0 < self.shrinkage <= 1, "above 0 and up to 1")
        _check("sweeps", self.sweeps, self.sweeps >= 1, "1 or more")
        _check("solver", self.solver, self.solver in ("majoriser", "newton"), '"majoriser" or "newton"')
        _check("max_empty", self.max_empty, self.max_empty >= 1, "1 or more")
        _check("subtraction", self.subtraction, isinstance(self.subtraction, bool), "true or false")
        _check("seed", self.seed, 0 <= self.seed < 2**63, "0 to 2**63 - 1")


@dataclass(frozen=True)
class PathConfig:
    """How λ goes down and when training stops.

    decay: λ of the next level is this times λ. lambda_start: λ of level 0; None takes decay × the largest
    root gradient of any label. lambda_floor: no level below it. max_levels, max_trees_per_level: None = no
    limit.
    patience: stop when the dev F1 has not risen for this many levels. budget_seconds: wall clock of this
    call of
    `train_path`, None = no limit. lookahead: a label may be this many levels ahead of the slowest one; 0 is a
    barrier after every level. keep_scores: write every label's scores between levels (4 bytes per example)
    instead of computing them again. save_seconds: a level that takes longer is saved in between.
    learner: how each classifier is trained. n_workers: tasks kept in flight; None asks the executor, else
    the number of CPUs. quiet: no progress bar.
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

    def __post_init__(self) -> None:
        start, floor = self.lambda_start, self.lambda_floor
        _check("decay", self.decay, 0 < self.decay < 1, "above 0 and below 1")
        _check("lambda_start", start, start is None or start > 0, "None, or above 0")
        _check("lambda_floor", floor, floor >= 0, "0 or more")
        for name in ("max_levels", "max_trees_per_level", "patience", "n_workers"):
            value = getattr(self, name)
            _check(name, value, value is None or value >= 1, "None, or a whole number from 1")
        budget = self.budget_seconds
        _check("budget_seconds", budget, budget is None or budget > 0, "None, or above 0")
        _check("lookahead", self.lookahead, self.lookahead >= 0, "0 or more")
        _check("save_seconds", self.save_seconds, self.save_seconds > 0, "above 0")
        if floor == 0 and self.max_levels is None and self.patience is None and budget is None:
            raise ConfigError(
                "lambda_floor is 0 and max_levels, patience and budget_seconds are None, so training "
                "would never "
                "end; set one of them."
            )
