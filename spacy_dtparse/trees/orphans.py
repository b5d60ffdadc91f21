"""Orphans: words left bare beside a clause or verb phrase, where English trees have a phrase of their own for them."""

from .tree import Tree

NOUNS = frozenset("NN NNS NNP NNPS PRP EX DT PDT PRP$".split())
VERBS = frozenset("VB VBD VBG VBN VBP VBZ MD TO".split())
_CLAUSES = frozenset("S SBAR SBARQ TOP".split())


SISTERS = ("VP", "S")


def is_orphan(label: str, sister: str, tag: str) -> bool:
    """Whether a bare token of the tag, child of a constituent `label`, is an orphan because of this sister."""
    if sister not in SISTERS:
        return False
    return (tag in NOUNS and (label != "NP" or sister == "VP")) or (tag in VERBS and label in _CLAUSES)


def orphans(tree: Tree) -> list[int]:
    """The tokens that stand bare beside a VP or an S, in Penn labels and tags: nouns, pronouns and determiners below
    anything but an NP with a clause for a complement (*the fact that*), and verbs below a clause.

    Auxiliaries beside a VP below VP, SQ or SINV are as they should be. Linear in the tree, but for its depth.
    """
    found = []
    for node, children in enumerate(tree.child_lists()):
        sisters = {tree.labels[child] for child in children if child >= 0}
        for child in children:
            if child < 0 and any(is_orphan(tree.labels[node], sister, tree.tags[~child]) for sister in sisters):
                found.append(~child)
    return sorted(found)
