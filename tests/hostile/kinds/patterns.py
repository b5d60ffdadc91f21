"""Patterns and searches of strangers."""

from __future__ import annotations

import time
from typing import Any

from spacy_dtparse.errors import ConfigError, PatternError, SearchLimitError
from spacy_dtparse.query import compile_pattern
from spacy_dtparse.trees.brackets import parse_tree
from tests.query import test_limits as limits

from .. import growth
from ..cases import MAX_MESSAGE, case, refused


@case(seconds=5, megabytes=400, each=list(limits.BAD))
def pattern_beyond_the_limits(name: str) -> None:
    refused(PatternError, lambda: compile_pattern(limits.BAD[name]))


@case(seconds=60, megabytes=1000)
def conditions_200000() -> None:
    assert len(compile_pattern("S " + "< NN " * 200_000).matches(limits.FLAT)) == 1


@case(seconds=5, megabytes=100)
def assignments_40_to_the_6th() -> None:
    pattern = compile_pattern("S " + " ".join(f"< NN=n{k}" for k in range(6)))
    refused(SearchLimitError, lambda: pattern.matches(limits.FLAT, max_matches=1000))
    refused(SearchLimitError, lambda: pattern.matches(limits.FLAT, timeout=0.5))


@case(seconds=5, megabytes=100, each=["/^(a|a)*$/", "/^(a|aa|aaa)*$/", {"TOKEN": {"LOWER": {"REGEX": "^(a|a)*$"}}}])
def endless_regex(pattern: Any) -> None:
    tree = parse_tree(f"(S (NN {'a' * 60}b))")
    refused(SearchLimitError, lambda: compile_pattern(pattern).matches(tree, timeout=0.5))


@case(
    seconds=5,
    megabytes=200,
    each=[(shape, pattern) for shape in growth.SHAPES for pattern in ("NP=a << (VP << =a)", "NP=a .. (VP=b ,, =a)")],
)
def references_in_a_deep_tree(what: tuple[str, str]) -> None:
    """All matches, or the error of a limit, soon after the limit of 0.5 seconds."""
    shape, pattern = what
    began = time.process_time()
    try:
        compile_pattern(pattern).matches(growth.make_tree(shape, 5000), timeout=0.5, max_matches=10_000)
    except SearchLimitError:
        pass
    assert time.process_time() - began < 3


@case(
    seconds=5, megabytes=400, each=["|".join(f"L{k}" for k in range(50_000)), "NP" + " $+ NP" * 400, "__ < __=a" * 50]
)
def long_pattern(pattern: str) -> None:
    """Searched, or refused in a short message."""
    try:
        compile_pattern(pattern).matches(limits.FLAT, timeout=1.0, max_matches=1000)
    except (PatternError, SearchLimitError) as error:
        assert len(str(error)) <= MAX_MESSAGE


@case(seconds=1, megabytes=50, each=[0, -1, "3", float("nan"), True, [], 2.5])
def limits_that_are_none(value: Any) -> None:
    refused(ConfigError, lambda: compile_pattern("NP").matches(limits.FLAT, max_matches=value))
