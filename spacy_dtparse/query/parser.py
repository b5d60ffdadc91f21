"""Tregex patterns as text, read by recursive descent. The grammar:

pattern     := expression (" |" expression)*
expression  := node conditions?
node        := "(" expression ")" | =name | "@"? ~name =name? | description =name?
description := "!"? "@"? label ("|" label)* group*
conditions  := both ("|" both)*
both        := condition ("&"? condition)*
condition   := ("!" | "?")? (relation node | "[" conditions "]" | "(" conditions ")")

A | without a space before it joins labels, with a space relations or whole patterns, as in Tregex. Texts that Tregex
accepts with a meaning that readers would not expect are errors: see `_Parser.alternatives`, `_both`, `description`.
"""

import re
import warnings

from .lexer import MAX_DEPTH, MAX_DIGITS, NODE_ALLOWED, RELATION_ALLOWED, RELATION_KINDS, PatternToken, compile_regex
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
from .token_reader import TokenReader

_LABELS = ("literal", "regex", "quoted", "any", "root")
_CONDITIONS = (*RELATION_KINDS, "exactly", "!", "?", "[", "(")
"""Kinds of tokens that a condition begins with."""
_FLAGS = {"i": re.IGNORECASE, "x": re.VERBOSE}
_GROUP = re.compile(r"#\s*(\d+)\s*%\s*(.+)")
_RELATION = re.compile(r"(<<<|[<>])\s*(-?)\s*([0-9]+)")
_TWO_PATTERNS = (
    "'|' after a space joins whole patterns here; put each in brackets, (…) | (…). Alternatives of labels have no "
    "space before |, NN|NNS; those of relations repeat the relation, < NN | < NNS"
)


def parse_pattern(text: str) -> NodePattern:
    """Parse a pattern's text. Raises PatternError, which shows the location, the text found there and what is
    allowed."""
    parser = _Parser(text)
    pattern = parser.pattern()
    problem = check_names(pattern)
    if problem is not None:
        raise parser.error_at(int(problem[1]), problem[0])
    return pattern


def parse_node(text: str, depth: int = 0) -> NodePattern:
    """Parse a pattern that is part of another one, `depth` deep in it, which checks its names. Raises PatternError as
    `parse_pattern`."""
    return _Parser(text, depth).pattern()


def parse_relation(text: str) -> tuple[str, int, Description | None, str]:
    """Parse a relation with nothing after it, `!<`, `$+`, `<+(VP)`: its name, number, description between, and "!", "?"
    or "". Raises PatternError."""
    parser = _Parser(text)
    sign = parser.take().text if parser.next.kind in ("!", "?") else ""
    if parser.next.kind not in RELATION_KINDS:
        raise parser.error(f"{parser.describe_token()}; {RELATION_ALLOWED}")
    name, number, between = parser.relation()
    parser.expect("end", "nothing is allowed after a relation")
    return name, number, between, sign


