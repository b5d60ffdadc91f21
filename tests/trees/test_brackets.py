"""Penn brackets in and out."""

from __future__ import annotations

import io
import random

import pytest

from spacy_dtparse.errors import ConfigError, TreeFormatError
from spacy_dtparse.trees import Tree, parse_tree, parse_trees, read_trees, write_tree, write_tree_pretty

from . import naive

PLAIN = "(TOP (S (NP (NN Rain)) (VP (VBZ falls)) (. .)))"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "( (S (NP (NN Rain)) (VP (VBZ falls)) (. .)))",
        "((S (NP (NN Rain)) (VP (VBZ falls)) (. .)))",
        "(ROOT (S (NP (NN Rain)) (VP (VBZ falls)) (. .)))",
        "(S1 (S (NP (NN Rain)) (VP (VBZ falls)) (. .)))",
        "( (TOP (S (NP (NN Rain)) (VP (VBZ falls)) (. .))))",
        "(S (NP (NN Rain)) (VP (VBZ falls)) (. .))",
        "(S(NP(NN Rain))(VP(VBZ falls))(. .))",
        "\ufeff(S (NP (NN Rain)) (VP (VBZ falls)) (. .))",
        "\n\n( (S\n    (NP (NN Rain))\n    (VP (VBZ\n falls ) )\r\n\t(. .)) )\n",
        "(\nS\n(\nNP\n(\nNN\nRain\n)\n)\n(VP (VBZ falls)) (. .))",
    ],
)
def test_one_tree_in_many_forms(text):
    assert parse_tree(text) == Tree(
        ["Rain", "falls", "."], ["NN", "VBZ", "."], ["TOP", "S", "NP", "VP"], [0, 0, 0, 1], [3, 3, 1, 2]
    )


def test_top_option():
    assert parse_tree("(ROOT (NP (NN ice)))", top=None).labels == ("ROOT", "NP")
    assert parse_tree("( (NP (NN ice)))", top=None).labels == ("", "NP")
    assert parse_tree("(NP (NN ice))", top=None).labels == ("NP",)
    assert parse_tree("(NP (NN ice))", top="ROOT").labels == ("ROOT", "NP")
    assert parse_tree("(NN ice)").labels == ("TOP",)
    with pytest.raises(TreeFormatError, match="leaf without a constituent"):
        parse_tree("(NN ice)", top=None)


def test_a_root_can_keep_its_label(tmp_path):
    text = "(ROOT (S (X a)))\n( (S (X b)))\n(S (X c))\n(S1 (TOP (S (X d))))\n(X e)\n"
    (tmp_path / "a.mrg").write_text(text)
    for source in (tmp_path / "a.mrg", io.StringIO(text)):
        labels = [tree.labels for tree in read_trees(source, keep_root=True)]
        assert labels == [("ROOT", "S"), ("", "S"), ("TOP", "S"), ("S1", "S"), ("TOP",)]
        assert [write_tree(tree) for tree in read_trees(tmp_path / "a.mrg", keep_root=True)][:3] == [
            "(ROOT (S (X a)))",
            "( (S (X b)))",
            "(TOP (S (X c)))",
        ]


def test_bad_bytes_can_be_replaced():
    errors = []
    lines = [b"(S (X caf\xe9))\n", b"(S (X\n", b"(S (X b))\n"]
    trees = list(read_trees(lines, on_error="replace", errors=errors))
    assert [tree.words for tree in trees] == [("caf\ufffd",), ("b",)] and len(errors) == 1


def test_several_children_of_the_top():
    tree = parse_tree("( (INTJ (UH Well)) (, ,) (S (VP (VB go))) (. .) (NP (NN Tom)) (. !))")
    assert tree.child_lists()[0] == [1, ~1, 2, ~3, 4, ~5]


def test_several_trees_on_lines_and_over_lines():
    assert [t.words for t in parse_trees("(A (B c)) (A (B d))\n(A\n (B e)) (A (B f))\n")] == [
        ("c",),
        ("d",),
        ("e",),
        ("f",),
    ]
    assert parse_trees("") == []
    assert parse_trees(" \n\t\n") == []


