"""Progress messages: printed by commands, on standard output, also those of worker processes."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from training.runs.processes import map_tasks, optional_pool
from training.runs.progress import is_progress, progress_bar

SCRIPT = """
import logging, sys
from training.runs.processes import worker_pool
from training.runs.progress import configure_logging
def work(n):
    logging.getLogger("training.example").info("message %d of a worker", n)
if __name__ == "__main__":
    configure_logging(verbose="verbose" in sys.argv)
    logging.getLogger("training.example").info("progress")
    logging.getLogger("training.example").warning("a warning")
    logging.getLogger("other").info("for those who ask")
    with worker_pool(1, "spawn") as pool:
        list(pool.map(work, [1, 2]))
"""


@pytest.mark.parametrize("verbose", [False, True])
def test_commands_print_progress_on_standard_output_and_the_rest_on_standard_error(tmp_path, verbose) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    arguments = [sys.executable, str(script), *(["verbose"] if verbose else [])]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines() == ["progress", "message 1 of a worker", "message 2 of a worker"]
    errors = ["training.example: a warning", *(["other: for those who ask"] if verbose else [])]
    assert done.stderr.splitlines() == errors


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        ("training", logging.INFO, True),
        ("training.runs.steps", logging.INFO, True),
        ("training.runs.steps", logging.WARNING, False),
        ("trainings", logging.INFO, False),
        ("spacy", logging.INFO, False),
    ],
)
def test_progress_messages_are_informative_ones_of_the_trainers(name: str, level: int, expected: bool) -> None:
    record = logging.LogRecord(name, level, __file__, 1, "message", None, None)
    assert is_progress(record) is expected


def test_a_bar_counts_units(capsys: pytest.CaptureFixture) -> None:
    with progress_bar(" trees", "growing", total=3) as bar:
        bar.update(3)
    assert "growing" in capsys.readouterr().err and bar.n == 3 and bar.unit == " trees"


def test_one_process_needs_no_pool() -> None:
    with optional_pool(1) as pool:
        assert pool is None and list(map_tasks(pool, divmod, [7, 8], [2, 3])) == [(3, 1), (2, 2)]
    with optional_pool(2) as pool:
        assert pool is not None and list(map_tasks(pool, divmod, [7, 8], [2, 3])) == [(3, 1), (2, 2)]
