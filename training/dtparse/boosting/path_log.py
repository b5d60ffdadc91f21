"""Analyse the training log, one line per λ level: choose the best level, and plot dev F1 against the number of
parameters (the papers' Figure 1)."""

import logging
import math
import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

LOG_FILE = "log.jsonl"
logger = logging.getLogger(__name__)


def best_row(rows: Sequence[dict]) -> dict | None:
    """The line with the highest dev F1 (equals: the first, so the larger λ); without F1 the last; None if empty."""
    best = None
    for row in rows:
        if best is None or row["f1"] is None or best["f1"] is None or row["f1"] > best["f1"]:
            best = row
    return best


def levels_since_best(rows: Sequence[dict]) -> int:
    """Count the levels since the best dev F1 that added trees; 0 while no F1 is above 0."""
    best, count, trees = 0.0, 0, None
    for row in rows:
        if row["partial"] or row["f1"] is None or row["trees_of"] == trees:
            continue
        trees = row["trees_of"]
        if row["f1"] > best:
            best, count = row["f1"], 0
        elif best > 0:
            count += 1
    return count


def seconds_used(rows: Sequence[dict[str, Any]]) -> float:
    """Wall-clock seconds of the λ path over all calls in the log, up to the last level of each."""
    ends = pairwise([*rows, {"seconds": -math.inf}])
    return sum(row["seconds"] for row, after in ends if after["seconds"] < row["seconds"])


def plot_path(
    runs: dict[str, Sequence[dict]],
    target: str | os.PathLike,
    value: Callable[[dict], float | None] = itemgetter("f1"),
    what: str = "dev F1",
) -> bool:
    """Draw one curve per run into the file `target` (its suffix determines the format: .svg, .png, .pdf).

    runs: name -> lines of the log. value, what: the value drawn over the number of parameters, and its name. Returns
    whether it was drawn: without matplotlib a note is logged instead, and training continues. The same rows give the
    same .svg.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        logger.warning("no plot was drawn: matplotlib is not installed (pip install 'spacy-dtparse[train]')")
        return False
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, rows in runs.items():
        points = [(row["parameters"], value(row)) for row in rows if value(row) is not None and row["parameters"] > 0]
        axes.plot(*zip(*points, strict=True) if points else ([], []), marker=".", linewidth=1, label=name)
    axes.set_xscale("log")
    axes.set_xlabel("number of non-zero parameters, all classifiers")
    axes.set_ylabel(what)
    axes.grid(alpha=0.3)
    axes.legend()
    with rc_context({"svg.hashsalt": "spacy-dtparse"}):
        figure.savefig(target, metadata={"Date": None} if str(target).endswith(".svg") else None)
    return True
