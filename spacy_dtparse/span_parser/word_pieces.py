"""Words as word pieces of a pretrained encoder (BERT's, lower-case): a word in normal form is split into the longest
pieces of the vocabulary, from left to right (Wu et al. 2016; Devlin et al. 2019)."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import INDEX
from ..errors import DtparseError
from ..symbols import CompactSymbolTable, Memo, SymbolTable, index_bytes
from ..text import SHAPES, read_word, word_shape

BEGIN, END, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
"""Pieces before and after a sentence, and for what no pieces spell."""
CONTINUED = "##"
"""First characters of a piece that does not begin a word."""
MAX_PIECES = 12
"""Maximum number of pieces of a word; further ones are dropped."""
MAX_CHARACTERS = 100
"""Maximum number of characters of a part of a word that is split into pieces; a longer one is unknown."""
N_SHAPES = 1 + len(SHAPES)
"""Number of shapes of pieces: none, before and after a sentence, then those of words."""
_REMOVED = frozenset(("Cc", "Cf", "Co", "Cs"))
"""Categories of characters that are removed: controls, formats, private and surrogates."""
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Ranges of ideographs, each of which is a part of its own."""


class PieceRows(NamedTuple):
    """Word pieces of S texts, which the encoder reads one by one. Each text has a row for each word and one more before
    and after it.

    `pieces` int32 (P, 2): id of the piece, id of the shape; `piece_offsets` int32 (rows + 1,): the first
    piece of each row; `offsets` int32 (S + 1,): the first row of each text.
    """

    pieces: np.ndarray
    piece_offsets: np.ndarray
    offsets: np.ndarray


def normalize(word: str) -> str:
    """Return a word in lower case without accents and control characters, with blanks around ideographs."""
    if word.isascii() and word.isprintable():
        return word.lower()
    kept = []
    for character in word:
        category = unicodedata.category(character)
        if character in "\t\n\r" or category.startswith("Z"):
            kept.append(" ")
        elif character != "\ufffd" and category not in _REMOVED:
            is_ideograph = any(low <= ord(character) <= high for low, high in _IDEOGRAPHS)
            kept.append(f" {character} " if is_ideograph else character)
    spelled = unicodedata.normalize("NFD", "".join(kept))
    return "".join(character.lower() for character in spelled if unicodedata.category(character) != "Mn")


def split_parts(word: str) -> Iterator[str]:
    """Yield the parts of a word in normal form: punctuation characters, and what is between these and blanks."""
    for run in word.split():
        start = 0
        for index, character in enumerate(run):
            if character in string.punctuation or unicodedata.category(character).startswith("P"):
                if start < index:
                    yield run[start:index]
                yield character
                start = index + 1
        if start < len(run):
            yield run[start:]


