"""Text trees."""

from __future__ import annotations

import random

import pytest

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees import Tree, parse_tree
from spacy_dtparse.viz import text_tree
from spacy_dtparse.viz.text import columns
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


def test_upright():
    assert text_tree(TREE, layout="down", tags=False).split("\n") == [
        "            TOP",
        "             │",
        "             S",
        "   ┌─────────┴──┬───────┐",
        "   NP           VP      │",
        " ┌─┴──┐      ┌──┴──┐    │",
        " │    │      │    ADVP  │",
        " │    │      │     │    │",
        "The  tide  turns  back  .",
    ]


def test_auto_is_upright_where_that_fits():
    upright = text_tree(TREE, layout="down")
    most = max(map(len, upright.split("\n")))
    assert text_tree(TREE, layout="auto", width=most) == upright
    assert text_tree(TREE, layout="auto", width=most - 1) == text_tree(TREE)


def test_upright_trees_lose_nothing():
    rng = random.Random(5)
    for _ in range(100):
        tree = naive.random_tree(rng, rng.randint(1, 12))
        *above, tags, words = text_tree(tree, layout="down").split("\n")
        assert words.split() == list(tree.words) and tags.split() == list(tree.tags)
        shown = "".join(c if c.isalnum() or c in "-*" else " " for c in "\n".join(above)).split()
        assert sorted(shown) == sorted(tree.labels)
        assert text_tree(tree, layout="down", ascii_only=True).isascii()


def test_wide_characters_take_two_columns():
    tree = parse_tree("(S (NP (NN 東京)) (VP (VBZ いい) (ADVP (RB a\u0301b))))")
    lines = text_tree(tree, layout="down").split("\n")
    assert columns("東京") == 4 and columns("a\u0301b") == 2
    assert lines[-1].startswith("東京") and lines[-1].index("a\u0301b") < len(lines[-2])
    assert columns(lines[-1].partition("いい")[0]) >= 5


def test_no_line_is_wider_than_the_width():
    rng = random.Random(6)
    for size in (1, 5, 30, 60):
        tree = naive.random_tree(rng, size)
        for width in (20, 40, 80):
            text = text_tree(tree, width=width, scores=[0.5] * len(tree))
            assert max(map(columns, text.split("\n"))) <= width
            letters = "".join(c for c in text if c.isalnum())
            assert all(word in letters for word in tree.words)
    long = Tree(["x" * 100, "東" * 30], ["X", "Y"], ["TOP", "A"], [0, 0], [2, 1])
    text = text_tree(long, width=30)
    assert max(map(columns, text.split("\n"))) <= 30 and text.count("x") == 100 and text.count("東") == 30
    assert text_tree(TREE, width=80) == text_tree(TREE)


def test_scores_follow_labels():
    scores = [None, 0.5, 1.0, 0.256, 0.0]
    assert text_tree(TREE, scores=scores).split("\n")[:2] == ["TOP ── S 0.50", "├─ NP 1.00"]
    assert "VP 0.26" in text_tree(TREE, scores=scores, layout="down")


def test_bad_values():
    with pytest.raises(ConfigError, match="layout='up'; allowed are 'auto', 'down', 'side'"):
        text_tree(TREE, layout="up")
    for width in (19, True, 80.0, "80"):
        with pytest.raises(ConfigError, match="give the columns of a line, a whole number from 20"):
            text_tree(TREE, width=width)
