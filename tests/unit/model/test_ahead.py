"""The kernels that are compiled ahead are those that a parse wants, and one process waits for the other."""

from __future__ import annotations

import os
import subprocess

import pytest

from spacy_dtparse.model import ahead
from spacy_dtparse.parsers.dtree import DtreeParser
from tests.unit.kernels.harness import KERNEL_MARKS, hand_made

pytestmark = KERNEL_MARKS


def signatures() -> list[list]:
    return [list(getattr(kernel, "signatures", [])) for kernel in (*ahead.HERE, *ahead.THERE)]


def test_a_parse_compiles_no_other_variant():
    ahead.compile_share(ahead.HERE)
    ahead.compile_share(ahead.THERE)
    before = signatures()
    DtreeParser(hand_made("shift_reduce", seed=1).model).parse(["a", "cat"], ["DT", "NN"])
    assert signatures() == before


def test_the_shares_are_all_that_is_compiled_ahead():
    assert {*ahead.HERE, *ahead.THERE} == set(ahead._arguments()) and not {*ahead.HERE} & {*ahead.THERE}


def test_waiting_for_the_other_process(monkeypatch):
    ahead.finish_compiling()  # nobody to wait for
    started = []

    class Process:
        def __init__(self, command, **options):
            started.append(command)

        def wait(self, seconds=None):
            started.append(seconds)
            if seconds is not None:
                raise subprocess.TimeoutExpired("x", seconds)

        def kill(self):
            started.append("killed")

    monkeypatch.setattr(ahead.subprocess, "Popen", Process)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert ahead.start_compiling()
    assert "compile_share(THERE)" in started[0][2]
    ahead.finish_compiling()
    assert started[1:] == [ahead._LONGEST, "killed", None]
    ahead.finish_compiling()
    assert len(started) == 4


@pytest.mark.parametrize("processors", [1, None])
def test_one_processor_starts_no_other_process(processors, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert not ahead.start_compiling()
