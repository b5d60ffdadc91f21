"""The second-best tags of recurrent_tagger: kept in the Doc, given to parsers that use them."""

from __future__ import annotations

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_dtparse.core.ambiguous_tags import AmbiguousTag, format_tag
from spacy_dtparse.pipeline.corpus import doc_from_trees
from spacy_dtparse.pipeline.k_best import k_best
from spacy_dtparse.pipeline.second_tags import add_second_tags, read_ambiguous_tags, write_ambiguous_tags
from spacy_dtparse.pipeline.sentences import read_sentences
from spacy_dtparse.recurrent_tagger.tagger import RecurrentTagger
from spacy_dtparse.span_parser.parser import SpanParser
from tests.recurrent_models import TEXTS, random_model
from tests.span_models import random_model as random_span_model

WORDS = ("She", "saw", "\n", "her", "duck", ".")


def make_doc(nlp: Language | None = None) -> Doc:
    doc = Doc((nlp or spacy.blank("en")).vocab, words=list(WORDS), tags=["PRP", "VBD", "_SP", "PRP$", "NN", "."])
    write_ambiguous_tags(doc, [(3, AmbiguousTag("PRP$", "PRP")), (4, AmbiguousTag("NN", "VB"))])
    return doc


def texts(doc: Doc) -> dict[int, str]:
    return {position: format_tag(tag) for position, tag in read_ambiguous_tags(doc).items()}


def test_second_tags_are_kept_where_spacy_moves_a_doc() -> None:
    doc = make_doc()
    both = {3: "PRP$||PRP", 4: "NN||VB"}
    assert texts(doc) == both
    assert texts(Doc(doc.vocab).from_bytes(doc.to_bytes())) == both
    joined = Doc.from_docs([doc, doc], ensure_whitespace=False)
    assert texts(joined) == both | {9: "PRP$||PRP", 10: "NN||VB"}
    assert texts(doc[3:5].as_doc(copy_user_data=True)) == {0: "PRP$||PRP", 1: "NN||VB"}


def test_a_changed_tag_has_no_second_one() -> None:
    doc = make_doc()
    doc[4].tag_ = "VB"
    assert texts(doc) == {3: "PRP$||PRP"}
    merged = make_doc()
    with merged.retokenize() as retokenizer:  # the new token has the same tag
        retokenizer.merge(merged[4:6], attrs={"TAG": "NN"})
    assert texts(merged) == {3: "PRP$||PRP"} and merged[4].tag_ == "NN"
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[3:5], attrs={"TAG": "NP"})
    assert texts(doc) == {}
    write_ambiguous_tags(doc, [(0, AmbiguousTag("PRP", "NN"))])
    assert texts(doc) == {0: "PRP||NN"}
    write_ambiguous_tags(doc, [])
    assert texts(doc) == {} and not doc.user_data


def test_sentences_get_the_second_tags_of_their_words() -> None:
    doc = make_doc()
    for token in doc:
        token.is_sent_start = token.i in (0, 4)
    found = add_second_tags(doc, read_sentences(doc)[0])
    assert [[*map(format_tag, one.tags)] for one in found] == [["PRP", "VBD", "PRP$||PRP"], ["NN||VB", "."]]
    assert [one.tags for one in found] == [one.tags for one in read_sentences(doc)[0]], "equal to the tags alone"


def make_pipeline(second_tags: bool) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("recurrent_tagger").set_parser(RecurrentTagger(random_model(3)))
    nlp.add_pipe("span_parser").set_parser(SpanParser(random_span_model(second_tags=second_tags)))
    return nlp


@pytest.mark.parametrize("second_tags", [True, False])
def test_a_parser_gets_them_if_it_uses_them(second_tags: bool) -> None:
    nlp = make_pipeline(second_tags)
    doc = nlp(Doc(nlp.vocab, words=TEXTS[0]))
    seconds = [token._.second_tag for token in doc]
    assert any(seconds) and not all(seconds)
    sentences = nlp.get_pipe("span_parser").read_doc(doc).sentences
    given = {i: tag for one in sentences for i, tag in zip(one.positions, one.tags, strict=True)}
    for sentence in doc.sents:
        for one in k_best(nlp, sentence, 2):
            assert set(map(type, one.tree.tags)) == {str}
            doc_from_trees([one.tree], nlp.vocab)
    tagger = nlp.get_pipe("recurrent_tagger").parser
    (found,) = tagger.tag_texts([TEXTS[0]])
    for token in doc:
        second = found.second_tags[token.i]
        assert token._.second_tag == ("" if second < 0 else tagger.names[second]) != token.tag_
        if token.i in given:
            both = format_tag(given[token.i])
            assert both == (f"{token.tag_}||{token._.second_tag}" if second_tags and second >= 0 else token.tag_)


def test_tags_of_others_have_no_second_one() -> None:
    nlp = make_pipeline(True)
    tagged = nlp(Doc(nlp.vocab, words=TEXTS[0]))
    seconds, tags = [token._.second_tag for token in tagged], [token.tag_ for token in tagged]
    assert [token._.second_tag for token in nlp(tagged)] == seconds, "nothing changes if a Doc is tagged again"
    for given in (["XX"] * len(tags), tags):
        doc = Doc(nlp.vocab, words=TEXTS[0], tags=given)
        assert not any(token._.second_tag for token in nlp(doc))
    half = [tag if i < 8 else "" for i, tag in enumerate(tags)]
    found = [token._.second_tag for token in nlp(Doc(nlp.vocab, words=TEXTS[0], tags=half))]
    assert found == [""] * 8 + seconds[8:] and any(seconds[:8]) and any(seconds[8:])


def test_a_network_that_uses_them_finds_other_probabilities() -> None:
    (words, tags), seconds = (("The", "cat", "sat"), ("DT", "NN", "VBD")), ("DT", AmbiguousTag("NN", "VBD"), "VBD")
    for second_tags in (True, False):
        parser = SpanParser(random_span_model(second_tags=second_tags))
        plain, both = (parser.run_networks(words, given)[0] for given in (tags, seconds))
        assert np.array_equal(plain, both) != second_tags
        again = SpanParser.from_bytes(parser.to_bytes())
        assert np.array_equal(again.run_networks(words, seconds)[0], both)
        assert again.parse(words, seconds).tree.tags == tags
