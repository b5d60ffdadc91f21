"""A table of exact 64-bit feature keys: open addressing, a power of two of slots, key 0 is an empty slot."""

from __future__ import annotations

import numpy as np

from .jit import inner_kernel, kernel


@inner_kernel
def find_slot(slots, key):
    """The slot that has `key`, or the empty one where it would go."""
    mixed = (key ^ (key >> np.uint64(31))) * np.uint64(0x7FB5D329728EA185)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x81DADEF4BC2DD44D)
    mask = np.uint64(slots.shape[0] - 1)
    slot = (mixed ^ (mixed >> np.uint64(33))) & mask
    while slots[slot] != np.uint64(0) and slots[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def fill_slots(keys, slots, numbers):
    """Enter keys, uint64 (F,), all different and none 0, into empty `slots`, uint64 (a power of two above F,);
    numbers[slot], int32, is then the key's place.
    """
    for place in range(keys.shape[0]):
        slot = find_slot(slots, keys[place])
        slots[slot] = keys[place]
        numbers[slot] = place


def weights_by_slot(slots: np.ndarray, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights of features, (F,) by number, as a table's kernels take them: float32 by slot, 0 where a slot is empty."""
    by_slot = np.zeros(len(slots), np.float32)
    used = slots != 0
    by_slot[used] = weights[numbers[used]]
    return by_slot


def make_slots(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(slots, numbers) of a table that is at most half full; see `fill_slots`."""
    size = 1 << max(4, int(2 * len(keys)).bit_length())
    slots, numbers = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    fill_slots(keys, slots, numbers)
    return slots, numbers
