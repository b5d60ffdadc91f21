"""Features of training sentences, listed once on disk and mapped into memory by every learner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.kernels.linear.feature_table import make_families
from spacy_dtparse.kernels.linear.guides import make_guide
from spacy_dtparse.kernels.linear.links import list_features, tree_keys

from ..data.tallies import tallied


class Listed(NamedTuple):
    """As `kernels.link_pass` takes them."""

    features: np.ndarray
    feature_from: np.ndarray
    ends: np.ndarray
    end_from: np.ndarray
    gold: np.ndarray
    gold_from: np.ndarray


@dataclass(frozen=True)
class Example:
    """`atoms`: see `kernels.linear.links`. `heads`: int32 (n + 1,), -1 first. `guide`: as heads, or None, and the atoms
    of its labels, or None."""

    atoms: np.ndarray
    heads: np.ndarray
    guide: np.ndarray | None = None
    guide_labels: np.ndarray | None = None


def feature_keys(examples: Sequence[Example], least: int = 1) -> np.ndarray:
    """The keys of features that gold links have in `least` sentences or more, uint64, ascending: the paper's oracle
    instantiation."""
    found, counts = tallied(_batches(examples))
    return found[counts >= least]


def _batches(examples: Sequence[Example]) -> Iterator[np.ndarray]:
    """The different keys of the gold links of each sentence, of up to 2000 sentences at a time."""
    room = np.empty(1 << 16, np.uint64)
    for start in range(0, len(examples), 2000):
        batch = []
        for example in examples[start : start + 2000]:
            guide = make_guide(example.guide, example.guide_labels)
            count = tree_keys(example.atoms, guide, example.heads, room)
            if count > len(room):
                room = np.empty(2 * count, np.uint64)
                tree_keys(example.atoms, guide, example.heads, room)
            batch.append(np.unique(room[:count]))
        yield np.concatenate(batch)


def write_listing(examples: Sequence[Example], keys: np.ndarray, folder: Path) -> Listed:
    """List the features of every link of every sentence in `folder`, numbered by their place in `keys`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, numbers = make_families(keys)
    room = np.empty(1 << 20, INDEX)
    sizes = []
    with (folder / "features.i32").open("wb") as features, (folder / "ends.i32").open("wb") as ends:
        for example in examples:
            n, guide = len(example.heads) - 1, make_guide(example.guide, example.guide_labels)
            own_ends = np.zeros((n + 1) * n, INDEX)
            count = list_features(example.atoms, guide, rows, numbers, own_ends, room)
            if count > len(room):
                room = np.empty(2 * count, INDEX)
                list_features(example.atoms, guide, rows, numbers, own_ends, room)
            features.write(room[:count].tobytes())
            ends.write(own_ends.tobytes())
            sizes.append((count, len(own_ends), n + 1))
    gold = np.concatenate([example.heads for example in examples]).astype(INDEX)
    starts = np.cumsum([(0, 0, 0), *sizes], axis=0).T
    np.savez(folder / "listing.npz", feature_from=starts[0], end_from=starts[1], gold_from=starts[2], gold=gold)
    return open_listing(folder)


def open_listing(folder: Path) -> Listed:
    """The listing in `folder`, its large parts mapped into memory."""
    with np.load(folder / "listing.npz") as small:
        arrays = {name: small[name] for name in small.files}
    for name in ("features", "ends"):
        file = folder / f"{name}.i32"
        # Mapped copy-on-write: a kernel is compiled for writable arrays, as it is elsewhere.
        arrays[name] = np.asarray(np.memmap(file, INDEX, "c")) if file.stat().st_size else np.zeros(0, INDEX)
    return Listed(**arrays)
