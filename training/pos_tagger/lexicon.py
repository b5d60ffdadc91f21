"""Word types with their network features, so that training needs no spaCy Docs."""

from __future__ import annotations

from typing import cast

import numpy as np
from spacy.attrs import NORM, ORTH
from spacy.language import Language
from spacy.tokenizer import Tokenizer

from training.pos_tagger.sentences import Sentence

_CURLY_DOUBLE = {"``": "“", "''": "”"}
_CURLY_SINGLE = {"``": "‘", "''": "’"}
_DASHES = {"--": "—"}


class Lexicon:
    """Numbers word types (a word and the NORM its tokenizer gave it) and holds their features.

    The features are those of spaCy's ``HashEmbedCNN.v2``: uint64 hashes of NORM, PREFIX, SUFFIX, SHAPE.
    """

    def __init__(self, nlp: Language) -> None:
        self._vocab = nlp.vocab
        self._rules = {
            tuple(piece[ORTH] for piece in pieces): tuple(piece.get(NORM) for piece in pieces)
            for pieces in cast(Tokenizer, nlp.tokenizer).rules.values()
        }
        self._longest = max((len(key) for key in self._rules), default=0)
        self._numbers: dict[tuple[str, str | None], int] = {}
        self._rows: list[tuple[int, int, int, int]] = []
        self._table: np.ndarray = np.zeros((0, 4), dtype=np.uint64)

    def __len__(self) -> int:
        return len(self._rows)

    def number(self, word: str, norm: str | None = None) -> int:
        """The number of a word; ``norm`` overrides the NORM that the vocabulary would give."""
        key = (word, norm)
        number = self._numbers.get(key)
        if number is None:
            lexeme = self._vocab[word]
            norm_hash = lexeme.norm if norm is None else self._vocab.strings.add(norm)
            number = self._numbers[key] = len(self._rows)
            self._rows.append((norm_hash, lexeme.prefix, lexeme.suffix, lexeme.shape))
        return number

    def table(self) -> np.ndarray:
        """Features of all types so far: uint64 [types, 4]."""
        if len(self._table) != len(self._rows):
            self._table = np.array(self._rows, dtype=np.uint64).reshape(-1, 4)
        return self._table

    def numbers(self, words: tuple[str, ...]) -> np.ndarray:
        """int32 [words]: the types of words as ``Doc(vocab, words)`` would have them."""
        return np.array([self.number(word) for word in words], dtype=np.int32)

    def tokenizer_numbers(self, words: tuple[str, ...]) -> np.ndarray:
        """int32 [words]: the same with the NORMs of the tokenizer's exceptions ("n't" has the norm "not")."""
        result = np.zeros(len(words), dtype=np.int32)
        start = 0
        while start < len(words):
            for size in range(min(self._longest, len(words) - start), 0, -1):
                norms = self._rules.get(words[start : start + size])
                if norms is not None:
                    break
            else:
                size, norms = 1, (None,)
            for offset, norm in enumerate(norms):
                result[start + offset] = self.number(words[start + offset], norm)
            start += size
        return result


def curly_words(sentence: Sentence) -> tuple[str, ...]:
    """The words with typographic quotes, apostrophes and dashes; tags tell opening from closing quotes."""
    words = []
    for word, tag in zip(sentence.words, sentence.tags, strict=True):
        if word == '"':
            word = _CURLY_DOUBLE.get(tag, word)
        elif word == "'":
            word = _CURLY_SINGLE.get(tag, "’")
        else:
            word = _DASHES.get(word, word).replace("'", "’")
        words.append(word)
    return tuple(words)


def title_words(sentence: Sentence) -> tuple[str, ...]:
    """The words with capitals as in English titles (short function words stay as they are)."""
    small = {"IN", "DT", "CC", "TO"}
    return tuple(
        word if tag in small or not word.islower() else word[:1].upper() + word[1:]
        for word, tag in zip(sentence.words, sentence.tags, strict=True)
    )
