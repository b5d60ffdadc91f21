"""Tsurgeon's operations: each has its documented meaning, on trees written for it."""

from __future__ import annotations

import random

import pytest

from spacy_dtparse.errors import ConfigError, EditError, PatternError
from spacy_dtparse.query import compile_edit, edit_trees, parse_script
from spacy_dtparse.query.edits import edit_results
from spacy_dtparse.trees import parse_tree, write_tree
from spacy_dtparse.trees.heads import head_rules
from spacy_dtparse.trees.tree import Tree

DOG = "(S (NP (DT the) (JJ old) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)) (PP (IN in) (NP (NN town)))) (. .))"
NESTED = "(S (NP (NP (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBD left))))) (VP (VBD slept)))"
ABC = "(R (A (X a)) (B (Y b)) (C (Z c)))"
DEEP = "(R (A (B (C (X a) (Y b)))) (D (Z c)))"

CASES = [
    # delete: the node and all below it
    (DOG, "PP=x", "delete x", DOG.replace(" (PP (IN in) (NP (NN town)))", "")),
    (DOG, "JJ=x", "delete x", DOG.replace(" (JJ old)", "")),
    (DOG, "NP=n < (DT=d $+ JJ=j)", "delete d j", DOG.replace("(DT the) (JJ old) ", "")),
    (DOG, "DT=x", "delete x", DOG.replace("(DT the) ", "").replace("(DT a) ", "")),
    (ABC, "A=a $+ (B=b < Y=y)", "delete b y", "(R (A (X a)) (C (Z c)))"),
    (ABC, "B=b", "delete b\ndelete b", "(R (A (X a)) (C (Z c)))"),
    (DEEP, "C=c < (X=x $+ Y)", "delete x", "(R (A (B (C (Y b)))) (D (Z c)))"),
    # prune: also the nodes above that lose their last child
    (DEEP, "C=c", "prune c", "(R (D (Z c)))"),
    (DEEP, "X=x", "prune x", "(R (A (B (C (Y b)))) (D (Z c)))"),
    (DEEP, "X=x $+ Y=y", "prune x y", "(R (D (Z c)))"),
    (DEEP, "c=w", "prune w", "(R (A (B (C (X a) (Y b)))))"),
    (NESTED, "WP=x", "prune x", "(S (NP (NP (NN man)) (SBAR (S (VP (VBD left))))) (VP (VBD slept)))"),
    (NESTED, "SBAR < WHNP=w < S=s", "prune w s", "(S (NP (NP (NN man))) (VP (VBD slept)))"),
    # excise: the nodes from the first down to the second; the children of the second take their place
    (DEEP, "A=a", "excise a a", "(R (B (C (X a) (Y b))) (D (Z c)))"),
    (DEEP, "A=a << C=c", "excise a c", "(R (X a) (Y b) (D (Z c)))"),
    (DEEP, "B=b < C=c", "excise b c", "(R (A (X a) (Y b)) (D (Z c)))"),
    ("(R (A (B (X a)) (C (Y b))) (D (Z c)))", "A=a < C=c", "excise a c", "(R (Y b) (D (Z c)))"),
    ("(R (S (A (X a)) (B (Y b))))", "R=r", "excise r r", "(S (A (X a)) (B (Y b)))"),
    ("(R (S (A (X a))))", "R=r < S=s", "excise r s", "(A (X a))"),
    ("(R (NP (NP (NP (NN x)))) (Z z))", "NP=a < (NP=b !$ __)", "excise a a", "(R (NP (NN x)) (Z z))"),
    # relabel
    (DOG, "NN=n", "relabel n NNS", DOG.replace("NN ", "NNS ")),
    (DOG, "dog=w", "relabel w wolf", DOG.replace("dog", "wolf")),
    (DOG, "VP=v !> Q", "relabel v VP-X", DOG.replace("VP", "VP-X")),
    (DOG, '/^\\.$/=p', "relabel p /''/", DOG.replace("(. .)", "('' '')")),
    (ABC, "A=a", "relabel a /N\\/A/", ABC.replace("(A ", "(N/A ")),
    (DOG, "/^VB/=v !< VERB", "relabel v /^VB(.*)$/verb\\/$1/", DOG.replace("VBD", "verb/D")),
    ("(R (foo (X a)))", "foo=f", "relabel f /foo/bar/", "(R (bar (X a)))"),
    ("(R (foofoo (X a)))", "foofoo=f", "relabel f /foo/bar/", "(R (barbar (X a)))"),
    ("(R (foofoo (X a)))", "foofoo=f", "relabel f /^foo(.*)$/bar$1/", "(R (barfoo (X a)))"),
    ("(R (foofoo (X a)))", "foofoo=f < X=x", "relabel f /foo/={x}/", "(R (XX (X a)))"),
    ("(R (A (X a)) (B (Y b)))", "A=a $+ B=b", "relabel a /^.*$/={a}+={b}/", "(R (A+B (X a)) (B (Y b)))"),
    ("(R (NP-7 (X a)))", "/^NP-([0-9]+)$/#1%i=n", "relabel n /^.*$/ID%{i}/", "(R (ID7 (X a)))"),
    ("(R (A (X a)))", "A=a", "relabel a /A/\\$\\=\\%\\//", "(R ($=%/ (X a)))"),
    ("(R (NP-SBJ-1 (X a)))", "/-/=n", "relabel n /-.*$//", "(R (NP (X a)))"),
    ("(R (AbcA (X a)))", "AbcA=n", "relabel n /(A)(b)?/<$2$1>/", "(R (<bA>c<A> (X a)))"),
    # insert: a tree, or a copy of a node; $+ before, $- after, >i and >-i among the children
    (ABC, "B=b !$- N", "insert (N (Q q)) $+ b", "(R (A (X a)) (N (Q q)) (B (Y b)) (C (Z c)))"),
    (ABC, "B=b !$+ N", "insert (N (Q q)) $- b", "(R (A (X a)) (B (Y b)) (N (Q q)) (C (Z c)))"),
    (ABC, "R=r !< N", "insert (N (Q q)) >1 r", "(R (N (Q q)) (A (X a)) (B (Y b)) (C (Z c)))"),
    (ABC, "R=r !< N", "insert (N (Q q)) >2 r", "(R (A (X a)) (N (Q q)) (B (Y b)) (C (Z c)))"),
    (ABC, "R=r !< N", "insert (N (Q q)) > 4 r", "(R (A (X a)) (B (Y b)) (C (Z c)) (N (Q q)))"),
    (ABC, "R=r !< N", "insert (N (Q q)) >-1 r", "(R (A (X a)) (B (Y b)) (C (Z c)) (N (Q q)))"),
    (ABC, "R=r !< N", "insert (N (Q q)) >-2 r", "(R (A (X a)) (B (Y b)) (N (Q q)) (C (Z c)))"),
    (ABC, "R=r !< N", "insert (N (Q q)) >-4 r", "(R (N (Q q)) (A (X a)) (B (Y b)) (C (Z c)))"),
    (ABC, "A=a . (B=b . (C=c !. A))", "insert a $- c", "(R (A (X a)) (B (Y b)) (C (Z c)) (A (X a)))"),
    (ABC, "B=b !< N", "insert (N n) >1 b", "(R (A (X a)) (B (N n) (Y b)) (C (Z c)))"),
    (ABC, "B=b !< N", "insert (N=new n) >1 b\nrelabel new N-1 ; relabel b B", None),
    (ABC, "B=b !< /^N/", "insert (N=new n) >1 b\nrelabel new N-1", "(R (A (X a)) (B (N-1 n) (Y b)) (C (Z c)))"),
    (ABC, "B=b !< N", "insert (N n\\=m\\@) >1 b", "(R (A (X a)) (B (N n=m@) (Y b)) (C (Z c)))"),
    # move
    (ABC, "A=a $+ B $++ C=c", "move a $- c", "(R (B (Y b)) (C (Z c)) (A (X a)))"),
    (ABC, "A $++ C=c", "move c >1 r", None),
    (ABC, "R=r <3 C=c", "move c >1 r", "(R (C (Z c)) (A (X a)) (B (Y b)))"),
    (ABC, "R=r <1 A=a", "move a >2 r", "(R (B (Y b)) (A (X a)) (C (Z c)))"),
    (ABC, "R=r <1 A=a", "move a >-1 r", "(R (B (Y b)) (C (Z c)) (A (X a)))"),
    (ABC, "A=a $++ C=c", "move a >1 c", "(R (B (Y b)) (C (A (X a)) (Z c)))"),
    (DEEP, "X=x > C $+ Y=y >> (R < D=d)", "move x $+ d", "(R (A (B (C (Y b)))) (X a) (D (Z c)))"),
    (DEEP, "C=c > B=b >> (R < D=d)", "move c >-1 d\nprune b", "(R (D (Z c) (C (X a) (Y b))))"),
    # replace
    (ABC, "A=a .. C=c", "replace a c", "(R (C (Z c)) (B (Y b)) (C (Z c)))"),
    (ABC, "B=b", "replace b (N (Q q))", "(R (A (X a)) (N (Q q)) (C (Z c)))"),
    (ABC, "B=b", "replace b (N (Q q)) (M (Q r))", "(R (A (X a)) (N (Q q)) (M (Q r)) (C (Z c)))"),
    (ABC, "R=r", "replace r (N (Q q))", "(N (Q q))"),
    (DEEP, "A=a << X=x", "replace a x", "(R (X a) (D (Z c)))"),
    (ABC, "B=b", "replace b (N=n (Q q))\nrelabel n M", "(R (A (X a)) (M (Q q)) (C (Z c)))"),
    # adjoin: the tree in the node's place, the node's children below the foot
    ("(S (NP (NN dog)) (VP (VBD ran)))", "NP=n !< NP !> NP", "adjoin (NP (ADJP (JJ wide)) NP@) n",
     "(S (NP (ADJP (JJ wide)) (NP (NN dog))) (VP (VBD ran)))"),
    (ABC, "B=b !<< F", "adjoin (N (Q q) (F@)) b", "(R (A (X a)) (N (Q q) (F (Y b))) (C (Z c)))"),
    (ABC, "R=r", "adjoin (N F@) r", "(N (F (A (X a)) (B (Y b)) (C (Z c))))"),
    (ABC, "R=r", "adjoin F@ r", None),
    (ABC, "B=b", "adjoin (F@) b", "(R (A (X a)) (F (Y b)) (C (Z c)))"),
    (ABC, "B=b", "adjoin (N (M (F@=foot)) (Q q)) b\nrelabel foot G", "(R (A (X a)) (N (M (G (Y b))) (Q q)) (C (Z c)))"),
    (ABC, "B=b", "adjoin (N=top (Q q) F@) b\nrelabel top T", "(R (A (X a)) (T (Q q) (F (Y b))) (C (Z c)))"),
    # adjoinF: the node becomes the foot
    (ABC, "B=b !> N", "adjoinF (N (Q q) F@) b", "(R (A (X a)) (N (Q q) (B (Y b))) (C (Z c)))"),
    (ABC, "R=r !> N", "adjoinF (N F@) r", "(N (R (A (X a)) (B (Y b)) (C (Z c))))"),
    (ABC, "B=b !> N", "adjoinF (N (Q q) F=foot@) b\nrelabel foot G", "(R (A (X a)) (N (Q q) (G (Y b))) (C (Z c)))"),
    (ABC, "Y=y !> N", "adjoinF (N F@) y", "(R (A (X a)) (B (N (Y b))) (C (Z c)))"),
    # adjoinH: the node becomes the root of the tree
    (ABC, "B=b !<< F", "adjoinH (N (Q q) F@) b", "(R (A (X a)) (B (Q q) (F (Y b))) (C (Z c)))"),
    (ABC, "R=r !< F", "adjoinH (N F@) r", "(R (F (A (X a)) (B (Y b)) (C (Z c))))"),
    (ABC, "B=b !<< F", "adjoinH (N=t (Q q) F@) b\nrelabel t T", "(R (A (X a)) (T (Q q) (F (Y b))) (C (Z c)))"),
    # coindex: an index that the tree does not have
    (ABC, "A=a $+ B=b", "coindex a b", "(R (A-1 (X a)) (B-1 (Y b)) (C (Z c)))"),
    (ABC.replace("C", "C-4"), "A=a $+ B=b", "coindex a\ncoindex b", "(R (A-5 (X a)) (B-6 (Y b)) (C-4 (Z c)))"),
    ("(R (A (X a)) (B (-NONE- *T*-2)))", "A=a", "coindex a", "(R (A-3 (X a)) (B (-NONE- *T*-2)))"),
    # createSubtree
    (ABC, "A=a $+ B=b !> N", "createSubtree N a b", "(R (N (A (X a)) (B (Y b))) (C (Z c)))"),
    (ABC, "A=a $++ C=c !> N", "createSubtree N c a", "(R (N (A (X a)) (B (Y b)) (C (Z c))))"),
    (ABC, "B=b !> N", "createSubtree N b", "(R (A (X a)) (N (B (Y b))) (C (Z c)))"),
    (ABC, "A=a $+ B=b !> F", "createSubtree (N (Q q) F@ (P p)) a b",
     "(R (N (Q q) (F (A (X a)) (B (Y b))) (P p)) (C (Z c)))"),
    (ABC, "A=a $+ B=b !> /N/", "createSubtree /N\\/M/ a b", "(R (N/M (A (X a)) (B (Y b))) (C (Z c)))"),
    # if exists
    (ABC, "A=a ?$+ B=b", "[if exists b delete b] [relabel a AA]", "(R (AA (X a)) (C (Z c)))"),
    (ABC, "C=c ?$+ B=b", "if exists b delete b\nrelabel c CC", "(R (A (X a)) (B (Y b)) (CC (Z c)))"),
    (ABC, "C=c ?$+ B=b", "if not exists b [relabel c CC]", "(R (A (X a)) (B (Y b)) (CC (Z c)))"),
    (ABC, "/^[AC]$/=x [$+ B=b | $- B=z]", "[if exists b relabel x AA] [if exists z relabel x CC]",
     "(R (AA (X a)) (B (Y b)) (CC (Z c)))"),
    # several operations see the changes of those before them
    (DOG, "S=s < NP=a < (VP < NP=b !< NP-X)", "relabel b NP-X ; move a >1 b ; delete s", None),
    (ABC, "A=a $+ B=b", "move b >1 a ; relabel b BB ; excise a a", "(R (BB (Y b)) (X a) (C (Z c)))"),
    (ABC, "A=a .. C=c", "delete a ; insert a $- c", "(R (B (Y b)) (C (Z c)) (A (X a)))"),
    (ABC, "Q=q", "delete q", ABC),
]  # fmt: skip
WORKING = [case for case in CASES if case[3] is not None]
FAILING = [case for case in CASES if case[3] is None]


