"""Dependency treebanks: CoNLL-U, trees of constituents, options of files."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from spacy_dtparse.bpm_parser.features import TokenColumns
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.trees import parse_tree
from spacy_dtparse.trees.heads import COLLINS
from tests.reference.dependencies import is_projective, is_tree
from tests.training.bpm_parser.samples import CONLLU, SAMPLE, sentences
from training.bpm_parser.running import read_treebank_file
from training.data.dependencies import from_tree, read_conllu, tree_problem


def row(number: object, word: str = "a", head: object = 0, label: str = "dep", pos: str = "X") -> str:
    return f"{number}\t{word}\t{word}\t{pos}\tT\t_\t{head}\t{label}\t_\t_\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "some.conllu"
    path.write_bytes(text.encode())
    return path


def test_a_sentence_of_a_file(tmp_path: Path) -> None:
    lines = "# text = Dogs bark\n1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_\n"
    lines += "2\tbark\t_\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No\n3\t_\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_\n"
    (found,) = read_conllu(written(tmp_path, lines))
    assert found.columns == TokenColumns(
        ("Dogs", "bark", "_"), ("NNS", "", "_"), ("NOUN", "VERB", "PUNCT"), ("dog", "", "_")
    )
    assert found.heads == (2, 0, 2) and found.labels == ("nsubj", "root", "punct")
    assert found.punctuation == (False, False, True)


def test_ranges_empty_nodes_comments_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    text = "\n\n# one\n1-2\tab" + "\t_" * 8 + "\n" + row(1) + row(2, head=1) + "# in between\n"
    text += "2.1\tgone" + "\t_" * 8 + "\n" + row(3, head=1) + " \n\n\n# two\n" + row(1, "a\u00a0b c", label="top")
    first, second = read_conllu(written(tmp_path, text))
    assert first.heads == (0, 1, 1)
    assert second.columns.words == ("a_b_c",), "words have no white space"
    assert second.labels == ("root",), "whatever the file calls it"


def test_line_ends_do_not_matter(tmp_path: Path) -> None:
    text = CONLLU.read_text(encoding="utf8")
    windows = list(read_conllu(written(tmp_path, text.replace("\n", "\r\n"))))
    assert windows == sentences() and list(read_conllu(written(tmp_path, text.rstrip()))) == windows


def test_the_sample_covers_its_cases() -> None:
    text, found = CONLLU.read_text(encoding="utf8"), sentences()
    assert len(found) >= 12 and text.count("# text = ") == len(found)
    assert "\n1-2\t" in text and "\n1.1\t" in text
    assert sum(not is_projective((-1, *sentence.heads)) for sentence in found) == 2
    assert len({sentence.columns.words for sentence in found}) == len(found)
    for sentence in found:
        assert all(all(column) and len(column) == len(sentence.heads) for column in sentence.columns[:4])
        for tag, mark in zip(sentence.columns.pos, sentence.punctuation, strict=True):
            assert mark == (tag == "PUNCT")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (row(1) + "\n" + row(1).replace("\t", " "), r"some\.conllu:3: 1 columns; CoNLL-U has 10, separated by tabs"),
        (row(1) + "2\ta\n", r"some\.conllu:2: 2 columns"),
        (row(1) + row(3, head=1), r"some\.conllu:2: token '3', but 2 is expected; is a blank line missing before it\?"),
        (row(1) + row(1), r"some\.conllu:2: token '1', but 2 is expected"),
        ("\n" + row(2), r"some\.conllu:2: token '2', but 1 is expected"),
        (row(1, head="_"), r"some\.conllu:1: the head is '_'; it must be a token's number, or 0 for the root"),
        (row(1, head=-1), r"some\.conllu:1: the head is '-1'"),
        (row(1, head="²"), r"some\.conllu:1: the head is '²'"),
        (row(1) + "\n# x\n" + row(1, head=1), r"some\.conllu:4: in the sentence that begins here, 0 tokens have"),
        (row(1) + row(2) + row(3, head=1), r"some\.conllu:1: in the sentence .* 2 tokens have the head 0; exactly one"),
        (row(1) + row(2, head=9), r"some\.conllu:1: .* token 2 has the head 9; allowed are 0 to 2"),
        (row(1) + row(2, head=3) + row(3, head=2) + "\n", r"some\.conllu:1: .* cycle of heads \(2 -> 3 -> 2\)"),
    ],
)
def test_invalid_conllu_is_reported_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TrainingDataError, match=message):
        list(read_conllu(written(tmp_path, text)))


def test_invalid_utf8_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "some.conllu"
    path.write_bytes(row(1).encode() + b"\n\xff")
    with pytest.raises(TrainingDataError, match=r"some\.conllu:3: this is not UTF-8 \(.* at byte 0"):
        list(read_conllu(path))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_problems_of_trees(n: int) -> None:
    for heads in product(range(n + 1), repeat=n):
        assert (tree_problem(heads) == "") == is_tree((-1, *heads)), heads
    assert "has the head 7; allowed are 0 to 2" in tree_problem([0, 7])
    assert "0 tokens have the head 0" in tree_problem([])
    assert "token 1 is on or below a cycle" in tree_problem([2, 3, 2, 0])


def test_a_constituency_tree_is_converted_to_dependencies() -> None:
    tree = parse_tree("(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))")
    found = from_tree(tree, COLLINS)
    assert found.heads == (2, 3, 0, 3, 6, 4, 3)
    assert found.labels == ("DT<NP", "NP<S", "root", "PP<VP", "DT<NP", "NP<PP", ".<S")
    assert found.punctuation == (*[False] * 6, True)
    assert found.columns == TokenColumns(tree.words, tree.tags)
    tagged = from_tree(tree, COLLINS, ["XX"] * 7)
    assert tagged.columns.tags == ("XX",) * 7 and tagged.labels == found.labels, "labels are of the tree's own tags"
    assert tagged.punctuation == found.punctuation


def test_files_of_either_kind() -> None:
    assert read_treebank_file(str(CONLLU), "en") == sentences()
    found = read_treebank_file(f"{SAMPLE / 'train.mrg'}", "en")
    assert len(found) == 314 and all(is_projective((-1, *sentence.heads)) for sentence in found)
    assert not any(tag == "-NONE-" for sentence in found for tag in sentence.columns.tags)
    assert read_treebank_file(f"{SAMPLE / 'train.mrg'},limit=5", "en") == found[:5]


def test_limits_and_blocks() -> None:
    text, found = str(SAMPLE / "train.mrg"), read_treebank_file(str(SAMPLE / "train.mrg"), "en")
    second, others = (read_treebank_file(f"{text},block={block}", "en") for block in ("2/3", "-2/3"))
    expected = [number for number in range(len(found)) if number // 10 % 3 == 1]
    assert second == [found[number] for number in expected]
    assert others == [sentence for number, sentence in enumerate(found) if number not in set(expected)]
    assert read_treebank_file(f"{text},block=2/3,limit=12", "en") == second[:12], "the limit is of the block"
    parts = [read_treebank_file(f"{text},block={k}/2", "en") for k in (1, 2)]
    assert len(parts[0]) + len(parts[1]) == 314 and read_treebank_file(f"{text},block=1/1", "en") == found


def test_tags_from_a_file(tmp_path: Path) -> None:
    found, tags = sentences(), tmp_path / "tags"
    lines = [" ".join(f"T{k}" for k in range(len(sentence.heads))) for sentence in found]
    tags.write_text("\n".join(lines) + "\n")
    tagged = read_treebank_file(f"{CONLLU},tags={tags}", "en")
    for line, one, other in zip(lines, tagged, found, strict=True):
        assert one == replace(other, columns=other.columns._replace(tags=tuple(line.split())))
    trees_of = read_treebank_file(f"{SAMPLE / 'dev.mrg'}", "en")
    tags.write_text("".join(" ".join(["T"] * len(s.heads)) + "\n" for s in trees_of))
    assert {tag for s in read_treebank_file(f"{SAMPLE / 'dev.mrg'},tags={tags}", "en") for tag in s.columns.tags} == {
        "T"
    }
    tags.write_text("\n".join(lines[:-1]))
    with pytest.raises(TrainingDataError, match=r"tags: 15 lines of tags for 16 sentences; give one for each"):
        read_treebank_file(f"{CONLLU},tags={tags}", "en")
    tags.write_text("\n".join([lines[0], "A B", *lines[2:]]))
    with pytest.raises(TrainingDataError, match=r"tags:2: 2 tags for 8 tokens; give one for each"):
        read_treebank_file(f"{CONLLU},tags={tags}", "en")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("weight=3", "'weight' is no option; allowed are tags=PATH, limit=N, block=K/N"),
        ("limit=-1", "the limit is '-1'; it must be a whole number"),
        ("limit=x", "the limit is 'x'"),
        *((f"block={text}", "give K/N or -K/N with K from 1 to N") for text in ("0/3", "4/3", "1", "1/x", "--1/2", "")),
    ],
)
def test_options_of_files_are_checked(options: str, message: str) -> None:
    for path in (CONLLU, SAMPLE / "dev.mrg"):
        with pytest.raises(ConfigError, match=message):
            read_treebank_file(f"{path},{options}", "en")
