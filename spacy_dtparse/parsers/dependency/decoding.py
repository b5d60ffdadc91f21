"""The best trees of a matrix of link scores, and labels for the links of a tree."""

import heapq

import numpy as np

from ...dtypes import INDEX
from ...errors import DtparseError
from ...kernels.linear.guides import make_guide
from ...kernels.linear.link_labels import label_links
from ...kernels.linear.spanning import projective_tree, spanning_tree, tree_score
from ...model.linear.features import LabelStage


def best_tree(scores: np.ndarray, projective: bool = True) -> tuple[np.ndarray, float]:
    """(heads int32 (n + 1,) with heads[0] = -1, sum of their scores) of the best tree; see `kernels.linear.spanning`.

    Raises DtparseError when forbidden links leave no tree.
    """
    heads = np.full(len(scores), -1, INDEX)
    if not (projective_tree if projective else spanning_tree)(scores, heads):
        raise DtparseError("no tree is left: every one has a forbidden link (score -inf)")
    return heads, tree_score(scores, heads)[0]


def best_trees(scores: np.ndarray, projective: bool, k: int) -> list[tuple[np.ndarray, float]]:
    """The `k` best different trees as `best_tree` gives them, the best first; fewer where there are no more.

    By branching (Lawler 1972; Murty 1968): what is not the best tree differs from it first at some token, so each token
    gives a part of the remaining trees, of which again the best is found; n times as long as one tree for each of k.
    The order among equals is the decoders'.
    """
    found: list[tuple[np.ndarray, float]] = []
    queue: list[tuple] = []
    decode = projective_tree if projective else spanning_tree

    def offer(allowed: np.ndarray, fixed: int) -> None:
        """Queue the best tree of those that `allowed`, bool as scores, leaves; tokens up to `fixed` have their
        heads."""
        heads = np.full(len(scores), -1, INDEX)
        if decode(np.where(allowed, scores, -np.inf), heads):
            score, tie = tree_score(scores, heads)
            heapq.heappush(queue, (-score, -tie, len(queue), heads, allowed, fixed))

    offer(np.isfinite(scores), 0)
    while queue and len(found) < k:
        score, _, _, heads, allowed, fixed = heapq.heappop(queue)
        found.append((heads, -score))
        if len(found) == k:
            break
        kept = allowed.copy()
        for token in range(fixed + 1, len(scores)):
            other = kept.copy()
            other[heads[token], token] = False
            offer(other, token - 1)
            kept[:, token] = False
            kept[heads[token], token] = True
    return found


class Labeller:
    """A LabelStage for `n_labels` labels at work; label 0 is the root's and no other link's."""

    def __init__(self, stage: LabelStage, n_labels: int):
        self._table, self._n_labels = stage.table(), n_labels

    def label(self, atoms: np.ndarray, heads: np.ndarray) -> np.ndarray:
        """The number of each link's label, int32 (n + 1,) from place 1, for heads as decoders give them."""
        found = np.zeros(len(heads), INDEX)
        label_links(atoms, make_guide(heads), self._table, self._n_labels, 0, found)
        return found
