"""What reading a model of any kind checks: its version, that its parts fit together, and its fingerprint."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from ..errors import DtparseError, ModelFormatError
from .container import container_from_bytes

FETCH = "fetch or write it again"


class Fingerprinted(Protocol):
    """A model."""

    def fingerprint(self) -> str:
        """Digest of all that makes it up."""


M = TypeVar("M", bound=Fingerprinted)
Build = Callable[[dict[str, Any], dict[str, np.ndarray]], M]


def read_checked(data: bytes, kind: str, version: int, what: str, build: Build[M]) -> tuple[M, list[dict[str, Any]]]:
    """The model that `build` makes of a container's (meta, arrays), and its proofs (see `parsers.proofs`), none in a
    file of an earlier version. `what` names it in messages.

    Raises ModelFormatError if the bytes are no container of this kind, are damaged, of another version, or do not have
    the fingerprint they name.
    """
    meta, arrays = container_from_bytes(data, kind)
    if meta.get("version") != version:
        raise ModelFormatError(
            f"the {what} has version {meta.get('version')!r}; this release reads version {version}: install the "
            "release that made it, or train it again"
        )
    try:
        model = build(meta, arrays)
        fingerprint, named = model.fingerprint(), meta["fingerprint"]
        proofs = [dict(proof) for proof in meta.get("proofs", [])]
    except ModelFormatError:
        raise
    except (DtparseError, KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFormatError(
            f"the model's parts do not fit together ({type(error).__name__}: {error}); {FETCH}"
        ) from error
    if fingerprint != named:
        raise ModelFormatError(
            f"the model has fingerprint {fingerprint}, but names {named!r}: it is damaged, or its tables mean "
            f"something else in this release; {FETCH}, or install the release that made it"
        )
    return model, proofs
