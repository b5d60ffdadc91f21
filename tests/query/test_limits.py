"""Limits of patterns and of searches: each is an error that says so, in little time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from spacy_dtparse.errors import ConfigError, DtparseError, PatternError, SearchLimitError
from spacy_dtparse.query import compile_edit, compile_pattern
from spacy_dtparse.query.lexer import MAX_DEPTH, MAX_NAMES
from spacy_dtparse.query.limits import SearchLimits
from spacy_dtparse.trees.brackets import parse_tree

FLAT = parse_tree(f"(S {' '.join('(NN w)' for _ in range(40))})")


def nest(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {"LABEL": "NP"}
    for _ in range(depth):
        node = {"LABEL": "NP", "HAS": [["<", node]]}
    return node


def nest_any(depth: int) -> dict[str, Any]:
    item: Any = ["<", "NP"]
    for _ in range(depth):
        item = {"ANY": [item]}
    return {"HAS": [item]}


def cyclic() -> dict[str, Any]:
    node: dict[str, Any] = {"LABEL": "NP"}
    node["HAS"] = [["<", node]]
    return node


def cyclic_list() -> dict[str, Any]:
    items: list[Any] = []
    items.append({"ANY": items})
    return {"HAS": items}


DIGITS = "9" * 5000
BAD: dict[str, Any] = {
    "braces": "A <...{" * 5000 + "B" + "}" * 5000,
    "round brackets": "A < (" * 5000 + "B" + ")" * 5000,
    "square brackets": "A " + "[" * 5000 + "< B" + "]" * 5000,
    "regex groups": "/" + "(" * 5000 + "a" + ")" * 5000 + "/",
    "long regex": "/" + "a" * 20_000 + "/",
    "repetition": "/a{99999999999}/",
    "child number": f"A <{DIGITS} B",
    "child number of 20 digits": "A <99999999999999999999 B",
    "group number": f"/a/#{DIGITS}%x",
    "names": " ".join(["A", *(f"< B=b{k}" for k in range(MAX_NAMES + 1))]),
    "long label": '"' + "a" * 1_000_000 + '" < "b" <',
    "long word": "A < B ^" + "a" * 1_000_000,
    "dicts": nest(5000),
    "lists of ANY": nest_any(5000),
    "cyclic dicts": cyclic(),
    "cyclic lists": cyclic_list(),
    "text below dicts": {"HAS": [["<", "A < (" * 100 + "B" + ")" * 100]]},
    "dict as label": {"LABEL": nest(5000)},
    "dict as name": {"NAME": nest(5000)},
    "dict as token": {"TOKEN": {"LEMMA": nest(5000)}},
    "large number": {"TOKEN": {"LENGTH": {">": 10**5000}}},
    "endless values": {"TOKEN": {"LEMMA": {"IN": iter(str, "x")}}},
    "regex of a dict": {"LABEL": {"REGEX": "(" * 5000 + ")" * 5000}},
    "key": {"a" * 1_000_000: 1},
}


@pytest.mark.parametrize("name", BAD)
def test_patterns_beyond_the_limits(name: str) -> None:
    started = time.process_time()
    with pytest.raises(PatternError) as caught:
        compile_pattern(BAD[name])
    assert len(str(caught.value)) < 1500 and time.process_time() - started < 5


def test_patterns_at_the_limits() -> None:
    compile_pattern("A < (" * MAX_DEPTH + "B" + ")" * MAX_DEPTH)
    pattern = compile_pattern(nest(MAX_DEPTH))
    assert pattern.matches(FLAT) == []
    compile_pattern(" ".join(["A", *(f"< B=b{k}" for k in range(MAX_NAMES))]))


@pytest.mark.parametrize(
    "operation", ["insert (A b) >" + DIGITS + " a", "relabel a /" + "(" * 5000 + ")" * 5000 + "/x/"]
)
def test_operations_beyond_the_limits(operation: str) -> None:
    with pytest.raises(PatternError) as caught:
        compile_edit("A=a", operation)
    assert len(str(caught.value)) < 1000


@pytest.mark.slow
def test_many_conditions_are_linear() -> None:
    times = []
    for n in (2_000, 16_000):
        started = time.process_time()
        pattern = compile_pattern("S " + "< NN " * n)
        assert len(pattern.matches(FLAT)) == 1
        assert len(compile_pattern("S <, NN=a " + "< =a " * n).matches(FLAT)) == 1
        times.append(time.process_time() - started)
    assert times[1] < 30 * times[0]


def test_max_matches() -> None:
    pattern = compile_pattern("S " + " ".join(f"< NN=n{k}" for k in range(6)))  # 40^6 assignments
    with pytest.raises(SearchLimitError, match="more than 1,000 matches"):
        pattern.matches(FLAT, max_matches=1000)
    assert len(compile_pattern("S < NN=n").matches(FLAT, max_matches=40)) == 40
    with pytest.raises(SearchLimitError):
        compile_pattern("NN").matches(FLAT, max_matches=39)
    assert len(list(compile_pattern("NN").search([FLAT] * 3, max_matches=40))) == 120  # of each tree


def test_timeout_of_assignments() -> None:
    names = [f"< NN=n{k}" for k in range(6)]
    pattern = compile_pattern("S " + " ".join([*names, *(f"!== =n{k}" for k in range(6)), "< (NN=last < x)"]))
    with pytest.raises(SearchLimitError, match=r"longer than 0\.2 seconds"):
        compile_pattern("S " + " ".join(f"< NN=n{k}" for k in range(6))).matches(FLAT, timeout=0.2)
    assert pattern.matches(FLAT, timeout=60) == []


@pytest.mark.parametrize("pattern", ["/^(a|a)*$/", {"TOKEN": {"TEXT": {"REGEX": "^(a|a)*$"}}}])
def test_timeout_of_regexes(pattern: Any) -> None:
    pytest.importorskip("regex")
    tree = parse_tree(f"(S (NN {'a' * 60}b))")
    started = time.process_time()
    with pytest.raises(SearchLimitError, match=r"longer than 0\.2 seconds"):
        compile_pattern(pattern).matches(tree, timeout=0.2)
    assert time.process_time() - started < 30
    assert len(compile_pattern("/^N(P|N)$/").matches(tree, timeout=60)) == 1


@pytest.mark.parametrize("limits", [{"max_matches": 0}, {"max_matches": True}, {"timeout": 0}, {"timeout": "1"}])
def test_limits_that_are_none(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        SearchLimits(**limits)


def test_messages_are_short() -> None:
    long = "x" * 1_000_000
    assert len(str(DtparseError(f"found {long!r}; allowed are a and b"))) < 300
    assert len(str(DtparseError(f"there is no file {long}; give one"))) < 300
    assert str(DtparseError("a " * 600)) == "a " * 600
