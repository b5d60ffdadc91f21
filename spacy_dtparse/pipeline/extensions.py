"""The functions of `attributes`, `phrases` and `spines` as extension attributes, `doc._.constituents`,
`span._.parse_string`, `doc._.phrases("NP")` and others."""

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
from .conversions import to_nltk
from .phrases import clauses, head, phrases
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
)
_METHODS: tuple[tuple[Any, str, Any], ...] = (
    (Doc, "phrases", phrases),
    (Span, "phrases", phrases),
    (Span, "to_nltk", to_nltk),
)
_NOT_IN_BENEPAR = ("spine", "spines", "clauses", "head", "phrases", "to_nltk", "probability", "tree_probability")
"""Names that benepar does not have."""


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
        if owner is not Doc and benepar_pending and not force and name not in _NOT_IN_BENEPAR:
            taken.append(f"{owner.__name__}.{name}")
        elif force or not owner.has_extension(name):
            owner.set_extension(name, force=force, **{kind: function})
        elif function not in owner.get_extension(name):
            taken.append(f"{owner.__name__}.{name}")
    return taken
