"""Text trees."""

from __future__ import annotations

import random

import pytest

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees import Tree, parse_tree
from spacy_dtparse.viz import text_tree
from spacy_dtparse.viz.text import clusters, columns
from tests.trees import naive

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
            text = text_tree(tree, width=width, probabilities=[0.5] * len(tree))
            assert max(map(columns, text.split("\n"))) <= width
            letters = "".join(c for c in text if c.isalnum())
            assert all(word in letters for word in tree.words)
    long = Tree(["x" * 100, "東" * 30], ["X", "Y"], ["TOP", "A"], [0, 0], [2, 1])
    text = text_tree(long, width=30)
    assert max(map(columns, text.split("\n"))) <= 30 and text.count("x") == 100 and text.count("東") == 30
    assert text_tree(TREE, width=80) == text_tree(TREE)


def test_scores_follow_labels():
    probabilities = [None, 0.5, 1.0, 0.256, 0.0]
    assert text_tree(TREE, probabilities=probabilities).split("\n")[:2] == ["TOP ── S 0.50", "├─ NP 1.00"]
    assert "VP 0.26" in text_tree(TREE, probabilities=probabilities, layout="down")


def test_bad_values():
    with pytest.raises(ConfigError, match="layout='up'; allowed are 'auto', 'down', 'side'"):
        text_tree(TREE, layout="up")
    for width in (19, True, 80.0, "80"):
        with pytest.raises(ConfigError, match="give the columns of a line, a whole number from 20"):
            text_tree(TREE, width=width)


WORDS = {
    "می\u200cخواهم": (["م", "ی\u200c", "خ", "و", "ا", "ه", "م"], 7),  # Persian: a non-joiner
    "क्\u200dष": (["क्\u200d", "ष"], 2),  # Hindi: virama and joiner
    "हिन्दी": (["हि", "न्", "दी"], 5),
    "\U0001f468\u200d\U0001f469\u200d\U0001f467": (["\U0001f468\u200d\U0001f469\u200d\U0001f467"], 2),  # a family
    "\u2764\ufe0f\u200d\U0001f525": (["\u2764\ufe0f\u200d\U0001f525"], 2),
    "\U0001f44d\U0001f3fd!": (["\U0001f44d\U0001f3fd", "!"], 3),  # a skin tone
    "\U0001f1eb\U0001f1f7\U0001f1e9\U0001f1ea": (["\U0001f1eb\U0001f1f7", "\U0001f1e9\U0001f1ea"], 4),  # two flags
    "co\u00adope\u00adrate": (["c", "o\u00ad", "o", "p", "e\u00ad", "r", "a", "t", "e"], 9),
    "e\u0301te\u0301": (["e\u0301", "t", "e\u0301"], 3),
    "\u200bword": (["\u200bw", "o", "r", "d"], 4),
    "東京": (["東", "京"], 4),
    "a\u2060b\ufeff": (["a\u2060", "b\ufeff"], 2),
}


@pytest.mark.parametrize("word", WORDS)
def test_words_with_joiners_and_marks(word):
    assert (clusters(word), columns(word)) == WORDS[word]
    tree = Tree([word, "end", word], ["X", "X", "X"], ["TOP", "NP"], [0, 1], [3, 3])
    for layout in ("side", "down"):
        shown = text_tree(tree, layout=layout)
        assert "\ufffd" not in shown and shown.count(word) == 2
    rows = text_tree(tree, layout="down", tags=False).split("\n")
    assert rows[-1] == f"{word}  end  {word}"
    long = Tree([word * 12], ["X"], ["TOP"], [0], [1])
    lines = text_tree(long, width=20).split("\n")
    assert all(columns(line) <= 20 for line in lines)
    assert "".join(line.strip(" ") for line in lines).endswith(word * 12)
    starts = {one[0] for one in clusters(word * 2)}
    assert all(line.lstrip(" ")[0] in starts for line in lines[1:])  # never inside a cluster


def test_characters_that_reorder_or_break_lines_are_replaced():
    tree = Tree(["a\u202eb", "c\u2066d", "e\x07f", "g\u2028h"], ["X"] * 4, ["TOP"], [0], [4])
    assert text_tree(tree).count("\ufffd") == 4
