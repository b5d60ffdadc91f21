"""Bit-parallel scoring of all rules of all labels for one candidate.

A rule is a conjunction of present and absent atoms. It owns one bit in the word-packed set *alive*: no active
atom is one that the rule negates. A rule with present atoms owns a further bit for each of them: the atom is
still *awaited*. An active atom only ever clears bits, of rules that negate it in the one set and of rules
that await it in the others, so the order of atoms does not matter and repeats do no harm: what all candidates
of a state share is applied once (`rules_start`) and each candidate adds its own (`rules_add`). A rule counts
if it is alive and awaits nothing; `rules_sum` adds up the values as integers in units of `CONFIDENCE_GRID`,
so that the score is exactly the sum of the leaves that `kernels.treewalk` reaches, bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dtypes import BITS, CONFIDENCE_GRID
from .jit import bare_kernel, inner_kernel


class RuleSet(NamedTuple):
    """All rules of L labels on W words of 64 bits, over R compact atoms (see `model.rules.compile_rules`).

    `atom_map` int32 (model's atoms,): compact number of an atom, -1 if no rule uses it: compose it into the
    feature tables, the kernels take compact numbers only. `label_word` int32 (L + 1,): a label's words.
    `bias` float64 (L,). `value` int32 (64 W,): in units of `CONFIDENCE_GRID`, 0 for the padding at the end of
    a label's last word. `fresh` uint64 (B,): the bits when no atom is active: words 0 .. W-1 alive, 1
    everywhere; then the awaited bits of word w in the words `wait_start[w]` .. `wait_start[w + 1]`, int32 (W
    + 1,): as many as its rule with the most present atoms has. `dense` uint64 (D, W): what atoms 0 .. D-1
    keep of the alive words. `kill_start` int32 (R + 1,), `kill_word` int32, `kill_keep` uint64: what an atom
    keeps of single words: of awaited words, and, without a dense row, of alive words. All arrays are
    C-contiguous and writable.
    """

    atom_map: np.ndarray
    label_word: np.ndarray
    bias: np.ndarray
    value: np.ndarray
    fresh: np.ndarray
    wait_start: np.ndarray
    dense: np.ndarray
    kill_start: np.ndarray
    kill_word: np.ndarray
    kill_keep: np.ndarray


class RuleScratch(NamedTuple):
    """Working memory of one thread: `shared`, `live` uint64 (B,), the bits of a state and of a candidate."""

    shared: np.ndarray
    live: np.ndarray


def make_scratch(rules: RuleSet) -> RuleScratch:
    """Fresh working memory for `rules`."""
    size = len(rules.fresh)
    return RuleScratch(np.zeros(size, dtype=BITS), np.zeros(size, dtype=BITS))


_ZERO, _ONE = np.uint64(0), np.uint64(1)
_SHIFT = np.arange(64, dtype=np.uint64)


@inner_kernel
def _apply(rules, atoms, lo, hi, live):
    """Clear what the atoms clear: single words, then dense rows, four at a time."""
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


@inner_kernel
def rules_start(rules, atoms, n, shared):
    """Start a state: `shared` uint64 (B,) gets the effect of the compact atoms atoms[:n] (int32, in any order)."""
    for b in range(rules.fresh.shape[0]):
        shared[b] = rules.fresh[b]
    _apply(rules, atoms, np.int64(0), n, shared)


@inner_kernel
def rules_add(rules, shared, atoms, lo, hi, live):
    """Start a candidate: `live` uint64 (B,) gets the state's `shared` with the compact atoms atoms[lo:hi]
    added."""
    for b in range(shared.shape[0]):
        live[b] = shared[b]
    _apply(rules, atoms, lo, hi, live)


@inner_kernel
def rules_sum(rules, live, out):
    """Write the scores of all labels for the bits in `live` to `out` float64 (L,); `live` stays as it is."""
    for label in range(out.shape[0]):
        total = 0
        for w in range(rules.label_word[label], rules.label_word[label + 1]):
            word = live[w]
            for k in range(rules.wait_start[w], rules.wait_start[w + 1]):
                word &= ~live[k]
            if word != _ZERO:
                values = rules.value[w * 64 : w * 64 + 64]
                part = 0
                for b in range(64):  # no branch, so that this becomes vector code
                    part += values[b] & -np.int64((word >> _SHIFT[b]) & _ONE)
                total += part
        out[label] = total * CONFIDENCE_GRID + rules.bias[label]


@bare_kernel
def rules_score(rules, scratch, atoms, n, out):
    """Scores of all labels to `out` float64 (L,) for the one candidate with the compact atoms atoms[:n]."""
    rules_start(rules, atoms, n, scratch.shared)
    rules_sum(rules, scratch.shared, out)
