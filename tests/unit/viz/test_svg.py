"""SVG trees."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree

import pytest

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees import Tree, parse_tree
from spacy_dtparse.viz import svg_tree
from tests.unit.trees import naive

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(svg: str, kind: str) -> list[tuple[float, float, str]]:
    """(x, y, text) of all texts of a class."""
    root = ElementTree.fromstring(svg)
    found = [node for node in root.iter(f"{NAMESPACE}text") if node.get("class") == kind]
    return [(float(node.get("x")), float(node.get("y")), node.text or "") for node in found]


def test_all_parts_are_drawn_in_place():
    rng = random.Random(3)
    for _ in range(60):
        tree = naive.random_tree(rng, rng.randint(1, 12))
        svg = svg_tree(tree)
        root = ElementTree.fromstring(svg)
        words, tags, labels = (texts(svg, kind) for kind in ("word", "tag", "label"))
        assert [text for _, _, text in words] == list(tree.words)
        assert [text for _, _, text in tags] == list(tree.tags)
        assert [text for _, _, text in labels] == list(tree.labels)
        assert len({y for _, y, _ in words}) == 1
        assert [x for x, _, _ in words] == sorted(x for x, _, _ in words)
        width, height = float(root.get("width")), float(root.get("height"))
        assert all(0 < x < width and 0 < y < height for x, y, _ in words + tags + labels)
        for k, (start, end, _label) in enumerate(tree.spans()):  # above its own tokens
            assert words[start][0] <= labels[k][0] <= words[end - 1][0]
            assert labels[k][1] < tags[start][1]
        edges = list(root.iter(f"{NAMESPACE}path"))
        assert len(edges) == len(tree) - 1 + tree.n_tokens


def test_words_do_not_overlap():
    tree = parse_tree("(NP (NN extraordinarily) (NN i) (NNS internationalisations) (NML (NN x)))")
    middles = [x for x, _, _ in texts(svg_tree(tree), "word")]
    for (a, word), (b, after) in zip(
        list(zip(middles, tree.words, strict=True)),
        list(zip(middles, tree.words, strict=True))[1:],
        strict=False,
    ):
        assert b - a >= 8 * (len(word) + len(after)) / 2


def test_escapes_text():
    tree = Tree(["<b>&\"'", "a\x00b", "\u202eevil"], ["<", "&", "X"], ["TOP", "A<&>"], [0, 0], [3, 2])
    svg = svg_tree(tree)
    assert [text for _, _, text in texts(svg, "word")] == ["<b>&\"'", "a\ufffdb", "\ufffdevil"]
    assert texts(svg, "label")[1][2] == "A<&>"
    assert "<b>" not in svg
    assert ElementTree.fromstring(svg_tree(tree, title='"><script>')).get("aria-label") == '"><script>'
    assert "<script>" not in svg_tree(tree, title='"><script>')


def test_self_contained_and_deterministic():
    tree = parse_tree("(S (NP (NN Ink)) (VP (VBZ dries)))")
    svg = svg_tree(tree)
    assert svg == svg_tree(parse_tree(str(tree)))
    assert not re.search(r"href|url\(|<script|@import|<image", svg)
    assert ElementTree.fromstring(svg).get("aria-label") == "Ink dries"


def test_right_to_left_is_the_mirror():
    tree = parse_tree("(S (NP (NN \u05d3\u05d9\u05d5)) (VP (VB \u05e0\u05d2\u05de\u05e8\u05ea)))")
    left, right = svg_tree(tree), svg_tree(tree, direction="rtl")
    width = float(ElementTree.fromstring(left).get("width"))
    for kind in ("word", "label"):
        for (a, y, text), (b, z, same) in zip(texts(left, kind), texts(right, kind), strict=True):
            assert (a + b, y, text) == (pytest.approx(width), z, same)


def test_without_tags():
    tree = parse_tree("(S (NP (NN Ink)) (VP (VBZ dries)))")
    assert texts(svg_tree(tree, tags=False), "tag") == []


def test_themes():
    tree = parse_tree("(S (NP (NN Ink)) (VP (VBZ dries)))")
    light, dark = svg_tree(tree), svg_tree(tree, theme="dark")
    assert light == svg_tree(tree, theme="light") and 'fill="white"' in light
    assert 'fill="#0d1117"' in dark and "#1f4e79" not in dark
    assert texts(light, "label") == texts(dark, "label")
    assert 'fill="black"' in svg_tree(tree, theme="dark", background="black")


def test_bad_options():
    tree = parse_tree("(NP (NN ink))")
    with pytest.raises(ConfigError, match="theme='blue'; allowed are 'light' and 'dark'"):
        svg_tree(tree, theme="blue")
    with pytest.raises(ConfigError, match="direction='up'; allowed are 'ltr' and 'rtl'"):
        svg_tree(tree, direction="up")
    with pytest.raises(ConfigError, match=r"background=.*give a CSS colour"):
        svg_tree(tree, background='"/><script>')
    assert "<rect" not in svg_tree(tree, background="none")
    assert 'fill="#ffe"' in svg_tree(tree, background="#ffe")


@pytest.mark.parametrize(
    "text", ["(S " * 5000 + "(X x)" + ")" * 5000, "(S (X x) " * 5000 + "(X x)" + ")" * 5000]
)
def test_deep_trees(text):
    svg = svg_tree(parse_tree(text))
    assert len(texts(svg, "label")) == 5001
    assert len(svg) < 3_000_000
