"""CAPTION, HEADING and TITLE, the labels of the parts of an article: in articles, by the setting `document_labels`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse.cli import main
from spacy_dtparse.core import Capability
from spacy_dtparse.core.document_labels import filter_document_labels
from spacy_dtparse.core.kbest import DEADLINE, NO_MORE
from spacy_dtparse.core.parser import ParseList
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.pipeline.constituent_pipe import constituent_parsers
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.document_labels import DOCUMENT_LABELS, has_verb
from spacy_dtparse.web.answers import Answers

from .conftest import list_tagger, make_nlp
from .rule_parser import RuleParser


class ArticleParser(RuleParser):
    """Labels sentences with a verb CAPTION and others HEADING, above the labels of the rule parser; if `probability` is
    given, with that probability."""

    labels = (*RuleParser.labels, "CAPTION", "HEADING", "TITLE")

    def __init__(self, probability=None):
        super().__init__()
        self.probability = probability
        self.n_posteriors = 0

    @property
    def capabilities(self):
        found = {Capability.K_BEST, Capability.CONSTRAINTS}
        return frozenset(found if self.probability is None else {*found, Capability.POSTERIORS})

    def with_settings(self, **changes):
        return self

    def parse(self, words, tags, spines=()):
        return self.parse_k_best(words, tags, 1)[0]

    def span_posteriors(self, words, tags):
        self.n_posteriors += 1
        spans = self.parse(words, tags).tree.spans()
        labels = ("CAPTION", "HEADING")
        return {span: self.probability if span[2] in labels else 0.95 for span in spans}

    def parse_k_best(self, words, tags, k, limit=None):
        plain = RuleParser().parse(words, tags)
        first = "CAPTION" if any(tag.startswith("VB") for tag in tags) else "HEADING"
        found = []
        for rank, label in enumerate((first, "TITLE", "")):
            spans = plain.tree.spans()
            if label:
                spans.insert(1, (0, len(words), label))
            tree = Tree.from_spans(words, tags, spans)
            scores = (0.0, *(float(rank),) * (len(tree) - 1))
            found.append(replace(plain, tree=tree, costs=scores, margin=float(rank)))
        flat = Tree(words, tags, ("TOP", "FRAG"), (0, 0), (len(words), len(words)))
        return ParseList(
            [*found, replace(plain, tree=flat, costs=(0.0, 9.0), margin=3.0)][:k], "" if k < 5 else NO_MORE
        )

    def parse_constrained(self, words, tags, constraints):
        return constraints.enforce(self.parse(words, tags), self.labels)


class LateParser(ArticleParser):
    """An ArticleParser that finds one tree only, at its deadline, when it is asked again for more."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def parse_k_best(self, words, tags, k, limit=None):
        self.asked.append(k)
        found = super().parse_k_best(words, tags, k)
        return found if len(self.asked) == 1 else ParseList(found[:1], DEADLINE)


SENTENCES = ("the cat sat .", "she saw the dog .")
HEADING = "the cat"


def build(nlp, *sentences):
    words = [sentence.split() for sentence in sentences]
    starts = [k == 0 for one in words for k in range(len(one))]
    return list_tagger(Doc(nlp.vocab, words=[word for one in words for word in one], sent_starts=starts))


@pytest.fixture
def article_nlp(model_file):
    def make(probability=None, **settings):
        nlp = make_nlp(model_file, **settings)
        (pipe,) = constituent_parsers(nlp)
        pipe.set_parser(ArticleParser(probability))
        return nlp, pipe

    return make


def labels_of(doc):
    return {span.label_ for span in doc._.constituents}


def brackets(doc):
    return [sent._.parse_string for sent in doc.sents]


PLAIN = [
    "(S (NP (DT the) (NN cat)) (VP (VBD sat) (. .)))",
    "(S (NP (PRP she)) (VP (VBD saw) (NP (DT the) (NN dog)) (. .)))",
]


@pytest.mark.parametrize("probability", [None, 0.5, 0.89])
def test_sentences_with_a_verb_do_not_have_them(article_nlp, probability):
    nlp, pipe = article_nlp(probability)
    assert pipe.document_labels == "auto"
    doc = pipe(build(nlp, *SENTENCES, HEADING))
    assert brackets(doc)[:2] == PLAIN
    assert brackets(doc)[2] == "(HEADING (FRAG (NP (DT the) (NN cat))))"
    assert len(doc.spans["constituents"].attrs["costs"]) == len(doc._.constituents)


def test_probable_ones_stay(article_nlp):
    nlp, pipe = article_nlp(0.91)
    assert [tree[:11] for tree in brackets(pipe(build(nlp, *SENTENCES)))] == ["(CAPTION (S"] * 2


