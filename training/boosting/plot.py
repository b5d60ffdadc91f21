"""Dev F1 against the number of parameters, on a log axis: the papers' Figure 1."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from .checkpoints import read_lines
from .path import LOG_FILE

logger = logging.getLogger(__name__)


def plot_path(runs: dict[str, str | os.PathLike | Sequence[dict]], target: str | os.PathLike) -> bool:
    """Draw one curve per run into the file `target` (its suffix chooses the format: .svg, .png, .pdf).

    runs: name -> working folder of `train_path`, or the rows of its result. Returns whether it was drawn:
    without matplotlib a note is logged instead, and training goes on.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        logger.warning("no plot was drawn: matplotlib is not installed (pip install 'spacy-dtparse[train]')")
        return False
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, run in runs.items():
        rows = read_lines(Path(run) / LOG_FILE) if isinstance(run, str | os.PathLike) else run
        points = [
            (row["parameters"], row["f1"]) for row in rows if row["f1"] is not None and row["parameters"] > 0
        ]
        axes.plot(*zip(*points, strict=True) if points else ([], []), marker=".", linewidth=1, label=name)
    axes.set_xscale("log")
    axes.set_xlabel("number of non-zero parameters, all classifiers")
    axes.set_ylabel("dev F1")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(target)
    return True
