"""Time of the bit-parallel rule scorer compared with the tree walk, on ensembles that resemble trained ones.

    python benchmarks/bench_rules.py [--rules 30000] [--labels 30] [--candidates 2000]

Atoms: 70 one-hot slots with 20 to 2000 values each, Zipf-distributed and correlated through hidden classes of
examples. Trees: decision lists of 10 to 60 splits that mostly negate frequent atoms, with one non-zero leaf
and occasionally another. Prints microseconds of CPU time per candidate (one core) and checks that all scores
are identical.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from treewalk import concat, stack, walk_forest

from spacy_dtparse.dtparse.kernels.rules import make_scratch, rules_batch
from spacy_dtparse.dtparse.model.ensemble import LabelEnsemble
from spacy_dtparse.dtparse.model.rules import compile_rules, conjunctions
from spacy_dtparse.dtypes import CONFIDENCE_GRID, INDEX
from spacy_dtparse.jit.decorator import kernel

SLOTS, CLASSES = 70, 40


class World:
    """Hidden classes of examples, each with preferred values in every slot."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng
        self.sizes = np.exp(rng.uniform(np.log(20), np.log(2000), SLOTS)).astype(int)
        self.offset = np.concatenate([[0], np.cumsum(self.sizes)])
        self.n_atoms = int(self.offset[-1])
        self.zipf = [np.cumsum(1 / np.arange(1, size + 1)) for size in self.sizes]
        self.favourites = [[rng.permutation(size) for size in self.sizes] for _ in range(CLASSES)]
        self.common = [rng.permutation(size) for size in self.sizes]

    def value(self, slot: int, kind: int | None) -> int:
        """Sample an atom of `slot` for an example of class `kind` (None: of any class)."""
        rank = int(np.searchsorted(self.zipf[slot], self.rng.random() * self.zipf[slot][-1]))
        table = self.common[slot] if kind is None or self.rng.random() < 0.5 else self.favourites[kind][slot]
        return int(self.offset[slot] + table[rank])

    def example(self) -> list[int]:
        """Sample one active atom per slot."""
        kind = int(self.rng.integers(CLASSES))
        return [self.value(slot, kind) for slot in range(SLOTS)]

    def tree(self) -> LabelEnsemble:
        """Return a decision list: each split has a leaf on one side and the next split on the other."""
        rng, kind = self.rng, int(self.rng.integers(CLASSES))
        splits = int(rng.integers(10, 61))
        n = 2 * splits + 1
        atom, yes, no = (np.full(n, -1, dtype=INDEX) for _ in range(3))
        value = np.zeros(n)
        for k in range(splits):  # inner nodes are 0, 2, 4, …; node 2k + 1 is the leaf next to them
            slot = min(int(rng.exponential(18)), SLOTS - 1)
            present = rng.random() < 0.06
            atom[2 * k] = self.value(slot, kind if present else None)
            yes[2 * k], no[2 * k] = (2 * k + 2, 2 * k + 1) if present else (2 * k + 1, 2 * k + 2)
            if rng.random() < 0.01:
                value[2 * k + 1] = round(float(rng.normal()) * 2**15) * CONFIDENCE_GRID
        value[n - 1] = (round(float(rng.normal()) * 2**15) or 1) * CONFIDENCE_GRID
        return LabelEnsemble(np.zeros(1, dtype=INDEX), atom, yes, no, value)


@kernel
def walk_all(forest, label_tree, stamp, atoms, scores):
    for c in range(atoms.shape[0]):
        for atom in atoms[c]:
            stamp[atom] = c + 1
        walk_forest(forest, label_tree, stamp, c + 1, scores[c])


def compact(rules, atoms: np.ndarray) -> list[np.ndarray]:
    return [row[row >= 0] for row in rules.atom_map[atoms]]


