"""Progress of runs: messages of `logging` at level INFO, printed by commands on standard output, and progress bars."""

import logging
import sys
from typing import Any

from tqdm import tqdm  # a dependency of spaCy

PACKAGE = "training"
"""The logger above those of all trainers."""


class _ProgressHandler(logging.Handler):
    """Prints messages at once, on what is standard output at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of a record."""
        print(self.format(record), flush=True)


def is_progress(record: logging.LogRecord) -> bool:
    """Whether a log record is a progress message of the trainers."""
    return record.levelno == logging.INFO and record.name.split(".")[0] == PACKAGE


def show_progress() -> None:
    """Print the progress messages of this process from now on."""
    logger = logging.getLogger(PACKAGE)
    if not is_shown():
        handler = _ProgressHandler()
        handler.addFilter(is_progress)
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def is_shown() -> bool:
    """Whether this process prints progress messages."""
    return any(isinstance(handler, _ProgressHandler) for handler in logging.getLogger(PACKAGE).handlers)


def configure_logging(verbose: bool) -> None:
    """Print progress messages on standard output, warnings on standard error, and other messages if `verbose`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: not is_progress(record))
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(name)s: %(message)s", handlers=[handler]
    )
    show_progress()


def progress_bar(unit: str, name: str, **options: Any) -> tqdm:
    """A progress bar on standard error. `name`: of the activity. Other keyword arguments are those of tqdm."""
    return tqdm(unit=unit, desc=name, **options)