def change(tree: str, pattern: str, operations: str) -> str:
    return write_tree(compile_edit(pattern, operations).apply(parse_tree(tree, top=None)))


@pytest.mark.parametrize(("tree", "pattern", "operations", "expected"), WORKING)
def test_operations(tree, pattern, operations, expected):
    before = parse_tree(tree, top=None)
    after = compile_edit(pattern, operations).apply(before)
    assert write_tree(after) == expected
    assert write_tree(before) == tree  # the tree given is not changed
    assert Tree(after.words, after.tags, after.labels, after.starts, after.ends) == after  # it is well formed


def test_there_are_sixty_cases():
    assert len(WORKING) >= 60


@pytest.mark.parametrize(("tree", "pattern", "operations", "expected"), FAILING)
def test_cases_that_fail(tree, pattern, operations, expected):
    with pytest.raises((PatternError, EditError)):
        compile_edit(pattern, operations).apply(parse_tree(tree, top=None), max_changes=50)


@pytest.mark.parametrize(
    ("tree", "pattern", "operations", "message"),
    [
        (ABC, "R=r", "delete r", "'R' is the root of the tree"),
        (ABC, "R=r", "move r >1 r", "'R' is the root of the tree"),
        (ABC, "R=r", "createSubtree N r", "'R' is the root of the tree"),
        (ABC, "R=r", "prune r", "no word would be left"),
        ("(R (A (X a)))", "X=x", "prune x", "no word would be left"),
        (ABC, "A=a", "insert (N n) $+ r", None),
        (ABC, "R=r", "insert (N n) $+ r", "the root, which has no sisters"),
        (ABC, "R=r", "replace r (N (Q q)) (N (Q q))", "give one tree to replace it"),
        (ABC, "R=r", "excise r r", "3 nodes would be in its place"),
        (ABC, "A=a $+ B=b", "excise a b", "'A' is neither 'B' itself nor above it"),
        (ABC, "X=x", "delete x", "'A' has no word left below it; use prune"),
        (ABC, "a=w", "delete w", "'X' has no word left"),
        (DEEP, "C=c > B", "move c $- a", None),
        (DEEP, "B=b > (A=a $+ D=d)", "move b >1 d", "'A' has no word left"),
        (DEEP, "A=a << C=c", "move a >1 c", "which is 'A' itself or below it"),
        (ABC, "R=r", "insert (N n) >5 r", "between 1 and 4, or between -1 and -4"),
        (ABC, "R=r", "insert (N n) >-5 r", "between 1 and 4"),
        (ABC, "a=w", "insert (N n) >1 w", "is a word, which has no children"),
        (ABC, "X=x", "insert (N n) >1 x", "the word 'a' stands next to other nodes below 'X'"),
        (ABC, "R=r < (A < (X < a=w))", "insert w >1 r", "the word 'a' stands next to other nodes below 'R'"),
        (ABC, "A=a < X=x", "delete a ; relabel x Y", "an earlier operation removed it"),
        (ABC, "A=a", "delete a ; insert (N n) $+ a", "an earlier operation removed it"),
        (DEEP, "X=x .. Z=z", "createSubtree N x z", "have different parents"),
        (ABC, "A=a ?$+ C=c", "delete c", "no node has the name 'c' in this match"),
        (ABC, "A=a", "relabel a /^.*$//", "the new label is empty"),
        ("(R (X a))", "R=r", "excise r r", "the root would be the tag 'X'"),
        ("(R (X a))", "R=r < (X < a=w)", "replace r w", "is the root; a word stands alone"),
    ],
)
def test_operations_that_cannot_be_carried_out(tree, pattern, operations, message):
    with pytest.raises(PatternError if message is None else EditError, match=message):
        change(tree, pattern, operations)


