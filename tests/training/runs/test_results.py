"""Results that are reused, and tables of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from spacy_dtparse.errors import ConfigError
from training.runs.files import read_result, reuse_result
from training.runs.tables import markdown, percent


def test_a_result_is_computed_once_for_the_same_conditions(tmp_path: Path) -> None:
    path, output, computed = tmp_path / "run" / "result.json", tmp_path / "model", []

    def compute(conditions: dict) -> dict:
        computed.append(conditions)
        output.write_text("model")
        return {"f1": 0.5 + len(computed)}

    for n, conditions in enumerate(({"size": 1, "names": ("a", "b")}, {"size": 2, "names": ()}), 1):
        result, is_new = reuse_result(path, conditions, compute, outputs=[output])
        assert is_new and result["f1"] == 0.5 + n and len(computed) == n
        assert reuse_result(path, conditions, compute, outputs=[output]) == (result, False)
        assert read_result(path, "f1") == result
    assert computed[0] == {"size": 1, "names": ["a", "b"]}, "as they are read from the file"
    output.unlink()
    assert reuse_result(path, {"size": 2, "names": ()}, compute, outputs=[output])[1], "its output is lost"
    path.write_text("{")
    with pytest.raises(ConfigError, match="is no readable result"):
        reuse_result(path, {"size": 2}, compute)


def test_an_error_leaves_the_old_result(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    reuse_result(path, {"size": 1}, lambda _: {"f1": 1.0})
    with pytest.raises(ZeroDivisionError):
        reuse_result(path, {"size": 2}, lambda _: {"f1": 1 / 0})
    assert reuse_result(path, {"size": 1}, lambda _: {"f1": 2.0}) == ({"f1": 1.0, "facts": {"size": 1}}, False)


@pytest.mark.parametrize(("left", "line"), [(0, "|---:|---:|"), (1, "|---|---:|"), (2, "|---|---|")])
def test_markdown_aligns_numbers_to_the_right(left: int, line: str) -> None:
    assert markdown(["size", "F1"], [[1, percent(0.5)], ["–", percent(None)]], left).splitlines() == [
        "| size | F1 |",
        line,
        "| 1 | 50.00 |",
        "| – | – |",
    ]
