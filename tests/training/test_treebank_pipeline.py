"""From a treebank to a pipeline: `python -m training pipeline`, `learning-curve`, and the project's commands for
them."""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spacy

from training.cli import build_parser, main
from training.cli.treebank_pipeline import curve_table, training_steps
from training.data.sizes import SIZES, sizes_for
from training.runs.steps import Step, Steps

ROOT = Path(__file__).resolve().parents[2]
NOUNS = {"hundur": "hund", "köttur": "kött", "kennari": "kennara", "hestur": "hest", "smiður": "smið", "bóndi": "bónda"}
VERBS = ["sér", "elskar", "finnur", "þekkir", "málar", "eltir"]
SMALL = [
    "--tagger-set",
    "fit.epochs=6",
    "--span-set",
    "epochs=8",
    "--boosted-set",
    "path.lambda_floor=4",
    "--workers",
    "1",
]
"""Settings that only make training shorter."""


def icelandic() -> str:
    """180 sentences of six nouns and six verbs."""
    return "".join(
        f"( (META (ID {subject}{verb}{thing}))\n  (S0 (S-MAIN (IP (NP-SUBJ (no_et_nf_kk {subject.capitalize()}urinn "
        f"(lemma {subject}))) (VP (VP (so_1_þf_fh {verb} (lemma x))) (NP-OBJ (no_et_þf_kk {NOUNS[thing]})))))\n"
        "    (grm .)))\n"
        for subject in NOUNS
        for thing in NOUNS
        if thing != subject
        for verb in VERBS
    )


def test_steps_run_once_and_again_when_something_changes(tmp_path):
    ran: list[str] = []

    def run(arguments: list[str]) -> None:
        ran.append(arguments[0])
        (tmp_path / arguments[0]).write_text("done")

    def go(inputs: str, *arguments: str) -> None:
        ran.clear()
        steps = Steps(tmp_path / "steps.json", inputs, run)
        for argument in arguments:
            name = argument[0]
            (tmp_path / "work" / name).mkdir(parents=True, exist_ok=True)
            steps.do(Step(name, [name, argument], tmp_path / name, tmp_path / "work" / name))

    go("", "a1", "b1", "c1")
    assert ran == ["a", "b", "c"]
    go("", "a1", "b1", "c1")
    assert ran == []
    go("", "a1", "b2", "c1")
    assert ran == ["b", "c"], "c depends on the output of b"
    assert (tmp_path / "work" / "a").is_dir() and not (tmp_path / "work" / "b").is_dir(), "left of other arguments"
    (tmp_path / "c").unlink()
    go("", "a1", "b2", "c1")
    assert ran == ["c"]
    go("other", "a1", "b2", "c1")
    assert ran == ["a", "b", "c"]


def test_printed_steps_can_be_pasted_into_a_shell(tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="training")
    arguments = ["assemble", "--license", "CC BY-SA 4.0", "--names", "it's", "--out", "a b"]
    Steps(tmp_path / "steps.json", "", lambda arguments: None).do(Step("assemble", arguments, tmp_path / "none"))
    (line,) = [record.getMessage() for record in caplog.records if record.getMessage().startswith("$")]
    assert shlex.split(line) == ["$", "python", "-m", "training", *arguments]
    records = json.loads((tmp_path / "steps.json").read_text(encoding="utf8"))
    assert shlex.split(records["assemble"]["command"]) == arguments


def test_options_without_dashes(capsys):
    given = ["pipeline", "x", "--set", "dev=1/10", "span-set=a=b", "--out", "y", "--set", "limit=5", "span-set=c=d"]
    found = build_parser().parse_args(given)
    assert (found.dev, found.span_set, found.limit, str(found.out)) == ("1/10", ["a=b", "c=d"], 5, "y")
    for wrong in ("nothing=1", "set=a", "limit", "limit=few"):
        with pytest.raises(SystemExit):
            main([*given, "--set", wrong])
    assert "'nothing=1' is not NAME=VALUE with an option's name" in capsys.readouterr().err


