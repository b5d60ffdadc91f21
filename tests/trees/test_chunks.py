"""Chunks of trees as in CoNLL-2000: sentences chunked by hand from the text of Tjong Kim Sang & Buchholz (2000)."""

from __future__ import annotations

import pytest

from spacy_dtparse.trees.brackets import parse_tree, read_trees
from spacy_dtparse.trees.chunks import CHUNK_LABELS, chunk_tags, chunks
from spacy_dtparse.trees.heads import LEFTMOST
from spacy_dtparse.trees.transforms import strip_empty

from ..documents import ROOT

CHUNKED = {
    # rule -> tree, chunks as the words between brackets
    "up to the head, no arguments": (
        "(S (NP (NP (DT the) (JJ big) (NN dog)) (PP (IN on) (NP (DT the) (NN mat)))) (VP (VBD ate) (NP (NN food))))",
        "[NP the big dog] [PP on] [NP the mat] [VP ate] [NP food]",
    ),
    "auxiliaries, not, an infinitive, a particle": (
        "(S (NP (PRP He)) (VP (MD may) (RB not) (VP (VB want) (S (VP (TO to) (VP (VB give) (PRT (RP up))))))) (. .))",
        "[NP He] [VP may not want to give] [PRT up] .",
    ),
    "a passive with an infinitive": (
        "(S (NP (PRP He)) (VP (VBZ is) (VP (VBN expected) (S (VP (TO to) (VP (VB win) (NP (PRP it))))))))",
        "[NP He] [VP is expected to win] [NP it]",
    ),
    "an object between verbs ends the chunk": (
        "(S (NP (PRP He)) (VP (VBD told) (NP (PRP her)) (S (VP (TO to) (VP (VB wait))))))",
        "[NP He] [VP told] [NP her] [VP to wait]",
    ),
    "an infinitive with a subject": (
        "(S (NP (PRP He)) (VP (VBD wanted) (S (NP (PRP her)) (VP (TO to) (VP (VB wait))))))",
        "[NP He] [VP wanted] [NP her] [VP to wait]",
    ),
    "adverbs before the main verb": (
        "(S (NP (PRP It)) (VP (MD could) (ADVP (RB very) (RB well)) (VP (VB rain) (ADVP (RB hard)))))",
        "[NP It] [VP could very well rain] [ADVP hard]",
    ),
    "an adverb outside the verb phrase": (
        "(S (NP (PRP It)) (ADVP (RB never)) (VP (VBZ rains)))",
        "[NP It] [ADVP never] [VP rains]",
    ),
    "a predicate": (
        "(S (NP (PRP She)) (VP (VBZ is) (ADJP (RB very) (JJ tall))))",
        "[NP She] [VP is] [ADJP very tall]",
    ),
    "coordinated verb phrases": (
        "(S (NP (PRP He)) (VP (MD will) (VP (VP (VB sing) (NP (NNS songs))) (CC and) (VP (VB dance)))) (. .))",
        "[NP He] [VP will sing] [NP songs] and [VP dance] .",
    ),
    "coordinated verbs": (
        "(S (NP (PRP He)) (VP (VBD washed) (CC and) (VBD dried) (NP (PRP it))))",
        "[NP He] [VP washed and dried] [NP it]",
    ),
    "an inverted auxiliary is in no chunk": (
        "(SQ (VBZ Does) (NP (DT your) (NN shop)) (VP (VB sell) (NP (NN tea))) (. ?))",
        "Does [NP your shop] [VP sell] [NP tea] ?",
    ),
    "possessives begin a chunk": (
        "(S (NP (NP (NNP Ann) (POS 's)) (JJ old) (NN car)) (VP (VBD broke)))",
        "[NP Ann] [NP 's old car] [VP broke]",
    ),
    "possessives in possessives": (
        "(NP (NP (NP (PRP$ my) (NN friend) (POS 's)) (NN brother) (POS 's)) (NN car))",
        "[NP my friend] [NP 's brother] [NP 's car]",
    ),
    "coordinated noun phrases": (
        "(NP (NP (DT the) (NNS cats)) (CC and) (NP (DT the) (NNS dogs)))",
        "[NP the cats] and [NP the dogs]",
    ),
    "flat coordination is one chunk": ("(NP (NNS cats) (CC and) (NNS dogs))", "[NP cats and dogs]"),
    "words before a noun phrase": ("(NP (RB only) (NP (DT a) (NN boy)))", "[NP only a boy]"),
    "adjective phrases and numbers before a noun": (
        "(NP (QP (RB about) (CD five)) (ADJP (RB very) (JJ old)) (, ,) (JJ grey) (NNS cats))",
        "[NP about five very old , grey cats]",
    ),
    "a date": ("(NP (NNP May) (CD 5) (, ,) (CD 1990))", "[NP May 5 , 1990]"),
    "adjectives after a pronoun": ("(NP (NN something) (JJ new))", "[NP something new]"),
    "quotation marks at an edge": ("(NP (`` “) (DT the) (NN end) ('' ”))", "“ [NP the end] ”"),
    "a noun phrase in an adjective phrase": (
        "(ADJP (NP (CD 68) (NNS years)) (JJ old))", "[NP 68 years] [ADJP old]",
    ),
    "a noun phrase in an adverb phrase": (
        "(S (NP (PRP He)) (VP (VBD left) (ADVP (NP (DT a) (NN year)) (RBR earlier))))",
        "[NP He] [VP left] [NP a year] [ADVP earlier]",
    ),
    "old enough": ("(ADJP (JJ old) (RB enough) (S (VP (TO to) (VP (VB drive)))))", "[ADJP old enough] [VP to drive]"),
    "prepositions of several words": (
        "(PP (IN because) (IN of) (NP (DT the) (NN rain)))", "[PP because of] [NP the rain]",
    ),
    "an adverb before a preposition": (
        "(PP (ADVP (RB well)) (IN above) (NP (NN zero)))", "[PP well above] [NP zero]",
    ),
    "a measure before a preposition": (
        "(PP (NP (CD two) (NNS years)) (IN after) (NP (NN school)))", "[NP two years] [PP after] [NP school]",
    ),
    "a measure before a complementizer": (
        "(SBAR (NP (CD two) (NNS days)) (IN after) (S (NP (DT the) (NN war)) (VP (VBD ended))))",
        "[NP two days] [SBAR after] [NP the war] [VP ended]",
    ),
    "an owner alone": (
        "(PP (IN at) (NP (PRP$ my) (NN aunt) (POS 's)))", "[PP at] [NP my aunt] [NP 's]",
    ),
    "complementizers": (
        "(SBAR (RB even) (IN though) (S (NP (PRP it)) (VP (VBZ rains))))", "[SBAR even though] [NP it] [VP rains]",
    ),
    "relative pronouns": (
        "(NP (NP (DT the) (NN day)) (SBAR (WHPP (IN on) (WHNP (WDT which))) (S (NP (PRP we)) (VP (VBD met)))))",
        "[NP the day] [PP on] [NP which] [NP we] [VP met]",
    ),
    "adverbs of questions": (
        "(SBAR (WHADVP (WRB when)) (S (NP (PRP we)) (VP (VBD met))))", "[ADVP when] [NP we] [VP met]",
    ),
    "interjections, conjunctions, list marks": (
        "(S (LST (LS 1) (. .)) (INTJ (UH Well)) (, ,) (NP (NP (NNP Ann)) (CONJP (RB as) (RB well) (IN as)) "
        "(NP (NNP Tom))) (VP (VBD came)))",
        "[LST 1 .] [INTJ Well] , [NP Ann] [CONJP as well as] [NP Tom] [VP came]",
    ),
    "parentheses": (
        "(NP (NP (DT the) (NN WHO)) (PRN (-LRB- -LRB-) (NP (DT a) (NN body)) (-RRB- -RRB-)))",
        "[NP the WHO] -LRB- [NP a body] -RRB-",
    ),
    "unary chains and function tags": (
        "(S (S (NP-SBJ (NP (NN tea)))) (VP (VP (VBZ helps))))", "[NP tea] [VP helps]",
    ),
}  # fmt: skip


