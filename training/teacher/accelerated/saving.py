"""A trained network in a small file, and the mean of several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from .network import Network
from .weights import load_weights, save_weights

WORDS = "encoder.words.weight"
"""The embeddings of word pieces, which are frozen, so that files of networks lack them."""


def save_network(path: Path, network: Network) -> None:
    """Write the weights of a network except the frozen ones to an .npz file: the matrices of the encoder's layers and
    of the gaps in int8, as the span parser has them, the others in float16."""

    def is_rounded(name: str, array: np.ndarray) -> bool:
        return (name.startswith("encoder.layers.") and array.ndim == 2) or name == "gaps.weight"

    weights = {name: tensor.float().cpu().numpy() for name, tensor in network.state_dict().items() if name != WORDS}
    kept = {name: array if is_rounded(name, array) else array.astype(np.float16) for name, array in weights.items()}
    save_weights(path, kept, is_rounded)


def mean_weights(paths: Sequence[Path]) -> dict[str, torch.Tensor]:
    """The mean of the weights in files of `save_network` of the same shape, float32."""
    found = [load_weights(path) for path in paths]
    return {name: torch.from_numpy(sum((w[name] for w in found[1:]), array) / len(found))
            for name, array in found[0].items()}  # fmt: skip
