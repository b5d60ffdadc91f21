"""The English pipeline on everyday sentences; the minimum F1 scores are in test_floors.py.

Its scores, with the commands that measure them, are in docs/experiments/shipped.md.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spacy_dtparse
from spacy_dtparse.models import open_parser
from spacy_dtparse.trees import parse_tree
from spacy_dtparse.trees.unattached import unattached_tokens

pytestmark = pytest.mark.embedded

EVERYDAY = Path(__file__).resolve().parents[2] / "assets" / "everyday"
MIN_KINDS = 63
"""Minimum number of texts in kinds.jsonl that are parsed as expected (65 of 69 on 2026-11-29)."""

FIRST_SENTENCES = """
(S (NP (DT The) (JJ quick) (JJ brown) (NN fox)) (VP (VBZ jumps) (PP (IN over) (NP (DT the) (JJ lazy) (NN dog)))) (. .))
(S (NP (DT The) (NN dog)) (VP (VBZ barks)) (. .))
(S (NP (DT The) (NN wind)) (VP (VBD blew)) (. .))
(S (NP (PRP He)) (VP (VBD gave) (NP (DT the) (JJ old) (NN dog)) (NP (DT a) (NN bone))) (. .))
(S (VP (VB Close) (NP (DT the) (NN door))) (, ,) (INTJ (UH please)) (. .))
(S (NP (PRP She)) (VP (VBD lent) (NP (PRP me)) (NP (PRP$ her) (NN bike)) (NP (JJ last) (NN week))) (. .))
(S (NP (PRP I)) (VP (VBP think) (SBAR (S (NP (PRP it)) (VP (VBZ looks) (ADJP (JJ good)))))) (. .))
(S (S (NP (PRP It)) (VP (MD may) (VP (VB rain)))) (, ,) (RB so) (S (VP (VB take) (NP (DT an) (NN umbrella)))) (. .))
(S (NP (NN Time)) (VP (VBZ flies)) (. .))
(S (NP (NNP Jack) (CC and) (NNP Jill)) (VP (VBD ran) (PP (IN up) (NP (DT the) (NN hill)))) (. .))
(S (NP (PRP They)) (VP (VBD got) (VP (VBN married) (PP (IN on) (NP (NNP Saturday))))) (. .))
""".split("\n")[1:-1]
README_SENTENCES = """
(S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .))
(S (NP (PRP He)) (VP (VBD put) (NP (DT the) (JJ old) (NN dog)) (PP (IN in) (NP (DT the) (NN garden)))) (. .))
(S (NP (PRP It)) (VP (VBD slept)) (. .))
(SBARQ (WHNP (WP Who)) (SQ (VBD did) (NP (PRP she)) (VP (VB see))) (. ?))
(S (NP (PRP She)) (VP (VBZ sleeps)) (. .))
""".split("\n")[1:-1]
"""The texts that the README and the tutorial parse."""


@pytest.fixture(scope="module")
def nlp():
    return spacy_dtparse.load()


def brackets(doc) -> list[str]:
    return [sentence._.parse_string for sentence in doc.sents]


@pytest.mark.parametrize("tree", [*FIRST_SENTENCES, *README_SENTENCES])
def test_a_first_sentence(nlp, tree: str) -> None:
    words = parse_tree(f"(TOP {tree})").words
    text = " ".join(words).replace(" ,", ",").replace(" .", ".").replace(" ?", "?")
    assert brackets(nlp(text)) == [tree]


@pytest.mark.parametrize("name", ["en_dtparse", pytest.param("en_dtparse_lg", marks=pytest.mark.slow)])
def test_kinds_of_text(name: str) -> None:
    nlp = spacy_dtparse.load(name)
    rows = [json.loads(line) for line in (EVERYDAY / "kinds.jsonl").read_text(encoding="utf8").splitlines()]
    assert len(rows) >= 60
    wrong = [row["kind"] for row in rows if brackets(nlp(row["text"])) != row["trees"]]
    assert len(rows) - len(wrong) >= MIN_KINDS, wrong


@pytest.mark.parametrize(
    "text",
    [
        "Hello   world .\n\n  She  slept.",
        "   ",
        "\n\n",
        "",
        " \t ",
        "\n  one\n\n\ntwo  \n",
        "…",
        "((((",
        "\u200b",
        "a\u3000b",
        "🙂",
    ],
)
def test_the_loop_of_the_readme_runs_on_any_text(nlp, text: str) -> None:
    doc = nlp(text)
    for sentence in doc.sents:
        assert sentence._.parse_string.startswith("(") or not text.strip()
    for span in doc._.constituents:
        assert span.label_ and span.text.strip()


def test_blanks_and_line_breaks_do_not_split(nlp) -> None:
    for text in ("Hello   world.\n\n  She  slept.", "She  read   the  book.", "The old man\nwalked down to\nthe sea."):
        expected = brackets(nlp(" ".join(text.split())))
        assert brackets(nlp(text)) == expected


@pytest.mark.parametrize(
    ("words", "tags", "verb_phrase"),
    [
        ("The rich fund the opera .", "DT JJ NN DT NN .", "fund the opera"),
        ("The lamp lasts all day and charges in an hour .", "DT NN VBZ DT NN CC NNS IN DT NN .", "charges in an hour"),
        ("Where has the cat gone ?", "WRB VBZ DT NN JJ .", "gone"),
    ],
)
def test_a_verb_with_a_wrong_tag_stays_a_verb(words: str, tags: str, verb_phrase: str) -> None:
    """The network's verb phrase keeps its verb: there is no noun phrase or adjective phrase over it."""
    tree = open_parser("en_span").parse(words.split(), tags.split()).tree
    found = {(label, " ".join(words.split()[start:end])) for start, end, label in tree.spans()}
    assert ("VP", verb_phrase) in found
    assert not {("NP", verb_phrase.split()[0]), ("ADJP", verb_phrase)} & found


