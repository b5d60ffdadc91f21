"""Reference implementation of `training.dtparse.boosting`: plain Python, numpy for arrays only, no shared
code.
"""

from __future__ import annotations

import math

import numpy as np

GRID = 2.0**-16


def uniforms(n: int, key0: int, key1: int) -> list[float]:
    """The random number of each example 0 to n - 1: two rounds of a 32-bit hash, 23 bits, never 0 or 1."""

    def mix(x: int) -> int:
        x ^= x >> 16
        x = x * 0x7FEB352D % 2**32
        x ^= x >> 15
        x = x * 0x846CA68B % 2**32
        return x ^ x >> 16

    return [((mix(mix(i ^ key0) ^ key1) >> 9) + 0.5) / 2**23 for i in range(n)]


def priority_sample(weights: list[float], size: int | None, draws: list[float]) -> tuple[list[int], list[float], float]:
    """(kept examples, their new weights, threshold), by sorting all priorities."""
    alive = [i for i, w in enumerate(weights) if w > 0]
    order = sorted(alive, key=lambda i: (-weights[i] / draws[i], i))
    if size is None or len(order) <= size or size >= len(weights):
        return alive, [weights[i] for i in alive], 0.0
    threshold = weights[order[size]] / draws[order[size]]
    kept = sorted(order[:size])
    return kept, [max(weights[i], threshold) for i in kept], threshold


def gain(gradient: float, penalty: float, hard: bool) -> float:
    """Gain of a compound feature with this gradient."""
    if abs(gradient) <= penalty:
        return 0.0
    return abs(gradient) if hard else abs(gradient) - penalty


def grow(
    rows: list[set[int]],
    gradients: list[float],
    penalty: float,
    hard: bool = False,
    ratio=1.01,
    slack: float = 0.0,
    max_splits: int = 60,
):
    """A tree as nested dicts {"atom", "yes", "no", "number"} ("atom" None at a leaf), grown best-first."""
    atoms = sorted(set().union(*rows)) if rows else []

    def best(members: list[int]) -> tuple[float, int | None]:
        total = sum(gradients[i] for i in members)
        found, which = -1.0, None
        for atom in atoms:
            inside = sum(gradients[i] for i in members if atom in rows[i])
            value = gain(inside, penalty, hard) + gain(total - inside, penalty, hard)
            if value > found:
                found, which = value, atom
        return found, which

    def make(members: list[int], number: int) -> dict:
        value, atom = best(members)
        own = gain(sum(gradients[i] for i in members), penalty, hard)
        bar = own + slack * penalty if number == 0 else ratio * own
        split = atom if atom is not None and value > bar else None
        return {"atom": None, "number": number, "members": members, "split": split, "adds": value - own}

    root = make(list(range(len(rows))), 0)
    leaves, count = [root], 1
    for _ in range(max_splits):
        ready = [leaf for leaf in leaves if leaf["split"] is not None and leaf["adds"] > 0]
        if not ready:
            break
        leaf = min(ready, key=lambda node: (-node["adds"], node["number"]))
        leaf["atom"] = leaf["split"]
        leaf["yes"] = make([i for i in leaf["members"] if leaf["atom"] in rows[i]], count)
        leaf["no"] = make([i for i in leaf["members"] if leaf["atom"] not in rows[i]], count + 1)
        count += 2
        leaves = [other for other in leaves if other is not leaf] + [leaf["yes"], leaf["no"]]
    return root


def flatten(root: dict) -> tuple[list[int], list[int], list[int]]:
    """(atom, yes, no) of a grown tree by node number."""
    nodes = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        nodes[node["number"]] = node
        if node["atom"] is not None:
            waiting += [node["yes"], node["no"]]
    atom, yes, no = [], [], []
    for number in range(len(nodes)):
        node = nodes[number]
        leaf = node["atom"] is None
        atom.append(-1 if leaf else node["atom"])
        yes.append(-1 if leaf else node["yes"]["number"])
        no.append(-1 if leaf else node["no"]["number"])
    return atom, yes, no


def percolate(rows: list[set[int]], atom, yes, no) -> list[int]:
    """Leaf of every row, one test after the other."""
    leaves = []
    for row in rows:
        node = 0
        while atom[node] >= 0:
            node = yes[node] if atom[node] in row else no[node]
        leaves.append(int(node))
    return leaves


def objective(margins: list[float], biases: list[float], classes: list[int], step: float, penalty: float) -> float:
    """Σ b ln(1 + e^-(m + y·step)) + λ |step| over the examples of one leaf."""
    loss = 0.0
    for margin, bias, y in zip(margins, biases, classes, strict=True):
        x = margin + y * step
        loss += bias * (math.log1p(math.exp(-x)) if x > -30 else -x)
    return loss + penalty * abs(step)


def log_loss(score: np.ndarray, bias: np.ndarray) -> float:
    """Σ b ln(1 + e^(-y h)) of scores int32 in units of the grid and signed biases float32."""
    margin = score.astype(np.float64) * GRID * np.sign(bias)
    return float(np.sum(np.abs(bias.astype(np.float64)) * np.logaddexp(0.0, -margin)))


def best_step(margins: list[float], biases: list[float], classes: list[int], penalty: float) -> float:
    """The step of least objective, by ternary search (the objective is convex)."""
    low, high = -40.0, 40.0
    for _ in range(300):
        third = (high - low) / 3
        left = objective(margins, biases, classes, low + third, penalty)
        right = objective(margins, biases, classes, high - third, penalty)
        low, high = (low, high - third) if left < right else (low + third, high)
    step = (low + high) / 2
    zero = objective(margins, biases, classes, 0.0, penalty)
    return step if objective(margins, biases, classes, step, penalty) < zero - 1e-12 else 0.0


def random_rows(rng: np.random.Generator, n: int, n_atoms: int) -> list[set[int]]:
    """Rows of zipfian atoms; some are empty, atom 0 is nearly everywhere."""
    rows = []
    for _ in range(n):
        size = int(rng.integers(0, 9))
        row = {int(a) for a in np.minimum(rng.zipf(1.4, size), n_atoms) - 1}
        rows.append(row | ({0} if size and rng.random() < 0.8 else set()))
    return rows


def to_csr(rows: list[set[int]]) -> tuple[np.ndarray, np.ndarray]:
    """(indptr, atoms) of rows."""
    indptr = np.cumsum([0] + [len(row) for row in rows]).astype(np.int64)
    return indptr, np.array([atom for row in rows for atom in sorted(row)], dtype=np.int32)
