"""Conventions of the everyday trees: each kind of problem is seen, good trees have none, and ours are good."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from spacy_dtparse.trees import parse_tree, read_trees, write_tree
from training.cli import main
from training.data.conventions import TAGS, check_conventions, problems

EVERYDAY = Path(__file__).resolve().parents[3] / "assets" / "everyday"
PARTS = ("train", "dev", "test")
GOOD = "(TOP (S (NP (PRP She)) (VP (VBD slept)) (. .)))"


def found(text: str) -> list[str]:
    return list(problems(parse_tree(text, top=None)))


def letters(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a sentence without signs, in lower case, by which two sentences are the same."""
    return tuple(word.lower() for word in words if any(map(str.isalnum, word)))


def sentence(inner: str) -> str:
    return f"(TOP (S {inner} (. .)))"


def clause(verb_phrase: str) -> str:
    return sentence(f"(NP (PRP She)) {verb_phrase}")


def noun_phrase(inner: str) -> str:
    return f"(TOP (NP {inner}))"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        # tags and labels
        (clause("(VP (VBDX slept))"), "VBDX is no tag of the guide"),
        (clause("(VP (AFX slept))"), "AFX is no tag of the guide"),
        (clause("(VP (VBD slept) (NML (NN rain)))"), "NML is no label of the guide"),
        (clause("(VP (VBD slept) (NP-TMP (NN today)))"), "NP-TMP is no label of the guide"),
        (clause("(VP (VBD slept) (TOP (ADVP (RB well))))"), "TOP is no label of the guide"),
        # the root
        ("(S (NP (PRP She)) (VP (VBD slept)) (. .))", "the root is S, not TOP"),
        ("(TOP (NP (NN Rain)) (. .))", "TOP must have one child, a constituent"),
        ("(TOP (UH Yes))", "TOP must have one child, a constituent"),
        ("(TOP (QP (CD two) (CD million)))", "QP cannot be the whole sentence"),
        ("(TOP (S (NP (PRP She)) (VP (VBD slept) (. .))))", "the final stop is not a child of the node below TOP"),
        (
            "(TOP (S (`` ``) (S (NP (PRP She)) (VP (VBD slept) (. .))) ('' '')))",
            "the final stop is not a child of the node below TOP",
        ),
        # one label twice
        (clause("(VP (VBD slept) (ADVP (ADVP (RB well))))"), "ADVP over ADVP alone"),
        (clause("(VP (VBD slept) (NP (NP (DT a) (NN day))))"), "NP over NP alone"),
        (clause("(VP (VBD slept) (PP (PP (IN on) (NP (PRP it)))))"), "PP over PP alone"),
        # clauses
        (sentence("(PRP She) (VP (VBD slept))"), "PRP is a child of S; give it a phrase of its own"),
        ("(TOP (SQ (VBD Did) (PRP you) (VP (VB sleep)) (. ?)))", "PRP is a child of SQ; give it a phrase of its own"),
        (sentence("(VB Sleep) (ADVP (RB well))"), "a verb is a child of S; it needs a VP"),
        (sentence("(TO to) (VP (VB sleep))"), "a verb is a child of S; it needs a VP"),
        (sentence("(NP (PRP She)) (VBD slept)"), "a verb is a child of S; it needs a VP (or S should be SQ)"),
        (
            "(TOP (S (MD Can) (NP (PRP she)) (VP (VB sleep)) (. ?)))",
            "a verb is a child of S; it needs a VP (or S should be SQ)",
        ),
        ("(TOP (SQ (NP (PRP you)) (ADJP (JJ ill)) (. ?)))", "SQ without a verb"),
        (sentence("(INTJ (UH Yes))"), "S without a predicate"),
        # verb phrases
        (clause("(VP (ADVP (RB well)))"), "VP without a verb"),
        (
            sentence("(NP (NP (NN ice)) (SBAR (WHNP (WDT that)) (S (VP (VBZ is)))) (VP (VBZ cools))) (VP (VBZ is))"),
            "a finite VP is a child of NP; is the NP longer than its noun and postmodifiers?",
        ),
        (clause("(VP (MD can) (VB sleep))"), "the verb after MD or TO needs a VP of its own"),
        (clause("(VP (VBZ wants) (S (VP (TO to) (VB sleep))))"), "the verb after MD or TO needs a VP of its own"),
        (clause("(VP (VBZ has) (VBN slept))"), "two verbs in one VP; each has a VP of its own"),
        (clause("(VP (VBD saw) (PRP it))"), "PRP is a child of VP; give it a phrase of its own"),
        (clause("(VP (VBD was) (JJ tired))"), "JJ is a child of VP; give it a phrase of its own"),
        (clause("(VP (VBD gave) (RP up))"), "a preposition or particle is a child of VP; it needs PP or PRT"),
        (
            clause("(VP (VBD looked) (IN at) (NP (PRP it)))"),
            "a preposition or particle is a child of VP; it needs PP or PRT",
        ),
        # noun phrases
        (noun_phrase("(DT a) (NN man) (PP (IN in) (NP (NN town)))"), "a postmodified noun has an NP of its own"),
        (noun_phrase("(DT a) (NN man) (VP (VBG sleeping))"), "a postmodified noun has an NP of its own"),
        (noun_phrase("(DT a) (NN man) (VBZ sleeps)"), "a verb is a child of NP"),
        # other phrases
        (clause("(VP (VBD said) (SBAR (IN that) (NP (DT a) (NN dog))))"), "SBAR ends in NP; is there no clause?"),
        (sentence("(INTJ (UH Oh) (VP (VBP thank) (NP (PRP you)))) (NP (PRP it)) (VP (VBD was))"), "what is in INTJ?"),
        (noun_phrase("(QP (CD two)) (NNS dogs)"), "QP over one word"),
    ],
)
def test_each_kind_of_problem_is_seen(text, problem):
    messages = found(text)
    assert [message for message in messages if message.endswith(problem)], messages
    assert len(set(messages)) == len(messages), "each is said once"


