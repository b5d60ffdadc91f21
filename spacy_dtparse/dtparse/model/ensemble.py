"""Boosted confidence-rated decision trees of one label, as plain arrays (Turian & Melamed 2006a, section 3.2)."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...dtypes import CONFIDENCE_GRID, INDEX, SCORE
from ...errors import ModelFormatError
from ...stored_names import stored_as

MAX_CONFIDENCE = 4096.0
"""Maximum |confidence| of a leaf. A log-loss step of that size would mean odds of e**8192; sums of 2**24 trees are
exact."""


@stored_as("roots", "atom", "yes", "no", "value")
class LabelEnsemble(NamedTuple):
    """The trees of one label's classifier, concatenated in the order of training.

    `roots` int32 (T,): node index of each tree's root. `atom` int32 (N,): the atom a node tests, -1 at a leaf. `yes`,
    `no` int32 (N,): child node if the atom is present / absent, -1 at a leaf. `value` float64 (N,): confidence of a
    leaf, an integer multiple of `dtypes.CONFIDENCE_GRID`; 0 at an inner node. The score of an example is the sum of the
    values of the leaves it reaches, one per tree.
    """

    roots: np.ndarray
    atom: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    value: np.ndarray


_TYPES = (INDEX, INDEX, INDEX, INDEX, SCORE)


def empty_ensemble() -> LabelEnsemble:
    """Return an ensemble without trees, which scores everything 0."""
    return LabelEnsemble(*(np.zeros(0, dtype=dtype) for dtype in _TYPES))


MAX_DEPTH = 2**15
"""Maximum number of tests between a root and a leaf."""


def _depths(ensemble: LabelEnsemble) -> np.ndarray:
    """Return the depth of each node; -1 for a node that no root reaches by at most MAX_DEPTH tests."""
    depths = np.full(len(ensemble.atom), -1, dtype=np.int64)
    nodes = ensemble.roots.astype(np.int64)
    for depth in range(MAX_DEPTH + 1):
        if not len(nodes):
            break
        depths[nodes] = depth
        nodes = nodes[ensemble.atom[nodes] >= 0]
        nodes = np.concatenate([ensemble.yes[nodes], ensemble.no[nodes]])
    return depths


def validate(ensemble: LabelEnsemble, n_atoms: int, *, name: str = "ensemble") -> np.ndarray:
    """Return the depth of each node, int64 (N,). Raises `ModelFormatError` unless `ensemble` is a well-formed list of
    trees over atoms 0 .. n_atoms - 1.

    This checks dtypes, shapes, ranges, that leaves have no children, that confidences are finite, on the grid, within
    `MAX_CONFIDENCE` and 0 at inner nodes, and that every node has exactly one position in exactly one tree (so there
    are no cycles, no shared and no unreachable nodes). `name` starts the message.
    """
    for field, dtype in zip(ensemble._fields, _TYPES, strict=True):
        array = getattr(ensemble, field)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            is_array = isinstance(array, np.ndarray)
            seen = f"{array.dtype} of {array.ndim} dimensions" if is_array else type(array).__name__
            raise ModelFormatError(f"{name}: {field} is {seen}; it must be a {np.dtype(dtype)} array of one dimension")
    counts = [len(column) for column in ensemble[1:]]
    if len(set(counts)) > 1:
        seen = f"{', '.join(map(str, counts[:3]))} and {counts[3]}"
        raise ModelFormatError(f"{name}: atom, yes, no and value have {seen} entries; they need one per node")
    for wrong, what, allowed in _faults(ensemble, n_atoms):
        nodes = np.flatnonzero(wrong)
        if len(nodes):
            shown = ", ".join(map(str, nodes[:3])) + (", …" if len(nodes) > 3 else "")
            raise ModelFormatError(
                f"{name}: {what} at {shown}; {allowed}. The model is damaged: train or fetch it again"
            )
    depths = _depths(ensemble)
    if len(depths) and depths.min() < 0:  # every node has one parent, so unreachable nodes form a cycle
        raise ModelFormatError(
            f"{name}: cycle of nodes at {int(np.argmin(depths))}, or more than {MAX_DEPTH} tests before a leaf; "
            "following yes and no must end at leaves. The model is damaged: train or fetch it again"
        )
    return depths


def _faults(ensemble: LabelEnsemble, n_atoms: int) -> Iterator[tuple[np.ndarray, str, str]]:
    """Iterate over possible faults: (mask of the nodes or roots with the fault, its name, the allowed values). Each
    assumes that no node has an earlier fault."""
    roots, atom, yes, no, value = ensemble
    n, inner = len(atom), atom >= 0
    atoms, nodes = f"atoms are 0 to {n_atoms - 1}, and -1 at a leaf", f"nodes are 0 to {n - 1}"
    yield atom >= n_atoms, "unknown atom", atoms
    yield atom < -1, "negative atom", atoms
    yield ~inner & ((yes != -1) | (no != -1)), "leaf with a child", "a leaf has yes = no = -1"
    yield inner & ((yes < 0) | (yes >= n)), "yes child out of range", nodes
    yield inner & ((no < 0) | (no >= n)), "no child out of range", nodes
    yield ~np.isfinite(value), "confidence that is not a number", "confidences are finite"
    yield inner & (value != 0), "confidence on an inner node", "only leaves have one"
    yield np.abs(value) > MAX_CONFIDENCE, "confidence too large", f"at most {MAX_CONFIDENCE}"
    units = value / CONFIDENCE_GRID  # a power of two: exact
    yield units != np.rint(units), "confidence off the grid", f"multiples of {CONFIDENCE_GRID} only"
    yield (roots < 0) | (roots >= n), "root out of range", nodes
    parents = np.bincount(np.concatenate([roots, yes[inner], no[inner]]), minlength=n)
    one = "each node has one parent or is one tree's root"
    yield parents > 1, "node reached from two nodes", one
    yield parents == 0, "node in no tree", one
