"""The span network's kernels against plain numpy, and its decoder against the enumeration of all trees."""

from __future__ import annotations

import numpy as np
import pytest

from spacy_dtparse.span_parser.encoder import SentenceEncoder
from spacy_dtparse.span_parser.kernels.chart import best_inside, log_posteriors, span_posteriors
from spacy_dtparse.span_parser.kernels.network import (
    LEFT,
    LabelLayer,
    constituent_marginals,
    decode,
    encode_gaps,
    label_spans,
    probable_spans,
    score_spans,
    span_probabilities,
)
from tests.jit.harness import KERNEL_MARKS
from tests.reference import spans as reference
from tests.span_models import CHAINS, SENTENCES, random_model

pytestmark = KERNEL_MARKS

SIZES = [len(chain) for chain in CHAINS]
NAMES = sorted({label for chain in CHAINS for label in chain})
CHAIN_FROM = np.cumsum([0, *SIZES]).astype(np.int32)
CHAIN_LABELS = np.array([NAMES.index(label) for chain in CHAINS for label in chain], dtype=np.int32)


def read(model, sentence: int = 0):
    """(gaps, own, label layer) of one of SENTENCES, and the results of numpy for each network."""
    words, tags = SENTENCES[sentence]
    numbers, n = model.words.encode(words, tags), len(words)
    networks = model.networks
    gaps = np.zeros((len(networks), 4, n + 1, len(networks[0].from_left)), dtype=np.float32)
    own = np.zeros((len(networks), n + 1), dtype=np.float32)
    for q, network in enumerate(networks):
        encode_gaps(
            SentenceEncoder.prepare(network), numbers, np.array([0, n + 2], dtype=np.int32), gaps[q].reshape(-1), own[q]
        )
    weights, bias = np.stack([x.labels for x in networks]), np.stack([x.label_bias for x in networks])
    parts = gaps, own, LabelLayer(weights, bias, np.empty((len(networks), 0, gaps.shape[3]), dtype=np.float32))
    return parts, [reference.read(network, numbers) for network in networks]


def test_sentences_are_encoded_alike_in_any_batch() -> None:
    model = random_model(1)
    (network,), m = model.networks, len(model.networks[0].from_left)
    short = [(words[:n], tags[:n]) for n in (1, 2, 3) for words, tags in SENTENCES[:1]]
    encoded = [model.words.encode(*sentence) for sentence in (*short, *SENTENCES)]
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    size = offsets[-1] - len(encoded)
    gaps, own = np.zeros(4 * m * size, dtype=np.float32), np.zeros(size, dtype=np.float32)
    network = SentenceEncoder.prepare(network)
    encode_gaps(network, np.concatenate(encoded), offsets, gaps, own)
    at = 0
    for numbers in encoded:
        here = len(numbers) - 1
        single, own_single = np.zeros(4 * m * here, dtype=np.float32), np.zeros(here, dtype=np.float32)
        encode_gaps(network, numbers, np.array([0, here + 1], dtype=np.int32), single, own_single)
        assert np.array_equal(gaps[4 * m * at : 4 * m * (at + here)], single) and single.any()
        assert np.array_equal(own[at : at + here], own_single)
        at += here
    assert at == size


