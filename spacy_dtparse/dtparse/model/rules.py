"""Convert trees to rules: every non-zero leaf becomes a conjunction of present and absent atoms, packed for the bit
scorer.

Splits in boosted trees tend to separate examples with gradients of one sign, so trees grow as decision lists and few
leaves are non-zero. A leaf's path is a conjunction; the score of a label is the sum of the values of its true
conjunctions. Values are integer multiples of `CONFIDENCE_GRID`, so merging and summing in another order are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...dtypes import BITS, CONFIDENCE_GRID, INDEX
from ...model_io.segments import select_segments
from ..kernels.rules import RuleSet
from .ensemble import LabelEnsemble

DENSE_FRACTION = 0.1
"""An atom that clears rules in more than this fraction of all words gets a dense row of masks (see bench_rules.py)."""

_VALUE_LIMIT = 2**30
"""Maximum value of a rule in grid units (stored as int32); a larger merged value is split over several equal rules."""


class Conjunctions(NamedTuple):
    """Rules as lists of literals, grouped by label, in the order in which their trees were trained.

    `label` int32 (R,): the rule's ensemble. `start` int64 (R + 1,): the rule's literals are
    `literal[start[r]:start[r + 1]]`, int32, sorted, each `2 * atom + present`. `units` int64 (R,): the rule's value in
    units of `CONFIDENCE_GRID`, never 0. `bias` int64 (L,): sum of the values of trees with a single leaf.
    """

    label: np.ndarray
    start: np.ndarray
    literal: np.ndarray
    units: np.ndarray
    bias: np.ndarray


def conjunctions(ensembles: Sequence[LabelEnsemble]) -> Conjunctions:
    """Convert the non-zero leaves of well-formed `ensembles` to conjunctions, simplified and merged, dropping
    contradictions.

    Conjunctions of one label with equal literals become one rule with the sum of their values, or none if it is 0.
    """
    labels, sizes, literals, units = [], [], [], []
    bias = np.zeros(len(ensembles), dtype=np.int64)
    for label_id, ensemble in enumerate(ensembles):
        start, codes, values = _paths(ensemble)
        empty = np.diff(start) == 0
        bias[label_id] = values[empty].sum()
        first, values = _merge_equal(start, codes, values)
        counts = (values != 0) & ~empty[first]
        selected = first[counts]
        units.append(values[counts])
        new, take = select_segments(start, selected)
        labels.append(np.full(len(selected), label_id, dtype=INDEX))
        sizes.append(np.diff(new))
        literals.append(codes[take])
    none = [np.zeros(0, dtype=np.int64)]
    label, size, literal, unit = (np.concatenate(none + parts) for parts in (labels, sizes, literals, units))
    start = np.append(0, np.cumsum(size)).astype(np.int64)
    return Conjunctions(label.astype(INDEX), start, literal.astype(INDEX), unit, bias)


def _merge_equal(start: np.ndarray, codes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge equal conjunctions: return (first, sums), the index of the first occurrence of each distinct conjunction,
    ascending, and the sum of its values. Conjunctions are compared by two 64-bit sums of hashes of their literals."""
    digests = np.zeros((2, len(values)), dtype=BITS)
    filled = np.flatnonzero(np.diff(start))
    if len(filled):
        for row, seed in zip(digests, (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03), strict=True):
            row[filled] = np.add.reduceat(_mix(codes.astype(BITS), BITS(seed)), start[:-1][filled])
    order = np.lexsort((digests[1], digests[0]))  # stable: equal ones remain in the order of their trees
    group = np.flatnonzero(_changes(digests[0][order]) | _changes(digests[1][order]))
    first = order[group]
    sums = np.add.reduceat(values[order], group) if len(group) else values[:0]
    rising = np.argsort(first)
    return first[rising], sums[rising]


def _mix(values: np.ndarray, seed: np.uint64) -> np.ndarray:
    """Return a 64-bit hash of each value (splitmix64's finaliser)."""
    mixed = (values + BITS(1)) * seed
    mixed = (mixed ^ (mixed >> BITS(30))) * BITS(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> BITS(27))) * BITS(0x94D049BB133111EB)
    return mixed ^ (mixed >> BITS(31))


