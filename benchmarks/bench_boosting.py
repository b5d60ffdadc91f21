"""Time of every step of the boosting learner on a synthetic store that resembles a treebank's.

    python benchmarks/bench_boosting.py --examples 2e6 --trees 60

Prints, per label and λ, the milliseconds per tree of each step (Table 2 of Turian & Melamed 2006b).
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from spacy_dtparse.dtypes import CONFIDENCE_GRID
from training.dtparse.boosting import learner as learner_module
from training.dtparse.boosting.labels import LabelData
from training.dtparse.boosting.learner import STEPS, LabelLearner
from training.dtparse.boosting.store import DirectStore
from training.dtparse.boosting.tree import n_parameters
from training.dtparse.recipe import LearnerConfig


def synthetic(
    folder: Path, n: int, n_slots: int, n_atoms: int, n_labels: int, seed: int
) -> tuple[DirectStore, LabelData]:
    """Make a store of n examples with one Zipf-distributed atom in each of n_slots slots, and labels that depend on the
    atoms. Every 12 adjacent examples form a state, in which one example is positive.
    """
    rng = np.random.default_rng(seed)
    # slots differ in size, as tags (50 values) and words (thousands) do
    share = np.exp(rng.uniform(np.log(20), np.log(8 * n_atoms / n_slots), n_slots))
    sizes = np.maximum(5, (share / share.sum() * n_atoms)).astype(np.int64)
    sizes[-1] += n_atoms - sizes.sum()
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    atoms = np.lib.format.open_memmap(folder / "atoms.npy", "w+", np.int32, (n * n_slots,))
    table = atoms.reshape(n, n_slots)
    effect = rng.normal(0, 1, (n_atoms, 4)).astype(np.float32) * (rng.random((n_atoms, 1)) < 0.3)
    mix = rng.normal(0, 1, (4, n_labels)).astype(np.float32)
    gold = np.full(n, -1, np.int16)
    for start in range(0, n, 240_000):
        end = min(n, start + 240_000)
        score = np.zeros((end - start, 4), np.float32)
        for slot in range(n_slots):
            # inverse of a zipf-like law, P(rank ≤ x) = ln(1 + x) / ln(1 + size)
            rank = np.expm1(rng.random(end - start) * np.log1p(sizes[slot])).astype(np.int64)
            column = first[slot] + np.minimum(rank, sizes[slot] - 1)
            table[start:end, slot] = column
            score += effect[column]
        fit = score @ mix + 2 * np.abs(score) @ np.roll(mix, 1, axis=0) + rng.normal(0, 1, (end - start, n_labels))
        best = fit.max(axis=1)
        for state in range(0, end - start, 12):
            winner = state + int(best[state : state + 12].argmax())
            gold[start + winner] = fit[winner].argmax()
    atoms.flush()
    np.save(folder / "indptr.npy", np.arange(n + 1, dtype=np.int64) * n_slots)
    clock = time.perf_counter()
    store = DirectStore.build(folder, n_atoms)
    seconds = time.perf_counter() - clock
    gigabytes = sum(array.nbytes for array in (store.indptr, store.atoms, *store.columns)) / 2**30
    n_bitsets, postings = int((store.columns.slot >= 0).sum()), store.columns.postings.nbytes / 2**30
    print(
        f"column index built in {seconds:.1f} s, {gigabytes:.2f} GiB in all, "
        f"{n_bitsets} bitsets, {postings:.2f} GiB postings"
    )
    b_pos, b_neg = np.full(n, 1.0, np.float32), np.full(n, 1 / (12 * n_labels - 1), np.float32)
    return store, LabelData(gold, b_pos, b_neg)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=lambda text: int(float(text)), default=2_000_000)
    parser.add_argument("--slots", type=int, default=75, help="active atoms per example")
    parser.add_argument("--atoms", type=int, default=150_000)
    parser.add_argument("--labels", type=int, default=8)
    parser.add_argument("--trees", type=int, default=40, help="trees per λ")
    parser.add_argument("--levels", type=int, default=3)
    parser.add_argument("--decay", type=float, default=0.3)
    parser.add_argument("--sample", type=int, default=100_000)
    parser.add_argument("--sweeps", type=int, default=1)
    parser.add_argument("--solver", default="newton")
    parser.add_argument("--gain", default="soft")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu", action="store_true", help="measure CPU time, for busy machines")
    args = parser.parse_args()
    if args.cpu:
        learner_module.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        store, data = synthetic(Path(folder), args.examples, args.slots, args.atoms, args.labels, args.seed)
        config = LearnerConfig(
            sample_size=args.sample, sweeps=args.sweeps, solver=args.solver, gain=args.gain,
            seed=args.seed,
        )  # fmt: skip
        learner = LabelLearner(store, data, 0, "NP", config)
        penalty = learner.root_gradient()
        learner.step(penalty * 0.5)  # compile
        print("ms per tree:  " + "".join(f"{step:>11}" for step in STEPS) + f"{'total':>9}   splits, leaves, loss")
        for _ in range(args.levels):
            penalty *= args.decay
            learner.seconds = dict.fromkeys(STEPS, 0.0)
            trees, nodes, grown, lost = (
                learner.n_trees,
                len(learner.ensemble.atom),
                learner.n_grown,
                learner.lost_weight,
            )
            learner.fit(penalty, max_trees=args.trees)
            count = max(1, learner.n_grown - grown)
            each = [learner.seconds[step] / count * 1e3 for step in STEPS]
            splits = (
                (len(learner.ensemble.atom) - nodes - (learner.n_trees - trees)) / 2 / max(1, learner.n_trees - trees)
            )
            margin = learner.score * CONFIDENCE_GRID * np.sign(learner.bias)
            loss = float(np.sum(np.abs(learner.bias) * np.logaddexp(0.0, -margin)))
            print(f"λ {penalty:11.2f} " + "".join(f"{ms:11.1f}" for ms in each) + f"{sum(each):9.1f}   "
                  f"{count} trees of {splits:.1f} splits, {n_parameters(learner.ensemble)} parameters, "
                  f"weight lost {(learner.lost_weight - lost) / count:.1%}, "
                  f"loss {loss:.1f}")  # fmt: skip
        usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"peak RSS {usage:.2f} GiB (mapped files included)")


if __name__ == "__main__":
    main()
