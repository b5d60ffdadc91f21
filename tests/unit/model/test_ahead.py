"""The kernels that are compiled ahead are those that a parse wants, and one process waits for the other."""

from __future__ import annotations

import os
import subprocess

import pytest

from spacy_dtparse.cli.pipelines import model_kind
from spacy_dtparse.model import ahead
from spacy_dtparse.models import embedded_model
from spacy_dtparse.parsers import load_parser
from spacy_dtparse.parsers.dtree import DtreeParser
from spacy_dtparse.parsers.span import SpanParser
from tests.span_models import SENTENCES, random_model
from tests.unit.kernels.harness import KERNEL_MARKS, hand_made

pytestmark = KERNEL_MARKS


def parse(kind: str) -> None:
    if kind == "dtree":
        DtreeParser(hand_made("shift_reduce", seed=1).model).parse(["a", "cat"], ["DT", "NN"])
        load_parser(embedded_model("en_dtparse")).parse(["a", "cat"], ["DT", "NN"])
    else:
        SpanParser(random_model(2, layers=3)).parse(*SENTENCES[0])


@pytest.mark.parametrize("kind", sorted(ahead.SHARES))
def test_a_parse_compiles_no_other_variant(kind):
    kernels = [*ahead.kernels_of(kind, "HERE"), *ahead.kernels_of(kind, "THERE")]
    ahead.compile_share(kind, "HERE")
    ahead.compile_share(kind, "THERE")
    before = [list(getattr(kernel, "signatures", [])) for kernel in kernels]
    parse(kind)
    assert [list(getattr(kernel, "signatures", [])) for kernel in kernels] == before


@pytest.mark.parametrize("kind", sorted(ahead.SHARES))
def test_the_shares_have_no_kernel_in_common(kind):
    here, there = ({*ahead.kernels_of(kind, share)} for share in ("HERE", "THERE"))
    assert here and there and not here & there


def test_the_kind_is_read_off_the_header(tmp_path):
    (tmp_path / "model").write_bytes(SpanParser(random_model(1)).to_bytes())
    assert model_kind(None, str(tmp_path / "model")) == "span"
    assert model_kind(str(tmp_path), None) == "span"
    assert model_kind(None, str(tmp_path / "none")) is None and model_kind("en_core_web_sm", None) is None
    (tmp_path / "model").write_bytes(b"something else")
    assert model_kind(None, str(tmp_path / "model")) is None


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
    assert ahead.start_compiling("span")
    assert "compile_share('span', 'THERE')" in started[0][2]
    ahead.finish_compiling()
    assert started[1:] == [ahead._LONGEST, "killed", None]
    ahead.finish_compiling()
    assert len(started) == 4


@pytest.mark.parametrize("processors", [1, None])
def test_one_processor_starts_no_other_process(processors, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert not ahead.start_compiling("dtree")
