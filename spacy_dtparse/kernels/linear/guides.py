"""What a link can be asked about a guide: a tree of the same sentence that an earlier stage of a parser built.

With it a parser that scores links one by one sees what a link alone does not show: siblings, children, the head's own
head, crossing links (Nivre & McDonald 2008; Martins, Das, Smith & Xing 2008).
"""

from typing import NamedTuple

import numpy as np

from ..jit import kernel


class Guide(NamedTuple):
    """`heads`: int32 (n + 1,), heads[0] = -1; of length 1 there is no guide. `labels`: int32 (n + 1,), atoms of the
    links' labels, see `label_atoms`; 0: not known. `outermost`: int32 (n + 1, 2), a token's leftmost dependent on its
    left and rightmost on its right, 0: none. `counts`: int32 (n + 1, 2), dependents left and right. `near`: int32
    (n + 1, n + 2); near[x, y] tokens below y (of 0 … n) have a link with x.
    """

    heads: np.ndarray
    labels: np.ndarray
    outermost: np.ndarray
    counts: np.ndarray
    near: np.ndarray


@kernel
def read_guide(heads, outermost, counts, near):
    """Fill the arrays of a Guide that follow from `heads`, all zero."""
    n = heads.shape[0] - 1
    for d in range(1, n + 1):
        h = heads[d]
        if d < h:
            counts[h, 0] += 1
            if outermost[h, 0] == 0:
                outermost[h, 0] = d
        else:
            counts[h, 1] += 1
            outermost[h, 1] = d
        near[h, d + 1] += 1
        near[d, h + 1] += 1
    for x in range(n + 1):
        for y in range(n + 1):
            near[x, y + 1] += near[x, y]


def label_atoms(labels: np.ndarray) -> np.ndarray:
    """Numbers of labels, int32 (n + 1,), as atoms: 1 for what is no link (the root's), else from 2."""
    atoms = np.asarray(labels, np.int32) + np.int32(2)
    atoms[0] = 1
    return atoms


def make_guide(heads: np.ndarray | None, labels: np.ndarray | None = None) -> Guide:
    """The Guide of a tree's heads and the atoms of its labels, each int32 (n + 1,), or no guide."""
    if heads is None:
        heads = np.full(1, -1, np.int32)
    n = len(heads) - 1
    guide = Guide(
        heads,
        np.zeros(n + 1, np.int32) if labels is None else labels,
        np.zeros((n + 1, 2), np.int32),
        np.zeros((n + 1, 2), np.int32),
        np.zeros((n + 1, n + 2), np.int32),
    )
    if n:
        read_guide(guide.heads, guide.outermost, guide.counts, guide.near)
    return guide
