"""The optimizer of a network, whose rates are lower for lower layers of the encoder."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import nn

from .network import Network

LAYER_DECAY = 0.95
"""Factor of the rate from each layer of the encoder to the one below it."""
_WEIGHT_DECAY = 0.01
_MAX_NORM = 2.0
"""Maximum norm of the gradient."""


class Optimizer:
    """AdamW (Loshchilov & Hutter 2019) with a rate of the encoder's highest layer and one of the heads."""

    def __init__(self, network: Network, encoder_rate: float, head_rate: float) -> None:
        groups: list[dict[str, Any]] = []
        n_layers = len(network.encoder.layers)
        for name, parameter in network.named_parameters():
            if not parameter.requires_grad:
                continue
            rate = head_rate
            if name.startswith("encoder."):
                layer = re.match(r"encoder\.layers\.(\d+)\.", name)
                rate = encoder_rate * LAYER_DECAY ** (n_layers - 1 - int(layer.group(1)) if layer else n_layers)
            decay = _WEIGHT_DECAY if parameter.dim() > 1 else 0.0
            groups.append({"params": [parameter], "lr": rate, "full": rate, "weight_decay": decay})
        fused = next(network.parameters()).device.type == "cuda"
        self._adam = torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=fused)
        self._parameters = [parameter for group in groups for parameter in group["params"]]

    def step(self, loss: torch.Tensor, factor: float) -> None:
        """Make one step. `factor`: of all rates."""
        for group in self._adam.param_groups:
            group["lr"] = group["full"] * factor
        self._adam.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self._parameters, _MAX_NORM)
        self._adam.step()
