"""Sentences as word pieces in flat arrays on the device, batches of them, and the files that contain them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

LISTS = "lists.json"
"""File of a folder of arrays with the label chains, tags and sources."""
GOLD, DEV, RAW = "gold.npz", "dev.npz", "raw.npz"
"""Files with the sentences of `SentenceArrays`: with trees to learn from, trees to evaluate on, without trees."""
TEACHER, STUDENT = "teacher", "student"
"""Names of the encoders of a folder: NAME.json is its shape, NAME.npz its weights."""
PIECE_MAP = "piece_map.npy"
"""File with the ids of the student's word pieces in the teacher's vocabulary, int32."""


@dataclass(frozen=True)
class Sizes:
    """The lengths of the lists of chains (chain 0: no label) and tags, and the names of the sources (the first: no
    source)."""

    n_chains: int
    n_tags: int
    sources: tuple[str, ...]

    @classmethod
    def load(cls, folder: Path) -> Sizes:
        """The sizes of the lists in a folder of arrays."""
        lists = json.loads((folder / LISTS).read_text(encoding="utf8"))
        return cls(len(lists["chains"]), len(lists["tags"]), tuple(lists["sources"]))


@dataclass(frozen=True)
class Vocabulary:
    """Ids of word pieces of an encoder: `begin` and `end` of a sentence, `pad`; `ids` int64: from the ids of the arrays
    to the encoder's, None: they are the same."""

    begin: int
    end: int
    pad: int
    ids: torch.Tensor | None = None


class Batch(NamedTuple):
    """A batch of b sentences of at most `n` words and p word pieces: `pieces`, `shapes` int64 (b, p), `mask` bool
    (b, p), `words` float32 (b, n + 2, p): each row the mean of the pieces of a word, or of a marker at an end of the
    sentence; `sources`, `lengths` int64 (b,)."""

    pieces: torch.Tensor
    shapes: torch.Tensor
    mask: torch.Tensor
    words: torch.Tensor
    sources: torch.Tensor
    lengths: torch.Tensor
    n: int


