"""Pipelines in several threads, and in processes started before or after their use, give the same bits."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest

import spacy_dtparse
from spacy_dtparse import parse_docs

from ..documents import ROOT

pytestmark = pytest.mark.embedded
TEXTS = [
    "Hickory, dickory, dock, the mouse ran up the clock.",
    "The tenant shall pay the rent on the first day of each month. No pets are allowed without written consent.",
    "Where did you put the keys that I left on the table?",
    "",
    "Having missed the last train, we slept on a bench in the park; it rained all night.",
    "Never have so many owed so much to so few 🙂 (said the man) ...",
] * 4


@cache
def pipeline(name: str) -> Any:
    """One pipeline for all threads of this process, and for the processes forked from it."""
    return spacy_dtparse.load(name)


def bits(name: str, text: str) -> str:
    """All annotation that the components set; numbers in full precision."""
    doc = pipeline(name)(text)
    spans = [(span.start, span.end, span.label_) for span in doc.spans.get("constituents", [])]
    tokens = [(token.tag_, token.is_sent_start, token.head.i, token.dep_) for token in doc]
    return repr((tokens, spans, getattr(doc.spans.get("constituents"), "attrs", None)))


def all_bits(name: str) -> list[str]:
    return [bits(name, text) for text in TEXTS]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["en_dtparse", "en_span", "en_trees", "en_pcfgla", "en_dtparse_lg", "en_bpm"])
def test_threads_share_a_pipeline(name: str) -> None:
    expected = all_bits(name)
    assert len({*expected}) == len(TEXTS) // 4
    for threads in (2, 8):
        with ThreadPoolExecutor(threads) as pool:
            assert list(pool.map(bits, [name] * len(TEXTS), TEXTS)) == expected
            assert list(pool.map(all_bits, [name] * threads)) == [expected] * threads


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_started_after_use(method: str) -> None:
    """A fork has the used pipeline, as in a server that loads before it forks; other processes load another one."""
    names = ["en_dtparse", "en_span"]
    expected = [all_bits(name) for name in names]
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context(method)) as pool:
        found = list(pool.map(all_bits, names * 3, timeout=120))
    assert found == expected * 3


FORKED_WHILE_BUSY = """
import os, sys, threading, time
from spacy_dtparse import parse_docs
TEXTS = [(k, "The cat sat on the mat, and it slept.") for k in range(400)]
done = [0]
def parse_on():
    while True:
        list(parse_docs(TEXTS))
        done[0] += 1
((_, first, _),) = parse_docs(TEXTS[:1])
wanted = [(s.start, s.end, s.label_) for s in first.spans["constituents"]]
threading.Thread(target=parse_on, daemon=True).start()
while not done[0]:
    time.sleep(0.01)
children = []
for number in range(8):
    time.sleep(0.007 * number)
    child = os.fork()
    if not child:
        ((_, doc, error),) = parse_docs(TEXTS[:1])
        same = [(s.start, s.end, s.label_) for s in doc.spans["constituents"]] == wanted
        os._exit(0 if error is None and wanted and same else 3)
    children.append(child)
end = time.monotonic() + 60
left = set(children)
while left and time.monotonic() < end:
    for child in [*left]:
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            left.discard(child)
            print("ended", os.waitstatus_to_exitcode(status))
    time.sleep(0.05)
for child in left:
    os.kill(child, 9)
    print("hung")
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_fork_while_another_thread_parses() -> None:
    """The fork waits for the locks of that thread."""
    assert [error for _, _, error in parse_docs([(0, "A cat sat.")])] == [None]
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED_WHILE_BUSY], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert ran.stdout.split("\n")[:-1] == ["ended 0"] * 8, (ran.stdout, ran.stderr[-2000:])
