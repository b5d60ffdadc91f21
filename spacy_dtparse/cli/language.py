"""A warning of a command if a text is not in the language of the parser's model."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from .pipelines import get_component

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_MIN_FRACTION = 0.01
"""Minimum fraction of the texts so far for a warning: among many texts, one or two are foreign by mistake."""
_MANY_WORDS = 20
"""Number of words of several short texts that are checked together."""


class LanguageWarning:
    """Checks the texts of a command one after the other, and warns once; texts that are too short alone are checked
    together."""

    def __init__(self, nlp: Language):
        from ..pipeline.text_language import MIN_WORDS, TextLanguage

        self._language = TextLanguage(nlp, get_component(nlp).parser)
        self._min_words = MIN_WORDS
        self._n_texts = self._n_foreign = 0
        self._short: list[str] = []
        self._first_short = ""
        self._warned = False

    def check(self, doc: Doc, name: str = "the text") -> None:
        """Warn if a text, and 1 % of the texts so far, are foreign. `name`: of the text, for the message."""
        words = self._language.words(doc)
        if len(words) >= self._min_words:
            self._check(words, name)
            return
        self._first_short = self._first_short if self._short else name
        self._short += words
        if len(self._short) >= _MANY_WORDS:
            self.end()

    def end(self) -> None:
        """Check the short texts that are left."""
        words, self._short = self._short, []
        self._check(words, self._first_short)

    def _check(self, words: list[str], name: str) -> None:
        self._n_texts += 1
        note = self._language.note(words, name)
        self._n_foreign += bool(note)
        if note and not self._warned and self._n_foreign >= _MIN_FRACTION * self._n_texts:
            self._warned = True
            warnings.warn(note, stacklevel=3)
