"""The only reader of text: tokens to int columns, with the tables that say which number means what."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import INDEX
from ..errors import TrainingDataError
from ..kernels.features import CLASS, PUNCT, SHAPE, TAG, TOKEN_COLUMNS, WORD
from ..symbols import SymbolTable
from .templates import Sizes

RARE = "*rare*"
PUNCTUATION_TAGS = frozenset({":", ",", ".", "``", "''"})

# Head-tag classes: groups of tags that behave alike (the 18 of the 2006 papers, and one each for newer tags).
TAG_CLASSES = {
    "CD": "CD LS",
    "CJ": "CC , :",
    "D": "DT PDT PRP$ WDT",
    "EOS": ".",
    "IN": "IN RP TO",
    "J": "JJ JJR JJS",
    "N": "$ NN NNS",
    "NP": "NNP NNPS",
    "P": "EX POS PRP WP WP$",
    "R": "RB RBR RBS WRB",
    "SCM": "`` '' -LRB- -RRB- -LSB- -RSB- -LCB- -RCB-",
    "SYM": "# SYM",
    "UH": "UH",
    "UK": "FW",
    "VBG": "VBG",
    "VBN": "VBN",
    "V": "MD VB VBD VBP VBZ",
}
_CLASS_OF_TAG = {tag: name for name, tags in TAG_CLASSES.items() for tag in tags.split()}

_BRACKETS = {
    "(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-",
}  # fmt: skip
_QUOTES = {'"': "''", "\u201c": "``", "\u201d": "''", "\u2018": "`", "\u2019": "'"}
_DIGIT = re.compile(r"\d")


def normal_word(word: str) -> str:
    """Lower case, digits as 0, brackets and quotes in one spelling: what word atoms compare."""
    if word in _BRACKETS:
        return _BRACKETS[word]
    word = _QUOTES.get(word, word).replace("\u2019", "'")
    return _DIGIT.sub("0", word.lower())


SHAPES = SymbolTable(("lower", "Capital", "UPPER", "miXed", "number", "number-mix", "hyphen", "symbol", "letter"))


def word_shape(word: str) -> str:
    """A coarse shape of a token (one of SHAPES)."""
    has_digit = any(c.isdigit() for c in word)
    has_alpha = any(c.isalpha() for c in word)
    if not has_alpha:
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


def tag_class(tag: str) -> str:
    """The class of a tag; a tag in no class is a class of its own."""
    return _CLASS_OF_TAG.get(tag, tag)


@dataclass(frozen=True)
class Lexicon:
    """The symbol tables of a model.

    `labels`: non-terminals, TOP last. `symbols`: labels, then tags (a node's label is a number in it). `words`: normal
    words, RARE first. `classes`: tag classes. `unknown_tag`: tag given to tokens whose tag was never seen.
    """

    labels: SymbolTable
    symbols: SymbolTable
    words: SymbolTable
    classes: SymbolTable
    unknown_tag: str

    @property
    def sizes(self) -> Sizes:
        return Sizes(len(self.symbols), len(self.words), len(self.classes), len(SHAPES))

    @property
    def tags(self) -> tuple[str, ...]:
        return self.symbols.strings[len(self.labels) :]

    def encode(self, words: Sequence[str], tags: Sequence[str]) -> np.ndarray:
        """Token columns (WORD, TAG, CLASS, SHAPE, PUNCT) as int32 of shape (n, TOKEN_COLUMNS), C order."""
        out = np.empty((len(words), TOKEN_COLUMNS), dtype=INDEX)
        n_labels = len(self.labels)
        word_number, symbol_number, class_number = self.words.number, self.symbols.number, self.classes.number
        unknown = symbol_number(self.unknown_tag)
        for t, (word, tag) in enumerate(zip(words, tags, strict=True)):
            symbol = symbol_number(tag)
            if symbol < n_labels:
                symbol, tag = unknown, self.unknown_tag
            out[t, WORD] = word_number(normal_word(word), 0)
            out[t, TAG] = symbol
            out[t, CLASS] = class_number(tag_class(tag))
            out[t, SHAPE] = SHAPES.number(word_shape(word))
            out[t, PUNCT] = 1 if tag in PUNCTUATION_TAGS else 0
        return out

    def to_dict(self) -> dict[str, Any]:
        return {
            "labels": list(self.labels),
            "tags": list(self.tags),
            "words": list(self.words),
            "unknown_tag": self.unknown_tag,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Lexicon:
        return cls.build(data["labels"], data["tags"], data["words"], data["unknown_tag"])

    @classmethod
    def build(cls, labels: Sequence[str], tags: Sequence[str], words: Sequence[str], unknown_tag: str) -> Lexicon:
        """Tables from lists. `labels` ends with TOP, `words` starts with RARE; a tag that is also a label is an
        error.
        """
        both = sorted(set(labels) & set(tags))
        if both:
            raise TrainingDataError(f"{', '.join(both)}: used both as a label and as a tag; rename one of them")
        if unknown_tag not in tags:
            raise TrainingDataError(f"the unknown tag {unknown_tag!r} is not among the tags")
        classes = SymbolTable(dict.fromkeys(tag_class(tag) for tag in tags))
        return cls(SymbolTable(labels), SymbolTable([*labels, *tags]), SymbolTable(words), classes, unknown_tag)

    def fingerprint(self) -> str:
        """Digest of all tables (16 hex digits)."""
        digest = hashlib.sha256()
        for part in (self.labels, self.symbols, self.words, self.classes, SHAPES, (self.unknown_tag,)):
            digest.update("\0".join(part).encode() + b"\1")
        return digest.hexdigest()[:16]


def frequent_words(sentences: Iterable[Sequence[str]], min_sentences: int) -> list[str]:
    """RARE and the normal words seen in at least `min_sentences` sentences, most frequent first, ties by spelling."""
    counts: dict[str, int] = {}
    for words in sentences:
        for word in {normal_word(word) for word in words}:
            counts[word] = counts.get(word, 0) + 1
    counts.pop(RARE, None)
    kept = [word for word, count in counts.items() if count >= min_sentences]
    return [RARE, *sorted(kept, key=lambda word: (-counts[word], word))]
