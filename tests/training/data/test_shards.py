"""Shards of a teacher's span distributions: written, read, retagged, used to train taggers. None of it needs torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.core.parser import ParseResult
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.models import open_parser
from spacy_dtparse.trees import Tree, write_tree
from tests.teacher_shards import CHAINS, LISTS, TAGS, WORDS, MadeDistribution, made_shard, shard_of_trees
from training.cli import main
from training.data.bad_input import input_errors
from training.data.corpus import read_treebank
from training.data.shards import LEVELS, read_shard, retag, save_shard, shard_files
from training.data.tagged_treebanks import Treebank
from training.data.treebanks import TreebankFile
from training.teacher.retagging import RetagTask, TaggerSource, retag_file, retag_tasks
from training.teacher.trees import interpolate, lowest_cost_trees, most_probable_tree, parse_shards, shard_trees

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "assets" / "sample"


def test_a_written_shard_is_read_back(tmp_path: Path) -> None:
    distributions = made_shard(tmp_path / "made.00000.npz")
    shard = read_shard(tmp_path / "made.00000.npz")
    assert shard.chains == CHAINS and shard.tags == LISTS.tags
    assert [s.words for s in shard.sentences] == WORDS and [s.tags for s in shard.sentences] == TAGS
    for sentence, distribution in zip(shard.sentences, distributions, strict=True):
        starts, ends, chains, probs = sentence.distribution
        assert np.stack([starts, ends], axis=1).tolist() == distribution.spans.tolist()
        assert chains.tolist() == distribution.labels.tolist()
        assert np.allclose(probs, distribution.probs, atol=0.5 / LEVELS)
        assert sentence.min_tag_prob == pytest.approx(distribution.tag_probs.min(), abs=0.6 / LEVELS)
    save_shard(tmp_path / "none.npz", LISTS, [], [])
    assert read_shard(tmp_path / "none.npz").sentences == ()


@pytest.mark.slow
def test_reading_shards_needs_no_torch() -> None:
    modules = "training.span_parser.running, training.teacher.retagging, training.data.tagged_treebanks"
    modules += ", training.cli"
    code = f"import sys; sys.modules['torch'] = None; import {modules}; print('imported')\n"
    code += "sys.exit(training.cli.main(['teacher', 'evaluate', 'nothing', '--dev', 'nothing.mrg']))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ended.stdout == "imported\n" and ended.returncode == 1
    assert "training: error: the teacher needs torch, which is not installed (" in ended.stderr
    assert "pip install 'spacy-dtparse[teacher]'" in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "words",
    [(), ("a", ""), ("a", "New York"), ("a", "b\n"), ("a", "b\u2028c"), ("a", "b\x85c"), ("a", "\xa0"), ("a",) * 256],
    ids=lambda words: ascii(words[1:2]),
)
def test_words_that_cannot_be_stored(words: tuple[str, ...], tmp_path: Path) -> None:
    rows = words, ("NN",) * len(words)
    with pytest.raises(TrainingDataError, match=rf"a sentence of {len(words)} words .*: it must have 1 to 255 words"):
        made_shard(tmp_path / "a.npz", [WORDS[0], rows[0]], [TAGS[0], rows[1]])
    assert not list(tmp_path.iterdir())


def test_the_longest_sentence_that_can_be_stored(tmp_path: Path) -> None:
    n = 255
    distribution = MadeDistribution(
        np.array([[0, n], [n - 1, n]]), np.array([3, 65535]), np.ones(2), np.zeros(n, dtype=np.int32), np.ones(n)
    )
    save_shard(tmp_path / "a.npz", LISTS, [("go",) * n], [distribution])
    (sentence,) = read_shard(tmp_path / "a.npz").sentences
    assert len(sentence.words) == n and sentence.min_tag_prob == 1.0
    assert [part.tolist() for part in sentence.distribution] == [[0, n - 1], [n, n], [3, 65535], [1.0, 1.0]]


def test_a_damaged_shard_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "made.00000.npz"
    made_shard(path)
    whole = path.read_bytes()
    at = whole.index(b"Dogs bark")
    for damaged in (b"", b"nothing", whole[:-30], whole[: len(whole) // 2], whole[:at] + b"d" + whole[at + 1 :]):
        path.write_bytes(damaged)
        for use in (read_shard, lambda path: retag(path, tmp_path / "out.npz", TAGS)):
            with pytest.raises(TrainingDataError, match=r"made\.00000\.npz is no readable"):
                use(path)
    np.savez(path, steps=3)
    with pytest.raises(TrainingDataError, match=r"made\.00000\.npz is no readable"):
        read_shard(path)
    with pytest.raises(TrainingDataError, match=r"none\.npz is no readable"):
        read_shard(tmp_path / "none.npz")


def test_shards_by_text(tmp_path: Path) -> None:
    for name in ("b", "a.dialogue"):
        for number in (1, 0):
            made_shard(tmp_path / f"{name}.{number:05d}.npz")
    (tmp_path / "b.00002.npz.tmp").write_bytes(b"")
    found = {name: [path.name for path in paths] for name, paths in shard_files(tmp_path).items()}
    assert found == {name: [f"{name}.00000.npz", f"{name}.00001.npz"] for name in ("a.dialogue", "b")}
    for folder in (tmp_path / "none", tmp_path / "empty"):
        with pytest.raises(TrainingDataError, match="has no shards; write some: python -m training"):
            shard_files(folder)
        folder.mkdir(exist_ok=True)


def test_a_shard_is_tagged_again(tmp_path: Path) -> None:
    path, out = tmp_path / "a.00000.npz", tmp_path / "new" / "a.00000.npz"
    made_shard(path)
    tags = [tuple(f"T{len(word)}" for word in words) for words in WORDS]
    retag(path, out, tags)
    before, after = read_shard(path), read_shard(out)
    assert [s.tags for s in after.sentences] == tags and after.chains == before.chains
    assert all(s.min_tag_prob == 1.0 for s in after.sentences) and list(after.tags) == sorted(set(after.tags))
    for old, new in zip(before.sentences, after.sentences, strict=True):
        assert old.words == new.words
        assert all(np.array_equal(*pair) for pair in zip(old.distribution, new.distribution, strict=True))
    with pytest.raises(TrainingDataError, match=r"18 tags for 19 words; give one for each"):
        retag(path, out, [*tags[:-1], tags[-1][1:]])


def test_taggers_learn_from_shards(tmp_path: Path) -> None:
    folder = tmp_path / "taught"
    for name in ("b", "a"):
        made_shard(folder / f"{name}.00000.npz")
    treebank = Treebank.read(f"{folder}:3")
    assert (treebank.name, treebank.weight, treebank.dev) == ("taught", 3, [])
    assert [(s.words, s.tags) for s in treebank.train] == list(zip(WORDS, TAGS, strict=True)) * 2
    (folder / "train.mrg").write_text("(TOP (NP (NN cat)))\n")
    assert [s.words for s in Treebank.read(str(folder)).train] == [("cat",)], "trees of a folder go before shards"
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"empty has neither train\.mrg nor shards; give"):
        Treebank.read(str(tmp_path / "empty"))


def test_taggers_learn_from_conllu(tmp_path: Path) -> None:
    rows = [(1, "Dogs", "NNS", 2), (2, "bark", "VBP", 0), (3, ".", ".", 2)]
    text = "".join(f"{number}\t{word}\t_\tX\t{tag}\t_\t{head}\tx\t_\t_\n" for number, word, tag, head in rows)
    folder = tmp_path / "ewt"
    folder.mkdir()
    (folder / "en-train.conllu").write_text(f"# text = Dogs bark.\n{text}\n{text}\n")
    treebank = Treebank.read(f"{folder / 'en-train.conllu'}:2")
    assert (treebank.name, treebank.weight, treebank.dev) == ("ewt", 2, [])
    assert [(s.words, s.tags) for s in treebank.train] == [(("Dogs", "bark", "."), ("NNS", "VBP", "."))] * 2
    (folder / "en-dev.conllu").write_text(text)
    assert Treebank.read(str(folder / "en-train.conllu")).dev == treebank.train[:1]
    assert Treebank.read(str(folder / "en-dev.conllu")).dev == [], "it is not read twice"


def test_taggers_need_only_words_and_tags_of_conllu(tmp_path: Path) -> None:
    rows = [(1, "Dogs", "NOUN", "_"), (2, "bark", "VERB", "_")]
    path = tmp_path / "mine" / "my-train.conllu"
    path.parent.mkdir()
    path.write_text("".join(f"{i}\t{word}\t_\t{pos}\t{tag}\t_\t_\t_\t_\t_\n" for i, word, pos, tag in rows))
    (sentence,) = Treebank.read(str(path), "upos").train
    assert (sentence.words, sentence.tags) == (("Dogs", "bark"), ("NOUN", "VERB"))
    with pytest.raises(TrainingDataError, match=r"no token has a tag in column 5 \(XPOS\);.*--tag-column upos"):
        Treebank.read(str(path))
    path.write_text(path.read_text().replace("NOUN\t_", "_\tNNS").replace("VERB\t_", "_\tVBP"))
    assert Treebank.read(str(path)).train[0].tags == ("NNS", "VBP")
    with pytest.raises(TrainingDataError, match=r"no token has a tag in column 4 \(UPOS\);.*--tag-column xpos"):
        Treebank.read(str(path), "upos")
    path.write_text("1\tDogs\n")
    with pytest.raises(TrainingDataError, match=r"my-train\.conllu:1: 2 columns; CoNLL-U has 10"):
        Treebank.read(str(path))


def test_retagging_skips_finished_files(tmp_path: Path) -> None:
    shards, out = tmp_path / "shards", tmp_path / "out"
    for name in ("a", "b"):
        for number in range(3):
            made_shard(shards / f"{name}.{number:05d}.npz")
    trees = tmp_path / "tiny" / "dev.mrg"
    trees.parent.mkdir()
    trees.write_text("(TOP (NP (NN cat)))\n")
    tasks = retag_tasks([shards, trees], out, skip_every=2)
    assert [(task.source.name, task.out.name, task.copy) for task in tasks] == [
        ("a.00000.npz", "a.00000.npz", True),
        ("a.00001.npz", "a.00001.npz", False),
        ("a.00002.npz", "a.00002.npz", True),
        ("b.00000.npz", "b.00000.npz", True),
        ("b.00001.npz", "b.00001.npz", False),
        ("b.00002.npz", "b.00002.npz", True),
        ("dev.mrg", "tiny.dev.tags", False),
    ]
    assert not any(task.copy for task in retag_tasks([shards], out))
    out.mkdir()
    for name in ("a.00001.npz", "tiny.dev.tags"):
        (out / name).write_bytes(b"")
    assert [task.out.name for task in retag_tasks([shards, trees], out)] == [
        "a.00000.npz",
        "a.00002.npz",
        "b.00000.npz",
        "b.00001.npz",
        "b.00002.npz",
    ]
    with pytest.raises(TrainingDataError, match="has no shards"):
        retag_tasks([out.parent / "tiny", tmp_path], out)


def test_trees_in_the_working_directory_are_named_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny").mkdir()
    monkeypatch.chdir(tmp_path / "tiny")
    assert [task.out.name for task in retag_tasks([Path("train.mrg")], Path("out"))] == ["tiny.train.tags"]


def test_a_pipeline_tags_shards_and_trees(nlp, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "nlp")
    tagger, path, out = TaggerSource(str(tmp_path / "nlp")), tmp_path / "a.00000.npz", tmp_path / "out"
    made_shard(path)
    assert retag_file(tagger, "strict", RetagTask(path, out / "kept.npz", copy=True)) == ("", [])
    assert (out / "kept.npz").read_bytes() == path.read_bytes()
    assert retag_file(tagger, "strict", RetagTask(path, out / "a.00000.npz")) == ("", [])
    tagged = read_shard(out / "a.00000.npz").sentences
    assert tagged[0].words == WORDS[0] and tagged[0].tags == ("DT", "NN", "NN", "IN", "DT", "NN", ".")
    (tmp_path / "dev.mrg").write_text("(TOP (NP (DT the) (JJ old) (NN cat)))\n(TOP (NP (NN cat)))\n")
    printed, _ = retag_file(tagger, "strict", RetagTask(tmp_path / "dev.mrg", out / "tiny.dev.tags"))
    assert (out / "tiny.dev.tags").read_text() == "DT NN NN\nNN\n"
    assert printed == f"{out / 'tiny.dev.tags'}: 75.00 % of the tags are correct"


def test_malformed_trees_get_no_tags(nlp, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trees are read in worker processes, which do as --errors says."""
    nlp.to_disk(tmp_path / "nlp")
    (tmp_path / "tiny").mkdir()
    trees, tags = tmp_path / "tiny" / "dev.mrg", tmp_path / "out" / "tiny.dev.tags"
    trees.write_text("(TOP (NP (DT the) (JJ old) (NN cat)))\n(TOP (NP ()))\n(TOP (NP (NN cat)))\n")
    command = ["teacher", "retag", str(trees), "--pipeline", str(tmp_path / "nlp"), "--workers", "1"]
    command += ["--out", str(tmp_path / "out")]
    assert main(command) == 1 and not tags.exists()
    assert "dev.mrg:2:11: '()' has no word" in capsys.readouterr().err
    assert main([*command, "--errors", "skip"]) == 1
    assert tags.read_text() == "DT NN NN\nNN\n"
    assert "training: warning: 1 malformed part of the input was skipped; the first: " in capsys.readouterr().err
    with input_errors("skip"):
        assert [sentence.tags for sentence in read_treebank(trees, tags)] == [("DT", "NN", "NN"), ("NN",)]


