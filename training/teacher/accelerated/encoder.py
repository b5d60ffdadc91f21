"""The layers of a pretrained encoder of BERT's or MPNet's shape (Devlin et al. 2019; Song et al. 2020) in plain torch.

It computes what the encoders of `transformers` compute, with one matrix product for queries, keys and values, and with
dropout of columns instead of elements. The embeddings of word pieces are frozen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from .weights import EncoderShape

_BUCKETS = 32
"""Buckets of relative positions of MPNet."""
_MASKED = -1e4
"""Added to the attention scores of padding."""
_PARTS = {
    "bert": {
        "attention_input": ("attention.self.query", "attention.self.key", "attention.self.value"),
        "attention_output": ("attention.output.dense",),
        "attention_norm": ("attention.output.LayerNorm",),
    },
    "mpnet": {
        "attention_input": ("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        "attention_output": ("attention.attn.o",),
        "attention_norm": ("attention.LayerNorm",),
    },
}
_INNER_PARTS = {"inner": ("intermediate.dense",), "outer": ("output.dense",), "output_norm": ("output.LayerNorm",)}


def layer_parts(kind: str) -> dict[str, tuple[str, ...]]:
    """For each part of `Layer`, the names of the pretrained encoder's parts of which it is the concatenation."""
    return {**_PARTS[kind], **_INNER_PARTS}


def drop_columns(x: torch.Tensor, rate: float) -> torch.Tensor:
    """Apply dropout to the columns of x (sentences, tokens, width), the same for all tokens of a sentence."""
    mask = torch.rand(x.shape[0], 1, x.shape[2], device=x.device) >= rate
    return x * (mask.to(x.dtype) / (1 - rate))


def relative_buckets(n: int, device: torch.device) -> torch.Tensor:
    """int64 (n, n): the bucket of the distance of each pair of positions, from MPNet (as in T5): 8 buckets for small
    distances and 8 for logarithms of larger ones, in each direction."""
    positions = torch.arange(n, device=device)
    distance = -(positions[None, :] - positions[:, None])
    direction = (distance < 0).long() * 16
    distance = distance.abs()
    large = 8 + (torch.log(distance.float().clamp(min=1) / 8) / math.log(16) * 8).long()
    return direction + torch.where(distance < 8, distance, large.clamp(max=15))


class Layer(nn.Module):
    """The parameters of one layer."""

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.width
        self.attention_input = nn.Linear(width, 3 * width)
        self.attention_output = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, eps=shape.epsilon)
        self.inner = nn.Linear(width, shape.inner_width)
        self.outer = nn.Linear(shape.inner_width, width)
        self.output_norm = nn.LayerNorm(width, eps=shape.epsilon)


class Encoder(nn.Module):
    """An encoder with `n_layers` layers. `dropout`: rate in training.

    `forward` takes the sum of the embeddings of word pieces and of what is added to them (sentences, pieces, width),
    and a bool mask (sentences, pieces), False at padding; it returns vectors (sentences, pieces, width).
    """

    def __init__(self, shape: EncoderShape, n_layers: int) -> None:
        super().__init__()
        self.shape, self.dropout = shape, 0.0
        self.words = nn.Embedding(shape.vocabulary, shape.width)
        self.words.weight.requires_grad_(False)
        self.positions = nn.Parameter(torch.zeros(shape.positions, shape.width))
        self.norm = nn.LayerNorm(shape.width, eps=shape.epsilon)
        if shape.kind == "mpnet":
            self.relative = nn.Parameter(torch.zeros(_BUCKETS, shape.heads))
        self.layers = nn.ModuleList([Layer(shape) for _ in range(n_layers)])

    def drop(self, x: torch.Tensor, rate: float) -> torch.Tensor:
        """Apply `drop_columns` in training."""
        return drop_columns(x, rate) if self.training and rate else x

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Compute the vectors of word pieces; see the class."""
        n_sentences, n, width = x.shape
        heads = self.shape.heads
        first = self.shape.pad + 1 if self.shape.kind == "mpnet" else 0
        x = self.drop(self.norm(x + self.positions[first : first + n]), self.dropout)
        bias = torch.zeros(n_sentences, 1, 1, n, device=x.device, dtype=torch.float32)
        bias.masked_fill_(~mask[:, None, None, :], _MASKED)
        if self.shape.kind == "mpnet":
            bias = bias + functional.embedding(relative_buckets(n, x.device), self.relative).permute(2, 0, 1)[None]
        else:
            bias = bias.expand(n_sentences, heads, n, n)
        for layer in self.layers:
            parts = layer.attention_input(x).view(n_sentences, n, 3, heads, width // heads)
            query, key, value = parts.permute(2, 0, 3, 1, 4)
            found = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias.to(query.dtype))
            found = layer.attention_output(found.transpose(1, 2).reshape(n_sentences, n, width))
            x = layer.attention_norm(x + self.drop(found, self.dropout))
            found = layer.outer(functional.gelu(layer.inner(x)))
            x = layer.output_norm(x + self.drop(found, self.dropout))
        return x

    @torch.no_grad()
    def load(self, weights: Mapping[str, np.ndarray], order: Sequence[int]) -> None:
        """Take the weights of a pretrained encoder. `order`: its layer from which each layer is copied. BERT's
        embedding of token type 0 is added to the positions."""

        def tensor(name: str) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(weights[name]))

        positions = tensor("embeddings.position_embeddings.weight").clone()
        if self.shape.kind == "bert":
            positions += tensor("embeddings.token_type_embeddings.weight")[0]
        else:
            self.relative.copy_(tensor("encoder.relative_attention_bias.weight"))
        self.words.weight.copy_(tensor("embeddings.word_embeddings.weight"))
        self.positions.copy_(positions)
        for part in ("weight", "bias"):
            getattr(self.norm, part).copy_(tensor(f"embeddings.LayerNorm.{part}"))
            for layer, source in zip(self.layers, order, strict=True):
                for name, sources in layer_parts(self.shape.kind).items():
                    found = [tensor(f"encoder.layer.{source}.{old}.{part}") for old in sources]
                    getattr(getattr(layer, name), part).copy_(torch.cat(found))


def spread_layers(n_pretrained: int, n_layers: int) -> list[int]:
    """The pretrained layer from which each of `n_layers` is copied: evenly spread, from the first to the last."""
    return [round(k * (n_pretrained - 1) / max(1, n_layers - 1)) for k in range(n_layers)]
