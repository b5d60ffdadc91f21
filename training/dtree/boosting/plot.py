"""Dev F1 against the number of parameters, on a log axis: the papers' Figure 1."""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ...runs.files import read_lines
from .path import LOG_FILE

logger = logging.getLogger(__name__)


def dev_f1(row: dict) -> float | None:
    """The dev F1 of a line of the log, None when it has none."""
    return row["f1"]


def plot_path(
    runs: dict[str, str | os.PathLike | Sequence[dict]],
    target: str | os.PathLike,
    value: Callable[[dict], float | None] = dev_f1,
    what: str = "dev F1",
) -> bool:
    """Draw one curve per run into the file `target` (its suffix chooses the format: .svg, .png, .pdf).

    runs: name -> working folder of `train_path`, or the rows of its result. value, what: what is drawn over the
    number of parameters, and its name. Returns whether it was drawn: without matplotlib a note is logged instead,
    and training goes on. The same rows give the same .svg.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        logger.warning("no plot was drawn: matplotlib is not installed (pip install 'spacy-dtparse[train]')")
        return False
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, run in runs.items():
        rows = read_lines(Path(run) / LOG_FILE) if isinstance(run, str | os.PathLike) else run
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
