"""Bundles: a loaded model gives the same parses, and damaged, foreign or changed files are refused."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.features.names import atom_names
from spacy_dtparse.dtparse.model import bundle
from spacy_dtparse.dtparse.model.bundle import KIND, read_model, write_model
from spacy_dtparse.dtparse.model.model import untrained_model
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError, ModelFormatError
from spacy_dtparse.model_io.container import container_from_bytes
from spacy_dtparse.trees.heads import COLLINS
from tests.jit.harness import KERNEL_MARKS, SLOW, STRATEGIES, hand_made, sentence, small_lexicon, templates
from tests.model_io.damage import GONE, refuses, refuses_broken_bytes, rewritten

pytestmark = KERNEL_MARKS


@pytest.fixture(scope="module")
def parser() -> DtreeParser:
    return DtreeParser(hand_made("shift_reduce", seed=1).model, SearchSettings(budget=100))


@pytest.fixture(scope="module")
def data(parser) -> bytes:
    return parser.to_bytes()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_bundle_parses_as_the_model_did(strategy, tmp_path):
    first = DtreeParser(hand_made(strategy, seed=2).model, SearchSettings(budget=50))
    path = tmp_path / "model.bin"
    first.to_disk(path)
    again = DtreeParser.from_disk(path, SearchSettings(budget=50))
    assert again.to_bytes() == path.read_bytes() == first.to_bytes()
    assert atom_names(again.model) == atom_names(first.model)
    assert again.model.fingerprint() == first.model.fingerprint() and again.meta == {"seed": 2}
    rng = random.Random(0)
    for n in (1, 2, 3) if SLOW else (1, 2, 5, 9):
        words, tags = sentence(rng, n)
        assert again.parse(words, tags) == first.parse(words, tags)


def test_a_pickled_parser_is_the_same_parser(parser):
    again = pickle.loads(pickle.dumps(parser))
    words, tags = sentence(random.Random(1), 4)
    assert again.parse(words, tags) == parser.parse(words, tags)
    assert again.settings == parser.settings and again.labels == ("NP", "VP")


def test_an_untrained_model_has_a_bundle():
    model = untrained_model(small_lexicon(), templates("standard"), COLLINS, "r2l", 4, ("drop_repeated_unary",))
    again = DtreeParser.from_bytes(DtreeParser(model).to_bytes())
    assert again.model.n_atoms == 0 and atom_names(again.model) == ()
    assert again.parse(["a", "cat"], ["DT", "NN"]).tree.labels[0] == "TOP"


def test_damaged_bytes_are_no_model(data):
    rng = random.Random(0)
    refuses_broken_bytes(DtreeParser.from_bytes, data)
    bad = [b"PK\3\4", data[:-1]]
    for _ in range(20):
        at = rng.randrange(len(data))
        bad.append(data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :])
    for damaged in bad:
        with pytest.raises(ModelFormatError):
            DtreeParser.from_bytes(damaged)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "has version 2; this release reads version 1"),
        ({"fingerprint": "0" * 16}, "but states '0000000000000000'"),
        ({"strategy": "top_down"}, "strategy is 'top_down'; it must be 'l2r' or"),
        ({"max_arity": 1}, "max_arity is 1; it must be a whole number from 2 to 64"),
        ({"max_arity": 4}, "the model has fingerprint"),
        ({"edge_punctuation": False}, "the model has fingerprint"),
        ({"recipe": ["merge_prt"]}, "the model has fingerprint"),
        ({"n_atoms": 1}, "atom"),
        ({"lexicon": {"labels": []}}, "data.lexicon lacks 'tags'"),
        ({"templates": {"version": 7}}, "data.templates lacks 'name'"),
        ({"direct_at": np.array([10**7], dtype=np.int64)}, r"must be 1 \(direct atoms\)"),
        ({"direct_atom": np.array([0, 1], dtype=np.int32)}, r"has the shape \(2,\), where"),
    ],
)
def test_parts_that_do_not_fit_are_refused(data, changes, message):
    refuses(DtreeParser.from_bytes, data, changes, message)


def test_a_wrong_golden_parse_is_refused(data):
    meta, _ = container_from_bytes(data, KIND)
    assert len(meta["proofs"]) == 6
    for key, value in (("cost", meta["proofs"][1]["cost"] + 0.01), ("items", [[0, 9, 0]])):
        golden_parses = [dict(golden_parse) for golden_parse in meta["proofs"]]
        golden_parses[1][key] = value
        refuses(DtreeParser.from_bytes, data, {"proofs": golden_parses}, "self-test 1 of the model scores")
    assert read_model(rewritten(data, {"proofs": []}))[1] == []


def test_a_release_that_normalises_words_otherwise_is_detected(data):
    """The fingerprint covers the tables; the golden parses cover the behaviour of the code."""
    with pytest.raises(ModelFormatError, match="has version 1; this release reads version 2"):
        replace(bundle.FORMAT, version=2).read(data)


def test_equal_models_give_equal_bytes(parser, data):
    assert write_model(parser.model, parser.make_golden_parses()) == data
    other = replace(parser.model, meta={"seed": 9})
    assert write_model(other, parser.make_golden_parses()) != data and other.fingerprint() == parser.model.fingerprint()


def test_the_digest_covers_parts_outside_the_fingerprint(data):
    """One number among thousands, which may occur in no golden parse."""
    meta, arrays = container_from_bytes(data, KIND)
    for name in ("trees.units", "parts"):
        other = arrays[name].copy()
        other.flat[-1] += 1
        refuses(read_model, data, {name: other}, f"the model has digest .* but states '{meta['digest']}'")
    refuses(read_model, data, {"gate": {**meta["gate"], "shares": [0.5], "margins": [1]}}, "the model has digest")
    read_model(rewritten(data, {"digest": GONE}))  # as in the first files


def test_models_check_their_parts(parser):
    model = parser.model
    with pytest.raises(ConfigError, match="3 ensembles for 3 labels; there must be one per label and one for shift"):
        replace(model, ensembles=model.ensembles[:3])
    with pytest.raises(ConfigError, match="max_arity is 65"):
        replace(model, max_arity=65)
    with pytest.raises(ConfigError, match="unknown strategy 'up'"):
        replace(model, strategy="up")
    assert model.names == ("NP", "VP", "TOP", "*shift*")
