"""Constituency parsing for spaCy with boosted decision trees.

`spacy_dtparse.load()` returns the embedded English pipeline. Importing this package loads neither numba nor
a model: spaCy imports every plugin of the environment at every start.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacy.language import Language

    from .pipeline.agreement import Agreement, agreement
    from .pipeline.attributes import (
        children,
        constituents,
        is_parsed,
        labels,
        parent,
        parse_string,
        score,
        sentence_infos,
        subconstituents,
        to_tree,
    )
    from .pipeline.extensions import register_extensions

__version__ = "0.1.0"

_ATTRIBUTES = (
    "children",
    "constituents",
    "is_parsed",
    "labels",
    "parent",
    "parse_string",
    "score",
    "sentence_infos",
    "subconstituents",
    "to_tree",
)
"""Functions of `pipeline.attributes` that are loaded at first use (`trees` is there too: here it is the
room)."""

_AGREEMENT = ("Agreement", "agreement")
"""What is loaded from `pipeline.agreement` at first use."""

__all__ = [
    "Agreement",
    "__version__",
    "agreement",
    "children",
    "constituents",
    "is_parsed",
    "labels",
    "load",
    "parent",
    "parse_string",
    "register_extensions",
    "score",
    "sentence_infos",
    "subconstituents",
    "to_tree",
]


def load(name: str | None = None, **overrides: Any) -> Language:
    """An English pipeline: tokenizer, tagger, sentence boundaries, parser.

    `name`: of the parser, "en_span" (the network, the most accurate; None means it), "en_dtparse" (boosted decision
    trees, whose decisions can be explained), "en_pcfgla" (a grammar with latent annotations) or "en_bpm" (en_span and
    the dependency parser). `overrides` go to spacy.load: `exclude`, `disable`, `config`, … . Raises ConfigError for
    another name, ModelFormatError when this installation has no model.
    """
    from .pipeline.embedded import load_embedded

    return load_embedded(name, **overrides)


def __getattr__(name: str) -> Any:
    if name in _ATTRIBUTES:
        return getattr(import_module(".pipeline.attributes", __name__), name)
    if name in _AGREEMENT:
        return getattr(import_module(".pipeline.agreement", __name__), name)
    if name == "register_extensions":
        return import_module(".pipeline.extensions", __name__).register_extensions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