def test_sizes_grow():
    assert [sizes.words for sizes in SIZES] == sorted(sizes.words for sizes in SIZES)
    assert sizes_for(1) is SIZES[0] and sizes_for(10**9) is SIZES[-1]
    assert "epochs=60" in sizes_for(26_356).span and "epochs=16" in sizes_for(76_666).span, "see docs/languages.md"
    assert "fit.epochs=25" in sizes_for(5_172).tagger, "see docs/tutorial.md, chapter 15"
    assert "fit.epochs=40" in sizes_for(8_730).tagger, "see docs/experiments/training.md, the tagger of small treebanks"
    for sizes in SIZES:
        assert (ROOT / "training" / "recipes" / f"{sizes.recipe}.json").is_file()


@pytest.mark.parametrize(
    ("file", "parser", "words", "seeds"),
    [
        ("train.conllu", "span", 30_000, ["0", "1", "2"]),
        ("train.conllu", "span", 50_000, ["0"]),
        ("train.conllu", "combined", 30_000, ["0"]),
        ("train.mrg", "span", 30_000, ["0"]),
    ],
)
def test_small_treebanks_of_dependencies_get_three_networks_and_relations(tmp_path, file, parser, words, seeds):
    (tmp_path / "corpus" / "x").mkdir(parents=True)
    (tmp_path / "corpus" / "x" / file).touch()

    def seeds_of(*more: str) -> list[str]:
        arguments = arguments_of(*more)
        return arguments[arguments.index("--seeds") + 1 : arguments.index("--workers")]

    def arguments_of(*more: str) -> list[str]:
        given = ["pipeline", "x", "--parser", parser, "--out", "y", *more]
        steps = training_steps(build_parser().parse_args(given), tmp_path, "x", words, None)
        return list(next(step.arguments for step in steps if step.name == "train-span"))

    assert seeds_of() == seeds
    assert seeds_of("--seeds", "7") == ["7"]
    assert ("relation_weight=0.5" in arguments_of()) == (len(seeds) > 1)
    weights = [part for part in arguments_of("--span-set", "relation_weight=0") if part.startswith("relation_weight")]
    assert weights[-1] == "relation_weight=0", "what is given comes last, so it counts"


def test_trees_to_train_on_first_are_given_to_the_span_parser():
    first = ["--pretrain-trees", "a.mrg", "--pretrain-trees", "b.mrg"]
    given = ["pipeline", "x", "--parser", "span", "--out", "y", *first]
    steps = training_steps(build_parser().parse_args(given), Path("y"), "x", 1000, None)
    arguments = next(step.arguments for step in steps if step.name == "train-span")
    at = arguments.index("--pretrain-trees")
    assert arguments[at : at + 4] == first


def test_clusters_are_given_to_taggers_and_span_models(tmp_path, capsys):
    given = ["pipeline", str(ROOT / "assets" / "sample"), "--clusters", "c.txt", "--out", str(tmp_path)]
    for more, wanted in (
        ([], ["jackknife-tags", "train-tagger", "train-span", "jackknife-marginals"]),
        (["--parser", "span", "--tagger", "embedded"], ["train-span"]),
        (["--parser", "boosted"], ["jackknife-tags", "train-tagger"]),
    ):
        steps = training_steps(build_parser().parse_args([*given, *more]), Path("y"), "x", 1000, None)
        assert [step.name for step in steps if "--clusters" in step.arguments] == wanted
    for more in (["--parser", "boosted"], ["--span-model", "en"]):
        assert main([*given, *more, "--tagger", "embedded"]) == 1
        assert "--clusters are for taggers and span models that are trained, but none is" in capsys.readouterr().err


def test_a_note_on_english_models_for_another_language(tmp_path, capsys):
    (tmp_path / "mine").mkdir()  # without trees: the note comes before the first step, which fails
    given = ["pipeline", str(tmp_path / "mine"), "--out", str(tmp_path / "out")]
    both = ["--span-model", "en", "--tagger", "embedded"]
    for lang, models, note in (
        ("is", both, "note: --span-model and --tagger name English models, but --lang is is"),
        ("is", both[:2], "note: --span-model names English models, but --lang is is"),
        ("en", both, ""),
    ):
        assert main([*given, "--lang", lang, *models]) == 1
        printed = capsys.readouterr()
        assert note in printed.out and ("note:" in printed.out) == bool(note)
        assert f"put the trees into {tmp_path / 'mine'}, as train.mrg, train.psd" in printed.err


