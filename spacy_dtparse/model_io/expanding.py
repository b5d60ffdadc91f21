"""The content of a container, expanded piece by piece while it is read."""

import lzma
import zlib
from typing import Any

import numpy as np

from ..errors import ModelFormatError

ADVICE = "fetch or write the file again"
"""The end of all messages about damaged files."""
_PIECE = 2**16
"""Number of bytes that are expanded at once."""
# The encoder's settings are explicit, so that a later Python with other presets writes the same bytes.
LZMA_FILTERS: list[dict[str, Any]] = [
    {
        "id": lzma.FILTER_LZMA2, "dict_size": 2**23, "lc": 3, "lp": 0, "pb": 0, "mode": lzma.MODE_NORMAL,
        "nice_len": 64, "mf": lzma.MF_BT4, "depth": 0,
    }
]  # fmt: skip


class ContainerContent:
    """The payload of a container, of `length` bytes, expanded piece by piece: the output is not copied, and at most one
    byte more than the length is expanded."""

    def __init__(self, stored: memoryview, compression: str, length: int):
        self._stored, self._compression, self._length = stored, compression, length
        self._n_fed = self._n_taken = 0
        self._expander: Any = zlib.decompressobj()
        if compression == "lzma":
            self._expander = lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=LZMA_FILTERS)

    @property
    def n_left(self) -> int:
        """Number of bytes not taken yet."""
        return self._length - self._n_taken

    @property
    def n_stored(self) -> int:
        """Number of stored bytes."""
        return len(self._stored)

    def take(self, size: int) -> np.ndarray:
        """Return the next `size` bytes (at most `n_left`) as a new uint8 array."""
        result = np.empty(size, dtype=np.uint8)
        view = result.data
        at = 0
        while at < size:
            piece = self._read_piece(min(size - at, _PIECE))
            if not piece:
                raise self._length_error()
            view[at : at + len(piece)] = piece
            at += len(piece)
        self._n_taken += size
        return result

    def end(self) -> None:
        """Skip the remaining bytes; raise ModelFormatError unless the payload ends there."""
        while self.n_left:
            self.take(min(self.n_left, _PIECE))
        ended = not self._read_piece(1)
        if self._compression != "none":
            ended = ended and self._expander.eof and not self._expander.unused_data and self._n_fed == len(self._stored)
        if not ended:
            raise self._length_error()

    def _read_piece(self, limit: int) -> bytes | memoryview:
        """Return up to `limit` further bytes; none at the end."""
        if self._compression == "none":
            piece = self._stored[self._n_fed : self._n_fed + limit]
            self._n_fed += len(piece)
            return piece
        try:
            while not self._expander.eof:
                fed = self._feed()
                output = self._expander.decompress(fed, limit)
                if output or (not fed and self._n_fed == len(self._stored)):
                    return output
        except (zlib.error, lzma.LZMAError, EOFError) as error:
            raise ModelFormatError(f"damaged model file: it cannot be expanded ({error}); {ADVICE}") from error
        return b""

    def _feed(self) -> bytes:
        """Return the next input of the expander; empty if it still has unread input, or at the end."""
        pending = self._expander.unconsumed_tail if self._compression == "zlib" else b""
        if pending or (self._compression == "lzma" and not self._expander.needs_input):
            return pending
        piece = bytes(self._stored[self._n_fed : self._n_fed + _PIECE])
        self._n_fed += len(piece)
        return piece

    def _length_error(self) -> ModelFormatError:
        return ModelFormatError(
            f"damaged model file: it does not expand to the {self._length} bytes it states; {ADVICE}"
        )
