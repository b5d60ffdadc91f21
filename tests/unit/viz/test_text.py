"""Text trees."""

from __future__ import annotations

import random

from spacy_dtparse.trees import Tree, parse_tree
from spacy_dtparse.viz import text_tree
from tests.unit.trees import naive

TREE = parse_tree("(S (NP (DT The) (NN tide)) (VP (VBZ turns) (ADVP (RB back))) (. .))")


def test_box_characters():
    assert text_tree(TREE).split("\n") == [
        "TOP ── S",
        "├─ NP",
        "│  ├─ DT  The",
        "│  └─ NN  tide",
        "├─ VP",
        "│  ├─ VBZ  turns",
        "│  └─ ADVP ── RB  back",
        "└─ .  .",
    ]


def test_ascii_without_tags():
    assert text_tree(TREE, ascii_only=True, tags=False).split("\n") == [
        "TOP -- S",
        "+- NP",
        "|  +- The",
        "|  `- tide",
        "+- VP",
        "|  +- turns",
        "|  `- ADVP -- back",
        "`- .",
    ]
    assert text_tree(TREE, ascii_only=True).isascii()


def test_single_token():
    assert text_tree(parse_tree("(INTJ (UH Ah))")) == "TOP ── INTJ ── UH  Ah"


def test_every_token_has_its_line():
    rng = random.Random(2)
    for _ in range(100):
        tree = naive.random_tree(rng, rng.randint(1, 12))
        lines = text_tree(tree).split("\n")
        shown = [line.split("  ")[-1] for line in lines if line.endswith(tuple(tree.words))]
        assert shown == list(tree.words)
        branching = sum(len(children) > 1 for children in tree.child_lists())
        assert len(lines) == tree.n_tokens + branching


def test_control_characters_do_not_break_lines():
    tree = Tree(["a\nb", "\u202ec", "d\u00a0e"], ["X", "", "X"], ["TOP"], [0], [3])
    assert text_tree(tree).split("\n") == ["TOP", "├─ X  a\ufffdb", "├─ \ufffdc", "└─ X  d\u00a0e"]


def test_deep_tree_stays_small():
    text = text_tree(parse_tree("(S (X x) " * 5000 + "(X x)" + ")" * 5000))
    assert text.count("\n") == 10_000
    assert len(text) < 3_000_000
