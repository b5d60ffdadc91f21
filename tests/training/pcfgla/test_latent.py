"""Latent annotations: expected counts against sums over all annotations and derivatives; what every step keeps."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.pcfgla.features import WordClasses
from spacy_dtparse.trees import Recipe, parse_tree
from tests.jit.harness import SLOW
from training.data.corpus import read_treebank, training_tree
from training.pcfgla import Markov, binarise
from training.pcfgla.latent import (
    Backbone,
    LatentGrammar,
    LatentTrees,
    block_offsets,
    encode_trees,
    expectations,
    log_likelihood,
    merge_values,
    normalise,
    smooth,
    split_values,
    treebank_grammar,
)

pytestmark = pytest.mark.kernel
compiled = pytest.mark.skipif(SLOW, reason="takes long without compiling")
SAMPLE = Path(__file__).parents[3] / "assets" / "sample"
TINY = [
    "(TOP (S (NP (D the) (N cat)) (VP (V sat))))",
    "(TOP (S (NP (N cats)) (VP (V saw) (NP (D the) (N cat)))))",
    "(TOP (S (NP (N cats)) (VP (V sat) (ADVP (R there)))))",
]


def tables(texts=TINY, markov=None):
    trees = [training_tree(tree, Recipe.PLAIN) for tree in map(_sentence, texts)]
    words = WordClasses.learn([tree.words for tree in trees], 1)
    binary = [binarise(tree, markov or Markov(1, 0, "right", 1)) for tree in trees]
    return binary, [words.encode(tree.words).tolist() for tree in trees]


def _sentence(text):
    from training.data.corpus import Sentence

    tree = parse_tree(text)
    return Sentence(tree, tree.tags, "tiny", 1.0)


def sample(limit=None, part="train"):
    return [training_tree(s, Recipe.PLAIN) for s in read_treebank(SAMPLE / f"{part}.mrg", limit=limit)]


def random_grammar(backbone: Backbone, seed: int, most: int = 3) -> LatentGrammar:
    """Random sizes and probabilities; the root has one value."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, len(backbone.symbols)).astype(np.int32)
    sizes[backbone.root] = 1
    rule_at, word_at = block_offsets(backbone, sizes)
    return normalise(backbone, sizes, rng.uniform(0.1, 1.0, int(rule_at[-1])), rng.uniform(0.1, 1.0, int(word_at[-1])))


def brute(backbone: Backbone, trees: LatentTrees, t: int, g: LatentGrammar):
    """(Probability of tree t, expected counts of rules and words): sums over every way to annotate its nodes."""
    root, end = int(trees.start[t]), int(trees.start[t + 1])
    total, counts, word_counts = 0.0, np.zeros_like(g.rules), np.zeros_like(g.words)
    for values in itertools.product(*(range(g.sizes[s]) for s in trees.symbol[root:end])):
        p, used, used_words = 1.0, [], []
        for k, x in enumerate(values):
            node = root + k
            n = int(g.sizes[trees.symbol[node]])
            left, right = int(trees.left[node]), int(trees.right[node])
            if left < 0:
                at = int(g.blocks.word_at[trees.rule[node]]) + x
                p *= g.words[at]
                used_words.append(at)
                continue
            inner = values[left]
            if right >= 0:
                inner = inner * int(g.sizes[trees.symbol[root + right]]) + values[right]
            at = int(g.blocks.rule_at[trees.rule[node]]) + inner * n + x
            p *= g.rules[at]
            used.append(at)
        total += p
        np.add.at(counts, used, p)
        np.add.at(word_counts, used_words, p)
    return total, counts / total, word_counts / total


