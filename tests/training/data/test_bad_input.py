"""The option --errors of the trainers' commands: stop at malformed input, or skip and count it."""

from __future__ import annotations

import pytest
import spacy

from spacy_dtparse.errors import ConfigError, TrainingDataError, TreeFormatError
from spacy_dtparse.pipeline.corpus import create_bracket_corpus
from training.cli import main
from training.data.bad_input import input_errors, numbered_lines, read_trees
from training.data.corpus import read_treebank
from training.data.dependencies import read_conllu
from training.data.text import TextFile
from training.spine_tagger.corpus import read_label_file

GOOD = ["(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps))))", "(TOP (S (NP (NNS Dogs)) (VP (VBP bark))))"]
BAD_TREE = "(TOP (S (NP (DT A)) (VP (VBZ) runs)))"


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "mine" / "train.mrg"
    path.parent.mkdir()
    path.write_text("\n".join([GOOD[0], BAD_TREE, GOOD[1]]) + "\n", encoding="utf-8")
    return path


def test_trees_are_skipped_and_counted_once(trees):
    with pytest.raises(TreeFormatError):
        list(read_trees(trees))
    with input_errors("skip") as skipped:
        for _ in range(2):
            assert [tree.words for tree in read_trees(trees)] == [("The", "cat", "sleeps"), ("Dogs", "bark")]
    assert len(skipped) == 1 and ":2:" in next(iter(skipped))
    with pytest.raises(TreeFormatError):
        list(read_trees(trees))  # strict again


@pytest.mark.parametrize(
    ("errors", "expected"), [("skip", ["First.", "Third."]), ("replace", ["First.", "Se\ufffdond.", "Third."])]
)
def test_lines_of_text(tmp_path, errors, expected):
    path = tmp_path / "text.txt"
    path.write_bytes(b"First.\nSe\xffond.\nThird.\n")
    with pytest.raises(TrainingDataError, match="byte 9 is not UTF-8"):
        TextFile(path).paragraphs()
    with input_errors(errors) as skipped:
        assert TextFile(path).paragraphs() == expected
    assert len(skipped) == (errors == "skip")


def row(number, word, head, label="dep"):
    return f"{number}\t{word}\t_\tX\tX\t_\t{head}\t{label}\t_\t_"


@pytest.mark.parametrize(
    "bad",
    [
        [row(1, "a", "x"), row(2, "b", 0)],  # no number
        [row(1, "a", 0), "2\tb\t0"],  # too few columns
        [row(1, "a", 0), row(3, "b", 1)],  # a token is missing
        [row(1, "a", 0), row(2, "b", 0)],  # two roots
    ],
)
def test_sentences_of_a_dependency_treebank(tmp_path, bad):
    sentences = [[row(1, "one", 0), row(2, "two", 1)], bad, [row(1, "three", 0)]]
    path = tmp_path / "train.conllu"
    path.write_text("".join("\n".join(lines) + "\n\n" for lines in sentences), encoding="utf-8")
    with pytest.raises(TrainingDataError, match=r"train\.conllu:[45]"):
        list(read_conllu(path))
    with input_errors("skip") as skipped:
        assert [one.columns.words for one in read_conllu(path)] == [("one", "two"), ("three",)]
    assert len(skipped) == 1


def test_bytes_of_a_dependency_treebank(tmp_path):
    path = tmp_path / "train.conllu"
    path.write_bytes(b"\n\n".join([row(1, "one", 0).encode(), row(1, "?", 0).encode().replace(b"?", b"\xff"), b""]))
    with pytest.raises(TrainingDataError, match="not UTF-8"):
        list(read_conllu(path))
    for errors, expected in (("skip", ["one"]), ("replace", ["one", "\ufffd"])):
        with input_errors(errors):
            assert [word for one in read_conllu(path) for word in one.columns.words] == expected