@pytest.mark.slow
def test_the_command_tags_again(nlp, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nlp.to_disk(tmp_path / "nlp")
    for number in range(2):
        made_shard(tmp_path / "shards" / f"a.{number:05d}.npz")
    command = ["teacher", "retag", str(tmp_path / "shards"), "--pipeline", str(tmp_path / "nlp"), "--workers", "1"]
    command += ["--skip-every", "2", "--out", str(tmp_path / "out")]
    assert main(command) == 0
    assert "2 of 2" in capsys.readouterr().out
    copied, new = (read_shard(path) for path in shard_files(tmp_path / "out")["a"])
    assert [s.tags for s in copied.sentences] == TAGS and new.sentences[3].tags == ("NN",)
    assert main(command) == 0 and capsys.readouterr().out == "", "nothing is left to do"
    later = (tmp_path / "out" / "a.00001.npz").stat().st_mtime + 1
    os.utime(tmp_path / "shards" / "a.00001.npz", (later, later))
    assert main(command) == 0 and "1 of 1" in capsys.readouterr().out, "what has changed is tagged again"


def test_two_inputs_with_the_same_output_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        made_shard(tmp_path / name / "a.00000.npz")
    made_shard(tmp_path / "two" / "b.00000.npz")
    assert len(retag_tasks([tmp_path / "two"], tmp_path / "out")) == 2
    with pytest.raises(ConfigError, match=r"one.a\.00000\.npz and .*two.a\.00000\.npz would both be written to"):
        retag_tasks([tmp_path / "one", tmp_path / "two"], tmp_path / "out")


def test_the_trees_of_shards(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    sentences = TreebankFile(SAMPLE / "train.mrg", limit=30).read()
    trees = [sentence.tree for sentence in sentences]
    shard_of_trees(tmp_path / "x.00000.npz", sentences)
    assert [tree for tree, _ in shard_trees([tmp_path / "x.00000.npz"])] == trees
    assert all(p == pytest.approx(0.9, abs=0.01) for _, p in shard_trees([tmp_path / "x.00000.npz"]))

    words, tags = ("a", "b", "c"), ("X", "Y", "Z")
    distribution = (
        np.array([0, 0, 1, 0, 0]),
        np.array([3, 2, 3, 3, 1]),
        np.array([1, 2, 3, 4, 3]),
        np.array([0.6, 0.5, 0.4, 0.3, 0.3]),
    )
    chains = ((), ("S",), ("NP",), ("VP",), ("S", "X"))
    found = most_probable_tree(words, tags, distribution, chains)
    assert found == (Tree(words, tags, ("TOP", "S", "NP"), (0, 0, 0), (3, 3, 2)), 0.5)
    assert most_probable_tree(words, tags, distribution, chains, penalty=0.55)[0].labels == ("TOP", "S")
    found = most_probable_tree(words, tags, distribution, chains, penalty=0.2)
    assert found[0].labels == ("TOP", "S", "NP", "VP"), "as long as they do not cross"

    made_shard(tmp_path / "y.00000.npz")
    out = tmp_path / "trees.mrg"
    main(["teacher", "trees", str(tmp_path), "--out", str(out)])
    everything = out.read_text().splitlines()
    assert (tmp_path / "trees.texts").read_text() == "x\ny\n", "the names by which the credits of texts are found"
    assert len(everything) == 30 + len(WORDS) and everything[:30] == [write_tree(tree) for tree in trees]
    main(["teacher", "trees", str(tmp_path), "--min-confidence", "0.89", "--out", str(out)])
    assert 30 <= len(out.read_text().splitlines()) < len(everything)
    assert "35 trees" in capsys.readouterr().out
    assert main(["teacher", "trees", str(tmp_path / "none"), "--out", str(out)]) == 1


class CountingParser:
    """Parses flat; a sentence costs as many times its length as `costs` has next."""

    def __init__(self, costs: list[float]):
        self.costs = iter(costs)

    def parse_batch(self, sentences):
        trees = [Tree(words, tags, ["TOP", "S"], [0, 0], [len(words)] * 2) for words, tags in sentences]
        return [
            ParseResult(tree, (0.0, 0.0), len(tree.words) * cost, "optimal" if cost < 9 else "fallback", 0, 0)
            for tree, cost in zip(trees, self.costs, strict=False)
        ]


def test_the_trees_of_lowest_cost_to_another_parser(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    sentences = TreebankFile(SAMPLE / "train.mrg", limit=12).read()
    for name in ("x", "y"):
        shard_of_trees(tmp_path / f"{name}.00000.npz", sentences)
    shards = [tmp_path / f"{name}.00000.npz" for name in ("x", "y")]
    costs = [*range(1, 9), 9, 9, 1, 1, *[0.5] * 12]
    found = list(parse_shards(shards, CountingParser(costs)))
    assert [(text, cost) for text, _, cost in found] == [
        *(("x", cost) for cost in [*range(1, 9), 1, 1]),
        *[("y", 0.5)] * 12,
    ]
    words = [sentence.tree.words for sentence in sentences]
    half = lowest_cost_trees(found, 0.5)
    assert sorted(tree.words for tree in half) == sorted(words[:3] + words[10:] + words), "five of ten and all equal"
    every = lowest_cost_trees(found, 1.0)
    assert every != [tree for _, tree, _ in found] and len(every) == len(found)
    some = lowest_cost_trees(found, 1.0, max_trees=11)
    assert len(some) == 5 + 6 and some == lowest_cost_trees(found, 1.0, max_trees=11)
    assert some != lowest_cost_trees(found, 1.0, max_trees=11, seed=1)

    out = tmp_path / "trees.mrg"
    command = ["teacher", "trees", str(tmp_path), "--out", str(out)]
    for more in (
        ["--top-fraction", "0.5"],
        ["--parser", "en_span", "--top-fraction", "2"],
        ["--parser", "en_bpm"],
        ["--parser", "en_span", "--min-confidence", "0.5"],
    ):
        assert main([*command, *more]) == 1 and not out.exists(), more
    assert "--top-fraction and --max-trees need --parser" in capsys.readouterr().err


@pytest.mark.embedded
def test_another_parser_finds_the_trees(tmp_path: Path) -> None:
    sentences = TreebankFile(SAMPLE / "train.mrg", limit=12).read()
    for name in ("x", "y"):
        shard_of_trees(tmp_path / f"{name}.00000.npz", sentences)
    out = tmp_path / "trees.mrg"
    command = ["teacher", "trees", str(tmp_path), "--parser", "en_span", "--skip", "y", "--out", str(out)]
    assert main(command) == 0
    parser = open_parser("en_span")
    wanted = [write_tree(parser.parse(s.tree.words, s.tags).tree) for s in sentences]
    assert sorted(out.read_text().splitlines()) == sorted(wanted)
    assert (tmp_path / "trees.texts").read_text() == "x\n"


def test_distributions_are_interpolated_with_those_of_another_parser() -> None:
    chains = ((), ("S",), ("NP",), ("NP", "QP"))
    starts, ends = np.array([0, 0, 0, 1]), np.array([3, 2, 2, 3])
    distribution = starts, ends, np.array([1, 3, 0, 2]), np.array([0.9, 0.5, 0.4, 0.004])
    other = {
        (0, 3, "TOP"): 1.0,
        (0, 3, "S"): 0.5,
        (0, 2, "NP"): 0.8,
        (0, 2, "QP"): 0.2,
        (0, 1, "VP"): 0.9,
        (2, 3, "NP"): 0.6,
    }

    def interpolated_probs(weight: float) -> dict[tuple[int, int, int], float]:
        rows = zip(*(part.tolist() for part in interpolate(distribution, chains, other, weight)), strict=True)
        return {(start, end, label): round(prob, 4) for start, end, label, prob in rows}

    assert interpolated_probs(0.25) == {
        (0, 3, 1): 0.8,
        (0, 2, 3): 0.425,
        (0, 2, 0): 0.3,
        (0, 2, 2): 0.2,
        (2, 3, 2): 0.15,
    }, "NP over QP counts as much as QP; no chain has VP; improbable spans are left out"
    assert interpolated_probs(0) == {(0, 3, 1): 0.9, (0, 2, 3): 0.5, (0, 2, 0): 0.4}
    assert interpolated_probs(1) == {(0, 3, 1): 0.5, (0, 2, 3): 0.2, (0, 2, 2): 0.8, (2, 3, 2): 0.6}
