"""Trees as HTML with brackets under the words."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree

from spacy_dtparse.trees import Tree, parse_tree
from spacy_dtparse.viz.spans import cut_lines, spans_html
from spacy_dtparse.viz.svg import Look
from tests.trees import naive

NUMBERED = Look(numbered=True)


def lines(html: str) -> list[ElementTree.Element]:
    return [node for node in ElementTree.fromstring(html) if node.get("class") == "line"]


def area(node: ElementTree.Element) -> list[int]:
    """The place of a bracket: first row, first column, last row, last column, from 1, the last ones exclusive."""
    return list(map(int, re.search(r"grid-area:([\d/]+)", node.get("style", ""))[1].split("/")))


def test_every_bracket_lies_under_its_words_and_under_the_smaller_ones():
    rng = random.Random(8)
    for _ in range(60):
        tree = naive.random_tree(rng, rng.randint(1, 12))
        (line,) = lines(spans_html([tree], NUMBERED, width=10_000))
        words = [node for node in line if node.get("class") == "word"]
        assert [node[0].tail for node in words] == list(tree.words)
        taken, seen = set(), []
        for bracket in line[len(words) :]:
            top, first, bottom, last = area(bracket)
            members = [int(node.get("data-constituent", "")) for node in bracket]
            seen += members
            for k in members:
                assert (tree.starts[k], tree.ends[k]) == (first - 1, last - 1)
            cells = {(row, column) for row in range(top, bottom) for column in range(first, last)}
            assert top > 1 and not cells & taken
            taken |= cells
            below = [other for other in line[len(words) :] if first <= area(other)[1] and area(other)[3] <= last]
            assert all(area(other)[0] < top for other in below if other is not bracket)
        assert sorted(seen) == list(range(1, len(tree)))  # all but TOP


def test_long_sentences_are_cut_into_lines():
    tree = parse_tree("(S " + "".join(f"(NP (DT the) (NN word{i}) (CD 5))" for i in range(20)) + ")")
    assert cut_lines(tree, 10_000) == [(0, 60)]
    cut = cut_lines(tree, 60)
    assert len(cut) > 3 and [start for start, _ in cut] == [0, *[end for _, end in cut[:-1]]] and cut[-1][1] == 60
    assert all(sum(len(word) + 1 for word in tree.words[start:end]) <= 60 for start, end in cut)
    html = spans_html([tree], NUMBERED, width=60)
    found = lines(html)
    assert len(found) == len(cut)
    sentence = [node for line in found for node in line if any(c.get("data-constituent") == "1" for c in node)]
    ends = [("from" in node.get("class").split(), "on" in node.get("class").split()) for node in sentence]
    assert ends == [(False, True), *[(True, True)] * (len(cut) - 2), (True, False)]
    wide = Tree(["x" * 300, "y"], ["X", "Y"], ["TOP"], [0], [2])
    assert cut_lines(wide, 60) == [(0, 1), (1, 2)]


def test_chains_share_a_bracket_and_probabilities_are_shown():
    tree = parse_tree("(S (NP (NN Ink)) (VP (VBZ dries)))")
    html = spans_html([tree], Look(), [[None, 1.0, 0.5, 0.25]])
    assert html.count('class="probability"') == 3 and "NP<span" in html
    chain = parse_tree("(SBAR (S (VP (VB Go))))")
    text = "".join(lines(spans_html([chain], Look()))[0].itertext())
    assert text == "VBGoSBAR › S › VP"


def test_escapes_text():
    tree = Tree(["<b>&\"'", "a\x00b", "\u202eevil"], ["<", "&", "X"], ["TOP", "A<&>"], [0, 0], [3, 2])
    html = spans_html([tree], NUMBERED)
    assert "<b>" not in html and "\x00" not in html and "\u202e" not in html
    assert next(node[0].tail for node in lines(html)[0] if node.get("class") == "word") == "<b>&\"'"


def test_colours():
    tree = parse_tree("(S (NP (NN Ink)) (VP (VBZ dries)))")
    assert "--own:#123456" in spans_html([tree], Look(colors={"NP": "#123456"}))
    plain = spans_html([tree], Look(colors=False))
    assert not re.search(r"\bc\d\b", plain)
    assert 'style="background:none"' in spans_html([tree], Look(background="none"))
    assert "prefers-color-scheme:dark" in spans_html([tree], Look(theme="auto"))
