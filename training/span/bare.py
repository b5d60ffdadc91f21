"""Which tokens a treebank never leaves bare, read off its trees; see `kernels.span.whole`.

Looked at are tags that are mostly children of one of the two labels with the most loose tokens (noun phrases and verb
phrases in English), those of the second kind not within the first. Others, as prepositions, mark phrases whose other
end is what a parser is unsure of; taking these up costs more right brackets than it brings
(docs/experiments/training.md).
In Penn's labels a noun, determiner or verb beside a VP or S is such a token, too, unless a treebank often has it.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from spacy_dtparse.model.span.model import BareTables
from spacy_dtparse.trees import TOP, Tree
from spacy_dtparse.trees.orphans import SISTERS, is_orphan, orphans

LEAST_SEEN = 60
"""Constituents of a label (with a child of another) that must have been seen with a tag anywhere below them."""
MOST_SHARE = 0.004
"""Share of these in which a token of the tag is a bare child; in fewer it counts as a slip."""
ORPHAN_SHARE = 0.02
"""Share of a treebank's sentences up to which orphans (`trees.orphans`) are slips."""


def bare_tables(trees: Iterable[Tree], labels: Sequence[str], tags: Sequence[str]) -> BareTables:
    """The tables of a treebank's trees, for these labels and tags."""
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
    """The tables with all that would be an orphan in Penn's labels marked as never bare, however seldom such
    constituents were seen; unchanged where the trees have orphans in more than ORPHAN_SHARE of the sentences."""
    if sum(bool(orphans(tree)) for tree in trees) > ORPHAN_SHARE * len(trees):
        return tables
    never = tables.never.copy()
    for sister in SISTERS:
        if sister in labels:
            for parent, label in enumerate([*labels, TOP]):
                never[parent, labels.index(sister)] |= [is_orphan(label, sister, tag) for tag in tags]
    return BareTables(never, tables.one_root)
