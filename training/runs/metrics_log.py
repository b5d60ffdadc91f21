"""The log of a training run: lines for a person, and the same data as JSON lines in a file."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .files import append_line

MetricsLogger = Callable[..., None]
"""Logs metrics, given by name."""
_COUNTERS = ("fold", "seed", "stage", "stages", "cycle", "phase", "epoch", "step", "iteration")
"""Names of counters: those at the beginning of a line are its heading."""
_ABBREVIATIONS = {"f1": "F1", "uas": "UAS", "las": "LAS"}
logger = logging.getLogger(__name__)


def metrics_logger(workdir: Path | None) -> MetricsLogger:
    """`log_metrics` with the log file of a folder; without a log file if there is no folder."""
    return partial(log_metrics, None if workdir is None else workdir / "log.jsonl")


def log_metrics(log_file: Path | None, /, **metrics: Any) -> None:
    """Log metrics as a line of text, and append them to a file of JSON lines unless it is None."""
    logger.info(format_metrics(metrics))
    if log_file is not None:
        log_file.parent.mkdir(parents=True, exist_ok=True)
        append_line(log_file, metrics)


def format_metrics(metrics: Mapping[str, Any]) -> str:
    """Metrics as a line to read: "corpus: done in 0.02 s, sentences 314" or "epoch 3: dev F1 88.2, loss 0.31".

    The value of `did` or the counters at the beginning are the heading, a `note` alone is a line of text,
    `seconds` are the duration. Metrics without a value (None, False) are left out.
    """
    rest = dict(metrics)
    if list(rest) == ["note"]:
        return f"note: {rest['note']}"
    heading = [str(rest.pop("did"))] if "did" in rest else []
    parts: list[str] = []
    while rest and (name := next(iter(rest))) in _COUNTERS:
        value = rest.pop(name)
        heading.append(f"{name} {value} of {rest.pop('of')}" if name == "step" and "of" in rest else f"{name} {value}")
    seconds = rest.pop("seconds", None)
    if seconds is not None and "did" in metrics:
        parts.append(f"done in {duration(seconds)}")
    parts += [_metric(name, value) for name, value in rest.items() if value is not None and value is not False]
    if seconds is not None and "did" not in metrics:
        parts.append(duration(seconds))
    return ": ".join(filter(None, (", ".join(heading), ", ".join(parts))))


def duration(seconds: float) -> str:
    """A time as text: 0.02 s, 75 s."""
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


def _metric(name: str, value: Any) -> str:
    """Name and value of a metric as text, numbers with three digits or without a fraction."""
    words = " ".join(_ABBREVIATIONS.get(word, word) for word in name.split("_"))
    if value is True:
        return words
    if isinstance(value, float):
        return f"{words} {value:,.0f}" if abs(value) >= 1000 else f"{words} {value:.3g}"
    return f"{words} {value:,}" if isinstance(value, int) else f"{words} {value}"