def _paths(ensemble: LabelEnsemble) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (start, literals, units) of the non-zero leaves whose paths have no contradiction; the k-th has the sorted
    literals[start[k] : start[k + 1]]."""
    atom, yes, no = ensemble.atom, ensemble.yes, ensemble.no
    inner = np.flatnonzero(atom >= 0)
    parent = np.full(len(atom), -1, dtype=np.int64)
    code = np.zeros(len(atom), dtype=np.int64)  # the literal on the edge from the parent
    parent[yes[inner]] = parent[no[inner]] = inner
    code[yes[inner]] = 2 * atom[inner].astype(np.int64) + 1
    code[no[inner]] = 2 * atom[inner].astype(np.int64)
    leaves = np.flatnonzero((atom < 0) & (ensemble.value != 0))
    units = np.rint(ensemble.value[leaves] / CONFIDENCE_GRID).astype(np.int64)

    row, node = np.arange(len(leaves)), leaves
    found = [np.zeros((2, 0), dtype=np.int64)]
    while True:
        deeper = parent[node] >= 0
        row, node = row[deeper], node[deeper]
        if not len(row):
            break
        found.append(np.stack([row, code[node]]))
        node = parent[node]
    rows, codes = np.concatenate(found, axis=1)
    span = 2 * (int(atom.max(initial=-1)) + 1)
    keys = np.sort(rows * max(span, 1) + codes)  # by rule, then literal; then remove repeated tests
    keys = keys[_changes(keys)]
    rows, codes = np.divmod(keys, max(span, 1))
    clash = (np.diff(rows) == 0) & (np.diff(codes >> 1) == 0)
    possible = np.ones(len(leaves), dtype=bool)
    possible[rows[1:][clash]] = False
    bounds = np.searchsorted(rows, np.arange(len(leaves) + 1))
    start, take = select_segments(bounds, np.flatnonzero(possible))
    return start, codes[take], units[possible]


def compile_rules(
    ensembles: Sequence[LabelEnsemble], n_atoms: int, *, dense_fraction: float = DENSE_FRACTION
) -> RuleSet:
    """Pack the well-formed ensembles of all labels, over atoms 0 .. n_atoms - 1, for `dtparse.kernels.rules`.

    `dense_fraction` only trades memory for speed; see `DENSE_FRACTION`.
    """
    rules = _split_large(conjunctions(ensembles))
    n_labels, n_rules = len(ensembles), len(rules.label)
    owner = np.repeat(np.arange(n_rules), np.diff(rules.start))
    atom, present = rules.literal >> 1, (rules.literal & 1).astype(bool)

    # Slots: one bit per rule, labels padded to full words.
    needs = np.flatnonzero(present)  # within a rule, the atom that most rules need comes first
    counts = np.bincount(atom[needs], minlength=1)
    needs = needs[np.lexsort((atom[needs], -counts[atom[needs]], owner[needs]))]
    order = _order(rules, owner, atom, present, needs)
    per_label = np.bincount(rules.label, minlength=n_labels)
    label_words = (per_label + 63) // 64
    n_words = int(label_words.sum())
    first, first_word = np.cumsum(per_label) - per_label, np.cumsum(label_words) - label_words
    slot = np.zeros(n_rules, dtype=np.int64)
    slot[order] = np.arange(n_rules) + np.repeat(first_word * 64 - first, per_label)

    label_word = np.append(first_word, n_words)
    layer, wait_bit = _layers(slot, owner[needs], label_word, rules.label)
    fresh = _bitset(wait_bit, int(layer[-1, -1]) if n_labels else n_words)
    fresh[:n_words] = ~BITS(0)
    value = np.zeros(n_words * 64, dtype=np.int32)
    value[slot] = rules.units

    # Compact atom ids: by descending number of words in which the atom clears rules, so dense rows come first.
    absent = np.flatnonzero(~present)
    kill_start, kill_word, kill_bits = _by_atom(atom[absent], slot[owner[absent]], n_atoms, n_words)
    words_hit = np.diff(kill_start)
    used = np.flatnonzero(np.bincount(atom, minlength=n_atoms))
    used = used[np.argsort(-words_hit[used], kind="stable")]
    atom_map = np.full(n_atoms, -1, dtype=INDEX)
    atom_map[used] = np.arange(len(used))
    n_dense = int(np.count_nonzero(words_hit[used] > dense_fraction * n_words))
    rows, take = select_segments(kill_start, used[:n_dense])
    dense = np.full((n_dense, n_words), ~BITS(0), dtype=BITS)
    dense[np.repeat(np.arange(n_dense), np.diff(rows)), kill_word[take]] = ~kill_bits[take]

    # The other bits that an atom clears, by word: alive bits of sparse atoms, awaited bits of all atoms.
    sparse = absent[atom_map[atom[absent]] >= n_dense]
    cleared = atom_map[np.concatenate([atom[sparse], atom[needs]])]
    bits = np.concatenate([slot[owner[sparse]], wait_bit])
    kill_start, kill_word, kill_bits = _by_atom(cleared, bits, len(used), len(fresh))
    return RuleSet(
        atom_map=atom_map,
        label_word=label_word.astype(INDEX),
        bias=rules.bias * CONFIDENCE_GRID,
        value=value,
        fresh=fresh,
        layer=layer.astype(INDEX),
        dense=dense,
        kill_start=kill_start.astype(INDEX),
        kill_word=kill_word,
        kill_keep=~kill_bits,
    )


def _layers(
    slot: np.ndarray, owner: np.ndarray, label_word: np.ndarray, label: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Assign bits to present literals: the k-th present atom of each rule is awaited in layer k of its label. A layer
    contains the words with such rules, which come first, as `_order` sorts rules by their number of present atoms.

    `owner`: the rule of each present literal, ascending; `label` of each rule. Returns the offsets of each label's
    layers, (L, K + 1), and the bit of each present literal.
    """
    turn = np.arange(len(owner)) - np.searchsorted(owner, owner)
    depth = np.zeros(label_word[-1], dtype=np.int64)
    np.maximum.at(depth, slot[owner] >> 6, turn + 1)
    n_labels, deepest = len(label_word) - 1, int(depth.max(initial=0))
    words = np.repeat(np.arange(n_labels), np.diff(label_word))
    in_layer = np.zeros((n_labels, deepest), dtype=np.int64)
    np.add.at(in_layer, words, depth[:, None] > np.arange(deepest))
    ends = label_word[-1] + np.cumsum(in_layer.ravel()).reshape(n_labels, deepest)
    starts = np.append(label_word[-1], ends[:, -1] if deepest else np.full(n_labels, label_word[-1]))[:-1]
    layer = np.column_stack([starts, ends]).astype(np.int64)
    label_of_literal = label[owner]
    return layer, layer[label_of_literal, turn] * 64 + slot[owner] - 64 * label_word[label_of_literal]


