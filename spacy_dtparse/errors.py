"""Exceptions of the package. Every message states what was found, what is allowed and what to do next."""

__all__ = [
    "ConfigError", "ConstraintError", "DtparseError", "EditError", "MissingAnnotationError",
    "ModelFormatError", "NoNounChunksError", "NonConstituentError", "NotParsedError", "OtherPipelineError",
    "PatternError", "TrainingDataError", "TreeError", "TreeFormatError",
]  # fmt: skip


class DtparseError(ValueError):
    """Base class of all errors that spacy-dtparse raises on bad input."""


class TreeFormatError(DtparseError):
    """A bracketed tree is malformed; its location is in `path`, `line` and `column` (both counted from 1)."""

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None, column: int | None = None):
        self.path, self.line, self.column = path, line, column
        location = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(f"{location}: {message}" if location else message)


class PatternError(DtparseError):
    """A pattern of the query language, or one written as dicts, is malformed; the message shows where."""


class EditError(DtparseError):
    """An operation on a tree cannot be carried out, gives no tree, or is repeated without end."""


class TreeError(DtparseError):
    """A tree, a set of spans or a transform's record does not describe a well-formed constituent tree."""


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
