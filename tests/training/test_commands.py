"""python -m training: verify, convert, fit, evaluate, assemble, clean on a few trees, and what bad input
gets.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path

import pytest
import spacy
from spacy.training import Example

import training.data.assemble
from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError
from spacy_dtparse.models import embedded_pipeline
from spacy_dtparse.trees import read_trees
from training.cli import COMMANDS, GROUPS, build_parser, main
from training.data.assemble import assemble, check_size
from training.data.evaluate import evaluate, performance, tag_lists
from training.data.treebanks import (
    TreebankFile,
    catalogue,
    corpus_files,
    parse_weighted_names,
    provenance,
    text_credits,
    training_origin,
)
from training.data.verify import verify

RECIPE = Path(__file__).resolve().parents[2] / "training" / "recipes" / "sample.json"
TREES = [
    "(TOP (S (NP-SBJ (DT The) (NN cat)) (VP (VBD slept)) (. .)))",
    "(TOP (S (NP-SBJ (PRP She)) (VP (VBD saw) (NP (DT a) (NN dog))) (. .)))",
    "(TOP (S (NP-SBJ-1 (DT The) (NN dog)) (VP (VBD tried) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB run)))))))",
    "(TOP (NP (NP (CD 1\\/2)) (PP (IN of) (NP (DT the) (NN cake)))))",
    "(TOP (S (NP (NN Rain)) (VP (VBZ falls) (PP (IN on) (NP (DT the) (NN town)))) (. .)))",
]
SETTINGS = ("min_word_sentences=1", "min_atom_count=1", "n_workers=1", "path.lambda_floor=1")


def fit_arguments(root: Path, *extra: str) -> list[str]:
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    return [
        "train-boosted", "--recipe", str(RECIPE), "--corpus", str(root / "clean"), "--names", "tiny:2",
        "--workdir", str(root / "work"), "--out", str(root / "tiny.model"), *settings, *extra,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A folder with the treebank `tiny`, its cleaned form below `clean`, and a model fitted on it."""
    root = tmp_path_factory.mktemp("bank")
    (root / "tiny").mkdir()
    (root / "tiny" / "train.mrg").write_text("\n".join(TREES * 4) + "\n")
    (root / "tiny" / "dev.mrg").write_text("\n".join(TREES[:2]) + "\n")
    assert main(["convert", str(root), "tiny", "--out", str(root / "clean")]) == 0
    assert main(fit_arguments(root)) == 0
    return root