def test_a_sentence_does_not_depend_on_others(article_nlp):
    nlp, pipe = article_nlp(0.5)
    single = [brackets(pipe(build(nlp, one)))[0] for one in (*SENTENCES, HEADING)]
    assert brackets(pipe(build(nlp, *SENTENCES, HEADING))) == single
    assert [brackets(doc)[0] for doc in pipe.pipe([build(nlp, one) for one in (*SENTENCES, HEADING)])] == single


def test_probabilities_are_computed_only_where_they_decide(article_nlp):
    nlp, pipe = article_nlp(0.5)
    pipe(build(nlp, HEADING))
    assert pipe.parser.n_posteriors == 0
    pipe(build(nlp, HEADING, *SENTENCES))
    assert pipe.parser.n_posteriors == 2


@pytest.mark.parametrize("policy", ["always", "never"])
def test_the_setting_forces_or_forbids_them(article_nlp, policy):
    nlp, pipe = article_nlp(0.5, document_labels=policy)
    found = labels_of(pipe(build(nlp, *SENTENCES, HEADING)))
    assert found & DOCUMENT_LABELS == ({"CAPTION", "HEADING"} if policy == "always" else set())


def test_labels_in_their_place_are_not_excluded_ones(article_nlp, monkeypatch):
    _, pipe = article_nlp(0.5, document_labels="never")
    parser = pipe.configured_parser
    monkeypatch.setattr(ArticleParser, "excluded_labels", frozenset({"S", "CAPTION"}))
    words, tags = ["the", "mat", "of"], ["DT", "NN", "IN"]
    heading = Tree(words, tags, ("TOP", "HEADING", "NP"), (0, 0, 0), (3, 3, 2))

    def parse(self, words, tags, spines=()):
        return replace(RuleParser().parse(words, tags), tree=heading, costs=(0.0, 1.0, 2.0))

    monkeypatch.setattr(ArticleParser, "parse", parse)
    assert parser.parse(words, tags).tree.labels == ("TOP", "FRAG", "NP")
    monkeypatch.setattr(ArticleParser, "excluded_labels", frozenset({"FRAG"}))
    (result,) = parser.parse_batch([(words, tags)])
    assert result.tree.labels == ("TOP", "NP") and result.costs == (0.0, 2.0)
    assert "FRAG" not in {label for _, _, label in parser.span_posteriors(words, tags)}
    assert parser.explain(words, tags).result.tree == result.tree
    monkeypatch.setattr(ArticleParser, "labels", ("S", "NP", "CAPTION", "TITLE"))
    monkeypatch.setattr(ArticleParser, "excluded_labels", frozenset({"HEADING"}))
    assert filter_document_labels(pipe.parser, "auto") is not pipe.parser, "the others are still filtered"
    monkeypatch.setattr(ArticleParser, "excluded_labels", DOCUMENT_LABELS)
    assert filter_document_labels(pipe.parser, "auto") is pipe.parser, "none is left"


def test_other_values_are_refused(model_file):
    with pytest.raises(ConfigError, match="document_labels = 'no'; it is"):
        make_nlp(model_file, document_labels="no")


def test_lists_of_trees_do_not_have_them_either(article_nlp):
    nlp, pipe = article_nlp()
    plain = pipe(build(nlp, SENTENCES[0]))
    found = spacy_dtparse.k_best(nlp, plain, 2)
    assert [one.tree.labels for one in found] == [("TOP", "S", "NP", "VP"), ("TOP", "FRAG")]
    assert [one.margin for one in found] == [0.0, 3.0]
    assert len(spacy_dtparse.k_best(nlp, plain, 10)) == 2
    found = spacy_dtparse.k_best(nlp, pipe(build(nlp, HEADING)), 2)
    assert [one.tree.labels[1] for one in found] == ["HEADING", "TITLE"]


def test_a_required_label_is_there(article_nlp):
    nlp, pipe = article_nlp()
    doc = build(nlp, *SENTENCES)
    doc.spans[pipe.constraints_key] = [doc.char_span(0, len("the cat sat ."), label="CAPTION")]
    first, second = brackets(pipe(doc))
    assert first == f"(CAPTION {PLAIN[0]})" and second == PLAIN[1]


def test_explanations_are_of_the_tree_that_is_there(article_nlp):
    nlp, pipe = article_nlp(0.5)
    doc = pipe(build(nlp, *SENTENCES, HEADING))
    found = spacy_dtparse.explanations(nlp, doc)
    assert [one.label for one in found] == [span.label_ for span in doc._.constituents]
    assert not any(other.label in DOCUMENT_LABELS for one in found[:-3] for other in one.alternatives)


