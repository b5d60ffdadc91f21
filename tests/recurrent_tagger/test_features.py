"""The features that a recurrent tagger computes for a token."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from spacy_dtparse.errors import DtparseError
from spacy_dtparse.nn.clusters import WordClusters
from spacy_dtparse.nn.vocabularies import UNKNOWN_WORD
from spacy_dtparse.recurrent_tagger.features import KINDS, LONGEST, WORD, TokenParts, shape, token_parts
from spacy_dtparse.symbols import SymbolTable


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the", "xx"),
        ("The", "Xxx"),
        ("NASA", "XX"),
        ("iPhone", "xXxx"),
        ("1,250.50", "0,00.00"),
        ("B2B-style", "X0X-xx"),
        ("...", ".."),
        ("Straße", "Xxx"),
        ("\u0661\u0662", "00"),
        ("x" * 5000 + "1", "xx"),
    ],
)
def test_shapes(text: str, wanted: str) -> None:
    assert shape(text) == wanted
    assert len(shape("a1" * 1000)) == LONGEST


def test_parts() -> None:
    assert token_parts("Unmuting") == ("unmuting", "ng", "ing", "ting", "unm", "Xxx")
    assert token_parts("1999") == ("0000", "00", "000", "0000", "000", "00")
    assert token_parts("isn\u2019t")[0] == "isn't" and token_parts("(")[0] == "-LRB-"
    sorts = [{token_parts(blank) for blank in row} for row in ((" ", "\t "), ("\n", " \n "), ("\n\n", "\n \n\n"))]
    assert [len(sort) for sort in sorts] == [1, 1, 1] and len(set.union(*sorts)) == 3


def test_lists_have_frequent_values() -> None:
    parts = TokenParts.build({"cat": 3, "Cat": 2, "cats": 2, "\n": 5}, min_count=3)
    assert list(parts.tables[0]) == ["\n", "cat"] and list(parts.tables[2]) == ["\n", "cat"]
    assert list(parts.tables[4]) == ["cat", "\n"], "prefixes of three words"
    assert [len(table) for table in TokenParts.build({"cat": 3, "Cat": 2, "cats": 2}, 1, max_size=1).tables] == [1] * 6


def test_each_kind_has_separate_rows() -> None:
    parts = TokenParts.build({"The": 1, "cat": 1}, 1)
    rows = parts.encode(["The", "gnu", "cat"])
    assert rows.shape == (5, len(KINDS)) and rows.dtype == np.int32
    starts = np.cumsum([0, *(3 + len(table) for table in parts.tables)])
    assert ((rows >= starts[:-1]) & (rows < starts[1:])).all() and parts.size == starts[-1]
    assert rows[0].tolist() == (starts[:-1] + 1).tolist() and rows[-1].tolist() == (starts[:-1] + 2).tolist()
    known = rows[2] != starts[:-1]
    assert known.tolist() == [False, False, False, False, False, True], "of gnu the shape alone is listed"
    assert rows[2, WORD] == UNKNOWN_WORD
    assert not set(rows[1]) & set(rows[3][:-1])
    assert parts.encode([]).shape == (2, len(KINDS))


def test_lists_round_trip() -> None:
    parts = TokenParts.build({"The": 1, "cat": 1}, 1)
    for again in (TokenParts.from_dict(parts.to_dict()), pickle.loads(pickle.dumps(parts))):
        assert again.tables == parts.tables and np.array_equal(again.encode(["cat"]), parts.encode(["cat"]))
    with pytest.raises(DtparseError, match="1 lists; give 6: words, suffixes2"):
        TokenParts([SymbolTable(["a"])])


def test_a_word_that_was_not_learned_has_the_row_of_its_cluster() -> None:
    clusters = WordClusters(["cat gnu", "sees hears", "one"])
    assert [clusters.name_of(word) for word in ("gnu", "hears", "one", "dog", "")] == ["0", "1", "2", "", ""]
    counts = {"The": 3, "cat": 3, "sees": 3}
    parts, plain = TokenParts.build(counts, 2, clusters=clusters), TokenParts.build(counts, 2)
    assert parts.kinds == (*KINDS, "clusters") and plain.kinds == KINDS and "clusters" not in plain.to_dict()
    assert list(parts.tables[-1]) == ["", "0", "1"], "names of clusters that occur, and of none"
    the, cat, sees, gnu, hears, one = parts.encode(["The", "cat", "sees", "Gnu", "hears", "one"])[1:-1]
    assert gnu[-1] == cat[-1] != hears[-1] == sees[-1] and the[-1] not in (gnu[-1], hears[-1])
    assert one[-1] == parts.size - len(parts.tables[-1]) - 3, "a cluster of words that do not occur is unknown"
    assert gnu[WORD] == UNKNOWN_WORD
    assert np.array_equal(parts.encode(["The", "gnu"])[:, :-1], plain.encode(["The", "gnu"]))
    for again in (TokenParts.from_dict(parts.to_dict()), pickle.loads(pickle.dumps(parts))):
        assert again.tables == parts.tables and again.to_dict() == parts.to_dict()
        assert np.array_equal(again.encode(["gnu"]), parts.encode(["gnu"]))
    with pytest.raises(DtparseError, match="'cat' is listed twice"):
        WordClusters(["cat gnu", "cat"])