def test_parse_tree_wants_exactly_one():
    with pytest.raises(TreeFormatError, match="0 trees where one"):
        parse_tree("")
    with pytest.raises(TreeFormatError, match="2 trees where one"):
        parse_tree(PLAIN + PLAIN)


def test_function_tags_and_empty_elements_stay():
    tree = parse_tree("(S (NP-SBJ-1 (-NONE- *PRO*)) (VP=2 (VB stop) (ADVP|PRT (RP up))))")
    assert tree.labels == ("TOP", "S", "NP-SBJ-1", "VP=2", "ADVP|PRT")
    assert tree.tags[0] == "-NONE-"
    assert tree.words[0] == "*PRO*"


def test_words_stay_as_written():
    tree = parse_tree("(NP (-LRB- -LRB-) (NN a\u00a0b) (SYM [) (NN x/y) (NNP ʻEwa))")
    assert tree.words == ("-LRB-", "a\u00a0b", "[", "x/y", "ʻEwa")


def test_leaf_of_several_words_is_one_token():
    tree = parse_tree("(NP (NN ad hoc\n rule) (NNS rules))")
    assert tree.words == ("ad\u00a0hoc\u00a0rule", "rules")


def test_unlabelled_bracket_around_one_constituent_is_dissolved():
    assert str(parse_tree("((S (VB see) ((NP (NN page))) (CD 3)))")) == ("(TOP (S (VB see) (NP (NN page)) (CD 3)))")


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("(S (NP (NN a))", 1, 1, r"'\(S' is never closed"),
        ("\n (S (NP (NN a)\n", 2, 5, r"'\(NP' is never closed; .* begins in line 2, column 2"),
        ("(S (NN a)))", 1, 11, r"'\)' closes nothing"),
        (")", 1, 1, "closes nothing"),
        ("(S (NN a)) b", 1, 12, "text 'b' stands outside"),
        ("hello", 1, 1, "text 'hello' stands outside"),
        ("(S (NP))", 1, 7, r"'\(NP\)' has no word"),
        ("()", 1, 2, r"'\(\)' has no word"),
        ("(S ())", 1, 5, "has no word"),
        ("(S (NP (DT the) cat))", 1, 17, "word 'cat' stands next to"),
        ("(S (DT the) (NP (NN a)) b)", 1, 25, "word 'b' stands next to"),
        ("(S (NN the (JJ old)))", 1, 12, "contains a word and a bracket"),
        ("(S (NN the\n(JJ", 2, 1, "contains a word and a bracket"),
        ("(S ((NN a) (NN b)))", 1, 18, "bracket of line 1, column 4 has no label"),
        ("(S ((NN a)))", 1, 11, "has no label"),
        ("(TOP (S (NN a))\n(TOP (S (NN b)))", 2, 1, r"'\(TOP' begins a tree inside a tree; .* line 1"),
        ("((S (NN a))\n((S (NN b)))", 2, 1, "begins a tree inside a tree"),
    ],
)
def test_errors_have_positions(text, line, column, message):
    with pytest.raises(TreeFormatError, match=message) as caught:
        parse_trees(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_file_errors_name_the_file(tmp_path):
    path = tmp_path / "bad.mrg"
    path.write_text(PLAIN + "\n(S (NN a)))\n", encoding="utf-8")
    with pytest.raises(TreeFormatError) as caught:
        list(read_trees(path))
    assert str(caught.value).startswith(f"{path}:2:11: ")
    assert caught.value.path == str(path)


@pytest.mark.parametrize("as_string", [True, False])
def test_reads_paths(tmp_path, as_string):
    path = tmp_path / "good.mrg"
    path.write_bytes(f"{PLAIN}\r\n{PLAIN}\r\n".encode())
    assert len(list(read_trees(str(path) if as_string else path))) == 2
    with path.open("rb") as binary:
        assert len(list(read_trees(binary))) == 2
    with path.open(encoding="utf-8") as text:
        assert len(list(read_trees(text))) == 2
    assert len(list(read_trees([PLAIN, PLAIN]))) == 2


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(read_trees(tmp_path / "none.mrg"))
    with pytest.raises(OSError, match=r"irectory|ermission"):
        list(read_trees(tmp_path))


def test_unknown_on_error():
    with pytest.raises(ConfigError, match="on_error='ignore'; allowed"):
        read_trees([PLAIN], on_error="ignore")


def test_bad_bytes():
    data = b"(S (NN ok))\n(S (NN caf\xe9))\n(S (NN fine)) (S (NN caf\xe9)) (S (NN good))\n"
    with pytest.raises(TreeFormatError, match=r"2:4: byte 0xe9 is not valid"):
        list(read_trees(io.BytesIO(data)))
    errors: list[TreeFormatError] = []
    trees = list(read_trees(io.BytesIO(data), on_error="skip", errors=errors))
    assert [t.words[0] for t in trees] == ["ok", "fine", "good"]
    assert [(e.line, e.column) for e in errors] == [(2, 4), (3, 18)]
    trees = list(read_trees(io.BytesIO(data), encoding="latin-1"))
    assert [t.words[0] for t in trees] == ["ok", "café", "fine", "café", "good"]


def test_bad_bytes_in_a_file_opened_as_text(tmp_path):
    path = tmp_path / "latin.mrg"
    path.write_bytes(b"(S (NN caf\xe9))\n")
    with path.open(encoding="utf-8") as file, pytest.raises(TreeFormatError, match="not valid utf-8"):
        list(read_trees(file))


def read_skipping(text: str, **options) -> tuple[list[str], list[tuple[int, int]]]:
    errors: list[TreeFormatError] = []
    trees = list(read_trees(io.StringIO(text), on_error="skip", errors=errors, **options))
    return [" ".join(t.words) for t in trees], [(e.line, e.column) for e in errors]


@pytest.mark.parametrize(
    "bad",
    [
        "(S (NP (NN x))",
        "((S (NP (NN x)))",
        "(TOP (S (NP (NN x)))",
        "(S (NP (NN x))))",
        "(S (NP))",
        "(S (NP (DT x) x))",
        "text",
        "more stray text",
        "(S ((NN x) (NN y)))",
        "(S (NN x (NN y)))",
        "()",
        ")",
        "(S (NP (NN x)\n  (VP (VB y)\n  (NN z))",
    ],
)
@pytest.mark.parametrize("wrap", ["( {} )", "(TOP {})", "{}"])
def test_one_bad_tree_never_loses_the_others(bad, wrap):
    good = [wrap.format(f"(S (NN w{i}))") for i in range(4)]
    text = "\n".join([good[0], good[1], bad, good[2], good[3]]) + "\n"
    words, errors = read_skipping(text)
    assert [word for word in words if word != "x"] == ["w0", "w1", "w2", "w3"]
    assert len(errors) == 1
    assert 3 <= errors[0][0] <= 6


def test_skips_a_bad_tree_between_others_on_its_line():
    words, errors = read_skipping("(S (NN a)) (S (NP)) (S (NN b)) (S (NN c d)) (S (DT d) e (NN f)) (S (NN g))")
    assert words == ["a", "b", "c\u00a0d", "g"]
    assert errors == [(1, 18), (1, 55)]


def test_skips_several_unclosed_trees():
    text = "".join(f"(S (NP (NN x{i}))\n(S (NP (NN y{i})))\n" for i in range(5))
    words, errors = read_skipping(text)
    assert words == [f"y{i}" for i in range(5)]
    assert [line for line, _ in errors] == [1, 3, 5, 7, 9]


def test_skip_keeps_trees_whose_children_begin_lines():
    text = "(S\n(NP\n(NN a)\n)\n(VP (VB b))\n)\n(S (NN c))\n"
    assert read_skipping(text) == (["a b", "c"], [])


def test_a_tree_that_is_never_closed_loses_no_other_before_the_next_error():
    words, errors = read_skipping("(S (NP (NN x))\n(S (NN a))\n(S ())\n(S (NN b))\n")
    assert (words, errors) == (["a", "b"], [(1, 1), (3, 5)])
    text = "(S (NP (NN x))\n  (VP (NN x))\n(S (NN a))\n(S\n  (NN b))\nstray text\n(S (NN c))\n"
    assert read_skipping(text) == (["a", "b", "c"], [(1, 1), (6, 1)])


@pytest.mark.parametrize("seed", range(20))
def test_bad_trees_never_lose_the_others(seed):
    rng = random.Random(seed)
    bad = ["(S (NP (NN x))", "(S (NP (NN x)", "(S (NP (DT x) x))", "stray", "()", "(S (NP))", "(S (NN x (NN y)))"]
    lines = [rng.choice(bad) if rng.random() < 0.3 else f"(S (NN w{k}) (NP (NN w)))" for k in range(40)]
    good = [line[7 : line.index(")")] + " w" for line in lines if line.endswith("(NP (NN w)))")]
    assert read_skipping("\n".join(lines))[0] == good


def test_trees_whose_children_begin_lines_are_kept_after_one_that_is_never_closed():
    """Such trees before it show the layout of the file."""
    trees = "".join(f"(S\n(NP\n(NN a{k}))\n(VP (VB b)))\n" for k in range(3))
    words, errors = read_skipping(trees + "(S\n(NP\n(NN x))\n(VP (VB x))\n" + trees)
    assert (words, errors) == (["a0 b", "a1 b", "a2 b"] * 2, [(13, 1)])


def test_a_tree_is_given_up_after_many_lines(monkeypatch):
    monkeypatch.setattr("spacy_dtparse.trees.brackets.MAX_REPEATED", 5)
    read: list[int] = []

    def lines():
        yield "(S (NP (NN x))\n"
        for k in range(10):
            read.append(k)
            yield f"(S (NN w{k}))\n"

    trees = read_trees(lines(), on_error="skip", errors=[])
    assert next(trees).words == ("w0",) and len(read) == 6
    assert len(list(trees)) == 9


def test_plain_text_names_the_command_that_parses_it():
    with pytest.raises(TreeFormatError, match=r"^1:1: text 'This' .*parse it first: dtparse parse FILE"):
        list(read_trees(["This is text.\n"]))
    with pytest.raises(TreeFormatError, match=r"leaf \(TAG text\)$"):
        list(read_trees(["(S (NN a))\n", "text\n"]))


def test_skip_without_a_list_warns():
    with pytest.warns(UserWarning, match="tree skipped: 1:11: "):
        trees = list(read_trees(["(S (NN a)))"], on_error="skip"))
    assert len(trees) == 1


def test_write_read_round_trip():
    rng = random.Random(7)
    for _ in range(200):
        node = naive.random_nested(rng, rng.randint(1, 14))
        tree = naive.to_tree(node)
        assert write_tree(tree) == naive.brackets(node)
        assert parse_tree(naive.brackets(node)) == tree
        for width in (1, 20, 60):
            assert parse_tree(write_tree_pretty(tree, width=width)) == tree


def test_pretty_layout():
    tree = parse_tree("(S (NP (DT A) (NN cloud)) (VP (VBZ drifts) (ADVP (RB by))) (. .))")
    assert write_tree_pretty(tree, width=40).split("\n") == [
        "(TOP",
        "  (S",
        "    (NP (DT A) (NN cloud))",
        "    (VP (VBZ drifts) (ADVP (RB by)))",
        "    (. .)))",
    ]
    assert write_tree_pretty(tree) == write_tree(tree)


def test_pretty_fits_the_width():
    rng = random.Random(3)
    for _ in range(100):
        tree = naive.random_tree(rng, 12)
        lines = write_tree_pretty(tree, width=50).split("\n")
        # only a leaf, or the closing brackets after one, may pass the width
        assert all(len(line.rstrip(")")) <= 50 for line in lines)


def test_unsafe_words_are_written_readably():
    tree = Tree(["(", "f(x)", " \n", "[1]"], ["-LRB-", "NN", "", "CD"], ["TOP"], [0], [4])
    text = "(TOP (-LRB- -LRB-) (NN f-LRB-x-RRB-) (XX __) (CD [1]))"
    assert write_tree(tree) == text
    assert write_tree(parse_tree(text)) == text
