"""The setting `deadline` of the components: its record, its effect on a batch, and its round trips."""

from __future__ import annotations

import pickle
import time

import pytest
import spacy
from spacy.tokens import Doc

from spacy_dtparse import sentence_infos
from spacy_dtparse.bpm_parser.component import DEADLINE_EXCEEDED, BpmParser
from spacy_dtparse.cli.pipelines import load_pipeline
from tests.dependency_models import SENTENCES, random_model

from .conftest import make_nlp
from .rule_parser import RuleParser

SECONDS = 0.04


class SlowRules(RuleParser):
    """The rule parser, which takes a millisecond per token."""

    def with_settings(self, budget=None, max_tokens=None):
        return SlowRules(self.note)

    def parse(self, words, tags, spines=()):
        time.sleep(0.001 * len(words))
        return super().parse(words, tags)


@pytest.fixture
def nlp(model_file):
    nlp = make_nlp(model_file, deadline=SECONDS)
    nlp.get_pipe("dtparse").set_parser(SlowRules())
    return nlp


def test_an_exceeded_deadline_is_recorded(nlp):
    short, long = "The cat sat.", "the old cat , " * 40 + "sleeps ."
    plain = spacy.blank("en").from_config(nlp.config)
    docs = list(nlp.pipe([short, long, short]))
    struck = [[info.get("deadline_exceeded") for info in sentence_infos(doc)] for doc in docs]
    assert struck == [[None], [True], [None]]
    assert [span.label_ for span in docs[0]._.constituents] == [span.label_ for span in docs[2]._.constituents]
    (info,) = sentence_infos(docs[1])
    assert info["status"] == "fallback" and 0 < len(docs[1]._.constituents) < 100
    again = Doc(nlp.vocab).from_bytes(docs[1].to_bytes())
    assert sentence_infos(again)[0]["deadline_exceeded"] is True
    assert plain.get_pipe("dtparse").deadline == SECONDS
    assert pickle.loads(pickle.dumps(plain.get_pipe("dtparse"))).deadline == SECONDS


def test_constraints_are_obeyed_after_the_deadline():
    nlp = load_pipeline("en_dtparse", deadline=SECONDS)
    assert nlp.get_pipe("dtparse").deadline == SECONDS
    doc = nlp("The cat sat on the mat.")
    with_spans = Doc(nlp.vocab, words=[t.text for t in doc], tags=[t.tag_ for t in doc])
    with_spans.spans["constraints"] = [with_spans[4:6].char_span(0, 7, label="!NP")]
    found = nlp.get_pipe("dtparse")(with_spans)
    assert "NP" not in {span.label_ for span in found._.constituents if span.text == "the mat"}
    assert "NP" in {span.label_ for span in doc._.constituents if span.text == "the mat"}


def test_probabilities_do_not_shorten_the_deadline():
    nlp = load_pipeline("en_dtparse", deadline=SECONDS)
    component = nlp.get_pipe("dtparse")
    component.probabilities = True
    component.set_parser(component.parser)
    timed = component.timed_parser
    assert timed.deadline == SECONDS and timed.capabilities == component.configured_parser.capabilities
    assert timed.labels == component.labels and timed.with_settings(budget=0).deadline == SECONDS
    doc = nlp("The cat sat. " + "the old cat , " * 400 + "sleeps .")
    infos, (short, *_) = sentence_infos(doc), doc.sents
    assert short._.tree_probability is not None and any(info.get("deadline_exceeded") for info in infos)
    for sentence, info in zip(doc.sents, infos, strict=True):
        assert (sentence._.tree_probability is None) == bool(info.get("deadline_exceeded"))


def test_dependencies_have_a_list_of_sentences(monkeypatch):
    parser, vocab = random_model(), spacy.blank("en").vocab
    from spacy_dtparse.bpm_parser.parser import DependencyParser

    parse = DependencyParser.parse

    def slow(self, columns):
        time.sleep(0.001 * len(columns.words))
        return parse(self, columns)

    monkeypatch.setattr(DependencyParser, "parse", slow)
    pipe = BpmParser(parser=DependencyParser(parser), deadline=SECONDS)
    columns = SENTENCES[0]
    words, tags = list(columns.words) * 30, list(columns.tags) * 30
    starts = [k in (0, 5) for k in range(len(words))]
    doc = pipe(Doc(vocab, words=words, tags=tags, pos=list(columns.pos) * 30, sent_starts=starts))
    assert doc.user_data[DEADLINE_EXCEEDED] == [[5, len(words)]]
    assert [sent.start for sent in doc.sents] == [0, 5]
    doc = pipe(Doc(vocab, words=words[:5], tags=tags[:5], pos=(list(columns.pos) * 30)[:5]))
    assert DEADLINE_EXCEEDED not in doc.user_data
