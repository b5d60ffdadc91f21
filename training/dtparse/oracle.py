"""Gold derivations: the action sequence that builds a tree under each strategy (Turian & Melamed 2006a, section
3.3)."""

from bisect import bisect_left

import numpy as np

from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.symbols import SymbolTable
from spacy_dtparse.trees.tree import Tree


def _postorder(children: list[list[int]], right_to_left: bool) -> list[int]:
    """Constituents (and, as -1 - t, tokens) in post-order, children visited in the given direction."""
    out, stack = [], [0]
    while stack:  # parents first, children in the other direction
        node = stack.pop()
        out.append(node)
        if node >= 0:
            stack += reversed(children[node]) if right_to_left else children[node]
    return out[::-1]


def derivation(tree: Tree, labels: SymbolTable, strategy: str, seed: int = 0) -> np.ndarray:
    """The gold actions of `tree` as int32 (n, 3): window start, window end, label (len(labels): shift). `labels` must
    hold every label of the tree. Under bottom_up there are many paths; one is drawn with `seed`."""
    children = tree.child_lists()
    label_ids = [labels.id_of(label) for label in tree.labels]
    actions: list[tuple[int, int, int]] = []
    if strategy == "shift_reduce":
        cursor = len(tree.words)
        for node in _postorder(children, right_to_left=True):
            if node < 0:
                actions.append((cursor - 1, cursor, len(labels)))
                cursor -= 1
            else:
                arity = len(children[node])
                actions.append((cursor, cursor + arity, label_ids[node]))
                cursor += arity - 1
    else:
        order = _random_order(children, seed) if strategy == "bottom_up" else _postorder(children, strategy == "r2l")
        starts = list(range(len(tree.words)))
        for node in order:
            if node >= 0:
                arity = len(children[node])
                i = bisect_left(starts, tree.starts[node])
                actions.append((i, i + arity, label_ids[node]))
                del starts[i + 1 : i + arity]
    return np.array(actions, dtype=INDEX).reshape(len(actions), 3)


def ready_steps(actions: np.ndarray, n_tokens: int, strategy: str) -> np.ndarray:
    """The earliest step of each action, in the format of `dtparse.kernels.replay`.

    int32 (len(actions), 3): the first step at which all children of the item exist, and its tokens [a, b). Strategies
    with one correct action per state give (0, 3).
    """
    if strategy != "bottom_up":
        return np.zeros((0, 3), dtype=INDEX)
    starts, built = list(range(n_tokens + 1)), [0] * n_tokens
    out = np.empty((len(actions), 3), dtype=INDEX)
    for step, (i, j, _) in enumerate(actions.tolist()):
        out[step] = max(built[i:j]), starts[i], starts[j]
        built[i:j] = [step + 1]
        del starts[i + 1 : j]
    return out


def _random_order(children: list[list[int]], seed: int) -> list[int]:
    """Draw a random order of constituents in which every child comes before its parent."""
    rng = np.random.default_rng(seed)
    parent = {kid: node for node, kids in enumerate(children) for kid in kids}
    missing = [sum(kid >= 0 for kid in kids) for kids in children]
    ready = [node for node, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        at = int(rng.integers(len(ready)))
        ready[at], ready[-1] = ready[-1], ready[at]
        node = ready.pop()
        order.append(node)
        if node in parent:
            missing[parent[node]] -= 1
            if missing[parent[node]] == 0:
                ready.append(parent[node])
    return order
