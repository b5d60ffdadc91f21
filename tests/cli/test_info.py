"""dtparse info: short by default, everything with --credits or --json."""

from __future__ import annotations

from spacy_dtparse.cli.info import MODELS_OWN, short_values

from .test_cli import pipeline, rule_parser_loads, run  # noqa: F401 (fixtures)


def test_short_values_leave_out_credits_and_settings_of_training():
    values = {
        "kind": "span", "budget": MODELS_OWN, "credits": ["a", "b"], "sources": [{"name": "A", "url": "…"}],
        "recipe": {"x": 1}, "fit": {}, "labels": ["NP"], "license": "MIT",
        "treebanks": [{"name": "one", "weight": 1}, {"name": "two"}, {"name": "one"}],
    }  # fmt: skip
    assert short_values(values) == {"kind": "span", "labels": ["NP"], "license": "MIT", "treebanks": ["one", "two"]}
    assert short_values({"treebanks": ["one", "two"]}) == {"treebanks": ["one", "two"]}


def test_info_names_the_option_for_the_rest(capsys, pipeline):  # noqa: F811
    code, short, _ = run(capsys, "info", "--pipeline", pipeline)
    assert code == 0 and "spacy-dtparse: " in short and "  kind: " in short
    assert "`dtparse info --credits` also prints" in short
    code, full, _ = run(capsys, "info", "--pipeline", pipeline, "--credits")
    assert code == 0 and "--credits" not in full and len(full.splitlines()) > len(short.splitlines()) - 2
