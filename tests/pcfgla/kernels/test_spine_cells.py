"""Cells of a chart that spines allow: the kernel against enumerated constituents, masks against binarised trees."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from spacy_dtparse.core.supertags import SupertagCandidates, SupertagIndex
from spacy_dtparse.pcfgla.kernels.spine_cells import spine_cells
from spacy_dtparse.pcfgla.model.model import PART, PcfgModel, part_side
from spacy_dtparse.pcfgla.spine_masks import SpineMasks
from spacy_dtparse.trees import Tree, directional_spines, format_directional, format_spine, spines
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.reference.spine_cells import POSITIONS, SIDES, Spine, cells
from tests.reference.states import random_tree
from training.data.corpus import Sentence, read_treebank, training_tree
from training.pcfgla import BINARISATIONS, BinaryTree, Markov, PcfgOptions, Symbol, binarise, train_pcfg

pytestmark = KERNEL_MARKS
LABELS = ("NP", "VP", "S", "TOP")
TAGS = ("DT", "NN", "VBD", "IN", ",")
SAMPLE = Path(__file__).resolve().parents[3] / "assets" / "sample" / "train.mrg"
KINDS = {
    "directional": lambda tree: [format_directional(spine) for spine in directional_spines(tree)],
    "plain": lambda tree: [format_spine(spine) for spine in spines(tree)],
}


def random_spine(rng: random.Random, kind: str) -> Spine:
    labels = tuple(rng.choice(LABELS[:-1]) for _ in range(rng.randint(0, 3)))
    if kind == "plain" or (kind == "mixed" and rng.random() < 0.3):
        return Spine(labels, (SIDES,) * len(labels), POSITIONS)
    return Spine(labels, tuple((rng.choice(SIDES),) for _ in labels), rng.choice(POSITIONS))


def text_of(spine: Spine) -> str:
    if spine.places == POSITIONS:
        return "+".join(spine.labels) or "-"
    return spine.places + ("+".join(a + b for a, (b,) in zip(spine.labels, spine.sides, strict=True)) or "-")


@pytest.mark.parametrize("with_root", [False, True])
@pytest.mark.parametrize("kind", ["plain", "directional", "mixed"])
def test_cells_are_those_of_all_constituents_that_spines_can_head(kind, with_root):
    rng, reader = random.Random(kind), SupertagIndex([*LABELS[:-1], None])
    left = 0
    for n in range(1, 5 if SLOW else 8):
        for _ in range(3 if SLOW else 40):
            candidates = [[random_spine(rng, kind) for _ in range(rng.randint(1, 3))] for _ in range(n)]
            flat = reader.spines([[(text_of(spine), 1.0) for spine in word] for word in candidates], 1.0)
            assert flat is not None and len(flat.ends) == sum(map(len, candidates))
            n_cells = n * (n + 1) // 2
            opens, closes = np.zeros((2, n), np.uint8)
            phrases, parts = np.zeros((n_cells, len(LABELS)), np.uint8), np.zeros((2, n_cells), np.uint8)
            spine_cells(flat, with_root, opens, closes, phrases, *parts)
            spans = [(i, j) for j in range(1, n + 1) for i in range(j)]
            expected = cells(candidates, with_root)
            assert set(np.flatnonzero(opens).tolist()) == expected.opens
            assert set(np.flatnonzero(closes).tolist()) == expected.closes
            found = {(*spans[cell], LABELS[label]) for cell, label in np.argwhere(phrases).tolist()}
            assert found == expected.phrases
            for row, wanted in zip(parts, (expected.left_parts, expected.right_parts), strict=True):
                assert {spans[cell] for cell in np.flatnonzero(row).tolist()} == wanted
                left += len(wanted)
            assert max(phrases.max(), parts.max()) <= 1
    assert left


def rooted(tree: Tree) -> Tree:
    """The tree without its highest constituent below the root: the root has its children."""
    spans = tree.spans()
    return Tree.from_spans(tree.words, tree.tags, [spans[0], *spans[2:]])


@cache
def forest() -> list[Tree]:
    rng = random.Random(1)
    made = []
    for n in range(1, 5 if SLOW else 10):
        for _ in range(4 if SLOW else 30):
            made.append(random_tree(rng, tuple(rng.choice(TAGS) for _ in range(n)), LABELS, rng.randint(2, 5)))
            made.append(rooted(made[-1]))
    return made


def trained(trees: list[Tree], markov: Markov | None = None) -> PcfgModel:
    return train_pcfg([Sentence(tree, tree.tags, "") for tree in trees], PcfgOptions(markov or Markov()))


def node_spans(tree: BinaryTree) -> list[tuple[int, int]]:
    """The span of each node of a binarised tree."""
    spans = [(0, 0)] * len(tree.symbols)
    for k in range(len(tree.symbols) - 1, -1, -1):
        last = tree.right[k] if tree.right[k] >= 0 else tree.left[k]
        token = tree.token[k]
        spans[k] = (token, token + 1) if token >= 0 else (spans[tree.left[k]][0], spans[last][1])
    return spans


def name(symbol: Symbol) -> str:
    return f"{symbol}.tag" if symbol.kind == "tag" else str(symbol)


def supertags_of(tree: Tree, kind: str) -> SupertagCandidates:
    return [[(text, 1.0)] for text in KINDS[kind](tree)]


@pytest.mark.parametrize("binarisation", BINARISATIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", ["random", "sample"])
def test_categories_of_a_tree_leave_all_its_nodes(source, kind, binarisation):
    """Every constituent, part and tag of the binarised tree over its cell; and not everything over all cells."""
    if source == "random":
        trees = forest()
    else:
        trees = [training_tree(sentence, PcfgOptions().recipe) for sentence in read_treebank(SAMPLE)]
        trees = [tree for tree in trees if len(tree.words) <= (6 if SLOW else 40)][: 5 if SLOW else 120]
    markov = Markov(1, 0, binarisation, 1)
    model = trained(trees, markov)
    masks, number = SpineMasks(model), {name: k for k, name in enumerate(model.coarse.names)}
    is_part = model.coarse.kind == PART
    phrases_left_out = parts_left_out = n_parts = 0
    for tree in trees:
        mask = masks.mask(supertags_of(tree, kind), 1.0)
        assert mask is not None and mask.n_supertags == len(tree.words)
        binary = binarise(tree, markov)
        for symbol, (i, j) in zip(binary.symbols, node_spans(binary), strict=True):
            assert mask.allowed[j * (j - 1) // 2 + i, number[name(symbol)]], (str(tree), str(symbol), i, j)
            n_parts += symbol.kind == "part"
        phrases_left_out += int((mask.allowed[:, ~is_part] == 0).sum())
        parts_left_out += int((mask.allowed[:, is_part] == 0).sum())
    assert n_parts and phrases_left_out
    assert (parts_left_out > 0) == binarisation.startswith("center")


def test_lower_betas_and_weaker_categories_leave_more():
    masks, rng, wider = SpineMasks(trained(forest())), random.Random(4), 0
    for tree in forest():
        own = [(text, 1.0) for text in KINDS["directional"](tree)]
        more = [[one, (text_of(random_spine(rng, "directional")), 0.1)] for one in own]
        narrow, wide, plain = masks.mask(more, 0.5), masks.mask(more, 0.1), masks.mask(supertags_of(tree, "plain"), 1.0)
        assert narrow is not None and wide is not None and plain is not None
        assert (narrow.n_supertags, wide.n_supertags) == (len(own), 2 * len(own))
        assert np.all(narrow.allowed <= wide.allowed) and np.all(narrow.allowed <= plain.allowed)
        wider += int(wide.allowed.sum() - narrow.allowed.sum())
    assert wider


def test_only_the_root_label_is_the_root():
    """The root covers the whole sentence, whatever the supertags."""
    model = trained(forest())
    masks, root = SpineMasks(model), model.root(model.coarse)
    for text in ("TOP", "(-", "-", ".NP"):
        mask = masks.mask([[(text, 1.0)]] * 3, 1.0)
        if text == "TOP":
            assert mask is None
        else:
            assert mask is not None and np.flatnonzero(mask.allowed[:, root]).tolist() == [3]


def test_parts_with_ambiguous_names_are_not_pruned():
    for label in ("NP", "@A|left<>", "a|b", "|right", "left", "X|left<NP>|right<>"):
        for side in ("left", "right"):
            for memory in ((), ("NP", label)):
                symbol = Symbol("part", label, ("S",), side, memory)
                assert part_side(str(symbol)) in (side, "")
                assert part_side(str(symbol)) == side or "|" in label
    assert [part_side(text) for text in ("@NP|left:2<A B C>", "@NP^S|right<>", "@NP", "")] == ["left", "right", "", ""]