HEADLESS = {
    "PP": "(TOP (PP (NP (DT a) (NN day))))",
    "PRT": clause("(VP (VBD gave) (PRT (UH up)))"),
    "ADVP": clause("(VP (VBD slept) (ADVP (PRP it)))"),
    "ADJP": clause("(VP (VBD was) (ADJP (PRP it)))"),
    "WHNP": "(TOP (SBARQ (WHNP (DT the) (NN day)) (SQ (VP (VBD came))) (. ?)))",
    "WHADVP": "(TOP (SBARQ (WHADVP (RB then)) (SQ (VBP are) (NP (PRP you))) (. ?)))",
    "WHADJP": "(TOP (SBARQ (WHADJP (JJ old)) (SQ (VBP are) (NP (PRP you))) (. ?)))",
    "WHPP": clause("(VP (VBD left) (SBAR (WHPP (IN in) (NP (PRP it))) (S (NP (PRP she)) (VP (VBD slept)))))"),
    "SBAR": clause("(VP (VBD slept) (SBAR (IN because)))"),
    "SBARQ": "(TOP (SBARQ (WHNP (WP Who)) (. ?)))",
}


@pytest.mark.parametrize("label", HEADLESS)
def test_a_phrase_without_what_makes_it_one(label):
    (message,) = found(HEADLESS[label])
    assert re.fullmatch(rf"\({label} [^()]*\): none of [A-Z$ ]+", message)


def test_a_problem_shows_the_node():
    assert found(clause("(VP (VBD gave) (RP up) (NP (PRP it)))")) == [
        "(VP VBD RP NP): a preposition or particle is a child of VP; it needs PP or PRT"
    ]


