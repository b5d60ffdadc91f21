"""Files with the span marginals of a treebank's sentences."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.features.trees.beliefs import Beliefs

from ..runs.resuming import as_array, as_facts, save_arrays, saved_arrays


def save_beliefs(path: Path, chains: Sequence[str], lengths: Sequence[int], beliefs: Sequence[Beliefs]) -> None:
    """Write the span marginals of sentences. `chains`: names of the span model's label chains; `lengths`: words of each
    sentence."""
    none = Beliefs(np.zeros((0, 2), np.int32), np.zeros(0), np.zeros((0, 2), np.int32), np.zeros((0, 2)))
    spans, masses, chain_numbers, chances = (np.concatenate(parts) for parts in zip(none, *beliefs, strict=True))
    save_arrays(path, {
        "lengths": np.array(lengths, dtype=np.int32),
        "rows": np.array([len(one.spans) for one in beliefs], dtype=np.int32),
        "spans": spans.astype(np.int32), "masses": masses.astype(np.float32),
        "chains": chain_numbers.astype(np.int16), "chances": chances.astype(np.float32),
        "names": as_array(list(chains)),
    })  # fmt: skip


def read_beliefs(path: Path) -> tuple[tuple[str, ...], list[int], list[Beliefs]]:
    """Read (names of the label chains, words of each sentence, span marginals) from a file of `save_beliefs`. Raises
    TrainingDataError if it cannot be read."""
    if not path.is_file():
        raise TrainingDataError(f"there is no file {path}; write one: python -m training jackknife-marginals …")
    with saved_arrays(path) as held:
        ends = np.cumsum(held["rows"])[:-1]
        spans, chains = held["spans"].astype(np.int32), held["chains"].astype(np.int32)
        masses, chances = held["masses"].astype(np.float64), held["chances"].astype(np.float64)
        parts = (np.split(array, ends) for array in (spans, masses, chains, chances))
        found = [Beliefs(*map(np.ascontiguousarray, one)) for one in zip(*parts, strict=True)]
        return tuple(as_facts(held["names"])), held["lengths"].tolist(), found
