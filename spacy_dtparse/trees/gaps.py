"""The roles of relative and question words: subject (*who came*), object (*what he did*), complement (*what it is*)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import verb_words as words_of

if TYPE_CHECKING:
    from .predicates import PredicateFinder, PredicateNodes

_NOMINAL = frozenset(("NP", "QP", "NX", "NML", "NAC", "CIT"))
_MAX_LEVELS = 20
"""Nested clauses (*what he said she thought …*) beyond which no gap is looked for, to avoid deep recursion."""
_WH_TAGS = frozenset(("WDT", "WP", "DT"))


def fill_gap(finder: PredicateFinder, frame: int) -> None:
    """Give the WH phrase of an SBAR or SBARQ its role. A relative clause without one gets only the role (`gap`)."""
    kids = finder.children[frame]
    wh = next((kid for kid in kids if is_wh(finder, kid)), None)
    above = finder.labels[finder.parents[frame]] if frame else ""
    if wh is None and not (above in _NOMINAL and len(kids) == 1):
        return
    for core in finder.clauses_below(frame):
        _fill(finder, core, wh)


def is_wh(finder: PredicateFinder, node: int) -> bool:
    """Whether a node is the phrase of a relative or question word that stands for a noun or adjective."""
    if finder.name(node) in ("WHNP", "WP", "WDT", "WHADJP"):
        return True
    start, end = finder.extent(node)
    return finder.name(node) == "NP" and end - start == 1 and finder.tree.tags[start] in _WH_TAGS


def _fill(finder: PredicateFinder, core: int, wh: int | None, level: int = 0, is_top: bool = True) -> bool:
    """Fill the gap in a clause with a WH phrase (None: with nothing); whether there was one.

    `level`: number of clauses between the WH phrase and this one. `is_top`: the clause is one of the frame's own.
    """
    if level > _MAX_LEVELS:
        return False
    found = finder.by_core.get(core, [])
    if not found:
        below = [one for one in finder.clauses_below(core) if finder.labels[one] != "SBAR"]
        return any([_fill(finder, one, wh, level + 1, is_top) for one in below])
    tag = finder.tree.tags[found[0].group[0]]
    is_mistagged = tag == "VBN" and finder.labels[finder.parents[core]] == "SBAR"  # *who do you think won*
    is_finite = is_mistagged or tag not in ("TO", "VBG", "VBN")
    lacks_subject = all(one.subject is None and not one.existential for one in found)
    if lacks_subject and (is_finite or (is_top and wh is not None and tag != "TO")):
        if wh is None and not is_top:
            return False
        for one in found:
            one.subject, one.gap = wh, "subject"
            one.passive = one.passive and not is_mistagged
        return True
    is_last = len(found) > 1 and (found[0].objects or found[0].complement is not None or found[0].passive)
    return any([_fill_object(finder, one, wh, level) for one in (found[-1:] if is_last else found)])


def _fill_object(finder: PredicateFinder, one: PredicateNodes, wh: int | None, level: int) -> bool:
    verb = finder.words[one.verb]
    if _has_stranded_preposition(finder, one):
        return False
    if one.clause_object is not None and (not one.objects or verb in words_of.CONTROL):
        nested = one.clause_object
        while finder.is_frame(nested):
            if any(finder.name(kid).startswith("WH") for kid in finder.children[nested]):
                return False
            nested = finder.clauses_below(nested)[0]
        if finder.labels[nested] != "SBAR" and _fill(finder, nested, wh, level + 1, is_top=False):
            return True
    if verb in words_of.LINKING or (wh is not None and finder.name(wh) == "WHADJP"):
        if one.complement is None and not one.existential:
            one.complement, one.gap = wh, "complement"
            return True
        return _fill_below(finder, one.complement, wh, level)
    if one.existential and one.subject is None:
        one.subject, one.gap = wh, "subject"
        return True
    if one.passive and verb not in words_of.DITRANSITIVE:
        return False
    if one.objects and not (len(one.objects) == 1 and verb in words_of.DITRANSITIVE):
        return False
    if wh is not None:
        if finder.is_adverbial(wh, verb):
            return False
        one.objects.append(wh)
    one.gap = "object"
    return True


def _fill_below(finder: PredicateFinder, complement: int | None, wh: int | None, level: int) -> bool:
    """Fill a gap in the infinitive below a complement: *what he is able to do*."""
    if complement is None or complement < 0:
        return False
    nested = complement if finder.labels[complement] == "S" else next(iter(finder.clauses_below(complement)), None)
    return nested is not None and finder.labels[nested] == "S" and _fill(finder, nested, wh, level + 1, is_top=False)


def _has_stranded_preposition(finder: PredicateFinder, one: PredicateNodes) -> bool:
    """Whether a preposition after the verb lacks its noun phrase: *who I spoke to*."""
    for kid in finder.children[one.phrase]:
        if kid >= 0 and finder.labels[kid] == "PP" and len(finder.children[kid]) == 1:
            return finder.tree.starts[kid] > one.verb
        if kid < 0 and ~kid > one.verb and finder.tree.tags[~kid] == "IN":
            return True
    return False