@pytest.mark.parametrize(
    ("words", "pieces"),
    [("(NP (NN don't))", "do n't"), ("(NP (NN cat,))", "cat ,"), ("(NP ($ $5))", "$ 5"), ("(NP (NN -LRB-a))", "( a")],
)
def test_words_are_tokens_of_spacy(words, pieces):
    (message,) = found(f"(TOP {words})")
    assert message.endswith(f"is no token of spaCy's tokenizer, which splits it into {pieces!r}")


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "(TOP (NP (NNP Mr.) (NNP Brown)))",
        "(TOP (S (NP (PRP I)) (VP (MD ca) (RB n't) (VP (VB go) (PP (IN at) (NP (CD 7) (NN p.m.))))) (. .)))",
        "(TOP (S (NP (NP (NNP John) (POS 's)) (NN dog)) (VP (VBZ 's) (ADJP (JJ old))) (. .)))",
        "(TOP (S (NP (PRP We)) (VP (VBP 're) (VP (VBG gon) (S (VP (TO na) (VP (VB eat)))))) (. .)))",
        "(TOP (S (-LRB- -LRB-) (NP (PRP She)) (VP (VBD huffed) (CC and) (VBD puffed)) (. .) (-RRB- -RRB-)))",
        "(TOP (S (`` ``) (S (NP (PRP I)) (VP (VBP agree))) (, ,) ('' '') (NP (PRP she)) (VP (VBD said)) (. .)))",
        "(TOP (FRAG (RB Not) (ADVP (RB yet)) (. .)))",
        "(TOP (NP (NP (CD 20) (NN %)) (PP (IN of) (NP (PRP them)))))",
        "(TOP (S (NP (PRP She)) (VP (VBD gave) (PRT (RP up))) (. .) (NFP :-RRB-)))",
        "(TOP (SQ (VBZ Is) (RB n't) (NP (PRP it)) (ADJP (JJ cold)) (. ?)))",
        "(TOP (S (NP (CD 6) (SYM x) (CD 7)) (VP (SYM =) (NP (CD 42)))))",
        "(TOP (S (NP (NP (NN money)) (VP (VBN owed))) (VP (VBD was) (VP (VBN paid))) (. .)))",
    ],
)
def test_good_trees_have_no_problem(text):
    assert found(text) == []


def test_the_guide_keeps_to_itself():
    """The tags that it lists are those of the program, and the whole sentences in it have no problem."""
    text = " ".join((EVERYDAY / "GUIDE.md").read_text(encoding="utf8").split())
    listed = text[text.index("## Tags") + len("## Tags") : text.index("(ADD:")]
    assert set(listed.replace("`$", "$").replace("NFP`.", "NFP").split()) == TAGS
    quoted = re.findall(r"``(\(.*?\))``(?!`)|`(\([A-Z][^`]*\))`", text)
    whole = [f"(TOP {one or other})" for one, other in quoted if "…" not in one + other and "(S A)" not in other]
    whole = [text for text in whole if re.search(r"\(\. [.!?]\)( \('' ''\))?\)\)$", text)]
    assert len(whole) >= 20
    assert {text: found(text) for text in whole if found(text)} == {}


# ---- files ----


@pytest.mark.slow
def test_everyday_trees_keep_to_the_conventions():
    texts = {}
    for part in PARTS:
        path = EVERYDAY / f"{part}.mrg"
        assert check_conventions(path) == []
        trees = list(read_trees(path, top=None))
        assert [write_tree(tree) for tree in trees] == path.read_text(encoding="utf8").splitlines(), "one on a line"
        texts[part] = {letters(tree.words) for tree in trees}
        assert len(trees) == len(texts[part]) >= 250
    assert not any(texts[one] & texts[other] for one, other in combinations(PARTS, 2))


def test_a_file_tells_its_trees_apart(tmp_path):
    path = tmp_path / "trees.mrg"
    path.write_text("\n".join([GOOD, clause("(VP (RP up))"), GOOD.replace("She", "she").replace("(. .)", "(. !)")]))
    again, *others = reversed(check_conventions(path))
    assert again == f"{path}, tree 3: the same words as tree 1: she slept !"
    assert len(others) == 2 and all(line.startswith(f"{path}, tree 2: (VP RP): ") for line in others)
    assert all(line.endswith(" | She up .") for line in others)


def test_command(tmp_path, capsys):
    good, bad = tmp_path / "good.mrg", tmp_path / "bad.mrg"
    good.write_text(GOOD)
    bad.write_text(clause("(VP (RP up))"))
    assert main(["conventions", str(good)]) == 0
    assert capsys.readouterr().out == "all trees follow the conventions\n"
    assert main(["conventions", str(good), str(bad)]) == 1
    output = capsys.readouterr()
    assert output.out.splitlines() == check_conventions(bad) != [] and not output.err


@pytest.mark.parametrize(("content", "message"), [(None, "missing.mrg"), ("(TOP (NP (NN cat))", "bad.mrg:1")])
def test_command_cannot_read_the_trees(content, message, tmp_path, capsys):
    path = tmp_path / ("missing.mrg" if content is None else "bad.mrg")
    if content is not None:
        path.write_text(content)
    assert main(["conventions", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("training: error: ") and message in error and error.count("\n") == 1
