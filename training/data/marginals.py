"""Files with the span marginals of a treebank's sentences."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from spacy_dtparse.core.marginals import SpanMarginals
from spacy_dtparse.errors import TrainingDataError

from ..runs.resuming import array_to_data, as_array, open_arrays, save_arrays


def save_marginals(
    path: Path, chains: Sequence[str], lengths: Sequence[int], marginals: Sequence[SpanMarginals]
) -> None:
    """Write the span marginals of sentences. `chains`: names of the span model's label chains; `lengths`: words of each
    sentence."""
    none = SpanMarginals(np.zeros((0, 2), np.int32), np.zeros(0), np.zeros((0, 2), np.int32), np.zeros((0, 2)))
    spans, span_probs, chain_ids, chain_probs = (np.concatenate(parts) for parts in zip(none, *marginals, strict=True))
    save_arrays(
        path,
        {
            "lengths": np.array(lengths, dtype=np.int32),
            "rows": np.array([len(one.spans) for one in marginals], dtype=np.int32),
            "spans": spans.astype(np.int32),
            "masses": span_probs.astype(np.float32),
            "chains": chain_ids.astype(np.int16),
            "chances": chain_probs.astype(np.float32),
            "names": as_array(list(chains)),
        },
    )


def read_marginals(path: Path) -> tuple[tuple[str, ...], list[int], list[SpanMarginals]]:
    """Read (names of the label chains, words of each sentence, span marginals) from a file of `save_marginals`. Raises
    TrainingDataError if it cannot be read."""
    if not path.is_file():
        raise TrainingDataError(f"there is no file {path}; write one: python -m training jackknife-marginals …")
    with open_arrays(path) as arrays:
        ends = np.cumsum(arrays["rows"])[:-1]
        spans, chains = arrays["spans"].astype(np.int32), arrays["chains"].astype(np.int32)
        span_probs, chain_probs = arrays["masses"].astype(np.float64), arrays["chances"].astype(np.float64)
        parts = (np.split(array, ends) for array in (spans, span_probs, chains, chain_probs))
        marginals = [SpanMarginals(*map(np.ascontiguousarray, one)) for one in zip(*parts, strict=True)]
        return tuple(array_to_data(arrays["names"])), arrays["lengths"].tolist(), marginals
