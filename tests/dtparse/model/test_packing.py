"""Packed ensembles: unpacking restores the same arrays, and inconsistent arrays are refused."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spacy_dtparse.dtparse.model.ensemble import empty_ensemble, validate
from spacy_dtparse.dtparse.model.packing import pack_ensembles, unpack_ensembles
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.model_io.container import container_from_bytes, container_to_bytes
from tests.reference.decision_trees import flatten, random_list, random_tree

N_ATOMS = 90_000


def ensembles(seed: int = 0, shuffled: bool = False) -> list:
    rng = random.Random(seed)
    labels = [
        [random_tree(rng, 50, rng.randint(0, 20)) for _ in range(30)],
        [],
        [random_list(rng, N_ATOMS, rng.randint(5, 40)) for _ in range(40)],
        [5],
        [0, (N_ATOMS - 1, 2**28, -(2**28))],
    ]
    return [flatten(trees, rng if shuffled else None) for trees in labels]


@pytest.mark.parametrize("shuffled", [False, True])
def test_round_trip_keeps_every_number(shuffled):
    wanted = ensembles(1, shuffled)
    packed = pack_ensembles(wanted, N_ATOMS, prefix="trees.")
    assert all(name.startswith("trees.") for name in packed)
    _, arrays = container_from_bytes(container_to_bytes("x", {}, packed), "x")
    for got, want in zip(unpack_ensembles(arrays, N_ATOMS, prefix="trees."), wanted, strict=True):
        for a, b in zip(got, want, strict=True):
            assert np.array_equal(a, b) and a.dtype == b.dtype
            assert a.flags.c_contiguous and a.flags.writeable


def test_nothing_to_pack():
    for given in ([], [empty_ensemble()], [empty_ensemble()] * 3):
        got = unpack_ensembles(pack_ensembles(given, 0), 0)
        assert len(got) == len(given) and all(len(ensemble.atom) == 0 for ensemble in got)


def test_decision_lists_take_less_than_three_bytes_a_split():
    rng = random.Random(2)
    trees = [random_list(rng, 3000, 35) for _ in range(400)]
    size = len(container_to_bytes("x", {}, pack_ensembles([flatten(trees)], 3000)))
    assert size < 400 * 35 * 3


def test_malformed_ensembles_are_not_packed():
    with pytest.raises(ModelFormatError, match="ensemble 1: unknown atom"):
        pack_ensembles([flatten([1]), flatten([(7, 1, 2)])], 7)


def test_missing_and_ill_typed_arrays():
    packed = pack_ensembles(ensembles(), N_ATOMS)
    with pytest.raises(ModelFormatError, match=r"lacks the arrays p\.trees, p\.nodes"):
        unpack_ensembles(packed, N_ATOMS, prefix="p.")
    for name, array in packed.items():
        for wrong in (array.astype(np.float64), array[:, None], array[:-1], np.concatenate([array, array[:1]])):
            with pytest.raises(ModelFormatError):
                unpack_ensembles({**packed, name: wrong}, N_ATOMS)
    with pytest.raises(ModelFormatError, match="unknown atom"):
        unpack_ensembles(packed, N_ATOMS - 1)


def test_altered_numbers_give_sound_ensembles_or_an_error():
    packed = pack_ensembles(ensembles(3), N_ATOMS)
    rng, refused, accepted = random.Random(4), 0, 0
    for _ in range(600):
        name = rng.choice(list(packed))
        array = packed[name].copy()
        limits = np.iinfo(array.dtype)
        near = int(array[rng.randrange(len(array))]) + rng.choice([-1, 1])
        number = rng.choice([limits.min, limits.max, 0, near, 2**31, 2**40])
        array[rng.randrange(len(array))] = min(max(number, limits.min), limits.max)
        try:
            got = unpack_ensembles({**packed, name: array}, N_ATOMS)
        except ModelFormatError:
            refused += 1
            continue
        accepted += 1
        for ensemble in got:
            validate(ensemble, N_ATOMS)
    assert refused > 200 and accepted > 50
