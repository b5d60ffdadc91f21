"""Base noun phrases of a tree, also called noun chunks."""

from .heads import HeadRules
from .labels import base_label
from .tree import Tree

CLAUSES = frozenset(("S", "SBAR", "SBARQ", "SINV", "SQ"))
"""Labels of clauses in the Penn Treebank."""
NOUN_PHRASES = frozenset(("NP", "WHNP"))
_POSSESSIVE = "POS"
_CONJUNCTIONS = frozenset(("CC", "CCONJ"))
_PARENTHESIS = "PRN"
_COMMA = ","
_MODIFIERS = CLAUSES | {"PP", "WHPP", "VP", "RRC", _PARENTHESIS}
"""Labels of constituents that contain, or may contain, other noun phrases."""
_NOUNS = frozenset(("NN", "NNS", "NNP", "NNPS", "PRP", "WP", "EX", "NML", "NX", "NAC", "NOUN", "PROPN", "PRON"))
"""Tags of nouns and pronouns, of the Penn Treebank and universal ones, and labels of parts of noun phrases that are
headed by a noun."""
_NOMINAL = _NOUNS | {
    "DT", "PDT", "WDT", "PRP$", "WP$", "CD", "JJ", "JJR", "JJS", "POS", "QP", "ADJP", "HYPH", "DET", "NUM", "ADJ",
}  # fmt: skip
"""Tags and labels of the words of a noun phrase."""


def noun_phrases(tree: Tree, rules: HeadRules) -> list[tuple[int, int]]:
    """Return the token ranges of the base noun phrases, from left to right; they do not overlap.

    Each NP or WHNP contains one, unless its head belongs to another noun phrase inside it. The base noun phrase extends
    on both sides of the head up to a prepositional phrase, verb phrase, clause, parenthesis or further noun phrase.
    Before the head it includes a possessive (*the dog's* in *the dog's tail*), a parenthesis with words of the base
    noun phrase before it (*the Health Organization (WHO) report*), unless there is a noun before it and a comma next to
    it, other modifiers with no noun before them (*a wait and see attitude*), and phrases that are no modifiers,
    whatever they contain (*a larger than usual dog*). Punctuation and conjunctions at its edges are excluded.

    The other words of an NP are base noun phrases as well where they contain a noun (*fruit* in *fruit, for example,
    pears and plums*), and so are nouns and the words of a noun phrase around them that are directly below a clause,
    verb phrase, prepositional phrase or parenthesis, unless its head is among them. Other words (*both*, *only* before
    a further noun phrase, commas) are in none.
    """
    child_lists = tree.child_lists()
    labels = [base_label(label) for label in tree.labels]
    # the constituent is or contains: bit 1 a noun phrase, bit 2 a modifier
    holds = [(label in NOUN_PHRASES) + 2 * (label in _MODIFIERS) for label in labels]
    for k, above in reversed(list(enumerate(tree.parents()))):
        if above >= 0:
            holds[above] |= holds[k]
    edges = rules.punctuation | _CONJUNCTIONS
    found: list[tuple[int, int]] = []
    stack = [0]
    while stack:
        k = stack.pop()
        children = child_lists[k]
        names = [labels[child] if child >= 0 else tree.tags[~child] for child in children]
        runs: list[range] = []
        if labels[k] in NOUN_PHRASES:
            named = names[:-1] if len(names) > 1 and names[-1] == _POSSESSIVE else names  # *'s* is not a noun
            around = _around_head(tree, rules.head_child(labels[k], named), children, labels, names, holds, edges)
            if around:
                runs.append(_trim(around, children, names, edges, holds))
            plain = [child < 0 or not holds[child] for child in children]
            runs += _noun_runs(plain, names, children, edges, holds, around)
        elif labels[k] in _MODIFIERS and len(children) > 1:
            head = rules.head_child(labels[k], names)
            nominal = [
                name in edges or (name in _NOMINAL and (child < 0 or not holds[child]))
                for name, child in zip(names, children, strict=True)
            ]
            runs = [run for run in _noun_runs(nominal, names, children, edges, holds, range(0)) if head not in run]
        included = {index for run in runs for index in run}
        for run in runs:
            first, last = children[run[0]], children[run[-1]]
            start = tree.starts[first] if first >= 0 else ~first
            found.append((start, tree.ends[last] if last >= 0 else ~last + 1))
        stack += [child for index, child in enumerate(children) if child >= 0 and index not in included]
    return sorted(found)


def _noun_runs(
    fits: list[bool], names: list[str], children: list[int], edges: frozenset[str], holds: list[int], taken: range
) -> list[range]:
    """Return the longest runs of children that fit and are not taken, trimmed, if they contain a noun."""
    runs, start = [], 0
    for index in range(len(fits) + 1):
        if index == len(fits) or not fits[index] or index in taken:
            run = range(start, index)
            if any(names[i] in _NOUNS for i in run):
                runs.append(_trim(run, children, names, edges, holds))
            start = index + 1
    return runs


def _trim(run: range, children: list[int], names: list[str], edges: frozenset[str], holds: list[int]) -> range:
    """Return the run without punctuation, conjunctions and modifiers at its edges."""

    def drops(index: int) -> bool:
        return names[index] in (edges if children[index] < 0 else _MODIFIERS)

    while len(run) > 1 and drops(run[0]):
        run = run[1:]
    while len(run) > 1 and drops(run[-1]):
        run = run[:-1]
    return run


def _around_head(
    tree: Tree,
    head: int,
    children: list[int],
    labels: list[str],
    names: list[str],
    holds: list[int],
    edges: frozenset[str],
) -> range:
    """Return the indices of the children of a base noun phrase whose head is child `head`; empty if that is in another
    noun phrase."""

    def may_precede(index: int) -> bool:
        """Whether the base noun phrase may include the child if it is before the head."""
        child = children[index]
        if child < 0 or not holds[child]:
            return True
        if names[index] in NOUN_PHRASES:  # a possessive
            return not holds[child] & 2 and tree.tags[tree.ends[child] - 1] == _POSSESSIVE
        if names[index] not in _MODIFIERS:
            return True
        if names[index] == _PARENTHESIS:
            return not (noun_before[index] and _COMMA in (names[index - 1 : index] + names[index + 1 : index + 2]))
        return not noun_before[index]

    if children[head] >= 0 and holds[children[head]]:
        return range(0)
    noun_before = [False]  # whether there is a noun between the child and the noun phrase before it
    for name in names[:head]:
        noun_before.append(name in _NOUNS or (noun_before[-1] and name not in NOUN_PHRASES))
    start, end = head, head + 1
    while start and may_precede(start - 1):
        start -= 1
    while end < len(children) and (children[end] < 0 or not holds[children[end]]):
        end += 1
    return range(start, end)
