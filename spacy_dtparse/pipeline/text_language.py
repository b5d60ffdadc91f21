"""Checks that a pipeline, and a text, are in the language of a parser's model."""

from collections.abc import Sequence
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import spacy.lang
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import get_lang_class

from ..text import normal_word

MIN_WORDS = 8
"""Minimum number of words of a text before anything is said about its language."""
LANGUAGES = {
    "cs": "Czech", "da": "Danish", "de": "German", "en": "English", "es": "Spanish", "fi": "Finnish", "fr": "French",
    "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "nb": "Norwegian", "nl": "Dutch", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "sv": "Swedish", "tr": "Turkish",
}  # fmt: skip
"""Languages in Latin letters that a text is compared with: code -> name."""
_USUAL = 0.3
"""Minimum fraction of function words at which a text is in the model's language, whatever its other words are."""
_OTHER, _MORE = 0.25, 0.2
"""Minimum fraction of another language's function words, and its minimum excess over those of the model's language."""
_MIN_LEXICON = 10_000
"""Minimum number of words of a lexicon: a smaller one has too few of its language's words."""
_LARGE_LEXICON = 30_000
_UNKNOWN, _UNKNOWN_OF_SMALL = 0.3, 0.4
"""Minimum excess of unknown words over function words, for lexicons from _LARGE_LEXICON words and for smaller ones."""
_ANY_LANGUAGE = ("", "xx", "mul")


def language_name(code: str) -> str:
    """Return the name of a language, "en" -> "English"; the code itself if spaCy does not have the language."""
    if code in LANGUAGES:
        return LANGUAGES[code]
    try:
        return get_lang_class(code).__name__
    except ImportError:
        return repr(code)


def language_problem(model: str | None, pipeline: str | None) -> str:
    """Describe the problem if the language codes of a model and a pipeline are both known and differ ("en-GB" is "en");
    "" if not, or if the pipeline is for any language ("xx")."""
    code, other = ((one or "").lower().partition("-")[0].replace("no", "nb") for one in (model, pipeline))
    if code == other or code in _ANY_LANGUAGE or other in _ANY_LANGUAGE:
        return ""
    return (
        f"its model is for {language_name(code)} ({code!r}), and the pipeline's language is {language_name(other)} "
        f"({other!r}), so its output is likely wrong. Give it a model for {other!r}, config={{'model': "
        f"'path/to/model'}}, or use it in a pipeline for {code!r}, such as that of spacy_dtparse.load() for 'en'"
    )


class TextLanguage:
    """The language of a parser's model, and a test whether texts are in it.

    Words are tokens that begin with a letter, function words are spaCy's stop words. A text is in another language if
    fewer than 30 % of its words are function words of the model's language and

    - at least 25 % are function words of one of LANGUAGES (those of one letter do not count), and this fraction
      is greater by at least 20 points; or
    - the fraction of words that no lexicon of the pipeline's models has is greater than the fraction of function words
      by at least 30 points, or 40 points for lexicons of fewer than 30,000 words. Lexicons of fewer than 10,000 are not
      used.

    Nothing is said about texts of fewer than MIN_WORDS words, models without a language, and languages without stop
    words in spaCy. (docs/experiments/shipped.md has the rates of errors.)
    """

    def __init__(self, nlp: Language, parser: Any):
        self.code: str = parser.meta.get("lang") or ""
        self._function_words = _function_words(self.code)
        self._lexicons: list[Any] = []
        for one in [parser, *_models(nlp, self.code)]:
            for words in one.lexicons:
                self._lexicons.append(frozenset(words) if isinstance(words, list | tuple) else words)
        self._size = max(map(len, self._lexicons))

    @property
    def name(self) -> str:
        """Name of the model's language, "" if it is not known."""
        return language_name(self.code) if self.code else ""

    def words(self, doc: Doc) -> list[str]:
        """The words of a text that count: tokens that begin with a letter."""
        return [token.text for token in doc if token.text[:1].isalpha()]

    def foreign(self, words: Sequence[str]) -> str | None:
        """The code of the language that the words of a text look like, "" if it is none of LANGUAGES; None if they look
        like the model's language, or that cannot be said."""
        if not self._function_words:
            return None
        n = len(words)
        lower = [word.lower() for word in words]
        function_words = sum(word in self._function_words for word in lower)
        if n < MIN_WORDS or function_words >= _USUAL * n:
            return None
        lower = [word for word in lower if len(word) > 1]
        others = [code for code in LANGUAGES if code != self.code]
        count, code = max((sum(word in _function_words(other) for word in lower), other) for other in others)
        if count >= _OTHER * n and count - function_words >= _MORE * n:
            return code
        excess = _UNKNOWN if self._size >= _LARGE_LEXICON else _UNKNOWN_OF_SMALL
        if self._size < _MIN_LEXICON or sum(not self._is_known(word) for word in words) - function_words < excess * n:
            return None
        return ""

    def note(self, words: Sequence[str], text: str = "the text") -> str:
        """A sentence for the user if the words of a text are `foreign`, else "". `text`: its name."""
        code = self.foreign(words)
        if code is None:
            return ""
        looks = f"looks like {language_name(code)}, not {self.name}," if code else f"does not look like {self.name},"
        return f"{text} {looks} the language of the model; its trees are likely wrong"

    def _is_known(self, word: str) -> bool:
        normal = normal_word(word)
        return any(word in lexicon or normal in lexicon for lexicon in self._lexicons)


@lru_cache(maxsize=32)
def _function_words(code: str) -> frozenset[str]:
    """spaCy's stop words of a language; empty if it has none.

    Only their own module is imported: importing a language's package may need a second.
    """
    path = Path(spacy.lang.__file__).parent / code / "stop_words.py"
    if code and path.is_file():
        spec = spec_from_file_location(f"spacy_stop_words_{code}", path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            return frozenset(module.STOP_WORDS)
        except (ImportError, AttributeError):  # it needs the rest of its package
            pass
    try:
        return frozenset(get_lang_class(code).Defaults.stop_words)
    except ImportError:
        return frozenset()


def _models(nlp: Language, code: str) -> list[Any]:
    """The loaded models of this language in the components of a pipeline."""
    models = [getattr(pipe, "_loaded_parser", None) for _, pipe in nlp.pipeline]
    return [model for model in models if getattr(model, "meta", {}).get("lang") == code]
