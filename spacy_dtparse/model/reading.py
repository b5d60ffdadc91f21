"""Models of any kind in containers; reading checks the version, all fields, that they fit together, the fingerprint."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ..checks import shown
from ..errors import DtparseError, ModelFormatError
from .container import container_from_bytes, container_to_bytes, plain
from .schema import Schema

FETCH = "fetch or write it again"


class Storable(Protocol):
    """A model."""

    @property
    def meta(self) -> dict[str, Any]:
        """What it says about itself."""

    def fingerprint(self) -> str:
        """Digest of all that makes it up."""


def part_of(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays of one part of a model, whose names begin with the prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


M = TypeVar("M", bound=Storable)


@dataclass(frozen=True)
class ModelFormat(Generic[M]):
    """How models of a kind are kept in a container: `what` names them in messages. `parts`: plain data and arrays of a
    model, which `build` makes it of once they are as the `schema` has it."""

    kind: str
    version: int
    what: str
    parts: Callable[[M], tuple[dict[str, Any], dict[str, np.ndarray]]]
    build: Callable[[dict[str, Any], dict[str, np.ndarray]], M]
    schema: Schema
    compression: str = "lzma"

    def write(self, model: M, proofs: Sequence[dict[str, Any]] = ()) -> bytes:
        """The model as a container; equal models and proofs (see `parsers.proofs`) give equal bytes. Raises
        ModelFormatError for what `read` would refuse."""
        parts, arrays = self.parts(model)
        meta = {"version": self.version, "fingerprint": model.fingerprint(), "proofs": list(proofs), "meta": model.meta}
        meta = plain({**meta, **parts}, "meta")
        self._check(meta, arrays)
        return container_to_bytes(self.kind, meta, arrays, compression=self.compression)

    def _check(self, meta: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        fault = self.schema.fault(meta, arrays)
        if fault:
            raise ModelFormatError(f"malformed {self.what}: {fault}; {FETCH}")

    def read(self, data: bytes) -> tuple[M, list[dict[str, Any]]]:
        """The model of a container, and its proofs.

        Raises ModelFormatError if the bytes are no container of this kind, are damaged, of another version, hold
        anything but what the schema says, or do not have the fingerprint they name.
        """
        meta, arrays = container_from_bytes(data, self.kind)
        if meta.get("version") != self.version:
            raise ModelFormatError(
                f"the {self.what} has version {shown(meta.get('version'))}; this release reads version {self.version}: "
                "install the release that made it, or train it again"
            )
        self._check(meta, arrays)
        try:
            model = self.build(meta, arrays)
            fingerprint, named = model.fingerprint(), meta["fingerprint"]
        except ModelFormatError:
            raise
        except (DtparseError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            told = f"{type(error).__name__}: {error}"
            raise ModelFormatError(f"the model's parts do not fit together ({told}); {FETCH}") from error
        if fingerprint != named:
            raise ModelFormatError(
                f"the model has fingerprint {fingerprint}, but names {named!r}: it is damaged, or its tables mean "
                f"something else in this release; {FETCH}, or install the release that made it"
            )
        return model, meta["proofs"]
