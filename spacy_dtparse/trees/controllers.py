"""Understood subjects: who goes in *He wants to go* and *He left, singing*."""

from . import verb_words as words_of
from .labels import base_label
from .noun_phrases import CLAUSES
from .predicates import PredicateFinder, PredicateNodes

_THROUGH = CLAUSES | {"VP", "ADJP", "PP", "ADVP", "UCP"}


def understood_subject(
    finder: PredicateFinder, one: PredicateNodes
) -> PredicateNodes | tuple[PredicateNodes, int] | None:
    """The subject that a predicate without finite verb and subject shares with a predicate around it.

    A pair of the predicate around it and the node, which is its object after verbs such as *tell* and *ask*, else its
    subject. A predicate if that one lacks a subject itself, so that the search goes on there. None if there is none.
    """
    if finder.tree.tags[one.group[0]] not in ("TO", "VB", "VBG", "VBN"):
        return None
    k = one.clause if base_label(finder.labels[one.clause]) in CLAUSES else one.phrase
    if finder.tree.tags[one.group[0]] == "VB" and finder.parents[k] < 0:
        return None
    is_participle = finder.tree.tags[one.group[0]] == "VBN"
    if is_participle and finder.labels[k] == "SBAR":  # *unless agreed in writing*
        return None
    above = finder.parents[k]
    while above >= 0 and finder.labels[above] in _THROUGH:
        if is_participle and finder.labels[above] == "SBAR":
            return None
        around = finder.by_phrase.get(above)
        if around is None and finder.labels[above] in ("S", "SINV", "SQ"):
            around = next((other for other in finder.by_core.get(above, []) if other is not one), None)
        if around is not None and around is not one:
            verb = finder.words[around.verb]
            if around.objects and verb in words_of.CONTROL and not around.passive:
                return around, around.objects[0]
            if around.subject is not None and _contains(finder, around.subject, one.verb):  # *To err is human*
                return None
            return around if around.subject is None else (around, around.subject)
        above = finder.parents[above]
    return None


def _contains(finder: PredicateFinder, node: int, token: int) -> bool:
    start, end = finder.extent(node)
    return start <= token < end