@pytest.mark.parametrize(
    ("words", "verb", "clause"),
    [
        ("I know that he left because it rained .", "VBP", "that he left because it rained"),
        ("She says that we won because they slept .", "VBZ", "that we won because they slept"),
    ],
)
def test_a_complementizer_is_in_its_clause(words: str, verb: str, clause: str) -> None:
    """Also where it is uncertain where the clause ends, so that no SBAR has a probability above one half."""
    tags = f"PRP {verb} IN PRP VBD IN PRP VBD ."
    tree = open_parser("en_span").parse(words.split(), tags.split()).tree
    assert ("SBAR", clause) in {(label, " ".join(words.split()[start:end])) for start, end, label in tree.spans()}


def test_unattached_tokens_are_found() -> None:
    tree = parse_tree("(TOP (S (DT The) (NN dog) (VP (VBZ barks)) (. .)))")
    assert unattached_tokens(tree) == [0, 1]
    assert unattached_tokens(parse_tree("(TOP (S (VB Close) (S (VP (VBG swimming))) (. .)))")) == [0]
    clause = "(S (NP (PRP he)) (VP (VBD left)))"
    assert unattached_tokens(parse_tree(f"(TOP (S (NP (PRP I)) (VP (VBP know) (IN that) {clause}) (. .)))")) == [2]
    for right in (
        "(TOP (S (NP (PRP I)) (VP (MD can) (VP (VB go))) (. .)))",
        "(TOP (SQ (MD Can) (NP (PRP I)) (VP (VB go)) (. ?)))",
        "(TOP (NP (DT the) (NN plan) (S (VP (TO to) (VP (VB go))))))",
        "(TOP (NP (DT the) (NN dog)))",
        f"(TOP (S (NP (PRP I)) (VP (VBP know) (SBAR (IN that) {clause})) (. .)))",
        "(TOP (PP (IN by) (S (VP (VBG walking)))))",
        "(TOP (S (NP (PRP We)) (VP (NN need) (S (VP (TO to) (VP (VB go))))) (. .)))",
    ):
        assert unattached_tokens(parse_tree(right)) == []
