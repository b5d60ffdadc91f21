"""The only reader of text: tokens to int columns, with the tables that say which number means what."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dtypes import INDEX
from ...errors import TrainingDataError
from ...kernels.trees.features import TOKEN_COLUMNS
from ...symbols import SymbolTable
from ...text import SHAPES, normal_word, word_shape
from .templates import Sizes

RARE = "*rare*"
_REMEMBERED = 50_000
"""Words whose numbers are remembered; then all are forgotten, so that memory stays bounded."""
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
    _of_word: dict[str, tuple[int, int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _of_tag: dict[str, tuple[int, int, int]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def sizes(self) -> Sizes:
        return Sizes(len(self.symbols), len(self.words), len(self.classes), len(SHAPES))

    @property
    def tags(self) -> tuple[str, ...]:
        return self.symbols.strings[len(self.labels) :]

    def encode(self, words: Sequence[str], tags: Sequence[str]) -> np.ndarray:
        """Token columns (WORD, TAG, CLASS, SHAPE, PUNCT: `kernels.trees.features`), int32 (n, TOKEN_COLUMNS)."""
        of_word, of_tag = self._of_word, self._of_tag
        rows = []
        for word, tag in zip(words, tags, strict=True):
            first, second = of_word.get(word), of_tag.get(tag)
            if first is None:
                first = self._word(word)
            if second is None:
                second = self._tag(tag)
            rows.append((first[0], second[0], second[1], first[1], second[2]))
        return np.array(rows, dtype=INDEX).reshape(len(rows), TOKEN_COLUMNS)

    def _word(self, word: str) -> tuple[int, int]:
        """(WORD, SHAPE) of a word, which is remembered."""
        if len(self._of_word) >= _REMEMBERED:
            self._of_word.clear()
        found = self.words.number(normal_word(word), 0), SHAPES.number(word_shape(word))
        self._of_word[word] = found
        return found

    def _tag(self, tag: str) -> tuple[int, int, int]:
        """(TAG, CLASS, PUNCT) of a tag, which is remembered."""
        if len(self._of_tag) >= _REMEMBERED:
            self._of_tag.clear()
        known, symbol = tag, self.symbols.number(tag)
        if symbol < len(self.labels):
            known, symbol = self.unknown_tag, self.symbols.number(self.unknown_tag)
        punctuation = 1 if known in PUNCTUATION_TAGS else 0
        found = symbol, self.classes.number(tag_class(known)), punctuation
        self._of_tag[tag] = found
        return found

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
        """Tables from lists. `labels` ends with TOP, `words` starts with RARE; no tag may also be a label."""
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
