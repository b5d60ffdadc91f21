"""Drawings in all styles: options, pages, notebook output."""

from __future__ import annotations

import pickle
import xml.etree.ElementTree as ElementTree

import pytest

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees import Tree, parse_tree
from spacy_dtparse.viz import OPTIONS, STYLES, draw, text_tree
from spacy_dtparse.viz.svg import Look, svg_trees

TREE = parse_tree("(S (NP (DT The) (NN tide)) (VP (VBZ turns) (ADVP (RB back))) (. .))")
LONG = parse_tree("(S " + "".join(f"(NP (DT the) (NN word{i}))" for i in range(30)) + ")")
EVIL = Tree(["<script>alert(1)</script>", "&amp;"], ["<i>", "X"], ["TOP", "<b>"], [0, 0], [2, 1])


def test_styles():
    assert draw([TREE]) == svg_trees([TREE], Look(layout="auto"))
    assert draw([TREE, TREE], "text", options={"width": 80, "layout": "side"}) == "\n\n".join([text_tree(TREE)] * 2)
    assert draw([TREE], "text", options={"width": 20}) == text_tree(TREE, width=20)
    assert draw([TREE], "spans").startswith('<div class="dtparse-light spans"')


def test_several_trees_are_one_document():
    root = ElementTree.fromstring(draw([TREE, LONG, TREE]))
    single = [ElementTree.fromstring(draw([tree])) for tree in (TREE, LONG, TREE)]
    assert float(root.get("width")) == max(float(one.get("width")) for one in single)
    assert float(root.get("height")) > sum(float(one.get("height")) for one in single)
    assert "".join(root.itertext()).count("tide") == 2
    ElementTree.fromstring(draw([]))
    assert draw([], "text") == ""


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("theme", ["light", "dark", "auto"])
def test_pages_are_well_formed_and_escaped(style, theme):
    options = {} if style == "text" else {"theme": theme}
    drawn = draw([TREE, EVIL, LONG], style, page=True, options=options)
    assert drawn.startswith("<!DOCTYPE html>") and drawn.count("<html") == 1
    body = drawn.replace('<meta charset="utf-8">', "").replace(
        '<meta name="viewport" content="width=device-width">', ""
    )
    root = ElementTree.fromstring(body.removeprefix("<!DOCTYPE html>\n"))
    assert "<script" not in drawn and "<b>" not in drawn and "<i>" not in drawn
    shown = "".join(root.find("body").itertext())
    assert "<script>alert(1)</script>" in shown and "&amp;" in shown and "tide" in shown
    assert not any(word in drawn for word in ("http://www.w3.org/1999", "src=", "@import", "url("))
    if style == "tree":
        assert drawn.count('<figure style="overflow-x:auto') == 3


def test_a_notebook_shows_it():
    tree = draw([TREE, LONG])
    assert isinstance(tree, str) and tree._repr_svg_() == tree
    assert tree._repr_html_().count("<svg") == 2 and "overflow-x:auto" in tree._repr_html_()
    assert draw([TREE], "spans")._repr_svg_() is None and draw([TREE], "spans")._repr_html_() == draw([TREE], "spans")
    assert draw([EVIL], "text")._repr_html_().startswith("<pre") and "<script" not in draw([EVIL], "text").html
    copy = pickle.loads(pickle.dumps(tree))
    assert copy == tree and copy.html == tree.html and copy.style == "tree"


def test_save(tmp_path):
    path = draw([TREE]).save(str(tmp_path / "tree.svg"))
    assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_options_reach_the_drawing():
    probabilities = [[None, 1.0, 0.5, 0.25, 0.125]]
    for style in STYLES:
        assert "0.25" not in draw([TREE], style, probabilities=probabilities)
        assert "0.25" in draw([TREE], style, probabilities=probabilities, options={"probabilities": True})
        assert "DT" in draw([TREE], style) and "DT" not in draw([TREE], style, options={"tags": False})
    assert "#0d1117" in draw([TREE], options={"theme": "dark"})
    assert draw([TREE], "text", options={"ascii": True}).isascii()
    assert draw([LONG], "spans", options={"width": 40}).count('class="line"') > draw([LONG], "spans").count(
        'class="line"'
    )
    assert 'data-constituent="3"' in draw([TREE], numbered=True) and "data-token" not in draw([TREE])


@pytest.mark.parametrize(
    ("style", "options", "message"),
    [
        ("ent", {}, r"style='ent'; allowed are 'tree', 'spans', 'text'"),
        ("tree", {"colour": True}, r"no option 'colour'; style 'tree' has colors, probabilities, tags|did you mean"),
        ("tree", {"probability": True}, r"no option 'probability'; did you mean 'probabilities'\?"),
        ("tree", {"width": 80}, r"option 'width' is not for style 'tree' but for spans, text"),
        ("text", {"theme": "dark"}, r"option 'theme' is not for style 'text' but for tree, spans"),
        ("tree", {"probabilities": 1}, r"probabilities=1; allowed are True and False"),
        ("tree", {"theme": "blue"}, r"theme='blue'; allowed are 'light', 'dark', 'auto'"),
        ("spans", {"width": 3}, r"width=3; give the columns of a line"),
        ("spans", {"background": "x;y"}, r"background='x;y'; give a CSS colour"),
        ("text", ["ascii"], r"options=\['ascii'\]; give a mapping"),
    ],
)
def test_bad_input(style, options, message):
    with pytest.raises(ConfigError, match=message):
        draw([TREE], style, options=options)


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "text", ["(S " * 2000 + "(X x)" + ")" * 2000, "(S (X x) " * 2000 + "(X x)" + ")" * 2000], ids=["chain", "branching"]
)
def test_deep_trees(style, text):
    tree = parse_tree(text)
    drawn = draw([tree], style)
    assert drawn.count("S") >= 2000 and len(drawn) < 5_000_000


def test_every_option_has_a_value_that_works():
    values = {
        "colors": False,
        "probabilities": True,
        "tags": False,
        "theme": "auto",
        "background": "#fff",
        "direction": "rtl",
        "layout": "side",
        "width": 60,
        "ascii": True,
    }
    assert set(values) == set(OPTIONS)
    for name, (styles, _) in OPTIONS.items():
        for style in styles.split(", "):
            assert draw([TREE], style, options={name: values[name]})
