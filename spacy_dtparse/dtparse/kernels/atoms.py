"""Ids of atoms (atomic features): a direct map for tests of one value, a hash table for tests of several."""

from typing import NamedTuple

import numpy as np

from ...jit.decorator import inner_kernel, noalloc_kernel
from ...stored_names import stored_as

MIX_1 = np.uint64(0x9E3779B97F4A7C15)
MIX_2 = np.uint64(0xBF58476D1CE4E5B9)
MIX_3 = np.uint64(0x94D049BB133111EB)
_S30 = np.uint64(30)
_S27 = np.uint64(27)
_S31 = np.uint64(31)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@stored_as("direct", "keys", "values", "state")
class AtomMap(NamedTuple):
    """Ids of atoms: `direct` int32 (D,) for one-value templates (-1: not an atom); an open-addressing hash table `keys`
    uint64 (H,) (0: empty) with `values` int32 (H,) for tuples, H a power of two. `state` int64 (3,): number of atoms,
    number of hashed keys, 1 while atoms are being collected (then an unseen key gets the next id)."""

    direct: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    state: np.ndarray


@inner_kernel
def mix(state, value):
    """Mix an integer (>= -1) into a 64-bit hash state (splitmix64's finaliser)."""
    z = (state ^ np.uint64(value + 2)) * MIX_1
    z = (z ^ (z >> _S30)) * MIX_2
    z = (z ^ (z >> _S27)) * MIX_3
    return z ^ (z >> _S31)


@inner_kernel
def fold(state, key):
    """Mix a 64-bit key into a 64-bit hash state."""
    z = ((state << _ONE) ^ (state >> _S31) ^ key) * MIX_1
    z = (z ^ (z >> _S30)) * MIX_2
    return z ^ (z >> _S31)


@noalloc_kernel
def lookup(keys, values, state, key):
    """Id of the hashed atom `key`, -1 if it is unknown. While atoms are collected (state[2] = 1), an unseen key is
    added.

    `keys`, `values`, `state`: see AtomMap.
    """
    mask = np.uint64(len(keys) - 1)  # a power of two minus 1
    key |= _ONE  # 0 marks an empty entry
    at = (key >> _S27) & mask
    # This ends, because a table is never full: `model.hash_table` and the collecting of atoms leave entries empty.
    while keys[at] != _ZERO:
        if keys[at] == key:
            return values[at]
        at = (at + _ONE) & mask
    if state[2] == 1:
        keys[at] = key
        values[at] = state[0]
        state[0] += 1
        state[1] += 1
        return values[at]
    return np.int32(-1)


@noalloc_kernel
def insert_keys(keys, values, new_keys, new_values):
    """Insert (key, value) pairs into an open-addressing table that is large enough; see `lookup`."""
    mask = np.uint64(len(new_keys) - 1)
    for n in range(len(keys)):
        key = keys[n] | _ONE
        at = (key >> _S27) & mask
        while new_keys[at] != _ZERO:
            at = (at + _ONE) & mask
        new_keys[at] = key
        new_values[at] = values[n]
