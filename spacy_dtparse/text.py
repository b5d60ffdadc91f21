"""Words as text: as treebanks write them, as people type them, and what parsers look at.

All readers of treebanks and all features go through these functions, so that a parser learns the words that it will
meet.
"""

import re

from .errors import DtparseError
from .symbols import SymbolTable

_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_UNESCAPES = {escape: bracket for bracket, escape in _ESCAPES.items()}
_UNESCAPE = re.compile("|".join(_UNESCAPES))
_ESCAPE_ALL = str.maketrans(_ESCAPES)
_STRAIGHT = {"``": '"', "''": '"', "`": "'"}
_QUOTES = {'"': "''", "\u201c": "``", "\u201d": "''", "\u2018": "`", "\u2019": "'"}
_DIGIT = re.compile(r"\d")


def escape_token(word: str) -> str:
    """A word of running text as Penn treebanks write it: ( -> -LRB-, also inside a word; [ ] { } likewise."""
    return word.translate(_ESCAPE_ALL)


def unescape_token(word: str) -> str:
    """The reverse of `escape_token`: -LRB- -> (, -RSB- -> ], also inside a word."""
    return _UNESCAPE.sub(lambda match: _UNESCAPES[match[0]], word) if "-" in word else word


def without_backslashes(word: str) -> str:
    r"""A treebank's word without the backslashes of the Wall Street Journal part: 1\/2 is 1/2, \* is *."""
    return word.replace("\\/", "/").replace("\\*", "*") if "\\" in word else word


def raw_word(word: str) -> str:
    r"""A treebank's word as people type it: -LRB- is (, `` and '' are ", ` is ', 1\/2 is 1/2."""
    return _STRAIGHT.get(word) or without_backslashes(unescape_token(word))


def normal_word(word: str) -> str:
    """Lower case, digits as 0, brackets and quotes in one spelling: what features of words compare."""
    if word.isascii() and word.isalpha():
        return word.lower()
    if word in _ESCAPES:
        return _ESCAPES[word]
    word = _QUOTES.get(word, word).replace("\u2019", "'")
    return zero_digits(word.lower())


def zero_digits(word: str) -> str:
    """The word with its digits as 0."""
    return _DIGIT.sub("0", word)


SHAPES = SymbolTable(("lower", "Capital", "UPPER", "miXed", "number", "number-mix", "hyphen", "symbol", "letter"))


def word_shape(word: str) -> str:
    """A coarse shape of a token (one of SHAPES)."""
    if not word.isalpha():
        has_digit = any(map(str.isdigit, word))
        if not any(map(str.isalpha, word)):
            return "number" if has_digit else "symbol"
        if has_digit:
            return "number-mix"
    if len(word) == 1:
        return "letter"
    if "-" in word:
        return "hyphen"
    if word.islower():
        return "lower"
    if word.isupper():
        return "UPPER"
    if word[0].isupper() and word[1:].islower():
        return "Capital"
    return "miXed"


def affixes(word: str, length: int) -> tuple[str, str]:
    """The prefix and the suffix of so many characters; the whole word where it has no more."""
    return word[:length], word[-length:]


MOST_MARKS = 2000
"""Marks in a row of characters without white space that a tokenizer gets: these take it about a second."""
_LONG_RUN = re.compile(rf"\S{{{MOST_MARKS + 1},}}")


def check_text(text: str, where: str = "the text") -> None:
    """Raise DtparseError for a text that spaCy's tokenizer would not come back from: it looks at what stands between
    two spaces anew after each bracket, quote or emoji that it takes off, so its time grows with the square of these."""
    for run in _LONG_RUN.finditer(text):
        marks = sum(not character.isalnum() for character in run[0])
        if marks > MOST_MARKS:
            raise DtparseError(
                f"{where}: from character {run.start() + 1:,} on there are {len(run[0]):,} characters without white "
                f"space, {marks:,} of them marks (neither letters nor digits); spaCy's tokenizer takes at most "
                f"{MOST_MARKS:,} in sensible time. Put spaces between them, or leave them out"
            )
