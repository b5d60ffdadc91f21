"""The inside and outside algorithm over binary trees for a batch of sentences (Stern, Andreas & Klein 2017).

It computes what `spacy_dtparse.span_parser.kernels.chart.tree_posteriors` computes for one sentence.
"""

from __future__ import annotations

import torch


@torch.no_grad()
def tree_posteriors(scores: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The logarithm of the sum over all binary trees, (sentences,), and the posterior probability of each span,
    (sentences, n + 1, n + 1) at [start, end], for `scores` float32 of the same shape and `lengths` (sentences,) in
    words, at most n. Spans of one word have no score, and the posterior 0, as have spans outside of a sentence."""
    n_sentences, size, _ = scores.shape
    n = size - 1
    from_start = torch.zeros(n_sentences, size, size, device=scores.device)  # inside, by start and width
    from_end = torch.zeros_like(from_start)  # the same, by end and width
    splits: dict[int, torch.Tensor] = {}  # width -> probabilities of the split points of each span
    for width in range(2, n + 1):
        both = from_start[:, 0 : n - width + 1, 1:width] + from_end[:, width : n + 1, 1:width].flip(-1)
        total = torch.logsumexp(both, -1)
        splits[width] = (both - total[..., None]).exp()
        inside = total + torch.diagonal(scores, width, 1, 2)
        from_start[:, 0 : n - width + 1, width] = inside
        from_end[:, width : n + 1, width] = inside
    rows = torch.arange(n_sentences, device=scores.device)
    log_partition = from_start[rows, 0, lengths]
    by_start, by_end = torch.zeros_like(from_start), torch.zeros_like(from_end)  # posteriors as left and right child
    posteriors = torch.zeros_like(scores)
    by_start[rows, 0, lengths] = (lengths > 1).float()
    for width in range(n, 1, -1):
        posterior = by_start[:, 0 : n - width + 1, width] + by_end[:, width : n + 1, width]
        torch.diagonal(posteriors, width, 1, 2).copy_(posterior)
        of_splits = splits[width] * posterior[..., None]
        by_start[:, 0 : n - width + 1, 1:width] += of_splits
        by_end[:, width : n + 1, 1:width] += of_splits.flip(-1)
    return log_partition, posteriors
