"""The runs that the papers' tables need, as data."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...dtree.recipe import FitRecipe
from ...runs.settings import changed
from ..plans import chosen

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "2006.json"
KINDS = ("fit", "profile", "scale", "pcfg", "pcfgla")


@dataclass(frozen=True)
class Run:
    """One run. `changes`: settings that differ from the recipe 2006, by dotted name.

    `kind`: "fit" trains and evaluates; "profile" grows some more trees on what run `of` left behind; "scale" builds
    the stores of sentences of any length and grows a few trees; "pcfg" and "pcfgla" are baselines. `minutes`: wall
    clock that training may take (after it the run ends within its λ level; evaluation comes on top). `tables`: blocks
    of docs/studies/turian2006.md that show it.
    """

    name: str
    kind: str
    about: str
    tables: tuple[str, ...]
    minutes: float
    changes: Mapping[str, Any] = field(default_factory=dict)
    of: str | None = None


PLAN = (
    Run("r2l", "fit", "right-to-left, baseline atoms", ("strategies", "curves", "atoms", "ensemble", "choices"), 40),
    Run("l2r", "fit", "left-to-right", ("strategies", "curves"), 40, {"strategy": "l2r"}),
    Run("bottom_up", "fit", "any order", ("strategies", "curves"), 40, {"strategy": "bottom_up"}),
    Run("kitchen_sink", "fit", "right-to-left, all atoms", ("atoms", "parsers", "ensemble"), 45,
        {"templates": "kitchen_sink", "memory_gib": 12}),
    Run("hard", "fit", "gain with a hard threshold", ("choices",), 25, {"learner.gain": "hard"}),
    Run("stumps", "fit", "one split per tree", ("choices",), 25, {"learner.max_splits": 1}),
    Run("uniform", "fit", "every example weighs 1", ("choices",), 25, {"example_weights": "uniform"}),
    Run("profile", "profile", "NP trees on the run r2l's", ("profile",), 10, of="r2l"),
    Run("profile_kitchen_sink", "profile", "NP trees on the run kitchen_sink's", ("profile",), 15, of="kitchen_sink"),
    Run("full_length", "scale", "sentences of any length, indirect storage", ("scale",), 40,
        {"max_words": None, "memory_gib": 0, "atom_sentences": 4000}),
    Run("pcfg", "pcfg", "PCFG with parent annotation, same sentences", ("parsers",), 5),
    Run("pcfgla", "pcfgla", "PCFG with latent annotations, same sentences", ("parsers",), 10),
)  # fmt: skip
"""In the order in which they are run; the minutes add up to less than 6 hours."""


def chosen_runs(names: Sequence[str] | None) -> list[Run]:
    """The named runs in the plan's order, or all. Raises ConfigError for a name that is not in the plan."""
    return chosen(PLAN, names)


def run_recipe(run: Run, settings: Sequence[str] = ()) -> FitRecipe:
    """The recipe 2006 with the run's changes and `settings` (NAME=VALUE). Raises ConfigError for unknown ones.

    A run of another run has that run's recipe.
    """
    owner = next((other for other in PLAN if other.name == run.of), run)
    changes = [f"{name}={json.dumps(value)}" for name, value in owner.changes.items()]
    return FitRecipe.from_dict(changed(FitRecipe.from_json(RECIPE).to_dict(), [*changes, *settings]))