class WordPieces:
    """The word pieces and tags of a span parser over a pretrained encoder; immutable. Tags are not read by the network,
    only by the tables for attaching tokens.

    `tables`: two SymbolTables, pieces and tags. `aliases`: tags of another tag set -> tags of the vocabulary. Raises
    DtparseError for another number of tables, or if a special piece is missing.
    """

    def __init__(self, tables: Sequence[SymbolTable], aliases: Mapping[str, str] | None = None):
        if len(tables) != 2:
            raise DtparseError(f"{len(tables)} lists; give 2: pieces, tags")
        self.tables, self.aliases = tuple(tables), dict(aliases or {})
        lacking = [piece for piece in (BEGIN, END, UNKNOWN) if piece not in tables[0]]
        if lacking:
            raise DtparseError(f"the word pieces lack {', '.join(lacking)}; take those of a BERT model in lower case")
        self._unknown = tables[0].id_of(UNKNOWN)
        self._ends = index_bytes([tables[0].id_of(BEGIN), 0]), index_bytes([tables[0].id_of(END), 0])
        self._pieces_of_word = Memo(self._pieces)

    def __reduce__(self) -> tuple:
        return WordPieces, (self.tables, self.aliases)  # without the memo

    @property
    def size(self) -> int:
        """Number of pieces."""
        return len(self.tables[0])

    def with_aliases(self, aliases: Mapping[str, str]) -> WordPieces:
        """Return the same pieces and tags with other aliases."""
        return WordPieces(self.tables, aliases)

    def tag_ids(self, tags: Sequence[str]) -> np.ndarray:
        """int32 (n,): ids of tags; unknown tags get the size of the tag vocabulary."""
        known_tags = [self.aliases.get(tag, tag) for tag in tags] if self.aliases else tags
        return self.tables[1].encode(known_tags, len(self.tables[1]))

    def ids_of(self, word: str) -> list[int]:
        """Return the ids of the pieces of a word, one or more and at most `MAX_PIECES`."""
        found: list[int] = []
        for part in split_parts(normalize(read_word(word))):
            found += self._ids_of_part(part)
            if len(found) >= MAX_PIECES:
                break
        return found[:MAX_PIECES] or [self._unknown]

    def _ids_of_part(self, part: str) -> list[int]:
        if len(part) > MAX_CHARACTERS:
            return [self._unknown]
        id_of, found, start = self.tables[0].id_of, list[int](), 0
        while start < len(part):
            prefix = CONTINUED if start else ""
            for end in range(len(part), start, -1):
                piece = id_of(prefix + part[start:end])
                if piece >= 0:
                    break
            else:
                return [self._unknown]
            found.append(piece)
            start = end
        return found

    def _pieces(self, word: str) -> bytes:
        """Return the rows of a word's pieces as bytes, which are faster to concatenate than arrays."""
        shape = 1 + max(0, SHAPES.id_of(word_shape(word)))
        return b"".join(index_bytes([piece, shape]) for piece in self.ids_of(word))

    def encode_all(self, texts: Sequence[Sequence[str]], max_pieces: int) -> tuple[PieceRows, np.ndarray | None]:
        """Return the pieces of texts (lists of words), and None; or, if a text has more than `max_pieces` pieces (with
        those at its ends), the pieces of overlapping windows of it and, int32, the rows there of the rows of texts."""
        begin, end = self._ends
        size = 2 * np.dtype(INDEX).itemsize
        rows, offsets, chosen, is_split = list[bytes](), [0], list[int](), False
        for words in texts:
            found = list(map(self._pieces_of_word.__getitem__, words))
            if sum(map(len, found)) <= size * (max_pieces - 2):
                chosen += range(len(rows), len(rows) + len(found) + 2)
                rows += [begin, *found, end]
                offsets.append(len(rows))
                continue
            is_split = True
            for first, last, kept_from, kept_to in _windows([len(one) // size for one in found], max_pieces - 2):
                at = len(rows) + 1 - first
                chosen += range(at + kept_from - (first == 0), at + kept_to + (last == len(found)))
                rows += [begin, *found[first:last], end]
                offsets.append(len(rows))
        pieces = np.frombuffer(bytearray().join(rows), dtype=INDEX).reshape(-1, 2)
        piece_offsets = np.cumsum([0, *map(len, rows)]) // size
        encoded = PieceRows(pieces, piece_offsets.astype(INDEX), np.array(offsets, dtype=INDEX))
        return encoded, np.array(chosen, dtype=INDEX) if is_split else None

    def to_dict(self) -> dict[str, Any]:
        """Return the vocabularies as plain data."""
        lists = {"pieces": list(self.tables[0]), "tags": list(self.tables[1])}
        return {**lists, **({"aliases": self.aliases} if self.aliases else {})}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WordPieces:
        """Build from the data of `to_dict`."""
        return cls([CompactSymbolTable(data["pieces"]), SymbolTable(data["tags"])], data.get("aliases"))


def _windows(sizes: Sequence[int], max_pieces: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield windows [first, last) of words with these numbers of pieces, and the words [from, to) that are taken from
    each: neighbours share a quarter of `max_pieces`, and each word is taken from where it is further inside."""
    bounds, first = [], 0
    while True:
        last, pieces = first, 0
        while last < len(sizes) and (last == first or pieces + sizes[last] <= max_pieces):
            pieces += sizes[last]
            last += 1
        bounds.append((first, last))
        if last == len(sizes):
            break
        shared, following = 0, last
        while following > first + 1 and shared + sizes[following - 1] <= max_pieces // 4:
            following -= 1
            shared += sizes[following]
        first = following
    begin = 0
    for k, (first, last) in enumerate(bounds):
        end = last if k + 1 == len(bounds) else (bounds[k + 1][0] + last + 1) // 2
        yield first, last, begin, end
        begin = end