@pytest.fixture(scope="module")
def tagger(bank):
    """A pipeline that tags every word by a list of one."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    pipe = nlp.add_pipe("tagger")
    for tag in ("DT", "NN"):
        pipe.add_label(tag)
    nlp.initialize()
    nlp.to_disk(bank / "tagger")
    return bank / "tagger"


@pytest.mark.slow
def test_convert_cleans(bank):
    trees = list(read_trees(bank / "clean" / "tiny" / "train.mrg"))
    assert len(trees) == 20
    assert trees[2].words == ("The", "dog", "tried", "to", "run")
    assert trees[2].labels == ("TOP", "S", "NP", "VP", "S", "VP", "VP")
    assert trees[3].words[0] == "1/2"
    assert (bank / "clean" / "tiny" / "dev.spacy").is_file()


def test_train_boosted_writes_a_model_with_its_provenance(bank):
    parser = load_parser(bank / "tiny.model")
    result = parser.parse(("The", "cat", "slept", "."), ("DT", "NN", "VBD", "."))
    assert result.tree.labels[:3] == ("TOP", "S", "NP")
    assert parser.meta["name"] == "dtparse" and parser.meta["lang"] == "en"
    assert parser.meta["treebanks"] == [{"name": "tiny", "sentences": 20, "weight": 2.0, "tags": "gold"}]
    assert parser.meta["fit"]["dev"]["f1"] == 1.0
    assert "not known" in parser.meta["license"]
    assert str(bank) not in json.dumps(parser.meta), "no path of this machine in a model"


def test_train_boosted_resumes(bank, capsys):
    """A finished run is not done again; the same command gives the same bytes."""
    before = (bank / "tiny.model").read_bytes()
    log = (bank / "work" / "path" / "log.jsonl").read_text()
    assert main(fit_arguments(bank)) == 0
    assert (bank / "tiny.model").read_bytes() == before
    assert (bank / "work" / "path" / "log.jsonl").read_text() == log
    assert main(fit_arguments(bank, "--set", "min_atom_count=2")) == 1
    error = capsys.readouterr().err
    assert "other recipe.min_atom_count (was" in error and "give the same ones to resume" in error


def test_verify_reads_unlisted_files(bank, capsys):
    assert main(["verify", str(bank), "tiny"]) == 0
    assert "tiny/train.mrg: 20 trees, readable; no checksum" in capsys.readouterr().out
    assert main(["verify", str(bank), "craft"]) == 1
    assert "has no treebank 'craft'" in capsys.readouterr().err


def test_verify_compares_checksums(tmp_path):
    (tmp_path / "tiny").mkdir()
    path = tmp_path / "tiny" / "train.mrg"
    path.write_text(TREES[0] + "\n")
    data = path.read_bytes()
    entry = {"path": "tiny/train.mrg", "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "trees": 1}
    known = {"tiny": {"files": [entry]}}
    assert [check.problem for check in verify(tmp_path, ["tiny"], known)] == [""]
    path.write_bytes(data.replace(b"cat", b"cow"))
    assert "SHA-256" in verify(tmp_path, ["tiny"], known)[0].problem
    path.write_bytes(data + b"\n")
    assert f"{len(data) + 1} bytes, published are {len(data)}" in verify(tmp_path, ["tiny"], known)[0].problem
    path.unlink()
    assert verify(tmp_path, ["tiny"], known)[0].problem == "missing"


def test_verify_fails_with_an_exit_code(tmp_path, capsys):
    (tmp_path / "genia").mkdir()
    (tmp_path / "genia" / "train.mrg").write_text(TREES[0])
    assert main(["verify", str(tmp_path), "genia"]) == 1
    assert "2 of 2 files failed" in capsys.readouterr().out
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "train.mrg").write_text("(TOP (NP (NN cat))")
    assert main(["verify", str(tmp_path), "broken"]) == 1
    assert "train.mrg" in capsys.readouterr().out


def test_evaluate(bank, capsys):
    source, dev = str(bank / "tiny.model"), bank / "clean" / "tiny" / "dev.mrg"
    (bank / "wrong.tags").write_text("DT NN VBD .\nPRP VBD DT JJ .\n")
    arguments = [f"{dev},tags={bank / 'wrong.tags'}", "--tags", "gold", "predicted", "--budgets", "0", "500"]
    assert main(["evaluate", source, *arguments, "--json", str(bank / "scores.json")]) == 0
    assert capsys.readouterr().out.count("tiny") == 4
    records = json.loads((bank / "scores.json").read_text())
    assert [(r["tags"], r["budget"]) for r in records] == [
        ("gold", 0),
        ("gold", 500),
        ("predicted", 0),
        ("predicted", 500),
    ]
    assert records[0]["all"]["f1"] == 1.0 and records[0]["tag_accuracy"] == 1.0
    assert records[2]["tag_accuracy"] == pytest.approx(8 / 9)
    assert records[0]["greedy_optimal"] is None and records[0]["status"] == {"greedy": 2}
    assert 0 <= records[1]["greedy_optimal"] <= 1
    assert records[1]["scored_per_token"] >= records[0]["scored_per_token"] > 0
    with pytest.raises(ConfigError, match="parser without a tagger"):
        evaluate(bank / "tiny.model", [TreebankFile(dev)], ["predicted"])
    assert performance([{**records[0], "budget": None}]) == {"const_f_tiny_gold": 1.0, "const_f_evalb_tiny_gold": 1.0}


@pytest.mark.slow
def test_assemble(bank, tagger, tmp_path, monkeypatch):
    out = tmp_path / "en_mixed"
    nlp = assemble(tagger, bank / "tiny.model", out, ["genia", "gum:2"], "mixed", "1.2.3")
    assert nlp.pipe_names == ["sentencizer", "tagger", "dtparse"]
    assert nlp.meta["license"] == "not to be published: the terms of tiny are not known", "the parser's treebank"
    assert [source["name"].split()[0] for source in nlp.meta["sources"]] == ["GENIA", "GUM,", "tiny"]
    assert nlp.meta["version"] == "1.2.3"
    assert any("GENIA" in credit for credit in nlp.meta["credits"])
    assert nlp.meta["performance"]["const_f1_fit"] == 1.0
    notice = (out / "LICENSE").read_text()
    assert "Georgetown" in notice and "LICENSE.GENIA.txt" in notice
    assert (out / "LICENSE.GENIA.txt").read_bytes() == (
        RECIPE.parents[2] / "assets" / "licences" / "GENIA.txt"
    ).read_bytes()
    assert str(bank) not in (out / "config.cfg").read_text(), "no path of this machine in a pipeline"
    assert spacy.load(out)("The cat slept.")._.constituents
    assert main(["evaluate", str(out), str(bank / "clean" / "tiny" / "dev.mrg"), "--record"]) == 0
    assert spacy.load(out).meta["performance"]["const_f_tiny_gold"] == 1.0

    again = assemble(tagger, bank / "tiny.model", out, ["sample"], licence="CC BY-SA 4.0")  # over the first
    assert again.meta["license"] == "CC BY-SA 4.0" and not (out / "LICENSE.GENIA.txt").exists()
    assert "https://creativecommons.org/licenses/by-sa/4.0/" in (out / "LICENSE").read_text()
    monkeypatch.setattr(training.data.assemble, "MAX_FILE", 1000)
    with pytest.raises(ConfigError, match="allowed are"):
        check_size(out)


@pytest.mark.slow
def test_assemble_joins_white_space_to_sentences(bank, tagger, tmp_path):
    """Behind a senter stands visible_sentences, once, whatever the tagger's pipeline has."""
    nlp = spacy.load(tagger, exclude=["sentencizer"])
    nlp.add_pipe("senter").initialize(lambda: [Example(nlp.make_doc("Run."), nlp.make_doc("Run."))], nlp=nlp)
    nlp.to_disk(tmp_path / "senter")
    for source, out in (("senter", "once"), ("once", "twice")):
        made = assemble(tmp_path / source, bank / "tiny.model", tmp_path / out, ["sample"])
        assert made.pipe_names == ["tagger", "senter", "visible_sentences", "dtparse"]
        assert all(sent.text.strip() for sent in made("\n Run. \n\n").sents)
    assert [len(tags) for tags in tag_lists(made, [["the", "cat"], ["run"]])] == [2, 1], "lists have no boundaries"
    made.add_pipe("dependency_phrases", config={"spans_key": "by_rule"})
    assert [len(tags) for tags in tag_lists(made, [["the", "cat"]])] == [2], "rules need dependencies"


