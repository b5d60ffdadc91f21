"""Read Tsurgeon's operations. The grammar:

operations := operation ((";" | line end)? operation)*
operation  := "[" operation "]" | "if" "not"? "exists" name operation
            | ("delete" | "prune" | "coindex") name+ | "excise" name name
            | "relabel" name (label | "/" label "/" | "/" regex "/" replacement "/")
            | "insert" (name | tree) position | "move" name position
            | "replace" name (name | tree+) | ("adjoin" | "adjoinF" | "adjoinH") tree name
            | "createSubtree" (label | tree) name name?
position   := ("$+" | "$-" | ">" number) name
tree       := "(" label (tree | word)* ")"

In a tree, =name after a label names its node, and @ marks the foot; \\=, \\@ stand for the characters.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import PatternError
from .edit_state import Position, Template
from .editable import EditNode
from .lexer import MAX_DEPTH, MAX_DIGITS, compile_regex, show_location
from .operations import (
    Adjoin,
    Coindex,
    CreateSubtree,
    Delete,
    Excise,
    IfExists,
    Insert,
    Move,
    Operation,
    Prune,
    Relabel,
    Replace,
)

KEYWORDS = (
    "delete", "prune", "excise", "relabel", "insert", "move", "replace", "adjoin", "adjoinF", "adjoinH", "coindex",
    "createSubtree", "if",
)  # fmt: skip
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<separator>;)|(?P<open>\[)|(?P<close>\])"
    r"|(?P<tree>\()"
    r"|(?P<position>\$[+-]|>\s*-?\s*[0-9]+)"
    r"|(?P<regex>/(?:[^/\\\n]|\\.)*/(?:(?:[^/\\\n]|\\.)*/)?)"
    r"|(?P<word>[^\s()\[\];/]+)"
)
_TREE = re.compile(r"(?P<space>\s+)|(?P<open>\()|(?P<close>\))|(?P<text>(?:[^\s()\\]|\\.)+)")
_NAME = re.compile(r"\w[\w-]*")
_REPLACEMENT = re.compile(
    r"\\(?P<escaped>.)|\$(?P<group>[0-9])|=\{(?P<node>[^}]*)\}|%\{(?P<variable>[^}]*)\}|(?P<sign>[$=%])|(?P<text>.)",
    re.DOTALL,
)
_POSITION = "a position is $+ NAME (before it), $- NAME (after it), >1 NAME (its first child), >-1 NAME (its last)"

_OF_NAMES: dict[str, Callable[[tuple[str, ...]], Operation]] = {"delete": Delete, "prune": Prune, "coindex": Coindex}
"""Operations whose arguments are names only."""


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


def parse_operations(text: str) -> list[Operation]:
    """Parse operations separated by line ends, by ; or in [ ]. Raises PatternError, which shows the location."""
    reader = _OperationParser(text)
    found = []
    while reader.skip_separators():
        found.append(reader.operation())
        after = reader.next
        if after.kind not in ("end", "separator", "open", "close") and "\n" not in text[reader.last : after.column]:
            raise reader.error(f"found {after.text!r} after the operation; {_SEPARATE}")
    if not found:
        raise reader.error(f"there is no operation; operations are {', '.join(KEYWORDS)}")
    return found


_SEPARATE = "another operation begins on a new line, after ;, or both stand in [ ]"


def _bad_operation(text: str, column: int, problem: str) -> PatternError:
    return PatternError(f"the operation is wrong at column {column + 1}: {problem}\n{show_location(text, column)}")


class _OperationParser:
    """The text, the tokens read so far, and the current position."""

    def __init__(self, text: str):
        self.text = text
        self.at = 0
        self.last = 0  # one past the last token that was taken
        self.depth = 0
        self.next = self._token()

    def error(self, problem: str, column: int | None = None) -> PatternError:
        return _bad_operation(self.text, self.next.column if column is None else column, problem)

    def _token(self) -> _Token:
        """The token at the current position, which moves behind it; a tree gives its bracket only."""
        while self.at < len(self.text):
            match = _TOKEN.match(self.text, self.at)
            if match is None:
                raise _bad_operation(
                    self.text, self.at, f"{self.text[self.at]!r} is not allowed here; a regex is written /…/, a "
                    "replacement /regex/replacement/, a tree (NP (NN dog))",
                )  # fmt: skip
            column, self.at = self.at, match.end()
            kind = match.lastgroup or ""
            if kind != "space":
                return _Token(kind, match[0], column)
        return _Token("end", "", len(self.text))

    def take(self) -> _Token:
        token, self.last = self.next, self.at
        self.next = self._token()
        return token

    def skip_separators(self) -> bool:
        """Pass over separators; return whether something follows."""
        while self.next.kind == "separator":
            self.take()
        return self.next.kind != "end"

    def describe_token(self) -> str:
        return "the operation ends here" if self.next.kind == "end" else f"found {self.next.text!r}"

    def operation(self) -> Operation:
        """Parse one operation."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} operations are inside each other")
        if self.next.kind == "open":
            self.take()
            found = self.operation()
            if self.next.kind != "close":
                raise self.error(f"{self.describe_token()}; an operation in [ ] ends with ]")
            self.take()
        elif self.next.kind == "word" and self.next.text in KEYWORDS:
            found = self._after(self.take().text)
        else:
            raise self.error(f"{self.describe_token()}; operations are {', '.join(KEYWORDS)}")
        self.depth -= 1
        return found

    def _after(self, keyword: str) -> Operation:
        """Parse the arguments of an operation."""
        if keyword in _OF_NAMES:
            names = [self._name(keyword)]
            while self._argument_follows():
                names.append(self._name(keyword))
            return _OF_NAMES[keyword](tuple(names))
        if keyword == "excise":
            return Excise(self._name("excise"), self._name("excise TOP"))
        if keyword == "relabel":
            return self._relabel()
        if keyword == "insert":
            if self.next.kind == "tree":
                return Insert((self._template(),), None, self._position())
            return Insert((), self._name("insert"), self._position())
        if keyword == "move":
            return Move(self._name("move"), self._position())
        if keyword == "replace":
            return self._replace()
        if keyword in ("adjoin", "adjoinF", "adjoinH"):
            template = self._template(foot=keyword)
            return Adjoin((template,), self._name(f"{keyword} TREE"), keyword[6:])
        if keyword == "createSubtree":
            return self._create_subtree()
        return self._if_exists()

    def _argument_follows(self) -> bool:
        """Whether the next token is a word on the same line."""
        return self.next.kind == "word" and "\n" not in self.text[self.last : self.next.column]

    def _name(self, after: str) -> str:
        token = self.next
        if token.kind != "word" or _NAME.fullmatch(token.text) is None:
            raise self.error(
                f"{self.describe_token()}; after {after} stands the name of a node: NP=name in the pattern makes one, "
                "and here it is written without ="
            )
        return self.take().text

    def _position(self) -> Position:
        token = self.next
        if token.kind != "position":
            raise self.error(f"{self.describe_token()}; {_POSITION}")
        self.take()
        if token.text[0] == "$":
            return Position(token.text, self._name(token.text))
        digits = re.sub(r"\s", "", token.text[1:])
        if len(digits) > MAX_DIGITS:
            raise self.error(f"a number has {len(digits):,} digits; at most {MAX_DIGITS} are allowed", token.column)
        number = int(digits)
        if number == 0:
            raise self.error(f"{token.text!r} has the number 0; {_POSITION}", token.column)
        return Position(">", self._name(token.text), number)

    def _relabel(self) -> Relabel:
        name, token = self._name("relabel"), self.next
        if token.kind == "word":
            return Relabel(name, ("'" + self.take().text,))
        if token.kind != "regex":
            raise self.error(
                f"{self.describe_token()}; after relabel {name} stands the new label, /label/ or /regex/replacement/"
            )
        self.take()
        parts = re.findall(r"((?:[^/\\\n]|\\.)*)/", token.text[1:])
        if len(parts) == 1:
            return Relabel(name, ("'" + parts[0].replace("\\/", "/"),))
        regex = parts[0].replace("\\/", "/")
        try:
            groups = compile_regex(regex).groups
        except re.error as error:
            raise self.error(
                f"the regex is wrong: {error.msg}; regexes are those of Python", token.column + 1 + (error.pos or 0)
            ) from None
        return Relabel(name, self._replacement(parts[1], groups, token.column + 2 + len(parts[0])), regex)

    def _replacement(self, text: str, groups: int, column: int) -> tuple[str | int, ...]:
        """Parse a replacement: see `Relabel`."""
        found: list[str | int] = []
        for match in _REPLACEMENT.finditer(text):
            kind = match.lastgroup or ""
            value = match[kind]
            if kind == "group":
                if int(value) > groups:
                    raise self.error(
                        f"the regex has {groups} groups, and ${value} names another", column + match.start()
                    )
                found.append(int(value))
            elif kind in ("node", "variable"):
                if _NAME.fullmatch(value) is None:
                    raise self.error(f"{value!r} is no name; names are letters, digits and _", column + match.start())
                found.append(("=" if kind == "node" else "%") + value)
            elif kind == "sign":
                raise self.error(
                    f"{value!r} begins $1 (a group), ={{name}} (a node's label) or %{{name}} (a variable); write "
                    f"\\{value} for the character",
                    column + match.start(),
                )
            elif found and isinstance(found[-1], str) and found[-1][0] == "'":
                found[-1] += value
            else:
                found.append("'" + value)
        return tuple(found)

    def _replace(self) -> Replace:
        name = self._name("replace")
        if self.next.kind != "tree":
            return Replace((), name, self._name(f"replace {name}"))
        templates = [self._template()]
        while self.next.kind == "tree":
            templates.append(self._template())
        return Replace(tuple(templates), name, None)

    def _create_subtree(self) -> CreateSubtree:
        if self.next.kind == "tree":
            template = self._template(foot="createSubtree")
        elif self.next.kind in ("word", "regex"):
            token = self.take()
            label = token.text if token.kind == "word" else token.text[1:-1].replace("\\/", "/")
            node = EditNode(label)
            template = Template(node, foot=node)
        else:
            raise self.error(
                f"{self.describe_token()}; after createSubtree stands a label, or a tree with a foot, (NP NP@)"
            )
        first = self._name("createSubtree LABEL")
        last = self._name("createSubtree LABEL NAME") if self._argument_follows() else first
        return CreateSubtree((template,), first, last)

    def _if_exists(self) -> IfExists:
        negated = self.next.text == "not"
        if negated:
            self.take()
        if self.next.text != "exists":
            raise self.error(f"{self.describe_token()}; a condition is `if exists NAME OPERATION` or `if not exists …`")
        self.take()
        return IfExists(self._name("exists"), negated, self.operation())

    def _template(self, foot: str = "") -> Template:
        """Parse a tree. `foot`: the operation that needs a foot in it, and allows one."""
        start = self.next.column
        if self.next.kind != "tree":
            raise self.error(f"{self.describe_token()}; after {foot} stands a tree, such as (NP (JJ old) NP@)")
        reader = _TemplateParser(self.text, start)
        self.at = reader.stop
        self.next = _Token("tree", "(", start)
        self.take()
        if foot and reader.foot is None:
            raise self.error(f"the tree has no foot; mark one node with @, such as NP@, for {foot}", start)
        if reader.foot is not None and not foot:
            raise self.error("@ marks a foot, which only adjoin and createSubtree have; \\@ is the character", start)
        return Template(reader.root, tuple(reader.names), reader.foot)