def _bracketed(brackets: str) -> str:
    tree = parse_tree(brackets)
    words, covered = list(tree.words), 0
    for start, end, label in chunks(tree):
        assert covered <= start < end and label in CHUNK_LABELS  # in order, without overlap
        words[start], words[end - 1], covered = f"[{label} {words[start]}", f"{words[end - 1]}]", end
        if end == start + 1:
            words[start] = f"[{label} {tree.words[start]}]"
    return " ".join(words)


@pytest.mark.parametrize("rule", CHUNKED)
def test_chunks_by_hand(rule):
    brackets, expected = CHUNKED[rule]
    assert _bracketed(brackets) == expected


def test_tags():
    tree = parse_tree(CHUNKED["auxiliaries, not, an infinitive, a particle"][0])
    assert chunk_tags(tree) == ["B-NP", "B-VP", "I-VP", "I-VP", "I-VP", "I-VP", "B-PRT", "O"]
    tree = parse_tree(CHUNKED["possessives begin a chunk"][0])
    assert chunk_tags(tree) == ["B-NP", "B-NP", "I-NP", "I-NP", "B-VP"]
    assert chunk_tags(parse_tree("(X (SYM *))")) == ["O"]


def test_head_rules_of_another_language():
    tree = parse_tree("(NP (NN a) (ADJP (JJ b)))")
    assert chunks(tree, LEFTMOST)[0] == (0, 1, "NP")


@pytest.mark.parametrize("name", ["train", "dev"])
def test_the_sample_treebank(name):
    """Chunks are in order, begin and end with words, and contain every noun, pronoun and lexical verb."""
    for tree in map(strip_empty, read_trees(ROOT / "assets" / "sample" / f"{name}.mrg")):
        covered = 0
        for start, end, label in chunks(tree):
            assert covered <= start < end <= tree.n_tokens, str(tree)
            assert label in ("LST", "CONJP") or not {tree.tags[start], tree.tags[end - 1]} & {",", ".", ":", "CC"}
            covered = end
        for tag, chunk_tag in zip(tree.tags, chunk_tags(tree), strict=True):
            assert chunk_tag != "O" or tag not in ("NN", "NNS", "NNP", "PRP", "WP", "EX", "VB", "VBN", "VBG"), str(tree)


def test_a_deep_tree():
    brackets = "(VP (VB go) " * 3000 + "(NP (NN home))" + ")" * 3000
    assert chunk_tags(parse_tree(brackets)) == ["B-VP", *["I-VP"] * 2999, "B-NP"]
