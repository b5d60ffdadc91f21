"""Kernels of the direct store: its column index, the gather of rows, and the percolation of all examples.

A column is the set of examples with one atom: a bitset if the atom is frequent, else a sorted list of example indices.
Indices are cast to unsigned integers in the inner loops: numba wraps negative indices around, and that test costs more
than the work itself (4 times as much in the gather).
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

from spacy_dtparse.jit.decorator import kernel
from spacy_dtparse.stored_names import stored_as


@stored_as("slot", "bits", "starts", "postings")
class FeatureColumns(NamedTuple):
    """Column index of n examples. `slot` int32 (n_atoms,): row of the atom in `bits`, -1 if it has a list.

    `bits` uint64 (n_slots, ceil(n / 64)): bit i % 64 of word i // 64 is example i. `starts` int64 (n_atoms +
    1,): the atom's part of `postings` int32, empty for atoms with a bitset.
    """

    slot: np.ndarray
    bits: np.ndarray
    starts: np.ndarray
    postings: np.ndarray


@kernel
def count_atoms(atoms, counts):
    """Add the number of occurrences of each atom to `counts` int64."""
    for atom in atoms:
        counts[atom] += 1


@kernel
def fill_columns(indptr, atoms, slot, starts, first, last, first_slot, bits, postings):
    """Write the columns of the atoms in [first, last). `bits` (0 on entry) begins with slot `first_slot`, `postings`
    with the posting list of atom `first`."""
    next_position = starts[first : last + 1] - starts[first]
    span = np.uint64(last - first)
    for row in range(len(indptr) - 1):
        word = np.uint64(row >> 6)
        mask = ONE << np.uint64(row & 63)
        for position in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            atom = atoms[np.uint64(position)]
            inside = np.uint64(np.int64(atom) - first)
            if atom < first or inside >= span:
                continue
            where = slot[np.uint64(atom)]
            if where >= 0:
                bits[np.uint64(where - first_slot), word] |= mask
            else:
                postings[np.uint64(next_position[inside])] = row
                next_position[inside] += 1


@kernel
def gather_rows(indptr, atoms, ids, out_indptr, out_atoms):
    """Copy the rows `ids` of a CSR matrix into `out_indptr` (len(ids) + 1,) and `out_atoms`."""
    end = np.uint64(0)
    out_indptr[0] = 0
    for k in range(len(ids)):
        row = np.uint64(ids[k])
        start = np.uint64(indptr[row])
        length = np.uint64(indptr[row + ONE]) - start
        for offset in range(length):
            out_atoms[end + np.uint64(offset)] = atoms[start + np.uint64(offset)]
        end += length
        out_indptr[k + 1] = end


@kernel
def _set_at_bits(word, base, value, out):
    """Set out[base + b] = value for every bit b of `word`."""
    start = np.uint64(base)
    while word != ZERO:
        out[start + lowest_bit(word)] = value
        word &= word - ONE


@kernel
def lower_bound(ascending, start, end, wanted):
    """First index in [start, end) whose value is not below `wanted`, `end` if none."""
    while start < end:
        middle = (start + end) >> 1
        if ascending[middle] < wanted:
            start = middle + 1
        else:
            end = middle
    return start


@kernel
def _split_list(columns, test, arena, start, end):
    """Partition the members arena[start:end] into those with atom `test`, then the others, both sorted. Returns the
    start of the others."""
    slot, bits, starts, postings = columns
    column, first, last = slot[test], starts[test], starts[test + 1]
    spare = np.empty(end - start, np.int32)
    middle, n_spare = start, 0
    for position in range(start, end):
        example = arena[position]
        if column >= 0:
            has = (bits[column, example >> 6] >> np.uint64(example & 63)) & ONE != ZERO
        else:
            at = lower_bound(postings, first, last, example)
            has = at < last and postings[at] == example
        if has:
            arena[middle] = example
            middle += 1
        else:
            spare[n_spare] = example
            n_spare += 1
    arena[middle:end] = spare[:n_spare]
    return middle


@kernel
def _move_listed(members, postings, first, last, leaf, arena, used, out):
    """Move the members in a posting list from their bitset to `leaf` of `out`, or (leaf < 0) to the arena. Returns the
    new end of the arena."""
    for position in range(first, last):
        rare = np.uint64(postings[position])
        mask = ONE << (rare & LOW6)
        if members[rare >> SIX] & mask != ZERO:
            members[rare >> SIX] ^= mask
            if leaf >= 0:
                out[rare] = leaf
            else:
                arena[used] = rare
                used += 1
    return used


@kernel
def _move_to_leaf(members, column, leaf, out):
    """Move the members in the bitset `column` to `leaf` of `out`."""
    for k in range(len(column)):
        at = np.uint64(k)
        both = members[at] & column[at]
        if both != ZERO:
            members[at] ^= both
            _set_at_bits(both, k << 6, leaf, out)


@kernel
def percolate(columns, atom, yes, no, pool, arena, out):
    """Write the node index of the leaf that each of n examples reaches into `out` uint16 (n,).

    A node's members are a bitset (a row of `pool`) while they may be many, and a list of example indices (a part of
    `arena` int32 (n,)) below a split by a rare atom. `pool` uint64 (inner nodes + 1, n_words) is scratch. All examples
    are first assigned to the leaf at the end of the chain of "no" answers, where most of them stay.
    """
    slot, bits, starts, postings = columns
    default = 0
    while atom[default] >= 0:
        default = no[default]
    out[:] = default
    if atom[0] < 0:
        return
    n, n_words, n_nodes = len(out), pool.shape[1], len(atom)
    stack = np.empty(n_nodes, np.int64)
    where = np.empty(n_nodes, np.int64)  # row of pool, or -1 - start in arena
    stop = np.empty(n_nodes, np.int64)  # end in arena
    pool[0] = ALL
    if n & 63:
        pool[0, n_words - 1] = (ONE << np.uint64(n & 63)) - ONE
    stack[0], where[0] = 0, 0
    depth, used = 1, 0
    while depth:
        depth -= 1
        node = stack[depth]
        test, left, right = atom[node], yes[node], no[node]
        if where[node] < 0:  # a list of members
            start, end = -1 - where[node], stop[node]
            middle = _split_list(columns, test, arena, start, end)
            for child, first, last in ((left, start, middle), (right, middle, end)):
                if atom[child] < 0:
                    for position in range(first, last):
                        out[arena[position]] = child
                else:
                    where[child], stop[child] = -1 - first, last
                    stack[depth] = child
                    depth += 1
            continue
        members = pool[where[node]]
        column, left_leaf = slot[test], atom[left] < 0
        if column < 0:  # a rare atom: its members become a list, the others keep the bitset
            where[left] = -1 - used
            used = _move_listed(
                members, postings, starts[test], starts[test + 1], left if left_leaf else -1, arena, used, out
            )
            stop[left] = used
        elif left_leaf:
            _move_to_leaf(members, bits[column], left, out)
        else:  # in the next row: all below it is done before the right child's row is used again
            where[left] = where[node] + 1
            taken, present = pool[where[left]], bits[column]
            for word in range(n_words):
                taken[word] = members[word] & present[word]
                members[word] ^= taken[word]
        if atom[right] >= 0:
            where[right] = where[node]
            stack[depth] = right
            depth += 1
        elif right != default:
            for word in range(n_words):
                if members[word] != ZERO:
                    _set_at_bits(members[word], word << 6, right, out)
        if not left_leaf:
            stack[depth] = left
            depth += 1


ONE = np.uint64(1)
ZERO = np.uint64(0)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
LOW6 = np.uint64(63)
SIX = np.uint64(6)

if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set at run time

    def lowest_bit(word):
        """Position of the lowest set bit of `word` (uint64), which must not be 0."""
        return np.uint64((int(word) & -int(word)).bit_length() - 1)

else:

    @intrinsic
    def lowest_bit(typingctx, word):
        """One machine instruction."""
        one = ir.Constant(ir.IntType(1), 1)
        return types.uint64(types.uint64), lambda context, builder, signature, given: builder.cttz(given[0], one)