class _TemplateParser:
    """Reads a tree from `start`: its root, the nodes with names, its foot, and where it ends."""

    def __init__(self, text: str, start: int):
        self.text = text
        self.names: list[tuple[str, EditNode]] = []
        self.foot: EditNode | None = None
        stack: list[EditNode | None] = []  # None: a bracket without a label yet
        root: EditNode | None = None
        at = start
        while at == start or stack:
            match = _TREE.match(text, at)
            if match is None:
                raise _bad_operation(text, start, "the bracket of this tree is never closed; a tree is (NP (NN dog))")
            kind, column, at = match.lastgroup, at, match.end()
            if kind == "open":
                if stack and stack[-1] is None:
                    raise _bad_operation(text, column, "a label belongs between two brackets, (NP (NN dog))")
                if stack and stack[-1] is self.foot:
                    raise _bad_operation(text, column, "the foot has children; it gets those of another node")
                stack.append(None)
            elif kind == "text":
                node = self._node(match[0], column, is_word=stack[-1] is not None)
                above = stack[-1]
                if above is not None:
                    if above is self.foot:
                        raise _bad_operation(text, column, "the foot has children; it gets those of another node")
                    above.insert(len(above.children), node)
                    continue
                stack[-1] = node
                outer = stack[-2] if len(stack) > 1 else None
                if outer is not None:
                    outer.insert(len(outer.children), node)
                root = root or node
            elif kind == "close":
                closed = stack.pop()
                if closed is None or (not closed.children and closed is not self.foot):
                    raise _bad_operation(text, column, "a bracket has no word and no node in it; a leaf is (TAG word)")
        assert root is not None
        self.root = root
        self.stop = at

    def _node(self, text: str, column: int, is_word: bool) -> EditNode:
        """A node from its text: the label, perhaps =name, perhaps @."""
        label, marked, name = text, False, None
        for _ in range(2):  # the marks stand in either order
            if label.endswith("@") and not _is_escaped(label, len(label) - 1):
                label, marked = label[:-1], True
            signs = (k for k in reversed(range(1, len(label))) if label[k] == "=" and not _is_escaped(label, k))
            equals = next(signs, 0)
            if equals and name is None:
                label, name = label[:equals], label[equals + 1 :]
                if name.endswith("@"):
                    name, marked = name[:-1], True
        if not label or (name is not None and _NAME.fullmatch(name) is None):
            raise _bad_operation(
                self.text,
                column,
                f"{text!r} is not a label, label=name or label@; \\= and \\@ stand for the characters",
            )
        node = EditNode(re.sub(r"\\(.)", r"\1", label), is_word and not marked)
        if marked:
            if self.foot is not None:
                raise _bad_operation(self.text, column, "the tree has two nodes with @; a tree has one foot")
            self.foot = node
        if name is not None:
            if name in dict(self.names):
                raise _bad_operation(self.text, column, f"the tree gives the name {name!r} twice")
            self.names.append((name, node))
        return node


def _is_escaped(text: str, index: int) -> bool:
    """Whether an odd number of backslashes stands before a character."""
    before = text[:index]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def names_problem(operations: Sequence[Operation], names: Sequence[str], variables: Sequence[str]) -> str | None:
    """The name or variable of operations that neither the pattern nor an operation before it defines, in a message."""
    known = list(names)
    for operation in operations:
        for name in operation.needed_names:
            if name not in known:
                given = f"the names are {', '.join(known)}" if known else "no node has a name, which NP=name gives"
                return f"the operations use the name {name!r}, which the pattern does not give; {given}"
        for variable in operation.variables:
            if variable not in variables:
                given = f"the variables are {', '.join(variables)}" if variables else "it has none, which NP#1%x gives"
                return f"the operations use the variable {variable!r}, which the pattern does not have; {given}"
        known += operation.new_names
    return None
