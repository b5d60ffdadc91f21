"""What parsers of all kinds share: the way to files and through pickles, and settings that are checked."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ..errors import DtparseError
from ..model.ahead import kernels_for
from ..model.container import container_digest
from ..model.kept import KeptInFile
from ..trees.transforms import Recipe, Removal
from ..trees.tree import Tree
from .calibration import CALIBRATION, Calibration, packaged
from .proofs import Proof, Strings, compare, sentences

P = TypeVar("P", bound="StoredParser")
Data = bytes | KeptInFile | None
"""The bytes that a model came from."""


class StoredParser(ABC):
    """A parser that `to_bytes` and `from_bytes` carry; `settings` are not part of the bytes, but of a pickle."""

    name: ClassVar[str]
    """The kind of its models; see `parsers.kinds`."""
    PROOF: ClassVar[Any]
    """The settings of proofs, all that matter by name: those of parsing may become others."""
    TOLERANCE: ClassVar[float] = 1e-6
    """How much a number of a proof may differ, relative to its size and 1: by what another processor rounds."""
    model: Any
    settings: Any
    _data: Data
    """The bytes that the model came from, if any: packing them again takes seconds."""

    FORMAT: ClassVar[tuple[Callable[[bytes], tuple[Any, list[Proof]]], Callable[[Any, Sequence[Proof]], bytes]]]
    """What reads a model and its proofs from a container, and what writes one of them."""

    def __init__(self, model: Any, settings: Any = None, data: Data = None):
        """A parser with a model; settings None: the usual ones. `data`: the bytes that the model came from."""
        self.model, self.settings, self._data = model, settings or type(self.PROOF)(), data

    @classmethod
    def from_bytes(cls: type[P], data: bytes, settings: Any = None, prove: bool = True) -> P:
        """A parser from the bytes of a model; its proofs are made again and compared, if `prove`.

        Raises ModelFormatError if the bytes are damaged or do not give what they gave where they were made, or have no
        proofs to show it.
        """
        with kernels_for(cls.name, 0) if prove else nullcontext():
            model, proofs = cls.FORMAT[0](data)
            parser = cls(model, settings, bytes(data))
            if prove:
                compare(proofs, parser._prover()._proof, cls.TOLERANCE)
        return parser

    def with_settings(self: P, **changes: Any) -> P:
        """A parser on the same model with other settings, by their names in the class of `settings`; None keeps what
        there is. Raises ConfigError for another name, or a value out of range."""
        return self._with(self.settings.with_given(**changes))

    def _with(self: P, settings: Any) -> P:
        """The same parser with these settings."""
        return type(self)(self.model, settings, self._data)

    @abstractmethod
    def _known(self) -> tuple[Strings, Strings]:
        """Words and tags that the model knows, for proofs; no tags where those of the Penn Treebank will do."""

    @abstractmethod
    def _proof(self, words: list[str], tags: list[str]) -> Proof:
        """By name the numbers that come out of a sentence, the same on every processor but for rounding."""

    @cached_property
    def known_tags(self) -> frozenset[str]:
        """The tags of words that the model knows; none where that cannot be told."""
        return frozenset(self._known()[1])

    @cached_property
    def calibration(self) -> Calibration | None:
        """What maps its probabilities to shares of right constituents and trees; None where the model has none. Raises
        ModelFormatError for one that is damaged."""
        stored = self.meta.get(CALIBRATION) or packaged().get(container_digest(self.to_bytes()))
        return None if stored is None else Calibration.from_dict(stored)

    @property
    def meta(self) -> dict[str, Any]:
        """Plain data about the model: treebanks, licence, scores."""
        return self.model.meta

    def _prover(self: P) -> P:
        """A parser with the settings of proofs."""
        return self if self.settings == self.PROOF else self._with(self.PROOF)

    def prove(self) -> list[Proof]:
        """Proofs for a file of the model; see `parsers.proofs`."""
        prover = self._prover()
        return [
            {"words": words, "tags": tags, **prover._proof(words, tags)} for words, tags in sentences(*self._known())
        ]

    def to_bytes(self) -> bytes:
        """The whole model as one container."""
        if self._data is None:
            self._data = self.FORMAT[1](self.model, self.prove())
        return bytes(self._data)

    def keep_in_file(self, path: Path) -> None:
        """Hold the bytes no longer, which are those of this file: they are read again when they are asked for, so the
        file must stay as it is. To be called before anyone else has the parser."""
        self._data = KeptInFile(path, self.to_bytes())

    @classmethod
    def from_disk(cls: type[P], path: str | Path, settings: Any = None) -> P:
        """A parser from a model file; see `from_bytes`."""
        return cls.from_bytes(Path(path).read_bytes(), settings)

    def to_disk(self, path: str | Path) -> None:
        """Write the model to a file."""
        Path(path).write_bytes(self.to_bytes())

    def __reduce__(self) -> tuple:
        return type(self).from_bytes, (self.to_bytes(), self.settings)


class RecipeParser(StoredParser):
    """A parser whose trees went through the preprocessing `model.recipe`, which is done to sentences and undone on
    parses."""

    def __init__(self, model: Any, settings: Any = None, data: Data = None):
        super().__init__(model, settings, data)
        self.recipe = Recipe(model.recipe)
        self._restores = any(step != "drop_repeated_unary" for step in self.recipe.steps)

    def _prepared(self, words: Sequence[str], tags: Sequence[str]) -> tuple[Removal, list[str], list[str]]:
        """(What preprocessing did, the words kept, their tags). Raises DtparseError as `check_sentence`."""
        check_sentence(words, tags)
        record = self.recipe.prepare(words, tags)
        return record, [words[k] for k in record.kept], [tags[k] for k in record.kept]

    def _restored(self, tree: Tree, scores: tuple[float, ...], record: Removal) -> tuple[Tree, tuple[float, ...]]:
        """The tree over all words; scores are not known where there are other constituents then."""
        if not self._restores:
            return tree, scores
        tree = self.recipe.restore(tree, record)
        return tree, scores if len(tree.labels) == len(scores) else (float("nan"),) * len(tree.labels)


def check_sentence(words: Sequence[str], tags: Sequence[str]) -> None:
    """Raise DtparseError unless there is a word, and a tag for each."""
    if len(words) != len(tags):
        raise DtparseError(f"{len(words)} words but {len(tags)} tags; give one tag per word")
    if not words:
        raise DtparseError("an empty sentence has no parse; give at least one word")