def test_assemble_refuses(bank, tagger, tmp_path):
    with pytest.raises(ModelFormatError, match="no spaCy pipeline"):
        assemble(tmp_path, bank / "tiny.model", tmp_path / "out", ["sample"])
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("…")
    with pytest.raises(ConfigError, match="would be overwritten"):
        assemble(tagger, bank / "tiny.model", tmp_path / "precious", ["sample"])
    assert (tmp_path / "precious" / "thesis.txt").exists()
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(ModelFormatError, match="has no tagger"):
        assemble(tmp_path / "blank", bank / "tiny.model", tmp_path / "out", ["sample"])


def test_a_pipeline_with_the_english_tagger_has_its_sources_and_credits(bank, tmp_path):
    english = Path(embedded_pipeline())
    about = json.loads((english / "meta.json").read_text(encoding="utf8"))
    nlp = assemble(english, bank / "tiny.model", tmp_path / "out", ["sample"])
    names = [source["name"] for source in nlp.meta["sources"]]
    assert names[0] == "sample treebank of spacy-dtparse" and len(names) == len(set(names))
    assert {source["name"] for source in about["sources"]} < set(names)
    assert set(about["credits"]) <= set(nlp.meta["credits"])
    assert (tmp_path / "out" / "LICENSE.GENIA.txt").is_file()


