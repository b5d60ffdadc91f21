"""Tables of the tags that a treebank never leaves unattached, read from its trees; see `span_parser.kernels.attach`.

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

from spacy_dtparse.span_parser.model import AttachTables
from spacy_dtparse.trees import TOP, Tree
from spacy_dtparse.trees.unattached import SISTERS, is_unattached, unattached_tokens

MIN_SEEN = 60
"""Minimum number of constituents of a label (with a child of another label) that have a tag anywhere below them."""
MAX_FRACTION = 0.004
"""Maximum fraction of these constituents with a direct child of the tag for such children to count as errors."""
MAX_UNATTACHED_SENTENCES = 0.02
"""Maximum fraction of a treebank's sentences with unattached tokens (`trees.unattached.unattached_tokens`) for these to
count as errors."""


def attach_tables(trees: Iterable[Tree], labels: Sequence[str], tags: Sequence[str]) -> AttachTables:
    """Build the tables from a treebank's trees, for these labels and tags."""
    label_ids = {label: i for i, label in enumerate(labels)}
    tag_ids = {tag: i for i, tag in enumerate(tags)}
    size = len(labels) + 1
    below, unattached = (np.zeros((size, size, len(tags)), dtype=np.int64) for _ in range(2))
    n_several_roots = total = 0
    for tree in trees:
        total += 1
        n_several_roots += len(tree.labels) == 1 or (tree.starts[1], tree.ends[1]) != (0, tree.n_tokens)
        tags_of_tokens = [tag_ids.get(tag, -1) for tag in tree.tags]
        for node, children in enumerate(tree.child_lists()):
            label = size - 1 if tree.labels[node] == TOP else label_ids.get(tree.labels[node], -1)
            if label < 0 or (label == size - 1 and len(children) == 1):
                continue
            covered = {i for i in tags_of_tokens[tree.starts[node] : tree.ends[node]] if i >= 0}
            direct = {tags_of_tokens[~child] for child in children if child < 0 and tags_of_tokens[~child] >= 0}
            siblings = {label_ids.get(tree.labels[child], -1) for child in children if child >= 0} - {-1}
            for child in (size - 1, *siblings):
                below[label, child, list(covered)] += 1
                unattached[label, child, list(direct)] += 1
    never = (below >= MIN_SEEN) & (unattached <= MAX_FRACTION * below)
    n_unattached = unattached[:-1, -1].sum(axis=1)  # by label
    first, second = np.argsort(-n_unattached, kind="stable")[:2] if len(labels) > 1 else (0, 0)
    for tag, home in enumerate(unattached[:-1, -1].argmax(axis=0).tolist()):
        if home not in (first, second) or not unattached[home, -1, tag]:
            never[:, :, tag] = False
        elif home == second != first:
            never[first, :, tag] = False
    return AttachTables(never, n_several_roots <= MAX_FRACTION * total)


def mark_never_unattached(
    tables: AttachTables, trees: Sequence[Tree], labels: Sequence[str], tags: Sequence[str]
) -> AttachTables:
    """Mark every token that is unattached in Penn's labels as never unattached, however rare such constituents are.

    Returns the tables unchanged if more than `MAX_UNATTACHED_SENTENCES` of the sentences have unattached tokens."""
    if sum(bool(unattached_tokens(tree)) for tree in trees) > MAX_UNATTACHED_SENTENCES * len(trees):
        return tables
    never = tables.never.copy()
    for sister in SISTERS:
        if sister in labels:
            for parent, label in enumerate([*labels, TOP]):
                never[parent, labels.index(sister)] |= [is_unattached(label, sister, tag) for tag in tags]
    return AttachTables(never, tables.one_root)
