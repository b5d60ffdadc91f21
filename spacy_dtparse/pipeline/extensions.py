"""The functions of `attributes`, `navigation`, `phrases`, `clauses` and `spines` as extension attributes,
`doc._.constituents`, `span._.parse_string`, `doc._.phrases("NP")` and others."""

import importlib.util
import sys
from typing import Any

from spacy.tokens import Doc, Span, Token

from .attributes import (
    children,
    constituents,
    labels,
    parent,
    parse_string,
    probability,
    subconstituents,
    tree_probability,
)
from .clauses import antecedent, clause_kind, clause_tokens, objects, predicates, subject, triples, verb
from .conversions import to_nltk
from .navigation import ancestors, c_commands, depth, lowest_common_ancestor, path, phrase, siblings, superconstituents
from .phrases import clauses, head, phrases
from .retokenized import as_doc
from .spines import spine, spines

# Module-level functions: a lambda would break every process started by spawn.
_EXTENSIONS: tuple[tuple[Any, str, Any], ...] = (
    (Doc, "constituents", constituents),
    (Span, "labels", labels),
    (Span, "parse_string", parse_string),
    (Span, "children", children),
    (Span, "parent", parent),
    (Span, "constituents", subconstituents),
    (Token, "labels", labels),
    (Token, "parse_string", parse_string),
    (Token, "parent", parent),
    (Token, "spine", spine),
    (Token, "spines", spines),
    (Doc, "clauses", clauses),
    (Span, "clauses", clauses),
    (Span, "head", head),
    (Span, "probability", probability),
    (Span, "tree_probability", tree_probability),
    *((owner, function.__name__, function) for owner in (Span, Token) for function in (ancestors, depth, siblings)),
    (Token, "constituents", superconstituents),
    (Token, "phrase", phrase),
    *((Span, f.__name__, f) for f in (subject, verb, objects, clause_tokens, clause_kind, antecedent)),
    *((owner, function.__name__, function) for owner in (Doc, Span) for function in (predicates, triples)),
)
_METHODS: tuple[tuple[Any, str, Any], ...] = (
    (Doc, "phrases", phrases),
    (Span, "phrases", phrases),
    (Span, "to_nltk", to_nltk),
    (Span, "as_doc", as_doc),
    *(
        (owner, function.__name__, function)
        for owner in (Span, Token)
        for function in (path, lowest_common_ancestor, c_commands)
    ),
)
_BENEPAR = frozenset(
    [(Span, name) for name in ("labels", "parse_string", "children", "parent", "constituents")]
    + [(Token, name) for name in ("labels", "parse_string", "parent")]
)
"""The attributes that benepar registers too."""


def register_extensions(force: bool = False) -> list[str]:
    """Register the extension attributes and return the names that another package has taken, such as "Span.labels".

    Taken names are left alone, and while benepar is installed but not imported its names are left free, since its
    import fails on a taken name. `force` takes them all. Creating a dtparse component calls this function; call it to
    read parsed Docs in a program that creates none.
    """
    benepar_pending = "benepar" not in sys.modules and importlib.util.find_spec("benepar") is not None
    taken = []
    for owner, name, function in _EXTENSIONS + _METHODS:
        kind = "method" if (owner, name, function) in _METHODS else "getter"
        if benepar_pending and not force and (owner, name) in _BENEPAR:
            taken.append(f"{owner.__name__}.{name}")
        elif force or not owner.has_extension(name):
            owner.set_extension(name, force=force, **{kind: function})
        elif function not in owner.get_extension(name):
            taken.append(f"{owner.__name__}.{name}")
    return taken
