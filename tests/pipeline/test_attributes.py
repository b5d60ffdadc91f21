"""Attributes of Docs and Spans: benepar's meaning, unary chains, white space, Docs that went through
conversions."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span, Token
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse.errors import NonConstituentError, NotParsedError, TreeError
from spacy_dtparse.pipeline import attributes, extensions
from spacy_dtparse.pipeline.writing import ParsedSentence, write_constituents
from spacy_dtparse.trees import parse_tree, write_tree


def gold_doc(*strings, vocab=None, space_after=None):
    """A Doc with hand-written trees; `space_after`: put a white-space token after this word."""
    words, tags, starts, sentences = [], [], [], []
    for string in strings:
        tree, places, first = parse_tree(string), [], len(words)
        for k, (word, tag) in enumerate(zip(tree.words, tree.tags, strict=True)):
            places.append(len(words))
            words.append(word)
            tags.append(tag)
            starts.append(k == 0)
            if word == space_after:
                words.append("  ")
                tags.append("_SP")
                starts.append(False)
        sentences.append(ParsedSentence(first, len(words), places, tree))
    doc = Doc(vocab or Vocab(), words=words, tags=tags, sent_starts=starts)
    write_constituents(doc, sentences)
    return doc


CHAIN = "(TOP (S (VP (VB go))))"
PLAIN = "(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (PRP it)))) (. .)))"


def texts(spans):
    return [span.text for span in spans]


def test_extensions_have_the_meaning_of_benepar(nlp):
    extensions.register_extensions()
    doc = gold_doc(PLAIN, CHAIN)
    sent, short = doc.sents
    assert sent._.parse_string == "(S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (PRP it)))) (. .))"
    assert sent._.labels == ("S",) and short._.labels == ("S", "VP")
    assert texts(sent._.children) == ["the cat", "sat on it", "."]
    assert texts(sent._.constituents) == [
        "the cat sat on it .",
        "the cat",
        "the",
        "cat",
        "sat on it",
        "sat",
        "on it",
        "on",
        "it",
        ".",
    ]
    assert sent._.parent is None and doc[3:5]._.parent.text == "sat on it"
    assert doc[4]._.labels == ("NP",) and doc[3]._.labels == () and doc[3]._.parent.text == "on it"
    assert doc[4]._.parent.text == "on it" and doc[4:5]._.parse_string == "(NP (PRP it))"
    assert doc[3]._.parse_string == "(IN on)" and list(doc[4:5]._.children) == []
    with pytest.raises(NonConstituentError, match="not a constituent"):
        _ = doc[1:3]._.labels


def test_members_of_a_unary_chain_differ_by_their_ids(nlp):
    doc = gold_doc("(TOP (S (VP (NP (NP (NN rain))))))")
    s, vp, np_high, np_low = doc._.constituents
    assert [span._.labels for span in (s, vp, np_high, np_low)] == [
        ("S", "VP", "NP", "NP"),
        ("VP", "NP", "NP"),
        ("NP", "NP"),
        ("NP",),
    ]
    assert vp._.parse_string == "(VP (NP (NP (NN rain))))" and np_low._.parse_string == "(NP (NN rain))"
    assert [span.label_ for span in vp._.children] == ["NP"] and vp._.parent.label_ == "S"
    assert np_low._.parent._.labels == ("NP", "NP") and list(np_low._.children) == []
    assert [span.label_ for span in vp._.constituents] == ["VP", "NP", "NP"]
    assert doc[0:1]._.labels == ("S", "VP", "NP", "NP") and doc[0:1]._.parent is None


def test_costs_and_sentence_infos(nlp):
    doc = nlp("The cat sat. She saw it.")
    group = doc.spans["constituents"]
    assert [attributes.cost(span) for span in doc._.constituents] == group.attrs["costs"]
    assert [info["status"] for info in attributes.sentence_infos(doc)] == ["optimal", "optimal"]
    assert [(info["start"], info["end"]) for info in attributes.sentence_infos(doc)] == [(0, 4), (4, 8)]
    json.dumps(group.attrs, allow_nan=False)
    assert attributes.cost(doc[0:1]) is None


def test_top_remains_only_if_nothing_else_covers_the_sentence():
    doc = gold_doc("(TOP (NP (NN rain)) (. .))", "(TOP (UH yes))", PLAIN)
    first, second, third = doc.sents
    assert attributes.parse_string(first) == "(TOP (NP (NN rain)) (. .))"
    assert attributes.parse_string(second) == "(TOP (UH yes))"
    assert attributes.labels(third) == ("S",)
    assert [write_tree(tree) for tree in attributes.trees(doc)] == [
        "(TOP (NP (NN rain)) (. .))",
        "(TOP (UH yes))",
        PLAIN,
    ]


def test_white_space_inside_and_around():
    doc = gold_doc(PLAIN, CHAIN, space_after="the")
    sent = next(doc.sents)
    noun_phrase = next(iter(attributes.children(sent)))
    assert (noun_phrase.start, noun_phrase.end) == (0, 3)
    assert texts(attributes.children(noun_phrase)) == ["the", "cat"]
    assert attributes.parse_string(noun_phrase) == "(NP (DT the) (NN cat))"
    trailing = gold_doc(PLAIN, space_after=".")
    sent = next(trailing.sents)
    assert sent.end == 7 and attributes.labels(sent) == ("S",)
    assert attributes.constituents(trailing)[0].end == 6
    assert write_tree(attributes.to_tree(sent)) == PLAIN
    with pytest.raises(NonConstituentError, match="white space only"):
        attributes.labels(trailing[6:7])


def test_brackets_of_white_space_are_empty(nlp):
    trailing = gold_doc(PLAIN, space_after=".")
    assert attributes.parse_string(trailing[6:7]) == trailing[6]._.parse_string == ""
    assert attributes.parse_string(trailing[2:2]) == "", "nor has a span without tokens a word"
    assert attributes.parse_string(trailing[5:7]) == "(. .)"
    assert [sent._.parse_string for sent in nlp(" \n\t  ").sents] == [""]
    between = gold_doc(CHAIN, CHAIN, space_after="go")
    assert [attributes.parse_string(between[k : k + 1]) for k in range(4)] == ["(S (VP (VB go)))", ""] * 2


def test_brackets_of_white_space_still_need_a_parse(nlp):
    with pytest.raises(NotParsedError, match="add 'dtparse' to the pipeline"):
        attributes.parse_string(spacy.blank("en")("  ")[:])
    doc = nlp("The old cat \n sat.")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[2:5])
    with pytest.raises(NotParsedError, match="merged or split"):
        attributes.parse_string(doc[1:2])


def test_deep_tree_needs_no_recursion():
    depth = 3000
    doc = gold_doc("(TOP " + "(NP (DT a) " * depth + "(NN b)" + ")" * (depth + 1))
    assert attributes.parse_string(doc[0:]).count("(NP") == depth
    assert len(attributes.to_tree(doc[:]).labels) == depth + 1
    assert attributes.parent(doc[depth : depth + 1]).start == depth - 1


def test_subtree_and_edge_checks_of_to_tree():
    doc = gold_doc(PLAIN)
    assert write_tree(attributes.to_tree(doc[2:5])) == "(TOP (VP (VBD sat) (PP (IN on) (NP (PRP it)))))"
    with pytest.raises(NonConstituentError, match="crosses the edge"):
        attributes.to_tree(doc[1:3])


def test_brackets_and_merged_words_are_escaped(nlp):
    doc = nlp("The (old) cat sat.")
    assert "(-LRB- -LRB-)" in next(doc.sents)._.parse_string
    plain = spacy.blank("en")
    doc = plain("the New York cat")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[1:3])
    nlp.select_pipes(enable=["list_tagger", "dtparse"])
    with pytest.warns(UserWarning, match="no sentence boundaries"):
        parsed = nlp(Doc(nlp.vocab, words=[token.text for token in doc]))
    assert "(NN New_York)" in parsed[:]._.parse_string


# ---- Docs after conversions ----


def test_unparsed_doc(nlp):
    doc = spacy.blank("en")("the cat")
    assert not spacy_dtparse.is_parsed(doc)
    with pytest.raises(NotParsedError, match="add 'dtparse' to the pipeline"):
        _ = doc._.constituents
    with pytest.raises(NotParsedError, match="add 'dtparse' to the pipeline"):
        _ = doc[0:1]._.labels


def test_docbin_into_a_fresh_vocab_and_bytes(nlp):
    doc = nlp("Run. The old cat sat quietly.")
    wanted = [(s.start, s.end, s.label_, s._.labels) for s in doc._.constituents]
    for copy in (
        next(DocBin().from_bytes(DocBin(docs=[doc], store_user_data=True).to_bytes()).get_docs(Vocab())),
        Doc(Vocab()).from_bytes(doc.to_bytes()),
        doc.copy(),
    ):
        assert [(s.start, s.end, s.label_, s._.labels) for s in copy._.constituents] == wanted
        assert copy.spans["constituents"].attrs == doc.spans["constituents"].attrs
        assert [s.id_ for s in copy._.constituents] == [s.id_ for s in doc._.constituents]


def test_json_loses_ids_and_attrs_but_the_order_is_enough(nlp):
    doc = nlp("Run. The old cat sat.")
    copy = Doc(Vocab()).from_json(json.loads(json.dumps(doc.to_json())))
    assert [attributes.parse_string(sent) for sent in copy.sents] == [s._.parse_string for s in doc.sents]
    assert copy[0:2]._.labels == ("S", "VP") and attributes.cost(copy[0:2]) is None
    assert attributes.sentence_infos(copy) == []


def test_from_docs_and_as_doc(nlp):
    docs = [nlp("Run."), nlp("The old cat sat.")]
    joined = Doc.from_docs(docs)
    assert [s._.parse_string for s in joined.sents] == [next(d.sents)._.parse_string for d in docs]
    part = next(docs[1].sents).as_doc()
    with pytest.raises(NotParsedError, match=r"spacy_dtparse\.as_doc\(span\)"):
        _ = part._.constituents
    with pytest.raises(NotParsedError, match="as_doc"):
        _ = part[:]._.parse_string


def test_another_key_is_found_and_can_be_given(nlp):
    nlp.get_pipe("dtparse").spans_key = "syntax"
    doc = nlp("The cat sat.")
    assert list(doc.spans) == ["syntax"]
    assert [s.label_ for s in doc._.constituents] == ["S", "NP", "VP"]
    with pytest.raises(NotParsedError, match="no constituents"):
        attributes.constituents(doc, "constituents")


def test_crossing_spans_of_a_hand_made_group_are_reported():
    doc = Doc(Vocab(), words=["a", "b", "c"])
    doc.spans["constituents"] = [Span(doc, 0, 2, label="NP"), Span(doc, 1, 3, label="VP")]
    with pytest.raises(TreeError, match="cross"):
        attributes.constituents(doc)


def test_a_replaced_group_is_read_again():
    doc = gold_doc(PLAIN)
    assert attributes.labels(doc[0:2]) == ("NP",)
    doc.spans["constituents"] = [Span(doc, 0, 6, label="S"), Span(doc, 0, 2, label="QP")]
    assert attributes.labels(doc[0:2]) == ("QP",)


def test_registering_does_not_overwrite_other_extensions():
    def someone_s_labels(span):
        return "mine"

    kept = Span.get_extension("labels") if Span.has_extension("labels") else None
    Span.set_extension("labels", getter=someone_s_labels, force=True)
    try:
        assert extensions.register_extensions() == ["Span.labels"]
        assert Span.get_extension("labels")[2] is someone_s_labels
        doc = gold_doc(PLAIN)
        assert doc[0:2]._.labels == "mine" and spacy_dtparse.labels(doc[0:2]) == ("NP",)
        assert extensions.register_extensions(force=True) == []
        assert doc[0:2]._.labels == ("NP",)
    finally:
        if kept is not None:
            Span.set_extension("labels", getter=kept[2], force=True)


@pytest.mark.slow
def test_benepar_can_be_imported_after_a_component_was_made(tmp_path):
    """A stand-in registers benepar's names in the way of benepar: without force, on import."""
    (tmp_path / "benepar.py").write_text(
        textwrap.dedent(
            """
            from spacy.tokens import Span, Token
            def getter(thing):
                return "benepar"
            for name in ("labels", "parse_string", "constituents", "parent", "children"):
                Span.set_extension(name, getter=getter)
            for name in ("labels", "parse_string", "parent"):
                Token.set_extension(name, getter=getter)
            """
        )
    )
    program = textwrap.dedent(
        """
        import sys
        sys.path[:0] = sys.argv[1:]
        from spacy_dtparse.pipeline.extensions import register_extensions
        held = register_extensions()
        import benepar
        from spacy.tokens import Doc, Span
        assert Span.get_extension("labels")[2] is benepar.getter, held
        assert Doc.has_extension("constituents") and len(held) == 8, held
        assert len(register_extensions()) == 8
        """
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), root], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_all_extensions_are_registered_and_spawn_safe():
    extensions.register_extensions()
    for owner, name in ((Doc, "constituents"), (Span, "children"), (Token, "parent")):
        getter = owner.get_extension(name)[2]
        assert getattr(sys.modules[getter.__module__], getter.__name__) is getter


