"""The runs that the tables need, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...pcfg import Markov
from ...pcfg.binarise import BINARISATIONS
from ...pcfg.latent_training import LatentOptions
from ..plans import chosen

VALUES = (1, 2, 4, 8, 16)
SEEDS = (0, 1, 2, 3)
CYCLES = (1, 2, 3, 4, 5, 6)
NOISE = 0.5
"""How far the first numbers of a grammar without split and merge are disturbed."""

DECODERS = ("rerank", "viterbi", "q", "max-rule")


@dataclass(frozen=True)
class View:
    """One way to parse dev. `tags`: "own" (the grammar chooses), "gold" or "predicted" (what the tagger says).

    `settings`: of the parser (PcfgSettings). `most`: dev sentences of more words are left out.
    """

    name: str
    tags: str = "own"
    settings: Mapping[str, Any] = field(default_factory=dict)
    most: int | None = None


@dataclass(frozen=True)
class Run:
    """One grammar, or a product of some, from the trees of one treebank. `changes`: of LatentOptions."""

    name: str
    treebank: str
    tables: tuple[str, ...]
    changes: Mapping[str, Any]
    views: tuple[View, ...]

    @property
    def options(self) -> LatentOptions:
        """What is trained."""
        return LatentOptions(**self.changes)


def _annotated(binarisation: str, values: int, seed: int = 0) -> dict[str, Any]:
    """Options of a grammar whose symbols all have `values` latent values, as in the paper."""
    return {
        "markov": Markov(1, 0, binarisation, 1), "cycles": 0, "values": values, "noise": NOISE, "seeds": (seed,),
        "smooth_iterations": 5,
    }  # fmt: skip


OWN, GOLD = View("own"), View("gold", "gold")
LENGTHS = tuple(View(f"{tags} {most}", tags, most=most) for most in (40, 100) for tags in ("own", "gold", "predicted"))


def _plan() -> tuple[Run, ...]:
    runs = []
    for binarisation in ("center-parent", "center-head", "left", "right"):
        for values in VALUES:
            name = f"{binarisation}-{values}"
            tables: tuple[str, ...] = ("binarisations",)
            views: tuple[View, ...] = (OWN, GOLD)
            changes = _annotated(binarisation, values)
            if name == "center-parent-16":
                tables, changes = (*tables, "initial", "decoders"), {**changes, "candidates": True}
                views += tuple(View(f"{decoder}", "own", {"decoder": decoder}) for decoder in DECODERS)
                views += tuple(
                    View(f"{decoder} {prune:g}", "own", {"decoder": decoder, "prune": prune})
                    for decoder in ("viterbi", "q", "max-rule") for prune in (1e-2, 1e-3, 1e-5)
                )  # fmt: skip
                views += tuple(
                    View(f"rerank {n}", "own", {"decoder": "rerank", "candidates_n": n}) for n in (10, 100, 300)
                )
            runs.append(Run(name, "wsj", tables, changes, views))
    assert {run.changes["markov"].binarisation for run in runs} == set(BINARISATIONS)
    for seed in SEEDS[1:]:
        runs.append(
            Run(f"center-parent-16-seed{seed}", "wsj", ("initial",), _annotated("center-parent", 16, seed), (OWN,))
        )
    for cycles in CYCLES:
        runs.append(Run(f"cycles-{cycles}", "wsj", ("cycles",), {"cycles": cycles, "seeds": (0,)}, (OWN, GOLD)))
    both = ("lengths",)
    runs += [
        Run("split-merge", "wsj", (*both, "binarisations"), {"seeds": (0,)}, (OWN, GOLD, *LENGTHS)),
        Run("product", "wsj", both, {"seeds": SEEDS}, (OWN, GOLD, *LENGTHS)),
        Run("craft", "craft", both, {"seeds": (0,), "max_words": 40}, (OWN, GOLD, *LENGTHS)),
        Run("craft-product", "craft", both, {"seeds": (0, 1), "max_words": 40}, LENGTHS),
    ]
    return tuple(runs)


PLAN = _plan()
"""In the order in which they are run."""


def chosen_runs(names: Sequence[str] | None) -> list[Run]:
    """The named runs in the plan's order, or all. Raises ConfigError for a name that is not in the plan."""
    return chosen(PLAN, names)
