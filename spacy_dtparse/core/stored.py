"""Base classes of all parsers: serialisation to files and pickles, and validated settings."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ..errors import DtparseError
from ..files import write_atomically
from ..jit.warmup import kernels_for
from ..model_io.container import container_digest, container_kind
from ..model_io.file_backed import FileBackedBytes
from ..trees.transforms import Recipe, Removal
from ..trees.tree import Tree
from .calibration import CALIBRATION, Calibration, packaged_calibrations
from .registry import SPAN_MODEL_ARRAY
from .self_test import GoldenParse, Strings, run_self_test, self_test_sentences

P = TypeVar("P", bound="StoredParser")
Data = bytes | FileBackedBytes | None
"""The bytes from which a model was loaded."""


class StoredParser(ABC):
    """A parser with `to_bytes` and `from_bytes`; a pickle contains the `settings`, the bytes do not."""

    name: ClassVar[str]
    """The kind of the parser's models; see `core.registry`."""
    SELF_TEST_SETTINGS: ClassVar[Any]
    """The settings of the self-test. All relevant ones are explicit, because the defaults for parsing may change."""
    TOLERANCE: ClassVar[float] = 1e-6
    """Allowed difference of a number of a golden parse, relative to 1 plus its size: processors round differently."""
    model: Any
    settings: Any
    _data: Data
    """The bytes from which the model was loaded, if any: packing them again takes seconds."""

    FORMAT: ClassVar[
        tuple[Callable[[bytes], tuple[Any, list[GoldenParse]]], Callable[[Any, Sequence[GoldenParse]], bytes]]
    ]
    """The function that reads a model and its golden parses from a container, and the one that writes them."""

    def __init__(self, model: Any, settings: Any = None, data: Data = None):
        """Create a parser for a model; settings None: the defaults. `data`: the bytes of the model, if any."""
        self.model, self.settings, self._data = model, settings or type(self.SELF_TEST_SETTINGS)(), data

    @classmethod
    def from_bytes(cls: type[P], data: bytes, settings: Any = None, self_test: bool = True) -> P:
        """Load a parser from the bytes of a model; if `self_test`, run the model's self-test.

        Raises ModelFormatError if the bytes are damaged, if the model does not reproduce its golden parses, or if it
        has none.
        """
        with kernels_for(cls.name, 0) if self_test else nullcontext():
            model, golden_parses = cls.FORMAT[0](data)
            parser = cls(model, settings, bytes(data))
            if self_test:
                run_self_test(golden_parses, parser._with_test_settings().golden_outputs, parser.tolerance)
        return parser

    def with_settings(self: P, **changes: Any) -> P:
        """Return a parser with the same model and other settings, by their names in the class of `settings`; None
        leaves a setting unchanged. Raises ConfigError for an unknown name, or a value out of range."""
        given = {name: value for name, value in changes.items() if value is not None}
        return self._with(self.settings.with_changes(**given))

    def _with(self: P, settings: Any) -> P:
        """Return a parser with the same model and these settings."""
        return type(self)(self.model, settings, self._data)

    @property
    def tolerance(self) -> float:
        """The `TOLERANCE` of this parser's model."""
        return self.TOLERANCE

    @property
    @abstractmethod
    def vocabulary(self) -> tuple[Strings, Strings]:
        """Return the words and tags of the model, for the self-test; no tags if Penn Treebank tags are suitable."""

    @abstractmethod
    def golden_outputs(self, words: list[str], tags: list[str]) -> GoldenParse:
        """Return the outputs for a sentence by name: numbers that differ between processors only by rounding."""

    @cached_property
    def known_tags(self) -> frozenset[str]:
        """The tags of words in the model's vocabulary; empty if the model does not list them."""
        return frozenset(self.vocabulary[1])

    @property
    def lexicons(self) -> tuple[Strings, ...]:
        """The words of the model, and of a model inside it; normalised as the features of each are."""
        return (self.vocabulary[0],)

    @cached_property
    def calibration(self) -> Calibration | None:
        """The map from the parser's raw probabilities to calibrated ones; None if the model has none. Raises
        ModelFormatError if it is damaged."""
        stored = self.meta.get(CALIBRATION) or packaged_calibrations().get(container_digest(self.to_bytes()))
        return None if stored is None else Calibration.from_dict(stored)

    @property
    def meta(self) -> dict[str, Any]:
        """Metadata of the model as plain data: treebanks, licence, scores."""
        return self.model.meta

    def _with_test_settings(self: P) -> P:
        """Return a parser with the settings of the self-test."""
        return self if self.settings == self.SELF_TEST_SETTINGS else self._with(self.SELF_TEST_SETTINGS)

    def make_golden_parses(self) -> list[GoldenParse]:
        """Return golden parses for a file of the model; see `core.self_test`."""
        parser = self._with_test_settings()
        return [
            {"words": words, "tags": tags, **parser.golden_outputs(words, tags)}
            for words, tags in self_test_sentences(*self.vocabulary)
        ]

    def to_bytes(self) -> bytes:
        """Serialise the whole model as one container."""
        if self._data is None:
            self._data = self.FORMAT[1](self.model, self.make_golden_parses())
        return bytes(self._data)

    def mmap_model(self, path: Path) -> None:
        """Drop the model's bytes, which must be those of this file, or of the span model inside it. They are read from
        the file again when needed, so the file must not change. Call this before the parser is shared."""
        data = path.read_bytes()
        file = FileBackedBytes(path, data)
        self._data = file if container_kind(data) == self.name else file.part(SPAN_MODEL_ARRAY)

    def replace_data(self, data: Data) -> None:
        """Use other bytes of the same model, such as a part of a file. Call this before the parser is shared."""
        self._data = data

    @classmethod
    def from_disk(cls: type[P], path: str | Path, settings: Any = None) -> P:
        """Load a parser from a model file; see `from_bytes`."""
        return cls.from_bytes(Path(path).read_bytes(), settings)

    def to_disk(self, path: str | Path) -> None:
        """Write the model to a file."""
        write_atomically(path, self.to_bytes())

    def __reduce__(self) -> tuple:
        return type(self).from_bytes, (self.to_bytes(), self.settings)