def test_clean_removes_only_what_is_below_build(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build" / "run" / "fit").mkdir(parents=True)
    (tmp_path / "assets").mkdir()
    assert main(["clean", "build/run"]) == 0 and not (tmp_path / "build" / "run").exists()
    assert main(["clean", "build/run"]) == 0
    for place in ("assets", "build", "build/../assets", "/"):
        assert main(["clean", place]) == 1
        assert "not below build/" in capsys.readouterr().err
    assert (tmp_path / "assets").is_dir()


def test_provenance_is_the_strictest():
    assert provenance(["sample"])["license"] == "CC0 1.0"
    assert provenance(["craft", "sample", "masc"])["license"] == "CC BY 3.0"
    mixed = provenance(["craft", "genia", "masc", "gum"])
    assert mixed["license"] == "CC BY-SA 4.0" and mixed["notices"] == ["licences/GENIA.txt"]
    assert len(mixed["sources"]) == 4 and all(source["url"].startswith("https://") for source in mixed["sources"])
    assert set(catalogue()["craft"]["credits"]) <= set(mixed["credits"])
    assert provenance(["craft", "wsj"])["license"].startswith("not to be published")


def test_trees_of_a_teacher_bring_the_credits_of_their_texts(tmp_path):
    for name, texts in (("craft", None), ("silver", "wiki\nbio.plos\n"), ("unknown", "my.letters\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.mrg").write_text("(TOP (NP (NN test)))\n")
        if texts:
            (tmp_path / name / "train.texts").write_text(texts)
    files = {name: TreebankFile(tmp_path / name / "train.mrg") for name in ("craft", "silver", "unknown")}
    origin = training_origin([files["craft"], files["silver"]])
    assert origin["license"] == "CC BY 3.0" and [source["name"][:5] for source in origin["sources"]] == ["CRAFT"]
    assert origin["credits"] == [*provenance(["craft"])["credits"], *text_credits(["wiki", "bio.plos"])]
    origin = training_origin(list(files.values()))
    assert origin["license"] == "not to be published: see the credits of the raw texts"
    assert origin["credits"][-1] == "Raw text my.letters, whose terms are not known: not to be published"


FIT = ["train-boosted", "--recipe", str(RECIPE), "--workdir", "w", "--out", "o"]
BAD = [
    ([*FIT, "--train", "x", "--recipe", "missing.json"], "cannot read the recipe"),
    (FIT, "no training data"),
    ([*FIT, "--train", "x.mrg"], "no file x.mrg"),
    ([*FIT, "--train", "x,w=2"], "no option of a treebank"),
    ([*FIT, "--train", "x,weight=0"], "above 0"),
    ([*FIT, "--train", "x,limit=a"], "no number"),
    ([*FIT, "--train", "x,block=3/2"], "give K/N or -K/N with K from 1 to N"),
    ([*FIT, "--train", "x,fraction=1.5"], "above 0 and at most 1"),
    ([*FIT, "--train", "empty.mrg"], "no tree in it"),
    ([*FIT, "--train", "bad.mrg"], "bad.mrg:1"),
    (["convert", ".", "nothing", "--out", "o"], "no file"),
    (["evaluate", "missing.model", "x.mrg"], "no model file"),
    (["evaluate", "bad.mrg", "x.mrg"], ""),
    (["evaluate", ".", "x.mrg"], "folder without config.cfg"),
    (["evaluate", "missing.model"], "no files to score on"),
    (["assemble", "--tagger", "no", "--model", "no", "--out", "o", "--names", "sample"], "no spaCy pipeline"),
    (["package", ".", "--out", "o"], "no spaCy pipeline"),
    (["jackknife-tags", "--names", "sample", "--out", "o"], "--names needs --corpus"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_gets_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.mrg").write_text("")
    (tmp_path / "bad.mrg").write_text("(TOP (NP (NN cat)) (VP\n")
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("training: error: ") and message in error
    assert "Traceback" not in error and error.count("\n") == 1


def test_every_command_has_an_example(capsys):
    """The examples of --help can be parsed, and none is left out."""
    parser = build_parser()
    examples = [shlex.split(command.example) for command in COMMANDS.values()]
    assert [words[0] for words in examples] == list(COMMANDS)
    assert {command.group for command in COMMANDS.values()} == set(GROUPS)
    for words in examples:
        assert parser.parse_args(words).command == words[0]
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0 and "Parsers:\n\n  train-span " in shown
    for words in examples:
        assert f"  {words[0]} " in shown and f"      $ python -m training {words[0]} " in shown


def test_the_teachers_commands_are_listed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["teacher", "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for command in ("fit  ", "annotate  ", "retag  ", "evaluate  "):
        assert f"\n    {command}" in shown
    assert "Needs the extra `teacher`" in shown
    with pytest.raises(SystemExit) as ended:
        main(["teacher"])
    listed = "fit|annotate|export|import-model|vectors|trees|fit-tags|retag|evaluate"
    assert ended.value.code == 2 and listed in capsys.readouterr().err


def test_blocks_of_a_treebank():
    sample = RECIPE.parents[2] / "assets" / "sample" / "train.mrg"
    everything = TreebankFile.parse(str(sample)).read()
    second, others = (TreebankFile.parse(f"{sample},block={block}").read() for block in ("2/3", "-2/3"))
    assert second[:20] == everything[10:20] + everything[40:50] and others[:10] == everything[:10]
    assert len(second) + len(others) == len(everything)
    assert TreebankFile.parse(f"{sample},limit=12,block=2/3").read() == second[:12], "the limit is of the block"
    with pytest.raises(TrainingDataError, match="block 50/50 of its 314 trees is empty"):
        TreebankFile.parse(f"{sample},block=50/50").read()


def test_weighted_names():
    assert parse_weighted_names(["craft", "gum:2", "masc:0.5"]) == {"craft": 1.0, "gum": 2.0, "masc": 0.5}
    for names in (["craft", "craft"], ["craft:0"], ["craft:x"], [":2"], ["craft:inf"]):
        with pytest.raises(ConfigError, match="give each one once"):
            parse_weighted_names(names)


def test_corpus_files(bank):
    files = corpus_files(bank / "clean", ["tiny:3"], "train", bank / "tags")
    assert files == [TreebankFile(bank / "clean" / "tiny" / "train.mrg", bank / "tags" / "tiny.train.tags", 3.0)]
    assert corpus_files(bank, ["elsewhere"], "dev") == []
    with pytest.raises(TrainingDataError, match=r"tiny\.train\.tags"):
        files[0].read()
