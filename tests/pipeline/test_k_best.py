"""k_best(nlp, sentence) and `dtparse parse --k-best`: the best trees of a sentence, for users of a pipeline."""

from __future__ import annotations

import json

import pytest
import spacy
from spacy.tokens import Doc, Span

import spacy_dtparse
from spacy_dtparse import RankedTree, k_best, to_tree
from spacy_dtparse.cli import main
from spacy_dtparse.errors import ConfigError, DtparseError, MissingAnnotationError
from spacy_dtparse.pipeline.constituent_pipe import ConstituentPipe
from spacy_dtparse.trees import parse_tree

pytestmark = [pytest.mark.slow, pytest.mark.embedded]

TEXT = "I saw the man \n with the telescope. Visiting relatives can be boring."


@pytest.fixture(scope="module", params=["en_dtparse", "en_span", "en_pcfgla"])
def nlp(request):
    return spacy_dtparse.load(request.param)


def test_a_sentence_has_its_best_trees(nlp):
    doc = nlp(TEXT)
    first, second = doc.sents
    found = k_best(nlp, first, 4)
    assert all(isinstance(one, RankedTree) for one in found) and [one.rank for one in found] == [1, 2, 3, 4]
    assert found[0].tree == to_tree(first) and found[0].margin == 0.0
    assert [one.margin for one in found] == sorted(one.margin for one in found) and found[1].margin > 0.0
    assert len({one.brackets for one in found}) == 4
    probabilities = [one.probability for one in found]
    assert probabilities == sorted(probabilities, reverse=True) and sum(probabilities) <= 1
    assert probabilities[0] > probabilities[-1] >= 0
    for one in found:
        assert [doc[place].text for place in one.positions] == list(one.tree.words) and "\n" not in one.brackets
        assert one.constituents[0][1:] == (0, 9) and doc[4].is_space and 4 not in one.positions
        assert str(parse_tree(one.brackets)) == one.brackets == str(one.tree)
        assert str(one) == f"{one.rank}. ({one.probability:.2f}, {one.margin:.3f}) {one.brackets}"
        assert one.cost == one.result.cost and one.status == one.result.status
    own = [(span.label_, span.start, span.end) for span in doc._.constituents if span.end <= first.end]
    assert list(found[0].constituents) == own
    both = [("PP" in [label for label, start, end in one.constituents if end - start == 3]) for one in found[:2]]
    assert both == [True, True], "with the telescope"
    saw = {one.tree.spans().count((2, 7, "NP")) for one in found[:2]}
    assert saw == {0, 1}, "the man, or what I saw with"
    again = k_best(nlp, second[1:3], 3)
    assert again[0].tree == to_tree(second) and again[0].positions[0] == second.start
    assert again == k_best(nlp, second, 3)
    assert [one.tree for one in k_best(nlp, second.text, 3)] == [one.tree for one in again]
    assert len(k_best(nlp, "Yes.")) >= 1


def test_the_trees_of_a_doc_with_constraints_keep_to_them(nlp):
    doc = Doc(nlp.vocab, words="I saw the man with the telescope .".split(), sent_starts=[True] + [False] * 7)
    for name in ("man", "VP"):  # the first time without constraints
        for _, pipe in nlp.pipeline:
            doc = pipe(doc)
        first, *others = k_best(nlp, next(doc.sents), 3)
        assert first.tree == to_tree(next(doc.sents)) and (len(others) > 0 or nlp.has_pipe("pcfgla"))
        if name == "VP":
            assert all((1, 4, "VP") in one.tree.spans() and one.probability is None for one in (first, *others))
        doc.spans["constraints"] = [Span(doc, 1, 4, "VP")]


def test_inputs_without_a_list_raise(nlp):
    doc = nlp(TEXT)
    with pytest.raises(DtparseError, match="has 2 sentences, and the best trees are of one sentence; give one of"):
        k_best(nlp, doc)
    with pytest.raises(DtparseError, match="has no word"):
        k_best(nlp, " \n ")
    with pytest.raises(ConfigError, match="k is 0; give the number of trees wanted, a whole number from 1 to 1000"):
        k_best(nlp, next(doc.sents), 0)
    with pytest.raises(DtparseError, match="no constituent parser, only nothing"):
        k_best(spacy.blank("en"), doc)
    pipe = next(pipe for _, pipe in nlp.pipeline if isinstance(pipe, ConstituentPipe))
    with pytest.raises(DtparseError, match="a component cannot read a text"):
        k_best(pipe, "Yes.")
    assert k_best(pipe, next(doc.sents), 2) == k_best(nlp, next(doc.sents), 2)
    if pipe.factory != "pcfgla":
        with pytest.raises(MissingAnnotationError, match="needs part-of-speech tags"):
            k_best(nlp, nlp.make_doc("Yes."))


def test_the_command_line_lists_trees(capsys):
    arguments = ["parse", "--text", TEXT, "--pipeline", "en_span", "--k-best", "3"]
    assert main(arguments) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["1", "2", "3"] * 2 and rows[0][1] == rows[3][1] == "0.0000"
    nlp = spacy_dtparse.load("en_span")
    doc = nlp(TEXT)
    expected = [one for sentence in doc.sents for one in k_best(nlp, sentence, 3)]
    assert [row[3] for row in rows] == [one.brackets for one in expected]
    assert [row[2] for row in rows] == [f"{one.probability:.4f}" for one in expected]
    assert [float(row[1]) for row in rows] == pytest.approx([one.margin for one in expected], abs=1e-4)
    assert main([*arguments, "--format", "json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["sentence"], one["rank"]) for one in records] == [(s, r) for s in (1, 2) for r in (1, 2, 3)]
    assert [one["tree"] for one in records] == [one.brackets for one in expected]
    assert [one["margin"] for one in records] == [one.margin for one in expected]
    last = TEXT[TEXT.index("Visiting") :]
    assert {one["text"] for one in records[3:]} == {last} == {TEXT[records[5]["start_char"] :]}
    assert main([*arguments, "--format", "conllu"]) == 0
    assert capsys.readouterr().out.count("# rank = 3\n# margin = ") == 2
    assert main([*arguments, "--format", "pretty"]) == 0
    assert capsys.readouterr().out.count("# rank = 1\n# margin = 0.0000\n# probability = 0.") == 2
    assert main([*arguments[:-1], "5000"]) == 1
    assert "k is 5000; give the number of trees wanted, a whole number from 1 to 1000" in capsys.readouterr().err
