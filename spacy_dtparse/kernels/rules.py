"""Bit-parallel scoring of all rules of all labels for one candidate.

A rule is a conjunction of present and absent atoms; it owns one bit of a word-packed set. Two sets are kept:
`alive` (no active atom is negated by the rule) and `awake` (the rule has no present atom, or the one that
wakes it is active). An active atom clears bits of `alive` by masks and sets bits of `awake`; both are
commutative, so atoms that all candidates of a state share are applied once (`rules_begin`) and each candidate
adds its own (`rules_extend`). `rules_finish` checks the remaining present atoms of the few rules that have
several and sums the values, as integers in units of `CONFIDENCE_GRID`: the score is exactly the sum of the
reached leaves of `kernels.treewalk`, bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dtypes import CONFIDENCE_GRID
from .jit import kernel


class RuleSet(NamedTuple):
    """All rules of L labels on W words of 64 bits, over R compact atoms; `model.rules.compile_rules` builds
    it.

    `atom_map` int32 (model's atoms,): compact number of an atom, -1 if no rule uses it: compose it into the
    feature tables, the kernels take compact numbers only. `label_word` int32 (L + 1,): a label's words.
    `bias` float64 (L,). `base` uint64 (W,): rules without present atoms. `checked` uint64 (W,): rules with
    several. `value` int32 (64 W,): in units of `CONFIDENCE_GRID`. `dense` uint64 (D, W): masks by which atoms
    0 .. D-1 keep rules; later atoms have (`kill_word` int32, `kill_keep` uint64) pairs from `kill_start`
    int32 (R + 1,). `wake_*`: (word, bits) pairs that an atom wakes. `more_start` int32 (64 W + 1,),
    `more_atom` int32: the present atoms of a checked rule besides its waker. All arrays are C-contiguous and
    writable.
    """

    atom_map: np.ndarray
    label_word: np.ndarray
    bias: np.ndarray
    base: np.ndarray
    checked: np.ndarray
    value: np.ndarray
    dense: np.ndarray
    kill_start: np.ndarray
    kill_word: np.ndarray
    kill_keep: np.ndarray
    wake_start: np.ndarray
    wake_word: np.ndarray
    wake_bits: np.ndarray
    more_start: np.ndarray
    more_atom: np.ndarray


class RuleScratch(NamedTuple):
    """What one thread needs to score: `shared`, `live` uint64 (2, W): alive and awake rules of a state, of a
    candidate; `stamp` int64 (R,): the mark under which an atom was last active; start from 0 and use rising
    marks from 1."""

    shared: np.ndarray
    live: np.ndarray
    stamp: np.ndarray


def make_scratch(rules: RuleSet) -> RuleScratch:
    """Fresh scratch arrays for `rules`."""
    shape = (2, len(rules.base))
    return RuleScratch(
        np.zeros(shape, dtype=np.uint64),
        np.zeros(shape, dtype=np.uint64),
        np.zeros(len(rules.kill_start) - 1, dtype=np.int64),
    )


_BIT_NUMBER = np.zeros(67, dtype=np.int64)  # 2**k mod 67 differs for every k < 64
_BIT_NUMBER[[pow(2, k, 67) for k in range(64)]] = np.arange(64)
_ZERO, _ONE, _SIXTY_SEVEN = np.uint64(0), np.uint64(1), np.uint64(67)
_SHIFT = np.arange(64, dtype=np.uint64)


@kernel
def _apply(rules, atoms, lo, hi, alive, awake):
    """Clear what atoms[lo:hi] negate and wake what they wake; dense rows go four at a time."""
    n_dense, n_words = rules.dense.shape
    row0 = row1 = row2 = -1
    for t in range(lo, hi):
        atom = atoms[t]
        for k in range(rules.wake_start[atom], rules.wake_start[atom + 1]):
            awake[rules.wake_word[k]] |= rules.wake_bits[k]
        if atom >= n_dense:
            for k in range(rules.kill_start[atom], rules.kill_start[atom + 1]):
                alive[rules.kill_word[k]] &= rules.kill_keep[k]
        elif row0 < 0:
            row0 = atom
        elif row1 < 0:
            row1 = atom
        elif row2 < 0:
            row2 = atom
        else:
            keep0, keep1, keep2 = rules.dense[row0], rules.dense[row1], rules.dense[row2]
            keep3 = rules.dense[atom]
            for w in range(n_words):
                alive[w] &= (keep0[w] & keep1[w]) & (keep2[w] & keep3[w])
            row0 = row1 = row2 = -1
    if row0 >= 0:  # one to three rows are left: repeating a row changes nothing
        keep0 = rules.dense[row0]
        keep1 = rules.dense[row1 if row1 >= 0 else row0]
        keep2 = rules.dense[row2 if row2 >= 0 else row0]
        for w in range(n_words):
            alive[w] &= keep0[w] & keep1[w] & keep2[w]


@kernel
def rules_begin(rules, atoms, lo, hi, mark, stamp, shared):
    """Start a state: `shared` uint64 (2, W) gets the effect of the compact atoms atoms[lo:hi] (int32).

    `mark` int64, larger than any used before with `stamp`, names the state.
    """
    alive, awake = shared[0], shared[1]
    for w in range(rules.base.shape[0]):
        alive[w] = ~_ZERO
        awake[w] = rules.base[w]
    for t in range(lo, hi):
        stamp[atoms[t]] = mark
    _apply(rules, atoms, lo, hi, alive, awake)


@kernel
def rules_extend(rules, shared, atoms, lo, hi, state_mark, mark, stamp, live):
    """Start a candidate: `live` uint64 (2, W) gets the state's sets with the compact atoms atoms[lo:hi]
    added.

    `mark` must be larger than `state_mark` (the one given to `rules_begin`) and than any earlier candidate's.
    Atoms may repeat, and may repeat atoms of the state.
    """
    alive, awake = live[0], live[1]
    for w in range(rules.base.shape[0]):
        alive[w] = shared[0, w]
        awake[w] = shared[1, w]
    for t in range(lo, hi):
        if stamp[atoms[t]] != state_mark:
            stamp[atoms[t]] = mark
    _apply(rules, atoms, lo, hi, alive, awake)


@kernel
def rules_finish(rules, live, state_mark, mark, stamp, out):
    """Write the scores of all labels for the candidate in `live` to `out` float64 (L,); `live` is used up.

    An atom counts as active if its stamp is `state_mark` or `mark` (both the state's if no candidate was
    added).
    """
    alive, awake = live[0], live[1]
    for label in range(out.shape[0]):
        total = 0
        for w in range(rules.label_word[label], rules.label_word[label + 1]):
            word = alive[w] & awake[w]
            check = word & rules.checked[w]
            while check != _ZERO:
                low = check ^ (check & (check - _ONE))
                check ^= low
                slot = w * 64 + _BIT_NUMBER[np.int64(low % _SIXTY_SEVEN)]
                for k in range(rules.more_start[slot], rules.more_start[slot + 1]):
                    seen = stamp[rules.more_atom[k]]
                    if seen != state_mark and seen != mark:
                        word ^= low
                        break
            if word != _ZERO:
                values = rules.value[w * 64 : w * 64 + 64]
                part = 0
                for b in range(64):
                    part += values[b] * np.int64((word >> _SHIFT[b]) & _ONE)
                total += part
        out[label] = total * CONFIDENCE_GRID + rules.bias[label]


@kernel
def rules_score(rules, scratch, atoms, n, mark, out):
    """Scores of all labels for the one candidate with the compact atoms atoms[:n]; see `rules_begin` for
    `mark`."""
    rules_begin(rules, atoms, 0, n, mark, scratch.stamp, scratch.shared)
    rules_finish(rules, scratch.shared, mark, mark, scratch.stamp, out)
