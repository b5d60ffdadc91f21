"""Bit-parallel scoring of all rules of all labels for one candidate.

A rule is a conjunction of present and absent atoms. It has one bit in the word-packed set *alive*: no active atom is
negated by the rule. A rule with present atoms has one more bit for each of them: the atom is still *awaited*. An active
atom only clears bits: of rules that negate it in the first set, and of rules that await it in the others. So the order
of atoms does not matter and repeats are harmless: the atoms shared by all candidates of a state are applied once, and
so are those that a candidate shares with all later ones (`rules_batch`). A rule counts if it is alive and awaits no
atom. Values are added as integers in units of `CONFIDENCE_GRID`, so the score is, bit for bit, the sum of the leaves
that a walk through the trees reaches.
"""

from typing import NamedTuple

import numpy as np

from ...dtypes import BITS, CONFIDENCE_GRID, INDEX
from ...jit.decorator import inner_kernel


class RuleSet(NamedTuple):
    """All rules of L labels on W words of 64 bits, over R compact atoms (see `dtparse.model.rules.compile_rules`).

    `atom_map` int32 (model's atoms,): compact id of an atom, -1 if no rule uses it: compose it into the feature tables,
    since the kernels take compact ids only. `label_word` int32 (L + 1,): label l has the words label_word[l] ..
    label_word[l + 1]. `bias` float64 (L,). `value` int32 (64 W,): in units of `CONFIDENCE_GRID`, 0 for the padding at
    the end of a label's last word. `fresh` uint64 (B,): the bits when no atom is active: first the alive words 0 ..
    W-1, all ones; then the awaited bits, label by label in layers. `layer` int32 (L, K + 1): layer k of label l is in
    the words `layer[l, k]` .. `layer[l, k + 1]`. It belongs to the label's words 0, 1, ..., as many as have a rule with
    more than k present atoms (the label's words are sorted so that these come first). `dense` uint64 (D, W): masks of
    atoms 0 .. D-1 for the alive words. `kill_start` int32 (R + 1,), `kill_word` int32, `kill_keep` uint64: masks of an
    atom for single words: awaited words, and, for an atom without a dense row, alive words. All arrays are C-contiguous
    and writable.
    """

    atom_map: np.ndarray
    label_word: np.ndarray
    bias: np.ndarray
    value: np.ndarray
    fresh: np.ndarray
    layer: np.ndarray
    dense: np.ndarray
    kill_start: np.ndarray
    kill_word: np.ndarray
    kill_keep: np.ndarray


class RuleScratch(NamedTuple):
    """Scratch arrays of one thread. `shared`, `live` uint64 (B,): the bits of a state and of a candidate. `batch` int32
    (BATCH, 3): for each candidate of a batch, the end of its atoms, its row of the scores, and a value for the caller's
    use. `run` int32 (R + 1,): for each atom, the number of candidates at the end of a batch that all have it, relative
    to the counter in the last entry. `wanted` bool (BATCH, L): the labels to be scored for each candidate, initially
    all; a label wanted for no candidate costs nothing. `ranges` int32 (2 L, 2): the words of the labels wanted for some
    candidate."""

    shared: np.ndarray
    live: np.ndarray
    batch: np.ndarray
    run: np.ndarray
    wanted: np.ndarray
    ranges: np.ndarray


BATCH = 64
"""Maximum number of candidates in a batch: at least the number of windows with one start, which `dtparse.model.model`
bounds."""
_RUN_LIMIT = 2**30


def make_scratch(rules: RuleSet) -> RuleScratch:
    """Allocate scratch arrays for `rules`."""
    size = len(rules.fresh)
    return RuleScratch(
        np.zeros(size, dtype=BITS),
        np.zeros(size, dtype=BITS),
        np.zeros((BATCH, 3), dtype=INDEX),
        np.zeros(len(rules.kill_start), dtype=INDEX),
        np.ones((BATCH, len(rules.bias)), dtype=np.bool_),
        np.zeros((2 * len(rules.bias), 2), dtype=INDEX),
    )


_ZERO, _ONE = np.uint64(0), np.uint64(1)
_SHIFT = np.arange(64, dtype=np.uint64)


@inner_kernel
def _find_ranges(rules, wanted, n, ranges):
    """Write the ranges of words of the labels that are wanted for some of n candidates, first alive words, then awaited
    ones, adjacent ranges merged; return the number of the former, and of both."""
    n_labels, last = wanted.shape[1], rules.layer.shape[1] - 1
    count = alive = 0
    for part in range(2):
        for label in range(n_labels):
            some = False
            for k in range(n):
                some = some or wanted[k, label]
            first, end = rules.label_word[label], rules.label_word[label + 1]
            if part == 1:
                first, end = rules.layer[label, 0], rules.layer[label, last]
            if not some or first == end:
                continue
            if count > part * alive and ranges[count - 1, 1] == first:
                ranges[count - 1, 1] = end
            else:
                ranges[count, 0], ranges[count, 1] = first, end
                count += 1
        if part == 0:
            alive = count
    return alive, count


