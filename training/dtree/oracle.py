"""Gold derivations: the action sequence that builds a tree under each strategy (Turian & Melamed 2006a, section
3.3)."""

from bisect import bisect_left

import numpy as np

from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.kernels.trees.state import STRATEGIES
from spacy_dtparse.symbols import SymbolTable
from spacy_dtparse.trees.tree import Tree


def child_lists(tree: Tree) -> list[list[int]]:
    """Children of every constituent, left to right: a constituent's number, or -1 - t for token t. Linear, no
    recursion."""
    return tree.child_lists()


def _postorder(children: list[list[int]], right_to_left: bool) -> list[int]:
    """Constituents (and, as -1 - t, tokens) in post-order, children visited in the given direction."""
    out: list[int] = []
    stack: list[tuple[int, int]] = [(0, 0)]
    while stack:
        node, seen = stack.pop()
        kids = children[node]
        if seen == len(kids):
            out.append(node)
            continue
        stack.append((node, seen + 1))
        kid = kids[len(kids) - 1 - seen] if right_to_left else kids[seen]
        if kid < 0:
            out.append(kid)
        else:
            stack.append((kid, 0))
    return out


def derivation(tree: Tree, labels: SymbolTable, strategy: str, seed: int = 0) -> np.ndarray:
    """The gold actions of `tree` as int32 (n, 3): window start, window end, label (len(labels): shift).

    `labels` must hold every label of the tree. Under bottom_up there are many paths; one is drawn with `seed`.
    Raises ConfigError for an unknown strategy.
    """
    if strategy not in STRATEGIES:
        raise ConfigError(f"unknown strategy {strategy!r}; allowed are {', '.join(STRATEGIES)}")
    children = child_lists(tree)
    numbers = [labels.number(label) for label in tree.labels]
    actions: list[tuple[int, int, int]] = []
    if strategy == "shift_reduce":
        cursor, shift = len(tree.words), len(labels)
        for node in _postorder(children, right_to_left=True):
            if node < 0:
                actions.append((cursor - 1, cursor, shift))
                cursor -= 1
            else:
                arity = len(children[node])
                actions.append((cursor, cursor + arity, numbers[node]))
                cursor += arity - 1
        return np.array(actions, dtype=INDEX).reshape(len(actions), 3)
    if strategy == "bottom_up":
        order = _random_order(children, seed)
    else:
        order = [node for node in _postorder(children, strategy == "r2l") if node >= 0]
    starts = list(range(len(tree.words)))
    for node in order:
        arity = len(children[node])
        i = bisect_left(starts, tree.starts[node])
        actions.append((i, i + arity, numbers[node]))
        del starts[i + 1 : i + arity]
    return np.array(actions, dtype=INDEX).reshape(len(actions), 3)


def ready_steps(actions: np.ndarray, n_tokens: int, strategy: str) -> np.ndarray:
    """From when on each action could be taken, as `kernels.trees.replay` wants it.

    int32 (len(actions), 3): the first step at which all children of the item exist, and its tokens [a, b). Under
    the strategies that have one right action in each state, (0, 3).
    """
    if strategy != "bottom_up":
        return np.zeros((0, 3), dtype=INDEX)
    starts, made = list(range(n_tokens + 1)), [0] * n_tokens
    out = np.empty((len(actions), 3), dtype=INDEX)
    for step, (i, j, _) in enumerate(actions.tolist()):
        out[step] = max(made[i:j]), starts[i], starts[j]
        made[i:j] = [step + 1]
        del starts[i + 1 : j]
    return out


def _random_order(children: list[list[int]], seed: int) -> list[int]:
    """A random order of constituents in which every child comes before its parent."""
    rng = np.random.default_rng(seed)
    parent = [-1] * len(children)
    missing = [0] * len(children)
    for node, kids in enumerate(children):
        for kid in kids:
            if kid >= 0:
                parent[kid] = node
                missing[node] += 1
    ready = [node for node, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        at = int(rng.integers(len(ready)))
        ready[at], ready[-1] = ready[-1], ready[at]
        node = ready.pop()
        order.append(node)
        up = parent[node]
        if up >= 0:
            missing[up] -= 1
            if missing[up] == 0:
                ready.append(up)
    return order
