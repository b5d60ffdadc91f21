"""The lexer of the query language: a pattern's text as tokens, each with its column."""

import re
from typing import NamedTuple

from ..errors import MAX_QUOTED, PatternError

NODE_ALLOWED = 'a node is a label, label|label, /regex/, "label", __ (any node), =name, ~name or a pattern in (…)'
RELATION_KINDS = ("relation", "chain", ":")
"""Kinds of tokens that are a relation to one node; `<...` is another kind, with several."""
RELATION_ALLOWED = (
    "relations are < > << >> <<< <= <, <- <1 <-1 >, >- >1 >-1 <: >: <<: >>: <<, <<- >>, >>- <# ># <<# >># $ $+ $- $++ "
    "$-- $. $, $.. $,, . , .. ,, == : <+(…) >+(…) .+(…) ,+(…) <...{…}"
)

MAX_DEPTH = 100
"""Maximum number of open brackets of a pattern, and of dicts and lists one inside the other."""
MAX_DIGITS = 9
"""Maximum number of digits of a number."""
MAX_NAMES = 1000
"""Maximum number of nodes with a name."""
MAX_REGEX = 10_000
"""Maximum number of characters of a regex."""

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<regex>/(?:[^/\\\n]|\\.)*/[a-z]*)"
    r'|(?P<quoted>"(?:[^"\\]|\\.)*")'
    r"|(?P<any>__(?![\w-]))"
    r"|(?P<root>_ROOT_(?![\w-]))"
    r"|(?P<literal>(?:[^\W\d_]|[^\x00-\x7f\s])(?:[\w'-]|[^\x00-\x7f\s])*|(?<!\w)[-*'`][\w*'`-]*)"
    r"|(?P<exactly><\.\.\.)"
    r"|(?P<chain>[<>.,]\+(?=\s*(?:[(\[]|!?\s*/)))"
    r"|(?P<relation>(?:<<<|[<>])(?:-?[0-9]+|(?:\s+-?|-\s+)[0-9]+(?![\w.,-]))"
    r"|<<<|<<[,`\#:-]|>>[,`\#:-]|<<|>>|[<>][,`\#:-]|<=|<|>"
    r"|[$%](?:\+\+|--|\.\.|,,|[+.,-])?|\.\.|,,|\.|,|==)"
    r"|(?P<name>=\s*\w[\w-]*)"
    r"|(?P<link>~\s*\w[\w-]*)"
    r"|(?P<group>\#\s*[0-9]+\s*%\s*\w[\w-]*)"
    r"|(?P<sign>[()\[\]{};!?|&@:])"
)


class PatternToken(NamedTuple):
    """A token: its kind (a group of `_TOKEN`, a sign itself, or "end"), its text and its column from 0."""

    kind: str
    text: str
    column: int

    @property
    def stop(self) -> int:
        """One past its last column."""
        return self.column + len(self.text)


def tokens(text: str) -> list[PatternToken]:
    """The tokens of a pattern, followed by one of kind "end". Raises PatternError for text that is no token."""
    found: list[PatternToken] = []
    column = 0
    while column < len(text):
        match = _TOKEN.match(text, column)
        if match is None:
            raise bad_pattern(text, column, _unknown(text, column))
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(PatternToken(match[0] if kind == "sign" else kind, match[0], column))
        column = match.end()
    found.append(PatternToken("end", "", len(text)))
    return found


def bad_pattern(text: str, column: int, problem: str) -> PatternError:
    """Create an error that shows the location in the pattern."""
    return PatternError(f"the pattern is wrong at column {column + 1}: {problem}\n{show_location(text, column)}")


def show_location(text: str, column: int) -> str:
    """Two lines: the text, or the part of a long one around the column, and a mark below the column."""
    first = max(column - MAX_QUOTED // 2, 0) if len(text) > MAX_QUOTED else 0
    shown = re.sub(r"\s", " ", text[first : first + MAX_QUOTED])
    before, after = "…" * (first > 0), "…" * (first + MAX_QUOTED < len(text))
    return f"  {before}{shown}{after}\n  {' ' * (column - first + len(before))}^"


def compile_regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a regex. Raises re.error, also for one that is too long or nests too deeply for Python."""
    if len(source) > MAX_REGEX:
        raise re.error(f"it has {len(source):,} characters; a regex has at most {MAX_REGEX:,}")
    try:
        return re.compile(source, flags)
    except (RecursionError, OverflowError) as error:
        raise re.error(
            "it nests too deeply" if isinstance(error, RecursionError) else f"a number is too large ({error})"
        ) from None


def _unknown(text: str, column: int) -> str:
    char = text[column]
    if char in '/"':
        return f"the {char} is never closed; write {char}…{char} on one line, and \\{char} for one inside it"
    if char == "#":
        return (
            "'#' begins a group after a label or regex, #1%name, several #1%a#2%b; relations to heads are <# ># <<# >>#"
        )
    if char in "=~":
        return f"{char!r} is not followed by a name; names are letters, digits and _"
    if char.isdigit() or char == "_":
        return f'a label does not begin with {char!r} here; put it in quotes, "{char}…", or write a regex, /^{char}…$/'
    if char == "+":
        return f"'+' belongs to $+, $++ or to a chain with a description in brackets, <+(VP); {RELATION_ALLOWED}"
    if char in "*+^\\":
        return (
            f'{char!r} is not allowed here in a label; put the label in quotes, "…{char}…"; for all labels that begin '
            "with NN write the regex /^NN/"
        )
    return f'{char!r} is no part of the language; put a label with it in quotes, "…{char}…"; {RELATION_ALLOWED}'
