"""The network of `training.teacher.network` on this package's encoder and batches, in one piece on a device."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from .arrays import PIECE_MAP, TEACHER, Batch, Sizes, Vocabulary
from .encoder import Encoder, spread_layers
from .weights import EncoderShape, load_weights

HEAD_WIDTH = 256
_N_SHAPES = 16
"""Rows of the table of word shapes, more than there are shapes."""


class Scores(NamedTuple):
    """As in `training.teacher.network`: `spans` float32 (sentences, n + 1, n + 1), `left`, `right` (sentences, n + 1,
    width), `tags` (sentences, n, tags)."""

    spans: torch.Tensor
    left: torch.Tensor
    right: torch.Tensor
    tags: torch.Tensor


class Network(nn.Module):
    """An encoder of `n_layers` layers with heads of width `width`. `dropout`: rate of the heads in training."""

    def __init__(self, shape: EncoderShape, sizes: Sizes, n_layers: int, width: int = HEAD_WIDTH) -> None:
        super().__init__()
        self.encoder = Encoder(shape, n_layers)
        self.width, self.dropout = width, 0.0
        self.shapes = nn.Embedding(_N_SHAPES, shape.width)
        self.sources = nn.Embedding(len(sizes.sources), shape.width)
        self.gaps = nn.Linear(2 * shape.width, 4 * width)
        self.form = nn.Parameter(torch.randn(width, width) * 0.02)
        self.boundaries = nn.Parameter(torch.zeros(2 * width))  # scores of single starts and ends
        self.label_norm = nn.LayerNorm(width)
        self.labels = nn.Linear(width, sizes.n_chains)
        self.tag_hidden = nn.Linear(shape.width, width)
        self.tags = nn.Linear(width, sizes.n_tags)
        with torch.no_grad():
            self.shapes.weight.mul_(0.02)
            self.sources.weight.mul_(0.02)

    def set_dropout(self, encoder: float, heads: float) -> None:
        """Set the rates of dropout."""
        self.encoder.dropout, self.dropout = encoder, heads

    def forward(self, batch: Batch) -> Scores:
        """Compute all scores of a batch except those of labels."""
        width, drop = self.width, self.encoder.drop
        x = self.encoder.words(batch.pieces) + self.shapes(batch.shapes) + self.sources(batch.sources)[:, None]
        x = self.encoder(x, batch.mask)
        x = batch.words @ x if x.dtype == torch.float32 else batch.words.bfloat16() @ x.bfloat16()
        tags = self.tags(drop(functional.gelu(self.tag_hidden(x[:, 1:-1])), self.dropout))
        projected = self.gaps(drop(torch.cat([x[:, :-1], x[:, 1:]], 2), self.dropout))
        ends = drop(functional.gelu(projected[:, :, : 2 * width]), self.dropout)
        left, right = ends[:, :, :width], ends[:, :, width:]
        spans = (left @ self.form.to(left.dtype)) @ right.transpose(1, 2)
        spans = spans + (left @ self.boundaries[:width].to(left.dtype))[:, :, None]
        spans = spans + (right @ self.boundaries[width:].to(left.dtype))[:, None, :]
        return Scores(spans.float(), projected[:, :, 2 * width : 3 * width], projected[:, :, 3 * width :], tags)

    def label_scores(
        self, scores: Scores, rows: torch.Tensor, starts: torch.Tensor, ends: torch.Tensor
    ) -> torch.Tensor:
        """Scores float32 (c, chains) of all label chains of c spans, given by sentence in the batch, start and end."""
        hidden = functional.gelu(self.label_norm((scores.left[rows, starts] + scores.right[rows, ends]).float()))
        if self.training and self.dropout:
            mask = torch.rand(1, hidden.shape[1], device=hidden.device) >= self.dropout
            hidden = hidden * (mask.float() / (1 - self.dropout))
        return self.labels(hidden).float()


def make_network(folder: Path, name: str, n_layers: int | None = None) -> Network:
    """A network over the pretrained encoder `name` (TEACHER or STUDENT) of a folder of arrays. `n_layers`: its layers
    are copied from the encoder's, evenly spread; None: as many as the encoder has."""
    shape = EncoderShape.load(folder / f"{name}.json")
    count = shape.layers if n_layers is None else n_layers
    network = Network(shape, Sizes.load(folder), count)
    network.encoder.load(load_weights(folder / f"{name}.npz"), spread_layers(shape.layers, count))
    return network


def load_network(folder: Path, name: str, path: Path) -> Network:
    """A network over the encoder `name` with the weights that `torch.save` wrote."""
    state: Mapping[str, torch.Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    network = Network(EncoderShape.load(folder / f"{name}.json"), Sizes.load(folder), count_layers(state))
    network.load_state_dict(state)
    return network


def count_layers(names: Mapping[str, object]) -> int:
    """The number of the encoder's layers in a network's weights."""
    found = [re.match(r"encoder\.layers\.(\d+)\.", name) for name in names]
    return 1 + max(int(match.group(1)) for match in found if match)


def load_vocabulary(folder: Path, name: str, device: torch.device) -> Vocabulary:
    """The vocabulary of the encoder `name` for the word pieces of a folder of arrays."""
    shape = EncoderShape.load(folder / f"{name}.json")
    ids = torch.from_numpy(np.load(folder / PIECE_MAP).astype(np.int64)).to(device) if name == TEACHER else None
    return Vocabulary(shape.begin, shape.end, shape.pad, ids)
