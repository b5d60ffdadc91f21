"""Text of words: as treebanks write it, as people type it, and normalised for features.

All treebank readers and all features use these functions, so a parser is trained on the same words that it will parse.
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
    """Write a word of running text as Penn treebanks do: ( -> -LRB-, also inside a word; [ ] { } likewise."""
    return word.translate(_ESCAPE_ALL)


def unescape_token(word: str) -> str:
    """Reverse `escape_token`: -LRB- -> (, -RSB- -> ], also inside a word."""
    return _UNESCAPE.sub(lambda match: _UNESCAPES[match[0]], word) if "-" in word else word


def remove_backslashes(word: str) -> str:
    r"""Remove the backslashes that the Wall Street Journal treebank has before / and *: 1\/2 -> 1/2, \* -> *."""
    return word.replace("\\/", "/").replace("\\*", "*") if "\\" in word else word


def read_word(word: str) -> str:
    r"""Read a word that may be escaped as in treebanks: -LRB- -> (, 1\/2 -> 1/2, \* -> *.

    Quotes stay as they are: `` and '' say more than ", and models know both. All features of words read them with this
    function, so that a word has the same features from a Doc, a file and a direct call of a parser.
    """
    return remove_backslashes(unescape_token(word))


def raw_word(word: str) -> str:
    r"""Write a treebank's word as people type it: as `read_word` does, and `` and '' -> ", ` -> '."""
    return _STRAIGHT.get(word) or read_word(word)


def normal_word(word: str) -> str:
    """Normalise a word for features: lower case, digits as 0, brackets and quotes in one spelling, no backslashes of
    treebanks."""
    if word.isascii() and word.isalpha():
        return word.lower()
    word = read_word(word)
    if word in _ESCAPES:
        return _ESCAPES[word]
    word = _QUOTES.get(word, word).replace("\u2019", "'")
    return zero_digits(word.lower())


def zero_digits(word: str) -> str:
    """Replace each digit by 0."""
    return _DIGIT.sub("0", word)


SHAPES = SymbolTable(("lower", "Capital", "UPPER", "miXed", "number", "number-mix", "hyphen", "symbol", "letter"))


def word_shape(word: str) -> str:
    """The coarse shape of a token, one of SHAPES; escaped brackets count as brackets."""
    if not word.isalpha():
        word = read_word(word)
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
    """The prefix and the suffix of `length` characters; both are the word itself if it is no longer than that."""
    return word[:length], word[-length:]


MAX_MARKS = 2000
"""Maximum number of marks (neither letters nor digits) in a run of characters without white space; spaCy's tokenizer
takes about a second for so many."""
_LONG_RUN = re.compile(rf"\S{{{MAX_MARKS + 1},}}")


def check_text(text: str, where: str = "the text") -> None:
    """Raise DtparseError for a text on which spaCy's tokenizer would hang: after each bracket, quote or emoji that it
    splits off it examines the rest up to the next space again, so its time is quadratic in their number."""
    for run in _LONG_RUN.finditer(text):
        marks = sum(not character.isalnum() for character in run[0])
        if marks > MAX_MARKS:
            raise DtparseError(
                f"{where}: starting at character {run.start() + 1:,} there are {len(run[0]):,} characters without "
                f"white space, {marks:,} of them marks (neither letters nor digits); spaCy's tokenizer can process at "
                f"most {MAX_MARKS:,} in reasonable time. Put spaces between them, or remove them"
            )
