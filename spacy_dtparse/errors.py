"""Exceptions of the package. Every message states what was found, what is allowed and what to do next."""

import re

__all__ = [
    "ConfigError", "ConstraintError", "DtparseError", "EditError", "MissingAnnotationError",
    "ModelFormatError", "NoNounChunksError", "NonConstituentError", "NotParsedError", "OtherPipelineError",
    "OverloadedError", "PatternError", "SearchLimitError", "SpanGroupError", "TrainingDataError", "TreeError",
    "TreeFormatError",
]  # fmt: skip


MAX_QUOTED = 200
"""Maximum number of characters that a message quotes at one place."""
_MAX_MESSAGE = 5000
"""Number of characters at each end of a longer message that are kept."""
# A quote after a letter ends a quotation, or is an apostrophe.
_LONG_QUOTE = re.compile(rf"(?<!\w)(['\"])((?:(?!\1)[^\n]){{{MAX_QUOTED}}})(?:(?!\1)[^\n])+\1")
_LONG_WORD = re.compile(rf"(\S{{{MAX_QUOTED}}})\S+")


def _with_short_quotes(message: str) -> str:
    """Shorten the quoted texts and the stretches without a space of a message."""
    if len(message) <= MAX_QUOTED:
        return message
    if len(message) > 2 * _MAX_MESSAGE:
        message = f"{message[:_MAX_MESSAGE]}…{message[-_MAX_MESSAGE:]}"
    return _LONG_WORD.sub(r"\1…", _LONG_QUOTE.sub(r"\1\2…\1", message))


def shorten(text: str, max_length: int = MAX_QUOTED) -> str:
    """The beginning of a text, for a message or a line."""
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


class DtparseError(ValueError):
    """Base class of all errors that spacy-dtparse raises on bad input. Messages quote at most 200 characters of it."""

    def __init__(self, message: object = ""):
        super().__init__(_with_short_quotes(str(message)))


class TreeFormatError(DtparseError):
    """A bracketed tree is malformed; its location is in `path`, `line` and `column` (both counted from 1)."""

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None, column: int | None = None):
        self.path, self.line, self.column = path, line, column
        location = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(f"{location}: {message}" if location else message)


class PatternError(DtparseError):
    """A pattern of the query language, or one written as dicts, is malformed; the message shows where."""


class SearchLimitError(DtparseError):
    """The search for a pattern in a tree took longer than `timeout`, or found more than `max_matches`."""


class OverloadedError(DtparseError):
    """A request that the page cannot answer now. `retry_after`: seconds after which it may be sent again."""

    def __init__(self, message: str, retry_after: int = 1):
        super().__init__(message)
        self.retry_after = retry_after


class EditError(DtparseError):
    """An operation on a tree cannot be carried out, gives no tree, or is repeated without end."""


class TreeError(DtparseError):
    """A tree, a set of spans or a transform's record does not describe a well-formed constituent tree."""


class SpanGroupError(TreeError):
    """An attribute of a span group of constituents has a value that no parser writes; the message names it."""


class ModelFormatError(DtparseError):
    """A model file is damaged, truncated, foreign, or of a version that this release cannot read."""


class ConfigError(DtparseError):
    """A setting is unknown or has a value that is not allowed, or a file of settings cannot be read."""


class ConstraintError(DtparseError):
    """Constraints on a tree contradict each other or do not fit the parser or the Doc; the message names them."""


class TrainingDataError(DtparseError):
    """Training data cannot be used without changes."""


class MissingAnnotationError(DtparseError):
    """A Doc lacks annotation that parsing needs, such as tags."""


class NotParsedError(DtparseError):
    """A Doc has no constituents, or they no longer fit its tokens."""


class NoNounChunksError(NotParsedError, NotImplementedError):
    """A Doc without constituents has no noun chunks, in a language for which spaCy has none either; also a
    NotImplementedError, since spaCy raises that for such languages."""


class NonConstituentError(DtparseError):
    """A span is neither a constituent nor a single token."""


class OtherPipelineError(DtparseError):
    """A Doc was parsed by another pipeline than the one given."""
