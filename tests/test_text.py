"""Words as spelled in treebanks, as typed by people, and as normalised by parsers."""

from __future__ import annotations

import pytest

from spacy_dtparse.text import (
    SHAPES,
    affixes,
    escape_token,
    normal_word,
    raw_word,
    remove_backslashes,
    unescape_token,
    word_shape,
)
from training.data.corpus import read_treebank
from training.data.tagged_treebanks import read_tagged_sentences


def test_escapes():
    assert [escape_token(t) for t in ("(", ")", "[", "]", "{", "}", "f(x)", "a-b")] == [
        *("-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"),
        "f-LRB-x-RRB-",
        "a-b",
    ]
    for word in ("(", "f(x)[0]{}", "plain", "-", "-LR-", "a-b-c"):
        assert unescape_token(escape_token(word)) == word
    assert unescape_token("-LRB-") == "("


@pytest.mark.parametrize(
    ("word", "typed"),
    [
        ("``", '"'), ("''", '"'), ("`", "'"), ("'", "'"), ("-LRB-", "("), ("f-LRB-x-RRB-", "f(x)"), ("1\\/2", "1/2"),
        ("either\\/or", "either/or"), ("\\*", "*"), ("\\*\\*", "**"), ("'s", "'s"), ("a\\b", "a\\b"), ("1/2", "1/2"),
    ],
)  # fmt: skip
def test_treebank_words_are_normalised_like_typed_words(word, typed):
    assert raw_word(word) == typed
    assert remove_backslashes(word) == word.replace("\\/", "/").replace("\\*", "*")


def test_tagger_and_parser_normalise_words_alike(tmp_path):
    """Words of a treebank in the Journal's spelling; one of the two once kept the backslash."""
    (tmp_path / "train.mrg").write_text("(S (NP (CD 1\\/2) (`` ``) (NN cup) ('' '')) (-LRB- -LRB-) (SYM \\*))\n")
    words = read_treebank(tmp_path / "train.mrg")[0].tree.words
    assert words == read_tagged_sentences(tmp_path / "train.mrg")[0].words == ("1/2", '"', "cup", '"', "(", "*")


def test_normal_words_shapes_and_affixes():
    words = ("Don\u2019t", "1990s", "(", "\u201c", "well-known", "IBM", "iPhone", "3", "x", "%")
    assert [normal_word(word) for word in words] == [
        *("don't", "0000s", "-LRB-", "``", "well-known", "ibm", "iphone", "0", "x", "%")
    ]
    assert [word_shape(word) for word in words] == [
        *("Capital", "number-mix", "symbol", "symbol", "hyphen", "UPPER", "miXed", "number", "letter", "symbol")
    ]
    assert set(SHAPES) >= {word_shape(word) for word in words}
    assert affixes("walking", 3) == ("wal", "ing") and affixes("ox", 3) == ("ox", "ox")
