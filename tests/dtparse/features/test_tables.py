"""Template tables and lexicons: round trips, fingerprints, and what is refused."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from spacy_dtparse.dtparse.features.lexicon import (
    RARE,
    SHAPES,
    TAG_CLASSES,
    Lexicon,
    frequent_words,
    normal_word,
    tag_class,
    word_shape,
)
from spacy_dtparse.dtparse.features.tables import TABLES, get_templates
from spacy_dtparse.dtparse.features.templates import TableSizes, Templates, compile_templates, is_shared
from spacy_dtparse.dtparse.kernels import features as k
from spacy_dtparse.dtparse.kernels.marginals import N_BINS
from spacy_dtparse.errors import ConfigError, TrainingDataError

ITEM = ("item", "start", 0)


@pytest.mark.parametrize("name", TABLES)
def test_tables_round_trip_through_plain_data(name):
    table = get_templates(name)
    again = Templates.from_dict(json.loads(json.dumps(table.to_dict())))
    assert again == table and again.fingerprint() == table.fingerprint()
    assert len({get_templates(other).fingerprint() for other in TABLES}) == len(TABLES)


def test_shipped_tables_have_the_groups_of_the_papers():
    baseline, sink = get_templates("baseline"), get_templates("kitchen_sink")
    assert len(baseline.grouped) == 6 * 3 * 4 and len(baseline.unary) == 4 and not baseline.tuples
    assert {group[2] for group in sink.grouped} == {0, 1, 2, 3, 4}
    assert len(sink.unary) == 21 * 4 + 21 * 3 + 9 * 3  # (a), (e), (f)
    assert sum(kind in ("items", "terminals") for kind, *_ in sink.grouped) == 15 * 2
    assert (baseline.reach(), sink.reach(), get_templates("standard").reach()) == (3, 2**30, 0)


def test_shipped_tables_stay_as_they_are():
    """A model file stores its table, and its atom ids depend on the table: a changed table needs another name."""
    assert {name: get_templates(name).fingerprint() for name in TABLES} == {
        "baseline": "5bc208e17bbd3dec",
        "kitchen_sink": "442d23c83f7dc8ef",
        "standard": "84bbab2a34d2df4e",
        "standard_clusters": "c0c89b127d0b10aa",
        "standard_read": "802d7a9742607d12",
    }


def test_how_far_a_table_looks_to_the_left():
    for places, reach in (([("item", "left", 2)], 3), ([("child", "head", ("item", "left", 0))], 1), ([ITEM], 0)):
        assert Templates("t", tuple((place, "label") for place in places)).reach() == reach


@pytest.mark.parametrize(
    ("places", "grouped", "reach"),
    [
        ([ITEM], (), 0),
        ([("item", "left", 2), ("item", "end", 1)], (), 0),
        ([("item", "right", 0)], (), 1),
        ([("item", "right", 2), ("item", "right", 1)], (), 3),
        ([("child", "head", ("item", "right", 1))], (), 2),
        ([("item", "front", 3)], (), 4),
        ([("believed", "with right", 0)], (), 1),
        ([("child", "last", ("child", "head", ("item", "end", 0)))], (), -1),
        ([ITEM], [("some_item", "right_context", 3, False, "label")], 3),
        ([("item", "right", 3)], [("some_item", "right_context", 3, False, "label")], 4),
        ([ITEM], [("some_item", "left_context", 3, False, "label")], 0),
        ([ITEM], [("items", "right_context", 0, False, None)], -1),
        ([ITEM], [("items", "left_context", 0, False, None)], -1),
    ],
)
def test_how_far_a_table_looks_to_the_right(places, grouped, reach):
    """Scores are cached by the items up to that distance; items beyond it must not matter."""
    unary = tuple((place, "mass" if place[0] == "believed" else "label") for place in places)
    assert Templates("t", unary, grouped=tuple(grouped)).reach_right() == reach


def test_direct_entries_do_not_overlap_and_fill_the_map():
    sizes = TableSizes(symbols=7, words=5, classes=4, shapes=len(SHAPES), chains=3)
    for name in TABLES:
        table, size = compile_templates(get_templates(name), sizes)
        spans = [
            (base, base + sizes.of(int(table.slots[slot, 1])) + 1)
            for slot, base in zip(table.unary, table.unary_base, strict=True)
        ]
        spans += [(base, base + N_BINS) for base in table.ordered_base]
        spans += [
            (base, base + (sizes.of(int(code)) if kind in (k.SOME_ITEM, k.SOME_TERMINAL) else 2 * (k.LENGTH_MAX + 1)))
            for (kind, _, code), base in zip(table.grouped, table.grouped_base, strict=True)
        ]
        spans.sort()
        assert spans[0][0] == 0 and spans[-1][1] == size
        assert all(end == start for (_, end), (start, _) in itertools.pairwise(spans))
        assert (table.bounds[:, 1::2] >= table.bounds[:, ::2]).all() and table.bounds.dtype == np.int32


def test_shared_atoms_depend_only_on_the_start_of_the_window():
    assert is_shared(("item", "left", 2)) and is_shared(("child", "head", ("item", "front", 1)))
    assert not is_shared(ITEM) and not is_shared(("child", "first", ("item", "right", 0)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unary": ((ITEM, "lemma"),)}, "unknown attribute 'lemma' in a template; allowed are 'label'"),
        ({"unary": ((("item", "middle", 0), "tag"),)}, "unknown position 'middle'"),
        ({"unary": ((("word", "start", 0), "tag"),)}, "is not a position"),
        ({"unary": ((("child", "second", ITEM), "tag"),)}, "unknown child 'second'"),
        ({"unary": ((("item", "start"), "tag"),)}, "is not a position"),
        ({"grouped": (("any_item", "span", 0, False, "tag"),)}, "unknown kind of group template 'any_item'"),
        ({"grouped": (("some_item", "spam", 0, False, "tag"),)}, "unknown group 'spam'"),
        ({"grouped": (("some_item", "span", 0, False, "cluster"),)}, "group 'span' tests clusters"),
        ({"grouped": (("some_item", "span", -1, False, "tag"),)}, "has n = -1; it must be 0"),
        ({"grouped": (("some_item", "span", 0, False, None),)}, "unknown attribute None"),
        ({"unary": ((("believed", "window", 0), "tag"),)}, "unknown attribute 'tag' in a template; allowed are 'mass'"),
        ({"unary": ((("believed", "sentence", 0), "mass"),)}, "unknown span 'sentence'"),
        ({"unary": (), "ordered": ((("believed", "window", 0), "chain"),)}, "is not a probability"),
    ],
)
def test_unknown_names_are_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        Templates(**{"name": "t", "unary": (), **change})


def test_other_versions_shapes_and_names_are_refused():
    data = get_templates("baseline").to_dict()
    with pytest.raises(ConfigError, match="template table has version 99; this release reads versions 1 and 2"):
        Templates.from_dict({**data, "version": 99})
    with pytest.raises(ConfigError, match="unknown template table 'huge'; shipped tables are baseline, kitchen_sink"):
        get_templates("huge")
    single = Templates("t", (), tuples=(((ITEM, "tag"),),))
    with pytest.raises(ConfigError, match="joins 2 or 3 slots, not 1"):
        compile_templates(single, TableSizes(2, 2, 2, 2))


def lexicon() -> Lexicon:
    return Lexicon.build(["NP", "TOP"], ["DT", "NN", ",", "XX"], [RARE, "the", "00"], "XX")


def test_tokens_are_encoded_by_column():
    tokens = lexicon().encode(["The", "42", "zebra", ","], ["DT", "NN", "ODD", ","])
    symbols, classes = lexicon().symbols, lexicon().classes
    assert tokens.dtype == np.int32 and tokens.flags.c_contiguous and tokens.shape == (4, k.TOKEN_COLUMNS)
    assert tokens[:, k.WORD].tolist() == [1, 2, 0, 0]
    assert [symbols[t] for t in tokens[:, k.TAG]] == ["DT", "NN", "XX", ","]
    assert [classes[c] for c in tokens[:, k.CLASS]] == ["D", "N", "XX", "CJ"]
    assert [SHAPES[s] for s in tokens[:, k.SHAPE]] == ["Capital", "number", "lower", "symbol"]
    assert tokens[:, k.PUNCT].tolist() == [0, 0, 0, 1]
    assert lexicon().encode(["a"], ["NP"])[0, k.TAG] == symbols.id_of("XX")  # a label is no tag
    assert lexicon().encode([], []).shape == (0, k.TOKEN_COLUMNS)
    with pytest.raises(ValueError, match=r"shorter|longer"):
        lexicon().encode(["a"], [])


def test_lexicons_round_trip_and_differ_in_fingerprint():
    first = lexicon()
    again = Lexicon.from_dict(json.loads(json.dumps(first.to_dict())))
    assert again == first and again.fingerprint() == first.fingerprint()
    assert first.tags == ("DT", "NN", ",", "XX") and first.sizes == TableSizes(6, 3, 4, len(SHAPES))
    other = Lexicon.build(["NP", "TOP"], ["DT", "NN", ",", "XX"], [RARE, "the"], "XX")
    moved = Lexicon.build(["NP", "TOP"], ["DT", "NN", ",", "XX"], [RARE, "the", "00"], "NN")
    assert len({first.fingerprint(), other.fingerprint(), moved.fingerprint()}) == 3


def test_bad_symbols_are_refused():
    with pytest.raises(TrainingDataError, match="NP: used both as a label and as a tag; rename one of them"):
        Lexicon.build(["NP", "TOP"], ["NP"], [RARE], "NP")
    with pytest.raises(TrainingDataError, match="the unknown tag 'XX' is not among the tags"):
        Lexicon.build(["TOP"], ["NN"], [RARE], "XX")
    with pytest.raises(ValueError, match="'NN' is listed twice"):
        Lexicon.build(["TOP"], ["NN", "NN"], [RARE], "NN")


def test_words_shapes_and_classes():
    assert [normal_word(w) for w in ("The", "1,234", "(", "\u201c", "don\u2019t")] == [
        "the",
        "0,000",
        "-LRB-",
        "``",
        "don't",
    ]
    shapes = {
        "cat": "lower",
        "Cat": "Capital",
        "CAT": "UPPER",
        "iPod": "miXed",
        "42": "number",
        "B12": "number-mix",
        "re-do": "hyphen",
        "%": "symbol",
        "I": "letter",
    }
    assert {word: word_shape(word) for word in shapes} == shapes and set(shapes.values()) == set(SHAPES)
    assert tag_class("NNS") == "N" and tag_class("HYPH") == "HYPH" and len(TAG_CLASSES) == 17
    words = frequent_words([["The", "the", "cat"], ["the", "dog"], ["a", "cat"], [RARE]], 2)
    assert words == [RARE, "cat", "the"]
