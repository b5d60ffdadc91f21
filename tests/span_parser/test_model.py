"""Span models: rounding, serialization and detection of damage."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.nn.clusters import WordClusters
from spacy_dtparse.nn.packing import table_of
from spacy_dtparse.span_parser.features import WordParts
from spacy_dtparse.span_parser.model import AttachTables, PackedNetwork, SpanModel, read_model, write_model
from spacy_dtparse.span_parser.parser import SpanParser
from tests.model_io.damage import GONE, refuses, refuses_broken_bytes
from tests.span_models import CHAINS, random_model, random_network, with_attach_table


def test_rounding_is_small_and_done_once() -> None:
    network = random_network(20, len(CHAINS), 1)
    packed = PackedNetwork.pack(network)
    again = packed.unpack(20, len(CHAINS))
    assert packed.arrays["table"].dtype == np.int8
    assert again.table is packed.arrays["table"] and again.factor is packed.arrays["factor"], "no copies"
    again = again._replace(table=table_of(again), factor=network.factor)
    for name, array in again._asdict().items():
        for one, other in zip(
            array if name == "weights" else [array],
            getattr(network, name) if name == "weights" else [getattr(network, name)],
            strict=True,
        ):
            bound = np.abs(other).max() / (127 if name in ("table", "weights") else 1000)
            assert np.abs(one - other).max() <= bound + 1e-7
    twice = PackedNetwork.pack(again)
    assert all(np.array_equal(twice.arrays[k], v) for k, v in packed.arrays.items() if k != "factor")


def test_files_of_older_versions_have_layers_in_float16() -> None:
    """Such a model is read, has the same layers but for rounding, and its self-test allows for other products."""
    model = random_model(1)
    (packed,), (network,) = model.packed, model.networks
    older = {name: array for name, array in packed.arrays.items() if not re.fullmatch(r"weights\d+_factor", name)}
    older |= {f"weights{k}": array.astype(np.float16) for k, array in enumerate(network.weights)}
    before = replace(model, packed=(PackedNetwork(older),))
    again = read_model(write_model(before))[0]
    assert {again.packed[0].arrays[f"weights{k}"].dtype.name for k in range(len(network.weights))} == {"float16"}
    for one, other in zip(again.networks[0].weights, network.weights, strict=True):
        assert np.abs(one - other).max() <= np.abs(other).max() / 1000
    assert SpanParser(again).tolerance > 4 * SpanParser(model).tolerance
    assert SpanParser.from_bytes(SpanParser(before).to_bytes()).tolerance == SpanParser(again).tolerance


@pytest.mark.parametrize("name", ["weights0", "weights0_factor"])
def test_layers_fit_their_factors(name: str) -> None:
    arrays = random_network(20, len(CHAINS), 1)
    packed = dict(PackedNetwork.pack(arrays).arrays)
    packed[name] = packed[name][..., :-1] if name == "weights0_factor" else packed[name].astype(np.float16)
    with pytest.raises(ModelFormatError, match="weights0 of a network do not fit their factors"):
        PackedNetwork(packed).unpack(20, len(CHAINS))


def test_models_round_trip_through_bytes() -> None:
    model = random_model(2)
    data = write_model(model)
    again = read_model(data)[0]
    assert write_model(again) == data and again.fingerprint() == model.fingerprint()
    assert again.chains == CHAINS and again.meta == model.meta and again.labels == ("NP", "PP", "S", "VP")
    assert (
        again.words.encode(["The", "gnu"], ["DT", "??"]).tolist()
        == model.words.encode(["The", "gnu"], ["DT", "??"]).tolist()
    )
    for one, other in zip(model.networks, again.networks, strict=True):
        assert np.array_equal(one.table, other.table) and np.array_equal(one.weights[0], other.weights[0])


@pytest.mark.parametrize("one_root", [False, True])
def test_attach_tables_round_trip(one_root: bool) -> None:
    plain = random_model(1)
    model = with_attach_table(plain, one_root=one_root)
    data = write_model(model)
    again = read_model(data)[0]
    assert model.attach_tables is not None and again.attach_tables is not None
    assert again.attach_tables.never.dtype == np.bool_ and np.array_equal(
        again.attach_tables.never, model.attach_tables.never
    )
    assert again.attach_tables.never.any() and not again.attach_tables.never.all()
    assert again.attach_tables.one_root is one_root
    assert write_model(again) == data and again.fingerprint() == model.fingerprint()
    older = read_model(write_model(plain))[0]
    assert older.attach_tables is None and older.fingerprint() == plain.fingerprint(), "a model without the table"


def test_attach_tables_are_part_of_the_fingerprint() -> None:
    model = with_attach_table(random_model(1))
    assert model.attach_tables is not None
    never = model.attach_tables.never.copy()
    never[-1, 0, 1] ^= True
    others = [None, AttachTables(never, False), AttachTables(model.attach_tables.never, True)]
    models = [model, *(replace(model, attach_tables=tables) for tables in others)]
    assert len({one.fingerprint() for one in models}) == len(models)
    same = AttachTables(model.attach_tables.never.copy(order="F"), False)
    assert replace(model, attach_tables=same).fingerprint() == model.fingerprint(), "the order in memory is nothing"


def test_tags_of_another_tag_set_round_trip() -> None:
    model = random_model(1)
    known = replace(model, words=WordParts(model.words.tables, {"noun": "NN"}))
    again = read_model(write_model(known))[0]
    assert again.words.aliases == {"noun": "NN"} and again.fingerprint() == known.fingerprint() != model.fingerprint()
    words = {**known.words.to_dict(), "aliases": {"noun": "VBD"}}
    refuses(read_model, write_model(known), {"words": words}, "has fingerprint")
    words["aliases"] = {"a\nnoun": "NN"}
    refuses(read_model, write_model(known), {"words": words}, "aliases.0. is 'a.*noun'; it must be a text, printable")


def test_models_with_word_clusters_round_trip() -> None:
    model = random_model(1, clusters=WordClusters(["dog gnu", "barks"]))
    data = write_model(model)
    again = read_model(data)[0]
    assert write_model(again) == data and again.fingerprint() == model.fingerprint() != random_model(1).fingerprint()
    words = model.words.to_dict()
    for changed, message in (
        ({**words["clusters"], "words": ["dog gnu", "gnu"]}, "'gnu' is listed twice"),
        ({**words["clusters"], "words": ["dog", "gnu barks"]}, "has fingerprint"),
        ({**words["clusters"], "names": []}, "do not fit|where"),
        ({"names": []}, "clusters lacks 'words'"),
    ):
        refuses(read_model, data, {"words": {**words, "clusters": changed}}, message)


def test_a_table_of_unattached_tokens_fits_the_model() -> None:
    model = with_attach_table(random_model(1))
    assert model.attach_tables is not None
    never = model.attach_tables.never
    for wrong in (never[:-1], never[:, :-1], never[:, :, :-1], never[0], np.repeat(never, 2, axis=2)):
        message = r"table of unattached tokens has the shape .* does not fit 4 labels and"
        with pytest.raises(ModelFormatError, match=message):
            replace(model, attach_tables=AttachTables(wrong, False))
        refuses(read_model, write_model(model), {"bare.never": wrong}, "table of unattached tokens|'bare.never'")
    refuses(read_model, write_model(model), {"bare.never": ~never}, "has fingerprint")
    refuses(read_model, write_model(model), {"bare.never": GONE}, "lacks the array 'bare.never'")
    refuses(read_model, write_model(model), {"one_root": True}, "has fingerprint")
    refuses(read_model, write_model(model), {"one_root": GONE}, "do not fit together|lacks")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "has version 2; this release reads version 1"),
        ({"fingerprint": "0" * 16}, "has fingerprint .* but states '0000000000000000'"),
        ({"n_networks": 0}, "'network0.bias', which this release does not know"),
        ({"n_networks": 2}, "lacks the array 'network1"),
        ({"chains": [["S"]]}, "first label of the model is not the empty one"),
        ({"chains": [[], ["S"]]}, "has the shape"),
        ({"chains": [[]]}, r"labels are \[\] in 0 chains; there must be one or more"),
        ({"chains": [[], ["S"], []]}, "none of them TOP or empty"),
        ({"chains": [[], ["TOP", "S"]]}, r"labels are \['S', 'TOP'\] in 1 chains"),
        ({"words": {"words": []}}, "data.words lacks 'tags'"),
        ({"network0.label_bias": np.full(len(CHAINS), 0x7E00, dtype=np.uint16)}, "not finite"),
        ({"network0.factor": np.zeros(3, dtype=np.float32)}, "has the shape"),
        ({"network0.table": np.zeros((9, 6), np.float32)}, "is float32 of 2 dimensions; it must be int8 of 2"),
        ({"network0.edges": np.zeros((8, 20), np.int8)}, "is int8 of 2 dimensions; it must be uint16 of 2"),
    ],
)
def test_damage_is_reported(change: dict, message: str) -> None:
    refuses(read_model, write_model(random_model(1)), change, message)


def test_foreign_and_broken_bytes_are_refused() -> None:
    refuses_broken_bytes(read_model, write_model(random_model(1)))


def test_a_network_has_a_layer() -> None:
    model = random_model(1)
    with pytest.raises(ModelFormatError, match="has no layer"):
        replace(model, packed=(PackedNetwork.pack(random_network(model.words.size, len(CHAINS), layers=0)),))


def test_networks_of_different_width_do_not_multiply() -> None:
    model = random_model(1)
    other = PackedNetwork.pack(random_network(model.words.size, len(CHAINS), 3, projection=4))
    with pytest.raises(ModelFormatError, match="different widths"):
        SpanModel(model.words, CHAINS, (*model.packed, other), {})
    with pytest.raises(ModelFormatError, match="has no network"):
        replace(model, packed=())


def test_tag_mappings_round_trip() -> None:
    model = random_model(1)
    tags = model.words.tables[1].strings
    renamed = replace(model, words=WordParts(model.words.tables, {"noun": tags[0], "verb": tags[-1]}))
    again = read_model(write_model(renamed))[0]
    assert again.words.aliases == {"noun": tags[0], "verb": tags[-1]}
    assert len({one.fingerprint() for one in (model, renamed)}) == 2 and again.fingerprint() == renamed.fingerprint()
