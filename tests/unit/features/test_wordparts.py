"""Tokens as rows of a span network's table."""

from __future__ import annotations

import pytest

from spacy_dtparse.errors import DtparseError
from spacy_dtparse.features.wordparts import KINDS, UNKNOWN_WORD, WORD, WordParts, count_parts, word_parts

SENTENCES = [(("The", "cats", "sat"), ("DT", "NNS", "VBD")), (("the", "dogs"), ("DT", "NNS"))]


def test_parts_are_counted_once_for_each_token() -> None:
    counts = count_parts(SENTENCES)
    assert dict(counts.words) == {"the": 2, "cats": 1, "sat": 1, "dogs": 1}
    assert dict(counts.tags) == {"DT": 2, "NNS": 2, "VBD": 1}
    assert counts.suffixes["ats"] == 1 and counts.prefixes["dog"] == 1 and counts.suffixes["the"] == 2


def test_what_is_frequent_is_listed_the_rest_is_unknown() -> None:
    words = WordParts.build(count_parts(SENTENCES), 2, 2)
    assert [list(table) for table in words.tables[:4]] == [["the"], ["DT", "NNS"], ["the"], ["the"]]
    rows = words.encode(["The", "gnu"], ["DT", "XX"])
    assert rows.shape == (4, len(KINDS)) and rows.max() < words.size
    assert rows[2, WORD] == UNKNOWN_WORD != rows[1, WORD]
    assert len({tuple(row) for row in rows.tolist()}) == 4, "edges of the sentence have rows of their own"
    assert WordParts.from_dict(words.to_dict()).encode(["The"], ["DT"]).tolist() == words.encode(
        ["The"], ["DT"]
    ).tolist()
    assert word_parts("Unhappy") == ("unhappy", "ppy", "unh", word_parts("Anything")[3])
    with pytest.raises(DtparseError, match="1 lists; give 5: words, tags"):
        WordParts(words.tables[:1])
