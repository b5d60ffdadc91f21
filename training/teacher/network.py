"""The teacher's network: computes scores of all spans, of label chains and of tags of a sentence.

A word is represented by the mean of its word pieces' vectors, a gap between two words by the concatenation of their
vectors. The score of a span is a bilinear form of its two gaps (Dozat & Manning 2017; Zhang, Zhou & Li 2020); its label
chain is scored by one hidden layer over both, a word's tag by one over its vector. The treebank of a sentence (its
source) is an input, so that each may have its conventions; source 0 is no treebank.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.text import SHAPES, word_shape

from .encoder import Drop, Encoder, WordPieces, count_positions, nn, no_dropout, torch

HEAD_WIDTH = 256
ANY_SOURCE = 0


@dataclass(frozen=True)
class TokenizedSentence:
    """A sentence as word pieces: `pieces` int64 (p,), with one added at each end; `word_of` int64 (p,): 0 before the
    first word, n + 1 after the last; `shapes` int64 (p,); n words."""

    pieces: np.ndarray
    word_of: np.ndarray
    shapes: np.ndarray
    n: int


class WordPieceTokenizer(WordPieces):
    """Splits the words of a sentence into word pieces. `max_pieces`: the maximum that the encoder of the folder reads,
    without the pieces at the ends."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.max_pieces = count_positions(folder) - 2

    def tokenize(self, words: Sequence[str]) -> TokenizedSentence:
        """Split each word into at least one word piece. If the sentence has more than `max_pieces` in all, each word
        gets only its first. Raises TrainingDataError if it has more words than that."""
        found = list(map(self.ids_of, words))
        if sum(map(len, found)) > self.max_pieces:
            if len(words) > self.max_pieces:
                raise TrainingDataError(
                    f"a sentence of {len(words)} words that begins {' '.join(words[:5])!r}: the encoder reads at most "
                    f"{self.max_pieces}; leave out longer sentences (max_words)"
                )
            found = [ids[:1] for ids in found]
        sizes = [1, *map(len, found), 1]
        pieces = [self.begin, *(number for ids in found for number in ids), self.end]
        shapes = [0, *(1 + max(0, SHAPES.id_of(word_shape(word))) for word in words), 0]
        return TokenizedSentence(
            np.array(pieces), np.repeat(np.arange(len(words) + 2), sizes), np.repeat(shapes, sizes), len(words)
        )


def batches(sentences: Sequence[TokenizedSentence], max_pieces: int) -> Iterator[list[int]]:
    """Yield indices of sentences of similar length for each batch: at most `max_pieces` word pieces, with every
    sentence padded to the longest, or one sentence."""
    order = sorted(range(len(sentences)), key=lambda k: len(sentences[k].pieces))
    at = 0
    while at < len(order):
        size = max(1, max_pieces // len(sentences[order[at]].pieces))
        while size > 1 and size * len(sentences[order[min(at + size, len(order)) - 1]].pieces) > max_pieces:
            size -= 1
        yield order[at : at + size]
        at += size


class Scores(NamedTuple):
    """Scores of a batch of sentences of at most n words. `spans` (sentences, n + 1, n + 1), at [start, end]; `left`,
    `right` (sentences, n + 1, width): labels are scored from the sum of left at start and right at end; `tags`
    (sentences, n, tags)."""

    spans: torch.Tensor
    left: torch.Tensor
    right: torch.Tensor
    tags: torch.Tensor


class TeacherNetwork(nn.Module):
    """An encoder with the configuration `config`, and heads of width `width`, for `n_chains` label chains (chain 0: no
    label), `n_tags` tags and `n_sources` sources (including ANY_SOURCE)."""

    def __init__(self, config: Any, n_chains: int, n_tags: int, n_sources: int, width: int = HEAD_WIDTH):
        super().__init__()
        self.width = width
        self.encoder = Encoder(config)
        encoder_width = self.encoder.width
        self.shapes = nn.Embedding(1 + len(SHAPES) + 3, encoder_width)
        self.sources = nn.Embedding(n_sources, encoder_width)
        self.gaps = nn.Linear(2 * encoder_width, 4 * width)
        self.form = nn.Parameter(torch.zeros(width, width))
        self.add_module("alone", nn.Linear(2 * width, 1, bias=False))  # scores of single boundaries, by its stored name
        self.label_norm = nn.LayerNorm(width)
        self.labels = nn.Linear(width, n_chains)
        self.tag_hidden = nn.Linear(encoder_width, width)
        self.tags = nn.Linear(width, n_tags)
        with torch.no_grad():
            self.shapes.weight.mul_(0.02)
            self.sources.weight.mul_(0.02)
            self.form.normal_(std=0.02)
            self.get_parameter("alone.weight").zero_()

    def forward(
        self,
        batch: Sequence[TokenizedSentence],
        sources: Sequence[int],
        drop: Drop = no_dropout,
        drop_heads: Drop = no_dropout,
    ) -> Scores:
        """Compute all scores. `drop`, `drop_heads`: dropout of the encoder and of the heads."""
        width, x = self.width, self.encode_words(batch, sources, drop)
        tags = self.tags(drop_heads(nn.functional.gelu(self.tag_hidden(x[:, 1:-1]))))
        projected = self.gaps(drop_heads(torch.cat([x[:, :-1], x[:, 1:]], 2)))
        ends = drop_heads(nn.functional.gelu(projected[:, :, : 2 * width]))
        left, right = ends[:, :, :width], ends[:, :, width:]
        form = left @ self.form.to(left.dtype)
        weights = self.get_parameter("alone.weight")[0].to(left.dtype)
        spans = form @ right.transpose(1, 2) + (left @ weights[:width])[:, :, None]
        spans = spans + (right @ weights[width:])[:, None, :]
        return Scores(spans, projected[:, :, 2 * width : 3 * width], projected[:, :, 3 * width :], tags)

    def encode_words(
        self, batch: Sequence[TokenizedSentence], sources: Sequence[int], drop: Drop = no_dropout
    ) -> torch.Tensor:
        """Vectors (sentences, longest + 2, encoder width) of each sentence's words and of the markers at its ends."""
        n_pieces, longest = max(len(read.pieces) for read in batch), max(read.n for read in batch)
        pieces = np.zeros((len(batch), n_pieces), dtype=np.int64)
        shapes = np.zeros_like(pieces)
        mask = np.zeros(pieces.shape, dtype=bool)
        words = np.zeros((len(batch), longest + 2, n_pieces), dtype=REAL)  # each row a mean
        for row, read in enumerate(batch):
            size = len(read.pieces)
            pieces[row, :size], shapes[row, :size], mask[row, :size] = read.pieces, read.shapes, True
            words[row, read.word_of, np.arange(size)] = 1
        words /= np.maximum(words.sum(2, keepdims=True), 1)
        added = self.shapes(torch.from_numpy(shapes)) + self.sources(torch.tensor(sources))[:, None]
        x = self.encoder(torch.from_numpy(pieces), added, torch.from_numpy(mask), drop)
        return torch.from_numpy(words).to(x.dtype) @ x

    def label_scores(self, scores: Scores, spans: Sequence[torch.Tensor], drop: Drop = no_dropout) -> torch.Tensor:
        """Scores (c, chains) of all label chains of c spans; `spans`: the spans' sentence indices in the batch, starts
        and ends, int64 (c,) each."""
        rows, starts, ends = spans
        hidden = nn.functional.gelu(self.label_norm(scores.left[rows, starts] + scores.right[rows, ends]))
        return self.labels(drop(hidden[None])[0])