def _split_large(rules: Conjunctions) -> Conjunctions:
    """Split a rule whose merged value does not fit the scorer's int32 into several rules with the same literals."""
    parts = np.maximum(1, -(-np.abs(rules.units) // _VALUE_LIMIT))
    if parts.max(initial=1) == 1:
        return rules
    copies = np.repeat(np.arange(len(parts)), parts)
    start, take = select_segments(rules.start, copies)
    units = rules.units[copies] // parts[copies]
    last = np.cumsum(parts) - 1
    units[last] += rules.units - np.add.reduceat(units, np.concatenate([[0], last[:-1] + 1]))
    return Conjunctions(rules.label[copies], start, rules.literal[take], units, rules.bias)


_SORTED_NEEDS = 3


def _order(
    rules: Conjunctions, owner: np.ndarray, atom: np.ndarray, present: np.ndarray, needs: np.ndarray
) -> np.ndarray:
    """Return the rules in the order of their slots: by label; then by number of present atoms, descending; then rules
    that need the same atoms together, so that an atom's awaited bits are in few words; then similar conjunctions
    together."""
    n_rules = len(rules.label)
    n_needs = np.bincount(owner[needs], minlength=n_rules)
    turn = np.arange(len(needs)) - np.searchsorted(owner[needs], owner[needs])
    keys = np.full((_SORTED_NEEDS, n_rules), -1, dtype=np.int64)
    for k in range(_SORTED_NEEDS):
        keys[k, owner[needs][turn == k]] = atom[needs][turn == k]
    counts = np.bincount(atom[~present])
    common = np.argsort(-counts, kind="stable")[:64]
    weight = np.zeros(len(counts), dtype=BITS)
    weight[common] = BITS(1) << np.arange(63, 63 - len(common), -1).astype(BITS)
    signature = np.zeros(n_rules, dtype=BITS)
    np.bitwise_or.at(signature, owner[~present], weight[atom[~present]])
    return np.lexsort((np.arange(n_rules), signature, *keys[::-1], -n_needs, rules.label))


def _bitset(slots: np.ndarray, n_words: int) -> np.ndarray:
    bits = np.zeros(n_words * 64, dtype=np.uint8)
    bits[slots] = 1
    return np.packbits(bits, bitorder="little").view("<u8").astype(BITS)


def _by_atom(atom: np.ndarray, slot: np.ndarray, n_atoms: int, n_words: int) -> tuple[np.ndarray, ...]:
    """Return (start, word, bits): for each atom its words in ascending order, with the bits of the slots in them."""
    # The bit is packed with atom and word: sorting numbers is faster than sorting indices by them.
    packed = np.sort((atom.astype(np.int64) * max(n_words, 1) + (slot >> 6)) * 64 + (slot & 63))
    key, bit = packed >> 6, BITS(1) << (packed & 63).astype(BITS)
    first = np.flatnonzero(_changes(key))
    bits = np.bitwise_or.reduceat(bit, first) if len(first) else np.zeros(0, dtype=BITS)
    atoms, words = np.divmod(key[first], max(n_words, 1))
    start = np.append(0, np.cumsum(np.bincount(atoms, minlength=n_atoms)))
    return start, words.astype(INDEX), bits


def _changes(values: np.ndarray) -> np.ndarray:
    """Return a mask of the entries that differ from the one before."""
    return np.append(np.ones(min(len(values), 1), dtype=bool), values[1:] != values[:-1])


@dataclass(frozen=True)
class Rule:
    """A rule: `value` is added to the score if all of `present` and none of `absent` hold (names of atoms).

    A rule without conditions is the label's constant. `str(rule)` is one line of text.
    """

    present: tuple[str, ...]
    absent: tuple[str, ...]
    value: float

    def __str__(self) -> str:
        tests = [*self.present, *(f"not [{name}]" for name in self.absent)]
        return f"{self.value:+.4f} {'if ' + ' and '.join(tests) if tests else 'always'}"
