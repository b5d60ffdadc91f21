"""explain(nlp, span) and explanations(nlp, doc): the content for constituents, and errors for other spans."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import spacy

import spacy_dtparse
from spacy_dtparse import Explanation, explain, explanations
from spacy_dtparse.cli import main
from spacy_dtparse.errors import DtparseError, NonConstituentError, NotParsedError, OtherPipelineError
from spacy_dtparse.pipeline.explanation import MAX_LINES

TEXT = "The old man saw the dog with the telescope in the garden. Visiting relatives can be boring."

pytestmark = [pytest.mark.slow, pytest.mark.embedded]

DISPUTED = "The must ferments in open vats."


@pytest.fixture(scope="module")
def nlp():
    return spacy_dtparse.load()


@pytest.fixture(scope="module")
def doc(nlp):
    return nlp(TEXT)


def test_every_constituent_is_explained(nlp, doc):
    probable_doc = spacy_dtparse.load(config={"components": {"dtparse": {"probabilities": True}}})(TEXT)
    found = explanations(nlp, doc)
    assert [(one.label, one.start, one.end) for one in found] == [
        (span.label_, span.start, span.end) for span in doc._.constituents
    ]
    calibrated = {(s.start, s.end, s.label_): s._.probability for s in probable_doc._.constituents}
    for one, span in zip(found, doc._.constituents, strict=True):
        assert isinstance(one, Explanation) and one.method == "rules" and one.text == span.text
        assert len(str(one).splitlines()) <= MAX_LINES and str(one).startswith(f"{one.label} “")
        assert one.probability == pytest.approx(calibrated[span.start, span.end, span.label_])
        assert f"probability {one.probability:.2f}, rules" in str(one)
        assert sum(group.value for group in one.groups) == one.score == sum(rule.value for rule in one.rules)
        assert sum(group.over for group in one.groups) == one.margin
        assert one.reasons_for[0].value >= one.reasons_for[-1].value > 0 > one.reasons_against[0].value
        text = one.to_text(all=True)
        assert all(fact.words in text for group in one.groups for fact in group.facts)
        assert str(one.rules[-1]) in text and str(one.rules[0]) not in str(one)
        assert json.loads(json.dumps(one.to_dict(rules=3)))["rules"] == [str(rule) for rule in one.rules[:3]]
        assert str(explain(nlp, span)) == str(one)
        assert str(explain(nlp.get_pipe("dtparse"), span)) == str(one)


def test_the_deciding_model_agrees_with_the_cost(nlp, doc):
    disputed = nlp(DISPUTED)
    spans = [*doc._.constituents, *disputed._.constituents]
    for one, span in zip([*explanations(nlp, doc), *explanations(nlp, disputed)], spans, strict=True):
        cost = spacy_dtparse.cost(span)
        if "rules were skipped" in one.decided:
            assert cost < 1e-6 and one.probability > 0.9
        elif "against the span model" in one.decided:
            assert cost > math.log1p(math.exp(-one.score)) + 1e-6
        else:
            assert cost == pytest.approx(math.log1p(math.exp(-one.score)), abs=1e-6)
    said = {one.text: one for one in explanations(nlp, doc)}
    assert "rules decided" in said["Visiting relatives"].decided
    assert any("against the span model" in one.decided for one in explanations(nlp, disputed) if one.text == "The must")
    assert {other.label for other in said["Visiting relatives"].alternatives} >= {"S", "VP"}
    (other, *_) = said["with the telescope in the garden"].alternatives
    assert (other.label, other.text, other.relation) == ("PP", "with the telescope", "shorter")
    others = [(other.label, other.text, other.relation) for other in said["the dog"].alternatives]
    assert ("NP", "the dog with the telescope", "contains") in others


def test_the_text_is_for_linguists(nlp, doc):
    said = {one.text: one.to_text(all=True) for one in explanations(nlp, doc)}
    assert "its last child is “man”, a noun (NN)" in said["The old man"]
    assert "the span model labels this span as NP (probability above 0.995)" in said["The old man"]
    assert "the next item on the right is a VP headed by “saw” (VBD)" in said["The old man"]
    assert "its first child is “in”, a preposition (IN)" in said["in the garden"]


def test_a_member_of_a_chain_differs_from_the_whole_chain(nlp):
    doc = nlp("Who do you think will win?")
    chain = [span for span in doc._.constituents if span.text == "will win"]
    assert [span.label_ for span in chain] == ["SBAR", "S", "VP"]
    assert [explain(nlp, span).label for span in chain] == ["SBAR", "S", "VP"]
    assert explain(nlp, doc[chain[0].start : chain[0].end]).label == "SBAR"
    for span in chain:
        below = {other.label_ for other in chain[chain.index(span) + 1 :]}
        assert explain(nlp, span).runner_up not in below


def test_spans_that_are_no_constituents(nlp, doc):
    with pytest.raises(NonConstituentError, match="“old man” is not a constituent") as raised:
        explain(nlp, doc[1:3])
    assert str(raised.value) == (
        "“old man” is not a constituent; the smallest constituent around it is NP “The old man”; the parser's "
        "probability of a constituent there: below 0.01"
    )
    with pytest.raises(NonConstituentError, match=r"cross it: NP “the telescope”, PP “in the garden”, "):
        explain(nlp, doc[8:11])
    with pytest.raises(NonConstituentError, match="crosses a sentence boundary"):
        explain(nlp, doc[10:15])
    with pytest.raises(NonConstituentError, match="“saw” is not a constituent"):
        explain(nlp, doc[3:4])
    blank = nlp("She slept.  \n He did not.")
    place = next(token.i for token in blank if token.is_space)
    with pytest.raises(NonConstituentError, match="white space only"):
        explain(nlp, blank[place : place + 1])
    assert [one.text for one in explanations(nlp, blank)] == [span.text for span in blank._.constituents]


def test_what_cannot_be_explained(nlp, doc):
    with pytest.raises(NotParsedError, match="this Doc has no constituents"):
        explain(nlp, nlp.make_doc("She slept.")[0:1])
    with pytest.raises(DtparseError, match="no constituent parser, only nothing"):
        explain(spacy.blank("en"), doc[0:3])
    other = spacy_dtparse.load("en_span")
    with pytest.raises(OtherPipelineError, match=r"made by a parser of kind 'dtree', and this pipeline has .*'span'"):
        explain(other, doc[0:3])
    changed = nlp(TEXT)
    for token in changed[3:12]:
        token.tag_ = "NN"
    with pytest.raises(OtherPipelineError, match=r"this pipeline.s parse of the sentence differs from"):
        explain(nlp, changed[0:3])
    alike = spacy_dtparse.load("en_dtparse", config={"components": {"dtparse": {"marginal_weight": 0.6}}})
    assert [(s.label_, s.text) for s in alike(TEXT)._.constituents] == [(s.label_, s.text) for s in doc._.constituents]
    assert explain(alike, doc[0:3]).label == "NP"  # marginal_weight changes nothing in its sentence
    disputed = nlp(DISPUTED)
    assert [(s.label_, s.text) for s in alike(DISPUTED)._.constituents] == [
        (s.label_, s.text) for s in disputed._.constituents
    ]
    with pytest.raises(OtherPipelineError, match=r"differs from the Doc.s tree or costs"):
        explain(alike, disputed[0:2])


def test_a_network_has_no_rules():
    nlp = spacy_dtparse.load("en_span")
    doc = nlp(TEXT)
    for one, span in zip(explanations(nlp, doc), doc._.constituents, strict=True):
        assert one.method == "network" and one.rules == one.groups == () and one.score is one.margin is None
        assert "no rules, so it gives no reasons" in str(one)
        own = math.exp(-spacy_dtparse.cost(span))
        calibration = nlp.get_pipe("span_parser").parser.calibration
        assert one.probability == pytest.approx(calibration.calibrate_constituents(np.array(own)), abs=0.02)
    assert "instead: PP “with the telescope”" in str(explain(nlp, doc[6:12]))


def test_a_grammar_gives_its_expansion():
    nlp = spacy_dtparse.load("en_pcfgla")
    doc = nlp(TEXT)
    one = explain(nlp, doc[0:3])
    assert one.method == "grammar" and "NP → DT JJ NN costs" in str(one) and one.probability > 0.9


def test_trees_without_a_network():
    nlp = spacy_dtparse.load("en_trees")
    doc = nlp(TEXT)
    for one in explanations(nlp, doc):
        assert one.probability is None and one.decided == "The rules decided."
        assert sum(group.value for group in one.groups) == one.score
        assert "network" not in str(one)


def test_dtparse_explain(capsys):
    def run(*arguments):
        code = main(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    code, out, _ = run("explain", TEXT, "--span", "The old man")
    assert code == 0 and out.startswith("NP “The old man”: probability 1.00, rules +")
    assert len(out.splitlines()) <= MAX_LINES
    code, out, _ = run("explain", TEXT, "--label", "PP", "--rules", "2")
    assert code == 0 and out.count("PP “") >= 2 and " if " in out
    code, out, _ = run("explain", TEXT, "--label", "NP", "--json")
    assert code == 0 and {json.loads(line)["label"] for line in out.splitlines()} == {"NP"}
    code, out, _ = run("explain", TEXT, "--span", "The old man", "--all")
    assert code == 0 and len(out.splitlines()) > 100
    for arguments, message in (
        (("--span", "old man"), "is not a constituent"),
        (("--span", "ld man"), "begins or ends within a token; the tokens there are “old man”"),
        (("--span", "cat"), "is not in the text"),
        (("--label", "XP"), "no constituent has the label 'XP'; there are ADJP, NP, PP, S, VP"),
    ):
        code, _, err = run("explain", TEXT, *arguments)
        assert code == 1 and message in err
    code, _, err = run("explain", " ")
    assert code == 1 and "the text is empty" in err


def test_dtparse_rules(capsys):
    assert main(["rules", "--label", "PP", "--max-rules", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[0].startswith("PP: ") and "span model on this span" in lines[1]
    assert sum(
        int(word.rstrip(",").rstrip("%")) for word in lines[1].split() if word.strip("%,").isdigit() or "%" in word
    ) in range(96, 105)
    assert any("the span model labels this span as PP" in line for line in lines[2:])
    assert main(["rules", "--json", "--max-rules", "1"]) == 0
    summaries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"NP", "VP", "TOP", "*shift*"} <= {found["label"] for found in summaries}
    for found in summaries:
        assert sum(fraction for _, fraction in found["weights"]) == pytest.approx(1)
        assert len(found["rules"]) == 1
    assert main(["rules", "--label", "XP"]) == 1 and "no label 'XP'" in capsys.readouterr().err
    assert main(["rules", "--pipeline", "en_span"]) == 1 and "no rules to show" in capsys.readouterr().err
