"""Distillation of span parsers from a teacher's shards: examples, and runs with them. None of it needs torch."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.span_parser.features import WordParts
from spacy_dtparse.span_parser.kernels.chart import tree_posteriors
from spacy_dtparse.text import normal_word
from tests.span_models import SENTENCES, count_parts
from tests.teacher_shards import TAGS, WORDS, MadeDistribution, made_shard, shard_of_trees
from training.cli import main
from training.data.kernels import fit_scores, score_matrix
from training.data.spans import chain_ids, make_example
from training.data.treebanks import TreebankFile
from training.span_parser.distillation import ConcatExamples, DistillationSet, count_shard_words
from training.span_parser.fitting import SpanOptions, make_training_data, run_conditions, train_network
from training.span_parser.network import Shape

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "assets" / "sample"
STUDENT = chain_ids([(), ("S",), ("NP",), ("VP",)])
OF_STUDENT = {0: 0, 1: 2, 2: 3, 3: 1, 4: 1, 5: 0}
"""Ids of CHAINS among STUDENT: FRAG is removed from above S, X is not known."""


def plain_example(
    words, tags, held: MadeDistribution, parts: WordParts, counts: Counter[str], word_dropout: float
) -> dict:
    """Reference implementation of the example that DistillationSet makes of a sentence."""

    def hidden(count: int) -> float:
        return word_dropout / (word_dropout + count) if word_dropout else 0.0

    n = len(words)
    rows = list(zip(held.spans.tolist(), held.labels.tolist(), held.probs.tolist(), strict=True))
    posteriors: dict[tuple[int, int], float] = {}
    for (start, end), _, prob in rows:
        if end - start > 1:
            posteriors[start, end] = posteriors.get((start, end), 0.0) + round(prob * 255) / 255
    marginals = np.zeros((n + 1, n + 1))
    for span, posterior in plain_fit(posteriors, n).items():
        marginals[span] = posterior
    return {
        "rows": parts.encode(words, tags).tolist(),
        "rare": [0.0, *(hidden(counts[normal_word(word)]) for word in words), 0.0],
        "spans": [span for span, _, _ in rows],
        "labels": [OF_STUDENT[label] for _, label, _ in rows],
        "span_weights": [prob for _, _, prob in rows],
        "marginals": marginals,
    }


def plain_fit(posteriors: dict[tuple[int, int], float], n: int) -> dict[tuple[int, int], float]:
    """Reference implementation of `fit_scores`, by listing all trees: posteriors under the fitted distribution."""
    trees = binary_trees(0, n)
    scores = {span: math.log(max(posterior, 1e-3)) for span, posterior in posteriors.items()}
    for turn in range(11):
        weights = [math.exp(sum(scores.get(span, math.log(1e-3)) for span in tree)) for tree in trees]
        found: Counter[tuple[int, int]] = Counter()
        for tree, weight in zip(trees, weights, strict=True):
            for span in tree:
                found[span] += weight / sum(weights)
        if turn < 10:
            for span, posterior in posteriors.items():
                scores[span] += 0.3 * math.log((posterior + 1e-3) / (found[span] + 1e-3))
    return dict(found)


def binary_trees(start: int, end: int) -> list[list[tuple[int, int]]]:
    """The spans of two or more tokens of every binary tree over [start, end)."""
    if end - start < 2:
        return [[]]
    return [
        [(start, end), *left, *right]
        for middle in range(start + 1, end)
        for left in binary_trees(start, middle)
        for right in binary_trees(middle, end)
    ]


def test_a_fitted_distribution_has_the_posteriors_of_a_real_one() -> None:
    rng = np.random.default_rng(5)
    for n in (3, 6):
        trees = binary_trees(0, n)
        probs = rng.dirichlet(np.full(len(trees), 0.05))
        posteriors: Counter[tuple[int, int]] = Counter()
        for tree, prob in zip(trees, probs, strict=True):
            for span in tree:
                posteriors[span] += prob
        listed = {span: posterior for span, posterior in posteriors.items() if posterior >= 0.02}
        spans, span_probs = np.array(list(listed), dtype=np.int32), np.array(list(listed.values()))
        _, found = tree_posteriors(score_matrix(spans, fit_scores(spans, span_probs, n), n))
        assert max(abs(found[span] - posterior) for span, posterior in listed.items()) < 0.06
        assert found.sum() == pytest.approx(n - 1), "posteriors of binary trees, which the teacher's rounded are not"


@pytest.mark.parametrize("word_dropout", [0.0, 0.8])
def test_examples_are_those_of_the_reference_implementation(word_dropout: float, tmp_path: Path) -> None:
    paths = [tmp_path / "a.00000.npz", tmp_path / "a.00001.npz"]
    distributions = [*made_shard(paths[0]), *made_shard(paths[1], seed=1)]
    rows = list(zip(WORDS * 2, TAGS * 2, distributions, strict=True))
    parts, counts = WordParts.build(count_parts(SENTENCES), 1, 1), Counter({"the": 3, "dogs": 1})
    found = DistillationSet(paths, parts, STUDENT, counts, word_dropout, 5, 0.7)
    expected = [plain_example(*row, parts, counts, word_dropout) for row in rows if len(row[0]) <= 5]
    assert len(found) == len(expected) == 8, "the sentence of seven words is left out, in both shards"
    assert found.rows.tolist() == [len(wanted["rows"]) for wanted in expected]
    for example, wanted in zip(found, expected, strict=True):
        n = example.n_tokens
        assert example.crossing is None and example.marginals is not None and example.weight == 0.7
        for name in ("rows", "spans", "labels"):
            assert getattr(example, name).tolist() == wanted[name], name
        assert np.allclose(example.span_weights, wanted["span_weights"], atol=1e-6)
        assert np.allclose(example.rare, wanted["rare"], atol=1e-3)
        assert example.marginals.shape == (n + 1, n + 1)
        assert np.allclose(example.marginals, wanted["marginals"], atol=2e-3)


def test_examples_have_the_types_of_a_treebanks(tmp_path: Path) -> None:
    made_shard(tmp_path / "a.npz")
    sentence = TreebankFile(SAMPLE / "train.mrg", limit=1).read()[0]
    parts = WordParts.build(count_parts(SENTENCES), 1, 1)
    (one, *_), of_tree = (
        DistillationSet([tmp_path / "a.npz"], parts, STUDENT, Counter(), 0.8, 100),
        make_example(sentence, parts, STUDENT, Counter(), 0.8),
    )
    for name in ("rows", "rare", "spans", "labels", "span_weights"):
        of_shard, plain = getattr(one, name), getattr(of_tree, name)
        assert (of_shard.dtype, of_shard.shape[1:]) == (plain.dtype, plain.shape[1:]), name
    assert one.crossing is None and one.marginals is not None and one.marginals.dtype == np.float32


def test_examples_are_a_sequence(tmp_path: Path) -> None:
    path = tmp_path / "a.00000.npz"
    made_shard(path)
    given = WordParts.build(count_parts(SENTENCES), 1, 1), STUDENT, Counter({"the": 3}), 0.8
    found = DistillationSet([path], *given, 100)

    def same(one, other) -> bool:
        return all(np.array_equal(a, b) for a, b in zip(vars(one).values(), vars(other).values(), strict=True))

    assert len(found) == 5 and same(found[-1], found[4]) and same(found[1:3][1], found[2])
    for index in (5, -6):
        with pytest.raises(IndexError):
            found[index]
    again = pickle.loads(pickle.dumps(found))
    assert again.raw_bytes() == found.raw_bytes() and same(again[3], found[3]), "other processes get the same"
    for other in (([path], *given, 100, 0.5), ([path], *given, 6), ([path, path], *given, 100)):
        assert DistillationSet(*other).raw_bytes() != found.raw_bytes()
    assert len(DistillationSet([path], *given, 0)) == len(DistillationSet([], *given, 9)) == 0

    first = (found[1], found[0])
    mixed = ConcatExamples(first, found, (), found)
    assert len(mixed) == 12 and mixed.rows.tolist() == [5, 9, *found.rows, *found.rows]
    order = [1, 0, *range(5), *range(5)]
    assert all(same(example, found[k]) for example, k in zip(mixed, order, strict=True))
    assert same(mixed[-1], found[4]) and same(mixed[-12], found[1]) and len(mixed[1:9:2]) == 4
    for index in (12, -13):
        with pytest.raises(IndexError):
            mixed[index]


def test_words_are_counted(tmp_path: Path) -> None:
    paths = [tmp_path / "a.00000.npz", tmp_path / "a.00001.npz"]
    for path in paths:
        made_shard(path)
    counted = count_shard_words(paths)
    assert counted["the", "DT"] == 4 and counted["cat", "NN"] == 4 and counted["Stop", "VB"] == 2
    assert sum(counted.values()) == 2 * sum(map(len, WORDS))


FEW = SpanOptions(
    shape=Shape(width=5, units=3, layers=2, projection=4),
    seeds=(0,),
    epochs=2.5,
    pretrain_epochs=1.5,
    treebank_repeats=1,
    batch_tokens=60,
    warmup_steps=5,
    eval_every=0.4,
)


class Killed(Exception):
    """Stands for a kill."""


@pytest.mark.parametrize(("at", "n_more"), [(1, 4), (2, 0)])
def test_a_killed_run_with_shards_resumes_to_the_same_arrays(at: int, n_more: int, tmp_path: Path) -> None:
    sentences = TreebankFile(SAMPLE / "train.mrg", limit=24).read()
    shard = tmp_path / "a.00000.npz"
    shard_of_trees(shard, sentences[9:16])
    material = make_training_data(sentences[:9], [], FEW, sentences[16 : 16 + n_more], shards=[shard])
    assert len(material.pretrain) == 7 + n_more
    seen: list[dict] = []

    def killed(**facts) -> None:
        seen.append(facts)
        if len(seen) > at:
            raise Killed

    train_network(material, FEW, 0, tmp_path / "whole")
    with pytest.raises(Killed):
        train_network(material, FEW, 0, tmp_path / "cut", killed)
    assert seen[-1]["epoch"] % 1 and seen[-1]["phase"] == 0, "within a pass over the shards"
    logged: list[dict] = []
    train_network(material, FEW, 0, tmp_path / "cut", lambda **facts: logged.append(facts))
    assert logged[0]["resumed"] == seen[-1]["step"] and logged[-1]["phase"] == 1
    with np.load(tmp_path / "whole" / "network0.npz") as whole, np.load(tmp_path / "cut" / "network0.npz") as cut:
        assert set(whole) == set(cut)
        assert all(whole[name].tobytes() == cut[name].tobytes() for name in whole)
    shard_of_trees(shard, sentences[8:15])
    other = make_training_data(sentences[:9], [], FEW, sentences[16 : 16 + n_more], shards=[shard])
    assert run_conditions(other, FEW)["trees of a teacher"] != run_conditions(material, FEW)["trees of a teacher"]
    with pytest.raises(TrainingDataError, match=r"a run with other .*trees of a teacher; give the same ones"):
        train_network(replace(material, pretrain=other.pretrain), FEW, 0, tmp_path / "cut")


def test_the_command_learns_from_shards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shard_folder = tmp_path / "taught"
    for number in (0, 1):
        shard_of_trees(shard_folder / f"a.{number:05d}.npz", TreebankFile(SAMPLE / "dev.mrg", limit=6).read())
    command = ["train-span", "--train", f"{SAMPLE / 'train.mrg'},limit=10", "--seeds", "0", "--workers", "1"]
    command += ["--set", "pretrain_epochs=1", "epochs=1", "shape.units=8", "--out", str(tmp_path / "m")]
    assert main([*command, "--distill", str(shard_folder), "--set", "distill_weight=0.5"]) == 0
    parser = load_parser(tmp_path / "m")
    assert parser.meta["taught_sentences"] == 12 and parser.meta["options"]["taught_weight"] == 0.5
    capsys.readouterr()
    assert main([*command, "--distill", str(tmp_path)]) == 1
    assert "has no shards" in capsys.readouterr().err
