"""Tregex patterns as text, read by recursive descent. The grammar:

pattern     := expression (":" expression)*
expression  := node conditions?
node        := "(" expression ")" | =name | ~name | description =name?
description := "!"? "@"? label ("|" label)*
conditions  := both ("|" both)*
both        := condition ("&"? condition)*
condition   := ("!" | "?")? (relation node | "[" conditions "]")
"""

from __future__ import annotations

import re

from ..errors import PatternError
from .lexer import NODE_ALLOWED, RELATION_ALLOWED, Token, bad_pattern, tokens
from .syntax import (
    ANYTHING,
    SEGMENT,
    SYMBOLS,
    All,
    Condition,
    Description,
    Either,
    Maybe,
    NodePattern,
    Not,
    Regex,
    Relation,
    SameLabel,
    SameNode,
    both,
    check_names,
)

MAX_DEPTH = 100
"""Maximum number of open brackets."""

_LABELS = ("literal", "regex", "quoted", "any", "root")
_FLAGS = {"i": re.IGNORECASE, "x": re.VERBOSE}
_GROUP = re.compile(r"#(\d+)%(\w+)")
_RELATION = re.compile(r"([<>]|<<<)(-?\d+)")


def parse_pattern(text: str) -> NodePattern:
    """Parse a pattern's text. Raises PatternError, which shows the location, the text found there and what is
    allowed."""
    parser = _Parser(text)
    pattern = parser.pattern()
    problem = check_names(pattern)
    if problem is not None:
        raise parser.error_at(int(problem[1]), problem[0])
    return pattern


def parse_node(text: str) -> NodePattern:
    """Parse a pattern that is part of another one, which checks its names. Raises PatternError as `parse_pattern`."""
    return _Parser(text).pattern()


def parse_relation(text: str) -> tuple[str, int, Description | None, str]:
    """Parse a relation with nothing after it, `!<`, `$+`, `<+(VP)`: its name, number, description between, and "!", "?"
    or "". Raises PatternError."""
    parser = _Parser(text)
    sign = parser.take().text if parser.next.kind in ("!", "?") else ""
    if parser.next.kind not in ("relation", "chain"):
        raise parser.error(f"{parser.describe_token()}; {RELATION_ALLOWED}")
    name, number, between = parser.relation()
    parser.expect("end", "nothing is allowed after a relation")
    return name, number, between, sign


