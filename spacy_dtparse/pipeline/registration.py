"""Register the factories of all components. Import this module where the package may not be installed: spaCy finds the
factories of an installed package by its entry points."""

from importlib import import_module

from ..core.registry import KINDS
from . import boundaries, corpus, scorer, suggester  # noqa: F401 (register their functions)

for _kind in KINDS.values():
    import_module(f"..{_kind.factory}.component", __package__)
import_module("..dependency_phrases.component", __package__)

PARSER_FACTORIES = tuple(dict.fromkeys(kind.factory for kind in KINDS.values() if kind.name != "recurrent"))
"""The factories of all components of this package that are not needed for tags or sentence boundaries."""
