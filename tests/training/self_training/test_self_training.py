"""Self-training: texts read, hyphens kept, the teacher's trees resumed and chosen, students compared."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import replace
from pathlib import Path

import pytest
import spacy

from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.trees import parse_tree, write_tree
from tests.jit.harness import SLOW
from training.cli import main
from training.data.corpus import read_treebank
from training.data.reading import (
    SentenceSelection,
    TaggedSentence,
    is_language,
    join_hyphens,
    load_tagger,
    select_sentences,
    sentence_key,
)
from training.data.text import TextFile
from training.data.treebanks import TreebankFile
from training.runs.files import save_checkpoint
from training.self_training import silver
from training.self_training.selecting import BIN, Selection, quantiles, select, write_selection
from training.self_training.silver import (
    SilverParsing,
    SilverTree,
    SilverTreebank,
    cost_divisor,
    log_confidence,
    parse_silver,
)
from training.self_training.students import parse_named_file

compiled = pytest.mark.skipif(SLOW, reason="takes long without compiling")
ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "assets" / "sample"
TEXT = """\
The old ferry left the harbour before noon. Nobody on the quay had seen the captain (he was asleep).
A well-known baker sold forty loaves on Monday. She closes her shop at six, and her brother sweeps the floor.

The old ferry left the harbour before noon. Rain fell on the town. We walked home. The dog saw a cat in the garden.
== 12 34 56 == The children found a small blue boat near the bridge. The river was cold. "I like soup," said Tom.
The cook makes soup in the kitchen. The farmers sold their sheep at the market last week. They were happy about it.
"""
DEV = "(TOP (S (NP (NN RAIN)) (VP (VBD fell) (PP (IN on) (NP (DT the) (NN town)))) (. !)))\n"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "tiny.txt"
    path.write_text(TEXT, encoding="utf8")
    return path


def read(nlp, path, **changes):
    return select_sentences(nlp, [TextFile(path)], SentenceSelection(**changes))


def test_a_line_is_a_paragraph(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text("\ufeff  A  b\tc. \n\n``Yes,'' he said .\r\nA two - year plan - B\n", encoding="utf8")
    assert TextFile(path).paragraphs() == ["A b c.", '"Yes," he said .', "A two - year plan - B"]
    assert TextFile.parse(f"{path},spaced").paragraphs()[2] == "A two-year plan-B"


def test_wrapped_lines_are_joined(tmp_path):
    path = tmp_path / "wrapped.txt"
    line = "The committee of the harbour towns met for the first time since"
    path.write_text(f"Heading\n{line}\nlast spring.\n{line}\n\nNext\n{line} May.\nAnother\n{line}\n")
    joined = TextFile.parse(f"{path},wrapped").paragraphs()
    assert joined == ["Heading", f"{line} last spring.", line, "Next", f"{line} May.", "Another", line]


def test_hyphens_are_joined_where_nothing_stands_between():
    words = ["a", "10", "-", "month", "-", "old", "cat", "-", "or", "x", "--", "y", ")", "-", "z", "-"]
    spaces = [True, False, False, False, False, True, True, True, True, False, False, True, False, False, False, False]
    made, kept = join_hyphens(words, spaces)
    assert made == ["a", "10-month-old", "cat", "-", "or", "x", "--", "y", ")", "-", "z", "-"]
    assert kept == [True, True, True, True, True, False, False, True, False, False, False, False]


def test_keys_and_language():
    assert sentence_key(["Rain", "-LRB-", "x"][:1]) == sentence_key(["RAIN", "!"]) == "rain"
    assert sentence_key(["well-known"]) == sentence_key(["well", "-", "known"])
    assert is_language(["Rain", "fell", "."]) and not is_language(["12", "34", "x"])
    assert not is_language(["THE", "END", "."])


def test_sentences_read_and_left_out(nlp, text, tmp_path):
    (tmp_path / "dev.mrg").write_text(DEV)
    sentences, counts = read(nlp, text, max_words=10, exclude=(TreebankFile(tmp_path / "dev.mrg"),))
    assert counts[0]["name"] == "tiny" and counts[0]["paragraphs"] == 5
    dropped = counts[0]["dropped"]
    assert dropped["duplicate"] == 1 and dropped["in_treebank"] == 1 and dropped["long"] >= 3
    assert counts[0]["sentences"] == len(sentences) + sum(dropped.values())
    keys = [sentence_key(s.words) for s in sentences]
    assert "rainfellonthetown" not in keys and len(set(keys)) == len(keys)
    assert all(3 <= len(s.words) == len(s.tags) <= 10 for s in sentences)
    with pytest.raises(ConfigError, match=r"all \d+ sentences of the text were left out"):
        read(nlp, text, min_words=39)


def test_whole_words_get_tags_of_their_own(nlp, text):
    def of(keep):
        found, _ = read(nlp, text, keep_hyphens=keep)
        return next(s for s in found if "baker" in s.words)

    assert of(True).words[1] == "well-known" and of(True).tags[1] == "JJ"
    assert of(False).words[1:4] == ("well", "-", "known") and of(False).tags[2] == "HYPH"


@pytest.mark.parametrize("missing", ["tags", "sentence boundaries"])
def test_pipelines_that_lack_something(missing, text):
    lame = spacy.blank("en")
    if missing == "tags":
        lame.add_pipe("sentencizer")
    with pytest.raises(ConfigError, match=f"sets no {missing}; give one with a tagger"):
        read(lame, text)


def test_bad_texts(nlp, tmp_path):
    with pytest.raises(TrainingDataError, match=r"none\.txt: cannot read the text \(No such file"):
        read(nlp, tmp_path / "none.txt")
    (tmp_path / "empty.txt").write_text(" \n\n")
    with pytest.raises(TrainingDataError, match="no text in it"):
        read(nlp, tmp_path / "empty.txt")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(TrainingDataError, match="byte 3 is not UTF-8"):
        read(nlp, tmp_path / "latin.txt")
    with pytest.raises(ConfigError, match="no text to parse"):
        select_sentences(nlp, [], SentenceSelection())
    with pytest.raises(ConfigError, match="'wrap' is no option of a text; allowed are wrapped, spaced"):
        TextFile.parse("a.txt,wrap")
    with pytest.raises(ModelFormatError, match="as a spaCy pipeline"):
        load_tagger(str(tmp_path / "none"))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: SentenceSelection(min_words=0), "0 to 40 words are required"),
        (lambda: SentenceSelection(min_words=9, max_words=8), "9 to 8 words"),
        (lambda: Selection(keep_fraction=0.0), r"fraction to keep is 0\.0"),
        (lambda: Selection(keep_fraction=1.5), r"fraction to keep is 1\.5; it must be above 0, at most 1"),
        (lambda: Selection(keep_fraction=math.nan), "fraction to keep is nan"),
        (lambda: Selection(min_confidence=-0.1), r"minimum confidence is -0\.1"),
        (lambda: Selection(sizes=(5, 5)), r"sizes are \[5, 5\]"),
        (lambda: parse_named_file("wsj"), "'wsj': give NAME=PATH"),
    ],
)
def test_settings_out_of_range(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def silver_trees(*rows: tuple[int, int, float, str]) -> SilverTreebank:
    """(file, words, confidence as a probability, status) of made-up sentences."""
    sentences, trees = [], []
    for number, (file, n, confidence, status) in enumerate(rows):
        words = tuple(f"w{number}x{k}" for k in range(n))
        sentences.append(TaggedSentence(file, words, ("NN",) * n))
        tree = parse_tree("(TOP (NP " + " ".join(f"(NN {word})" for word in words) + "))")
        trees.append(SilverTree(write_tree(tree), math.log(confidence), status))
    nothing = dict.fromkeys(("short", "long", "no_language", "in_treebank", "duplicate"), 0)
    counts = [{"name": str(k), "sentences": 0, "dropped": nothing} for k in range(1 + max(r[0] for r in rows))]
    return SilverTreebank(sentences, trees, {"teacher": {"file": "made up"}}, counts)


def test_the_most_confident_of_each_length_and_file_are_selected():
    short = [(0, 3, 0.9 - k / 100, "complete") for k in range(10)]
    long = [(0, 3 + BIN, 0.3 - k / 100, "complete") for k in range(4)]
    other = [(1, 3, 0.1, "optimal"), (1, 3, 0.99, "fallback")]
    made = silver_trees(*short, *long, *other)
    kept, dropped = select(made, Selection(keep_fraction=0.5))
    assert kept == [0, 1, 2, 3, 4, 10, 11, 14]
    assert dropped[0] == {"unsure": 7} and dropped[1] == {"incomplete": 1, "unsure": 0}
    kept, _ = select(made, Selection(keep_fraction=1.0, min_confidence=0.85))
    assert kept == [0, 1, 2, 3, 4, 5]
    assert quantiles([3.0, 1.0, 2.0])["50"] == 2.0 and quantiles([3.0, 1.0])["100"] == 3.0


def test_files_of_a_selection(tmp_path):
    made = silver_trees(*[(0, 4, 0.5 + k / 100, "complete") for k in range(12)])
    report = write_selection(made, Selection(keep_fraction=1.0, sizes=(3, 7)), tmp_path)
    whole = (tmp_path / "teacher.mrg").read_text().splitlines()
    assert len(whole) == report["kept"] == 12 and whole != [t.tree for t in made.trees]
    assert sorted(whole) == sorted(t.tree for t in made.trees)
    for size in (3, 7):
        assert (tmp_path / f"teacher.{size}.mrg").read_text().splitlines() == whole[:size]
    found = read_treebank(tmp_path / "teacher.mrg", tmp_path / "teacher.tags")
    assert all(s.tags == ("NN",) * 4 for s in found)
    assert json.loads((tmp_path / "teacher.json").read_text()) == report
    again = write_selection(made, Selection(keep_fraction=1.0, seed=1), tmp_path / "other")
    assert again["kept"] == 12 and (tmp_path / "other" / "teacher.mrg").read_text().splitlines() != whole
    with pytest.raises(TrainingDataError, match="--sizes 13: only 12 trees are selected"):
        write_selection(made, Selection(keep_fraction=1.0, sizes=(2, 13)), tmp_path / "third")
    assert (tmp_path / "third" / "teacher.2.mrg").is_file() and not (tmp_path / "third" / "teacher.13.mrg").exists()
    with pytest.raises(TrainingDataError, match="none of the 12 trees is selected"):
        write_selection(made, Selection(keep_fraction=1.0, min_confidence=1.0), tmp_path)


def test_confidence_is_per_word_and_grammar():
    assert (
        log_confidence(8.0, 2, 4) == -1.0 and log_confidence(-1e-12, 3) == 0.0 and math.isnan(log_confidence(8.0, 2, 0))
    )


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    from training.pcfgla.latent_training import LatentOptions, train_latent

    options = LatentOptions(cycles=1, iterations=4, merge_iterations=2, smooth_iterations=2, seeds=(0, 1))
    path = tmp_path_factory.mktemp("teacher") / "teacher.model"
    parser = PcfgParser(train_latent(read_treebank(SAMPLE / "train.mrg"), options))
    parser.to_disk(path)
    assert cost_divisor(parser) == 2
    return path


def parse_text(teacher, nlp, text, workdir, n_workers=1, **changes):
    reading = SentenceSelection(keep_hyphens=True, **changes)
    return parse_silver(SilverParsing(teacher, (TextFile(text),), reading, workdir, n_workers), nlp)


@pytest.mark.slow
@compiled
def test_resuming_and_workers_change_nothing(teacher, nlp, text, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(silver, "CHUNK", 3)
    caplog.set_level(logging.INFO)
    one = parse_text(teacher, nlp, text, tmp_path / "one")
    lines = list(caplog.messages)
    two = parse_text(teacher, nlp, text, tmp_path / "two", 2)
    assert one == two and len(lines) == 2 + math.ceil(len(one.trees) / 3) and "words/s" in lines[2]
    paths = sorted((tmp_path / "one" / "chunks").iterdir())
    first = [path.read_bytes() for path in paths]
    (tmp_path / "one" / "chunks" / "000001.json").unlink()
    caplog.clear()
    again = parse_text(teacher, nlp, text, tmp_path / "one")
    assert again == one and len(caplog.messages) == 2 and [path.read_bytes() for path in paths] == first
    for sentence, made in zip(one.sentences, one.trees, strict=True):
        tree = parse_tree(made.tree)
        assert len(tree.words) == len(sentence.words) and made.confidence <= 0.0 and tree.tags == sentence.tags
    assert any("-LRB-" in made.tree for made in one.trees)
    with pytest.raises(TrainingDataError, match=r"a run with other max_words \(was 40, now 39\); give the same"):
        parse_text(teacher, nlp, text, tmp_path / "one", max_words=39)
    save_checkpoint(paths[0], {"trees": []})
    with pytest.raises(TrainingDataError, match="does not have the trees of 3 sentences"):
        parse_text(teacher, nlp, text, tmp_path / "one")
    paths[0].write_text("[")
    with pytest.raises(TrainingDataError, match="is damaged"):
        parse_text(teacher, nlp, text, tmp_path / "one")


def test_bad_teachers(nlp, text, tmp_path):
    with pytest.raises(TrainingDataError, match=r"none\.model: cannot read the source parser \(No such file"):
        parse_text(tmp_path / "none.model", nlp, text, tmp_path / "work")
    with pytest.raises(ConfigError, match="0 workers; give 1 or more"):
        parse_text(tmp_path / "none.model", nlp, text, tmp_path / "work", 0)


@pytest.mark.slow
@compiled
def test_a_teacher_without_confidence(teacher, nlp, text, tmp_path):
    """A grammar without latent annotations can parse text if no confidence is needed."""
    model = PcfgParser.from_disk(teacher).model
    plain = PcfgParser(replace(model, latent=(), pruners=()))
    assert cost_divisor(plain) == 0
    plain.to_disk(tmp_path / "plain.model")
    with pytest.raises(ConfigError, match="PCFG without latent annotations, whose costs give no confidence"):
        parse_text(tmp_path / "plain.model", nlp, text, tmp_path / "work")
    arguments = tmp_path / "plain.model", (TextFile(text),), SentenceSelection(), tmp_path / "work", 1
    parsing = SilverParsing(*arguments, allow_unknown_confidence=True)
    silver_trees = parse_silver(parsing, nlp)
    assert silver_trees.trees and all(math.isnan(made.confidence) for made in silver_trees.trees)
    again = [made.tree for made in parse_silver(parsing, nlp).trees]
    assert again == [made.tree for made in silver_trees.trees], "read from the folder"


@pytest.mark.slow
@compiled
def test_the_commands(teacher, nlp, text, tmp_path, capsys):
    nlp.to_disk(tmp_path / "nlp")
    (tmp_path / "dev.mrg").write_text(DEV)
    out = tmp_path / "lesson"
    command = [
        "self-train", "--teacher", str(teacher), "--text", str(text), "--pipeline", str(tmp_path / "nlp"),
        "--exclude", str(tmp_path / "dev.mrg"), "--workers", "1", "--workdir", str(tmp_path / "work"),
        "--out", str(out),
    ]  # fmt: skip
    assert main([*command, "--keep-fraction", "1", "--sizes", "4"]) == 0
    printed = capsys.readouterr().out
    assert "words to parse" in printed and "tiny: 1" in printed and "in_treebank 1" in printed
    assert "town" not in (out / "teacher.mrg").read_text()
    report = json.loads((out / "teacher.json").read_text())
    assert report["files"][0]["kept"] == report["kept"] > 4 and report["teacher"]["file"] == "teacher.model"
    assert main([*command, "--keep-fraction", "2"]) == 1
    assert "it must be above 0, at most 1 (--keep-fraction)" in capsys.readouterr().err

    students = tmp_path / "students"
    own = f"own={out / 'teacher.4.mrg'},tags={out / 'teacher.4.tags'}"
    compare = [
        "self-train-compare", str(out), "--recipe", str(ROOT / "training" / "recipes" / "sample.json"),
        "--train", f"{SAMPLE / 'train.mrg'},limit=60", "--dev", f"{SAMPLE / 'dev.mrg'},limit=20",
        "--evaluate", f"sample={SAMPLE / 'dev.mrg'},limit=20", own,
        "--set", "path.lambda_floor=4", "n_workers=1", "filter_bits=12", "--minutes", "5", "--out", str(students),
    ]  # fmt: skip
    assert main([*compare, "--sizes", "0", "4"]) == 0
    printed = capsys.readouterr().out
    shown = (students / "table.md").read_text()
    assert shown in printed and "sample, gold tags | own, gold tags | own, predicted tags" in shown
    rows = shown.splitlines()
    assert len(rows) == 4 and len({row.count("|") for row in rows}) == 1 and rows[3].startswith("| 4 | 1 |")
    results = [json.loads((students / size / "result.json").read_text()) for size in ("0", "4")]
    assert [r["sentences"] for r in results] == [[60], [60, 4]] and results[0]["parameters"] > 0
    assert [record["budget"] for record in results[0]["scores"]["own"]] == [None, 0, None, 0]
    assert main([*compare, "--sizes", "0", "4"]) == 0
    assert "student with" not in capsys.readouterr().out
    assert [json.loads((students / size / "result.json").read_text()) for size in ("0", "4")] == results
    model = (students / "0.model").read_bytes()
    assert main([*compare, "--sizes", "0", "--evaluate", f"other={SAMPLE / 'dev.mrg'},limit=5"]) == 0
    assert "| other, gold tags |" in capsys.readouterr().out and (students / "0.model").read_bytes() == model
    for extra, message in (
        (["--sizes", "0", "400"], "trees, not 400"),
        (["--sizes", "4", "--teacher-weight", "0"], "the teacher_weight is 0.0; it must be above 0"),
        (["--sizes", "4", "4"], "give different whole numbers from 0"),
    ):
        assert main([*compare, *extra]) == 1
        assert message in capsys.readouterr().err


def test_weights_of_the_teachers_trees(tmp_path):
    from training.dtparse.recipe import FitRecipe
    from training.self_training.students import Experiment

    made = silver_trees(*[(0, 4, 0.5, "complete") for _ in range(12)])
    write_selection(made, Selection(keep_fraction=1.0), tmp_path)
    own = TreebankFile(tmp_path / "own.mrg")
    own.path.write_text(DEV)
    experiment = Experiment(FitRecipe(), tmp_path, (0, 1, 12), (own,), (), {"own": own}, tmp_path / "out")
    assert experiment.student_files(0) == [own]
    assert experiment.student_files(1)[1].weight == 1.0
    assert experiment.student_files(12)[1].weight == pytest.approx(6 / 48, abs=1e-6)
    assert replace(experiment, teacher_weight=2.0).student_files(12)[1].weight == pytest.approx(12 / 48, abs=1e-6)
    assert replace(experiment, weight=0.3).student_files(12)[1].weight == 0.3
