"""After any edit of the span group, the accessors, the matcher and the values are those of the new constituents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from spacy.tokens import Doc, Span, SpanGroup
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse import ConstituentMatcher
from spacy_dtparse.core.parser import ParseResult
from spacy_dtparse.errors import SpanGroupError, TreeError
from spacy_dtparse.pipeline.attributes import (
    constituents,
    cost,
    is_parsed,
    parse_string,
    probability,
    sentence_infos,
    to_tree,
    tree_probability,
)
from spacy_dtparse.pipeline.phrases import NounChunks
from spacy_dtparse.pipeline.retokenized import as_doc
from spacy_dtparse.pipeline.spines import SPINES_KEY, spine, spines, write_spines
from spacy_dtparse.pipeline.writing import ParsedSentence, write_constituents
from spacy_dtparse.trees.brackets import parse_tree
from spacy_dtparse.trees.tree import Tree

KEY = "constituents"
FIRST = "(TOP (S (NP (DT the) (JJ old) (NN dog)) (VP (VBZ sees) (NP (PRP it))) (. .)))"
SECOND = "(TOP (S (NP (NNS birds)) (VP (VBP sing)) (. .)))"


def parsed_doc() -> Doc:
    trees = [parse_tree(FIRST), parse_tree(SECOND)]
    words = [word for tree in trees for word in tree.words]
    tags = [tag for tree in trees for tag in tree.tags]
    doc = Doc(Vocab(), words=words, tags=tags, sent_starts=[i in (0, 6) for i in range(len(words))])
    sentences, start = [], 0
    for tree in trees:
        m, n = len(tree.labels), len(tree.words)
        costs = tuple(float(100 * start + k) for k in range(m))
        probabilities = tuple((start + k) / 100 for k in range(m))
        result = ParseResult(
            tree=tree,
            cost=1.0,
            costs=costs,
            status="optimal",
            n_states=1,
            n_scored=1,
            probabilities=probabilities,
            tree_probability=0.5,
        )
        sentences.append(ParsedSentence(start, start + n, tuple(range(start, start + n)), result))
        start += n
    write_constituents(doc, sentences, KEY, "test")
    return doc


def values(doc: Doc) -> dict[tuple[int, int, str], tuple[float | None, float | None]]:
    return {(span.start, span.end, span.label_): (cost(span), probability(span)) for span in constituents(doc)}


def replace_label(group: SpanGroup) -> None:
    group[1] = Span(group.doc, group[1].start, group[1].end, "XP")


def delete_first(group: SpanGroup) -> None:
    del group[0]


def delete_middle(group: SpanGroup) -> None:
    del group[1]


def delete_last(group: SpanGroup) -> None:
    del group[-1]


def append_low(group: SpanGroup) -> None:
    group.append(Span(group.doc, 1, 3, "NX"))


def extend_list(group: SpanGroup) -> None:
    group.extend([Span(group.doc, 1, 3, "NX"), Span(group.doc, 6, 8, "X")])


def add_in_place(group: SpanGroup) -> None:
    group += SpanGroup(group.doc, spans=[Span(group.doc, 1, 3, "NX")])


def move(group: SpanGroup) -> None:
    del group[2]
    group.append(Span(group.doc, 3, 5, "VP"))


DELETIONS = (delete_first, delete_middle, delete_last, move)
EDITS = (replace_label, delete_first, delete_middle, delete_last, append_low, extend_list, add_in_place, move)


def fresh_of(doc: Doc) -> Doc:
    """A Doc with the same spans, none of which was ever read."""
    other = Doc(
        doc.vocab, words=[t.text for t in doc], tags=[t.tag_ for t in doc], sent_starts=[t.is_sent_start for t in doc]
    )
    other.spans[KEY] = [Span(other, s.start, s.end, s.label_) for s in doc.spans[KEY]]
    return other


def load_again(doc: Doc) -> Doc:
    return Doc(doc.vocab).from_bytes(doc.to_bytes())


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
@pytest.mark.parametrize(
    "how", ("parsed", "loaded, read before", "loaded, held before", "loaded, edited first", "copied")
)
def test_edits_give_the_new_tree_and_values_stay(edit: Callable[[SpanGroup], None], how: str) -> None:
    if edit in DELETIONS and how in ("loaded, held before", "loaded, edited first"):
        pytest.skip("del of spaCy's own SpanGroup removes the span before it, or writes outside of the group")
    doc = parsed_doc()
    before = values(doc)
    if how != "parsed":
        doc = doc.copy() if how == "copied" else load_again(doc)
    held = doc.spans[KEY] if how == "loaded, held before" else None
    if how != "loaded, edited first":
        assert values(doc) == before
        [parse_string(sent) for sent in doc.sents]
    edit(doc.spans[KEY] if held is None else held)
    expected = fresh_of(doc)
    assert [(s.start, s.end, s.label_, s.id_) for s in constituents(doc)] == [
        (s.start, s.end, s.label_, s.id_) for s in constituents(expected)
    ]
    assert list(map(str, map(to_tree, doc.sents))) == list(map(str, map(to_tree, expected.sents)))
    matcher = ConstituentMatcher(doc.vocab)
    matcher.add("any", ["XP|NX|VP|S|X"])
    assert matcher(doc) == matcher(expected)
    for key, now in values(doc).items():
        known = before.get(key, (None, None))
        assert now == known or (now == (None, None) and how in ("loaded, held before", "loaded, edited first"))
    assert values(load_again(doc)) == values(doc)
    records = spacy_dtparse.to_records(doc)
    assert [one["probability"] for one in records] == [probability(span) for span in constituents(doc)]


def test_sentences_with_edits_have_another_status() -> None:
    doc = parsed_doc()
    doc.spans[KEY][2] = Span(doc, 3, 5, "XP")
    assert [info["status"] for info in sentence_infos(doc)] == ["edited", "optimal"]
    first, second = doc.sents
    assert (tree_probability(first), tree_probability(second)) == (None, 0.5)


def test_an_edit_at_the_end_of_a_sentence_does_not_concern_the_next() -> None:
    doc = parsed_doc()
    end = sentence_infos(doc)[0]["end"]
    doc.spans[KEY][1] = Span(doc, end - 1, end, "XP")
    assert [info["status"] for info in sentence_infos(doc)] == ["edited", "optimal"]


def test_values_of_other_spans_are_not_taken() -> None:
    doc = parsed_doc()
    group = doc.spans[KEY]
    spans = [Span(doc, one.start, one.end, f"X{one.label_}") for one in group]
    doc.spans[KEY] = SpanGroup(doc, name=KEY, attrs=group.attrs, spans=spans)
    assert {cost(span) for span in constituents(doc)} == {None}
    assert [span.label_ for span in constituents(doc)][:2] == ["XS", "XNP"]


def test_another_order_gives_the_same_tree() -> None:
    doc = parsed_doc()
    before, strings = values(doc), [parse_string(sent) for sent in doc.sents]
    group = doc.spans[KEY]
    for k in range(len(group) // 2):
        one, other = group[k], group[len(group) - 1 - k]
        group[k], group[len(group) - 1 - k] = other, one
    assert [parse_string(sent) for sent in doc.sents] == strings
    assert values(doc) == before


def test_spans_of_the_group_are_copies() -> None:
    """As in spaCy: a change of a Span that was taken from a group does not change the group."""
    doc = parsed_doc()
    span = doc.spans[KEY][1]
    span.label_ = "XP"
    assert doc.spans[KEY][1].label_ == "NP" and constituents(doc)[1].label_ == "NP"
    doc.spans[KEY][1] = span
    assert constituents(doc)[1].label_ == "XP"


@pytest.mark.parametrize(
    "spans, message",
    [
        ([(0, 3, "NP"), (2, 5, "VP")], "cross"),
        ([(0, 3, "NP"), (4, 4, "VP")], "is empty"),
        ([(0, 3, "NP"), (3, 5, "")], "has no label"),
    ],
)
def test_spans_that_are_no_tree(spans: list[tuple[int, int, str]], message: str) -> None:
    doc = parsed_doc()
    doc.spans[KEY] = [Span(doc, *one) for one in spans]
    assert not is_parsed(doc)
    with pytest.raises(TreeError, match=message):
        constituents(doc)
    with pytest.raises(TreeError, match=message):
        parse_string(doc[0:3])


def test_white_space_at_an_edge() -> None:
    doc = Doc(
        Vocab(),
        words=["a", "dog", "\n", "runs"],
        tags=["DT", "NN", "_SP", "VBZ"],
        sent_starts=[True, False, False, False],
    )
    doc.spans[KEY] = [Span(doc, 0, 3, "NP")]
    with pytest.raises(TreeError, match="begins or ends with white space"):
        parse_string(doc[0:4])


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("costs", None, "it must be a list of finite numbers"),
        ("costs", "text", "is 'text'"),
        ("costs", [float("nan")] * 7, "entry 0 is nan"),
        ("probabilities", [0.5] * 7 + ["x"], "entry 7 is 'x'"),
        ("version", 1, "another version of spacy-dtparse"),
        ("version", "2", "it must be 2"),
        ("sentences", None, "a list of dicts"),
        ("sentences", [{"start": 0}], "entry 0 is"),
        ("n_tokens", "9", "the number of tokens"),
        ("parser", 3, "the name of a parser"),
        ("head_rules", 3, "a language code"),
        ("noun_chunks", "all", "'auto', 'constituents' or 'dependencies'"),
    ],
)
@pytest.mark.parametrize("read_before", (False, True))
def test_garbage_in_attrs(name: str, value: Any, message: str, read_before: bool) -> None:
    doc = parsed_doc()
    if read_before:
        constituents(doc)
    doc.spans[KEY].attrs[name] = value
    reads = (constituents, sentence_infos, lambda doc: values(doc), lambda doc: spacy_dtparse.to_records(doc))
    with pytest.raises(SpanGroupError, match=message) as caught:
        for read in reads:
            read(doc)
        [spacy_dtparse.head(span) for span in constituents(doc)]
        NounChunks()(doc).__next__()
        constituents(load_again(doc))  # version, n_tokens, parser are checked when the spans are read
    assert len(str(caught.value)) < 500


def test_attrs_that_are_no_dict() -> None:
    doc = parsed_doc()
    doc.spans[KEY].attrs = None
    with pytest.raises(SpanGroupError, match="must be a dict"):
        constituents(doc)


def test_groups_in_another_doc() -> None:
    doc = parsed_doc()
    other = Doc(doc.vocab, words=[token.text for token in doc], tags=[token.tag_ for token in doc])
    other.spans[KEY] = doc.spans[KEY].copy(other)
    assert values(other) == values(doc)
    other.spans[KEY].append(Span(other, 1, 3, "NX"))
    assert (1, 3, "NX") in values(other) and (1, 3, "NX") not in values(doc)
    short = Doc(doc.vocab, words=[token.text for token in doc][:6])
    with pytest.raises(ValueError):
        short.spans[KEY] = doc.spans[KEY].copy(short)
    short.spans[KEY] = SpanGroup(short, attrs=doc.spans[KEY].attrs, spans=[Span(short, 0, 6, "S")])
    assert values(short) == {(0, 6, "S"): (None, None)}


def test_retokenized_after_edits() -> None:
    doc = parsed_doc()
    doc.spans[KEY][1] = Span(doc, 0, 3, "XP")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:3])
    assert values(doc)[(0, 1, "XP")] == (None, None)
    assert values(doc)[(1, 3, "VP")] == (3.0, 0.03)
    part = as_doc(doc[0:4])
    assert values(part)[(1, 3, "VP")] == (3.0, 0.03)


def test_spines_stay_with_their_words() -> None:
    doc = Doc(Vocab(), words=["a", "dog", "runs"], tags=["DT", "NN", "VBZ"])
    write_spines(doc, [0, 1, 2], [[("x", 1.0)], [("NP", 0.75), ("x", 0.25)], [("S", 1.0)]])
    group = doc.spans[SPINES_KEY]
    group[1] = Span(doc, 1, 2, "NX")
    assert (spine(doc[1]), spines(doc[1]), spines(doc[2])) == ("NX", (), (("S", 1.0),))
    del group[0]
    assert (spine(doc[0]), spine(doc[2]), spines(doc[2])) == ("", "S", (("S", 1.0),))
    group.append(Span(doc, 0, 1, "x"))
    assert (spine(doc[0]), spines(doc[0]), spines(doc[2])) == ("x", (), (("S", 1.0),))
    assert spines(load_again(doc)[2]) == (("S", 1.0),)
    for value in (None, "text", [1, 2, 3], [[0], ["a", 1.0], [99, 0.5]]):
        group.attrs["supertags"] = value
        with pytest.raises(SpanGroupError):
            [spines(token) for token in doc]


def test_conllu_has_ten_fields_whatever_the_lemmas_are() -> None:
    doc = parsed_doc()
    for token in doc:
        token.lemma_, token.tag_ = "a\tb\nc\u2028d", "N N\t"
    lines = [line for line in spacy_dtparse.to_conllu(doc).split("\n") if line and not line.startswith("#")]
    assert len(lines) == len(doc) and {line.count("\t") for line in lines} == {9}
    assert lines[0].split("\t")[2:5] == ["a b c d", "_", "N_N"]


def test_labels_that_nobody_can_read_back() -> None:
    tree = parse_tree(FIRST)
    with pytest.raises(TreeError, match="label 1 is empty"):
        Tree(tree.words, tree.tags, ("TOP", "", *tree.labels[2:]), tree.starts, tree.ends)


def test_attributes_of_another_type_are_reported_by_trees_too() -> None:
    doc = parsed_doc()
    doc.spans[KEY].attrs = None
    for call in (lambda: to_tree(doc[0:6]), lambda: parse_string(doc[0:6]), lambda: spacy_dtparse.head(doc[0:6])):
        with pytest.raises(SpanGroupError, match="are None; they must be a dict"):
            call()
    doc.spans[KEY].attrs = {"universal_tags": "no"}
    with pytest.raises(SpanGroupError, match="it must be True or False"):
        to_tree(doc[0:6])


def swap_two(group: SpanGroup) -> None:
    group[1], group[4] = group[4], group[1]


def replace_id(group: SpanGroup) -> None:
    one = group[1]
    group[1] = Span(group.doc, one.start, one.end, one.label_, span_id="level-2")


def replace_kb_id(group: SpanGroup) -> None:
    one = group[1]
    group[1] = Span(group.doc, one.start, one.end, one.label_, kb_id="Q1", span_id=one.id_)


def append_as_base(group: SpanGroup) -> None:
    SpanGroup.append(group, Span(group.doc, 1, 3, "NX"))


@pytest.mark.parametrize("edit", (swap_two, replace_id, replace_kb_id, append_as_base, replace_label, append_low))
@pytest.mark.parametrize("how", ("parsed", "loaded", "loaded and held"))
def test_edits_between_two_values(edit: Callable[[SpanGroup], None], how: str) -> None:
    """Nothing read before an edit is used after it; of a group that somebody holds, all bytes are compared."""
    doc = parsed_doc() if how == "parsed" else load_again(parsed_doc())
    held = doc.spans[KEY] if how == "loaded and held" else None
    before = values(doc)
    for _ in range(2):
        group = doc.spans[KEY] if held is None else held
        edit(group)
        expected = fresh_of(doc)
        assert [str(to_tree(sent)) for sent in doc.sents] == [str(to_tree(sent)) for sent in expected.sents]
        assert [parse_string(sent) for sent in doc.sents] == [parse_string(sent) for sent in expected.sents]
        for key, now in values(doc).items():
            assert all(one in (None, known) for one, known in zip(now, before.get(key, (None, None)), strict=True))


def test_another_group_between_two_readings() -> None:
    doc = parsed_doc()
    first = values(doc)
    kept = doc.spans[KEY]
    doc.spans[KEY] = [Span(doc, 0, 3, "XP")]
    assert values(doc) == {(0, 3, "XP"): (None, None)}
    kept[1] = Span(doc, 0, 3, "YP")  # of a group that is not the Doc's now
    assert values(doc) == {(0, 3, "XP"): (None, None)}
    doc.spans[KEY] = kept
    assert (0, 3, "YP") in values(doc) and (0, 3, "NP") in first and (0, 3, "NP") not in values(doc)
