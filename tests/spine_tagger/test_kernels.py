"""The tagger's kernels against the reference: features, sums over all sequences, beams, multitags."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.linear.kernels.feature_table import pack_pair
from spacy_dtparse.spine_tagger import kernels
from spacy_dtparse.spine_tagger.kernels import COLUMNS, MAX_HISTORY_KEYS, MAX_TOKEN_KEYS, select_labels, tag_sentence
from spacy_dtparse.spine_tagger.model import TaggerModel
from tests.jit.harness import KERNEL_MARKS
from tests.reference import tagging as slow
from tests.tagger_models import SENTENCES, allowed_labels, random_tagger, weights_by_key

pytestmark = KERNEL_MARKS

token_keys = callable_from_python(kernels.token_keys)
history_keys = callable_from_python(kernels.history_keys)
EVERYTHING = 1000


def run(model: TaggerModel, atoms: np.ndarray, beam: int, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(atoms) - 4
    marginals, ends, path = np.full(n * len(model.parts.labels), np.nan), np.zeros(n, np.int64), np.zeros(n, np.int32)
    tag_sentence(atoms, model.tables, len(model.parts.labels), beam, share, marginals, ends, path)
    return marginals, ends, path


def by_token(model: TaggerModel, atoms: np.ndarray, beam: int, share: float) -> list[dict[int, float]]:
    marginals, ends, _ = run(model, atoms, beam, share)
    allowed = allowed_labels(model.parts, atoms)
    starts = [0, *ends.tolist()]
    return [
        dict(zip(labels, marginals[start:end].tolist(), strict=True))
        for labels, start, end in zip(allowed, starts, ends.tolist(), strict=False)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_features_of_random_atoms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = rng.integers(0, (5, 2, 40, 2**24)[seed], (9, COLUMNS)).astype(np.int32)
    atoms[:, 1] %= 4096
    keys = np.zeros(MAX_TOKEN_KEYS + MAX_HISTORY_KEYS, np.uint64)
    for row in range(2, 7):
        count = token_keys(atoms, row, keys)
        assert count <= MAX_TOKEN_KEYS
        assert sorted(keys[:count].tolist()) == sorted(slow.token_features(atoms.tolist(), row))
        last, second = rng.integers(1, 4096, 2).tolist()
        more = history_keys(atoms, row, np.int32(last), np.int32(second), keys, count)
        assert more - count <= MAX_HISTORY_KEYS
        assert sorted(keys[count:more].tolist()) == sorted(slow.history_features(atoms.tolist(), row, last, second))


def test_the_workspace_for_the_keys_of_a_token_just_fits() -> None:
    """A token with all atoms known, rare and with all its affixes, between tokens that are known too."""
    atoms = np.ones((5, COLUMNS), np.int32)
    keys = np.zeros(100, np.uint64)
    assert token_keys(atoms, 2, keys) == MAX_TOKEN_KEYS
    assert history_keys(atoms, 2, np.int32(1), np.int32(1), keys, 0) == MAX_HISTORY_KEYS


@pytest.mark.parametrize("tagged", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_sums_and_best_sequence_are_those_of_all_sequences(seed: int, tagged: bool) -> None:
    model = random_tagger(seed, tagged=tagged)
    weights = weights_by_key(model)
    for words, tags, _ in SENTENCES:
        words, tags = words[:4], tags[:4]
        atoms = model.parts.encode(words, tags if tagged else ())
        wanted, best = slow.by_enumeration(atoms.tolist(), weights, allowed_labels(model.parts, atoms), model.scale)
        for found, probs in zip(by_token(model, atoms, EVERYTHING, 0.0), wanted, strict=True):
            assert found == pytest.approx(probs, rel=1e-9)
        assert run(model, atoms, EVERYTHING, 0.0)[2].tolist() == list(best)


@pytest.mark.parametrize(("beam", "share"), [(1, 0.0), (2, 0.0), (3, 0.1), (8, 0.5), (8, 0.02)])
def test_beams(beam: int, share: float) -> None:
    model = random_tagger(5, 0.4, tagged=False, cutoff=99)  # all labels for all words
    weights = weights_by_key(model)
    for words, _, _ in SENTENCES:
        atoms = model.parts.encode(words, ())
        wanted = slow.by_beam(atoms.tolist(), weights, allowed_labels(model.parts, atoms), model.scale, beam, share)
        for found, probs in zip(by_token(model, atoms, beam, share), wanted, strict=True):
            assert found == pytest.approx(probs, rel=1e-9)
        path = run(model, atoms, beam, share)[2].tolist()
        assert all(label in allowed for label, allowed in zip(path, allowed_labels(model.parts, atoms), strict=True))


def test_a_narrow_beam_changes_the_sums() -> None:
    model = random_tagger(5, 0.4, tagged=False, cutoff=99)
    atoms = model.parts.encode(SENTENCES[0].words, ())
    narrow, wide = (run(model, atoms, beam, 0.0)[0] for beam in (1, EVERYTHING))
    cut = run(model, atoms, EVERYTHING, 0.5)[0]
    kept = ~np.isnan(wide)
    assert not np.allclose(narrow[kept], wide[kept]) and not np.allclose(cut[kept], wide[kept])


@pytest.mark.parametrize("beta", [0.0, 0.01, 0.3, 1.0])
def test_multitags(beta: float) -> None:
    model = random_tagger(2, 0.3, tagged=False)
    parts = model.parts
    for words, _, _ in SENTENCES:
        atoms = parts.encode(words, ())
        marginals, ends, _ = run(model, atoms, EVERYTHING, 0.0)
        marginals[: ends[0]] = marginals[0]  # all equal: in the order of their numbers
        wanted = [
            slow.labels_within_beta(dict(zip(labels, marginals[start:end].tolist(), strict=True)), beta)
            for labels, start, end in zip(allowed_labels(parts, atoms), [0, *ends], ends, strict=False)
        ]
        labels, probs, until = np.zeros(len(marginals), np.int32), np.zeros(len(marginals)), np.zeros_like(ends)
        count = select_labels(atoms, parts.allowed_from, parts.allowed, marginals, beta, labels, probs, until)
        assert count == until[-1] == sum(map(len, wanted))
        assert labels[:count].tolist() == [label for offer in wanted for label in offer]
        for start, end in zip([0, *until], until, strict=False):
            assert (np.diff(probs[start:end]) <= 0).all()


def test_pairs_are_packed() -> None:
    labels, weights = np.array([0, 4093, 7, 4093]), np.array([-32768, -1, 0, 32767], np.int16)
    pairs = pack_pair(labels, weights)
    assert pairs.dtype == np.int32
    assert (pairs & 0xFFFF).tolist() == labels.tolist() and (pairs >> 16).tolist() == weights.tolist()


def test_without_weights_all_labels_are_alike_and_the_first_wins() -> None:
    model = random_tagger(0)
    no_pairs = model.tables._replace(pairs=model.tables.pairs & 0xFFFF)
    atoms = model.parts.encode(("Unheard", "of"), ("XX", "YY"))
    n = len(model.parts.labels)
    marginals, ends, path = np.zeros(2 * n), np.zeros(2, np.int64), np.zeros(2, np.int32)
    tag_sentence(atoms, no_pairs, n, 4, 0.0, marginals, ends, path)
    assert marginals == pytest.approx(np.full(2 * n, 1 / n)) and path.tolist() == [0, 0]
