"""Which examples are positive for which label, and how much each counts."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spacy_dtparse.dtypes import WEIGHT
from spacy_dtparse.errors import TrainingDataError

GOLD = np.int16
"""Label numbers: a treebank has far fewer than 32,767 labels."""

LABEL_TYPES: dict[str, Any] = {"gold": GOLD, "b_pos": WEIGHT, "b_neg": WEIGHT}


class LabelData(NamedTuple):
    """`gold` int16 (n,): number of the label that is right for the example, -1 for none.

    `b_pos`, `b_neg` float32 (n,): the example's bias for the classifier of its gold label, and for every other one.
    """

    gold: np.ndarray
    b_pos: np.ndarray
    b_neg: np.ndarray


class Label(NamedTuple):
    """A classifier to train: its name, its number in `gold`, and the name of its store."""

    name: str
    number: int
    store: str = "main"


def check_label_data(data: LabelData, n_examples: int) -> None:
    """Raise TrainingDataError unless all three arrays are (n_examples,), biases finite and none negative."""
    for name, array in data._asdict().items():
        if array.shape != (n_examples,):
            raise TrainingDataError(
                f"{name} has shape {array.shape}, but the store has {n_examples} examples; it must have one number per "
                "example. Make the label data and the store from the same examples."
            )
    if n_examples and int(data.gold.min()) < -1:
        where = int(np.argmax(data.gold < -1))
        raise TrainingDataError(
            f"gold of example {where} is {data.gold[where]}; allowed are label numbers from 0, and -1 for none."
        )
    for name in ("b_pos", "b_neg"):
        array = getattr(data, name)
        bad = ~(np.isfinite(array) & (array >= 0))
        if bad.any():
            where = int(np.argmax(bad))
            raise TrainingDataError(
                f"{name} of example {where} is {array[where]} ({int(bad.sum())} such examples); a bias must be finite "
                "and not negative. Check how the weight of the example's state is shared out."
            )


def save_label_data(path: str | os.PathLike, data: LabelData) -> None:
    """Write the arrays beside the store in the folder `path`."""
    data = LabelData(*(np.asarray(array, dtype=LABEL_TYPES[name]) for name, array in data._asdict().items()))
    check_label_data(data, len(data.gold))
    Path(path).mkdir(parents=True, exist_ok=True)
    for name, array in data._asdict().items():
        np.save(Path(path) / f"{name}.npy", array)


def open_label_data(path: str | os.PathLike) -> LabelData:
    """The arrays that `save_label_data` wrote, mapped."""
    try:
        return LabelData(
            *(np.asarray(np.load(Path(path) / f"{name}.npy", mmap_mode="c")) for name in LabelData._fields)
        )
    except (OSError, ValueError) as error:
        raise TrainingDataError(
            f"{path} has no readable label data ({error}); write it with save_label_data after building the store."
        ) from error
