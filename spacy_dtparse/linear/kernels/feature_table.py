"""Hash tables of exact 64-bit feature keys: open addressing, key 0 marks an empty slot.

A plain table has a slot for every key. In a table of families a key's upper bits are a bin, and keys that differ only
in the bin are a family, which is found by one look-up. Look-ups wait for memory, so looking up many keys is fast only
if they are looked up together: `find_families` waits for many at a time.
"""

from typing import NamedTuple

import numpy as np

from ...dtypes import INDEX
from ...jit.decorator import inner_kernel, kernel

BIN_AT = np.uint64(56)
"""First bit of the bin, 0 to 15, in a key of a family; the first key, without a bin, has 0."""
WITHOUT_BIN = np.uint64(2**56 - 1)
_BIN_BITS, _BINS, _POSITION_AT = np.uint64(4), np.uint64(2**16 - 1), np.uint64(16)
_ZERO, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)


@inner_kernel
def _mix_bits(key):
    """Mix a key's bits; the upper bits are mixed best."""
    mixed = (key ^ (key >> np.uint64(31))) * np.uint64(0x7FB5D329728EA185)
    return (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x81DADEF4BC2DD44D)


@inner_kernel
def find_slot(slots, key):
    """The slot of `key`, or the empty slot where it would be inserted. The number of slots is a power of two."""
    mixed = _mix_bits(key)
    mask = np.uint64(len(slots) - 1)
    slot = (mixed ^ (mixed >> np.uint64(33))) & mask
    while slots[slot] != np.uint64(0) and slots[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def fill_slots(keys, slots, ids):
    """Insert keys, uint64 (F,), all different and none 0, into empty `slots`, uint64 (a power of two above F,);
    `ids[slot]`, int32, is then the key's index.
    """
    for position in range(len(keys)):
        slot = find_slot(slots, keys[position])
        slots[slot] = keys[position]
        ids[slot] = position


def make_slots(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Build `(slots, ids)` of a table that is at most half full; see `fill_slots`."""
    size = 1 << max(4, int(2 * len(keys)).bit_length())
    slots, ids = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    fill_slots(keys, slots, ids)
    return slots, ids


@inner_kernel
def find_features(keys, count, slots, ids, features):
    """Write the ids of the keys that are in the table, in order; return their number."""
    found = 0
    for k in range(count):
        slot = find_slot(slots, keys[k])
        if slots[slot] != np.uint64(0):
            features[found] = ids[slot]
            found += 1
    return found


class PairTable(NamedTuple):
    """Features with weights for labels. `slots`, `ids`: see `make_slots`. Feature f has the pairs starts[f] to
    starts[f + 1], each a label and an integer weight in one int32: this halves the bytes to be fetched, which take most
    of a tagger's time."""

    slots: np.ndarray
    ids: np.ndarray
    starts: np.ndarray
    pairs: np.ndarray


def pack_pair(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Pack labels below 2**12 and weights, int16, into pairs."""
    return (weights.astype(np.int32) << 16) | labels.astype(np.int32)


@inner_kernel
def add_scores(keys, count, tables, features, scores):
    """Add the integer weights of the features keys[:count], from a PairTable, to the scores of all labels, int32 (L,).
    Scratch: `features` int32 (`count`,)."""
    for k in range(find_features(keys, count, tables.slots, tables.ids, features)):
        feature = features[k]
        for position in range(tables.starts[feature], tables.starts[feature + 1]):
            pair = tables.pairs[position]
            scores[pair & 0xFFFF] += pair >> 16


class FamilyTable(NamedTuple):
    """Table of families. `rows`: uint64 (S, 2), the first key of a family, and 2**16 times the family's first position
    plus a bit for each of its bins. `ids`: int32 (F + 1,), the id of the key at each position, starting with
    position 1, family by family."""

    rows: np.ndarray
    ids: np.ndarray

    def weights(self, weights: np.ndarray) -> np.ndarray:
        """Reorder the weights of keys, (F,) by id, for kernels: float32 by position; position 0, of no key, gets
        0.0."""
        return np.concatenate([np.zeros(1, np.float32), weights[self.ids[1:]].astype(np.float32)])


@inner_kernel
def _first_row(key, size):
    """The first row to examine for a key in a table of `size` rows."""
    return ((_mix_bits(key) >> _HALF) * size) >> _HALF


@kernel
def _fill_rows(keys, families, rows):
    """Insert families by their keys, both uint64, into empty `rows`."""
    size = np.uint64(len(rows))
    for k in range(len(keys)):
        row = _first_row(keys[k], size)
        while rows[row, 0] != _ZERO:
            row += _ONE
            if row == size:
                row = _ZERO
        rows[row, 0] = keys[k]
        rows[row, 1] = families[k]


def make_families(keys: np.ndarray) -> FamilyTable:
    """Build the table of keys, uint64 (F,), all different and none 0, at most a third full. A family without a first
    key, one of bin 0, is never found."""
    sorted_by = ((keys & WITHOUT_BIN) << _BIN_BITS) | (keys >> BIN_AT)
    order = np.argsort(sorted_by)
    first_keys, bins = sorted_by[order] >> _BIN_BITS, sorted_by[order] & np.uint64(15)
    starts = np.flatnonzero(np.append(True, first_keys[1:] != first_keys[:-1])[: len(first_keys)])
    masks = np.bitwise_or.reduceat(_ONE << bins, starts) if len(starts) else np.zeros(0, np.uint64)
    has_first = (masks & _ONE) == _ONE
    families = (starts.astype(np.uint64) + _ONE) << _POSITION_AT | masks
    rows = np.zeros((max(16, 3 * len(starts)), 2), np.uint64)
    _fill_rows(first_keys[starts[has_first]], families[has_first], rows)
    return FamilyTable(rows, np.append(0, order).astype(INDEX))


@inner_kernel
def find_families(rows, keys, count, scratch, families):
    """Write the families of keys[:count] without bins, uint64, 0 if there is none. Scratch: `scratch` uint64 (2,
    count)."""
    size = np.uint64(len(rows))
    at, pending = scratch[0], scratch[1]  # the row examined for each key; keys whose row belongs to another key
    # The first loops do not depend on loaded values, so a processor can load many rows at once; and no loop branches on
    # a loaded value, which could not be predicted.
    for k in range(count):
        at[k] = _first_row(keys[k], size)
    for k in range(count):
        families[k] = rows[at[k], 0]
    n_still = 0
    for k in range(count):
        found = families[k]
        families[k] = rows[at[k], 1]
        pending[n_still] = k
        n_still += (found != _ZERO) & (found != keys[k])
    while n_still:
        left = 0
        for position in range(n_still):
            k = pending[position]
            row = at[k] + _ONE
            row = row if row != size else _ZERO
            at[k] = row
            found = rows[row, 0]
            families[k] = rows[row, 1]
            pending[left] = k
            left += (found != _ZERO) & (found != keys[k])
        n_still = left


@inner_kernel
def first_position(family):
    """The position of a family's key without a bin; 0 if there is no family."""
    return family >> _POSITION_AT


@inner_kernel
def bin_position(family, which):
    """The position of a family's key of a bin (at least 1); 0 if there is none."""
    bit = _ONE << np.uint64(which)
    before = family & (bit - _ONE) & _BINS
    before = before - ((before >> _ONE) & np.uint64(0x5555))  # count its bits
    before = (before & np.uint64(0x3333)) + ((before >> np.uint64(2)) & np.uint64(0x3333))
    before = (before + (before >> np.uint64(4))) & np.uint64(0x0F0F)
    before = (before + (before >> np.uint64(8))) & np.uint64(0x1F)
    return (family >> _POSITION_AT) + before if family & bit else _ZERO


@inner_kernel
def sum_weights(weights, families, first, last, which, positions):
    """The sum (float64) of the weights, by position, of families[first:last], each without a bin and with the bin
    `which`. Scratch: `positions` uint64 (`last`,)."""
    for k in range(first, last):
        positions[k] = bin_position(families[k], which)
    without, within = 0.0, 0.0  # two sums that do not wait for each other
    for k in range(first, last):
        without += weights[first_position(families[k])]
        within += weights[positions[k]]
    return without + within
