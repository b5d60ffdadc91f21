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

    from .annotation.server import adjudicate, annotate
    from .pipeline.attributes import (
        children,
        constituents,
        cost,
        is_parsed,
        labels,
        parent,
        parse_string,
        probability,
        sentence_infos,
        subconstituents,
        to_tree,
        tree_probability,
    )
    from .pipeline.chunks import chunk_tags, chunks
    from .pipeline.clauses import (
        Predicate,
        Triple,
        antecedent,
        clause_kind,
        clause_tokens,
        objects,
        predicates,
        subject,
        triples,
        verb,
    )
    from .pipeline.conversions import from_nltk, sentence_record, to_conllu, to_nltk
    from .pipeline.drawings import render
    from .pipeline.explain_constituent import explain, explanations
    from .pipeline.explanation import Explanation
    from .pipeline.extensions import register_extensions
    from .pipeline.head_consistency import HeadConsistency, head_consistency
    from .pipeline.k_best import RankedTree, k_best
    from .pipeline.matcher import ConstituentMatcher
    from .pipeline.measures import SyntaxMeasures, measure_syntax, syntactic_structures
    from .pipeline.navigation import (
        ancestors,
        c_commands,
        depth,
        lowest_common_ancestor,
        path,
        phrase,
        siblings,
        superconstituents,
    )
    from .pipeline.phrases import clauses, head, noun_chunks, phrases
    from .pipeline.records import to_dataframe, to_records
    from .pipeline.retokenized import as_doc
    from .pipeline.tables import parse_docs, parse_rows, parse_table, row_schema
    from .web.server import serve

__version__ = "0.1.0"

__all__ = [
    "ConstituentMatcher", "Explanation", "HeadConsistency", "Predicate", "RankedTree", "SyntaxMeasures", "Triple",
    "__version__", "adjudicate", "ancestors", "annotate", "antecedent", "as_doc", "c_commands", "children",
    "chunk_tags", "chunks", "clause_kind", "clause_tokens", "clauses", "constituents", "cost", "depth", "explain",
    "explanations", "from_nltk", "head", "head_consistency", "is_parsed", "k_best", "labels", "load",
    "lowest_common_ancestor", "measure_syntax", "noun_chunks", "objects", "parent", "parse_docs", "parse_rows",
    "parse_string", "parse_table", "path", "phrase", "phrases", "predicates", "probability", "register_extensions",
    "render", "row_schema", "sentence_infos", "sentence_record", "serve", "siblings", "subconstituents", "subject",
    "superconstituents", "syntactic_structures", "to_conllu", "to_dataframe", "to_nltk", "to_records", "to_tree",
    "tree_probability", "triples", "verb",
]  # fmt: skip


def load(name: str | None = None, **overrides: Any) -> Language:
    """Load an English pipeline: tokenizer, tagger, sentence boundaries, parser.

    `name`: name of the parser: "en_dtparse" (the default: a network scores the spans, boosted decision trees decide),
    "en_span" (the network alone, the fastest), "en_trees" (boosted decision trees without a network), "en_pcfgla" (a
    grammar with latent annotations) or "en_bpm" (en_span and the dependency parser). The last three are packages of
    their own. `overrides`: passed to spacy.load: `exclude`, `disable`, `config`, … . Raises ConfigError for another
    name, ModelFormatError, which names the command that installs it, if the package is not installed.

    The first time on a machine, background processes compile the kernels; `dtparse warmup` compiles them beforehand.
    """
    from .memory import report_memory_limit

    with report_memory_limit():
        from .pipeline.embedded import load_embedded

        return load_embedded(name, **overrides)


_SUBPACKAGES = ("core", "errors", "pipeline", "query", "scoring", "trees", "viz")
"""Modules that are attributes as soon as this package is imported: `spacy_dtparse.errors.NonConstituentError`."""


_MODULES = {
    "annotation.server": "adjudicate annotate",
    "pipeline.chunks": "chunk_tags chunks",
    "pipeline.clauses": "Predicate Triple antecedent clause_kind clause_tokens objects predicates subject triples verb",
    "pipeline.conversions": "from_nltk sentence_record to_conllu to_nltk",
    "pipeline.drawings": "render",
    "pipeline.explain_constituent": "explain explanations",
    "pipeline.explanation": "Explanation",
    "pipeline.extensions": "register_extensions",
    "pipeline.head_consistency": "HeadConsistency head_consistency",
    "pipeline.k_best": "RankedTree k_best",
    "pipeline.matcher": "ConstituentMatcher",
    "pipeline.measures": "SyntaxMeasures measure_syntax syntactic_structures",
    "pipeline.navigation": "ancestors c_commands depth lowest_common_ancestor path phrase siblings superconstituents",
    "pipeline.phrases": "clauses head noun_chunks phrases",
    "pipeline.records": "to_dataframe to_records",
    "pipeline.retokenized": "as_doc",
    "pipeline.tables": "parse_docs parse_rows parse_table row_schema",
    "web.server": "serve",
}
"""The names that are imported at first use, by their module; all others are in `pipeline.attributes`."""


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f".{name}", __name__)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next((module for module, names in _MODULES.items() if name in names.split()), "pipeline.attributes")
    return getattr(import_module(f".{module}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