class SentenceArrays:
    """The sentences of a file, on `device`.

    The file contains, of all sentences one after the other: `pieces` uint16, word pieces of the student's vocabulary;
    `plen` uint8 and `shapes` uint8, of each word the number of word pieces and the shape; `nw` uint16 and `src` uint8,
    of each sentence the number of words and the source. With trees also: `tags` int16 of each word (-1: unknown);
    `spans` uint8 (c, 2), `labels` int16 of each constituent and each word, `ns` uint16, their number in each sentence;
    `lab` uint8 (sentences,): 0 if the spans only restrict which spans constituents may not cross.
    """

    def __init__(self, path: Path, device: torch.device) -> None:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        self.device = device
        self.words_of = arrays["nw"].astype(np.int64)
        """Words of each sentence, on the CPU."""
        self.sources_of = arrays["src"].astype(int)
        """The source of each sentence, on the CPU."""
        of_words = arrays["plen"].astype(np.int64)
        word_offsets = np.concatenate([[0], self.words_of.cumsum()])
        piece_offsets = np.concatenate([[0], of_words.cumsum()])[word_offsets]
        sentence = np.repeat(np.arange(len(self.words_of)), self.words_of)
        word = np.arange(len(of_words)) - word_offsets[sentence] + 1
        self.pieces_of = np.diff(piece_offsets) + 2
        """Word pieces of each sentence with those at its ends, on the CPU."""
        self.pieces = self._tensor(arrays["pieces"].astype(np.int32))
        self.piece_words = self._tensor(np.repeat(word, of_words).astype(np.uint8))
        self.piece_shapes = self._tensor(np.repeat(arrays["shapes"], of_words).astype(np.uint8))
        self.piece_weights = self._tensor(np.repeat(1 / of_words, of_words).astype(np.float16))
        self.lengths, self.n_pieces = self._tensor(self.words_of), self._tensor(np.diff(piece_offsets))
        self.piece_offsets, self.word_offsets = self._tensor(piece_offsets[:-1]), self._tensor(word_offsets[:-1])
        self.sources = self._tensor(arrays["src"].astype(np.int64))
        if "spans" in arrays:
            counts = arrays["ns"].astype(np.int64)
            self.tags = self._tensor(arrays["tags"].astype(np.int64))
            self.spans = self._tensor(arrays["spans"].astype(np.int64))
            self.labels = self._tensor(arrays["labels"].astype(np.int64))
            self.n_spans = self._tensor(counts)
            self.span_offsets = self._tensor(np.concatenate([[0], counts.cumsum()])[:-1])
            self.has_labels = self._tensor(arrays["lab"].astype(bool))

    def __len__(self) -> int:
        return len(self.words_of)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def batch(self, index: torch.Tensor, sources: torch.Tensor, vocabulary: Vocabulary) -> Batch:
        """The batch of the sentences `index` int64 (b,), with the given sources (b,)."""
        lengths, sizes = self.lengths[index], self.n_pieces[index] + 2
        n, width = int(lengths.max()), -(-int(sizes.max()) // 8) * 8
        positions = torch.arange(width, device=self.device)[None]
        mask = positions < sizes[:, None]
        inner = (positions >= 1) & (positions < sizes[:, None] - 1)
        at = (self.piece_offsets[index][:, None] + positions - 1).clamp(0, len(self.pieces) - 1)
        last = (sizes - 1)[:, None]
        pieces = self.pieces[at].long()
        if vocabulary.ids is not None:
            pieces = vocabulary.ids[pieces]
        pieces = torch.where(inner, pieces, torch.full_like(pieces, vocabulary.pad))
        pieces[:, 0] = vocabulary.begin
        pieces.scatter_(1, last, vocabulary.end)
        word = torch.where(inner, self.piece_words[at].long(), torch.zeros_like(at))
        word.scatter_(1, last, (lengths + 1)[:, None])
        word = torch.where(mask, word, torch.full_like(word, n + 2))  # padding: a row that is removed
        shapes = torch.where(inner, self.piece_shapes[at].long(), torch.zeros_like(at))
        weights = torch.where(inner, self.piece_weights[at].float(), torch.ones_like(at, dtype=torch.float))
        words = torch.zeros(len(index), n + 3, width, device=self.device)
        words.scatter_(1, word[:, None, :], weights[:, None, :])
        return Batch(pieces, shapes, mask, words[:, : n + 2], sources, lengths, n)

    def spans_of(self, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """The rows in the batch, starts, ends and labels, int64 (c,) each, of the spans of sentences."""
        rows, at = rows_and_positions(self.n_spans[index], self.span_offsets[index])
        return rows, self.spans[at, 0], self.spans[at, 1], self.labels[at]

    def tags_of(self, index: torch.Tensor, n: int) -> torch.Tensor:
        """int64 (b, n): the tags of sentences, -1 if unknown or beyond the sentence."""
        positions = torch.arange(n, device=self.device)[None]
        at = (self.word_offsets[index][:, None] + positions).clamp(max=len(self.tags) - 1)
        return torch.where(positions < self.lengths[index][:, None], self.tags[at], torch.full_like(at, -1))


def rows_and_positions(counts: torch.Tensor, offsets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The row in the batch of each item and its index in a flat array, for rows of `counts` items at `offsets`."""
    rows = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
    starts = torch.cumsum(counts, 0) - counts
    return rows, torch.arange(int(counts.sum()), device=counts.device) - starts[rows] + offsets[rows]


def plan_batches(
    pieces_of: np.ndarray, times: np.ndarray | int, max_pieces: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Batches of indices of sentences in random order, each of sentences of similar length: at most `max_pieces` word
    pieces with padding, or one sentence. `pieces_of`: word pieces of each sentence; `times`: how often it is drawn."""
    chosen = np.repeat(np.arange(len(pieces_of)), times)
    rng.shuffle(chosen)
    lengths = pieces_of[chosen] + rng.random(len(chosen)) * 2.0
    order = chosen[np.argsort(lengths)]
    sizes = -(-pieces_of[order] // 8) * 8
    found, at = [], 0
    while at < len(order):
        count = min(max(1, max_pieces // int(sizes[at])), len(order) - at)
        while count > 1 and count * int(sizes[at + count - 1]) > max_pieces:
            count = max(1, int(max_pieces // int(sizes[at + count - 1])))
        found.append(order[at : at + count])
        at += count
    return [found[k] for k in rng.permutation(len(found))]
