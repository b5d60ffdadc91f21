"""Sentence boundaries that change after a parser has used them."""

from spacy.language import Language
from spacy.tokens import Doc

from ..core.registry import KINDS
from .boundaries import FACTORY as VISIBLE_SENTENCES
from .constituent_group import attribute
from .constituents import group_key
from .sentences import sentence_bounds

LATER_SETTERS = "later_sentence_setters"
"""The attribute of a span group that lists the components after the parser that set sentence boundaries."""

_ASSIGNED = frozenset({"token.is_sent_start", "token.sent_start", "doc.sents"})
_KEEP_BOUNDARIES = frozenset({VISIBLE_SENTENCES, "bpm_parser"})
"""Factories of components that set boundaries and keep those that the Doc has."""


def later_sentence_setters(nlp: Language, component: object) -> list[str]:
    """The names of the active components of `nlp` after `component` that set sentence boundaries."""
    names, passed = [], False
    for name, other in nlp.pipeline:
        if passed and nlp.get_pipe_meta(name).factory not in _KEEP_BOUNDARIES:
            names += [name] if _ASSIGNED.intersection(nlp.get_pipe_meta(name).assigns) else []
        passed = passed or other is component
    return names


def describe_changed_boundaries(doc: Doc, key: str | None = None) -> str:
    """A sentence for an error message if the sentences of a Doc are not those that its constituents were made for, else
    "". Names the components that may have changed them, as far as known."""
    name = group_key(doc, key)
    if name is None:
        return ""
    group = doc.spans[name]
    parsed = [(info["start"], info["end"]) for info in attribute(group, "sentences", ())]
    bounds = sentence_bounds(doc)
    if not parsed or parsed == bounds:
        return ""
    setters = attribute(group, LATER_SETTERS)
    who = " or ".join(map(repr, setters)) if setters else "a later component (parser, senter, sentencizer) or your code"
    kind = KINDS.get(attribute(group, "parser", ""))
    factory = repr(kind.factory) if kind else "…"
    place = f"after={setters[-1]!r}" if setters else "last=True"
    start, end = next((one for one in bounds if one not in set(parsed)), bounds[0])
    return (
        f"The sentences of this Doc were changed after parsing, by {who}: tokens {start} to {end} are a sentence now, "
        f"but were none when the constituents were found. Set sentence boundaries before that: nlp.add_pipe({factory}, "
        f"{place})"
    )
