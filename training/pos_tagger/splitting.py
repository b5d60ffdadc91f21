"""Treebank words as spaCy's tokenizer would split them ("T-cell" as "T", "-", "cell"), with guessed tags.

GENIA, the Wall Street Journal and part of MASC keep hyphenated words whole; CRAFT and GUM, and spaCy's tokenizer in
users' texts, split most of them. Sentences split like that keep the tagger from meeting such words in unknown
surroundings, and the senter from ending a sentence after "Fig" + ".". A part gets its most frequent tag in treebanks
that split; only signs and last parts are certain enough to be set by rule.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache

from spacy.tokenizer import Tokenizer

from training.pos_tagger.treebanks import Sentence

_SIGN_TAGS = {"-": "HYPH", "–": "HYPH", "‐": "HYPH", "/": "HYPH", "+": "SYM", "'": "SYM", "°": "NN", ".": "."}
_INNER = re.compile(r"[-.,]")  # may stand inside a piece: "IL-2", "r.m.s", "1,000"
_MODIFIER = frozenset({"JJ", "VBN", "VBG", "NN", "CD", "RB", "IN"})


class WordSplitter:
    """Splits words with a spaCy tokenizer and guesses the tags of the parts. ``evidence`` are tagged sentences whose
    most frequent tag per word decides about parts."""

    def __init__(self, tokenizer: Tokenizer, evidence: Iterable[Sentence]) -> None:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for sentence in evidence:
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                counts[word][tag] += 1
        # Equal counts: the alphabetically first tag, so that the order of the evidence does not matter.
        self._majority = {
            word: min(tags.items(), key=lambda item: (-item[1], item[0]))[0] for word, tags in counts.items()
        }
        self._pieces = cache(lambda word: tuple(token.text for token in tokenizer(word)))

    def split(self, sentence: Sentence) -> Sentence | None:
        """The sentence with its words split, or None when none of them is. Words are split at hyphens, slashes and a
        few signs ("Ca2+", "5'") and before a final full stop ("Fig."): users' texts often differ from treebanks there,
        and the tags can be guessed."""
        words: list[str] = []
        tags: list[str] = []
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            pieces = self._pieces(word)
            split = len(pieces) > 1 and _splittable(pieces)
            words += pieces if split else [word]
            tags += self._tags(pieces, tag) if split else [tag]
        return Sentence(tuple(words), tuple(tags)) if len(words) > len(sentence.words) else None

    def _tags(self, pieces: tuple[str, ...], whole: str) -> list[str]:
        result = [self._guess(piece, whole) for piece in pieces]
        last = max(number for number, piece in enumerate(pieces) if piece not in _SIGN_TAGS)
        if whole not in {"JJ", "CD"} or "-" not in pieces:
            result[last] = whole
        elif result[last] not in _MODIFIER:
            result[last] = "JJ"
        return result

    def _guess(self, piece: str, whole: str) -> str:
        known = _SIGN_TAGS.get(piece) or self._majority.get(piece) or self._majority.get(piece.lower())
        if known or piece[0].isdigit():
            return known or "CD"
        return "NNP" if whole in {"NNP", "NNPS"} and piece[0].isupper() else "NN"


def _splittable(pieces: tuple[str, ...]) -> bool:
    if (pieces[0] in _SIGN_TAGS and pieces[0] != "°") or ("'" in pieces and not pieces[0][-1].isdigit()):
        return False  # "'ve" on its own, "an'": a text would have them in one piece with their neighbours
    return all(piece in _SIGN_TAGS or _INNER.sub("", piece).isalnum() for piece in pieces)