@pytest.mark.parametrize(
    ("operations", "message", "column"),
    [
        ("", "there is no operation", 1),
        ("remove a", "found 'remove'; operations are delete", 1),
        ("delete", "the operation ends here; after delete stands the name", 7),
        ("delete =a", "found '=a'; after delete stands the name", 8),
        ("excise a", "the operation ends here", 9),
        ("relabel a", "/regex/replacement/", 10),
        ("relabel a /(/x/", "the regex is wrong", 12),
        ("relabel a /b/$1/", r"the regex has 0 groups, and \$1 names another", 14),
        ("relabel a /b/x=y/", "=.name. .a node's label.", 15),
        ("relabel a /b/={ }/", "' ' is no name", 14),
        ("insert (N n)", "a position is", 13),
        ("insert (N n) > a", "found '>'; a position is", 14),
        ("insert (N n) >0 a", "has the number 0", 14),
        ("insert (N n >1 a", "never closed", 8),
        ("insert (N (M m) (Q)) >1 a", "a bracket has no word and no node in it", 19),
        ("insert ((M m)) >1 a", "a label belongs between two brackets", 9),
        ("insert (N@ n) >1 a", "the foot has children", 12),
        ("insert (N n@) >1 a", "@ marks a foot, which only adjoin", 8),
        ("adjoin (N n) a", "the tree has no foot", 8),
        ("adjoin (N n@ m@) a", "two nodes with @", 14),
        ("adjoin b a", "after adjoin stands a tree", 8),
        ("insert (N=x (M=x m)) >1 a", "the name 'x' twice", 14),
        ("insert (N= m) >1 a", "is not a label, label=name", 9),
        ("move a a", "a position is", 8),
        ("createSubtree a", "the operation ends here", 16),
        ("if a delete a", "a condition is `if exists NAME", 4),
        ("[delete a", "ends with ]", 10),
        ("delete a relabel", None, None),
        ("relabel a b delete a", "another operation begins on a new line", 13),
        ("delete b", "the pattern does not give; the names are a", None),
        ("relabel a /a/%{v}/", "the variable 'v', which the pattern does not have", None),
        ("if exists b delete a", "use the name 'b'", None),
        ("if exists a delete b", "use the name 'b'", None),
        ("relabel x X ; insert (N=x n) >1 a", "use the name 'x'", None),
    ],
)  # fmt: skip
def test_malformed_operations(operations, message, column):
    with pytest.raises(PatternError, match=message) as caught:
        compile_edit("A=a", operations)
    if column is not None:
        assert str(caught.value).startswith(f"the operation is wrong at column {column}: ")
        assert str(caught.value).splitlines()[-1] == "  " + " " * (column - 1) + "^"


