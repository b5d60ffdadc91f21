"""Base noun phrases of a tree, also called noun chunks."""

from __future__ import annotations

from .heads import HeadRules
from .labels import base_label
from .tree import Tree

CLAUSES = frozenset(("S", "SBAR", "SBARQ", "SINV", "SQ"))
"""Labels of clauses in the Penn Treebank."""
NOUN_PHRASES = frozenset(("NP", "WHNP"))
_POSSESSIVE = "POS"
_CONJUNCTION = "CC"
_MODIFIERS = CLAUSES | {"PP", "WHPP", "VP", "RRC", "PRN"}
"""Labels of constituents that contain, or may contain, other noun phrases."""


def noun_phrases(tree: Tree, rules: HeadRules) -> list[tuple[int, int]]:
    """Return the token ranges of the base noun phrases, from left to right; they do not overlap.

    Each NP or WHNP contains one, unless its head belongs to another noun phrase inside it. The base noun phrase extends
    on both sides of the head up to a prepositional phrase, verb phrase, clause, parenthesis or further noun phrase; a
    possessive (*the dog's* in *the dog's tail*) before the head is included. Punctuation and conjunctions at its edges
    are excluded.
    """
    child_lists = tree.child_lists()
    labels = [base_label(label) for label in tree.labels]
    # the constituent is or contains: bit 1 a noun phrase, bit 2 a modifier
    holds = [(label in NOUN_PHRASES) + 2 * (label in _MODIFIERS) for label in labels]
    for k, above in reversed(list(enumerate(tree.parents()))):
        if above >= 0:
            holds[above] |= holds[k]
    found: list[tuple[int, int]] = []
    stack = [0]
    while stack:
        k = stack.pop()
        children = child_lists[k]
        included = range(0)
        if labels[k] in NOUN_PHRASES:
            names = [labels[child] if child >= 0 else tree.tags[~child] for child in children]
            named = names[:-1] if len(names) > 1 and names[-1] == _POSSESSIVE else names  # *'s* is not a noun
            included = _around_head(tree, rules.head_child(labels[k], named), children, labels, holds)
            edges = rules.punctuation | {_CONJUNCTION}
            while len(included) > 1 and children[included[0]] < 0 and names[included[0]] in edges:
                included = included[1:]
            while len(included) > 1 and children[included[-1]] < 0 and names[included[-1]] in edges:
                included = included[:-1]
        if included:
            first, last = children[included[0]], children[included[-1]]
            start = tree.starts[first] if first >= 0 else ~first
            found.append((start, tree.ends[last] if last >= 0 else ~last + 1))
        stack += [child for index, child in enumerate(children) if child >= 0 and index not in included]
    return sorted(found)


def _around_head(tree: Tree, head: int, children: list[int], labels: list[str], holds: list[int]) -> range:
    """Return the indices of the children of a base noun phrase whose head is child `head`; empty if that is in another
    noun phrase."""

    def possessive(child: int) -> bool:
        return labels[child] in NOUN_PHRASES and tree.tags[tree.ends[child] - 1] == _POSSESSIVE

    def before(child: int) -> bool:
        """Whether the base noun phrase may include the child if it is before the head."""
        return child < 0 or not (holds[child] & 2 or (labels[child] in NOUN_PHRASES and not possessive(child)))

    if children[head] >= 0 and holds[children[head]]:
        return range(0)
    start, end = head, head + 1
    while start and before(children[start - 1]):
        start -= 1
    while end < len(children) and (children[end] < 0 or not holds[children[end]]):
        end += 1
    return range(start, end)
