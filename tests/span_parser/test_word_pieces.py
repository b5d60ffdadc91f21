"""Word pieces: normal forms, splitting, and windows of long texts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from spacy_dtparse.errors import DtparseError
from spacy_dtparse.span_parser.word_pieces import MAX_CHARACTERS, MAX_PIECES, WordPieces, normalize, split_parts
from spacy_dtparse.symbols import SymbolTable
from tests.span_models import PIECES

WORDS = WordPieces([SymbolTable(PIECES), SymbolTable(["NN", "VB"])])


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("O'Neill-Harcourt", ["o", "'", "neill", "-", "harcourt"]),
        ("Ünïcödé", ["unicode"]),
        ("naïve", ["naive"]),
        ("中文字a", ["中", "文", "字", "a"]),
        ("a\u200bb", ["ab"]),
        ("a\ufffdb\x00", ["ab"]),
        ("a\u00a0b\tc\x0bd", ["a", "b", "cd"]),
        ("Straße", ["straße"]),
        ("\ufb01ne", ["\ufb01ne"]),
        ("İstanbul", ["istanbul"]),
        ("ΑΣ", ["ας".replace("ς", "σ")]),
        ("$1,250.50", ["$", "1", ",", "250", ".", "50"]),
        ("…—", ["…", "—"]),
        ("\u0301", []),
        ("😀", ["😀"]),
    ],
)
def test_words_are_normalized_and_split_at_punctuation(word: str, parts: list[str]) -> None:
    """The expected parts are those of the package `tokenizers` (BERT, lower case)."""
    assert list(split_parts(normalize(word))) == parts


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("Cats", "cat ##s"),
        ("cat.dog", "cat . dog"),
        ("abab", "a ##b ##a ##b"),
        ("catx", "[UNK]"),
        ("cat-dog", "cat [UNK] dog"),
        ("", "[UNK]"),
        ("\u200b", "[UNK]"),
        ("a" * MAX_CHARACTERS, " ".join(["a", *["##a"] * (MAX_PIECES - 1)])),
        ("a" * (MAX_CHARACTERS + 1), "[UNK]"),
        ("-LRB-", "[UNK]"),
    ],
)
def test_a_word_is_the_longest_pieces_from_left_to_right(word: str, pieces: str) -> None:
    assert " ".join(PIECES[k] for k in WORDS.ids_of(word)) == pieces


def test_texts_are_concatenated_with_a_row_for_each_word_and_each_end() -> None:
    rows, chosen = WORDS.encode_all([["The", "cats"], ["X"]], 24)
    assert chosen is None
    assert [PIECES[k] for k in rows.pieces[:, 0]] == ["[CLS]", "the", "cat", "##s", "[SEP]", "[CLS]", "[UNK]", "[SEP]"]
    assert rows.pieces[:, 1].tolist()[:2] == [0, 2], "no shape, then a capital"
    assert rows.piece_offsets.tolist() == [0, 1, 2, 4, 5, 6, 7, 8] and rows.offsets.tolist() == [0, 4, 7]


@pytest.mark.parametrize("n", [9, 10, 23, 100, 101])
def test_a_long_text_is_read_in_windows(n: int) -> None:
    words = [*"the cats sat on a mat".split() * n][:n]
    rows, chosen = WORDS.encode_all([["dog"], words], 12)
    lengths = rows.piece_offsets[rows.offsets[1:]] - rows.piece_offsets[rows.offsets[:-1]]
    assert lengths.max() <= 12
    if chosen is None:
        assert len(lengths) == 2
        return
    assert len(lengths) > 2 and len(chosen) == n + 2 + 3
    whole, _ = WORDS.encode_all([["dog"], words], 10**6)
    for row, of_text in zip(chosen, range(len(chosen)), strict=True):
        pieces = rows.pieces[rows.piece_offsets[row] : rows.piece_offsets[row + 1]]
        assert np.array_equal(pieces, whole.pieces[whole.piece_offsets[of_text] : whole.piece_offsets[of_text + 1]])


def test_a_word_may_fill_a_window() -> None:
    rows, chosen = WORDS.encode_all([["abababab", "abababab", "cat", "abababab"]], 10)
    assert chosen is not None and len(chosen) == 6 and len(rows.offsets) > 3


def test_tags_have_ids_and_aliases() -> None:
    assert WORDS.tag_ids(["VB", "??"]).tolist() == [1, 2]
    other = WORDS.with_aliases({"??": "NN"})
    assert other.tag_ids(["VB", "??"]).tolist() == [1, 0]
    for one in (WORDS, other):
        assert (
            WordPieces.from_dict(one.to_dict()).to_dict() == one.to_dict() == pickle.loads(pickle.dumps(one)).to_dict()
        )


def test_special_pieces_are_needed() -> None:
    with pytest.raises(DtparseError, match=r"the word pieces lack \[SEP\]"):
        WordPieces([SymbolTable(["[CLS]", "[UNK]"]), SymbolTable(["NN"])])
    with pytest.raises(DtparseError, match="1 lists; give 2"):
        WordPieces([SymbolTable(["[CLS]", "[UNK]"])])
