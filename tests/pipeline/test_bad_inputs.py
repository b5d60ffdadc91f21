"""Bad inputs, one row each: the input and the expected result. docs/bad_inputs.md contains this table.

Print it for the document: python -c "from tests.pipeline.test_bad_inputs import table; print(table())"
"""

from __future__ import annotations

import re
import warnings
from functools import partial

import pytest

import spacy_dtparse

from ..documents import ROOT
from .bad_inputs import CASES
from .bad_inputs.cases import Bench, Exits, Raises

NEED_MODEL = ("text", "Doc", "constraints", "model file", "command line")


def table() -> str:
    """The rows of docs/bad_inputs.md."""
    rows = ["| input | kind | result |", "|---|---|---|"]
    rows += [f"| {case.area} | {case.name} | {case.gets} |" for case in CASES]
    return "\n".join(rows)


@pytest.fixture(scope="module")
def pipeline():
    return spacy_dtparse.load()


@pytest.fixture
def bench(tmp_path, request):
    bench = Bench(tmp_path)
    bench.link_model = partial(request.getfixturevalue, "stored_link_model")
    if "embedded" in request.keywords:
        bench.nlp = request.getfixturevalue("pipeline")
    return bench


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=f"{case.area}: {case.name}", marks=[pytest.mark.embedded] if case.area in NEED_MODEL else []
        )
        for case in CASES
    ],
)
def test_each_input_gets_the_result_in_the_table(case, bench, capsys):
    gets = case.gets
    if isinstance(gets, Raises):
        kinds = Exception if isinstance(gets.error, str) else gets.error
        with warnings.catch_warnings(), pytest.raises(kinds, match=re.escape(gets.phrase)) as caught:
            warnings.simplefilter("ignore")
            case.make(bench)
        assert type(caught.value).__name__ == (gets.error if isinstance(gets.error, str) else gets.error.__name__)
    elif isinstance(gets, Exits):
        try:
            code = case.make(bench)
        except SystemExit as stop:
            code = stop.code
        output = capsys.readouterr()
        assert code == gets.code and gets.phrase in output.err and not output.out
        assert "Traceback" not in output.err
    else:
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always")
            result = case.make(bench)
            held = gets.check(result)
        messages = [str(w.message) for w in caught_warnings if w.category is UserWarning]
        assert held
        assert all(gets.warning and gets.warning in message for message in messages), messages
        assert bool(messages) == bool(gets.warning)


def test_the_document_contains_this_table():
    assert len(CASES) == len({(case.area, case.name) for case in CASES}) >= 45
    document = (ROOT / "docs" / "bad_inputs.md").read_text(encoding="utf8")
    assert [line for line in document.splitlines() if line.startswith("|")] == table().splitlines()
