"""Lossless storage format of ensembles: few, small arrays that compress well.

Children are stored relative to their parent, atoms by frequency rank, values only for leaves with a non-zero value.
Node indices do not change, so unpacked ensembles can be evaluated by the trainer's code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...dtypes import CONFIDENCE_GRID, INDEX, SCORE
from ...errors import ModelFormatError
from ...model_io.container import narrow
from ...model_io.schema import Array
from .ensemble import LabelEnsemble, validate

_FIELDS = ("trees", "nodes", "root_steps", "inner", "table", "rank", "yes_step", "no_step", "charged", "units")


def pack_ensembles(ensembles: Sequence[LabelEnsemble], n_atoms: int, *, prefix: str = "") -> dict[str, np.ndarray]:
    """Convert ensembles to arrays of a container, with names that begin with `prefix`; raises `ModelFormatError` for
    malformed ensembles."""
    for index, ensemble in enumerate(ensembles):
        validate(ensemble, n_atoms, name=f"ensemble {index}")

    def concatenate(parts: list[np.ndarray], dtype: type) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype=dtype), *parts]).astype(dtype)

    inner = concatenate([e.atom >= 0 for e in ensembles], bool)
    node = concatenate([np.arange(len(e.atom)) for e in ensembles], np.int64)[inner]
    yes = concatenate([e.yes for e in ensembles], np.int64)[inner]
    no = concatenate([e.no for e in ensembles], np.int64)[inner]
    value = concatenate([e.value for e in ensembles], SCORE)[~inner]
    table, rank = np.unique(concatenate([e.atom for e in ensembles], INDEX)[inner], return_inverse=True)
    by_frequency = np.argsort(-np.bincount(rank, minlength=len(table)), kind="stable")
    new_rank = np.empty(len(table), dtype=np.int64)
    new_rank[by_frequency] = np.arange(len(table))
    packed = {
        "trees": np.array([len(e.roots) for e in ensembles], dtype=np.int64),
        "nodes": np.array([len(e.atom) for e in ensembles], dtype=np.int64),
        "root_steps": concatenate([np.diff(e.roots.astype(np.int64), prepend=0) for e in ensembles], np.int64),
        "inner": np.packbits(inner),
        "table": table[by_frequency].astype(INDEX),
        "rank": new_rank[rank],
        "yes_step": yes - node,
        "no_step": no - yes,
        "charged": np.packbits(value != 0),
        "units": np.rint(value[value != 0] / CONFIDENCE_GRID).astype(np.int64),
    }
    return {prefix + name: packed[name] for name in _FIELDS}


def declare_ensembles(prefix: str) -> dict[str, Array]:
    """Declare the arrays of `pack_ensembles` in a file; `unpack_ensembles` checks that they are consistent."""
    flags = {name: Array("uint8", (name,)) for name in ("inner", "charged")}
    counts = {name: Array("int64", ("ensembles",), 0, below=_LIMIT) for name in ("trees", "nodes")}
    steps = {name: Array("int64", (size,), -_LIMIT, below=_LIMIT) for name, size in _STEPS.items()}
    table = {"table": Array("int32", ("tested atoms",), 0, below="atoms")}
    rank = {"rank": Array("int64", ("inner nodes",), 0, below="tested atoms")}
    return {prefix + name: array for name, array in {**flags, **counts, **steps, **table, **rank}.items()}


_LIMIT = 2**31
_STEPS = {
    "root_steps": "number of trees",
    "yes_step": "inner nodes",
    "no_step": "inner nodes",
    "units": "charged leaves",
}
_FREE_LEVELS, _FREE_LITERALS, _LITERALS = 2**15, 2**20, 8
"""Maximum number of levels in the trees of all labels; maximum number of conditions of all rules, plus that for each
node. Trees of the trainer have 2 conditions for each node, and 60 levels for each label."""


def unpack_ensembles(arrays: Mapping[str, np.ndarray], n_atoms: int, *, prefix: str = "") -> PackedEnsembles:
    """Restore and validate the ensembles that were passed to `pack_ensembles`.

    Raises `ModelFormatError` if arrays are missing or inconsistent.
    """
    missing = [prefix + name for name in _FIELDS if prefix + name not in arrays]
    if missing:
        raise ModelFormatError(f"the model lacks the arrays {', '.join(missing)}; fetch or write the file again")
    part = {name: arrays[prefix + name] for name in _FIELDS}

    def require(fits: bool, what: str) -> None:
        if not fits:
            raise _format_error(what)

    for name, array in part.items():
        require(array.ndim == 1 and array.dtype.kind in "iu", f"{prefix + name} is not a list of integers")
    trees, nodes = part["trees"].astype(np.int64), part["nodes"].astype(np.int64)
    require(len(trees) == len(nodes), "tree and node counts are for different numbers of labels")
    require(trees.min(initial=0) >= 0 and nodes.min(initial=0) >= 0, "a count is negative")
    require(nodes.max(initial=0) <= np.iinfo(INDEX).max, "a label has too many nodes")
    n_nodes = sum(nodes.tolist())  # Python integers: counts from an untrusted file must not wrap around
    require(sum(trees.tolist()) == len(part["root_steps"]), "the roots do not match the tree counts")
    require((n_nodes + 7) // 8 == len(part["inner"]), "the node kinds do not match the node counts")
    require(part["inner"].dtype == np.uint8 and part["charged"].dtype == np.uint8, "flags are not bytes")
    inner = np.unpackbits(part["inner"], count=n_nodes).astype(bool)
    n_inner = int(np.count_nonzero(inner))
    per_inner = {len(part[name]) for name in ("rank", "yes_step", "no_step")}
    require(per_inner == {n_inner}, "atoms and children do not match the number of inner nodes")
    n_leaves = n_nodes - n_inner
    require((n_leaves + 7) // 8 == len(part["charged"]), "the value flags do not match the number of leaves")
    charged = np.unpackbits(part["charged"], count=n_leaves).astype(bool)
    require(len(part["units"]) == np.count_nonzero(charged), "there is not one value for each leaf with a value")
    rank, table = part["rank"], part["table"]
    in_table = rank.min(initial=0) >= 0 and int(rank.max(initial=-1)) + 1 == len(table)
    require(in_table, "atoms do not match the atom table")
    limit = np.iinfo(INDEX).max
    for name in ("table", "root_steps", "yes_step", "no_step", "units"):
        low, high = int(part[name].min(initial=0)), int(part[name].max(initial=0))
        require(-limit <= low and high <= limit, f"{prefix + name} has a number beyond 32 bits")

    require(int(table.min(initial=0)) >= 0, "the atom table has a negative number")
    counts = trees, nodes, _counts(inner, nodes)
    packed = PackedEnsembles({**part, "inner": inner, "charged": charged}, *counts)
    levels = literals = 0
    for label, ensemble in enumerate(packed):
        depths = validate(ensemble, n_atoms, name=f"label {label}")
        levels += int(depths.max(initial=0))
        literals += int(depths[ensemble.value != 0].sum())
        require(levels <= _FREE_LEVELS, f"there are more than {_FREE_LEVELS} levels of nodes")
        require(literals <= _FREE_LITERALS + _LITERALS * n_nodes, "its rules have too many conditions")
    return packed


def _counts(flags: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Count the flags that are set in each segment; `sizes`: of the segments."""
    before = np.concatenate([[0], np.cumsum(flags)])
    return np.diff(before[np.concatenate([[0], np.cumsum(sizes)])])