def test_reading_constituents_keeps_no_doc_in_memory(nlp):
    doc = nlp("The cat sat.")
    assert doc._.constituents and doc[0:2]._.labels == ("NP",)
    alive = weakref.ref(doc)
    del doc
    gc.collect()
    assert alive() is None


def test_memory_zones(nlp):
    with nlp.memory_zone():
        inside = [span.label_ for span in nlp("Run quietly.")._.constituents]
    assert [span.label_ for span in nlp("Run quietly.")._.constituents] == inside == ["S", "VP", "ADVP"]
    assert nlp("Run.")[0:2]._.labels == ("S", "VP")


def test_members_found_any_way_are_equal(nlp):
    extensions.register_extensions()
    docs = [nlp("The old cat sat on the mat. She saw a dog."), gold_doc(CHAIN, CHAIN)]
    for doc in docs:
        members = attributes.constituents(doc)
        found = [token._.parent for token in doc]
        for sent in doc.sents:
            found += [span for span in sent._.constituents if len(span) > 1 or span.label_]
        for member in members:
            found += [span for span in member._.constituents if span.label_] + [member._.parent]
        found = [span for span in found if span is not None]
        assert found and all(span in members and span in set(members) for span in found)
        assert set(doc.spans["constituents"]) == set(members) and set(found) <= set(members)


def test_a_chain_equals_its_highest_member_and_stands_for_all():
    doc = gold_doc(CHAIN)
    chain, member = next(attributes.subconstituents(doc[:])), attributes.constituents(doc)[0]
    assert chain == member and hash(chain) == hash(member) and chain.id_ == member.id_ == "level-1"
    assert attributes.labels(chain) == attributes.labels(member) and len(attributes.labels(chain)) > 1
    assert [span.label_ for span in attributes.children(member)] == [attributes.labels(chain)[1]]
    assert [span.label_ for span in attributes.children(chain)] != [attributes.labels(chain)[1]]
