"""Fill the blocks of a page with the results' tables, and draw the papers' figures.

A block stands between `<!-- 2006: NAME -->` and `<!-- /2006 -->`, NAME being one of `tables.TABLES`, like those of
benchmarks/report.py.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import ConfigError

from ...dtree.boosting.plot import dev_f1, plot_path
from ...runs.files import read_result
from ..pages import fill_blocks
from .plan import PLAN
from .running import RESULT
from .tables import NAMES, TABLES, Results


def load_results(folder: Path) -> dict[str, dict[str, Any]]:
    """The results of the plan's runs below `folder`, by name. Raises ConfigError when there is none."""
    found = {run.name: read_result(folder / run.name / RESULT) for run in PLAN}
    results = {name: result for name, result in found.items() if result is not None}
    if not results:
        raise ConfigError(f"{folder} has no RUN/{RESULT}; make some with: python -m training reproduce")
    return results


def fill_page(page: Path, results: Results) -> list[str]:
    """Fill the blocks of the file `page` and return the names of those that were filled.

    A block without results stays as it is. Raises ConfigError for a block of an unknown name.
    """

    def maker(name: str) -> Callable[[], str | None]:
        runs, make = TABLES[name]
        return lambda: make(results) if any(run in results for run in runs) else None

    return fill_blocks(page, "2006", {name: maker(name) for name in TABLES})


def weight_lost(row: dict[str, Any]) -> float | None:
    """Percent of the NP examples' weight that samples left out at a λ level, None when no NP tree was grown."""
    lost = row["NP"]["weight_lost"]
    return None if lost is None else 100 * lost


def draw_plots(results: Results, folder: Path) -> list[Path]:
    """Draw what there are runs for into `folder`; returns the files. Without matplotlib nothing is drawn."""
    titles = {**NAMES, "kitchen_sink": "kitchen sink"}
    plots: dict[str, tuple[tuple[str, ...], dict[str, str], Callable[[dict], float | None], str]] = {
        "2006_f1_parameters.svg": (tuple(NAMES), NAMES, dev_f1, "dev F1, greedy"),
        "2006_kitchen_sink.svg": (("r2l", "kitchen_sink"), {**titles, "r2l": "baseline"}, dev_f1, "dev F1, greedy"),
        "2006_weight_lost.svg": (("r2l", "kitchen_sink"), {**titles, "r2l": "baseline"}, weight_lost,
                                 "NP example weight lost by sampling, %"),
    }  # fmt: skip
    drawn = []
    for file, (runs, names, value, what) in plots.items():
        have = {names[run]: results[run]["rows"] for run in runs if run in results}
        if not have:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        if plot_path(have, folder / file, value, what):
            drawn.append(folder / file)
    return drawn