class PackedEnsembles(Sequence[LabelEnsemble]):
    """Ensembles in their storage format, each unpacked on access: unpacked they need several times the memory, and a
    parser needs them only to compile its rules.

    `part`: consistent arrays of `pack_ensembles`, flags as bool. `trees`, `nodes`, `inner`: the numbers of trees, nodes
    and inner nodes of each label. Raises ModelFormatError for a node index beyond 32 bits.
    """

    def __init__(self, part: Mapping[str, np.ndarray], trees: np.ndarray, nodes: np.ndarray, inner: np.ndarray):
        self._part = {name: narrow(array) for name, array in part.items()}
        charged = _counts(part["charged"], nodes - inner)
        self._offsets = {  # offsets of the labels' parts in the arrays
            name: np.concatenate([[0], np.cumsum(sizes)]).tolist()
            for name, sizes in (("tree", trees), ("node", nodes), ("inner", inner), ("units", charged))
        }

    def __len__(self) -> int:
        return len(self._offsets["tree"]) - 1

    def __iter__(self) -> Iterator[LabelEnsemble]:
        return map(self._unpack, range(len(self)))

    def __getitem__(self, label: Any) -> Any:
        labels = range(len(self))[label]
        return [self._unpack(one) for one in labels] if isinstance(label, slice) else self._unpack(labels)

    def _unpack(self, label: int) -> LabelEnsemble:
        here = {name: slice(*starts[label : label + 2]) for name, starts in self._offsets.items()}
        part, splits = self._part, here["inner"]
        inner = part["inner"][here["node"]]
        leaves = slice(here["node"].start - splits.start, here["node"].stop - splits.stop)
        charged = part["charged"][leaves]
        roots = np.cumsum(part["root_steps"][here["tree"]].astype(np.int64))
        atom = np.full(len(inner), -1, dtype=INDEX)
        atom[inner] = part["table"][part["rank"][splits]]
        yes, no = np.full(len(inner), -1, dtype=np.int64), np.full(len(inner), -1, dtype=np.int64)
        yes[inner] = np.flatnonzero(inner) + part["yes_step"][splits]
        no[inner] = yes[inner] + part["no_step"][splits]
        farthest = max(int(np.abs(array).max(initial=0)) for array in (roots, yes, no))
        if farthest > np.iinfo(INDEX).max:
            raise _format_error(f"label {label} has a node number beyond 32 bits")
        leaf_value = np.zeros(len(charged), dtype=SCORE)
        leaf_value[charged] = part["units"][here["units"]] * CONFIDENCE_GRID
        value = np.zeros(len(inner), dtype=SCORE)
        value[~inner] = leaf_value
        return LabelEnsemble(roots.astype(INDEX), atom, yes.astype(INDEX), no.astype(INDEX), value)


def _format_error(what: str) -> ModelFormatError:
    return ModelFormatError(f"malformed trees in the model: {what}; fetch or write the file again")
