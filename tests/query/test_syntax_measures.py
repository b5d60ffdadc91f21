"""Measures of syntactic complexity, on texts counted by hand from the definitions in docs/measures.md."""

from __future__ import annotations

from itertools import pairwise

import pytest

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.query.measures import COUNTING, RATIOS, SyntaxMeasures, measure_trees
from spacy_dtparse.query.structures import STRUCTURES, find_structures
from spacy_dtparse.trees.brackets import parse_tree, read_trees
from spacy_dtparse.trees.transforms import strip_empty

from ..documents import ROOT

COUNTED: dict[str, tuple[str, list[str], dict[str, int]]] = {
    "simple sentences": (
        "The old man lives in a small house. He has two dogs. They sleep all day.",
        [
            "(S (NP (DT The) (JJ old) (NN man)) (VP (VBZ lives) (PP (IN in) (NP (DT a) (JJ small) (NN house)))) (. .))",
            "(S (NP (PRP He)) (VP (VBZ has) (NP (CD two) (NNS dogs))) (. .))",
            "(S (NP (PRP They)) (VP (VBP sleep) (NP (DT all) (NN day))) (. .))",
        ],
        # 8 + 4 + 4 words; one verb phrase, clause and T-unit each; CN: the old man, a small house
        {"W": 16, "S": 3, "VP": 3, "C": 3, "T": 3, "DC": 0, "CT": 0, "CP": 0, "CN": 2},
    ),
    "coordination": (
        "She sang and he danced, but nobody watched. Tom and Ann washed, dried and folded the shirts.",
        [
            "(S (S (NP (PRP She)) (VP (VBD sang))) (CC and) (S (NP (PRP he)) (VP (VBD danced))) (, ,) (CC but) "
            "(S (NP (NN nobody)) (VP (VBD watched))) (. .))",
            "(S (NP (NNP Tom) (CC and) (NNP Ann)) (VP (VBD washed) (, ,) (VBD dried) (CC and) (VBD folded) "
            "(NP (DT the) (NNS shirts))) (. .))",
        ],
        # 8 + 9 words; 3 clauses and T-units, then 1; coordinated verbs are in one verb phrase;
        # CP: Tom and Ann, washed … the shirts
        {"W": 17, "S": 2, "VP": 4, "C": 4, "T": 4, "DC": 0, "CT": 0, "CP": 2, "CN": 0},
    ),
    "subordination": (
        "I know that he left because it rained. If you see her, tell her the truth.",
        [
            "(S (NP (PRP I)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD left) (SBAR (IN because) "
            "(S (NP (PRP it)) (VP (VBD rained)))))))) (. .))",
            "(S (SBAR (IN If) (S (NP (PRP you)) (VP (VBP see) (NP (PRP her))))) (, ,) (VP (VB tell) (NP (PRP her)) "
            "(NP (DT the) (NN truth))) (. .))",
        ],
        # clauses: know, left, rained; see, tell (an imperative); DC: left, rained, see; CN: that he left …, an object
        {"W": 16, "S": 2, "VP": 5, "C": 5, "T": 2, "DC": 3, "CT": 2, "CP": 0, "CN": 1},
    ),
    "relative clauses": (
        "The book that you lent me is on the table where we eat. People who smoke die young.",
        [
            "(S (NP (NP (DT The) (NN book)) (SBAR (WHNP (WDT that)) (S (NP (PRP you)) (VP (VBD lent) "
            "(NP (PRP me)))))) (VP (VBZ is) (PP (IN on) (NP (NP (DT the) (NN table)) (SBAR (WHADVP (WRB where)) "
            "(S (NP (PRP we)) (VP (VBP eat))))))) (. .))",
            "(S (NP (NP (NNS People)) (SBAR (WHNP (WP who)) (S (VP (VBP smoke))))) (VP (VBP die) (ADJP (JJ young))) "
            "(. .))",
        ],
        # clauses: is, lent, eat; die, smoke; DC: lent, eat, smoke; CN: the book that …, the table where …, people who …
        {"W": 18, "S": 2, "VP": 5, "C": 5, "T": 2, "DC": 3, "CT": 2, "CP": 0, "CN": 3},
    ),
    "infinitives, gerunds and participles": (
        "To swim in cold water is healthy. Reading books helps him to learn. The man sitting there wants to leave.",
        [
            "(S (S (VP (TO To) (VP (VB swim) (PP (IN in) (NP (JJ cold) (NN water)))))) (VP (VBZ is) "
            "(ADJP (JJ healthy))) (. .))",
            "(S (S (VP (VBG Reading) (NP (NNS books)))) (VP (VBZ helps) (S (NP (PRP him)) (VP (TO to) "
            "(VP (VB learn))))) (. .))",
            "(S (NP (NP (DT The) (NN man)) (VP (VBG sitting) (ADVP (RB there)))) (VP (VBZ wants) (S (VP (TO to) "
            "(VP (VB leave))))) (. .))",
        ],
        # 7 + 6 + 7 words; clauses need a finite verb; VP: to swim, is; reading, helps, to learn; sitting, wants,
        # to leave; CN: to swim …, reading books (subjects), cold water, the man sitting there
        {"W": 20, "S": 3, "VP": 8, "C": 3, "T": 3, "DC": 0, "CT": 0, "CP": 0, "CN": 4},
    ),
    "questions and commands": (
        "Where do you live? Is she ill? Please sit down and wait. Who left?",
        [
            "(SBARQ (WHADVP (WRB Where)) (SQ (VBP do) (NP (PRP you)) (VP (VB live))) (. ?))",
            "(SQ (VBZ Is) (NP (PRP she)) (ADJP (JJ ill)) (. ?))",
            "(S (INTJ (UH Please)) (VP (VP (VB sit) (ADVP (RB down))) (CC and) (VP (VB wait))) (. .))",
            "(SBARQ (WHNP (WP Who)) (SQ (VP (VBD left))) (. ?))",
        ],
        # 4 + 3 + 5 + 2 words; VP: live, is (no verb phrase in its clause), sit … wait, left; CP: sit down and wait
        {"W": 14, "S": 4, "VP": 4, "C": 4, "T": 4, "DC": 0, "CT": 0, "CP": 1, "CN": 0},
    ),
    "fragments": (
        "What a day! No rain, no flowers. Because it snowed.",
        [
            "(NP (WDT What) (DT a) (NN day) (. !))",
            "(FRAG (NP (DT No) (NN rain)) (, ,) (NP (DT no) (NNS flowers)) (. .))",
            "(FRAG (SBAR (IN Because) (S (NP (PRP it)) (VP (VBD snowed)))) (. .))",
        ],
        # a fragment is one clause and one T-unit; in the third, the clause is it snowed, which is dependent
        {"W": 10, "S": 3, "VP": 1, "C": 3, "T": 3, "DC": 1, "CT": 1, "CP": 0, "CN": 0},
    ),
    "quotations": (
        "“I am tired,” she said, “and you are late.” He asked whether we knew why it stopped.",
        [
            "(S (`` “) (S (NP (PRP I)) (VP (VBP am) (ADJP (JJ tired)))) (, ,) ('' ”) (NP (PRP she)) (VP (VBD said)) "
            "(, ,) (`` “) (CC and) (S (NP (PRP you)) (VP (VBP are) (ADJP (JJ late)))) (. .) ('' ”))",
            "(S (NP (PRP He)) (VP (VBD asked) (SBAR (IN whether) (S (NP (PRP we)) (VP (VBD knew) "
            "(SBAR (WHADVP (WRB why)) (S (NP (PRP it)) (VP (VBD stopped)))))))) (. .))",
        ],
        # 9 + 8 words; what she said is part of the T-unit of said; DC: whether we knew …, why it stopped, both objects
        {"W": 17, "S": 2, "VP": 6, "C": 6, "T": 2, "DC": 2, "CT": 1, "CP": 0, "CN": 2},
    ),
    "nominals": (
        "My brother, a doctor from Rome, bought John's biggest car. What he paid for is a secret. "
        "It seems that he talked about what happened.",
        [
            "(S (NP (NP (PRP$ My) (NN brother)) (, ,) (NP (NP (DT a) (NN doctor)) (PP (IN from) (NP (NNP Rome)))) "
            "(, ,)) (VP (VBD bought) (NP (NP (NNP John) (POS 's)) (JJS biggest) (NN car))) (. .))",
            "(S (SBAR (WHNP (WP What)) (S (NP (PRP he)) (VP (VBD paid) (PP (IN for))))) (VP (VBZ is) "
            "(NP (DT a) (NN secret))) (. .))",
            "(S (NP (PRP It)) (VP (VBZ seems) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD talked) (PP (IN about) "
            "(SBAR (WHNP (WP what)) (S (VP (VBD happened))))))))) (. .))",
        ],
        # 11 + 7 + 8 words (John and 's are two); CN: my brother … (with apposition), John's biggest car, what he paid
        # for (subject), that he talked … (object), what happened (object of about)
        {"W": 26, "S": 3, "VP": 6, "C": 6, "T": 3, "DC": 3, "CT": 2, "CP": 0, "CN": 5},
    ),
    "lists and shared clauses": (
        "Apples, pears and plums are cheap. She said that he came and that they left. "
        "When it rained, we stayed and they read.",
        [
            "(S (NP (NP (NNS Apples)) (, ,) (NP (NNS pears)) (CC and) (NP (NNS plums))) (VP (VBP are) "
            "(ADJP (JJ cheap))) (. .))",
            "(S (NP (PRP She)) (VP (VBD said) (SBAR (SBAR (IN that) (S (NP (PRP he)) (VP (VBD came)))) (CC and) "
            "(SBAR (IN that) (S (NP (PRP they)) (VP (VBD left)))))) (. .))",
            "(S (SBAR (WHADVP (WRB When)) (S (NP (PRP it)) (VP (VBD rained)))) (, ,) (S (NP (PRP we)) "
            "(VP (VBD stayed))) (CC and) (S (NP (PRP they)) (VP (VBD read))) (. .))",
        ],
        # a list is a coordinate phrase and no apposition; DC: came, left, rained; when it rained belongs to the T-unit
        # of we stayed; CN: the two that-clauses
        {"W": 23, "S": 3, "VP": 7, "C": 7, "T": 4, "DC": 3, "CT": 2, "CP": 1, "CN": 2},
    ),
}  # fmt: skip
"""Name -> text, trees of its sentences, and the counts."""


