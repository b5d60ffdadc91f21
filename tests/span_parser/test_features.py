"""Tokens as rows of a span network's table."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

from spacy_dtparse.errors import DtparseError
from spacy_dtparse.nn.clusters import WordClusters
from spacy_dtparse.nn.vocabularies import UNKNOWN_WORD
from spacy_dtparse.span_parser.features import KINDS, WORD, WordParts, parts_of, word_parts
from spacy_dtparse.text import SHAPES
from tests.span_models import count_parts

SENTENCES = [(("The", "cats", "sat"), ("DT", "NNS", "VBD")), (("the", "dogs"), ("DT", "NNS"))]


def test_parts_are_counted_once_for_each_token() -> None:
    counts = count_parts(SENTENCES)
    assert dict(counts.words) == {"the": 2, "cats": 1, "sat": 1, "dogs": 1}
    assert dict(counts.tags) == {"DT": 2, "NNS": 2, "VBD": 1}
    assert counts.suffixes["ats"] == 1 and counts.prefixes["dog"] == 1 and counts.suffixes["the"] == 2


def test_frequent_values_are_listed_and_the_rest_is_unknown() -> None:
    words = WordParts.build(count_parts(SENTENCES), 2, 2)
    assert [list(table) for table in words.tables[:4]] == [["the"], ["DT", "NNS"], ["the"], ["the"]]
    rows = words.encode(["The", "gnu"], ["DT", "XX"])
    assert rows.shape == (4, len(KINDS)) and rows.max() < words.size
    assert rows[2, WORD] == UNKNOWN_WORD != rows[1, WORD]
    starts = np.cumsum([0, *(3 + len(table) for table in words.tables)])[:-1]
    assert rows[0].tolist() == (starts + 1).tolist() and rows[-1].tolist() == (starts + 2).tolist()
    assert len({tuple(row) for row in rows.tolist()}) == 4, "edges of the sentence have rows of their own"
    assert (
        WordParts.from_dict(words.to_dict()).encode(["The"], ["DT"]).tolist() == words.encode(["The"], ["DT"]).tolist()
    )
    assert word_parts("Unhappy") == ("unhappy", "ppy", "unh", word_parts("Anything")[3])
    with pytest.raises(DtparseError, match="1 lists; give 5: words, tags"):
        WordParts(words.tables[:1])


def test_parts_of_counted_tokens() -> None:
    tokens = Counter({("The", "DT"): 1, ("the", "DT"): 1, ("cats", "NNS"): 1, ("sat", "VBD"): 1, ("dogs", "NNS"): 1})
    assert parts_of(tokens) == count_parts(SENTENCES)
    assert parts_of(Counter()) == count_parts([]) and not any(parts_of(Counter()))
    counts = parts_of(Counter({("Cats", "NNS"): 3, ("cats", "NNS"): 2, ("cats", "VBZ"): 4}))
    assert dict(counts.words) == {"cats": 9} and dict(counts.tags) == {"NNS": 5, "VBZ": 4}
    assert dict(counts.suffixes) == {"ats": 9} and dict(counts.prefixes) == {"cat": 9}


def test_no_more_than_the_most_frequent_are_listed() -> None:
    counts = parts_of(
        Counter({("dog", "NN"): 9, ("cat", "NN"): 5, ("ant", "NN"): 5, ("ran", "VBD"): 9, ("up", "RP"): 1})
    )
    words = WordParts.build(counts, 2, 2, max_size=3)
    listed = ["dog", "ran", "ant"]
    assert [list(table) for table in words.tables[:4]] == [listed, ["NN", "VBD"], listed, listed]
    assert words.tables[4] == SHAPES, "shapes are the package's own"
    rows = words.encode(["dog", "cat"], ["NN", "NN"])
    assert rows[2, WORD] == UNKNOWN_WORD != rows[1, WORD] and rows.max() < words.size
    everything = [list(table) for table in WordParts.build(counts, 2, 2).tables]
    assert everything[0] == [*listed, "cat"]
    for most in (4, 100, None):
        assert [list(table) for table in WordParts.build(counts, 2, 2, most).tables] == everything
    assert list(WordParts.build(counts, 6, 2, max_size=3).tables[0]) == ["dog", "ran"], "nor what is too rare"


def test_tags_are_recovered_from_rows() -> None:
    words, tags = ("the", "dog", "barks"), ("DT", "NN", "VBZ")
    parts = WordParts.build(count_parts([(words, tags)] * 3), 1, 1)
    assert parts.tags_of(parts.encode(words, tags)[1:-1]).tolist() == [parts.tables[1].id_of(tag) for tag in tags]
    unknown = parts.tags_of(parts.encode(("x", "dog"), ("QQ", "NN"))[1:-1])
    assert unknown.tolist() == [3, parts.tables[1].id_of("NN")] and unknown.dtype == np.int32


def test_a_word_that_was_not_learned_has_the_row_of_its_cluster() -> None:
    clusters = WordClusters(["cats gnus", "the", "sat slept"])
    words = WordParts.build(count_parts([*SENTENCES, *SENTENCES]), 2, 2, clusters=clusters)
    plain = WordParts.build(count_parts([*SENTENCES, *SENTENCES]), 2, 2)
    assert list(words.tables[-1]) == ["1", "", "0", "2"] and words.kinds == (*KINDS, "clusters")
    cats, gnus, slept, dogs = words.encode(["Cats", "gnus", "slept", "dogs"], ["NNS"] * 4)[1:-1]
    assert gnus[-1] == cats[-1] != slept[-1] != dogs[-1] and gnus[WORD] == UNKNOWN_WORD
    assert np.array_equal(words.encode(["gnus"], ["NNS"])[:, :-1], plain.encode(["gnus"], ["NNS"]))
    renamed = words.with_aliases({"noun": "NNS"})
    for again in (WordParts.from_dict(renamed.to_dict()), pickle.loads(pickle.dumps(renamed)), renamed):
        assert again.encode(["gnus"], ["noun"]).tolist() == words.encode(["gnus"], ["NNS"]).tolist()
        assert again.to_dict() == renamed.to_dict()
    with pytest.raises(DtparseError, match=r"5 lists; give 6: .*clusters"):
        WordParts(plain.tables, clusters=clusters)
