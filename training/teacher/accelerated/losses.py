"""The losses of a network on a batch of sentences: on trees, and on the distributions of teachers.

The bracket loss of a conditional random field over binary trees has a simple derivative: the difference of two
posteriors. So both functions return a surrogate with the same derivative, and the values of the losses separately.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from .annotations import Annotations
from .arrays import Batch, SentenceArrays
from .inside_outside import tree_posteriors
from .network import Network, Scores

TAG_WEIGHT = 0.5
_FORBIDDEN = -60.0
"""Score of a span that crosses a constituent."""
_MIN_UNLABELLED = 0.05
"""Minimum posterior of a span without a label that the label loss contains."""
_CROSSING_CHUNK = 20_000
"""Spans per step of `crossing_spans`."""


def gold_loss(
    network: Network, data: SentenceArrays, index: torch.Tensor, batch: Batch
) -> tuple[torch.Tensor, torch.Tensor]:
    """The surrogate of the loss on trees, and the losses of brackets, labels and tags (3,), in nats per word.

    Brackets: minus the log probability of all binary trees without a span that crosses a constituent. Labels: the cross
    entropy of constituents and words, and of other spans with the label 0 and their posterior as weight.
    """
    scores = network(batch)
    n, n_words = batch.n, batch.lengths.sum()
    rows, starts, ends, labels = data.spans_of(index)
    inner = ((ends - starts) > 1) & ((ends - starts) < batch.lengths[rows])
    crossing = crossing_spans(rows[inner], starts[inner], ends[inner], (len(index), n + 1, n + 1))
    free = scores.spans.detach()
    restricted = torch.where(crossing > 0, torch.full_like(free, _FORBIDDEN), free)
    (all_sums, all_spans), (sums, spans) = _posteriors_of_both(free, restricted, batch.lengths)
    bracket_loss = (all_sums - sums).sum() / n_words
    surrogate = ((all_spans - spans) * scores.spans).sum() / n_words
    unlabelled = spans.clone()
    unlabelled[rows, starts, ends] = 0
    unlabelled *= data.has_labels[index][:, None, None]
    others = (unlabelled > _MIN_UNLABELLED).nonzero()
    kept = data.has_labels[index][rows]
    columns = (rows, starts, ends)
    candidates = [torch.cat([column[kept], other]) for column, other in zip(columns, others.T, strict=True)]
    targets = torch.cat([labels[kept], torch.zeros_like(others[:, 0])])
    weights = torch.cat([torch.ones_like(labels[kept], dtype=torch.float), unlabelled[tuple(others.T)]])
    losses = functional.cross_entropy(network.label_scores(scores, *candidates), targets, reduction="none")
    label_loss = (losses * weights).sum() / n_words
    tag_loss = _tag_loss(scores, data.tags_of(index, n), n_words)
    parts = torch.stack([bracket_loss, label_loss.detach(), tag_loss.detach()])
    return surrogate + label_loss + TAG_WEIGHT * tag_loss, parts


def distillation_loss(
    network: Network, annotations: Annotations, index: torch.Tensor, batch: Batch
) -> tuple[torch.Tensor, torch.Tensor]:
    """The surrogate of the loss on the teachers' distributions, and the losses of brackets, labels and tags (3,), in
    nats per word.

    Brackets: the Kullback-Leibler divergence of the network's distribution over binary trees from the teachers'.
    Labels: the cross entropy with the teachers' probabilities of labelled spans. Tags: that with their best tags.
    """
    scores = network(batch)
    n_words = batch.lengths.sum()
    own, theirs = scores.spans.detach(), annotations.span_scores(index, batch)
    (own_sums, own_spans), (sums, spans) = _posteriors_of_both(own, theirs, batch.lengths)
    surrogate = ((own_spans - spans) * scores.spans).sum() / n_words
    own_gap = own_sums - (spans * own).sum((1, 2))
    divergence = (own_gap - (sums - (spans * theirs).sum((1, 2)))).sum() / n_words
    rows, starts, ends, labels, probs = annotations.labels_of(index)
    log_probs = network.label_scores(scores, rows, starts, ends).log_softmax(-1)
    label_loss = -(log_probs.gather(1, labels) * probs).sum() / n_words
    tag_loss = _tag_loss(scores, annotations.tags_of(index, batch), n_words)
    parts = torch.stack([divergence, label_loss.detach(), tag_loss.detach()])
    return surrogate + label_loss + TAG_WEIGHT * tag_loss, parts


def crossing_spans(
    rows: torch.Tensor, starts: torch.Tensor, ends: torch.Tensor, size: tuple[int, int, int]
) -> torch.Tensor:
    """float32 of `size` (sentences, n + 1, n + 1): by how many of the given spans, int64 (c,), each span is crossed."""
    found = torch.zeros(size, device=rows.device)
    positions = torch.arange(size[1], device=rows.device)
    first, last = positions[None, :, None], positions[None, None, :]
    for at in range(0, len(rows), _CROSSING_CHUNK):
        part = slice(at, at + _CROSSING_CHUNK)
        start, end = starts[part, None, None], ends[part, None, None]
        left = (first < start) & (start < last) & (last < end)
        right = (start < first) & (first < end) & (end < last)
        found.index_add_(0, rows[part], (left | right).float())
    return found


Posteriors = tuple[torch.Tensor, torch.Tensor]


def _posteriors_of_both(
    first: torch.Tensor, second: torch.Tensor, lengths: torch.Tensor
) -> tuple[Posteriors, Posteriors]:
    """The `tree_posteriors` of two arrays of scores, in one run."""
    size = len(lengths)
    sums, spans = tree_posteriors(torch.cat([first, second]), torch.cat([lengths, lengths]))
    return (sums[:size], spans[:size]), (sums[size:], spans[size:])


def _tag_loss(scores: Scores, tags: torch.Tensor, n_words: torch.Tensor) -> torch.Tensor:
    """The cross entropy of known tags, per word. `tags` int64 (sentences, n), -1: unknown."""
    logits = scores.tags.float().flatten(0, 1)
    return functional.cross_entropy(logits, tags.flatten(), ignore_index=-1, reduction="sum") / n_words
