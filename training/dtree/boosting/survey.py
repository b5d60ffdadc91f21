"""A look at the training data before any training: what is worth knowing, and what must not change on resuming."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spacy_dtparse.errors import TrainingDataError

from .labels import Label, LabelData, check_label_data, open_label_data
from .store import STORE_FILE, open_store


class Survey(NamedTuple):
    """`notes`: labels met once or never, examples of labels that are not trained. `expected`: a first guess of how long
    each label takes, in any unit. `digests`: of each store's data.
    """

    notes: list[str]
    expected: dict[str, float]
    digests: dict[str, str]


def survey_data(stores: Mapping[str, str], labels: Iterable[Label]) -> Survey:
    """Check the data of all labels' stores (TrainingDataError when unusable) and say what is in them."""
    notes, expected, digests = [], {}, {}
    labels = list(labels)
    trained = {label.number for label in labels}  # in whichever store: that of TOP holds rows of other labels too
    for store_name in sorted({label.store for label in labels}):
        folder = stores[store_name]
        store, data = open_store(folder), open_label_data(folder)
        check_label_data(data, store.n_examples)
        if not store.n_examples:
            raise TrainingDataError(f"the store {store_name!r} in {folder} has no examples; build it again.")
        counts = np.bincount(data.gold[data.gold >= 0].astype(np.int64))
        for label in labels:
            if label.store != store_name:
                continue
            seen = int(counts[label.number]) if 0 <= label.number < len(counts) else 0
            expected[label.name] = float(min(seen, store.n_examples - seen))
            if seen == 0:
                notes.append(f"label {label.name} has no positive example: its classifier always says no")
            elif seen == 1:
                notes.append(f"label {label.name} has one positive example")
        others = int(counts.sum()) - sum(int(counts[n]) for n in trained if 0 <= n < len(counts))
        if others:
            notes.append(f"store {store_name}: {others} positive examples are of labels that are not trained")
        digests[store_name] = _digest(folder, data)
    return Survey(notes, expected, digests)


def _digest(folder: str, data: LabelData) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for array in data:
        digest.update(array.tobytes())
    digest.update((Path(folder) / STORE_FILE).read_bytes())
    return digest.hexdigest()
