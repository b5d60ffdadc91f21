"""The span parser over a pretrained encoder: its files, and all that other span parsers do."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import spacy

from spacy_dtparse.core import load_parser
from spacy_dtparse.core.constraints import Constraint, Constraints
from spacy_dtparse.core.settings import SpanSettings
from spacy_dtparse.errors import ConfigError, ModelFormatError
from spacy_dtparse.nn.packing import table_of
from spacy_dtparse.pipeline.attributes import constituents
from spacy_dtparse.span_parser.pretrained import PackedEncoder, read_pretrained, write_pretrained
from spacy_dtparse.span_parser.pretrained_parser import PretrainedSpanParser
from tests.model_io.damage import GONE, refuses, refuses_broken_bytes
from tests.reference.matrices import unrounded_network
from tests.span_models import CHAINS, SENTENCES, random_pretrained_model, random_pretrained_network, with_attach_table

MODEL = random_pretrained_model()
LONG = tuple("the cats sat on a mat".split() * 20), tuple("DT NN VBD IN DT NN".split() * 20)


def test_rounding_is_small_and_done_once() -> None:
    network = random_pretrained_network(20, len(CHAINS), 1)
    packed = PackedEncoder.pack(network)
    again = unrounded_network(packed.unpack(20, len(CHAINS)))
    assert again.table is packed.arrays["table"] and again.table.dtype == np.int8
    wide = again._replace(table=table_of(again), factor=network.factor)
    for array, other in zip(wide[:-1], network[:-1], strict=True):
        assert np.abs(array - other).max() <= np.abs(other).max() / (1000 if array.ndim == 1 else 127) + 1e-7
    transposed = network._replace(inner=np.asfortranarray(network.inner), edges=np.asfortranarray(network.edges))
    unpacked = unrounded_network(PackedEncoder.pack(transposed).unpack(20, len(CHAINS)))
    for name, array in unpacked._asdict().items():
        assert name == "n_heads" or (array.flags.c_contiguous and np.array_equal(array, getattr(again, name)))
    assert all(np.array_equal(PackedEncoder.pack(again).arrays[k], v) for k, v in packed.arrays.items() if v.ndim > 1)


def test_models_round_trip_through_bytes_and_pickles() -> None:
    model = with_attach_table(MODEL)
    parser = PretrainedSpanParser(model)
    data = parser.to_bytes()
    again = load_parser(data)
    assert isinstance(again, PretrainedSpanParser) and again.to_bytes() == data
    assert write_pretrained(read_pretrained(data)[0], read_pretrained(data)[1]) == data
    assert again.model.fingerprint() == model.fingerprint() != MODEL.fingerprint()
    results = parser.parse_batch(SENTENCES)
    assert again.parse_batch(SENTENCES) == results == pickle.loads(pickle.dumps(parser)).parse_batch(SENTENCES)
    sizes = again.describe()
    assert sizes["word pieces"] == MODEL.words.size and sizes["layers"] == 2 and sizes["networks"] == "1 of 1"
    assert "##s" not in again.vocabulary[0] and "cat" in again.vocabulary[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "has version 2; this release reads version 1"),
        ({"n_heads": 3}, "3 heads for a width of 8"),
        ({"n_heads": 0}, "n_heads is 0"),
        ({"words": {"pieces": [], "tags": []}}, "do not fit together|the word pieces lack"),
        ({"network.positions": np.zeros((2, 8), np.uint16)}, "and 2 positions"),
        ({"network.table": np.zeros((5, 8), np.int8)}, "has the shape"),
        ({"network.table": np.zeros((24, 8), np.float32)}, "is float32 of 2 dimensions; it must be int8 of 2"),
        ({"network.inner_factor": np.full((2, 20), np.nan, np.float32)}, "has numbers from nan"),
        ({"network.label_bias": np.full(len(CHAINS), 0x7E00, dtype=np.uint16)}, "not finite"),
        ({"network.outer": np.zeros((2, 9, 8), np.int8)}, "has the shape"),
        ({"network.attention": np.zeros((2, 8, 8), np.int8)}, "has the shape"),
        ({"network.norms": GONE}, "lacks the array 'network.norms'"),
    ],
)
def test_damage_is_reported(change: dict, message: str) -> None:
    refuses(read_pretrained, write_pretrained(MODEL), change, message)


def test_foreign_and_broken_bytes_are_refused() -> None:
    refuses_broken_bytes(read_pretrained, write_pretrained(MODEL))
    broken = PackedEncoder({**MODEL.packed[0].arrays, "table": MODEL.packed[0].arrays["table"][:-1]}, 2)
    with pytest.raises(ModelFormatError, match="has the shape"):
        replace(MODEL, packed=(broken,))


def test_a_sentence_is_parsed_alike_in_any_batch() -> None:
    parser = PretrainedSpanParser(MODEL)
    sentences = [*SENTENCES, LONG, SENTENCES[0]]
    together = parser.parse_batch(sentences)
    assert [parser.parse(*sentence) for sentence in sentences] == together
    assert [tuple(one.tree.words) for one in together] == [words for words, _ in sentences]


def test_it_does_all_that_a_span_parser_does() -> None:
    parser = PretrainedSpanParser(MODEL)
    words, tags = SENTENCES[0]
    best = parser.parse(words, tags)
    found = parser.parse_k_best(words, tags, 3)
    assert found[0].tree == best.tree and len({one.tree for one in found}) == len(found) == 3
    posteriors = parser.span_posteriors(words, tags)
    (result, same), *_ = parser.parse_with_posteriors([(words, tags)])
    assert result == best and same == posteriors
    span = next((i, j) for i in range(5) for j in (i + 3,) if (i, j, "PP") not in set(best.tree.spans()))
    forced = parser.parse_constrained(words, tags, Constraints([Constraint(*span, "PP")]))
    assert (*span, "PP") in set(forced.tree.spans())
    (marginals,) = parser.marginals([(words, tags)])
    assert len(marginals.spans) and (marginals.span_probs <= 1 + 1e-6).all()
    without = PretrainedSpanParser(MODEL, SpanSettings(exclude_labels=("NP",)))
    assert "NP" not in without.labels and "NP" not in without.parse(*LONG).tree.labels
    with pytest.raises(ConfigError, match="no label of the model"):
        PretrainedSpanParser(MODEL, SpanSettings(exclude_labels=("XP",)))


def test_the_component_takes_such_a_model(tmp_path) -> None:
    PretrainedSpanParser(MODEL).to_disk(tmp_path / "p.model")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("span_parser", config={"model": str(tmp_path / "p.model")})
    doc = nlp.make_doc("The cat sat on the mat.")
    for token, tag in zip(doc, SENTENCES[0][1], strict=True):
        token.tag_ = tag
    labels = [constituent.label_ for constituent in constituents(nlp(doc))]
    assert ["TOP", *labels] == list(PretrainedSpanParser(MODEL).parse(*SENTENCES[0]).tree.labels)
    nlp.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline")
    assert again.get_pipe("span_parser").parser.name == "pretrained"
