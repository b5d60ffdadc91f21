"""Patterns as dicts, in the manner of spaCy's matchers: they can also test attributes of tokens.

A node is a text (a pattern of `parser`) or a dict with any of these keys:

- LABEL: its label; CATEGORY: its label without function tags. A string, or {"IN": [...]}, {"NOT_IN": [...]} or
  {"REGEX": "..."}.
- TOKEN: attributes of its token, which is its head for a constituent: {"LEMMA": "dog", "LENGTH": {">": 3}}. A value as
  for LABEL, a number, True or False, or a comparison of numbers.
- HAS: a list of required neighbours: [relation, node], optionally with ! or ? before the relation, or {"ANY": [...]}
  with a list of such pairs, of which at least one must match.
- NAME: the name of the node in matches.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..checks import short_repr
from ..errors import PatternError
from .lexer import MAX_DEPTH, compile_regex
from .parser import parse_node, parse_relation
from .syntax import (
    TOKEN_ATTRIBUTES,
    All,
    Condition,
    Description,
    Either,
    Maybe,
    NodePattern,
    Not,
    Regex,
    Relation,
    TokenTest,
    check_names,
)

KEYS = ("LABEL", "CATEGORY", "TOKEN", "HAS", "NAME")
_OPERATORS = ("IN", "NOT_IN", "REGEX")
_COMPARISONS = ("==", "!=", ">", ">=", "<", "<=")
_NUMBERS = ("LENGTH",)


def parse_dict(pattern: Mapping[str, Any]) -> NodePattern:
    """Compile a pattern from dicts. Raises PatternError, which names the location (`HAS[0][1].LABEL`), the value found
    there and the allowed ones."""
    node = _node(pattern, "", 0)
    problem = check_names(node)
    if problem is not None:
        raise _error_at(str(problem[1] or ""), problem[0])
    return node


def _error_at(path: str, problem: str) -> PatternError:
    return PatternError(f"the pattern is wrong at {path.lstrip('.') or 'its top'}: {problem}")


def _node(pattern: Any, path: str, depth: int) -> NodePattern:
    if isinstance(pattern, str):
        try:
            return parse_node(pattern, depth)
        except PatternError as error:
            raise _error_at(path, str(error)) from None
    if not isinstance(pattern, Mapping):
        raise _error_at(path, f"found {short_repr(pattern)}; a node is a text or a dict with keys of {', '.join(KEYS)}")
    _check_depth(path, depth)
    unknown = [key for key in pattern if key not in KEYS]
    if unknown:
        raise _error_at(path, f"unknown key {short_repr(unknown[0])}; allowed are {', '.join(KEYS)}")
    if "LABEL" in pattern and "CATEGORY" in pattern:
        raise _error_at(
            path, "LABEL and CATEGORY are both given; CATEGORY is the label without function tags, give one"
        )
    key = "CATEGORY" if "CATEGORY" in pattern else "LABEL"
    tests = _tests(pattern.get("TOKEN", {}), f"{path}.TOKEN")
    what = _label(pattern[key], f"{path}.{key}") if key in pattern else Description(anything=True)
    literals, regexes, anything, negated = what.literals, what.regexes, what.anything, what.negated
    what = Description(literals, regexes, anything, False, negated, key == "CATEGORY", tests)
    name = pattern.get("NAME")
    if name is not None and not (isinstance(name, str) and re.fullmatch(r"\w+", name)):
        raise _error_at(f"{path}.NAME", f"found {short_repr(name)}; a name is a string of letters, digits and _")
    has = _items(pattern["HAS"], f"{path}.HAS", depth) if pattern.get("HAS") else []
    condition = None if not has else has[0] if len(has) == 1 else All(tuple(has))
    return NodePattern(what, name, condition, path)


def _check_depth(path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _error_at(f"{path[:60]}…", f"a pattern nests at most {MAX_DEPTH} deep; this one may contain itself")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _items(items: Any, path: str, depth: int) -> list[Condition]:
    if not _is_list(items):
        raise _error_at(path, f"found {short_repr(items)}; give a list of [relation, node] and {{'ANY': [...]}}")
    return [_item(item, f"{path}[{number}]", depth) for number, item in enumerate(items)]


def _item(item: Any, path: str, depth: int) -> Condition:
    if isinstance(item, Mapping):
        if list(item) != ["ANY"] or not item["ANY"]:
            raise _error_at(path, f"found {short_repr(item)}; allowed are [relation, node] and {{'ANY': [...]}}")
        _check_depth(path, depth + 1)
        return Either(tuple(_items(item["ANY"], f"{path}.ANY", depth + 1)))
    if not (_is_list(item) and len(item) == 2 and isinstance(item[0], str)):
        raise _error_at(
            path, f"found {short_repr(item)}; allowed are [relation, node], such as ['<', 'NP'], and {{'ANY': [...]}}"
        )
    try:
        relation, number, between, sign = parse_relation(item[0])
    except PatternError as error:
        raise _error_at(f"{path}[0]", str(error)) from None
    related = Relation(relation, _node(item[1], f"{path}[1]", depth + 1), number, between)
    return Not(related) if sign == "!" else Maybe(related) if sign == "?" else related


def _label(value: Any, path: str) -> Description:
    operator, values = _value(value, path)
    if not all(isinstance(one, str) for one in values):
        raise _error_at(path, f"found {short_repr(value)}; a label is a string")
    if operator == "REGEX":
        return Description(regexes=(Regex(str(values[0])),))
    return Description(literals=tuple(map(str, values)), negated=operator == "NOT_IN")


def _is_value(value: Any) -> bool:
    """Whether a value is a string or a number of at most 64 bits."""
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < 2**63)


def _value(value: Any, path: str) -> tuple[str, tuple[Any, ...]]:
    """An operator of `TokenTest` and its values."""
    if not isinstance(value, Mapping):
        if not _is_value(value):
            raise _error_at(
                path, f"found {short_repr(value)}; give a value, or a dict with one of {', '.join(_OPERATORS)}"
            )
        return "IN", (value,)
    if len(value) != 1 or (operator := next(iter(value))) not in (*_OPERATORS, *_COMPARISONS):
        allowed = ", ".join((*_OPERATORS, *_COMPARISONS))
        raise _error_at(path, f"found {short_repr(value)}; a dict has one key, of {allowed}")
    wanted = value[operator]
    if operator in ("IN", "NOT_IN"):
        if isinstance(wanted, str) or not isinstance(wanted, Collection):
            raise _error_at(f"{path}.{operator}", f"found {short_repr(wanted)}; give a list of values")
        found = tuple(wanted)
        if not all(map(_is_value, found)):
            raise _error_at(
                f"{path}.{operator}", f"found {short_repr(wanted)}; values are strings, numbers, True and False"
            )
        return operator, found
    if operator == "REGEX":
        try:
            compile_regex(wanted)
        except (re.error, TypeError) as error:
            raise _error_at(f"{path}.REGEX", f"{short_repr(wanted)} is no regex of Python: {error}") from None
    elif isinstance(wanted, str) or not _is_value(wanted):
        raise _error_at(f"{path}.{operator}", f"found {short_repr(wanted)}; a comparison is with a whole number")
    return {"==": "IN", "!=": "NOT_IN"}.get(operator, operator), (wanted,)


def _tests(attributes: Any, path: str) -> tuple[TokenTest, ...]:
    if not isinstance(attributes, Mapping):
        raise _error_at(path, f"found {short_repr(attributes)}; give a dict of attributes, such as {{'LEMMA': 'dog'}}")
    tests = []
    for attribute, value in attributes.items():
        if attribute not in TOKEN_ATTRIBUTES:
            raise _error_at(
                path, f"unknown attribute {short_repr(attribute)}; allowed are {', '.join(TOKEN_ATTRIBUTES)}"
            )
        operator, values = _value(value, f"{path}.{attribute}")
        numbers = attribute in _NUMBERS or attribute.startswith(("IS_", "LIKE_"))
        if numbers if operator == "REGEX" else operator in _COMPARISONS and attribute not in _NUMBERS:
            raise _error_at(f"{path}.{attribute}", f"{attribute} is not compared by {operator}")
        if operator != "REGEX" and any(isinstance(one, str) == numbers for one in values):
            kind = "numbers, True or False" if numbers else "strings"
            raise _error_at(f"{path}.{attribute}", f"found {short_repr(value)}; the values of {attribute} are {kind}")
        tests.append(TokenTest(attribute, operator, values))
    return tuple(tests)
