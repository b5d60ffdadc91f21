"""Constituency parsing for spaCy with boosted decision trees.

`spacy_dtparse.load()` returns the embedded English pipeline. Importing this package loads neither numba nor a model,
because spaCy imports every plugin of the environment at every start. Everything except `load` is therefore imported at
first use.
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
    from .pipeline.explain_constituent import explain, explanations
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
    """Load an English pipeline: tokenizer, tagger, sentence boundaries, parser.

    `name`: name of the parser: "en_dtparse" (the default: a network scores the spans, boosted decision trees decide),
    "en_span" (the network alone, the fastest), "en_trees" (boosted decision trees without a network), "en_pcfgla" (a
    grammar with latent annotations) or "en_bpm" (en_span and the dependency parser). `overrides`: passed to spacy.load:
    `exclude`, `disable`, `config`, … . Raises ConfigError for another name, ModelFormatError if this installation has
    no model.

    The first time on a machine, background processes compile the kernels; `dtparse warmup` compiles them beforehand.
    """
    from .pipeline.embedded import load_embedded

    return load_embedded(name, **overrides)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = {
        "Agreement": "pipeline.agreement",
        "agreement": "pipeline.agreement",
        "ConstituentMatcher": "pipeline.matcher",
        "register_extensions": "pipeline.extensions",
        "render": "pipeline.drawings",
        "serve": "web.server",
        **dict.fromkeys(("from_nltk", "sentence_record", "to_conllu", "to_nltk"), "pipeline.conversions"),
        **dict.fromkeys(("clauses", "head", "noun_chunks", "phrases"), "pipeline.phrases"),
        **dict.fromkeys(("parse_docs", "parse_rows", "parse_table", "row_schema"), "pipeline.tables"),
        **dict.fromkeys(("explain", "explanations"), "pipeline.explain_constituent"),
        "Explanation": "pipeline.explanation",
        **dict.fromkeys(("RankedTree", "k_best"), "pipeline.k_best"),
    }
    return getattr(import_module(f".{modules.get(name, 'pipeline.attributes')}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