def test_expected_counts_are_sums_over_all_annotations():
    backbone, trees = encode_trees(*tables())
    for seed in range(4):
        g = random_grammar(backbone, seed)
        found = [brute(backbone, trees, t, g) for t in range(len(TINY))]
        e = expectations(trees, g)
        assert e.lost == 0 and e.log == pytest.approx(sum(math.log(p) for p, _, _ in found), rel=1e-12)
        assert log_likelihood(trees, g) == (pytest.approx(e.log, rel=1e-12), 0)
        np.testing.assert_allclose(e.rules, sum(c for _, c, _ in found), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(e.words, sum(w for _, _, w in found), rtol=1e-9, atol=1e-12)


def test_expected_counts_are_derivatives_of_the_log_likelihood():
    """d log P / d log p of a rule is its expected count."""
    backbone, trees = encode_trees(*tables())
    g = random_grammar(backbone, 7)
    e = expectations(trees, g)
    step = 1e-6
    for name, counts in (("rules", e.rules), ("words", e.words)):
        for at in range(0, len(counts), 5):
            ends = []
            for sign in (1, -1):
                values = getattr(g, name).copy()
                values[at] *= math.exp(sign * step)
                ends.append(log_likelihood(trees, replace(g, **{name: values}))[0])
            assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(counts[at], rel=1e-5, abs=1e-7)


def test_one_value_is_the_treebank_grammar():
    backbone, trees = encode_trees(*tables())
    g = treebank_grammar(backbone, trees)
    names = [symbol.label for symbol in backbone.symbols]
    rules = {
        tuple(names[s] for s in rule if s >= 0): p for rule, p in zip(backbone.rules.tolist(), g.rules, strict=True)
    }
    assert rules["S", "NP", "VP"] == 1.0 and rules["VP", "V"] == pytest.approx(1 / 3)
    assert rules["NP", "D", "N"] == pytest.approx(0.5) and g.n_parameters == len(g.rules) + len(g.words)
    e = expectations(trees, g)
    again = normalise(backbone, g.sizes, e.rules, e.words)
    np.testing.assert_allclose(again.rules, g.rules, rtol=1e-12)


@compiled
@pytest.mark.parametrize("binarisation", ["left", "right", "center-parent", "center-head"])
def test_the_likelihood_never_falls_and_splits_learn(binarisation):
    trees = sample(120)
    words = WordClasses.learn([tree.words for tree in trees], 3)
    markov = Markov(1, 0, binarisation, 1)
    backbone, data = encode_trees(
        [binarise(tree, markov) for tree in trees], [words.encode(tree.words).tolist() for tree in trees]
    )
    whole = treebank_grammar(backbone, data)
    start = log_likelihood(data, whole)[0]
    g, logs = split_values(whole, seed=1), []
    for _ in range(25):
        e = expectations(data, g)
        logs.append(e.log)
        assert e.lost == 0
        g = normalise(backbone, g.sizes, e.rules, e.words)
    assert all(b >= a - 1e-7 * abs(a) for a, b in itertools.pairwise(logs))
    assert logs[0] == pytest.approx(start, rel=1e-3) and logs[-1] > start + 50
    assert g.sizes[backbone.root] == 1 and set(g.sizes.tolist()) == {1, 2}


@compiled
def test_threads_change_nothing():
    trees = sample(60)
    words = WordClasses.learn([tree.words for tree in trees], 3)
    backbone, data = encode_trees(
        [binarise(tree, Markov(1, 0, "right", 1)) for tree in trees], [words.encode(t.words).tolist() for t in trees]
    )
    g = random_grammar(backbone, 1)
    one, three = expectations(data, g, 1), expectations(data, g, 3)
    assert one.log == three.log and np.array_equal(one.rules, three.rules) and np.array_equal(one.words, three.words)


def test_what_was_split_without_noise_merges_back():
    backbone, trees = encode_trees(*tables())
    g = random_grammar(backbone, 3, most=2)
    g = smooth(g, 0.0, 0.0)
    before = log_likelihood(trees, g)[0]
    wide = split_values(g, seed=0, noise=0.0)
    assert log_likelihood(trees, wide)[0] == pytest.approx(before, rel=1e-9)
    merged, loss = merge_values(trees, wide, expectations(trees, wide), fraction=1.0)
    assert loss == pytest.approx(0.0, abs=1e-9)
    assert merged.sizes.tolist() == g.sizes.tolist()
    np.testing.assert_allclose(merged.rules, g.rules, rtol=1e-9)
    np.testing.assert_allclose(merged.words, g.words, rtol=1e-9)


@compiled
def test_merging_takes_the_splits_that_cost_least():
    trees = sample(150)
    words = WordClasses.learn([tree.words for tree in trees], 3)
    backbone, data = encode_trees(
        [binarise(tree, Markov(1, 0, "right", 1)) for tree in trees], [words.encode(t.words).tolist() for t in trees]
    )
    g = split_values(treebank_grammar(backbone, data), seed=2)
    for _ in range(20):
        e = expectations(data, g)
        g = normalise(backbone, g.sizes, e.rules, e.words)
    e = expectations(data, g)
    half, loss = merge_values(data, g, e)
    most, all_lost = merge_values(data, g, e, fraction=1.0)
    assert int(half.sizes.sum()) == int(g.sizes.sum()) - round(0.5 * (len(backbone.symbols) - 1))
    assert set(most.sizes.tolist()) == {1} and 0.0 <= loss < 0.5 * all_lost
    kept, gone = log_likelihood(data, half)[0], log_likelihood(data, most)[0]
    assert gone < kept <= e.log + 1e-6
    assert e.log - kept < 0.5 * (e.log - gone)  # half of the splits is worth less than half of the gain
    for made in (half, most, smooth(half)):  # still probabilities
        again = normalise(backbone, made.sizes, made.rules, made.words)
        np.testing.assert_allclose(again.rules, made.rules, rtol=1e-6, atol=1e-9)


def test_smoothing_draws_values_together():
    backbone, _ = encode_trees(*tables())
    g = random_grammar(backbone, 5)
    assert np.array_equal(smooth(g, 0.0, 0.0).rules, g.rules)
    same = smooth(g, 1.0, 1.0)
    for r, (parent, _, _) in enumerate(backbone.rules.tolist()):
        block = same.rules[same.blocks.rule_at[r] : same.blocks.rule_at[r + 1]].reshape(-1, int(g.sizes[parent]))
        np.testing.assert_allclose(block, block[:, :1] * np.ones(block.shape), rtol=1e-12)


def test_there_must_be_trees():
    with pytest.raises(TrainingDataError, match="no trees to train a grammar on"):
        encode_trees([], [])


def test_a_tree_without_probability_is_counted_and_left_out():
    backbone, trees = encode_trees(*tables())
    g = treebank_grammar(backbone, trees)
    lame = replace(g, words=np.where(np.arange(len(g.words)) == int(trees.rule[trees.left < 0][-1]), 0.0, g.words))
    e = expectations(trees, lame)
    assert e.lost >= 1 and log_likelihood(trees, lame)[1] == e.lost and math.isfinite(e.log)


@compiled
def test_long_trees_do_not_underflow():
    rng = random.Random(0)
    words = [rng.choice(["cat", "dog", "sun"]) for _ in range(1500)]
    text = "(TOP " + "".join(f"(NP (N {word}) " for word in words[:-1]) + f"(N {words[-1]})" + ")" * 1500
    backbone, trees = encode_trees(*tables([text]))
    g = split_values(treebank_grammar(backbone, trees), seed=1)
    e = expectations(trees, g)
    assert e.lost == 0 and -1e5 < e.log < -1000 and np.isfinite(e.rules).all()
    assert e.words.sum() == pytest.approx(1500)


def small_options(**changes):
    from training.pcfgla.latent_training import LatentOptions

    return replace(LatentOptions(cycles=2, iterations=8, merge_iterations=3, smooth_iterations=2), **changes)


def trained(options, **given):
    from training.pcfgla.latent_training import train_latent

    return train_latent(read_treebank(SAMPLE / "train.mrg"), options, **given)


@pytest.fixture(scope="module")
def latent_model():
    return trained(small_options(cycles=3, seeds=(0, 1)), meta={"name": "test"})


def scored(parser) -> float:
    from spacy_dtparse.scoring import ParsevalReport

    report = ParsevalReport()
    for sentence in read_treebank(SAMPLE / "dev.mrg"):
        result = parser.parse(sentence.tree.words, sentence.tags)
        assert result.tree.words == sentence.tree.words and len(result.costs) == len(result.tree.labels)
        assert result.status in ("complete", "optimal", "fallback") and result.cost >= -1e-9
        report.add(sentence.tree, result.tree)
    return report.to_dict()["all"]["f1"]


@pytest.mark.slow
@compiled
def test_a_latent_model_parses_better_than_its_treebank_grammar(latent_model):
    from spacy_dtparse.core.settings import PcfgSettings
    from spacy_dtparse.pcfgla.parser import PcfgParser

    own, given = (PcfgParser(latent_model, PcfgSettings(tags=tags)) for tags in ("own", "given"))
    plain = PcfgParser(replace(latent_model, latent=(), pruners=()), PcfgSettings(tags="given"))
    single = PcfgParser(replace(latent_model, latent=latent_model.latent[:1], pruners=()), PcfgSettings(tags="given"))
    f1 = scored(given)
    found = [f1, scored(single), scored(own), scored(plain)]
    assert found == pytest.approx([0.798, 0.782, 0.696, 0.678], abs=0.01)
    assert PcfgParser(latent_model)._uses_given_tags is False


@pytest.mark.slow
@compiled
def test_a_file_holds_the_latent_grammars(latent_model, tmp_path):
    from spacy_dtparse.core import load_parser
    from spacy_dtparse.pcfgla.parser import PcfgParser

    parser = PcfgParser(latent_model)
    parser.to_disk(tmp_path / "latent.model")
    again = load_parser(tmp_path / "latent.model")
    assert again.to_bytes() == parser.to_bytes() and len(again.model.latent) == 2 and len(again.model.pruners) == 1
    assert again.meta["name"] == "test" and again.meta["options"]["seeds"] == [0, 1]
    words, tags = ["The", "cat", "zzyzx", "Fluffy", "the", "mat", "."], ["DT", "NN", "VBD", "NNP", "DT", "NN", "."]
    assert again.parse(words, tags) == parser.parse(words, tags)
    assert again.with_settings(tags="given").parse(words, tags).tree.tags == tuple(tags)


@pytest.mark.slow
@compiled
def test_odd_sentences_are_parsed_all_the_same(latent_model):
    from spacy_dtparse.pcfgla.parser import PcfgParser

    parser = PcfgParser(latent_model).with_settings(tags="given")
    odd = (["the"], ["DT"]), (["the"] * 9, ["DT"] * 9), (["x"] * 5, ["NOTAG"] * 5), (["a"] * 170, ["NN"] * 170)
    for words, tags in odd:
        result = parser.parse(words, tags)
        assert result.tree.words == tuple(words) and result.tree.labels[0] == "TOP"
    result = parser.with_settings(prune=0.0).parse(["The", "cat", "sat", "."], ["DT", "NN", "VBD", "."])
    assert result.tree.labels[:2] == ("TOP", "S")


@pytest.mark.slow
@compiled
def test_training_resumes_with_the_same_result(tmp_path):
    logged: list[dict] = []
    whole = trained(small_options(), threads=2)
    first = trained(small_options(cycles=1), workdir=tmp_path, log=lambda **facts: logged.append(facts))
    assert {facts["cycle"] for facts in logged} == {1} and len(first.latent) == 1
    logged.clear()
    second = trained(small_options(), workdir=tmp_path, log=lambda **facts: logged.append(facts))
    assert {facts["cycle"] for facts in logged} == {2}
    assert np.array_equal(second.latent[0].values, whole.latent[0].values)
    assert second.fingerprint() == whole.fingerprint()
    with pytest.raises(TrainingDataError, match="holds a run with other trees or options"):
        trained(small_options(iterations=9), workdir=tmp_path)


@compiled
def test_the_same_number_of_values_for_every_symbol():
    model = trained(small_options(cycles=0, values=3, hold_out=0))
    assert sorted(set(model.latent[0].sizes.tolist())) == [1, 3]
    assert int((model.latent[0].sizes == 1).sum()) == 1


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"cycles": 9}, "cycles is 9; it must be a whole number from 0 to 8"),
        ({"values": 0}, "values is 0"),
        ({"hold_out": 1}, "hold_out is 1, which leaves no training tree"),
        ({"merge_fraction": 1.0}, "merge_fraction is 1.0; it must be a number from 0 to below 1"),
        ({"noise": True}, "noise is True"),
        ({"smooth_rules": 1.5}, "smooth_rules is 1.5"),
        ({"seeds": ()}, "no seeds"),
    ],
)
def test_options_out_of_range(changes, message):
    with pytest.raises(ConfigError, match=message):
        small_options(**changes)


def test_too_short_a_limit_leaves_nothing():
    with pytest.raises(TrainingDataError, match=r"all .* sentences were left out"):
        from training.pcfgla.latent_training import train_latent

        train_latent([s for s in read_treebank(SAMPLE / "dev.mrg") if len(s.tags) > 3], small_options(max_words=2))


@compiled
def test_the_command(tmp_path, capsys):
    from training.cli import main

    out = tmp_path / "latent.model"
    command = ["train-pcfgla", "--train", f"{SAMPLE / 'train.mrg'},limit=60", "--cycles", "1", "--iterations", "4"]
    assert main([*command, "--workdir", str(tmp_path / "work"), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "step merge" in printed and "latent values" in printed and "MB, from 60 sentences" in printed
    assert main(["evaluate", str(out), f"{SAMPLE / 'dev.mrg'},limit=5"]) == 0
    assert "gold" in capsys.readouterr().out
    assert main(["train-pcfgla", "--out", str(out)]) == 1
    assert "no training data" in capsys.readouterr().err
    with pytest.raises(SystemExit) as refused:
        main([*command, "--threads", "0", "--out", str(out)])
    assert refused.value.code == 2 and "--threads: '0' is not a whole number from 1" in capsys.readouterr().err
