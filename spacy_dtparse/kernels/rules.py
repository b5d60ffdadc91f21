"""Bit-parallel scoring of all rules of all labels for one candidate.

A rule is a conjunction of present and absent atoms; it owns one bit in each of two word-packed sets. `alive`:
no active atom is one that the rule negates. `asleep`: the rule has present atoms and the one that wakes it is
not active. An active atom only ever clears bits, of rules that negate it in `alive` and of rules that it
wakes in `asleep`, so the order of atoms does not matter: those that all candidates of a state share are
applied once (`rules_begin`) and each candidate adds its own (`rules_extend`). `rules_finish` checks the
remaining present atoms of the few rules that have several and sums the values as integers in units of
`CONFIDENCE_GRID`: the score is exactly the sum of the leaves that `kernels.treewalk` reaches, bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dtypes import BITS, CONFIDENCE_GRID
from .jit import kernel


class RuleSet(NamedTuple):
    """All rules of L labels on W words of 64 bits, over R compact atoms; `model.rules.compile_rules` builds
    it.

    `atom_map` int32 (model's atoms,): compact number of an atom, -1 if no rule uses it: compose it into the
    feature tables, the kernels take compact numbers only. `label_word` int32 (L + 1,): a label's words.
    `bias` float64 (L,). `sleepers` uint64 (W,): rules with present atoms. `checked` uint64 (W,): rules with
    several. `value` int32 (64 W,): in units of `CONFIDENCE_GRID`. `dense` uint64 (D, W): what atoms 0 .. D-1
    keep of `alive`. `kill_start` int32 (R + 1,), `kill_word` int32, `kill_keep` uint64: what an atom keeps of
    the words it clears one by one; words 0 .. W-1 are those of `alive` (none for an atom with a dense row), W
    .. 2W-1 those of `asleep`. `more_start` int32 (64 W + 1,), `more_atom` int32: the present atoms of a
    checked rule besides the one that wakes it. All arrays are C-contiguous and writable.
    """

    atom_map: np.ndarray
    label_word: np.ndarray
    bias: np.ndarray
    sleepers: np.ndarray
    checked: np.ndarray
    value: np.ndarray
    dense: np.ndarray
    kill_start: np.ndarray
    kill_word: np.ndarray
    kill_keep: np.ndarray
    more_start: np.ndarray
    more_atom: np.ndarray


class RuleScratch(NamedTuple):
    """Working memory of one thread. `shared`, `live` uint64 (2 W,): `alive`, then `asleep`, of a state and of
    a candidate.

    `stamp` int64 (R,): the mark under which an atom was last active; it starts from 0, and marks rise from 1.
    """

    shared: np.ndarray
    live: np.ndarray
    stamp: np.ndarray


def make_scratch(rules: RuleSet) -> RuleScratch:
    """Fresh working memory for `rules`."""
    n_words = 2 * len(rules.sleepers)
    return RuleScratch(
        np.zeros(n_words, dtype=BITS),
        np.zeros(n_words, dtype=BITS),
        np.zeros(len(rules.kill_start) - 1, dtype=np.int64),
    )


_BIT_NUMBER = np.zeros(67, dtype=np.int64)  # 2**k mod 67 differs for every k < 64
_BIT_NUMBER[[pow(2, k, 67) for k in range(64)]] = np.arange(64)
_ZERO, _ONE, _SIXTY_SEVEN = np.uint64(0), np.uint64(1), np.uint64(67)
_SHIFT = np.arange(64, dtype=np.uint64)


@kernel
def _apply(rules, atoms, lo, hi, live):
    """Clear in `live` what the atoms clear: word by word, then dense rows, four at a time."""
    for t in range(lo, hi):
        atom = atoms[t]
        for k in range(rules.kill_start[atom], rules.kill_start[atom + 1]):
            live[rules.kill_word[k]] &= rules.kill_keep[k]
    n_dense, n_words = rules.dense.shape
    row0 = row1 = row2 = -1
    for t in range(lo, hi):
        atom = atoms[t]
        if atom >= n_dense:
            continue
        if row0 < 0:
            row0 = atom
        elif row1 < 0:
            row1 = atom
        elif row2 < 0:
            row2 = atom
        else:
            keep0, keep1, keep2 = rules.dense[row0], rules.dense[row1], rules.dense[row2]
            keep3 = rules.dense[atom]
            for w in range(n_words):
                live[w] &= (keep0[w] & keep1[w]) & (keep2[w] & keep3[w])
            row0 = row1 = row2 = -1
    if row0 >= 0:  # one to three rows are left: repeating a row changes nothing
        keep0 = rules.dense[row0]
        keep1 = rules.dense[row1 if row1 >= 0 else row0]
        keep2 = rules.dense[row2 if row2 >= 0 else row0]
        for w in range(n_words):
            live[w] &= keep0[w] & keep1[w] & keep2[w]


@kernel
def rules_begin(rules, atoms, lo, hi, mark, stamp, shared):
    """Start a state: `shared` uint64 (2 W,) gets the effect of the compact atoms atoms[lo:hi] (int32).

    `mark` int64, larger than any used before with `stamp`, names the state. Atoms may repeat.
    """
    n_words = rules.sleepers.shape[0]
    for w in range(n_words):
        shared[w] = ~_ZERO
        shared[n_words + w] = rules.sleepers[w]
    for t in range(lo, hi):
        stamp[atoms[t]] = mark
    _apply(rules, atoms, lo, hi, shared)


@kernel
def rules_extend(rules, shared, atoms, lo, hi, state_mark, mark, stamp, live):
    """Start a candidate: `live` uint64 (2 W,) gets the state's `shared` with the compact atoms atoms[lo:hi]
    added.

    `mark` must be larger than `state_mark` (the one given to `rules_begin`) and than any earlier candidate's.
    Atoms may repeat, and may repeat atoms of the state.
    """
    for w in range(shared.shape[0]):
        live[w] = shared[w]
    for t in range(lo, hi):
        if stamp[atoms[t]] != state_mark:
            stamp[atoms[t]] = mark
    _apply(rules, atoms, lo, hi, live)


@kernel
def rules_finish(rules, live, state_mark, mark, stamp, out):
    """Write the scores of all labels for the candidate in `live` to `out` float64 (L,).

    An atom counts as active if its stamp is `state_mark` or `mark`. For a state's own score give its `shared`
    as `live` and its mark twice.
    """
    n_words = rules.sleepers.shape[0]
    for label in range(out.shape[0]):
        total = 0
        for w in range(rules.label_word[label], rules.label_word[label + 1]):
            word = live[w] & ~live[n_words + w]
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
                for b in range(64):  # no branch: this becomes vector code
                    part += values[b] * np.int64((word >> _SHIFT[b]) & _ONE)
                total += part
        out[label] = total * CONFIDENCE_GRID + rules.bias[label]


@kernel
def rules_score(rules, scratch, atoms, n, mark, out):
    """Scores of all labels for the one candidate with the compact atoms atoms[:n]; see `rules_begin` for
    `mark`."""
    rules_begin(rules, atoms, 0, n, mark, scratch.stamp, scratch.shared)
    rules_finish(rules, scratch.shared, mark, mark, scratch.stamp, out)