@pytest.mark.parametrize("n_chains", [2, 3, 4, 9])
def test_marginals_have_the_two_likeliest_chains(n_chains: int) -> None:
    """-1 if there is only one; spans whose probability of being a constituent is below `least` are left out."""
    rng, c = np.random.default_rng(n_chains), 60
    spans = rng.integers(0, 9, (c, 2)).astype(np.int32)
    posteriors, chain_probs = rng.random(c), rng.dirichlet(np.full(n_chains, 0.5), c)
    logs = np.log(chain_probs + 1e-12).astype(np.float32)
    kept, span_probs = np.zeros((c, 2), np.int32), np.zeros(c)
    chains, two_best = np.zeros((c, 2), np.int32), np.zeros((c, 2))
    count = constituent_marginals(spans, posteriors, logs, 0.1, kept, span_probs, chains, two_best)
    span_prob = posteriors * (1 - np.exp(logs[:, 0].astype(float)))
    rows = np.flatnonzero(span_prob >= 0.1)
    assert count == len(rows) and 0 < count < c
    assert np.array_equal(kept[:count], spans[rows]) and np.allclose(span_probs[:count], span_prob[rows], atol=1e-6)
    for place, row in enumerate(rows):
        best = sorted(range(1, n_chains), key=lambda chain: -logs[row, chain])[:2]
        assert chains[place].tolist() == [*best, -1][:2]
        wanted = [posteriors[row] * chain_probs[row, chain] for chain in best] + [0.0]
        assert two_best[place] == pytest.approx(wanted[:2], abs=1e-6)


@pytest.mark.parametrize("sizes", [{}, {"width": 8}, {"layers": 1}, {"layers": 3, "projection": 4}])
def test_scores_of_spans_and_labels(sizes: dict[str, int]) -> None:
    model = random_model(2, **sizes)
    (gaps, own, layer), plain = read(model)
    n = gaps.shape[2] - 1
    scores = np.empty((n + 1, n + 1), dtype=np.float32)
    score_spans(gaps, own, 0, n, scores)
    right = np.mean([found[0] for found in plain], axis=0)
    for i in range(n):
        assert scores[i, i + 1] == 0
        assert np.allclose(scores[i, i + 2 :], right[i, i + 2 :], atol=5e-3)
    spans = np.array([(0, n), (1, 3), (2, 3)], dtype=np.int32)
    out = np.empty((3, len(CHAINS)), dtype=np.float32)
    label_spans(gaps, layer, spans, out)
    for c, (i, j) in enumerate(spans.tolist()):
        logs = np.mean(
            [reference.label_logs(net, *found[1:], i, j) for net, found in zip(model.networks, plain, strict=True)],
            axis=0,
        )
        assert np.allclose(out[c], logs - np.logaddexp.reduce(logs), atol=5e-3)


def test_scores_of_a_part_are_those_of_the_whole() -> None:
    (gaps, own, *_), _ = read(random_model(2))
    whole, part = np.empty((8, 8), dtype=np.float32), np.empty((5, 5), dtype=np.float32)
    score_spans(gaps, own, 0, 7, whole)
    score_spans(gaps, own, 2, 6, part)
    assert np.allclose(np.triu(part, 2), np.triu(whole[2:7, 2:7], 2), atol=1e-5)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("penalty", [0.0, 0.3, 0.5, 0.7])
def test_the_tree_has_the_greatest_expected_number_of_right_labels(seed: int, penalty: float) -> None:
    model = random_model(1, seed)
    parts, plain = read(model, 2)
    n = parts[0].shape[2] - 1
    scores, label_left, label_right = plain[0]
    _, posterior = reference.posteriors(scores)
    posterior[np.arange(n), np.arange(1, n + 1)] = 1
    gain, best_label, logs = {}, {}, {}
    for i in range(n):
        for j in range(i + 1, n + 1):
            log = reference.label_logs(model.networks[0], label_left, label_right, i, j)
            log -= np.logaddexp.reduce(log)
            label = int(np.argmax(log[1:])) + 1
            gain[i, j] = SIZES[label] * (posterior[i, j] * (1 - np.exp(log[0])) - penalty)
            best_label[i, j], logs[i, j] = label, log[label]
    best = max(sum(max(gain[span], 0) for span in tree) for tree in reference.binary_trees(0, n))
    items, costs = np.empty((4 * n, 3), np.int32), np.empty(4 * n)
    found, tried = decode(*parts, CHAIN_FROM, CHAIN_LABELS, 0, n, 1e-30, penalty, items, costs)
    assert tried == n * (n + 1) // 2
    chosen: dict[tuple[int, int], list[str]] = {}
    for i, j, label in items[:found].tolist():
        chosen.setdefault((i, j), []).append(NAMES[label])
    assert list(chosen) == sorted(chosen, key=lambda span: (span[0], -span[1])), "pre-order"
    assert sum(gain[span] for span in chosen) == pytest.approx(best, abs=5e-3)
    for span, chain in chosen.items():
        assert tuple(chain) == CHAINS[best_label[span]]
    for (i, j, _), cost in zip(items[:found].tolist(), costs, strict=False):
        assert cost == pytest.approx(-np.log(posterior[i, j]) - logs[i, j], abs=2e-2)


