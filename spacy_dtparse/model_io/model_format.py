"""Read and write models of any kind as containers. Reading checks the version, all fields, their consistency, and the
fingerprint."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ..checks import short_repr
from ..errors import DtparseError, ModelFormatError
from .container import container_from_bytes, container_to_bytes, plain
from .schema import Schema

FETCH = "fetch or write it again"


class Storable(Protocol):
    """A model that can be stored."""

    @property
    def meta(self) -> dict[str, Any]:
        """Metadata of the model."""

    def fingerprint(self) -> str:
        """Return the digest of the model's content."""


def part_of(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with the prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


M = TypeVar("M", bound=Storable)


@dataclass(frozen=True)
class ModelFormat(Generic[M]):
    """Storage format of one kind of model. `what`: its name in messages. `parts`: converts a model to plain data and
    arrays. `build`: the inverse, called after the `schema` has validated them."""

    kind: str
    version: int
    what: str
    parts: Callable[[M], tuple[dict[str, Any], dict[str, np.ndarray]]]
    build: Callable[[dict[str, Any], dict[str, np.ndarray]], M]
    schema: Schema
    compression: str = "lzma"

    def write(self, model: M, golden_parses: Sequence[dict[str, Any]] = ()) -> bytes:
        """Write the model as a container; equal models and golden parses (see `core.self_test`) give equal
        bytes. Raises ModelFormatError if `read` would reject the result."""
        parts, arrays = self.parts(model)
        meta = {
            "version": self.version,
            "fingerprint": model.fingerprint(),
            "proofs": list(golden_parses),
            "meta": model.meta,
        }
        meta = plain({**meta, **parts}, "meta")
        self._check(meta, arrays)
        return container_to_bytes(self.kind, meta, arrays, compression=self.compression)

    def _check(self, meta: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        fault = self.schema.fault(meta, arrays)
        if fault:
            raise ModelFormatError(f"malformed {self.what}: {fault}; {FETCH}")

    def read(self, data: bytes) -> tuple[M, list[dict[str, Any]]]:
        """Read the model of a container, and its golden parses (see `core.self_test`).

        Raises ModelFormatError if the bytes are not a container of this kind, are damaged, of another version, violate
        the schema, or do not match the fingerprint in them.
        """
        meta, arrays = container_from_bytes(data, self.kind)
        if meta.get("version") != self.version:
            raise ModelFormatError(
                f"the {self.what} has version {short_repr(meta.get('version'))}; this release reads version "
                f"{self.version}: install the release that wrote it, or train it again"
            )
        self._check(meta, arrays)
        try:
            model = self.build(meta, arrays)
            fingerprint, stated = model.fingerprint(), meta["fingerprint"]
        except ModelFormatError:
            raise
        except (DtparseError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            cause = f"{type(error).__name__}: {error}"
            raise ModelFormatError(f"the model's parts do not fit together ({cause}); {FETCH}") from error
        if fingerprint != stated:
            raise ModelFormatError(
                f"the model has fingerprint {fingerprint}, but states {stated!r}: it is damaged, or its tables have "
                f"another meaning in this release; {FETCH}, or install the release that wrote it"
            )
        return model, meta["proofs"]