def test_a_pattern_is_checked():
    with pytest.raises(PatternError, match="the pattern is wrong at column 2"):
        compile_edit("A=", "delete a")


def test_patterns_may_be_dicts():
    assert write_tree(compile_edit({"LABEL": "A", "NAME": "a"}, "delete a").apply(parse_tree(ABC, top=None))) == (
        "(R (B (Y b)) (C (Z c)))"
    )


@pytest.mark.parametrize(
    ("pattern", "operations", "message"),
    [
        ("A=a", "relabel a A", "does not change it, and the pattern still matches"),
        ("A=a ?$ Q=q", "if exists q delete q", "does not change it"),
        ("B=b", "insert (N n) $- b", "changed it 50 times"),
        ("B=b", "adjoinF (N F@) b", "changed it 50 times"),
    ],
)
def test_endless_rewriting(pattern, operations, message):
    with pytest.raises(EditError, match=message):
        compile_edit(pattern, operations).apply(parse_tree(ABC, top=None), max_changes=50)


def test_going_back_and_forth_is_an_error():
    two = "(R (A (X a)) (A (Y b)))"
    with pytest.raises(EditError, match="changes it back and forth"):
        compile_edit("R=r <1 A=a", "move a >-1 r").apply(parse_tree(two, top=None))


def test_the_number_of_changes_is_exact():
    tree = parse_tree("(R " + " ".join(["(A (X a))"] * 7) + ")", top=None)
    edit = compile_edit("A=a", "relabel a B")
    assert edit.apply(tree, max_changes=7).labels == ("R", *["B"] * 7)
    with pytest.raises(EditError, match="changed it 6 times, and the pattern still matches"):
        edit.apply(tree, max_changes=6)
    with pytest.raises(ConfigError, match="max_changes=0"):
        edit.apply(tree, max_changes=0)


