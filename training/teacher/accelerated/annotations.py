"""Teachers' annotations of raw sentences, as a student learns from them.

A file of annotations has the mean scores of all spans of each sentence (so the student learns the teachers' exact
distribution over binary trees), the most probable label chains of each likely span, and the best tag of each word.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from .arrays import TEACHER, Batch, SentenceArrays, plan_batches, rows_and_positions
from .inside_outside import tree_posteriors
from .network import Network, load_network, load_vocabulary

MIN_POSTERIOR = 0.02
"""Minimum posterior of a span whose labels are stored."""
N_LABELS = 4
"""Label chains that are stored of each span; their probabilities are scaled to the span's posterior."""


class SpanLabels(NamedTuple):
    """Labels of c spans. `rows` in the batch, `starts`, `ends` int64 (c,); `labels` int64 (c, N_LABELS) with `probs`
    float32."""

    rows: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor
    labels: torch.Tensor
    probs: torch.Tensor


class Annotations:
    """The annotations of the raw sentences `data`, from files of `annotate`. `annotated` bool (sentences,), on the
    CPU: whether the files contain a sentence."""

    def __init__(self, data: SentenceArrays, paths: Sequence[Path]) -> None:
        device, count, lengths = data.device, len(data), data.lengths
        parts = [torch.load(path, map_location=device, weights_only=True) for path in paths]

        def concatenate(name: str) -> torch.Tensor:
            return torch.cat([part[name] for part in parts])

        self._scores, self._tags = concatenate("scores"), concatenate("tags")
        sentences = concatenate("sentences")
        sizes = (lengths[sentences] + 1) ** 2
        self._score_offsets = torch.full((count,), -1, dtype=torch.long, device=device)
        self._score_offsets[sentences] = torch.cumsum(sizes, 0) - sizes
        self._tag_offsets = torch.zeros(count, dtype=torch.long, device=device)
        self._tag_offsets[sentences] = torch.cumsum(lengths[sentences], 0) - lengths[sentences]
        of_spans = concatenate("span_sentences").long()
        order = torch.argsort(of_spans, stable=True)
        columns = ("starts", "ends", "labels", "probs")
        self._starts, self._ends, self._labels, self._probs = (concatenate(name)[order] for name in columns)
        self._counts = torch.bincount(of_spans, minlength=count)
        self._span_offsets = torch.cumsum(self._counts, 0) - self._counts
        self.annotated: np.ndarray = (self._score_offsets >= 0).cpu().numpy()

    def span_scores(self, index: torch.Tensor, batch: Batch) -> torch.Tensor:
        """The teachers' scores of all spans of a batch, float32 (sentences, n + 1, n + 1), 0 outside of a sentence."""
        positions = torch.arange(batch.n + 1, device=index.device)
        inside = positions[None] <= batch.lengths[:, None]
        at = self._score_offsets[index][:, None, None] + positions[None, :, None] * (batch.lengths + 1)[:, None, None]
        at = (at + positions[None, None, :]).clamp(max=len(self._scores) - 1)
        found = self._scores[at].float()
        return torch.where(inside[:, :, None] & inside[:, None, :], found, torch.zeros_like(found))

    def labels_of(self, index: torch.Tensor) -> SpanLabels:
        """The labels of the spans of sentences."""
        rows, at = rows_and_positions(self._counts[index], self._span_offsets[index])
        starts, ends, labels = self._starts[at].long(), self._ends[at].long(), self._labels[at].long()
        return SpanLabels(rows, starts, ends, labels, self._probs[at].float())

    def tags_of(self, index: torch.Tensor, batch: Batch) -> torch.Tensor:
        """int64 (sentences, n): the tags of a batch, -1 beyond a sentence."""
        positions = torch.arange(batch.n, device=index.device)[None]
        at = (self._tag_offsets[index][:, None] + positions).clamp(max=len(self._tags) - 1)
        found = self._tags[at].long()
        return torch.where(positions < batch.lengths[:, None], found, torch.full_like(found, -1))


def annotate_batch(networks: Sequence[Network], batch: Batch, index: torch.Tensor) -> dict[str, torch.Tensor]:
    """The arrays of a batch in a file of annotations, by the mean scores of networks. `index`: ids of its sentences."""
    lengths, n, device = batch.lengths, batch.n, index.device
    with torch.autocast(device.type, torch.bfloat16):
        scores = [network(batch) for network in networks]
    total = sum((part.spans for part in scores[1:]), scores[0].spans)
    spans = (total / len(scores)).half()
    _, posteriors = tree_posteriors(spans.float(), lengths)
    words = torch.arange(n, device=device)
    of_sentence = words[None] < lengths[:, None]
    posteriors[:, words, words + 1] = of_sentence.float()
    rows, starts, ends = (posteriors >= MIN_POSTERIOR).nonzero().T
    with torch.autocast(device.type, torch.bfloat16):
        found = [network.label_scores(part, rows, starts, ends) for network, part in zip(networks, scores, strict=True)]
        label_probs = (sum(found[1:], found[0]) / len(found)).softmax(-1)
    probs, labels = label_probs.topk(min(N_LABELS, label_probs.shape[1]), -1)
    probs = (probs / probs.sum(-1, keepdim=True)) * posteriors[rows, starts, ends][:, None]
    positions = torch.arange(n + 1, device=device)[None] <= lengths[:, None]
    tags = sum((part.tags.float() for part in scores[1:]), scores[0].tags.float()).argmax(-1)
    return {
        "span_sentences": index[rows].int(),
        "starts": starts.to(torch.uint8),
        "ends": ends.to(torch.uint8),
        "labels": labels.to(torch.int16),
        "probs": probs.half(),
        "sentences": index,
        "scores": spans[positions[:, :, None] & positions[:, None, :]],
        "tags": tags[of_sentence].to(torch.uint8),
    }


@torch.no_grad()
def annotate(
    folder: Path, teachers: Sequence[Path], data: SentenceArrays, part: tuple[int, int], max_pieces: int
) -> dict[str, torch.Tensor]:
    """Annotate the raw sentences of at least two words in the conventions of their sources, with the mean scores of
    teachers. `part` (k, n): only each n-th sentence, from the k-th; `max_pieces`: word pieces per batch. Returns the
    arrays of a file of annotations."""
    vocabulary = load_vocabulary(folder, TEACHER, data.device)
    networks = [load_network(folder, TEACHER, path).to(data.device).eval() for path in teachers]
    chosen = np.arange(len(data))[part[0] :: part[1]]
    chosen = chosen[data.words_of[chosen] > 1]
    found: dict[str, Any] = {}
    for members in plan_batches(data.pieces_of[chosen], 1, max_pieces, np.random.default_rng(1)):
        index = torch.from_numpy(chosen[members]).to(data.device)
        batch = data.batch(index, data.sources[index], vocabulary)
        for name, array in annotate_batch(networks, batch, index).items():
            found.setdefault(name, []).append(array)
    return {name: torch.cat(arrays) for name, arrays in found.items()}