def test_a_command_says_how_much_it_skipped(trees, tmp_path, capsys):
    arguments = ["convert", str(trees.parent.parent), "mine", "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("training: error: ") and "train.mrg:2:" in captured.err
    assert main([*arguments, "--errors", "skip"]) == 1
    captured = capsys.readouterr()
    assert "mine: 2 train trees" in captured.out
    assert captured.err.startswith("training: warning: 1 malformed part of the input was skipped; the first: ")
    written = (tmp_path / "out" / "mine" / "train.mrg").read_text(encoding="utf-8")
    assert written.splitlines() == GOOD
    trees.write_text("\n".join(GOOD), encoding="utf-8")
    assert main([*arguments, "--errors", "skip"]) == 0 and capsys.readouterr().err == ""


@pytest.mark.parametrize("errors", ["skip", "replace"])
def test_a_file_of_tags_may_have_lines_for_malformed_trees(trees, tmp_path, errors):
    tags = tmp_path / "train.tags"
    for lines in (["DT NN VBZ", "NNS VBP"], ["DT NN VBZ", "DT VBZ", "NNS VBP"]):
        tags.write_text("\n".join(lines) + "\n", encoding="utf-8")
        with input_errors(errors) as skipped:
            sentences = read_treebank(trees, tags)
            first = read_treebank(trees, tags, limit=2)[1]
        assert [sentence.tags for sentence in sentences] == [("DT", "NN", "VBZ"), ("NNS", "VBP")]
        assert first.tags == ("NNS", "VBP") and len(skipped) == 1
    tags.write_text("DT NN VBZ\n", encoding="utf-8")
    with input_errors(errors), pytest.raises(TrainingDataError, match="line 2: 0 tags for the 2 words"):
        read_treebank(trees, tags)


def ud_row(number, word, pos, head, label):
    return f"{number}\t{word}\t_\t{pos}\t_\t_\t{head}\t{label}\t_\t_"


DOGS_BARK = [ud_row(1, "Dogs", "NOUN", 2, "nsubj"), ud_row(2, "bark", "VERB", 0, "root")]


@pytest.mark.parametrize(
    "bad",
    [
        [ud_row(1, "Dogs", "NOUN", "x", "nsubj"), ud_row(2, "bark", "VERB", 0, "root")],
        [ud_row(1, "Dogs", "NOUN", 2, "nsubj"), "2\tbark"],
        [ud_row(2, "bark", "VERB", 0, "root")],
        [ud_row(1, "Do\udcffgs", "NOUN", 2, "nsubj"), ud_row(2, "bark", "VERB", 0, "root")],
    ],
)
def test_convert_skips_sentences_of_conllu(tmp_path, capsys, bad):
    path = tmp_path / "mine" / "train.conllu"
    path.parent.mkdir()
    text = "".join("\n".join(lines) + "\n\n" for lines in (DOGS_BARK, bad, DOGS_BARK))
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    arguments = ["convert", str(tmp_path), "mine", "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    assert "train.conllu:" in capsys.readouterr().err
    assert main([*arguments, "--errors", "skip"]) == 1
    captured = capsys.readouterr()
    assert "mine: 2 train trees" in captured.out and "1 malformed part of the input was skipped" in captured.err
    if "\udcff" in text:
        assert main([*arguments, "--errors", "replace"]) == 0
        assert "\ufffd" in (tmp_path / "out" / "mine" / "train.mrg").read_text(encoding="utf-8")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "latin-1"])
def test_numbered_lines_of_any_encoding(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_bytes("é\r\n\ntwo\n".encode(encoding))
    assert list(numbered_lines(path, encoding)) == [(1, "é"), (2, ""), (3, "two"), (4, "")]
    path.write_bytes("one\n".encode("utf-16-le") + b"\x00\xd8x\x00\n\x00" + "two".encode("utf-16-le"))
    with pytest.raises(TrainingDataError, match=r"a\.txt:2: it has bytes that are not utf-16-le"):
        list(numbered_lines(path, "utf-16-le"))
    with input_errors("skip") as skipped:
        assert list(numbered_lines(path, "utf-16-le")) == [(1, "one"), (2, None), (3, "two")]
    assert len(skipped) == 1
    with pytest.raises(ConfigError, match="the encoding 'klingon' is unknown"):
        list(numbered_lines(path, "klingon"))


LABELS = "The\tDT\tNP\ncat\tNN\tNP\n\n"


@pytest.mark.parametrize("bad", [b"Dogs\tNP\n", b"Dogs\tNNS\tNP\nbark\n", b"Do\xffgs\tNNS\tNP\n", b"a\t\tNP\n"])
def test_sentences_of_labels(tmp_path, bad):
    path = tmp_path / "labels"
    path.write_bytes(LABELS.encode() + bad + b"\n" + LABELS.encode())
    with pytest.raises(TrainingDataError, match=r"labels:[45]: "):
        read_label_file(path)
    with input_errors("skip") as skipped:
        assert [one.words for one in read_label_file(path)] == [("The", "cat"), ("The", "cat")]
    assert len(skipped) == 1


def test_the_corpus_reader_of_spacy(trees):
    nlp = spacy.blank("en")
    with pytest.raises(TreeFormatError):
        list(create_bracket_corpus(trees)(nlp))
    read = create_bracket_corpus(trees, errors="skip")
    with pytest.warns(UserWarning, match="BracketCorpus: 1 malformed tree was skipped; the first: .*:2:"):
        examples = list(read(nlp))
    assert [example.reference.text.strip() for example in examples] == ["The cat sleeps", "Dogs bark"]
    with pytest.raises(ConfigError, match="errors='ignore'; allowed are 'strict', 'skip', 'replace'"):
        create_bracket_corpus(trees, errors="ignore")