@pytest.mark.parametrize(
    ("operations", "message"),
    [("insert s >1 s", "with another copy of s"), ("relabel s /^(.*)$/$1$1/", "more than 10,000 characters")],
)
def test_trees_and_labels_that_double(operations: str, message: str, monkeypatch) -> None:
    monkeypatch.setattr("spacy_dtparse.query.edit_state.MAX_NODES", 1000)
    edit = compile_edit("/^S/=s !> /^S/", operations)
    with pytest.raises(EditError, match=message):
        edit.apply(parse_tree("(S (A a) (B b))", top=None))


def test_the_first_match_comes_first():
    """From the root down, from left to right; the order shows in the indices."""
    tree = "(NP (NP (NN a)) (NP (NP (NN b)) (NN c)))"
    assert change(tree, "/^NP$/=n", "coindex n") == "(NP-1 (NP-2 (NN a)) (NP-3 (NP-4 (NN b)) (NN c)))"


def test_heads_follow_the_rules():
    tree = parse_tree("(R (NP (NN a) (NN b)))", top=None)
    edit = compile_edit("NP <# NN=h !< HEAD", "relabel h HEAD")
    assert write_tree(edit.apply(tree)) == "(R (NP (NN a) (HEAD b)))"
    assert write_tree(edit.apply(tree, rules=head_rules("xx"))) == "(R (NP (HEAD a) (NN b)))"


