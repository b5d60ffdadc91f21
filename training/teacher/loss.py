"""The teacher's loss: brackets, labels and tags, as the students' (see `training.span.network`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spacy_dtparse.dtypes import REAL

from ..data.slopes import bracket_slopes
from .encoder import nn, torch
from .examples import TeacherExample
from .network import Scores, TeacherNetwork

SEEN = 0.05
"""Posterior probability from which on a span that is no constituent counts as one without a label."""


class BracketLoss(torch.autograd.Function):
    """Sum over the sentences of -ln of the probability of all binary trees that cross no constituent; its derivative is
    a difference of posteriors, which the parser's own kernel finds."""

    @staticmethod
    def forward(
        ctx: Any, spans: torch.Tensor, batch: Sequence[TeacherExample], found: list[np.ndarray]
    ) -> torch.Tensor:
        """`spans` float32 (sentences, longest + 1, longest + 1). Posteriors among the right trees are added to
        `found`."""
        scores = spans.detach().numpy()
        slopes = np.zeros(scores.shape, dtype=REAL)
        total = 0.0
        for row, example in enumerate(batch):
            n = example.read.n
            if example.crossing is None or n < 2:
                found.append(np.zeros((n + 1, n + 1)))
                continue
            lost, slope, right = bracket_slopes(scores[row, : n + 1, : n + 1], example.crossing)
            total += lost
            slopes[row, : n + 1, : n + 1] = slope
            found.append(right)
        ctx.save_for_backward(torch.from_numpy(slopes))
        return torch.tensor(total, dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, above: torch.Tensor) -> Any:  # type: ignore[override]
        """By every span's score."""
        return ctx.saved_tensors[0] * above, None, None


def batch_loss(
    network: TeacherNetwork,
    batch: Sequence[TeacherExample],
    sources: Sequence[int],
    dropout: tuple[float, float],
    generator: torch.Generator | None,
    tag_share: float,
) -> tuple[torch.Tensor, tuple[float, float, float]]:
    """(Loss per word, nats; its parts: of brackets, labels, tags)."""
    scores: Scores = network([example.read for example in batch], sources, dropout, generator)
    n_words = sum(example.read.n for example in batch)
    n_parsed = max(1, sum(example.read.n for example in batch if example.crossing is not None))
    right: list[np.ndarray] = []
    brackets: torch.Tensor = BracketLoss.apply(scores.spans.float(), batch, right) / n_parsed  # type: ignore[no-untyped-call]
    rows, starts, ends, labels, weights = [], [], [], [], []
    for row, (example, posteriors) in enumerate(zip(batch, right, strict=True)):
        if example.spans is None or example.labels is None:
            continue
        posteriors[example.spans[:, 0], example.spans[:, 1]] = 0
        more = np.argwhere(posteriors > SEEN)
        starts += [example.spans[:, 0], more[:, 0]]
        ends += [example.spans[:, 1], more[:, 1]]
        labels += [example.labels, np.zeros(len(more), dtype=np.int64)]
        weights += [np.ones(len(example.labels)), posteriors[more[:, 0], more[:, 1]]]
        rows.append(np.full(len(example.labels) + len(more), row))
    total = brackets
    label_loss = torch.zeros(())
    if rows:
        places = [torch.from_numpy(np.concatenate(part).astype(np.int64)) for part in (rows, starts, ends, labels)]
        logits = network.label_scores(scores, places[:3], dropout[1], generator).float()
        lost = nn.functional.cross_entropy(logits, places[3], reduction="none")
        label_loss = (lost * torch.from_numpy(np.concatenate(weights).astype(REAL))).sum() / n_parsed
        total = total + label_loss
    targets = np.full(scores.tags.shape[:2], -1, dtype=np.int64)
    for row, example in enumerate(batch):
        targets[row, : example.read.n] = example.tags
    tag_loss = nn.functional.cross_entropy(
        scores.tags.float().flatten(0, 1), torch.from_numpy(targets).flatten(), ignore_index=-1, reduction="sum"
    )
    tag_loss = tag_loss / n_words
    total = total + tag_share * tag_loss
    return total, (brackets.item(), label_loss.item(), tag_loss.item())
