"""Treebank words as spaCy's tokenizer would split them ("T-cell" as "T", "-", "cell"), with guessed tags.

GENIA, the Wall Street Journal and part of MASC keep hyphenated words whole; CRAFT and GUM split them and tag
the hyphen HYPH. Users' texts come from spaCy's tokenizer, which splits most of them. Showing the tagger some
sentences in that tokenization keeps it from meeting split words in unknown surroundings. A part gets its most
frequent tag in treebanks that split; only hyphens and last parts are certain enough to be set by rule.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from spacy.tokenizer import Tokenizer

from training.tagging.sentences import Sentence

_NOMINAL = frozenset({"NN", "NNS", "NNP", "NNPS"})
_MODIFIER = frozenset({"JJ", "VBN", "VBG", "NN", "CD", "RB", "IN"})


class WordSplitter:
    """Splits words with a spaCy tokenizer and guesses the tags of the parts.

    ``evidence`` are tagged sentences whose most frequent tag per word decides about parts.
    """

    def __init__(self, tokenizer: Tokenizer, evidence: Iterable[Sentence]) -> None:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for sentence in evidence:
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                counts[word][tag] += 1
        # Equal counts: the alphabetically first tag, so that the order of the evidence does not matter.
        self._majority = {
            word: min(tags.items(), key=lambda item: (-item[1], item[0]))[0] for word, tags in counts.items()
        }
        self._tokenizer = tokenizer
        self._pieces: dict[str, tuple[str, ...]] = {}

    def pieces(self, word: str) -> tuple[str, ...]:
        """The word as the tokenizer splits it."""
        pieces = self._pieces.get(word)
        if pieces is None:
            pieces = self._pieces[word] = tuple(token.text for token in self._tokenizer(word))
        return pieces

    def split(self, sentence: Sentence) -> Sentence | None:
        """The sentence with hyphenated words split, or None when there are none.

        Only words with an inner hyphen are split: what else the tokenizer takes apart (units, full stops of
        abbreviations) has no tag that could be guessed well.
        """
        words: list[str] = []
        tags: list[str] = []
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            pieces = self.pieces(word) if "-" in word[1:-1] else (word,)
            words.extend(pieces)
            tags.extend((tag,) if len(pieces) == 1 else self._tags(pieces, tag))
        return Sentence(tuple(words), tuple(tags)) if len(words) > len(sentence.words) else None

    def _tags(self, pieces: tuple[str, ...], whole: str) -> list[str]:
        result = [self._guess(piece) for piece in pieces]
        last = len(pieces) - 1
        if result[last] != "HYPH":
            if whole in _NOMINAL or (whole not in {"JJ", "CD"}):
                result[last] = whole
            elif result[last] not in _MODIFIER:
                result[last] = "JJ"
        return result

    def _guess(self, piece: str) -> str:
        if piece in {"-", "–", "‐"}:
            return "HYPH"
        for form in (piece, piece.lower()):
            if form in self._majority:
                return self._majority[form]
        return "CD" if piece[0].isdigit() else "NN"
