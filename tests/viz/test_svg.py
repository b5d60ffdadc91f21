"""SVG trees."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree

import pytest

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees import Tree, parse_tree
from spacy_dtparse.viz.svg import Look, svg_trees
from tests.trees import naive

NAMESPACE = "{http://www.w3.org/2000/svg}"


def svg_tree(tree, probabilities=None, **look):
    return svg_trees([tree], Look(**look), None if probabilities is None else [probabilities])


def texts(svg: str, kind: str) -> list[tuple[float, float, str]]:
    """(x, y, text) of all texts of a class."""
    root = ElementTree.fromstring(svg)
    found = [node for node in root.iter(f"{NAMESPACE}text") if kind in node.get("class", "").split()]
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
        list(zip(middles, tree.words, strict=True)), list(zip(middles, tree.words, strict=True))[1:], strict=False
    ):
        assert b - a >= 8 * (len(word) + len(after)) / 2


def test_escapes_text():
    tree = Tree(["<b>&\"'", "a\x00b", "\u202eevil"], ["<", "&", "X"], ["TOP", "A<&>"], [0, 0], [3, 2])
    svg = svg_tree(tree)
    assert [text for _, _, text in texts(svg, "word")] == ["<b>&\"'", "a\ufffdb", "\ufffdevil"]
    assert texts(svg, "label")[1][2] == "A<&>"
    assert "<b>" not in svg
    evil = svg_tree(parse_tree('(S (X "><script>))'))
    assert ElementTree.fromstring(evil).get("aria-label") == '"><script>' and "<script>" not in evil


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


def test_theme_auto_has_the_colours_of_both():
    svg = svg_tree(parse_tree("(S (NP (NN Ink)) (VP (VBZ dries)))"), theme="auto")
    light, dark = svg.split("@media (prefers-color-scheme:dark)")
    assert ".dtparse-auto .ground{fill:white}" in light and ".dtparse-auto .ground{fill:#0d1117}" in dark
    assert 'class="ground"' in svg and ElementTree.fromstring(svg).get("class") == "dtparse-auto"


def classes(svg: str) -> dict[str, set[str]]:
    """The classes of each label's texts."""
    found: dict[str, set[str]] = {}
    for node in ElementTree.fromstring(svg).iter():
        if "label" in node.get("class", "").split():
            found.setdefault(node.text or "", set()).add(node.get("class", ""))
    return found


def test_a_label_has_one_colour_everywhere():
    tree = parse_tree("(S (NP (NN Ink)) (VP (VBZ dries) (NP-TMP (NN today)) (XYZ (NN x))))")
    down, side = (classes(svg_tree(tree, layout=layout)) for layout in ("down", "side"))
    assert down == side and all(len(own) == 1 for own in down.values())
    assert down["NP"] == down["NP-TMP"] != down["VP"]
    assert set.union(*classes(svg_tree(tree, colors=False)).values()) == {"label"}
    svg = svg_tree(tree, colors={"VP": "#123456"})
    assert svg.count("fill:#123456") == 1 and classes(svg)["NP"] == down["NP"]


def test_probabilities_stand_with_their_labels():
    tree = parse_tree("(S (NP (NN Ink)) (VP (VBZ dries)))")
    svg = svg_tree(tree, probabilities=[None, 1.0, 0.5, 0.123])
    assert [text for _, _, text in texts(svg, "probability")] == ["1.00", "0.50", "0.12"]
    labels = texts(svg, "label")[1:]
    assert all(
        a == x and 0 < y - b < 15 for (x, y, _), (a, b, _) in zip(texts(svg, "probability"), labels, strict=True)
    )
    side = "".join(
        ElementTree.fromstring(svg_tree(tree, probabilities=[None, 1.0, 0.5, 0.123], layout="side")).itertext()
    )
    assert "NP0.50 ── NN  Ink" in side and "VP0.12" in side


def test_the_layout_side_is_narrow():
    rng = random.Random(4)
    for size in (1, 5, 60, 120):
        tree = naive.random_tree(rng, size)
        root = ElementTree.fromstring(svg_tree(tree, layout="side"))
        lines = list(root.iter(f"{NAMESPACE}text"))
        assert len(lines) == tree.n_tokens + sum(len(own) > 1 for own in tree.child_lists())
        words = [node.text for node in root.iter(f"{NAMESPACE}tspan") if node.get("class") == "word"]
        assert words == list(tree.words)
        assert all(float(node.get("y")) < float(root.get("height")) for node in lines)
    long = parse_tree("(S " + "".join(f"(NP (DT the) (NN word{i}))" for i in range(30)) + ")")
    down, side = (svg_tree(long, layout=layout) for layout in ("down", "side"))
    assert float(ElementTree.fromstring(side).get("width")) < 300 < float(ElementTree.fromstring(down).get("width"))
    assert svg_tree(long, layout="auto") == side
    assert "direction:rtl" in svg_tree(long, layout="side", direction="rtl")


def test_a_drawing_keeps_its_colours_next_to_another():
    """The style rules of two drawings apply to the whole page, so the palette's must override the default colours."""
    style = svg_tree(parse_tree("(VP (VBZ dries))")).partition("<style>")[2].partition("</style>")[0]
    assert "svg.dtparse-light .label{fill:" in style and "svg.dtparse-light .c1.c1{fill:" in style
    selectors = [part for rule in style.split("}")[:-1] for part in rule.partition("{")[0].split(",")]
    assert all(selector.startswith("svg.dtparse-light ") for selector in selectors)  # none is for "spans" or the page


def test_bad_options():
    tree = parse_tree("(NP (NN ink))")
    with pytest.raises(ConfigError, match="theme='blue'; allowed are 'light', 'dark', 'auto'"):
        svg_tree(tree, theme="blue")
    with pytest.raises(ConfigError, match="direction='up'; allowed are 'ltr' and 'rtl'"):
        svg_tree(tree, direction="up")
    with pytest.raises(ConfigError, match=r"background=.*give a CSS colour"):
        svg_tree(tree, background='"/><script>')
    with pytest.raises(ConfigError, match="layout='up'; allowed are 'auto', 'down', 'side'"):
        svg_tree(tree, layout="up")
    with pytest.raises(ConfigError, match="colors=3; allowed are True, False, or a mapping"):
        svg_tree(tree, colors=3)
    with pytest.raises(ConfigError, match=r"colors\['NP'\]=.*give a CSS colour"):
        svg_tree(tree, colors={"NP": "red;}"})
    assert "<rect" not in svg_tree(tree, background="none")
    assert 'fill="#ffe"' in svg_tree(tree, background="#ffe")


@pytest.mark.parametrize("text", ["(S " * 5000 + "(X x)" + ")" * 5000, "(S (X x) " * 5000 + "(X x)" + ")" * 5000])
def test_deep_trees(text):
    svg = svg_tree(parse_tree(text))
    assert len(texts(svg, "label")) == 5001
    assert len(svg) < 3_000_000