@inner_kernel
def _apply(rules, atoms, lo, hi, live, ranges, n_ranges):
    """Apply the masks of the atoms: of single words, then of dense rows, in the ranges, four rows at a time."""
    for t in range(lo, hi):
        atom = atoms[t]
        for k in range(rules.kill_start[atom], rules.kill_start[atom + 1]):
            live[np.uint64(rules.kill_word[k])] &= rules.kill_keep[k]
    n_dense = len(rules.dense)
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
            for r in range(n_ranges):
                for w in range(ranges[r, 0], ranges[r, 1]):
                    live[w] &= (keep0[w] & keep1[w]) & (keep2[w] & keep3[w])
            row0 = row1 = row2 = -1
    if row0 >= 0:  # one to three rows are left; repeating a row changes nothing
        keep0 = rules.dense[row0]
        keep1 = rules.dense[row1 if row1 >= 0 else row0]
        keep2 = rules.dense[row2 if row2 >= 0 else row0]
        for r in range(n_ranges):
            for w in range(ranges[r, 0], ranges[r, 1]):
                live[w] &= keep0[w] & keep1[w] & keep2[w]


@inner_kernel
def _sum(rules, live, wanted, out):
    """Write the scores of the `wanted` labels for the bits in `live` to `out` float64 (L,), 0 for the others; overwrite
    `live`."""
    layer = rules.layer
    for label in range(len(out)):
        out[label] = 0.0
        if not wanted[label]:
            continue
        begin = rules.label_word[label]
        for k in range(layer.shape[1] - 1):
            first = layer[label, k]
            for w in range(layer[label, k + 1] - first):
                live[begin + w] &= ~live[first + w]
        total = 0.0
        for w in range(begin, rules.label_word[label + 1]):
            word = live[w]
            if word != _ZERO:
                values = rules.value[w * 64 : w * 64 + 64]
                part = 0
                for b in range(64):  # without branches, so that this becomes vector code
                    part += values[b] & -np.int64((word >> _SHIFT[b]) & _ONE)
                total += part  # integers far below 2^53: exact
        out[label] = total * CONFIDENCE_GRID + rules.bias[label]


@inner_kernel
def rules_batch(rules, scratch, atoms, shared, n, scores):
    """Write the scores of the wanted labels for n >= 1 candidates of one state to rows of `scores` float64 (rows, L).

    `atoms` int32: compact atoms, in any order, and reordered by the call: first the `shared` ones of the state, then
    those of each candidate up to `scratch.batch[k, 0]`; its scores are written to the row `scratch.batch[k, 1]`. An
    atom of candidate k and all later ones is applied once.
    """
    base, live, batch, run = scratch.shared, scratch.live, scratch.batch, scratch.run
    clock = len(run) - 1
    if run[clock] > _RUN_LIMIT:
        for a in range(len(run)):
            run[a] = 0
    now = np.int64(run[clock])
    run[clock] = now + n
    # An atom that candidates k .. n - 1 have, but not k - 1, gets the stamp now + n - k.
    for k in range(n - 1, -1, -1):
        stamp = now + n - k
        for t in range(batch[k - 1, 0] if k > 0 else shared, batch[k, 0]):
            if k == n - 1 or run[atoms[t]] == stamp - 1:
                run[atoms[t]] = stamp
    ranges = scratch.ranges
    alive, n_ranges = _find_ranges(rules, scratch.wanted, n, ranges)
    for r in range(n_ranges):
        for b in range(ranges[r, 0], ranges[r, 1]):
            base[b] = rules.fresh[b]
    lo = np.int64(0)
    for k in range(n):
        # First the atoms of this and all later candidates, then those of only some; the others are in `base` already.
        stamp = now + n - k
        end = np.int64(batch[k, 0])
        middle = shared if k == 0 else lo
        for t in range(middle, end):
            atom = atoms[t]
            if run[atom] == stamp:
                atoms[t] = atoms[middle]
                atoms[middle] = atom
                middle += 1
        hi = middle
        for t in range(middle, end):
            atom = atoms[t]
            if run[atom] < stamp:
                atoms[hi] = atom
                hi += 1
        bits = base
        # A loop instead of two calls: every call of a kernel is compiled separately. The last candidate overwrites
        # `base`.
        for step in range(2 if k < n - 1 else 1):
            if step == 1:
                bits = live
                for r in range(n_ranges):
                    for b in range(ranges[r, 0], ranges[r, 1]):
                        live[b] = base[b]
            _apply(rules, atoms, lo if step == 0 else middle, middle if step == 0 else hi, bits, ranges, alive)
        _sum(rules, bits, scratch.wanted[k], scores[batch[k, 1]])
        lo = end
