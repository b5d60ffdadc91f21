"""The processes that try hostile cases: each way in which a case may end is told apart."""

from __future__ import annotations

import os
import pkgutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spacy_dtparse.errors import ConfigError

from . import kinds
from .cases import Case, all_cases, refused, try_case

ROOT = Path(__file__).parents[2]
BY_COMMAND = {"warmup"}
"""Kinds that only `python -m tests.hostile` tries: they compile for minutes, on a quiet machine."""


def _busy() -> None:
    while True:
        pass


def _large() -> None:
    bytearray(300 * 2**20)[::4096] = b"x" * len(range(0, 300 * 2**20, 4096))


def _wrong() -> None:
    raise ValueError("a reason " * 100)


@pytest.mark.parametrize(
    "call, fault",
    [
        (lambda: None, ""),
        (_wrong, "ValueError: a reason"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "the process ended with SIGSEGV"),
        (lambda: bytearray(2**40), "MemoryError"),
        (_large, "the limit is 100"),
        (_busy, "SIGXCPU"),
    ],
)
def test_outcome(call, fault: str) -> None:
    outcome = try_case(Case("test/case", call, 1, 100))
    assert fault in outcome.fault and bool(outcome.fault) == bool(fault) and len(outcome.fault) < 400, outcome


@pytest.mark.slow
def test_what_waits_ends_with_its_children(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("tests.hostile.cases._WALL_SECONDS", 2)
    child_pid = tmp_path / "pid"

    def start_child() -> None:
        child_pid.write_text(str(subprocess.Popen(["sleep", "60"]).pid))
        time.sleep(60)

    assert "not done after" in try_case(Case("test/children", start_child, 0.05, 100)).fault
    with pytest.raises(ProcessLookupError):
        for _ in range(100):  # until init has collected the child
            os.kill(int(child_pid.read_text()), 0)
            time.sleep(0.05)


def test_refused_wants_one_class_and_a_short_message() -> None:
    def fail(error: Exception) -> None:
        raise error

    assert refused(ConfigError, lambda: fail(ConfigError("k is 0"))) == "k is 0"
    for call in (lambda: 1, lambda: fail(KeyError("k")), lambda: fail(ConfigError("k " * 5000))):
        with pytest.raises(AssertionError):
            refused(ConfigError, call)


@pytest.mark.slow
def test_a_kind_has_its_own_cases_only() -> None:
    """`functions` imports a function of `dependencies`."""
    assert {one.kind for one in all_cases(["functions"])} == {"functions"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({module.name for module in pkgutil.iter_modules(kinds.__path__)} - BY_COMMAND))
def test_all_cases_hold(kind: str) -> None:
    """In a process of its own, whose memory other tests have not filled."""
    command = [sys.executable, "-m", "tests.hostile", "--only", kind, "--verbose"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
