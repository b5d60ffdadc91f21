"""What parsers of all kinds share: the way to files and through pickles, and settings that are checked."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ..checks import Setting, check
from ..errors import ConfigError, DtparseError
from .proofs import Proof, compare, sentences

P = TypeVar("P", bound="StoredParser")
S = TypeVar("S", bound="Settings")


class StoredParser(ABC):
    """A parser that `to_bytes` and `from_bytes` carry; `settings` are not part of the bytes, but of a pickle."""

    PROOF: ClassVar[Any]
    """The settings of proofs, all that matter by name: those of parsing may become others."""
    TOLERANCE: ClassVar[float] = 1e-6
    """How much a number of a proof may differ, relative to its size and 1: by what another processor rounds."""
    model: Any
    settings: Any
    _data: bytes | None
    """The bytes that the model came from, if any: packing them again takes seconds."""

    @abstractmethod
    def __init__(self, model: Any, settings: Any = None):
        """A parser with a model; settings None: the usual ones."""

    @classmethod
    @abstractmethod
    def from_bytes(cls: type[P], data: bytes, settings: Any = None) -> P:
        """A parser from the bytes of a model; its proofs, where it has some, are made again and compared.

        Raises ModelFormatError if the bytes are damaged or do not give what they gave where they were made.
        """

    @abstractmethod
    def _write(self) -> bytes:
        """The model packed into one container, with proofs."""

    @abstractmethod
    def _known(self) -> tuple[Sequence[str], Sequence[str]]:
        """Words and tags that the model knows, for proofs; no tags where those of the Penn Treebank will do."""

    @abstractmethod
    def _proof(self, words: list[str], tags: list[str]) -> Proof:
        """By name the numbers that come out of a sentence, the same on every processor but for rounding."""

    @property
    def meta(self) -> dict[str, Any]:
        """Plain data about the model: treebanks, licence, scores."""
        return self.model.meta

    def _prover(self: P) -> P:
        """A parser with the settings of proofs."""
        return self if self.settings == self.PROOF else type(self)(self.model, self.PROOF)

    def prove(self) -> list[Proof]:
        """Proofs for a file of the model; see `parsers.proofs`."""
        prover = self._prover()
        return [
            {"words": words, "tags": tags, **prover._proof(words, tags)} for words, tags in sentences(*self._known())
        ]

    def proven(self: P, proofs: Sequence[Proof]) -> P:
        """The parser itself. Raises ModelFormatError unless every proof comes out again."""
        if proofs:
            compare(proofs, self._prover()._proof, self.TOLERANCE)
        return self

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
            raise ConfigError(f"unknown {self.KIND} setting {', '.join(unknown)}; allowed are {', '.join(names)}")
        return replace(self, **changes)  # type: ignore[type-var]

    def with_given(self: S, **changes: Any) -> S:
        """`with_changes` without what is None, which stays as it is."""
        return self.with_changes(**{name: value for name, value in changes.items() if value is not None})

    def check(self, **allowed: Setting) -> None:
        """Raise ConfigError unless these settings have values that are allowed."""
        check(self, allowed, self.KIND)
