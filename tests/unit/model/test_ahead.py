"""The first parses: kernels are compiled by other processes; what is short is interpreted meanwhile, the rest waits."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.cli import main
from spacy_dtparse.cli.pipelines import model_kind
from spacy_dtparse.kernels import jit, warmup
from spacy_dtparse.kernels.recurrent.units import multiply
from spacy_dtparse.model import ahead
from spacy_dtparse.models import embedded_model
from spacy_dtparse.parsers import load_parser, load_tagger
from spacy_dtparse.parsers.dtree import DtreeParser
from spacy_dtparse.parsers.span import SpanParser
from tests.span_models import SENTENCES, random_model
from tests.unit.kernels.harness import KERNEL_MARKS, hand_made

ROOT = Path(__file__).parents[3]
WORDS, TAGS = ["the", "old", "cat", "sat"], ["DT", "JJ", "NN", "VBD"]


@pytest.fixture
def stamps(tmp_path, monkeypatch):
    """An empty folder for words about parts, where compiled kernels seem to be; and no process is started."""
    (tmp_path / "kernel.nbi").touch()
    started = []
    monkeypatch.setattr(warmup, "_cache_folder", lambda folder: tmp_path)
    monkeypatch.setattr(warmup, "disabled", lambda: False)
    monkeypatch.setattr(ahead, "disabled", lambda: False)
    monkeypatch.setattr(ahead._Kernels, "_start_worker", lambda self, share: started.append(share))
    monkeypatch.setattr(ahead, "_kernels", ahead._Kernels())
    monkeypatch.delenv(ahead.WAIT, raising=False)
    monkeypatch.setattr(ahead, "_processors", lambda: 2)
    return started


def interprets() -> bool:
    return jit._thread.interprets


def parse(kind: str) -> None:
    if kind == "dtree":
        DtreeParser(hand_made("shift_reduce", seed=1).model).parse(["a", "cat"], ["DT", "NN"])
        load_parser(embedded_model("en_dtparse")).parse(["a", "cat"], ["DT", "NN"])
    elif kind == "span":
        SpanParser(random_model(2, layers=3)).parse(*SENTENCES[0])
    else:
        load_tagger(Path(embedded_model("en_span")).parents[1] / "tagger" / "model").tag([["a", "cat"]])


@KERNEL_MARKS[0]
@pytest.mark.parametrize("kind", sorted(ahead.NEEDS))
def test_a_parse_compiles_no_other_variant(kind):
    kernels = [kernel for part in ahead.NEEDS[kind] for kernel in ahead.kernels_of(part)]
    ahead.compile_parts(ahead.NEEDS[kind])
    before = [list(kernel.compiled.signatures) for kernel in kernels if isinstance(kernel, jit.Kernel)]
    parse(kind)
    assert [list(kernel.compiled.signatures) for kernel in kernels if isinstance(kernel, jit.Kernel)] == before


def test_no_kernel_belongs_to_two_parts():
    kernels = [kernel for part in ahead.PARTS for kernel in ahead.kernels_of(part)]
    assert len(kernels) == len({*kernels}) >= 6
    assert {part for needed in ahead.NEEDS.values() for part in needed} == {*ahead.PARTS}


def test_the_kind_is_read_off_the_header(tmp_path):
    (tmp_path / "model").write_bytes(SpanParser(random_model(1)).to_bytes())
    assert model_kind(None, str(tmp_path / "model")) == "span"
    assert model_kind(str(tmp_path), None) == "span"
    assert model_kind(None, str(tmp_path / "none")) is None and model_kind("en_core_web_sm", None) is None
    (tmp_path / "model").write_bytes(b"something else")
    assert model_kind(None, str(tmp_path / "model")) is None


def test_what_is_short_is_interpreted_until_the_kernels_are_there(stamps, caplog):
    caplog.set_level(logging.WARNING, logger="spacy_dtparse")
    with ahead.kernels_for("dtree", 10):
        assert interprets()
        with ahead.kernels_for("other", 10):  # of a kind that is not compiled ahead: as around it
            assert interprets()
    assert not interprets() and stamps == [["search"], ["reader"]]
    with ahead.kernels_for("dtree", 10):
        assert interprets() and len(stamps) == 2
    assert [record.message.split(" (")[0] for record in caplog.records] == [
        "spacy_dtparse compiles its kernels in the background"
    ]
    for part in ahead.NEEDS["dtree"]:
        warmup.PartStamp(part).leave()
    ahead._kernels._next_look = 0.0
    with ahead.kernels_for("dtree", 10):
        assert not interprets()
    with ahead.kernels_for("other", 10):
        assert not interprets()


@pytest.mark.parametrize("tokens, before", [(ahead.SHORT + 1, 0), (10, ahead.MOST)])
def test_what_is_long_waits(stamps, tokens, before, monkeypatch):
    def compiled_meanwhile(seconds):
        warmup.PartStamp("chart").leave()

    monkeypatch.setattr(ahead.time, "sleep", compiled_meanwhile)
    monkeypatch.setattr(ahead.time, "monotonic", iter(range(0, 1000, 5)).__next__)
    ahead._kernels.interpreted = before
    with ahead.kernels_for("span", tokens):
        assert not interprets() and ahead._kernels.ready == {"chart"}


def test_where_nobody_compiles_it_is_done_here(stamps, monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(ahead.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(ahead.time, "sleep", lambda seconds: None)
    with ahead.kernels_for("span", ahead.SHORT + 1):
        assert not interprets()
    assert next(clock) <= 60


def test_nobody_waits_longer_than_a_minute(stamps, monkeypatch):
    clock = iter(range(0, 1000, 7))
    monkeypatch.setattr(ahead.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(ahead.time, "sleep", lambda seconds: warmup.PartStamp("chart").beat())
    with ahead.kernels_for("span", ahead.SHORT + 1):
        assert not interprets() and warmup.PartStamp("chart").is_coming()
    assert next(clock) > 60


@pytest.mark.parametrize(("given", "counted"), [({"affinity": {0, 3}}, 2), ({"count": 4}, 4), ({"count": None}, 1)])
def test_the_processors_of_this_process(given, counted, monkeypatch):
    if "affinity" in given:
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: given["affinity"], raising=False)
    else:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: given["count"])
    assert ahead._processors() == counted


def test_what_another_process_compiles_is_not_started(stamps):
    warmup.PartStamp("search").beat()
    ahead.begin("dtree", "recurrent")
    assert stamps == [["reader", "tagger"]]


def test_one_processor_gets_one_process(stamps, monkeypatch):
    monkeypatch.setattr(ahead, "_processors", lambda: 1)
    ahead.begin("dtree")
    assert stamps == [["search", "reader"]]


def test_the_variable_forbids_it(stamps, monkeypatch):
    monkeypatch.setenv(ahead.WAIT, "1")
    with ahead.kernels_for("dtree", 1):
        assert not interprets() and not stamps


def test_without_a_folder_it_is_said(stamps, monkeypatch, caplog):
    monkeypatch.setattr(ahead, "cache_folder", lambda: None)
    for _ in range(2):
        with ahead.kernels_for("dtree", 1):
            assert not interprets() and not stamps
    assert [record.message[:30] for record in caplog.records] == ["no writable folder for compile"]


def test_words_about_a_part(stamps, tmp_path, monkeypatch):
    stamp = warmup.PartStamp("search")
    assert not stamp.is_compiled() and not stamp.is_coming()
    stamp.beat()
    assert stamp.is_coming() and not stamp.is_compiled()
    os.utime(tmp_path / "search.busy", (1, 1))
    assert not stamp.is_coming()
    stamp.leave(compiled=False)
    assert not (tmp_path / "search.busy").exists() and not stamp.is_compiled()
    stamp.leave()
    assert stamp.is_compiled() and not warmup.PartStamp("reader").is_compiled()
    monkeypatch.setattr(warmup.config, "CPU_NAME", "another")
    assert not warmup.PartStamp("search").is_compiled()
    monkeypatch.setattr(warmup, "_cache_folder", lambda folder: None)
    nowhere = warmup.PartStamp("search")
    nowhere.beat()
    nowhere.leave()
    assert not nowhere.is_compiled() and not nowhere.is_coming()


def test_compiling_leaves_word(stamps, tmp_path, monkeypatch):
    compiled = []
    monkeypatch.setattr(ahead, "kernels_of", lambda part: {part: ("an argument",)})
    monkeypatch.setattr(ahead, "compile_for", lambda *given: compiled.append(given))
    ahead.compile_parts(["chart", "tagger"])
    assert compiled == [("chart", "an argument"), ("tagger", "an argument")]
    assert all(warmup.PartStamp(part).is_compiled() for part in ("chart", "tagger"))

    def fails(*given):
        raise OSError

    monkeypatch.setattr(ahead, "compile_for", fails)
    with pytest.raises(OSError):
        ahead.compile_parts(["search"])
    assert not (tmp_path / "search.busy").exists() and not warmup.PartStamp("search").is_compiled()


@KERNEL_MARKS[0]
def test_interpreted_kernels_find_the_same():
    rng = np.random.default_rng(3)
    left, right = rng.random((5, 12), np.float32), rng.random((12, 7), np.float32)
    products = np.empty((2, 5, 7), np.float32)
    multiply(left, right, products[0])
    with jit.interpreted():
        multiply(left, right, products[1])
    assert np.allclose(*products, rtol=1e-6)
    parser = load_parser(embedded_model("en_dtparse"))
    compiled = parser.parse(WORDS, TAGS)
    with jit.interpreted():
        found = parser.parse(WORDS, TAGS)
    assert (found.tree, found.status) == (compiled.tree, compiled.status)
    assert found.scores == pytest.approx(compiled.scores, rel=1e-4)


@KERNEL_MARKS[0]
def test_nothing_is_compiled_inside(monkeypatch):
    doubled = jit.kernel(lambda x: 2 * x)
    if not isinstance(doubled, jit.Kernel):
        pytest.skip("NUMBA_DISABLE_JIT")
    with jit.interpreted():
        assert doubled(4) == 8 and not doubled.compiled.signatures
        with pytest.raises(TypeError), jit.interpreted():
            doubled(None)
        assert doubled(3) == 6 and not doubled.compiled.signatures
    assert doubled(4) == 8 and len(doubled.compiled.signatures) == 1


def test_warmup_needs_a_folder_and_a_compiler(stamps, monkeypatch, capsys):
    monkeypatch.setattr(warmup, "_cache_folder", lambda folder: None)
    assert main(["warmup"]) == 1 and "NUMBA_CACHE_DIR" in capsys.readouterr().err
    monkeypatch.setattr(warmup, "disabled", lambda: True)
    assert main(["warmup"]) == 1 and "NUMBA_DISABLE_JIT" in capsys.readouterr().err


@pytest.mark.slow
@KERNEL_MARKS[0]
def test_the_first_run_the_next_and_a_warm_image(tmp_path):
    """An empty cache: the first command interprets, warmup waits for what it began, then nothing is compiled."""

    def run(*arguments):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", ahead.WAIT))}
        return subprocess.run(
            [sys.executable, "-m", "spacy_dtparse", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300,
            env={**kept, "NUMBA_CACHE_DIR": str(tmp_path)}, check=True,
        )  # fmt: skip

    first = run("The cat sat on the mat.")
    assert "compiles its kernels in the background" in first.stderr and "(VBD sat)" in first.stdout
    assert not (tmp_path / "search.part").exists()
    assert "en_dtparse: compiled" in run("warmup").stdout
    kernels = {path.name for path in tmp_path.glob("*.nbi")}
    assert {path.stem for path in tmp_path.glob("*.part")} == {*ahead.PARTS}
    second = run("The cat sat on the mat.")
    assert second.stdout == first.stdout and second.stderr == ""
    assert {path.name for path in tmp_path.glob("*.nbi")} == kernels