def test_incompatible_options(tmp_path, capsys):
    mine = [str(ROOT / "assets" / "sample"), "--out", str(tmp_path)]
    assert main(["pipeline", str(tmp_path / "none"), "--out", str(tmp_path)]) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert main(["pipeline", *mine, "--span-model", "en", "--parser", "span"]) == 1
    assert "--span-model is for --parser combined" in capsys.readouterr().err
    assert main(["pipeline", *mine, "--pretrain-trees", "x.mrg"]) == 1
    assert "--pretrain-trees is for --parser span" in capsys.readouterr().err
    figures = {"f1": 0.5, "exact_match": 0.25}
    row = {"reader": "en", "trees": 9, "file": "test.mrg", "tags": "predicted", "all": figures, "evalb": figures}
    assert "50.00    50.00  25.00       -        3" in curve_table([{**row, "tag_accuracy": None, "cpu_seconds": 3.2}])


@pytest.mark.slow
def test_a_pipeline_of_an_icelandic_treebank(tmp_path, monkeypatch, capsys):
    treebank = tmp_path / "mine"
    treebank.mkdir()
    (treebank / "train.psd").write_text(icelandic(), encoding="utf8")
    monkeypatch.chdir(tmp_path)
    scheme = str(ROOT / "training" / "schemes" / "greynir.json")
    command = ["pipeline", "mine", "--lang", "is", "--dev", "1/6", "--scheme", scheme, "--out", "build/mine", *SMALL]
    command += ["--folds", "2", "--license", "CC0 1.0", "--credit", "A. Smiður"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "150 train trees, 30 dev trees" in printed and "\njackknife-marginals: " in printed
    (gold, predicted) = json.loads((tmp_path / "build" / "mine" / "scores.json").read_text())
    assert gold["all"]["f1"] > 0.95 and predicted["all"]["f1"] > 0.9, "six nouns and six verbs are soon learned"

    nlp = spacy.load(tmp_path / "build" / "mine" / "pipeline")
    assert nlp.lang == "is" and nlp.meta["license"] == "CC0 1.0" and nlp.meta["credits"] == ["A. Smiður"]
    (sentence,) = nlp("Hundurinn sér kött.").sents
    assert {token.tag_ for token in sentence} <= {"no_nf", "no_þf", "so_þf", "grm"}
    assert "(NP (no_þf kött))" in sentence._.parse_string
    assert [phrase._.head.text for phrase in sentence._.phrases("NP")] == ["Hundurinn", "kött"]
    assert [chunk.text for chunk in nlp("Hestur elskar smið.").noun_chunks]

    assert main(command) == 0
    assert capsys.readouterr().out.count("done before") == 8, "no step is repeated"


@pytest.mark.slow
@pytest.mark.embedded
def test_the_project_measures_pipelines_of_few_trees(tmp_path):
    """own-few, at a smaller scale; and own with the English span model and the English tagger's tags."""
    for name in ("assets", "training"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "project.yml", tmp_path / "project.yml")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    small = " ".join(f"{name.removeprefix('--')}={value}" for name, value in zip(SMALL[::2], SMALL[1::2], strict=True))

    def run(workflow: str, **variables: str) -> str:
        given = [f"--vars.{name}={value}" for name, value in variables.items()]
        command = [sys.executable, "-m", "spacy", "project", "run", workflow, str(tmp_path), *given]
        done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    printed = run("own-few", run="few", few_sizes="100", few_options=f"{small} folds=2")
    rows = json.loads((tmp_path / "build" / "few" / "curve" / "curve.json").read_text())
    assert {(row["reader"], row["file"], row["tags"]) for row in rows} == {
        (span_model, "test.mrg", tags) for span_model in ("none", "en") for tags in ("gold", "predicted")
    }
    gold = {row["reader"]: row["all"]["f1"] for row in rows if row["tags"] == "gold"}
    without_model, with_model = gold["none"], gold["en"]
    assert with_model > 0.75 > without_model, "the span model is trained on English, whatever the labels"
    assert "the span model replaces unknown tags by known ones" in printed
    given = f"span-model=en tagger=embedded limit=60 {small}"
    run("own", run="mine", treebank="build/treebanks/own", own_options=given)
    nlp = spacy.load(tmp_path / "build" / "mine" / "pipeline")
    assert nlp("She slept.")[1].tag_ == "VBD" and nlp.meta["license"].startswith("not to be published")
