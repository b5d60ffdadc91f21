"""The code on the pages of measures and wishes runs, and prints what the pages show."""

from __future__ import annotations

import re

import pytest

from ..documents import ROOT, blocks, run_python

pytestmark = pytest.mark.embedded


def test_the_page_of_measures(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    page = "docs/measures.md"
    namespace: dict = {}
    for block in blocks(page, "python"):
        run_python(block, page, namespace)
    printed = capsys.readouterr().out
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf8"), re.DOTALL | re.MULTILINE)
    shown = [text for language, text in fences if not language]
    assert len(shown) == 3
    for text in shown:
        assert text in printed, text


def test_the_page_of_wishes():
    pytest.importorskip("nltk")
    page = "docs/wishes.md"
    namespace: dict = {}
    for block in blocks(page, "python"):
        run_python(block, page, namespace)
    codes = re.findall(r"^\|.*\| `([^`]+)` \|$", (ROOT / page).read_text(encoding="utf8"), re.MULTILINE)
    assert len(codes) >= 20
    for code in codes:
        value = eval(compile(code, page, "eval"), namespace)
        assert value is True or value is None or (value and not isinstance(value, bool)), code
