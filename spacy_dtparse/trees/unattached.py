"""Unattached tokens: direct children of a constituent, next to a verb phrase or a clause, where English treebanks have
a phrase."""

from .tree import Tree

NOUNS = frozenset("NN NNS NNP NNPS PRP EX DT PDT PRP$".split())
VERBS = frozenset("VB VBD VBG VBN VBP VBZ MD TO".split())
_CLAUSES = frozenset("S SBAR SBARQ TOP".split())
_ABOVE_SBAR = frozenset("VP NP ADJP".split())
VERB_PHRASE = "VP"
SISTERS = (VERB_PHRASE, "S")


def is_unattached(label: str, sister: str, tag: str) -> bool:
    """Whether a token with this tag, a direct child of a constituent `label`, is unattached because of this sister."""
    if sister not in SISTERS:
        return False
    if tag == "IN":
        return sister == "S" and label in _ABOVE_SBAR
    return (tag in NOUNS and (label != "NP" or sister == "VP")) or (tag in VERBS and label in _CLAUSES)


def unattached_tokens(tree: Tree) -> list[int]:
    """Return the unattached tokens: sisters of a VP or an S, by Penn labels and tags. They are nouns, pronouns and
    determiners, except below an NP whose complement is a clause (*the fact that*), verbs below a clause, and
    complementizers and prepositions that are sisters of an S below a VP, NP or ADJP, where there is an SBAR or a PP.

    Auxiliaries next to a VP below VP, SQ or SINV are correct and not included, nor are the tokens of a VP that has
    neither a verb nor a VP as a child: one of them is the verb, with a wrong tag. Linear in the size of the tree,
    except for its depth.
    """
    found = []
    for node, children in enumerate(tree.child_lists()):
        sisters = {tree.labels[child] for child in children if child >= 0}
        tokens = [~child for child in children if child < 0]
        if tree.labels[node] == VERB_PHRASE and VERB_PHRASE not in sisters:
            if not any(tree.tags[token] in VERBS for token in tokens):
                continue
        found += [t for t in tokens if any(is_unattached(tree.labels[node], one, tree.tags[t]) for one in sisters)]
    return sorted(found)
