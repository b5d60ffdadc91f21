"""Gold labels and weights of examples."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spacy_dtparse.dtypes import WEIGHT
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.stored_names import stored_as, stored_names

from .store import STORE_FILE, map_array, open_store

GOLD = np.int16
"""Type of label ids: a treebank has far fewer than 32,767 labels."""

LABEL_TYPES: dict[str, Any] = {"gold": GOLD, "b_pos": WEIGHT, "b_neg": WEIGHT}


@stored_as("gold", "b_pos", "b_neg")
class LabelData(NamedTuple):
    """`gold` int16 (n,): id of the correct label of the example, -1 for none. `b_pos`, `b_neg` float32 (n,): the
    example's bias for the classifier of its gold label, and for every other one."""

    gold: np.ndarray
    b_pos: np.ndarray
    b_neg: np.ndarray


class Label(NamedTuple):
    """A classifier to train: its name, its id in `gold`, and the name of its store."""

    name: str
    label_id: int
    store: str = "main"


def check_biases(data: LabelData) -> None:
    """Raise TrainingDataError unless all biases are finite and not negative."""
    for name, array in (("b_pos", data.b_pos), ("b_neg", data.b_neg)):
        good = np.isfinite(array) & (array >= 0)
        if not good.all():
            where = int(np.argmin(good))
            raise TrainingDataError(
                f"{name} of example {where} is {array[where]} ({int((~good).sum())} such examples); a bias must be "
                "finite and not negative. Check how the weight of the example's state is divided."
            )


def open_label_data(path: str | os.PathLike) -> LabelData:
    """Open the arrays of a store's folder, memory-mapped."""
    try:
        return LabelData(*(map_array(Path(path) / f"{name}.npy") for name in stored_names(LabelData)))
    except (OSError, ValueError) as error:
        raise TrainingDataError(f"{path} has no readable label data ({error}); build the store again.") from error


def survey_data(
    stores: Mapping[str, str], labels: Sequence[Label]
) -> tuple[list[str], dict[str, float], dict[str, str]]:
    """Check the data of all labels' stores. Raises TrainingDataError for unusable data.

    Returns notes (labels with at most one positive example, examples of labels that are not trained), a first estimate
    of the time that each label takes, in any unit, and a digest of each store's data.
    """
    notes, expected, digests = [], {}, {}
    trained = sorted({label.label_id for label in labels})  # anywhere: the store of TOP holds rows of other labels too
    for store_name in sorted({label.store for label in labels}):
        folder = stores[store_name]
        store, data = open_store(folder), open_label_data(folder)
        check_biases(data)
        if not store.n_examples:
            raise TrainingDataError(f"the store {store_name!r} in {folder} has no examples; build it again.")
        counts = np.bincount(data.gold[data.gold >= 0], minlength=trained[-1] + 1)
        for label in labels:
            if label.store != store_name:
                continue
            seen = int(counts[label.label_id])
            expected[label.name] = float(min(seen, store.n_examples - seen))
            if seen == 0:
                notes.append(f"label {label.name} has no positive example: its classifier always says no")
            elif seen == 1:
                notes.append(f"label {label.name} has one positive example")
        others = int(counts.sum() - counts[trained].sum())
        if others:
            notes.append(f"store {store_name}: {others} positive examples are of labels that are not trained")
        digest = hashlib.blake2b(digest_size=12)
        for array in data:
            digest.update(array.tobytes())
        digest.update((Path(folder) / STORE_FILE).read_bytes())
        digests[store_name] = digest.hexdigest()
    return notes, expected, digests