@pytest.mark.parametrize("penalty", [0.0, 0.4, 0.49])
def test_of_crossing_spans_that_are_equally_good_one_is_taken(penalty: float) -> None:
    gaps, own = np.zeros((1, 4, 4, 5), dtype=np.float32), np.zeros((1, 4), dtype=np.float32)
    weights = np.zeros((1, 5, len(CHAINS)), dtype=np.float32)
    bias = np.array([[-9, 9, -9, -9, -9, -9]], dtype=np.float32)  # all are NP, so [0, 2) and [1, 3) have a half each
    layer = LabelLayer(weights, bias, np.empty((1, 0, 5), dtype=np.float32))
    items, costs = np.empty((12, 3), np.int32), np.empty(12)
    found, tried = decode(gaps, own, layer, CHAIN_FROM, CHAIN_LABELS, 0, 3, 0.01, penalty, items, costs)
    assert tried == 6
    assert items[:found, :2].tolist() == [[0, 3], [0, 1], [1, 3], [1, 2], [2, 3]], "the leftmost split"


def test_extreme_scores_are_summed_in_logarithms() -> None:
    (gaps, own, layer), _ = read(random_model(1))
    gaps[:, LEFT] *= np.float32(1e4)
    own *= np.float32(1e4)
    n = gaps.shape[2] - 1
    scores, best = np.empty((n + 1, n + 1), dtype=np.float32), np.empty((n + 1, n + 1), dtype=np.float32)
    inside, right, room = np.empty((n + 1, n + 1)), np.empty((n + 1, n + 1)), np.empty((n + 1, n + 1))
    score_spans(gaps, own, 0, n, scores)
    assert np.isnan(span_posteriors(scores, n, best_inside(scores, n, best), inside, right, room))
    log_posteriors(scores, n, inside, right)
    spans, posteriors, logs = span_probabilities(gaps, own, layer, 0, n, 0.0)
    assert len(spans) == n * (n + 1) // 2 and np.isfinite(posteriors).all() and np.isfinite(logs).all()
    for (i, j), posterior in zip(spans.tolist(), posteriors, strict=True):
        assert posterior == pytest.approx(1 if j - i == 1 else right[i, j], abs=1e-9)


def test_spans_of_a_sentence_without_some_gaps() -> None:
    (gaps, own, layer), _ = read(random_model(2))
    n = gaps.shape[2] - 1
    whole = probable_spans(gaps, own, 0, n, 0.05)
    two_best = span_probabilities(gaps, own, layer, 0, n, 0.05)
    assert all(np.array_equal(a, b) for a, b in zip(whole, two_best, strict=False))
    ends = np.array([0, 1, 3, 4, n])
    part = np.ascontiguousarray(gaps[:, :2][:, :, ends]), np.ascontiguousarray(own[:, ends])
    scores = np.empty((n + 1, n + 1), dtype=np.float32)
    score_spans(gaps, own, 0, n, scores)
    _, right = reference.posteriors(scores[np.ix_(ends, ends)])
    spans, posteriors = probable_spans(*part, 0, 4, 0.0)
    assert spans.tolist() == [[i, j] for i in range(4) for j in range(i + 1, 5)], "in order"
    for (i, j), posterior in zip(spans.tolist(), posteriors, strict=True):
        assert posterior == pytest.approx(1 if j - i == 1 else right[i, j], abs=1e-5)