@pytest.mark.parametrize("name", COUNTED)
def test_counts_by_hand(name):
    text, brackets, counts = COUNTED[name]
    trees = [parse_tree(one) for one in brackets]
    assert "".join("".join(tree.words) for tree in trees) == text.replace(" ", "")
    assert measure_trees(trees).counts == counts
    without_root = [parse_tree(one, top=None) for one in brackets]
    assert measure_trees(without_root).counts == counts


def test_the_texts_cover_every_structure():
    assert all(any(counts[name] for _, _, counts in COUNTED.values()) for name in STRUCTURES)


def _spans(brackets: str, name: str) -> list[str]:
    tree = parse_tree(brackets)
    return [" ".join(tree.words[start:end]) for start, end in find_structures(tree)[name]]


def test_structures_are_spans():
    first, second, third = COUNTED["lists and shared clauses"][1]
    assert _spans(third, "T") == ["When it rained , we stayed", "they read ."]
    assert _spans(third, "CT") == ["When it rained , we stayed"]
    assert _spans(second, "DC") == ["he came", "they left"]
    assert _spans(first, "CP") == ["Apples , pears and plums"]
    assert _spans(COUNTED["quotations"][1][0], "T") == [
        "“ I am tired , ” she said , “ and you are late . ”"
    ]  # fmt: skip
    assert _spans(COUNTED["questions and commands"][1][1], "VP") == ["Is"]