class RecipeParser(StoredParser):
    """A parser whose training trees were preprocessed by `model.recipe`. It applies the recipe to sentences and undoes
    it on parses."""

    def __init__(self, model: Any, settings: Any = None, data: Data = None):
        super().__init__(model, settings, data)
        self.recipe = Recipe(model.recipe)
        self._changes_trees = any(step != "drop_repeated_unary" for step in self.recipe.steps)

    def preprocess(self, words: Sequence[str], tags: Sequence[str]) -> tuple[Removal, list[str], list[str]]:
        """Preprocess a sentence: (record of the changes, remaining words, their tags). Raises as `check_sentence`."""
        check_sentence(words, tags)
        record = self.recipe.prepare(words, tags)
        return record, [words[k] for k in record.kept], [tags[k] for k in record.kept]

    def restore(self, tree: Tree, costs: tuple[float, ...], record: Removal) -> tuple[Tree, tuple[float, ...]]:
        """Return the tree over all words and its costs; nan for all if undoing the recipe changed their number."""
        if not self._changes_trees:
            return tree, costs
        tree = self.recipe.restore(tree, record)
        return tree, costs if len(tree.labels) == len(costs) else (float("nan"),) * len(tree.labels)


def check_sentence(words: Sequence[str], tags: Sequence[str]) -> None:
    """Raise DtparseError unless there is at least one word, and one tag per word."""
    if len(words) != len(tags):
        raise DtparseError(f"{len(words)} words but {len(tags)} tags; give one tag per word")
    if not words:
        raise DtparseError("an empty sentence has no parse; give at least one word")
