"""Tables of the tags that a treebank never leaves unattached, read from its trees; see `kernels.span.whole`.

An unattached token is a direct child of a constituent that also has constituents as children, where the treebank would
have a phrase over the token. The tables cover only tags that are mostly direct children of one of the two labels with
the most direct tokens (noun phrases and verb phrases in English), and not tags of the second label below the first.
Other tags, such as prepositions, mark phrases whose other end is uncertain to a parser; attaching them costs more
correct brackets than it gains (docs/experiments/training.md).
In Penn's labels, a noun, determiner or verb next to a VP or S also counts as unattached, unless the treebank often has
such tokens.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from spacy_dtparse.model.span.model import BareTables
from spacy_dtparse.trees import TOP, Tree
from spacy_dtparse.trees.orphans import SISTERS, is_orphan, orphans

LEAST_SEEN = 60
"""Minimum number of constituents of a label (with a child of another label) that have a tag anywhere below them."""
MOST_SHARE = 0.004
"""Maximum fraction of these constituents with a direct child of the tag for such children to count as errors."""
ORPHAN_SHARE = 0.02
"""Maximum fraction of a treebank's sentences with unattached tokens (`trees.orphans`) for these to count as errors."""


def bare_tables(trees: Iterable[Tree], labels: Sequence[str], tags: Sequence[str]) -> BareTables:
    """Build the tables from a treebank's trees, for these labels and tags."""
    label_of = {label: number for number, label in enumerate(labels)}
    tag_of = {tag: number for number, tag in enumerate(tags)}
    size = len(labels) + 1
    below, bare = (np.zeros((size, size, len(tags)), dtype=np.int64) for _ in range(2))
    several = total = 0
    for tree in trees:
        total += 1
        several += len(tree.labels) == 1 or (tree.starts[1], tree.ends[1]) != (0, tree.n_tokens)
        numbers = [tag_of.get(tag, -1) for tag in tree.tags]
        for node, children in enumerate(tree.child_lists()):
            label = size - 1 if tree.labels[node] == TOP else label_of.get(tree.labels[node], -1)
            if label < 0 or (label == size - 1 and len(children) == 1):
                continue
            under = {number for number in numbers[tree.starts[node] : tree.ends[node]] if number >= 0}
            loose = {numbers[~child] for child in children if child < 0 and numbers[~child] >= 0}
            beside = {label_of.get(tree.labels[child], -1) for child in children if child >= 0} - {-1}
            for child in (size - 1, *beside):
                below[label, child, list(under)] += 1
                bare[label, child, list(loose)] += 1
    never = (below >= LEAST_SEEN) & (bare <= MOST_SHARE * below)
    total_bare = bare[:-1, -1].sum(axis=1)  # by label
    first, second = np.argsort(-total_bare, kind="stable")[:2] if len(labels) > 1 else (0, 0)
    for tag, home in enumerate(bare[:-1, -1].argmax(axis=0).tolist()):
        if home not in (first, second) or not bare[home, -1, tag]:
            never[:, :, tag] = False
        elif home == second != first:
            never[first, :, tag] = False
    return BareTables(never, several <= MOST_SHARE * total)


def without_orphans(
    tables: BareTables, trees: Sequence[Tree], labels: Sequence[str], tags: Sequence[str]
) -> BareTables:
    """Mark every token that is unattached in Penn's labels as never unattached, however rare such constituents are.

    Returns the tables unchanged if more than `ORPHAN_SHARE` of the sentences have unattached tokens."""
    if sum(bool(orphans(tree)) for tree in trees) > ORPHAN_SHARE * len(trees):
        return tables
    never = tables.never.copy()
    for sister in SISTERS:
        if sister in labels:
            for parent, label in enumerate([*labels, TOP]):
                never[parent, labels.index(sister)] |= [is_orphan(label, sister, tag) for tag in tags]
    return BareTables(never, tables.one_root)
