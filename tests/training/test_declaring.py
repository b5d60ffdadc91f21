"""Declared options of commands."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from training.cli import declaring as arg
from training.cli import main


@pytest.mark.parametrize(
    ("declared", "given", "expected"),
    [
        (arg.option("--name", "a name"), [], None),
        (arg.option("--name TEXT", "a name"), ["--name", "x"], "x"),
        (arg.option("--sizes N *", "sizes", type=int), [], []),
        (arg.option("--sizes N *", "sizes", type=int), ["--sizes"], []),
        (arg.option("--sizes N +", "sizes", type=int), ["--sizes", "1", "2"], [1, 2]),
        (arg.option("--sizes +", "sizes", default=[7]), [], [7]),
        (arg.option("--tune BETA *", "betas", default=None), [], None),
        (arg.path("--parser MODEL ?", "a file"), ["--parser"], None),
        (arg.path("files FILE +", "files"), ["a", "b"], [Path("a"), Path("b")]),
        (arg.each("--credit TEXT", "a credit"), ["--credit", "a", "--credit", "b"], ["a", "b"]),
        (arg.number("--n", 3, "a number", minimum=1), [], 3),
    ],
)
def test_the_syntax_of_an_option_is_that_of_its_help(declared: arg.Option, given: list[str], expected: object) -> None:
    parser = argparse.ArgumentParser()
    action = parser.add_argument(declared.name, **declared.kwargs)
    assert getattr(parser.parse_args(given), action.dest) == expected


def test_help_shows_metavars_and_numbers_of_values(capsys: pytest.CaptureFixture, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["adapt", "--help"])
    shown = capsys.readouterr().out
    assert "--text PATH[,wrapped][,spaced] [PATH[,wrapped][,spaced] ...]" in shown
    assert "--betas [BETA ...]" in shown and "--parser [MODEL]" in shown and "--limit N" in shown
