"""How results look: short text for `repr`, readable text for `str`, pictures and tables in a notebook."""

from __future__ import annotations

import copy
import pickle
import xml.etree.ElementTree as ElementTree

import pytest

import spacy_dtparse
from spacy_dtparse import Explanation, RankedTree, k_best
from spacy_dtparse.core.parser import ParseResult
from spacy_dtparse.dtparse.model.reasons import Fact, Group, Reasons
from spacy_dtparse.pipeline.explanation import Alternative
from spacy_dtparse.pipeline.k_best import RankedTrees
from spacy_dtparse.query import compile_pattern
from spacy_dtparse.trees.brackets import parse_tree
from spacy_dtparse.trees.heads import COLLINS, HeadRules

HOSTILE = "(TOP (NP (NN <b>x</b>) (NN &lt;) (NN <script>'a'</script>) (NN $a$)))"


def _elements(html: str) -> ElementTree.Element:
    """The elements of HTML that is also XML, so that nothing in it is left open."""
    return ElementTree.fromstring(f"<div>{html}</div>")


def _ranked(tree, rank=1, margin=0.0, probability=None):
    result = ParseResult(
        tree, (0.0,) * len(tree), 1.5, "optimal", margin=margin, tree_probability=probability
    )  # fmt: skip
    return RankedTree(rank, result, tuple(range(tree.n_tokens)))


@pytest.fixture
def ranked():
    long = parse_tree("(TOP (S (NP (PRP She)) (VP (VBD saw) (NP (DT the) (JJ big) (JJ old) (NN dog))) (. .)))")
    return RankedTrees([_ranked(parse_tree(HOSTILE), 1, 0.0, 0.75), _ranked(long, 2, 12.25)])


def test_a_tree(ranked):
    tree = ranked[0].tree
    assert repr(tree) == "<Tree: 2 constituents over 4 tokens: <b>x</b> &lt; <script>'a'</script> $a$>"
    assert str(tree) == HOSTILE
    svg = tree._repr_svg_()
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg") and "<b>" not in svg and "<script>" not in svg
    assert {"<b>x</b>", "&lt;", "<script>'a'</script>"} <= {element.text for element in root.iter()}
    assert svg == spacy_dtparse.render(tree)


def test_a_list_of_the_best_trees_is_a_table(ranked):
    assert str(ranked).splitlines() == [
        "rank  margin  probability  tree",
        f"   1   0.000       0.7500  {HOSTILE}",
        f"   2  12.250            -  {ranked[1].brackets}",
    ]
    lines = repr(ranked).splitlines()
    assert len(lines) == 3 and all(len(line) <= 100 for line in lines) and lines[2].endswith("(NN …")
    assert str(RankedTrees()) == "" and repr(RankedTrees()) == "RankedTrees([])"


def test_it_is_a_list(ranked):
    assert ranked == list(ranked) and isinstance(ranked, list) and ranked[-1].rank == 2
    assert type(ranked[:1]) is RankedTrees and repr(ranked[:1]) == "\n".join(repr(ranked).splitlines()[:2])
    for other in (pickle.loads(pickle.dumps(ranked)), copy.copy(ranked), copy.deepcopy(ranked)):
        assert other == ranked and type(other) is RankedTrees
    assert [one.rank for one in sorted(ranked, key=lambda one: -one.margin)] == [2, 1]


def test_it_has_pictures_in_a_notebook(ranked):
    html = ranked._repr_html_()
    root = _elements(html)
    assert len([element for element in root.iter() if element.tag.endswith("svg")]) == 2
    assert [element.text for element in root.iter("th")] == ["rank", "margin", "probability", "tree"]
    assert [element.text for element in root.iter("td")][:3] == ["1", "0.000", "0.7500"]
    assert "<b>" not in html and "<script>" not in html
    assert root[0].get("class") == "tex2jax_ignore"  # $a$ is no formula
    one = ranked[0]
    assert _elements(one._repr_html_()) and repr(one).startswith("<RankedTree 1: margin 0.000, probability 0.75, (TOP ")
    assert len(repr(one)) <= 100 and len(repr(ranked[1])) <= 100 and "probability" not in repr(ranked[1])
    assert str(one) == f"1. (0.75, 0.000) {HOSTILE}"


def test_a_result_of_a_parser(ranked):
    result = ranked[1].result
    assert (
        repr(result)
        == "<ParseResult: optimal, cost 1.500, <Tree: 5 constituents over 7 tokens: She saw the big old dog …>>"
    )
    assert str(result) == ranked[1].brackets and result._repr_svg_() == result.tree._repr_svg_()


@pytest.fixture
def explanation():
    facts = (Fact("its first word is “<b>”", 1.5, 1.0), Fact("nothing <i> after it", -0.25, 0.5))
    reasons = Reasons("NP", 1.25, "<VP>", 2.0, {}, (Group("words & tags", 1.25, 1.5, facts),), 7, tuple)
    alternatives = (Alternative("VP", 0, 1, "<b>x</b>", 0.25, "same span"),)
    return Explanation("NP", "<b>x</b>", 0, 1, "rules", "The rules & nothing else.", 0.5, alternatives, reasons)


def test_an_explanation(explanation):
    assert repr(explanation) == "<Explanation: NP “<b>x</b>”: probability 0.50, rules +1.25 (next label <VP> -0.75)>"
    assert len(str(explanation).splitlines()) > 2
    html = explanation._repr_html_()
    root = _elements(html)
    assert len(list(root.iter("table"))) == 2 and not list(root.iter("i"))
    assert [element.text for element in root.iter("b")] == [repr(explanation)[14:-1]]
    cells = [element.text for element in root.iter("td")]
    assert cells == [
        "VP",
        "<b>x</b>",
        "same span",
        "0.25",
        "words & tags",
        "+1.25",
        "+1.50",
        "its first word is “<b>” +1.50",
    ]
    assert [element.text for element in root.iter("th")][-2:] == ["over <VP>", "strongest facts"]
    assert "7 rules fired" in html and root[0].get("class") == "tex2jax_ignore"


def test_an_explanation_without_rules():
    html = Explanation("NP", "x", 0, 1, "network", "The network decided.")._repr_html_()
    assert "<table>" not in html and "The network decided." in "".join(_elements(html).itertext())


def test_matches_of_a_pattern():
    tree = parse_tree("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ sleeps))))")
    (match,) = compile_pattern("NP=subject $+ VP=verb").matches(tree)
    assert repr(match) == "<Match in tree 0: NP[0:2], subject=NP[0:2], verb=VP[2:3]>"
    assert repr(match.node) == "<Node 'NP': constituent, tokens 0 to 2 of tree 0>"
    assert match == (match.node, match.names)  # still a named tuple


def test_head_rules():
    assert repr(COLLINS).startswith("<HeadRules for ") and len(repr(COLLINS)) < 80
    assert repr(HeadRules()) == "<HeadRules for 0 labels>"
    assert repr(HeadRules({"NP": (("left", ("NN",)),)})) == "<HeadRules for 1 label: NP>"


@pytest.mark.embedded
def test_results_of_the_english_pipeline():
    nlp = spacy_dtparse.load()
    found = k_best(nlp, "I saw <b>her</b> & him.", 3)
    assert type(found) is RankedTrees and len(_elements(found._repr_html_()).findall(".//tr")) == 4
    doc = nlp("I saw the man with the telescope.")
    for span in doc._.constituents:
        explanation = spacy_dtparse.explain(nlp, span)
        assert _elements(explanation._repr_html_()) and repr(explanation).startswith(f"<Explanation: {span.label_} “")