DIFFERENT = {
    # published pattern -> what a person counts
    "a complex T-unit beside a simple one": (
        "(S (S (NP (PRP She)) (VP (VBD left))) (CC and) (S (NP (PRP he)) (VP (VBD stayed) (SBAR (IN because) "
        "(S (NP (PRP it)) (VP (VBD rained)))))) (. .))", "CT", 2, 1,
    ),
    "coordinated clauses after one conjunction": (
        "(S (NP (PRP He)) (VP (VBD left) (SBAR (IN because) (S (S (NP (PRP it)) (VP (VBD rained))) (CC and) "
        "(S (NP (PRP it)) (VP (VBD froze)))))) (. .))", "DC", 0, 2,
    ),
    "a list of three": (COUNTED["lists and shared clauses"][1][0], "CN", 1, 0),
    "a command after please": (COUNTED["questions and commands"][1][2], "C", 0, 1),
    "a headline": ("(NP (NP (NN News)) (PP (IN from) (NP (NNP Rome))))", "T", 0, 1),
    "a comparative": ("(S (NP (DT A) (JJR bigger) (NN dog)) (VP (VBD barked)))", "CN", 0, 1),
    "a quotation in two parts": (COUNTED["quotations"][1][0], "T", 2, 1),
    "a reduced relative clause": (COUNTED["infinitives, gerunds and participles"][1][2], "VP", 2, 3),
    "as well as": (
        "(S (NP (NP (NNP Tom)) (CONJP (RB as) (RB well) (IN as)) (NP (NNP Ann))) (VP (VBD left)))", "CP", 0, 1,
    ),
    "a whether-clause": (COUNTED["quotations"][1][1], "CN", 0, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_counting_by_the_published_patterns(name):
    brackets, structure, published, ours = DIFFERENT[name]
    trees = [parse_tree(brackets)]
    assert measure_trees(trees, "l2sca")[structure] == published
    assert measure_trees(trees)[structure] == ours


def test_the_ways_to_count_agree_on_plain_sentences():
    for name in ("simple sentences", "coordination", "relative clauses"):
        trees = [parse_tree(one) for one in COUNTED[name][1]]
        assert measure_trees(trees) == measure_trees(trees, "l2sca")
    with pytest.raises(ConfigError, match="counting='lu'; allowed are 'definitions', 'l2sca'"):
        measure_trees([], "lu")
    assert COUNTING == ("definitions", "l2sca")


def test_words():
    tree = parse_tree(
        "(S (NP ($ $) (CD 5) (-LRB- -LRB-) (NN % ) (-RRB- -RRB-)) (VP (VBZ is) (RB n't)) (NP (NN A-1)) (. .))"
    )
    assert [tree.words[a] for a, _ in find_structures(tree)["W"]] == ["5", "is", "n't", "A-1"]
    assert find_structures(parse_tree("(NP (: --) (. .))")) == {
        name: [] for name in STRUCTURES
    }  # no words: no sentence, and nothing else


def test_empty_elements_and_function_tags_do_not_count():
    without = "(S (NP (DT The) (NN man)) (VP (VBZ seems) (S (VP (TO to) (VP (VB sleep))))) (. .))"
    with_traces = (
        "(S (NP-SBJ-1 (DT The) (NN man)) (VP (VBZ seems) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sleep))))) (. .))"
    )
    for counting in COUNTING:
        assert measure_trees([parse_tree(with_traces)], counting) == measure_trees([parse_tree(without)], counting)
    assert not measure_trees([parse_tree("(NP (-NONE- *))")]).sentences


@pytest.mark.parametrize("name", ["train", "dev"])
def test_the_sample_treebank(name):
    """Structures contain one another as their definitions say, and T-units cover the sentence."""
    for tree in map(strip_empty, read_trees(ROOT / "assets" / "sample" / f"{name}.mrg")):
        found = find_structures(tree)
        if not found["S"]:
            continue
        assert {*found["CT"]} <= {*found["T"]} and {*found["DC"]} <= {*found["C"]} | {(0, tree.n_tokens)}, str(tree)
        assert found["T"][0][0] == 0 and all(a < b <= c for (a, b), (c, _) in pairwise(found["T"])), str(tree)
        between = [range(b, c) for (_, b), (c, _) in pairwise([*found["T"], (tree.n_tokens, 0)])]
        assert all(tree.tags[k] in ("CC", ",", ":") for gap in between for k in gap), str(tree)
        for name_of_phrase in ("VP", "CP", "CN"):
            assert all(0 <= start < end <= tree.n_tokens for start, end in found[name_of_phrase])


def test_ratios():
    measures = SyntaxMeasures(*COUNTED["lists and shared clauses"][2].values())
    expected = {
        "MLS": 23 / 3, "MLT": 23 / 4, "MLC": 23 / 7, "C/S": 7 / 3, "VP/T": 7 / 4, "C/T": 7 / 4, "DC/C": 3 / 7,
        "DC/T": 3 / 4, "T/S": 4 / 3, "CT/T": 2 / 4, "CP/T": 1 / 4, "CP/C": 1 / 7, "CN/T": 2 / 4, "CN/C": 2 / 7,
    }  # fmt: skip
    assert {name: measures[name] for name in RATIOS} == expected
    assert list(measures.to_dict()) == [*STRUCTURES, *RATIOS]
    assert (measures + measures).words == 46 and (measures + measures)["MLS"] == measures["MLS"]
    assert SyntaxMeasures()["MLS"] is None and "MLS          -  mean length" in str(SyntaxMeasures())
    with pytest.raises(KeyError, match="'X' is no measure; the measures are W, S, VP"):
        measures["X"]
    with pytest.raises(TypeError):
        measures + 1


def test_texts_of_measures():
    measures = SyntaxMeasures(*COUNTED["simple sentences"][2].values())
    assert repr(measures) == "<SyntaxMeasures: W 16, S 3, VP 3, C 3, T 3, DC 0, CT 0, CP 0, CN 2>"
    assert str(measures).splitlines()[0] == "W           16  words"
    assert '<th>MLS</th><td style="text-align:right">5.3333</td>' in measures._repr_html_()


def test_a_deep_tree():
    depth = 3000
    brackets = (
        "(S (NP (PRP I)) (VP (VBP know) (SBAR (IN that) " * depth + "(S (NP (PRP I)) (VP (VBP go)))" + ")))" * depth
    )
    assert measure_trees([parse_tree(brackets)]).counts == {
        "W": 3 * depth + 2, "S": 1, "VP": depth + 1, "C": depth + 1, "T": 1, "DC": depth, "CT": 1, "CP": 0, "CN": depth,
    }  # fmt: skip
