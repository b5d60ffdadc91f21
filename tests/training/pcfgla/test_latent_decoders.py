"""Decoders of trained latent models: a tree for every sentence, lists, posteriors, files with or without candidates."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from spacy_dtparse.core.settings import PcfgSettings
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.model_io.container import container_from_bytes
from spacy_dtparse.pcfgla.model.model import PcfgModel, read_model, write_model
from spacy_dtparse.pcfgla.parser import PcfgParser
from tests.model_io.damage import GONE, refuses
from tests.training.pcfgla.test_latent import SAMPLE, compiled, small_options, trained
from tests.trees.naive import with_leaves
from training.data.corpus import read_treebank

pytestmark = pytest.mark.kernel

DECODERS = ("max-rule", "viterbi", "q", "rerank")


@pytest.fixture(scope="module")
def model() -> PcfgModel:
    return trained(small_options(seeds=(0, 1), candidates=True))


@pytest.fixture(scope="module")
def single(model) -> PcfgModel:
    return replace(model, latent=model.latent[:1])


def sentences():
    return [s for s in read_treebank(SAMPLE / "dev.mrg") if len(s.tags) < 20][:6]


def shape(result):
    return tuple(zip(result.tree.starts, result.tree.ends, result.tree.labels, strict=True))


@pytest.mark.slow
@compiled
@pytest.mark.parametrize("decoder", DECODERS)
def test_every_sentence_gets_a_tree(single, decoder):
    parser = PcfgParser(single, PcfgSettings(decoder=decoder, candidates_n=20))
    for s in sentences():
        result = parser.parse(s.tree.words, s.tags)
        assert result.tree.words == s.tree.words and len(result.costs) == len(result.tree.labels)
        assert result.status in ("complete", "fallback") and result.cost >= 0.0
        assert all(cost >= -1e-9 for cost in result.costs)
    odd = (["the"], ["DT"]), (["the"] * 9, ["DT"] * 9), (["x"] * 5, ["NOTAG"] * 5), (["a"] * 160, ["NN"] * 160)
    for given, (words, tags) in itertools.product(("given", "own"), odd):
        result = parser.with_settings(tags=given).parse(words, tags)
        assert result.tree.words == tuple(words) and result.tree.labels[0] == "TOP"
        with_leaves(result.tree, words)  # checks the shape
    strict = parser.with_settings(prune=0.99)  # leaves nothing
    s = sentences()[0]
    assert strict.parse(s.tree.words, s.tags).tree.words == s.tree.words
    words, tags = ["The", "cat", "sat", "."], ["DT", "NN", "VBD", "."]
    assert parser.with_settings(prune=0.0).parse(words, tags).tree.labels[:2] == ("TOP", "S")


@compiled
@pytest.mark.parametrize("decoder", ["max-rule", "q", "rerank"])
@pytest.mark.parametrize("several", [False, True])
def test_lists_of_the_best_trees(model, single, decoder, several):
    parser = PcfgParser(model if several else single, PcfgSettings(decoder=decoder, candidates_n=30))
    for s in sentences()[:3]:
        words, tags = s.tree.words, s.tags
        found, first = parser.parse_k_best(words, tags, 8), parser.parse(words, tags)
        assert shape(found[0]) == shape(first) and found[0].cost == pytest.approx(first.cost)
        assert all(a.cost <= b.cost + 1e-9 for a, b in itertools.pairwise(found))
        assert len({shape(result) for result in found}) == len(found) > 1
    assert len(parser.parse_k_best(words, tags, 40)) > 8


@compiled
def test_posteriors_are_means_over_grammars(model, single):
    other = replace(model, latent=model.latent[1:])
    both, *parsers = (PcfgParser(replace(m, pruners=()), PcfgSettings(prune=1e-6)) for m in (model, single, other))
    s = sentences()[1]
    one, two = (parser.span_posteriors(s.tree.words, s.tags) for parser in parsers)
    for key, p in both.span_posteriors(s.tree.words, s.tags).items():
        assert p == pytest.approx((one.get(key, 0.0) + two.get(key, 0.0)) / 2, abs=1e-5)
    assert one[0, len(s.tags), "TOP"] == pytest.approx(1.0, abs=1e-5)


@compiled
def test_decoders_that_need_another_model(model, single):
    with pytest.raises(ConfigError, match=r"takes one grammar with latent annotations, and this model is .* of 2"):
        PcfgParser(model, PcfgSettings(decoder="viterbi"))
    with pytest.raises(ConfigError, match=r"'rerank' needs a candidate grammar, .* train-pcfgla --candidates"):
        PcfgParser(replace(single, candidates=None), PcfgSettings(decoder="rerank"))
    with pytest.raises(ConfigError, match="'viterbi' gives one tree, but k is 2"):
        PcfgParser(single, PcfgSettings(decoder="viterbi")).parse_k_best(["a"], ["DT"], 2)
    assert len(PcfgParser(single, PcfgSettings(decoder="viterbi")).parse_k_best(["a"], ["DT"], 1)) == 1


@pytest.mark.slow
@compiled
def test_files_with_and_without_candidates(model):
    data = write_model(model)
    again = read_model(data)[0]
    assert again.candidates is not None and write_model(again) == data
    assert again.candidates.names == model.candidates.names
    assert set(model.candidates.coarse.tolist()) <= set(range(len(model.coarse.names)))
    older = write_model(replace(model, candidates=None))
    meta, arrays = container_from_bytes(older, "pcfg")
    assert "candidate_names" not in meta and not any(name.startswith("candidates.") for name in arrays)
    assert read_model(older)[0].candidates is None and read_model(older)[0].fingerprint() != model.fingerprint()
    s = sentences()[0]
    assert PcfgParser(read_model(older)[0]).parse(s.tree.words, s.tags) == PcfgParser(model).parse(s.tree.words, s.tags)
    rerank = PcfgParser(again, PcfgSettings(decoder="rerank"))
    assert rerank.parse(s.tree.words, s.tags) == PcfgParser(model, rerank.settings).parse(s.tree.words, s.tags)
    _, arrays = container_from_bytes(data, "pcfg")
    refuses(read_model, data, {"candidates.unary": GONE}, "lacks the array 'candidates.unary'")
    refuses(read_model, data, {"candidates.unary_weight": arrays["candidates.unary_weight"] - 1.0}, "fingerprint")


def test_the_option_is_checked():
    with pytest.raises(ConfigError, match="candidates is 1; it must be true or false"):
        small_options(candidates=1)


@compiled
def test_the_commands(tmp_path, capsys):
    from training.cli import main

    out, dev = tmp_path / "latent.model", f"{SAMPLE / 'dev.mrg'},limit=4"
    command = ["train-pcfgla", "--train", f"{SAMPLE / 'train.mrg'},limit=60", "--cycles", "1", "--iterations", "4"]
    assert main([*command, "--workdir", str(tmp_path / "work"), "--out", str(out)]) == 0
    assert main(["evaluate", str(out), dev, "--decoder", "rerank"]) == 1
    assert "needs a candidate grammar" in capsys.readouterr().err
    assert main([*command, "--workdir", str(tmp_path / "work"), "--candidates", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "candidates: " in printed and "step em" not in printed  # the EM cycles were there already
    for decoder in DECODERS:
        assert main(["evaluate", str(out), dev, "--decoder", decoder, "--candidates-n", "5"]) == 0
        assert "tokens/s" in capsys.readouterr().out
