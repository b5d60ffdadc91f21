"""The first parses: other processes compile kernels; meanwhile short input is interpreted and long input waits."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.cli import main
from spacy_dtparse.cli.pipelines import model_kind
from spacy_dtparse.core import load_parser, load_tagger
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.jit import cache_state, decorator, warmup
from spacy_dtparse.models import embedded_model, embedded_tagger
from spacy_dtparse.nn.kernels.products import multiply
from spacy_dtparse.span_parser.parser import SpanParser
from tests.jit.harness import KERNEL_MARKS, hand_made
from tests.span_models import SENTENCES, random_model

ROOT = Path(__file__).parents[2]
WORDS, TAGS = ["the", "old", "cat", "sat"], ["DT", "JJ", "NN", "VBD"]


@pytest.fixture
def stamps(tmp_path, monkeypatch):
    """An empty folder for status files, with compiled kernels simulated and no process started."""
    (tmp_path / "kernel.nbi").touch()
    started = []
    monkeypatch.setattr(cache_state, "find_cache_folder", lambda folder: tmp_path)
    monkeypatch.setattr(cache_state, "is_jit_disabled", lambda: False)
    monkeypatch.setattr(warmup, "is_jit_disabled", lambda: False)
    monkeypatch.setattr(warmup._WarmupState, "_start_worker", lambda self, share: started.append(share))
    monkeypatch.setattr(warmup, "_kernels", warmup._WarmupState())
    monkeypatch.delenv(warmup.WAIT, raising=False)
    monkeypatch.setattr(warmup, "_processors", lambda: 2)
    return started


def interprets() -> bool:
    return decorator._thread.interpreting


def parse(kind: str) -> None:
    if kind == "dtree":
        DtreeParser(hand_made("shift_reduce", seed=1).model).parse(["a", "cat"], ["DT", "NN"])
        load_parser(embedded_model("en_dtparse")).parse(["a", "cat"], ["DT", "NN"])
    elif kind == "span":
        SpanParser(random_model(2, layers=3)).parse(*SENTENCES[0])
    else:
        load_tagger(embedded_tagger()).tag([["a", "cat"]])


@KERNEL_MARKS[0]
@pytest.mark.parametrize("kind", sorted(warmup.NEEDS))
def test_a_parse_compiles_no_other_variant(kind):
    kernels = [kernel for part in warmup.NEEDS[kind] for kernel in warmup.kernels_of(part)]
    warmup.compile_parts(warmup.NEEDS[kind])
    before = [list(kernel.compiled.signatures) for kernel in kernels if isinstance(kernel, decorator.Kernel)]
    parse(kind)
    assert [list(kernel.compiled.signatures) for kernel in kernels if isinstance(kernel, decorator.Kernel)] == before


def test_no_kernel_belongs_to_two_parts():
    kernels = [kernel for part in warmup.PARTS for kernel in warmup.kernels_of(part)]
    assert len(kernels) == len({*kernels}) >= 6
    assert {part for needed in warmup.NEEDS.values() for part in needed} == {*warmup.PARTS}


def test_the_kind_is_in_the_header(tmp_path):
    (tmp_path / "model").write_bytes(SpanParser(random_model(1)).to_bytes())
    assert model_kind(None, str(tmp_path / "model")) == "span"
    assert model_kind(str(tmp_path), None) == "span"
    assert model_kind(None, str(tmp_path / "none")) is None and model_kind("en_core_web_sm", None) is None
    (tmp_path / "model").write_bytes(b"something else")
    assert model_kind(None, str(tmp_path / "model")) is None


def test_short_input_is_interpreted_until_the_kernels_are_compiled(stamps, caplog):
    caplog.set_level(logging.WARNING, logger="spacy_dtparse")
    with warmup.kernels_for("dtree", 10):
        assert interprets()
        with warmup.kernels_for("other", 10):  # a kind without warmup: as outside
            assert interprets()
    assert not interprets() and stamps == [["search"], ["network", "span_model"]]
    with warmup.kernels_for("dtree", 10):
        assert interprets() and len(stamps) == 2
    assert [record.message.split(" (")[0] for record in caplog.records] == [
        "spacy_dtparse compiles its kernels in the background"
    ]
    for part in warmup.NEEDS["dtree"]:
        cache_state.PartStamp(part).release()
    warmup._kernels._next_look = 0.0
    with warmup.kernels_for("dtree", 10):
        assert not interprets()
    with warmup.kernels_for("other", 10):
        assert not interprets()


@pytest.mark.parametrize("tokens, before", [(warmup.SHORT + 1, 0), (10, warmup.MAX_INTERPRETED)])
def test_long_input_waits(stamps, tokens, before, monkeypatch):
    def compiled_meanwhile(seconds):
        for part in warmup.NEEDS["span"]:
            cache_state.PartStamp(part).release()

    monkeypatch.setattr(warmup.time, "sleep", compiled_meanwhile)
    monkeypatch.setattr(warmup.time, "monotonic", iter(range(0, 1000, 5)).__next__)
    warmup._kernels.interpreted = before
    with warmup.kernels_for("span", tokens):
        assert not interprets() and warmup._kernels.ready == {"network", "chart"}


def test_without_another_process_kernels_are_compiled_here(stamps, monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(warmup.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(warmup.time, "sleep", lambda seconds: None)
    with warmup.kernels_for("span", warmup.SHORT + 1):
        assert not interprets()
    assert next(clock) <= 60


def test_nobody_waits_longer_than_a_minute(stamps, monkeypatch):
    clock = iter(range(0, 1000, 7))
    monkeypatch.setattr(warmup.time, "monotonic", lambda: next(clock))
    stamps_of_parts = [cache_state.PartStamp(part) for part in warmup.NEEDS["span"]]
    monkeypatch.setattr(warmup.time, "sleep", lambda seconds: [stamp.beat() for stamp in stamps_of_parts])
    with warmup.kernels_for("span", warmup.SHORT + 1):
        assert not interprets() and cache_state.PartStamp("chart").is_compiling()
    assert next(clock) > 60


@pytest.mark.parametrize(("given", "counted"), [({"affinity": {0, 3}}, 2), ({"count": 4}, 4), ({"count": None}, 1)])
def test_the_processors_of_this_process(given, counted, monkeypatch):
    if "affinity" in given:
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: given["affinity"], raising=False)
    else:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: given["count"])
    assert warmup._processors() == counted


def test_kernels_that_another_process_compiles_are_not_started(stamps):
    cache_state.PartStamp("search").beat()
    warmup.start_compiling("dtree", "recurrent")
    assert stamps == [["network", "span_model", "tagger"]]


def test_one_processor_gets_one_process(stamps, monkeypatch):
    monkeypatch.setattr(warmup, "_processors", lambda: 1)
    warmup.start_compiling("dtree")
    assert stamps == [["search", "network", "span_model"]]


def test_the_environment_variable_disables_it(stamps, monkeypatch):
    monkeypatch.setenv(warmup.WAIT, "1")
    with warmup.kernels_for("dtree", 1):
        assert not interprets() and not stamps


def test_a_missing_folder_is_reported(stamps, monkeypatch, caplog):
    monkeypatch.setattr(warmup, "cache_folder", lambda: None)
    for _ in range(2):
        with warmup.kernels_for("dtree", 1):
            assert not interprets() and not stamps
    assert [record.message[:30] for record in caplog.records] == ["no writable folder for compile"]


def test_status_files_of_a_part(stamps, tmp_path, monkeypatch):
    stamp = cache_state.PartStamp("search")
    assert not stamp.is_compiled() and not stamp.is_compiling()
    stamp.beat()
    assert stamp.is_compiling() and not stamp.is_compiled()
    os.utime(tmp_path / "search.busy", (1, 1))
    assert not stamp.is_compiling()
    stamp.release(compiled=False)
    assert not (tmp_path / "search.busy").exists() and not stamp.is_compiled()
    stamp.release()
    assert stamp.is_compiled() and not cache_state.PartStamp("span_model").is_compiled()
    monkeypatch.setattr(cache_state.config, "CPU_NAME", "another")
    assert not cache_state.PartStamp("search").is_compiled()
    monkeypatch.setattr(cache_state, "find_cache_folder", lambda folder: None)
    nowhere = cache_state.PartStamp("search")
    nowhere.beat()
    nowhere.release()
    assert not nowhere.is_compiled() and not nowhere.is_compiling()


def test_compiling_writes_a_status_file(stamps, tmp_path, monkeypatch):
    compiled = []
    monkeypatch.setattr(warmup, "kernels_of", lambda part: {part: ("an argument",)})
    monkeypatch.setattr(warmup, "compile_for", lambda *given: compiled.append(given))
    warmup.compile_parts(["chart", "tagger"])
    assert compiled == [("chart", "an argument"), ("tagger", "an argument")]
    assert all(cache_state.PartStamp(part).is_compiled() for part in ("chart", "tagger"))

    def fails(*given):
        raise OSError

    monkeypatch.setattr(warmup, "compile_for", fails)
    with pytest.raises(OSError):
        warmup.compile_parts(["search"])
    assert not (tmp_path / "search.busy").exists() and not cache_state.PartStamp("search").is_compiled()


@KERNEL_MARKS[0]
def test_interpreted_kernels_find_the_same():
    rng = np.random.default_rng(3)
    left, right = rng.random((5, 12), np.float32), rng.random((12, 7), np.float32)
    products = np.empty((2, 5, 7), np.float32)
    multiply(left, right, products[0])
    with decorator.interpret_kernels():
        multiply(left, right, products[1])
    assert np.allclose(*products, rtol=1e-6)
    parser = load_parser(embedded_model("en_dtparse"))
    compiled = parser.parse(WORDS, TAGS)
    with decorator.interpret_kernels():
        found = parser.parse(WORDS, TAGS)
    assert (found.tree, found.status) == (compiled.tree, compiled.status)
    assert found.costs == pytest.approx(compiled.costs, rel=1e-4)


@KERNEL_MARKS[0]
def test_workers_compile_nothing_themselves(monkeypatch):
    doubled = decorator.kernel(lambda x: 2 * x)
    if not isinstance(doubled, decorator.Kernel):
        pytest.skip("NUMBA_DISABLE_JIT")
    with decorator.interpret_kernels():
        assert doubled(4) == 8 and not doubled.compiled.signatures
        with pytest.raises(TypeError), decorator.interpret_kernels():
            doubled(None)
        assert doubled(3) == 6 and not doubled.compiled.signatures
    assert doubled(4) == 8 and len(doubled.compiled.signatures) == 1


def test_warmup_needs_a_folder_and_a_compiler(stamps, monkeypatch, capsys):
    monkeypatch.setattr(cache_state, "find_cache_folder", lambda folder: None)
    assert main(["warmup"]) == 1 and "NUMBA_CACHE_DIR" in capsys.readouterr().err
    monkeypatch.setattr(cache_state, "is_jit_disabled", lambda: True)
    assert main(["warmup"]) == 1 and "NUMBA_DISABLE_JIT" in capsys.readouterr().err


@pytest.mark.slow
def test_the_first_run_the_next_and_a_warm_image(tmp_path):
    """An empty cache: the first command interprets, warmup waits for that compilation, then nothing is compiled."""

    def run(*arguments):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", warmup.WAIT))}
        return subprocess.run(
            [sys.executable, "-m", "spacy_dtparse", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
            env={**kept, "NUMBA_CACHE_DIR": str(tmp_path)},
            check=True,
        )

    first = run("The cat sat on the mat.")
    assert "compiles its kernels in the background" in first.stderr and "(VBD sat)" in first.stdout
    assert not (tmp_path / "search.part").exists()
    assert "en_dtparse: compiled" in run("warmup").stdout
    until = time.monotonic() + 240  # the first command's processes also compile what the default pipeline does not need
    while {path.stem for path in tmp_path.glob("*.part")} != {*warmup.PARTS} and time.monotonic() < until:
        time.sleep(1)
    assert {path.stem for path in tmp_path.glob("*.part")} == {*warmup.PARTS}
    kernels = {path.name for path in tmp_path.glob("*.nbi")}
    second = run("The cat sat on the mat.")
    assert second.stdout == first.stdout and second.stderr == ""
    assert {path.name for path in tmp_path.glob("*.nbi")} == kernels
