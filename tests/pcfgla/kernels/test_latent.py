"""Latent charts against every tree of a short sentence: probabilities, posteriors of rules, and the best tree."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from spacy_dtparse.dtypes import OFFSET
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.pcfgla.kernels.latent import ANCHOR, UNARY, WORD
from spacy_dtparse.pcfgla.kernels.latent_trees import max_rule_tree, read_tree
from spacy_dtparse.pcfgla.latent import (
    MIN_POSTERIOR,
    Leaves,
    PackedForest,
    allocate_chart,
    best,
    flatten,
    forest,
    join,
    narrow_allowed,
    pack,
    posteriors,
    spans_of_cells,
)
from spacy_dtparse.pcfgla.model.latent_part import Emissions, LatentPart
from tests.jit.harness import KERNEL_MARKS, SLOW

pytestmark = KERNEL_MARKS

# Symbols: 0 root, 1 and 2 phrases, 3 and 4 tags. Rules: root over a phrase, binary ones, chains of two phrases, tags.
RULES = [
    (0, 1, -1), (0, 2, -1), (1, 1, 2), (1, 3, 2), (1, 2, 3), (2, 2, 1), (2, 4, 4), (2, 3, 4), (1, 2, -1), (2, 3, -1),
    (1, 4, -1), (2, 1, 4), (1, 3, 3),
]  # fmt: skip
TAGS = (3, 4)


def decode(*given, **options):
    """The best tree of a forest, None if there is none."""
    found = forest(*given, **options)
    return None if found is None else best(found)


def random_part(seed: int, most: int = 3) -> LatentPart:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, most + 1, 5).astype(np.int32)
    sizes[0] = 1
    wide = np.append(sizes, 1)
    rules = np.array(RULES, dtype=np.int32)
    blocks = [rng.uniform(0.0, 1.0, (int(wide[b]) * int(wide[c]), int(wide[a]))) for a, b, c in RULES]
    for parent in range(5):  # the probabilities of a latent value sum to less than one
        mine = [block for rule, block in zip(RULES, blocks, strict=True) if rule[0] == parent]
        total = sum(block.sum(axis=0) for block in mine) if mine else 1.0
        for block in mine:
            block *= 0.8 / total
    total = int(sizes.sum())
    emissions = Emissions(
        np.array([0, 0], dtype=OFFSET), np.zeros(0, dtype=np.int32), np.zeros(0), np.full(total, -1.0)
    )
    return LatentPart(sizes, rules, np.concatenate([block.ravel() for block in blocks]), emissions)


def block_of(part: LatentPart, rule: int) -> np.ndarray:
    a, b, c = RULES[rule]
    values = part.values[part.starts[rule] : part.starts[rule + 1]]
    right = 1 if c < 0 else int(part.sizes[c])
    return values.reshape(int(part.sizes[b]), right, int(part.sizes[a]))


def vectors(part: LatentPart, n: int, seed: int) -> list[list[tuple[int, np.ndarray]]]:
    """Every word may have both tags, but the first only one."""
    rng = np.random.default_rng(seed)
    return [
        [(tag, rng.uniform(0.1, 1.0, int(part.sizes[tag]))) for tag in (TAGS[:1] if t == 0 else TAGS)] for t in range(n)
    ]


def trees(symbol: int, start: int, end: int, chain: int = 0):
    """Every tree of a symbol over [start, end) as a tuple of anchors (start, end, split, rule), top down; unary chains
    of at most three rules."""
    if symbol in TAGS:
        if end == start + 1 and not (start == 0 and symbol == TAGS[1]):
            yield ((start, end, WORD, symbol),)
        return
    for number, (parent, left, right) in enumerate(RULES):
        if parent != symbol:
            continue
        if right < 0:
            if chain < 3:
                for below in trees(left, start, end, chain + 1):
                    yield ((start, end, UNARY, number), *below)
            continue
        for split in range(start + 1, end):
            for one, other in itertools.product(trees(left, start, split), trees(right, split, end)):
                yield ((start, end, split, number), *one, *other)


def probability(part: LatentPart, words, tree) -> float:
    """Sum over all annotations of a tree: a product of blocks, from the words upwards."""
    steps = iter(tree)

    def below() -> np.ndarray:
        start, _, split, rule = next(steps)
        if split == WORD:
            return dict(words[start])[rule]
        block = block_of(part, rule)
        left = below()
        right = np.ones(1) if split == UNARY else below()
        return np.einsum("yzx,y,z->x", block, left, right)

    return float(below()[0])


def number_in_kernel(part: LatentPart) -> dict[tuple[int, int, int], int]:
    k = part.kernel
    rules = zip(k.parent.tolist(), k.left.tolist(), k.right.tolist(), strict=True)
    return {rule: n for n, rule in enumerate(rules)}


def everything(n: int) -> np.ndarray:
    return np.ones((n * (n + 1) // 2, 5), dtype=np.uint8)


LENGTHS = (1, 2, 3) if SLOW else (1, 2, 3, 4)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_posteriors_are_fractions_of_all_trees(n, seed):
    part = random_part(seed)
    words = vectors(part, n, seed)
    every = [(tree, probability(part, words, tree)) for tree in trees(0, 0, n)]
    total = sum(p for _, p in every)
    expected: dict[tuple[int, int, int, int], float] = {}
    for tree, p in every:
        for anchor in tree:
            expected[anchor] = expected.get(anchor, 0.0) + p / total
    anchors, log = posteriors(part.kernel, words, everything(n), 0, 1e-12)
    assert log == pytest.approx(math.log(total), rel=1e-12)
    cells, number = spans_of_cells(n), number_in_kernel(part)
    found = {}
    for anchor in anchors:
        start, end = cells[anchor["cell"]].tolist()
        found[start, end, int(anchor["split"]), int(anchor["rule"])] = math.exp(anchor["posterior"])
    wanted = {
        (start, end, split, rule if split == WORD else number[RULES[rule]]): p
        for (start, end, split, rule), p in expected.items()
    }
    assert set(found) == {key for key, p in wanted.items() if p >= 1e-12}
    for key, value in found.items():
        assert value == pytest.approx(wanted[key], rel=1e-9), key


def anchored(tree) -> list[tuple[int, int, int, tuple[int, ...]]]:
    return [(start, end, split, (rule,) if split == WORD else RULES[rule]) for start, end, split, rule in tree]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("seeds", [(0,), (3,), (0, 1), (2, 4, 6)])
def test_the_best_tree_has_the_greatest_product_of_posteriors(n, seeds):
    parts = [random_part(seed) for seed in seeds]
    words = [vectors(part, n, seed) for part, seed in zip(parts, seeds, strict=True)]
    every = list(trees(0, 0, n))
    logs = [0.0] * len(every)
    for part, of_part in zip(parts, words, strict=True):
        p = [probability(part, of_part, tree) for tree in every]
        expansion_probs: dict = {}
        for tree, value in zip(every, p, strict=True):
            for anchor in tree:
                expansion_probs[anchor] = expansion_probs.get(anchor, 0.0) + value / sum(p)
        for k, tree in enumerate(every):
            logs[k] += sum(min(math.log(max(expansion_probs[anchor], MIN_POSTERIOR)), 0.0) for anchor in tree)
    best = int(np.argmax(logs))
    found = decode([(part.kernel, of) for part, of in zip(parts, words, strict=True)], everything(n), 0)
    assert found is not None and found.score == pytest.approx(logs[best], rel=1e-9, abs=1e-12)
    spans = [(step.start, step.end, step.symbol) for step in found.steps]
    assert spans == [(start, end, rule[0]) for start, end, _, rule in anchored(every[best])]
    assert sum(step.posterior for step in found.steps) == pytest.approx(found.score)


def test_disallowed_symbols_are_in_no_tree():
    part = random_part(1)
    words = vectors(part, 3, 1)
    allowed = everything(3)
    allowed[3 * 2 // 2 + 0, 1] = 0  # no symbol 1 over the whole sentence
    found = decode([(part.kernel, words)], allowed, 0)
    assert found is not None and (0, 3, 1) not in [(s.start, s.end, s.symbol) for s in found.steps]
    allowed[:, 2] = 0
    allowed[:, 1] = 0
    assert decode([(part.kernel, words)], allowed, 0) is None
    assert posteriors(part.kernel, words, np.zeros_like(allowed), 0) is None


def test_narrowing_keeps_symbols_with_a_posterior():
    """The posterior of a symbol in a cell is the sum over the rules that expand it there."""
    part = random_part(4)
    words = vectors(part, 3, 4)
    anchors, _ = posteriors(part.kernel, words, everything(3), 0, 1e-12)
    every = [(tree, probability(part, words, tree)) for tree in trees(0, 0, 3)]
    total = sum(p for _, p in every)
    mass = np.zeros((6, 5))
    for tree, p in every:
        for start, end, _, rule in anchored(tree):
            mass[end * (end - 1) // 2 + start, rule[0]] += p / total
    for least in (1e-9, 0.05, 0.3, 0.9):
        kept = narrow_allowed(part.kernel, anchors, everything(3), least)
        assert kept.tolist() == (mass >= least).astype(int).tolist()
    some = everything(3)
    some[:, 1] = 0
    assert not narrow_allowed(part.kernel, anchors, some, 1e-9)[:, 1].any()


def test_a_pruner_that_leaves_everything_changes_nothing():
    parts = [(random_part(seed).kernel, vectors(random_part(seed), 3, seed)) for seed in (0, 1)]
    plain = decode(parts, everything(3), 0)
    assert decode(parts, everything(3), 0, 1e-12) == plain
    assert decode(parts, everything(3), 0, 0.999) is None  # nothing is left


def test_long_sentences_stay_within_the_range_of_numbers():
    part = random_part(2)
    words = vectors(part, 12 if SLOW else 60, 2)
    tiny = [[(tag, vector * 1e-9) for tag, vector in word] for word in words]
    one, other = (posteriors(part.kernel, of, everything(len(words)), 0) for of in (words, tiny))
    assert one is not None and other is not None
    assert other[1] == pytest.approx(one[1] + len(words) * math.log(1e-9), rel=1e-9)
    assert len(one[0]) == len(other[0]) > 100
    np.testing.assert_allclose(one[0]["posterior"], other[0]["posterior"], atol=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        {"rules": np.zeros((0, 3), dtype=np.int32)},
        {"rules": np.array([[0, 1, 9]], dtype=np.int32)},
        {"rules": np.array([[0, -1, 1]], dtype=np.int32)},
        {"values": np.zeros(3)},
        {"values": "negative"},
        {"sizes": np.array([1, -1, 1, 1, 1], dtype=np.int32)},
    ],
)
def test_parts_that_do_not_fit_are_refused(change):
    part = random_part(0)
    if change.get("values") is not None and isinstance(change["values"], str):
        change = {"values": -part.values}
    fields = {name: getattr(part, name) for name in ("sizes", "rules", "values", "emissions")}
    with pytest.raises(ModelFormatError, match="write the model again"):
        LatentPart(**{**fields, **change})


def walked(found: PackedForest, top: int) -> list[tuple[int, int]]:
    """(cell, symbol) of the best tree in pre-order, by the forest's own parts."""
    steps, stack = [], [(top, found.root)]
    while stack:
        cell, symbol = stack.pop()
        steps.append((cell, symbol))
        stack.extend(reversed(found.parts(cell, int(found.back[cell, symbol]))))
    return steps