@kernel
def score_all(rules, scratch, atoms, start, split, group, buffer, scores):
    """Score candidates of which each `group` shares a state: their atoms up to `split` are applied once. `buffer`
    int32: workspace for the atoms of a group."""
    n = start.shape[0] - 1
    for c in range(0, n, group):
        shared = count = split[c] - start[c]
        buffer[:count] = atoms[start[c] : split[c]]
        last = min(n, c + group)
        for k in range(c, last):
            own = start[k + 1] - split[k]
            buffer[count : count + own] = atoms[split[k] : start[k + 1]]
            count += own
            scratch.batch[k - c, 0] = count
            scratch.batch[k - c, 1] = k
        rules_batch(rules, scratch, buffer, shared, last - c, scores)


def best_of(call, times: int = 7) -> float:
    """Return the minimum CPU time of a call, in seconds, to reduce the influence of other programs."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=int, default=30_000)
    parser.add_argument("--labels", type=int, default=30)
    parser.add_argument("--candidates", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dense-share", type=float, nargs="*", default=None)
    args = parser.parse_args()

    world = World(np.random.default_rng(args.seed))
    share = 1 / np.arange(1, args.labels + 1)
    trees = np.maximum(1, np.round(args.rules / 1.35 * share / share.sum())).astype(int)
    ensembles = [concat([world.tree() for _ in range(count)]) for count in trees]
    examples = np.array([world.example() for _ in range(args.candidates)], dtype=INDEX)
    # Groups of five candidates share their first 30 atoms.
    group, shared = 5, 30
    examples[:, :shared] = np.repeat(examples[::group, :shared], group, axis=0)[: len(examples)]

    found = conjunctions(ensembles)
    print(
        f"{trees.sum()} trees, {len(found.units)} rules, {world.n_atoms} atoms, "
        f"{np.diff(found.start).mean():.1f} conditions a rule, {np.mean(found.literal % 2 == 0):.1%} negated"
    )

    forest, label_tree = stack(ensembles)
    walked = np.zeros((len(examples), args.labels))
    stamp = np.zeros(world.n_atoms, dtype=np.int64)
    few = examples[: max(1, len(examples) // 10)]
    walk_all(forest, label_tree, stamp, few[:1], walked)
    walk_all(forest, label_tree, np.zeros_like(stamp), examples, walked)
    slow = best_of(lambda: walk_all(forest, label_tree, np.zeros_like(stamp), few, walked), 3) / len(few)
    print(f"tree walk            {slow * 1e6:9.1f} us per candidate")

    for dense_fraction in args.dense_fraction or [None]:
        begun = time.perf_counter()
        options = {} if dense_fraction is None else {"dense_fraction": dense_fraction}
        rules = compile_rules(ensembles, world.n_atoms, **options)
        compile_seconds = time.perf_counter() - begun
        rows = compact(rules, examples)
        start = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        flat = np.concatenate(rows).astype(INDEX)
        split = start[:-1] + np.count_nonzero(rules.atom_map[examples[:, :shared]] >= 0, axis=1)
        scratch, scores = make_scratch(rules), np.zeros_like(walked)
        buffer = np.zeros(group * SLOTS, dtype=INDEX)
        score_all(rules, scratch, flat, start, split, group, buffer, scores)
        identical = np.array_equal(scores.view(np.uint64), walked.view(np.uint64))
        single = best_of(lambda: score_all(rules, scratch, flat, start, start[:-1], 1, buffer, scores)) / len(rows)  # noqa: B023
        together = best_of(lambda: score_all(rules, scratch, flat, start, split, group, buffer, scores)) / len(rows)  # noqa: B023
        size = sum(array.nbytes for array in rules) / 2**20
        print(
            f"rules                {single * 1e6:9.1f} us per candidate ({slow / single:.0f} x), "
            f"{together * 1e6:.1f} us with {shared} atoms shared by {group} ({slow / together:.0f} x); "
            f"{rules.label_word[-1]} words, {len(rules.dense)} dense rows, {len(rules.kill_word)} pairs, "
            f"{size:.1f} MiB, compiled in {compile_seconds:.2f} s; scores identical: {identical}"
        )
        if not identical:
            raise SystemExit("the scorer and the tree walk disagree")


if __name__ == "__main__":
    main()
