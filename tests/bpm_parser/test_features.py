"""Atoms of the dependency parser from words, tags and lemmas."""

from __future__ import annotations

import numpy as np
import pytest

import spacy_dtparse.bpm_parser.features as linkparts
from spacy_dtparse.bpm_parser.features import LinkParts, TextRules, TokenColumns, tag_kind
from spacy_dtparse.bpm_parser.kernels.links import (
    COLUMNS,
    CONJUNCTION,
    KIND,
    LONG,
    OTHER,
    PUNCTUATION,
    STEM,
    STEM_TAG,
    TAG,
    VERB,
    WORD,
    WORD_TAG,
)
from spacy_dtparse.errors import ConfigError, DtparseError
from spacy_dtparse.symbols import SymbolTable

SENTENCES = [
    TokenColumns(("The", "singers", "SINGERS"), ("DT", "NNS", "VBZ")),
    TokenColumns(("7", "the", "12.5"), ("CD", "DT", "CD")),
]


@pytest.mark.parametrize(
    "number",
    ["7", "1999", "12.5", "-3", "+3", "1,000,000", "50%", "3/4", "10:30", "1990-91", "2024-05-01", "٣٫٥", "०१"],
)
def test_all_numbers_are_one_word(number: str) -> None:
    assert TextRules().word(number) == "<number>"


@pytest.mark.parametrize("word", ["a7", "7a", "7.", ".5", "1--2", "%", "-", "seven", "①", "10th", "7年"])
def test_text_that_is_no_number_is_a_word(word: str) -> None:
    assert TextRules().word(word) == word


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("1998年", "<year>"), ("九八年", "<year>"), ("一九九八年", "<year>"), ("１９９８年", "<year>"),
        ("1998", "<year>"), ("2005", "<year>"), ("2105", "<number>"), ("998", "<number>"),
        ("5月", "<month>"), ("十二月", "<month>"), ("12月", "<month>"),
        ("3日", "<date>"), ("二十三日", "<date>"), ("15号", "<date>"), ("15號", "<date>"),
        ("三", "<number>"), ("3.5", "<number>"), ("三点五", "<number>"), ("50%", "<number>"), ("50％", "<number>"),
        ("两千万", "<number>"), ("百", "<number>"),
        ("年", "年"), ("月", "月"), ("三人", "三人"), ("12345年", "12345年"), ("Abc", "abc"),
    ],
)  # fmt: skip
def test_chinese_years_months_and_dates_stay_apart(word: str, name: str) -> None:
    assert TextRules(numbers="chinese").word(word) == name


def test_words_are_lower_case() -> None:
    assert TextRules().word("The") == "the" and TextRules().word("ÉTÉ") == "été" and TextRules().word("") == ""


@pytest.mark.parametrize(
    ("stem", "word", "lemma", "expected"),
    [
        ("prefix", "singers", "", "singe"),
        ("prefix", "sing", "", "sing"),
        ("prefix", "<number>", "7", "<number>"),
        ("first", "singers", "singer", "s"),
        ("first", "<year>", "", "<year>"),
        ("lemma", "singers", "Singer", "singer"),
        ("lemma", "singers", "", "singers"),
        ("lemma", "<number>", "seven", "<number>"),
    ],
)
def test_stems(stem: str, word: str, lemma: str, expected: str) -> None:
    assert TextRules(stem=stem).stem_of(word, lemma) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (TextRules(), "NNFS1-----A----"),
        (TextRules(places=(0, 1, 4)), "NN1"),
        (TextRules(places=(4, 0)), "1N"),
        (TextRules(places=(0, 99)), "N"),
        (TextRules("pos", (0, 1)), "NOUN"),
        (TextRules("pos+tag"), "NOUN|NNFS1-----A----"),
        (TextRules("pos+tag", (0, 4)), "NOUN|N1"),
    ],
)
def test_parts_of_speech(rules: TextRules, expected: str) -> None:
    assert rules.tag("NNFS1-----A----", "NOUN") == expected
    assert TextRules.from_dict(rules.to_dict()) == rules