def test_each_edit_is_finished_before_the_next():
    edits = [compile_edit("A=x", "relabel x B"), compile_edit("B=x", "relabel x C")]
    assert [write_tree(tree) for tree in edit_trees([parse_tree(ABC, top=None)] * 2, edits)] == [
        "(R (C (X a)) (C (Y b)) (C (Z c)))"
    ] * 2


def test_errors_of_trees_name_them_and_leave_the_others():
    trees = [parse_tree(text, top=None) for text in (ABC, "(R (A (X a)))", DEEP)]
    edits = [compile_edit("A=a", "prune a")]
    found = edit_trees(iter(trees), edits)
    assert write_tree(next(found)) == "(R (B (Y b)) (C (Z c)))"
    with pytest.raises(EditError, match=r"^tree 2: 'A=a': 'prune a', at 'A': prune a: no word would be left"):
        next(found)
    results = list(edit_results(trees, edits, batch_size=2))
    assert isinstance(results[1], EditError) and write_tree(results[2]) == "(R (D (Z c)))"


SCRIPT = """\
% Leave out determiners.
NP=np
  < DT=det % only below NP

delete det
% a comment inside a block
relabel np NP\\%

% Then leave out the prepositional phrases.

PP=pp

prune pp
"""


def test_scripts():
    edits = parse_script(SCRIPT)
    assert [len(edit.operations) for edit in edits] == [2, 1]
    (after,) = edit_trees([parse_tree(DOG, top=None)], edits)
    assert write_tree(after) == "(S (NP% (JJ old) (NN dog)) (VP (VBD saw) (NP% (NN cat))) (. .))"
    assert len(parse_script("\ufeff" + SCRIPT.replace("\n", "\r\n"))) == 2


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("% nothing\n\n", "the script is empty"),
        ("A=a\n\ndelete a\n\nB=b\n", "line 5 of the script: no operations follow the pattern 'B=b'"),
        ("A=a\n\ndelete a\n\nB=b\n\ndelete c\n", "in the part of the script that begins in line 5: .*'c'"),
        ("A=a\n\ndelete a\n\n\nB=\n\ndelete c\n", "begins in line 6: the pattern is wrong"),
    ],
)
def test_malformed_scripts(script, message):
    with pytest.raises(PatternError, match=message):
        parse_script(script)


