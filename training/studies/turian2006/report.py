"""The results of the runs, and the papers' figures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import ConfigError

from ...dtree.boosting.plot import dev_f1, plot_path
from .. import pages
from .plan import PLAN
from .tables import ATOMS, NAMES


def load_results(folder: Path) -> dict[str, dict[str, Any]]:
    """The results of the plan's runs below `folder`, by name. Raises ConfigError when there is none."""
    results = pages.load_results(folder, PLAN)
    if not results:
        raise ConfigError(f"{folder} has no RUN/{pages.RESULT}; make some with: python -m training reproduce")
    return results


def weight_lost(row: dict[str, Any]) -> float | None:
    """Percent of the NP examples' weight that samples left out at a λ level, None when no NP tree was grown."""
    lost = row["NP"]["weight_lost"]
    return None if lost is None else 100 * lost


def draw_plots(results: pages.Results, folder: Path) -> list[Path]:
    """Draw what there are runs for into `folder`; returns the files. Without matplotlib nothing is drawn."""
    plots: dict[str, tuple[dict[str, str], Callable[[dict], float | None], str]] = {
        "2006_f1_parameters.svg": (NAMES, dev_f1, "dev F1, greedy"),
        "2006_kitchen_sink.svg": (ATOMS, dev_f1, "dev F1, greedy"),
        "2006_weight_lost.svg": (ATOMS, weight_lost, "NP example weight lost by sampling, %"),
    }
    drawn = []
    for file, (names, value, what) in plots.items():
        have = {title: results[run]["rows"] for run, title in names.items() if run in results}
        if not have:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        if plot_path(have, folder / file, value, what):
            drawn.append(folder / file)
    return drawn