def test_tags_shorter_than_a_position() -> None:
    assert [TextRules(places=(0, 2)).tag(tag, "") for tag in ("NNS", "NN", "", "IN-")] == ["NS", "N", "", "I-"]


@pytest.mark.parametrize(
    ("kind", "tags"),
    [
        (PUNCTUATION, [".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP", "PUNCT", "PUNCT|.",
                       "Z:-------------"]),
        (VERB, ["VERB", "AUX", "MD", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "VV", "VA", "VC", "VE", "VERB|VBD",
                "VB-S---3P-AA---"]),
        (CONJUNCTION, ["CC", "CCONJ", "SCONJ", "CONJ", "J^-------------", "CCONJ|CC"]),
        (OTHER, ["NN", "NOUN", "IN", "", "V", "VBX", "VERBS", "Z", "Z:---", "NNFS1-----A----", "NNNNNNNNNNN", "|CC"]),
    ],
)  # fmt: skip
def test_kinds_of_tags(kind: int, tags: list[str]) -> None:
    assert {tag: tag_kind(tag) for tag in tags} == dict.fromkeys(tags, kind)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"source": "xpos"}, "source is 'xpos'; it must be one of tag, pos, pos.tag"),
        ({"stem": "suffix"}, "stem is 'suffix'; it must be one of prefix, first, lemma"),
        ({"numbers": "none"}, "numbers is 'none'; it must be one of one, chinese"),
        ({"places": (0, -1)}, r"places are \(0, -1\); give integers of at least 0"),
        ({"places": (True,)}, "places are"),
        ({"places": (1.0,)}, "places are"),
    ],
)
def test_rules_are_checked(given: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TextRules(**given)


def test_atoms_are_positions_in_lists() -> None:
    parts = LinkParts.build(SENTENCES, TextRules())
    edges = ["<before>", "<root>", "<after>"]
    assert list(parts.words) == [*edges, "the", "singers", "<number>"]
    assert list(parts.tags) == [*edges, "DT", "NNS", "VBZ", "CD"]
    assert list(parts.stems) == [*edges, "the", "singe", "<number>"]
    atoms = parts.encode(TokenColumns(("Singers", "the", "99"), ("NNS", "DT", "CD")))
    assert atoms.shape == (6, COLUMNS) and atoms.dtype == np.int32 and atoms.flags.c_contiguous
    assert [atoms[row, WORD] for row in (0, 1, 5)] == [atoms[row, TAG] for row in (0, 1, 5)] == [1, 2, 3]
    assert atoms[2:5, WORD].tolist() == [5, 4, 6] and atoms[2:5, TAG].tolist() == [5, 4, 7]
    assert atoms[2:5, STEM].tolist() == [5, 4, 6] and atoms[:, LONG].tolist() == [0, 0, 1, 0, 0, 0]
    pairs = parts.word_tags.tolist()
    assert [pairs[atom - 1] for atom in atoms[:, WORD_TAG]] == atoms[:, [WORD, TAG]].tolist()
    pairs = parts.stem_tags.tolist()
    assert [pairs[atom - 1] for atom in atoms[:, STEM_TAG]] == atoms[:, [STEM, TAG]].tolist()
    assert len(parts.word_tags) == 3 + 4 and parts.kinds.tolist() == [tag_kind(tag) for tag in parts.tags]


def test_unseen_values_are_0() -> None:
    parts = LinkParts.build(SENTENCES, TextRules())
    atoms = parts.encode(TokenColumns(("singer", "the", "gnu", "the"), ("NNS", "VBZ", "NNS", "CC")))
    assert atoms[2].tolist() == [0, 5, 0, 5, parts.stem_tags.tolist().index([5, 5]) + 1, 1, OTHER], "a stem was seen"
    assert atoms[3, [WORD, TAG, WORD_TAG]].tolist() == [4, 6, 0] and atoms[3, KIND] == VERB, "but not with this tag"
    assert atoms[4, [WORD, STEM, STEM_TAG]].tolist() == [0, 0, 0]
    assert atoms[5, [TAG, WORD_TAG, STEM_TAG]].tolist() == [0, 0, 0] and atoms[5, KIND] == CONJUNCTION
    assert not parts.encode(TokenColumns(()))[:, KIND].any()


def test_parts_of_speech_that_are_not_given_are_empty() -> None:
    rules = TextRules("pos+tag", stem="lemma")
    parts = LinkParts.build([TokenColumns(("Cats",), ("NNS",), ("NOUN",), ("cat",))], rules)
    assert parts.encode(TokenColumns(("Cats",), ("NNS",), ("NOUN",), ("cat",)))[2, :KIND].tolist() == [4, 4, 4, 4, 4, 1]
    assert parts.encode(TokenColumns(("Cats",)))[2].tolist() == [4, 0, 0, 0, 0, 0, OTHER]
    with pytest.raises(ValueError):
        parts.encode(TokenColumns(("Cats", "run"), ("NNS",)))


def test_parts_round_trip_through_plain_data() -> None:
    parts = LinkParts.build(SENTENCES, TextRules(stem="first"))
    arrays = {"word_tags": parts.word_tags, "stem_tags": parts.stem_tags.astype(np.int64), "kinds": parts.kinds}
    again = LinkParts.from_parts(parts.to_dict(), arrays)
    assert again.to_dict() == parts.to_dict() and again.stem_tags.dtype == np.int32
    assert again.encode(SENTENCES[0]).tolist() == parts.encode(SENTENCES[0]).tolist()


def test_lists_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = LinkParts.build(SENTENCES, TextRules())
    with pytest.raises(DtparseError, match="does not begin with the symbols for the edges of a sentence"):
        LinkParts(TextRules(), parts.words, SymbolTable(["NN"]), parts.stems, parts.word_tags, parts.stem_tags)
    monkeypatch.setattr(linkparts, "MAX_TAGS", 7)
    with pytest.raises(DtparseError, match=r"7 different tags; at most 6 are possible\. Use only some positions"):
        LinkParts.build(SENTENCES, TextRules())
    monkeypatch.setattr(linkparts, "MAX_TAGS", 8)
    LinkParts.build(SENTENCES, TextRules())
    monkeypatch.setattr(linkparts, "MAX_ATOMS", 7)
    with pytest.raises(DtparseError, match="a list of words or pairs has 7 or more entries; train on less text"):
        LinkParts.build(SENTENCES, TextRules())


@pytest.mark.parametrize("kinds", [[0] * 6, [0] * 8, [0] * 6 + [4], [-1] + [0] * 6])
def test_kinds_that_a_kernel_could_not_count_are_refused(kinds: list[int]) -> None:
    parts = LinkParts.build(SENTENCES, TextRules())
    lists = parts.rules, parts.words, parts.tags, parts.stems, parts.word_tags, parts.stem_tags
    with pytest.raises(DtparseError, match=rf"{len(kinds)} kinds for 7 tags; .* from 0 to 3"):
        LinkParts(*lists, np.array(kinds, np.int32))
    assert LinkParts(*lists, np.array([3] * 7, np.int32)).encode(SENTENCES[0])[:, KIND].tolist() == [3] * 6


def test_an_external_guide_becomes_heads_and_atoms_of_labels() -> None:
    rules = TextRules(guide="constituents")
    guided = TokenColumns(("a", "b", "c"), ("X", "Y", "X"), (), (), (1, -1, 1), ("NP<S", "root", "NP<S"))
    parts = LinkParts.build([guided], rules)
    assert list(parts.guide_labels) == ["NP<S", "root"] and TextRules.from_dict(rules.to_dict()) == rules
    heads, labels = parts.encode_guide(guided._replace(guide_labels=("NP<S", "root", "never")))
    assert heads.tolist() == [-1, 2, 0, 2] and labels.tolist() == [1, 2, 3, 0]
    assert heads.dtype == labels.dtype == np.int32
    assert LinkParts.build([guided], TextRules()).encode_guide(guided) == (None, None), "the model has none"
    with pytest.raises(ConfigError, match="guide is 'tree'; it must be one of none, constituents"):
        TextRules(guide="tree")