class _Parser(TokenReader):
    """Parses the tokens by recursive descent."""

    def pattern(self) -> NodePattern:
        """Parse everything: alternatives of whole patterns."""
        if self.next.kind == "end":
            raise self.error(f"the pattern is empty; {NODE_ALLOWED}")
        found = self.alternatives()
        if self.next.kind == "end":
            return found
        raise self.error(f"{self.describe_token()}; {self._allowed_next()}")

    def alternatives(self) -> NodePattern:
        """Parse `pattern | pattern`: a node that matches one of them, the names by the first that matches.

        Each is in brackets or a description alone: Tregex reads `NP < NN | NNS` as `(NP < NN) | NNS`, and `@NP | VP` as
        `(@NP) | VP`, which is seldom meant.
        """
        first = self.next
        parts = [self.expression()]
        plain = [self._is_plain(first, parts[0])]
        while self.next.kind == "|" and (plain[-1] or self.ahead(1).kind != "end"):
            bar = self.take()
            first = self.next
            parts.append(self.expression())
            plain.append(self._is_plain(first, parts[-1]))
            if not (plain[-2] and plain[-1]):
                raise self.error_at(bar.column, _TWO_PATTERNS)
        if len(parts) == 1:
            return parts[0]
        return NodePattern(ANYTHING, None, Either(tuple(Relation("==", part) for part in parts)), parts[0].location)

    def _is_plain(self, first: PatternToken, parsed: NodePattern) -> bool:
        """Whether an expression that begins with a token is in brackets, or nothing but labels and a name."""
        if first.kind == "(":
            return self.tokens[self.position - 1].kind == ")" and self._closes(first)
        return first.kind not in ("!", "@") and parsed.condition is None

    def _closes(self, opening: PatternToken) -> bool:
        """Whether the bracket just read closes an earlier one."""
        depth = 0
        for token in reversed(self.tokens[: self.position]):
            depth += (token.kind in (")", "]")) - (token.kind in ("(", "["))
            if depth == 0:
                return token is opening
        return False

    def _allowed_next(self) -> str:
        """Describe the tokens allowed after a complete expression, or why the current one is not."""
        kind = self.next.kind
        if kind == "|":
            return _TWO_PATTERNS
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
        return self.next.kind == "&" or self.next.kind in _CONDITIONS

    def _or_follows(self) -> bool:
        """Whether | and a condition follow, which `(a) | (b)` does not have."""
        after = self.ahead(1).kind
        if self.next.kind != "|" or after not in _CONDITIONS:
            return False
        if after in ("(", "!"):  # a group, a negated relation; or else another pattern
            inner = 2
            while self.ahead(inner).kind in ("(", "!", "?"):
                inner += 1
            return self.ahead(inner).kind in _CONDITIONS
        return True

    def node(self) -> NodePattern:
        """Parse a node, or an expression in brackets."""
        token = self.next
        if token.kind == "(":
            self._enter()
            inner = self.expression()
            self._leave(")", "an expression in brackets goes on with a relation or ends with )")
            return inner
        if token.kind == "name":
            same = SameNode(self._name())
            self._check_bar(True)
            return NodePattern(same, location=token.column)
        what = self._link() or self.description()
        name = self._name() if self.next.kind == "name" else None
        self._check_bar(name is not None)
        return NodePattern(what, name, location=token.column)

    def _link(self) -> SameLabel | None:
        """Parse `~name` or `@~name`; None if there is neither."""
        basic = self.next.kind == "@"
        if self.ahead(int(basic)).kind != "link":
            return None
        self.position += basic
        return SameLabel(self._name(), basic)

    def _check_bar(self, named: bool) -> None:
        """Raise PatternError for a | directly after a node: Tregex takes it for a part of the label or name."""
        last = self.tokens[self.position - 1]
        if self.next.kind != "|" or self.next.column != last.stop or last.kind in ("regex", "any", "root"):
            return
        if named and self.ahead(1).kind in _LABELS:
            raise self.error("alternatives of a label share one name, written after the last: NP|NNP=name")
        raise self.error(
            f"'|' after {last.text!r} without a space joins labels, such as NP|VP, and no label follows; write a space "
            "before a | that joins relations or patterns"
        )

    def _enter(self) -> None:
        self.open += 1
        if self.open > MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} brackets are open; a pattern nests at most so deep")
        self.take()

    def _leave(self, kind: str, allowed: str) -> None:
        if self.next.kind == "|" and self.ahead(1).kind in (*_LABELS, "@", "name", "link"):
            raise self.error(
                "a node in brackets has no alternatives; labels are joined without a space before |, NN|NNS, relations "
                "are repeated, < NN | < NNS"
            )
        self.expect(kind, allowed)
        self.open -= 1

    def _name(self) -> str:
        return self.take().text[1:].strip()

    def description(self) -> Description:
        """Parse labels with ! and @ before them, and groups after them."""
        start = self.next
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
            if token.kind in ("name", "link") and start is not token:
                raise self.error(
                    f"{self.describe_token()} after {start.text!r}; a reference is = or ~ and a name, @~ and a name "
                    "for the label without function tags; its negation belongs before the relation, !== =name"
                )
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
            if self.next.kind != "|" or self.next.column != token.stop:
                break
            if self.ahead(1).kind not in _LABELS:
                break
            if token.kind in ("regex", "any", "root"):
                raise self.error(
                    f"'|' after {token.text!r}: Tregex reads another pattern here; write labels before a regex, "
                    "NP|/^VB/, or one regex with |, /^(NP|VB)/"
                )
            self.take()
        groups = self._groups(regexes[-1].source if token.kind == "regex" else None)
        if negated and groups:
            raise self.error_at(token.column, "a negated description has no groups; leave out #…%… or the !")
        if token.kind == "regex":
            regexes[-1] = Regex(regexes[-1].source, regexes[-1].flags, groups)
        variables = () if token.kind == "regex" else tuple(name for _, name in groups)
        return Description(tuple(literals), tuple(regexes), anything, root, negated, basic, label_variables=variables)

    def _groups(self, regex: str | None) -> tuple[tuple[int, str], ...]:
        """Parse `#1%name…` after a regex, or after a label, where each number stands for the whole label."""
        found = []
        while self.next.kind == "group":
            number, name = _GROUP.fullmatch(self.next.text).groups()  # type: ignore[union-attr]
            self._check_digits(number)
            if regex is not None and int(number) > compile_regex(regex).groups:
                raise self.error(
                    f"the regex has {compile_regex(regex).groups} groups; #{number}% names one that it lacks"
                )
            found.append((int(number), name))
            self.take()
        return tuple(found)

    def _regex(self, token: PatternToken) -> Regex:
        """Parse a regex with its flags."""
        body, _, letters = token.text[1:].rpartition("/")
        flags = 0
        for letter in letters:
            if letter not in _FLAGS:
                raise self.error(f"the regex has a flag {letter!r}; flags are i (capitals do not count) and x (spaces)")
            flags |= _FLAGS[letter]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", FutureWarning)
                compile_regex(body, flags)
        except re.error as error:
            column = token.column + 1 + (error.pos or 0)
            raise self.error_at(column, f"the regex is wrong: {error.msg}; regexes are those of Python") from None
        except FutureWarning:
            raise self.error(
                "the regex has '[', '&&', '--', '||' or '~~' inside a set of characters, which Java reads otherwise "
                "than Python; write a backslash before each of them, or another regex"
            ) from None
        return Regex(body, flags)

    def conditions(self) -> Condition:
        """Parse alternatives of conditions."""
        parts = [self._both()]
        while self._or_follows():
            self.take()
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self) -> Condition:
        if self.next.kind == "&":
            raise self.error("'&' joins two relations; there is none before it")
        found: list[Condition] = []
        segment = False
        while not found or self._condition_follows():
            if self.next.kind == "&":
                self.take()
            first = self.ahead(1 if self.next.kind in ("!", "?") else 0)
            if segment and first.kind != SEGMENT:
                raise self.error(
                    "after ':' another relation belongs to the first node in Tregex; write it before the ':', or "
                    "brackets, A : (B < C), if it belongs to the second"
                )
            segment = first.kind == SEGMENT
            condition = self._condition()
            found += condition.parts if isinstance(condition, All) else (condition,)
        return found[0] if len(found) == 1 else All(tuple(found))

    def _condition(self) -> Condition:
        """Parse a relation with its node, or a group, with ! or ? before it."""
        sign = self.take() if self.next.kind in ("!", "?") else None
        if sign is not None and self.next.kind in ("!", "?"):
            raise self.error(f"{self.describe_token()} after {sign.text!r}; one sign is allowed before a relation")
        if self.next.kind in ("[", "("):
            if self.next.kind == "(" and self.ahead(1).kind not in _CONDITIONS:
                raise self.error(f"{self.describe_token()}; two nodes need a relation between them; {RELATION_ALLOWED}")
            closing = "]" if self.next.kind == "[" else ")"
            self._enter()
            inner = self.conditions()
            self._leave(closing, f"a group goes on with a relation, & or |, or ends with {closing}")
        elif self.next.kind == "exactly":
            inner = self._exactly()
        elif self.next.kind in RELATION_KINDS:
            name, number, between = self.relation()
            inner = Relation(name, self.node(), number, between)
        else:
            raise self.error(f"{self.describe_token()}; a relation or a group in [ ] is allowed; {RELATION_ALLOWED}")
        return inner if sign is None else Not(inner) if sign.kind == "!" else Maybe(inner)

    def relation(self) -> tuple[str, int, Description | None]:
        """Parse a relation: its name, its number, and the description of a chain."""
        token = self.take()
        if token.kind == "chain":
            closing = {"(": ")", "[": "]"}.get(self.next.kind, "")
            if closing:
                self.take()
            between = self.description()
            if between.variables:
                raise self.error("the description of a chain has no groups; leave out #…%…")
            if closing:
                self.expect(
                    closing, f"the nodes of a chain are one description, such as VP, @VP|S or !NP, and then {closing}"
                )
            return token.text, 0, between
        text = token.text.replace("%", "$")
        numbered = _RELATION.fullmatch(text)
        if numbered is None:
            return *SYMBOLS[text], None
        self._check_digits(numbered[3])
        number = int(numbered[2] + numbered[3])
        if number == 0:
            raise self.error_at(token.column, f"{token.text!r} has the number 0; count from 1, or from -1 at the end")
        return numbered[1] + "i", number, None

    def _check_digits(self, number: str) -> None:
        if len(number) > MAX_DIGITS:
            raise self.error(f"a number has {len(number):,} digits; at most {MAX_DIGITS} are allowed")

    def _exactly(self) -> Condition:
        """Parse `<...{ a ; b }`: exactly these children."""
        self.take()
        if self.next.kind == "{":
            self._enter()
        else:
            self.expect("{", "the children are written in { }, with ; between them")
        children = [] if self.next.kind == "}" else [self.expression()]
        while children and self.next.kind == ";":
            self.take()
            children.append(self.expression())
        self.expect("}", "children go on with ; or end with }")
        self.open -= 1
        parts: list[Condition] = [Relation("<i", child, number) for number, child in enumerate(children, 1)]
        return All((*parts, Not(Relation("<i", NodePattern(ANYTHING), len(children) + 1))))
