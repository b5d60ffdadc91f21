"""Bytes of models that stay in their file. The package's own models do: their files do not change, and together they
are tens of megabytes that hardly any process needs."""

from __future__ import annotations

from copy import copy
from pathlib import Path

from ..errors import ModelFormatError
from .container import HEADER_SIZE, container_from_bytes, container_kind


class KeptInFile:
    """The bytes of a model, which `bytes()` reads from its file whenever they are asked for.

    `data`: what the file has now. The file must stay as it is: another model in it raises ModelFormatError.
    """

    def __init__(self, path: Path, data: bytes):
        self._path, self._size, self._header, self._array = path, len(data), data[:HEADER_SIZE], ""

    def part(self, array: str) -> KeptInFile:
        """The same for an array of the container."""
        found = copy(self)
        found._array = array
        return found

    def __bytes__(self) -> bytes:
        """The bytes. Raises ModelFormatError where the file is gone or has another model."""
        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise ModelFormatError(f"cannot read the model file {self._path}: {error.strerror or error}") from error
        if len(data) != self._size or data[:HEADER_SIZE] != self._header:  # the header has a digest of the content
            raise ModelFormatError(f"{self._path} has another model now; load it again")
        if not self._array:
            return data
        return container_from_bytes(data, container_kind(data))[1][self._array].tobytes()
