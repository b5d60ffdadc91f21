"""Bytes of models that are read from their file only when needed. This is used for the models that ship with the
package: their files do not change, and few processes need these tens of megabytes."""

from __future__ import annotations

from copy import copy
from pathlib import Path

from ..errors import ModelFormatError
from .container import HEADER_SIZE, container_from_bytes, container_kind


class FileBackedBytes:
    """The bytes of a model; each call of `bytes()` reads them from its file.

    `data`: the current content of the file. The file must not change: another model in it raises ModelFormatError.
    """

    def __init__(self, path: Path, data: bytes):
        self._path, self._size, self._header, self._array = path, len(data), data[:HEADER_SIZE], ""

    def part(self, array: str) -> FileBackedBytes:
        """Return the same for one array of the container."""
        found = copy(self)
        found._array = array
        return found

    def __bytes__(self) -> bytes:
        """Read the bytes. Raises ModelFormatError if the file is missing or contains another model."""
        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise ModelFormatError(f"cannot read the model file {self._path}: {error.strerror or error}") from error
        if len(data) != self._size or data[:HEADER_SIZE] != self._header:  # the header includes a digest of the content
            raise ModelFormatError(f"{self._path} now contains another model; load it again")
        if not self._array:
            return data
        return container_from_bytes(data, container_kind(data))[1][self._array].tobytes()
