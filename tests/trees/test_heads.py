"""Head rules: the table, its compiled version in numba, and heads of whole trees."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.symbols import SymbolTable
from spacy_dtparse.trees import CANDIDATE, COLLINS, HeadRules, Tree, head_rules, parse_tree
from spacy_dtparse.trees import kernels as head_kernels
from spacy_dtparse.trees.heads_compiled import compile_head_rules
from spacy_dtparse.trees.kernels import EXCLUDED

from . import naive

HEAD_POSITION = callable_from_python(head_kernels.head_position)


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("S", "NP VP .", 1),
        ("S", "PP , NP VP .", 3),
        ("S", "S CC S", 0),
        ("S", "TO VP", 0),
        ("VP", "MD VP", 0),
        ("VP", "VBZ VP", 0),
        ("VP", "ADVP VBN PP", 1),
        ("VP", "VB CC VB NP", 0),
        ("VP", "TO VP", 0),
        ("PP", "IN NP", 0),
        ("PP", "ADVP IN NP", 1),
        ("PP", "JJ IN IN NP", 2),  # from the right
        ("NP", "DT JJ NN", 2),
        ("NP", "DT NN NN", 2),
        ("NP", "NN POS", 1),  # last child POS
        ("NP", "NP PP", 0),
        ("NP", "NP , NP ,", 0),
        ("NP", "NP : NP", 0),  # from the left
        ("NP", "DT JJR", 1),
        ("NP", "QP", 0),
        ("NP", "$ CD", 0),
        ("NP", "CD JJ", 0),
        ("NP", "DT JJ", 1),
        ("NP", "DT VBG", 1),  # nothing found: the last child
        ("NP", "NN CC NN", 0),  # coordination
        ("NP", "NN , NN , CC NN", 2),  # and not the comma
        ("NP", ", CC NN", 2),  # nothing but punctuation before the conjunction
        ("NP", "CC NN", 1),  # head at place 1: no adjustment
        ("NX", "NX CC NX", 2),  # not for NX
        ("NML", "NN HYPH NN", 2),
        ("NML", "NML CC NML", 0),
        ("ADJP", "RB JJ", 1),
        ("ADJP", "JJ PP", 0),
        ("ADVP", "RB RB", 1),
        ("SBAR", "WHNP S", 0),
        ("SBAR", "RB IN S", 1),
        ("SBARQ", "WHNP SQ .", 1),
        ("SINV", "VP VBZ NP", 1),
        ("SQ", "VBZ NP VP", 0),
        ("QP", "IN CD", 0),
        ("QP", "CD CD", 0),
        ("CONJP", "RB IN", 0),
        ("WHPP", "IN WHNP", 0),
        ("WHADJP", "WRB JJ", 0),
        ("WHNP", "WP$ NN", 0),
        ("PRT", "RP", 0),
        ("RRC", "ADVP PP", 0),
        ("LST", "LS :", 0),
        ("LST", "-LRB- LS -RRB-", 1),
        ("FRAG", "NP : NP .", 2),  # the last child that is not punctuation
        ("UCP", "NP CC ADJP", 0),
        ("PRN", "-LRB- NP -RRB-", 1),
        ("INTJ", "UH , UH", 0),
        ("X", "SYM NN", 0),
        ("TOP", "`` S", 1),
        ("TITLE", "NP", 0),
        ("HEADING", "LST NP .", 1),
        ("CAPTION", "NP S", 1),
        ("CIT", "-LRB- NNP CD -RRB-", 1),
        ("EDITED", "CC NP :", 0),
        ("META", "NN NN", 0),
        ("BRANDNEW", ", NN NN", 1),  # no rule: the leftmost child that is not punctuation
        ("NP-SBJ-1", "NP-LOC PP=2", 0),  # function tags do not count
        (CANDIDATE, "NP VP", 1),
        (CANDIDATE, "VBZ NP", 0),
        (CANDIDATE, "TO VP", 0),
        (CANDIDATE, "IN NP", 0),
        (CANDIDATE, "WHNP S", 0),
        (CANDIDATE, "DT JJ NN", 2),
        (CANDIDATE, "VBG NN NNS", 2),
        (CANDIDATE, "VBN PP", 0),
        (CANDIDATE, "VB NP PP", 0),
        (CANDIDATE, "NP PP", 0),
        (CANDIDATE, "NP CC NP", 0),
        (CANDIDATE, "S CC S", 0),
        (CANDIDATE, "NNP POS", 1),
        (CANDIDATE, "JJ PP", 0),
        (CANDIDATE, "RB RB", 1),
        (CANDIDATE, "UH .", 0),
        (CANDIDATE, "XX YY", 1),
    ],
)
def test_english_table(label, children, head):
    assert COLLINS.head_child(label, children.split()) == head


def test_all_punctuation_still_has_a_head():
    assert COLLINS.head_child("X", [",", "."]) == 0
    assert COLLINS.head_child("FRAG", [",", "."]) == 1


def test_no_children():
    with pytest.raises(ConfigError, match="without children"):
        COLLINS.head_child("NP", [])


def test_scans():
    def head(scans, children):
        return HeadRules(rules={"Q": scans}).head_child("Q", children.split())

    assert head([("left", ["B", "A"])], "A B A B") == 1  # labels in order of priority
    assert head([("right", ["B", "A"])], "A B A B A") == 3
    assert head([("left-any", ["B", "A"])], "C A B") == 1
    assert head([("right-any", ["B", "A"])], "B A C") == 1
    assert head([("first", ["A"]), ("last", ["C"])], "A B C") == 0
    assert head([("first", ["B"]), ("last", ["C"])], "A B C") == 2
    assert head([("first", ["B"]), ("last", ["B"])], "A B C") == 2  # resort: where the last scan started
    assert head([("last", ["B"]), ("first", ["B"])], "A B C") == 0
    assert head([], "A B C") == 0


def test_custom_tables():
    rules = HeadRules.from_dict({"rules": {"NP": [["left", ["NN"]]], "KOORD": [["right", []]]}}, base=COLLINS)
    assert rules.head_child("NP", ["NN", "NN"]) == 0
    assert rules.head_child("KOORD", ["A", "B"]) == 1
    assert rules.head_child("VP", ["ADVP", "VB"]) == 1
    assert COLLINS.head_child("NP", ["NN", "NN"]) == 1
    german = HeadRules.from_dict({"default": [["right", []]], "conjunctions": ["KON"]})
    assert german.head_child("NP", ["NN", "KON", "NN"]) == 0
    assert german.head_child("NP", ["NN", "CC", "NN"]) == 2


def test_languages():
    assert head_rules("en") is COLLINS
    assert head_rules("is").head_child("NP", [",", "A", "N"]) == 1


def test_json(tmp_path):
    path = tmp_path / "heads.json"
    path.write_text(json.dumps(COLLINS.to_dict()), encoding="utf-8")
    assert HeadRules.from_json(path) == COLLINS
    assert hash(HeadRules.from_json(path)) == hash(COLLINS)
    path.write_text("[1]", encoding="utf-8")
    with pytest.raises(ConfigError, match="must be a JSON object"):
        HeadRules.from_json(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"heads\.json: head rules must be JSON"):
        HeadRules.from_json(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"rule": {}}, "unknown key 'rule'; allowed are rules"),
        ({"rules": {"NP": [["up", ["NN"]]]}}, "head rule for 'NP': .*'up'.* is not a scan"),
        ({"rules": {"NP": ["left"]}}, "is not a scan"),
        ({"rules": {"NP": [["left", "NN"]]}}, "is not a scan"),
        ({"default": [["left", [3]]]}, "head rule for 'default'"),
        ({"conjunctions": "CC"}, "conjunctions is 'CC'; give a list"),
    ],
)
def test_bad_tables(data, message):
    with pytest.raises(ConfigError, match=message):
        HeadRules.from_dict(data)


def test_heads_of_a_tree():
    tree = parse_tree(
        "(S (NP-SBJ (NP (DT The) (NN edge)) (PP (IN of) (NP (DT the) (NN map)))) (VP (VBZ is) (ADJP (JJ torn))) (. .))"
    )
    by_label = dict(zip(tree.labels, COLLINS.heads(tree), strict=True))
    assert by_label["TOP"] == by_label["S"] == by_label["VP"] == 5
    assert by_label["NP-SBJ"] == 1
    assert by_label["PP"] == 2
    assert by_label["ADJP"] == 6


def naive_head(tree: Tree, k: int) -> int:
    children = tree.child_lists()[k]
    names = [tree.labels[c] if c >= 0 else tree.tags[~c] for c in children]
    child = children[COLLINS.head_child(tree.labels[k], names)]
    return ~child if child < 0 else naive_head(tree, child)


def test_heads_agree_with_recursion():
    rng = random.Random(2)
    for _ in range(200):
        tree = naive.random_tree(rng, rng.randint(1, 10))
        assert list(COLLINS.heads(tree)) == [naive_head(tree, k) for k in range(len(tree))]


def test_heads_of_a_deep_tree():
    tree = parse_tree("(S (NN a) " * 5000 + "(NN a)" + ")" * 5000)
    found = COLLINS.heads(tree)
    assert len(found) == 5001
    assert found[-1] == 4999


@pytest.mark.parametrize(
    ("text", "found", "own", "upper"),
    [
        ("(TOP (NN a))", [-1], ["TOP"], [None]),
        (
            "(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))",
            [1, 2, -1, 2, 5, 3, 2],
            ["DT", "NP", "TOP", "PP", "DT", "NP", "."],
            ["NP", "S", None, "VP", "NP", "PP", "S"],
        ),
        (
            "(TOP (S (NP (NP (NNS cats)) (CC and) (NP (NNS dogs))) (VP (VP (VBP run)))))",
            [3, 0, 0, -1],
            ["NP", "CC", "NP", "TOP"],
            ["S", "NP", "NP", None],
        ),
    ],
)
def test_links_of_a_tree(text, found, own, upper):
    tree = parse_tree(text)
    tokens, mine, above = COLLINS.links(tree)
    assert list(tokens) == found
    assert [tree.labels[k] if k >= 0 else tree.tags[t] for t, k in enumerate(mine)] == own
    assert [tree.labels[k] if k >= 0 else None for k in above] == upper


def test_links_agree_with_heads():
    rng = random.Random(3)
    for rules in (COLLINS, HeadRules.from_dict({})):
        for _ in range(100):
            tree = naive.random_tree(rng, rng.randint(1, 10))
            found, own, upper = rules.links(tree)
            tokens, n = rules.heads(tree), len(tree.words)
            assert found.count(-1) == 1 and found[tokens[0]] == -1
            for token in range(n):
                headed = [k for k in range(len(tree)) if tokens[k] == token]  # in pre-order, so the largest first
                assert own[token] == (headed[0] if headed else -1)
                around = [k for k in range(len(tree)) if tree.starts[k] <= token < tree.ends[k] and tokens[k] != token]
                assert upper[token] == (around[-1] if around else -1)
                assert found[token] == (tokens[around[-1]] if around else -1)


OTHER = HeadRules.from_dict(
    {
        "rules": {
            "A": [["right", ["B", "C"]], ["first", ["D"]]],
            "B": [["last", ["A", "C"]], ["left-any", ["D", "E"]]],
        },
        "default": [["right-any", ["E"]], ["left", ["D", "D"]]],
        "candidate": [["left", ["E", "A"]]],
        "conjunctions": ["C", "E"],
        "no_coordination": ["B", "D"],
        "punctuation": ["F", "C"],
    }
)


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("rules", "extra"),
    [(COLLINS, ["CC"] * 12 + [","] * 12), (OTHER, ["C", "F"]), (head_rules("xx"), [])],
    ids=["collins", "other", "default"],
)
def test_kernel_agrees_with_plain_python(rules, extra):
    wanted = {name for rule in rules.rules.values() for _, names in rule for name in names}
    names = sorted(wanted | set(rules.rules) | rules.punctuation | {"CC", "A", "E", "NEW", "NP-TMP"})
    symbols = SymbolTable(names)
    table = compile_head_rules(rules, symbols)
    rng = random.Random(5)
    seen = set()
    for _ in range(20_000):
        children = [rng.choice(names + extra + ["not in the table"] * 3) for _ in range(rng.randint(1, 6))]
        label = rng.choice([*names, CANDIDATE, CANDIDATE, CANDIDATE])
        ids = symbols.encode([*children, "NP"])  # one more than n: it must not be read
        found = HEAD_POSITION(table, symbols.id_of(label), ids, len(children))
        assert found == rules.head_child(label, children), (label, children)
        seen.add(int(found))
    assert seen == set(range(6))


def test_compiled_table_is_int32_in_c_order():
    table = compile_head_rules(COLLINS, SymbolTable(["NP", "NN", "CC"]))
    assert all(array.dtype == np.int32 and array.flags.c_contiguous for array in table)
    assert table.symbol.shape == (4, 3)
    assert table.scan.shape == (table.rule[-1, 0], 5)
    last_scans = table.scan[table.rule[1:, 0] - 1, 1:]
    assert (last_scans < EXCLUDED).all()  # so every rule finds a head
