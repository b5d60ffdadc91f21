"""Words and tags as a tagger's atoms, and the tag dictionary."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from spacy_dtparse.spine_tagger.features import TagParts
from spacy_dtparse.text import SHAPES
from tests.tagger_models import SENTENCES, small_parts

WORD, TAG, ENTRY, SHAPE, PREFIX, SUFFIX = 0, 1, 2, 3, 4, 8


def test_lists_begin_with_the_most_frequent() -> None:
    parts = small_parts()
    assert parts.words.strings[:4] == ("the", "on", "cats", "mat") and parts.n_plain == 2, "ties by spelling"
    assert parts.known.strings == ("the", "on"), "seen three times"
    assert set(parts.labels) == {"-", "NP", "VP+S", "PP", "NP+NP"} and parts.labels[0] == "-"


def allowed(parts: TagParts, word: str, tag: str) -> set[str]:
    entry = parts.encode((word,), (tag,))[2, ENTRY]
    row = parts.allowed[parts.allowed_from[entry] : parts.allowed_from[entry + 1]]
    return {parts.labels[label] for label in row}


def test_the_dictionary_uses_the_word_then_its_tag() -> None:
    parts = small_parts()
    assert allowed(parts, "the", "NNS") == {"-"} and allowed(parts, "On", "DT") == {"PP"}
    assert allowed(parts, "cats", "NNS") == {"NP", "NP+NP"}, "too rare: by its tag"
    assert allowed(parts, "cats", "VBD") == {"VP+S"}
    assert allowed(parts, "unheard", "QQ") == set(parts.labels), "neither is known"
    loose = small_parts(cutoff=99)
    assert len(loose.known) == 0 and allowed(loose, "the", "NNS") == {"NP", "NP+NP"}
    assert allowed(small_parts(tagged=False), "cats", "") == set(parts.labels)


def test_atoms() -> None:
    parts = small_parts()
    atoms = parts.encode(("The", "catses", "12", "cats"), ("DT", "NNS", "CD", "??"))
    assert atoms.shape == (8, 12) and atoms.dtype == np.int32
    assert atoms[[0, 1, 6, 7], :2].tolist() == [[1, 1], [1, 1], [2, 2], [2, 2]] and not atoms[[0, 7], 2:].any()
    the, unknown, number, cats = atoms[2:6]
    assert the[WORD] == 3 and the[TAG] == 3 + parts.tags.id_of("DT") and not the[PREFIX:].any(), "a frequent word"
    assert unknown[WORD] == 0 and cats[TAG] == 0 and cats[WORD] == 3 + parts.words.id_of("cats")
    assert [parts.prefixes[k - 1] for k in unknown[PREFIX:SUFFIX]] == ["c", "ca", "cat", "cats"]
    assert parts.suffixes[unknown[SUFFIX] - 1] == "s" and unknown[SUFFIX + 1] == 0, "'es' is not listed"
    assert number[WORD] == 3 + parts.words.id_of("00") and number[PREFIX + 2 : SUFFIX].tolist() == [0, 0]
    shapes = [1 + SHAPES.id_of(name) for name in ("Capital", "lower", "number")]
    assert [the[SHAPE], unknown[SHAPE], number[SHAPE]] == shapes


@pytest.mark.parametrize(
    ("option", "value", "table", "size"),
    [("min_word_count", 3, "words", 2), ("min_affix_count", 99, "suffixes", 0), ("plain", 1, "prefixes", 0)],
)
def test_limits_shorten_the_lists(option: str, value: int, table: str, size: int) -> None:
    assert len(getattr(small_parts(), table)) > size == len(getattr(small_parts(**{option: value}), table))


def test_memos_are_not_pickled() -> None:
    parts = small_parts()
    wanted = [parts.encode(words, tags).tolist() for words, tags, _ in SENTENCES]
    again = pickle.loads(pickle.dumps(parts))
    assert not again._row_of_token and parts._row_of_token
    assert [again.encode(words, tags).tolist() for words, tags, _ in SENTENCES] == wanted
    assert [parts.encode(words, tags).tolist() for words, tags, _ in SENTENCES] == wanted, "from what is remembered"
