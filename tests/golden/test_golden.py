"""Tests that no result of the project has changed since the golden digests were written; see the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .training_runs import SLOW

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="hours without compiling")


def check(*options: str) -> None:
    """Run the comparison as a command, because matrix products must be limited to one thread before numpy is loaded."""
    command = [sys.executable, "-m", "tests.golden", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, f"{' '.join(command[1:])}\n{done.stdout}{done.stderr[-2000:]}"


@pytest.mark.slow
@pytest.mark.embedded
def test_the_other_groups() -> None:
    check("--fast")


@pytest.mark.slow
@pytest.mark.parametrize("group", SLOW)
def test_slow_groups(group: str) -> None:
    check("--only", group)