@pytest.mark.parametrize("seed", range(3 if SLOW else 8))
def test_steps_of_the_best_tree(seed):
    """With space for its steps and the one that waits meanwhile; too little space is reported."""
    part = random_part(seed)
    for n in range(1, 4 if SLOW else 8):
        found = forest([(part.kernel, vectors(part, n, seed))], np.ones((n * (n + 1) // 2, 5), np.uint8), 0)
        top = n * (n - 1) // 2
        assert found is not None
        expected = walked(found, top)
        of = (found.left, found.right, found.anchors, found.cells, found.back, top, found.root)
        rooms = range(1, len(expected) + 6)
        counts = [int(read_tree(*of, steps := np.full((room, 2), -7, np.int32))) for room in rooms]
        assert steps[: len(expected)].tolist() == [list(step) for step in expected]
        enough = counts.index(len(expected))
        assert counts == [-1] * enough + [len(expected)] * (len(counts) - enough)
        shown = [(*found.cells[cell].tolist(), symbol) for cell, symbol in expected]
        assert [(s.start, s.end, s.symbol) for s in best(found).steps] == shown


def test_leaves_of_a_sentence_are_those_of_its_words():
    part = random_part(1)
    words = [[], *vectors(part, 3, 1)]
    found = join([pack(word) for word in words])
    assert isinstance(found, Leaves) and found.n_words == 4 and found.leaf_from.tolist() == [0, 0, 1, 3, 5]
    by_word = [
        [(int(symbol), found.emissions[at : at + part.sizes[symbol]].tolist()) for symbol, at in found.leaves[low:high]]
        for low, high in itertools.pairwise(found.leaf_from.tolist())
    ]
    assert by_word == [[(symbol, vector.tolist()) for symbol, vector in word] for word in words]
    for own, other in zip(found, flatten(words), strict=True):
        assert np.array_equal(own, other)


def test_a_chain_longer_than_the_allocated_workspace():
    n_symbols = 90  # over one word, each over the next
    parent = np.arange(n_symbols - 1, dtype=np.int32)
    left, right = parent + 1, np.full_like(parent, -1)
    anchors = np.zeros(n_symbols, dtype=ANCHOR)
    anchors["rule"], anchors["split"] = np.arange(n_symbols), UNARY
    anchors["split"][-1] = WORD
    cells, score, back = spans_of_cells(1), np.empty((1, n_symbols)), np.empty((1, n_symbols), np.int32)
    max_rule_tree(parent, left, right, anchors, n_symbols, cells, score, back)
    found = best(PackedForest(parent, left, right, anchors, cells, score, back, 0))
    assert [(step.start, step.end, step.symbol) for step in found.steps] == [(0, 1, at) for at in range(n_symbols)]


def test_vectors_are_stored_without_gaps():
    """Vectors of the allowed symbols, cell by cell, from position 0, without gaps."""
    part = random_part(3)
    allowed = (np.random.default_rng(1).random((6, 5)) < 0.6).astype(np.uint8)
    allowed[2] = 0
    chart, at = allocate_chart(part.kernel, allowed), 0
    for cell, symbol in np.ndindex(allowed.shape):
        assert chart.where[cell, symbol] == (at if allowed[cell, symbol] else -1)
        at += int(part.sizes[symbol]) if allowed[cell, symbol] else 0
    assert len(chart.base) == len(chart.whole) == at
    for cell, row in enumerate(allowed):
        own = chart.symbols[chart.symbol_from[cell] : chart.symbol_from[cell + 1]]
        assert own.tolist() == np.flatnonzero(row).tolist()
