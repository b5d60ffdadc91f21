"""Map words to a closed set of classes: frequent words to themselves, all others by their form.

A generative model emits classes. A frequent word is its own class, with digits written as 0 and, at the beginning of a
sentence, in lower case if that form is known. Any other word gets the most specific of its *signatures* that was
frequent enough in training: flags (capital, capital at the beginning of a sentence, all capitals, digits, hyphen, no
letter) with its last three, two, one or no letters; the last resort is UNKNOWN. The useful endings are thus learned;
nothing here is specific to English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from ..dtypes import INDEX
from ..symbols import SymbolTable
from ..text import read_word, zero_digits

UNKNOWN = "*unknown*"
SUFFIX_LENGTHS = (3, 2, 1)
_DIGIT = re.compile(r"\d")


def signatures(word: str, first: bool) -> list[str]:
    """Return the signatures of a word, from the most specific to UNKNOWN; `first`: it begins the sentence."""
    letters = [c for c in word if c.isalpha()]
    flags = ""
    if not letters:
        flags += "s"
    elif all(c.isupper() for c in letters) and len(letters) > 1:
        flags += "A"
    elif word[0].isupper():
        flags += "i" if first else "C"
    elif any(c.isupper() for c in letters):
        flags += "m"
    flags += "d" if _DIGIT.search(word) else ""
    flags += "-" if "-" in word[1:-1] else ""
    ending = word.lower()
    ends = [f"*{flags}*{ending[-n:]}" for n in SUFFIX_LENGTHS if len(word) > n + 1 and ending[-n:].isalpha()]
    return [*ends, f"*{flags}*", UNKNOWN]


class WordClasses:
    """The word classes of a model. `classes`: all of them; names that begin with * are signatures.

    A treebank word that begins with * is treated as a rare word, so it cannot be confused with a signature.
    """

    __slots__ = ("classes",)

    def __init__(self, classes: Iterable[str]):
        self.classes = SymbolTable(classes)

    def __len__(self) -> int:
        return len(self.classes)

    def class_of(self, word: str, first: bool) -> int:
        """Return the id of the class of a word, which may be escaped (see `read_word`)."""
        word = read_word(word)
        class_id = self.word_id(word, first)
        return class_id if class_id >= 0 else self.signature_id(word, first)

    def word_id(self, word: str, first: bool) -> int:
        """Return the id of the class that is the word itself, -1 if there is none."""
        plain = zero_digits(word)
        if plain.startswith("*"):
            return -1
        if first:
            class_id = self.classes.id_of(plain.lower())
            if class_id >= 0:
                return class_id
        return self.classes.id_of(plain)

    def signature_id(self, word: str, first: bool) -> int:
        """Return the id of the word's most specific signature that is a class."""
        for signature in signatures(word, first):
            class_id = self.classes.id_of(signature)
            if class_id >= 0:
                return class_id
        return self.classes.id_of(UNKNOWN)

    def encode(self, words: Sequence[str]) -> np.ndarray:
        """Return the classes of a sentence's words, int32 (n,)."""
        return np.array([self.class_of(word, index == 0) for index, word in enumerate(words)], dtype=INDEX)

    @classmethod
    def learn(
        cls, sentences: Iterable[Sequence[str]], min_word_count: int = 3, min_signature_count: int = 5
    ) -> WordClasses:
        """Learn the classes from training sentences: words that occur at least `min_word_count` times, and signatures
        that are the most specific frequent signature of at least `min_signature_count` rare tokens."""
        sentences = list(sentences)
        inside = {zero_digits(word) for words in sentences for word in words[1:]}
        counts: Counter[str] = Counter()
        for words in sentences:
            for index, word in enumerate(words):
                plain = zero_digits(word)
                counts[plain.lower() if index == 0 and plain.lower() in inside else plain] += 1
        known = sorted(w for w, n in counts.items() if n >= min_word_count and not w.startswith("*"))
        words_only = cls(known)
        rare = [
            signatures(word, index == 0)
            for words in sentences
            for index, word in enumerate(words)
            if words_only.word_id(word, index == 0) < 0
        ]
        # Only the tokens without a longer frequent ending count for a signature.
        signature_classes: list[str] = []
        for length in SUFFIX_LENGTHS:
            level: Counter[str] = Counter()
            for names in rare:
                level.update(name for name in names if len(name.rpartition("*")[2]) == length and name != UNKNOWN)
            new = {name for name, n in level.items() if n >= min_signature_count}
            signature_classes += sorted(new)
            rare = [names for names in rare if not new.intersection(names)]
        level = Counter(names[-2] for names in rare)
        signature_classes += sorted(name for name, n in level.items() if n >= min_signature_count)
        return cls([*known, *signature_classes, UNKNOWN])
