"""What parsers of all kinds share: the way to files and through pickles, and settings that are checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from ..checks import Setting, check
from ..errors import ConfigError, DtparseError

P = TypeVar("P", bound="StoredParser")
S = TypeVar("S", bound="Settings")


class StoredParser(ABC):
    """A parser that `to_bytes` and `from_bytes` carry; `settings` are not part of the bytes, but of a pickle."""

    settings: Any
    _data: bytes | None
    """The bytes that the model came from, if any: packing them again takes seconds."""

    @classmethod
    @abstractmethod
    def from_bytes(cls: type[P], data: bytes, settings: Any = None) -> P:
        """A parser from the bytes of a model. Raises ModelFormatError if they are damaged."""

    @abstractmethod
    def _write(self) -> bytes:
        """The model packed into one container."""

    def to_bytes(self) -> bytes:
        """The whole model as one container."""
        if self._data is None:
            self._data = self._write()
        return self._data

    @classmethod
    def from_disk(cls: type[P], path: str | Path, settings: Any = None) -> P:
        """A parser from a model file; see `from_bytes`."""
        return cls.from_bytes(Path(path).read_bytes(), settings)

    def to_disk(self, path: str | Path) -> None:
        """Write the model to a file."""
        Path(path).write_bytes(self.to_bytes())

    def __reduce__(self) -> tuple:
        return type(self).from_bytes, (self.to_bytes(), self.settings)


def check_sentence(words: Sequence[str], tags: Sequence[str]) -> None:
    """Raise DtparseError unless there is a word, and a tag for each."""
    if len(words) != len(tags):
        raise DtparseError(f"{len(words)} words but {len(tags)} tags; give one tag per word")
    if not words:
        raise DtparseError("an empty sentence has no parse; give at least one word")


class Settings:
    """A base of frozen dataclasses of settings."""

    KIND = "parser"
    """What messages call them."""

    def with_changes(self: S, **changes: Any) -> S:
        """A copy with some settings changed. Raises ConfigError for an unknown name."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        unknown = sorted(set(changes) - set(names))
        if unknown:
            raise ConfigError(
                f"unknown {self.KIND} setting {', '.join(unknown)}; allowed are {', '.join(names)}"
            )
        return replace(self, **changes)  # type: ignore[type-var]

    def with_given(self: S, **changes: Any) -> S:
        """`with_changes` without what is None, which stays as it is."""
        return self.with_changes(**{name: value for name, value in changes.items() if value is not None})

    def check(self, **allowed: Setting) -> None:
        """Raise ConfigError unless these settings have values that are allowed."""
        check(self, allowed, self.KIND)
