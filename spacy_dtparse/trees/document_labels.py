"""Labels of the parts of an article (titles, headings, captions), and trees without them.

CRAFT's trees of journal articles have such a label above the structure of the words: (CAPTION (S …)). In plain text the
label says nothing about the words, and the constituent below it has their structure.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from .labels import PUNCTUATION_TAGS
from .tree import Tree

DOCUMENT_LABELS = frozenset(("CAPTION", "HEADING", "TITLE"))
"""CRAFT's labels of the parts of an article that are not running text."""
_FINITE_TAGS = frozenset(("VBZ", "VBP", "VBD", "MD"))
_LIST_MARKER = "LST"

Key = tuple[int, int, str]


class RelabelledTree(NamedTuple):
    """A tree without some labels. `origins`: the index of each constituent in the tree before, (m,) ints."""

    tree: Tree
    origins: tuple[int, ...]


def document_labels_of(labels: Iterable[str]) -> frozenset[str]:
    """Return DOCUMENT_LABELS if a model has all of them, as one trained on CRAFT, else nothing: a treebank in which one
    of these names occurs alone may mean something else by it."""
    return DOCUMENT_LABELS if DOCUMENT_LABELS.issubset(labels) else frozenset()


def has_verb(tags: Iterable[str]) -> bool:
    """Return whether there is a finite verb or a base form, as in most sentences of plain text, and in few titles and
    headings."""
    return any(tag in _FINITE_TAGS or tag == "VB" for tag in tags)


def remove_document_labels(tree: Tree, keep: Collection[Key] = (), excluded: Collection[str] = ()) -> RelabelledTree:
    """Return a tree without DOCUMENT_LABELS, except those of the constituents `keep`, (start, end, label) each.

    A constituent with such a label is labelled S if a verb phrase with a finite verb or an imperative is directly below
    it. Otherwise, if it has a single constituent below it, apart from punctuation and list markers, it is left out, and
    the one below gets all its words: (CAPTION (S …) (. .)) becomes (S … (. .)). Any other is labelled FRAG.
    Instead of an S or FRAG that is among the labels `excluded` there is no constituent.
    """
    if DOCUMENT_LABELS.isdisjoint(tree.labels[1:]) or all(
        span in keep for span in tree.spans()[1:] if span[2] in DOCUMENT_LABELS
    ):
        return RelabelledTree(tree, tuple(range(len(tree.labels))))
    child_lists = tree.child_lists()
    labels, starts, ends = [*tree.labels], [*tree.starts], [*tree.ends]
    replaced_by: dict[int, list[int]] = {}
    """Each constituent that is left out, and the children that its parent gets, as in `child_lists`."""
    for k in range(len(labels) - 1, 0, -1):  # from below, so that the constituents below are final
        if labels[k] not in DOCUMENT_LABELS or (starts[k], ends[k], labels[k]) in keep:
            continue
        children = [one for child in child_lists[k] for one in replaced_by.get(child, [child])]
        main = [child for child in children if child >= 0 and labels[child] != _LIST_MARKER]
        loose = [tree.tags[~child] for child in children if child < 0]
        is_clause = any(
            labels[child] == "VP" and _is_predicate(tree.tags[starts[child] : ends[child]]) for child in main
        )
        label = "S" if is_clause else "FRAG"
        if len(main) == 1 and not is_clause and PUNCTUATION_TAGS.issuperset(loose):
            (only,) = main
            starts[only], ends[only] = starts[k], ends[k]
            replaced_by[k] = [only]
        elif label in excluded:
            replaced_by[k] = children
        else:
            labels[k] = label
    remaining = [k for k in range(len(labels)) if k not in replaced_by]
    remaining.sort(key=lambda k: (starts[k], -ends[k]))  # one that got a list marker comes before it
    found = Tree.unchecked(
        tree.words,
        tree.tags,
        [labels[k] for k in remaining],
        [starts[k] for k in remaining],
        [ends[k] for k in remaining],
    )
    return RelabelledTree(found, tuple(remaining))


def _is_predicate(tags: Sequence[str]) -> bool:
    """Return whether the first verb of a verb phrase with these tags is finite or an imperative."""
    verb = next((tag for tag in tags if tag == "MD" or tag.startswith("VB")), "")
    return verb in _FINITE_TAGS or tags[0] == "VB"