RANDOM_OPERATIONS = [
    "delete {0}", "prune {0} {1}", "excise {0} {1}", "relabel {0} X", "relabel {0} /^./$0$0/", "insert {0} $+ {1}",
    "insert (N (M m)) >1 {0}", "insert (N=n (M=m x)) $- {0} ; coindex n m", "move {0} $- {1}", "move {0} >-1 {1}",
    "replace {0} {1}", "replace {0} (N (M m)) (N (M k))", "adjoin (N (M m) N@) {0}", "adjoinF (N (M m) N@) {0}",
    "adjoinH (N (M m) N@) {0}", "createSubtree N {0} {1}", "coindex {0} {1}", "if exists {0} prune {1}",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_random_operations_give_trees_or_errors(seed):
    """Whatever is done, the result is a well-formed tree that can be written and read, or an EditError."""
    rng = random.Random(seed)
    outcomes = set()
    for _ in range(25):
        tree = parse_tree(rng.choice([DOG, NESTED, ABC, DEEP]), top=None)
        a, b = rng.sample(range(1, 8), 2)
        pattern = f"__=x >> /^[SR]$/ <{rng.choice('12')} __=y ?$+ __=z" if a > 3 else f"__=x {rng.choice('<>$')} __=y"
        operations = "\n".join(
            rng.choice(RANDOM_OPERATIONS).format(*rng.sample("xy", 2)) for _ in range(rng.randint(1, 3))
        )
        try:
            after = compile_edit(pattern, operations).apply(tree, max_changes=b)
        except EditError:
            outcomes.add("error")
            continue
        outcomes.add("tree")
        assert Tree(after.words, after.tags, after.labels, after.starts, after.ends) == after
        assert parse_tree(write_tree(after), top=None) == after
    assert "error" in outcomes


def test_deep_trees_need_no_recursion():
    depth = 3000
    tree = parse_tree("(R " + "(A " * depth + "(X x)" + ")" * depth + " (B (Y y)))", top=None)
    assert write_tree(compile_edit("A=a $+ B=b", "insert a $- b ; prune a").apply(tree)).startswith("(R (B (Y y)) (A")