class _Parser:
    """The parser's state: the tokens and the current position."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = tokens(text)
        self.position = 0
        self.open = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.next
        self.position += 1
        return token

    def describe_token(self) -> str:
        """The current token, in words."""
        return "the pattern ends here" if self.next.kind == "end" else f"found {self.next.text!r}"

    def error(self, problem: str) -> PatternError:
        return self.error_at(self.next.column, problem)

    def error_at(self, column: int, problem: str) -> PatternError:
        return bad_pattern(self.text, column, problem)

    def expect(self, kind: str, allowed: str) -> Token:
        if self.next.kind != kind:
            raise self.error(f"{self.describe_token()}; {allowed}")
        return self.take()

    def pattern(self) -> NodePattern:
        """Parse everything: expressions between colons."""
        if self.next.kind == "end":
            raise self.error(f"the pattern is empty; {NODE_ALLOWED}")
        first = self.expression()
        while self.next.kind == SEGMENT:
            self.take()
            condition = both(first.condition, Relation(SEGMENT, self.expression()))
            first = NodePattern(first.what, first.name, condition, first.location)
        if self.next.kind == "end":
            return first
        raise self.error(f"{self.describe_token()}; {self._allowed_next()}")

    def _allowed_next(self) -> str:
        """Describe the tokens allowed after a complete expression, or why the current one is not."""
        kind = self.next.kind
        if kind == "|":
            return (
                "whole patterns are not combined with |, which joins labels (NP|VP) or relations (< NN | < "
                "NNS); search for several patterns instead"
            )
        if kind == ")":
            return "this bracket closes nothing; remove it, or add the one that it should close"
        if kind in (*_LABELS, "(", "@", "name", "link"):
            return f"two nodes need a relation between them; {RELATION_ALLOWED}"
        return f"a relation, & or | with a relation, or the end is allowed; {RELATION_ALLOWED}"

    def expression(self) -> NodePattern:
        """Parse a node and the conditions on it."""
        node = self.node()
        if not self._condition_follows():
            return node
        return NodePattern(node.what, node.name, both(node.condition, self.conditions()), node.location)

    def _condition_follows(self) -> bool:
        if self.next.kind == "&":
            return True
        if self.next.kind == "|":  # `a < b | < c` goes on, `(a) | (b)` does not
            return False
        return self.next.kind in ("relation", "chain", "exactly", "!", "?", "[")

    def node(self) -> NodePattern:
        """Parse a node, or an expression in brackets."""
        token = self.next
        if token.kind == "(":
            self._enter()
            inner = self.expression()
            self._leave(")", "an expression in brackets goes on with a relation or ends with )")
            return inner
        if token.kind == "name":
            return NodePattern(SameNode(self._name()), location=token.column)
        if token.kind == "link":
            return NodePattern(SameLabel(self._name()), location=token.column)
        what = self.description()
        named = self.next.kind == "name"
        if named and self.tokens[self.position + 1].kind == "|" and self.tokens[self.position + 2].kind in _LABELS:
            self.position += 1
            raise self.error("alternatives of a label share one name, written after the last: NP|NNP=name")
        return NodePattern(what, self._name() if named else None, location=token.column)

    def _enter(self) -> None:
        self.open += 1
        if self.open > MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} brackets are open; a pattern nests at most so deep")
        self.take()

    def _leave(self, kind: str, allowed: str) -> None:
        if self.next.kind == SEGMENT:
            raise self.error("':' divides a whole pattern into segments; it is not allowed in brackets")
        self.expect(kind, allowed)
        self.open -= 1

    def _name(self) -> str:
        return self.take().text[1:].strip()

    def description(self) -> Description:
        """Parse labels with ! and @ before them."""
        negated = self.next.kind == "!"
        if negated:
            self.take()
        basic = self.next.kind == "@"
        if basic:
            self.take()
        literals: list[str] = []
        regexes: list[Regex] = []
        anything = root = False
        while True:
            token = self.next
            if token.kind not in _LABELS:
                raise self.error(f"{self.describe_token()}; {NODE_ALLOWED}")
            if token.kind == "regex":
                regexes.append(self._regex(token))
            elif token.kind == "quoted":
                literals.append(re.sub(r"\\(.)", r"\1", token.text[1:-1]))
            elif token.kind == "literal":
                literals.append(token.text)
            anything, root = anything or token.kind == "any", root or token.kind == "root"
            self.take()
            if self.next.kind != "|" or self.tokens[self.position + 1].kind not in _LABELS:
                break
            self.take()
        if negated and any(regex.groups for regex in regexes):
            raise self.error_at(token.column, "a negated description has no groups; leave out #…%… or the !")
        return Description(tuple(literals), tuple(regexes), anything, root, negated, basic)

    def _regex(self, token: Token) -> Regex:
        """Parse a regex with its flags and groups."""
        body, _, rest = token.text[1:].rpartition("/")
        letters, sign, groups = rest.partition("#")
        flags = 0
        for letter in letters:
            if letter not in _FLAGS:
                raise self.error(f"the regex has a flag {letter!r}; flags are i (capitals do not count) and x (spaces)")
            flags |= _FLAGS[letter]
        try:
            compiled = re.compile(body, flags)
        except re.error as error:
            column = token.column + 1 + (error.pos or 0)
            raise self.error_at(column, f"the regex is wrong: {error.msg}; regexes are those of Python") from None
        found = _GROUP.findall(sign + groups)
        if sign + groups != "".join(f"#{number}%{name}" for number, name in found):
            raise self.error(f"{sign + groups!r} after a regex; a group is written #1%name, several #1%a#2%b")
        for number, _ in found:
            if int(number) > compiled.groups:
                raise self.error(f"the regex has {compiled.groups} groups; #{number}% names one that it lacks")
        return Regex(body, flags, tuple((int(number), name) for number, name in found))

    def conditions(self) -> Condition:
        """Parse alternatives of conditions."""
        parts = [self._both()]
        while self.next.kind == "|" and self.tokens[self.position + 1].kind in (
            "relation", "chain", "exactly", "!", "?", "[",
        ):  # fmt: skip
            self.take()
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self) -> Condition:
        if self.next.kind == "&":
            raise self.error("'&' joins two relations; there is none before it")
        found: Condition | None = self._condition()
        while self._condition_follows():
            if self.next.kind == "&":
                self.take()
            found = both(found, self._condition())
        assert found is not None
        return found

    def _condition(self) -> Condition:
        """Parse a relation with its node, or a group, with ! or ? before it."""
        sign = self.take() if self.next.kind in ("!", "?") else None
        if sign is not None and self.next.kind in ("!", "?"):
            raise self.error(f"{self.describe_token()} after {sign.text!r}; one sign is allowed before a relation")
        if self.next.kind == "[":
            self._enter()
            inner = self.conditions()
            self._leave("]", "a group goes on with a relation, & or |, or ends with ]")
        elif self.next.kind == "exactly":
            inner = self._exactly()
        elif self.next.kind in ("relation", "chain"):
            name, number, between = self.relation()
            inner = Relation(name, self.node(), number, between)
        else:
            raise self.error(f"{self.describe_token()}; a relation or a group in [ ] is allowed; {RELATION_ALLOWED}")
        return inner if sign is None else Not(inner) if sign.kind == "!" else Maybe(inner)

    def relation(self) -> tuple[str, int, Description | None]:
        """Parse a relation: its name, its number, and the description of a chain."""
        token = self.take()
        if token.kind == "chain":
            self.take()
            between = self.description()
            if between.variables:
                raise self.error("the description of a chain has no groups; leave out #…%…")
            self.expect(")", "the nodes of a chain are one description, such as VP, @VP|S or !NP, and then )")
            return token.text, 0, between
        text = token.text.replace("%", "$")
        numbered = _RELATION.fullmatch(text)
        if numbered is None:
            return *SYMBOLS[text], None
        number = int(numbered[2])
        if number == 0:
            raise self.error_at(token.column, f"{token.text!r} has the number 0; count from 1, or from -1 at the end")
        return numbered[1] + "i", number, None

    def _exactly(self) -> Condition:
        """Parse `<...{ a ; b }`: exactly these children."""
        self.take()
        self.expect("{", "the children are written in { }, with ; between them")
        children = [self.expression()]
        while self.next.kind == ";":
            self.take()
            children.append(self.expression())
        self.expect("}", "children go on with ; or end with }")
        parts: list[Condition] = [Relation("<i", child, number) for number, child in enumerate(children, 1)]
        return All((*parts, Not(Relation("<i", NodePattern(ANYTHING), len(children) + 1))))