def test_settings_and_deadline_keep_the_filter(article_nlp):
    nlp, pipe = article_nlp(0.5, deadline=100.0)
    assert brackets(pipe(build(nlp, *SENTENCES))) == PLAIN
    assert pipe.configured_parser.inner_parser is pipe.parser and pipe.timed_parser.inner_parser is pipe.parser
    words, tags = SENTENCES[0].split(), ["DT", "NN", "VBD", "."]
    for parser in (pipe.configured_parser, pipe.configured_parser.with_settings(budget=3)):
        assert "CAPTION" not in parser.parse(words, tags).tree.labels


TEXTS = (
    "Comparison of the growth of three kinds of yeast.",
    "Scale bar: 50 μm.",
    "(A) Expression of the gene in mouse liver.",
    "(B) The number of cells was counted by two students.",
    "Average weight of the mice in each group (n = 12).",
    "The figure shows gene and protein names.",
    "She put the old book on the table.",
)
real = [pytest.mark.slow, pytest.mark.embedded]


def load(name, **settings):
    factory = {"en_dtparse": "dtparse", "en_trees": "dtparse", "en_span": "span_parser", "en_pcfgla": "pcfgla"}[name]
    nlp = spacy_dtparse.load(name, config={"components": {factory: settings}} if settings else {})
    return nlp, nlp.get_pipe(factory)


def rows(doc):
    return [(span.label_, span.start, span.end) for span in doc._.constituents]


class TestModels:
    pytestmark = real

    @pytest.mark.parametrize("name", ["en_dtparse", "en_span", "en_trees", "en_pcfgla"])
    def test_trees_of_plain_texts(self, name):
        nlp, pipe = load(name)
        always, _ = load(name, document_labels="always")
        plain, labelled = list(nlp.pipe(TEXTS)), list(always.pipe(TEXTS))
        others = [doc for doc in plain if not doc.text.startswith("(B)")]  # which is in doubt: so captions begin
        assert all(DOCUMENT_LABELS.isdisjoint(labels_of(doc)) for doc in others if has_verb(t.tag_ for t in doc))
        assert any(not DOCUMENT_LABELS.isdisjoint(labels_of(doc)) for doc in labelled)
        for one, two in zip(plain, labelled, strict=True):
            assert len(one.spans[pipe.spans_key].attrs["costs"]) == len(rows(one))
            if DOCUMENT_LABELS.isdisjoint(labels_of(two)):
                assert rows(one) == rows(two)
                assert one.spans[pipe.spans_key].attrs["costs"] == two.spans[pipe.spans_key].attrs["costs"]

    def test_lists_explanations_and_probabilities(self):
        nlp, _ = load("en_dtparse", probabilities=True)
        always, _ = load("en_dtparse", probabilities=True, document_labels="always")
        text = TEXTS[5]
        assert "CAPTION" in labels_of(always(text))
        doc, labelled = nlp(text), always(text)
        assert len({one.brackets for one in spacy_dtparse.k_best(nlp, doc, 5)}) == 5
        assert all(DOCUMENT_LABELS.isdisjoint(one.tree.labels) for one in spacy_dtparse.k_best(nlp, doc, 5))
        found = spacy_dtparse.explanations(nlp, doc)
        assert [one.label for one in found] == [label for label, _, _ in rows(doc)]
        assert not any(other.label in DOCUMENT_LABELS for one in found for other in one.alternatives)
        for explanation, span in zip(found, doc._.constituents, strict=True):
            assert explanation.probability == pytest.approx(span._.probability)
        (one,), (two,) = doc.sents, labelled.sents
        assert one._.tree_probability >= two._.tree_probability  # a label that is not wanted is not missing

    def test_the_page(self):
        nlp, _ = load("en_dtparse")
        answers = Answers(nlp)
        (sentence,) = answers.parse({"text": TEXTS[5], "k": 3})["sentences"]
        shown = {one["label"] for one in sentence["constituents"]}
        assert DOCUMENT_LABELS.isdisjoint(shown)
        assert not any(label in one["brackets"] for one in sentence["k_best"] for label in DOCUMENT_LABELS)
        for one in sentence["constituents"]:
            answers.explain_constituent({**one, "words": [*sentence["words"]], "tags": [*sentence["tags"]]})

    def test_the_command(self, capsys):
        assert main(["parse", "--text", TEXTS[5]]) == 0
        assert capsys.readouterr().out.startswith("(TOP (S (NP (DT The)")
        assert main(["parse", "--text", TEXTS[2], "--document-labels", "always"]) == 0
        assert "(CAPTION " in capsys.readouterr().out


def test_a_list_that_the_deadline_ends_keeps_the_trees_of_the_first_round():
    parser = LateParser()
    found = filter_document_labels(parser, "auto").parse_k_best("the cat sat .".split(), "DT NN VBD .".split(), 4)
    assert parser.asked == [4, 8]
    assert (len(found), found.reason) == (2, DEADLINE)
    assert found[1].tree.labels == ("TOP", "FRAG")
