"""Constituency parsing for spaCy with boosted decision trees.

`spacy_dtparse.load()` returns the embedded English pipeline. Importing this package loads neither numba nor a model:
spaCy imports every plugin of the environment at every start. So all but `load` is imported at first use.
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
        probability,
        score,
        sentence_infos,
        subconstituents,
        to_tree,
        tree_probability,
    )
    from .pipeline.conversions import from_nltk, sentence_record, to_conllu, to_nltk
    from .pipeline.drawings import render
    from .pipeline.explain import explain, explanations
    from .pipeline.explanation import Explanation
    from .pipeline.extensions import register_extensions
    from .pipeline.k_best import RankedTree, k_best
    from .pipeline.matcher import ConstituentMatcher
    from .pipeline.phrases import clauses, head, noun_chunks, phrases
    from .pipeline.tables import parse_docs, parse_rows, parse_table, row_schema
    from .web.server import serve

__version__ = "0.1.0"

__all__ = [
    "Agreement", "ConstituentMatcher", "Explanation", "RankedTree", "__version__", "agreement", "children",
    "clauses", "constituents", "explain", "explanations", "from_nltk", "head", "is_parsed", "k_best", "labels",
    "load", "noun_chunks", "parent", "parse_docs", "parse_rows", "parse_string", "parse_table", "phrases",
    "probability", "register_extensions", "render", "row_schema", "score", "sentence_infos", "sentence_record",
    "serve", "subconstituents", "to_conllu", "to_nltk", "to_tree", "tree_probability",
]  # fmt: skip


def load(name: str | None = None, **overrides: Any) -> Language:
    """An English pipeline: tokenizer, tagger, sentence boundaries, parser.

    `name`: of the parser, "en_dtparse" (boosted decision trees that decide what a network has read; None means it),
    "en_span" (that network alone, the fastest), "en_trees" (boosted decision trees without a network), "en_pcfgla" (a
    grammar with latent annotations) or "en_bpm" (en_span and the dependency parser). `overrides` go to spacy.load:
    `exclude`, `disable`, `config`, … . Raises ConfigError for another name, ModelFormatError when this installation has
    no model.

    The first time on a machine kernels are compiled, in other processes; `dtparse warmup` does it beforehand.
    """
    from .pipeline.embedded import load_embedded

    return load_embedded(name, **overrides)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    rooms = {
        "Agreement": "pipeline.agreement", "agreement": "pipeline.agreement", "ConstituentMatcher": "pipeline.matcher",
        "register_extensions": "pipeline.extensions", "render": "pipeline.drawings", "serve": "web.server",
        **dict.fromkeys(("from_nltk", "sentence_record", "to_conllu", "to_nltk"), "pipeline.conversions"),
        **dict.fromkeys(("clauses", "head", "noun_chunks", "phrases"), "pipeline.phrases"),
        **dict.fromkeys(("parse_docs", "parse_rows", "parse_table", "row_schema"), "pipeline.tables"),
        **dict.fromkeys(("explain", "explanations"), "pipeline.explain"), "Explanation": "pipeline.explanation",
        **dict.fromkeys(("RankedTree", "k_best"), "pipeline.k_best"),
    }  # fmt: skip
    return getattr(import_module(f".{rooms.get(name, 'pipeline.attributes')}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
