"""Measures of syntactic complexity of Docs, and the structures that they count as spans; `query.structures` and
`query.measures` define them."""

from collections.abc import Iterable, Iterator

from spacy.tokens import Doc, Span

from ..errors import ConfigError
from ..query.measures import SyntaxMeasures, measure_trees
from ..query.structures import STRUCTURES, find_structures
from ..trees.tree import Tree
from .attributes import to_tree, trees
from .constituents import read_constituents
from .phrases import head_rules_for
from .sentences import is_blank, token_bounds, visible_tokens

Measurable = Doc | Span | Tree


def measure_syntax(
    where: Measurable | Iterable[Measurable], counting: str = "definitions", key: str | None = None
) -> SyntaxMeasures:
    """The measures of syntactic complexity of Lu (2010): counts of clauses, T-units and others, and their ratios.

    `where`: a parsed Doc, a Span of whole sentences, a Tree of a sentence, or several of them, which are counted
    together. `counting`: "definitions" counts by the definitions in docs/measures.md, "l2sca" by Lu's patterns as they
    are, for comparison with published figures. `key`: of the span group with the constituents.

    Raises NotParsedError for a Doc without constituents, NonConstituentError for a Span that cuts one, ConfigError for
    another way to count.
    """
    total = measure_trees((), counting)
    for one in [where] if isinstance(where, Doc | Span | Tree) else where:
        if isinstance(one, Tree):
            total += measure_trees([one], counting)
        elif isinstance(one, Doc | Span):
            total += measure_trees(_trees(one, key), counting, head_rules_for(one.doc, key))
        else:
            raise ConfigError(f"a value of type {type(one).__name__} has no trees; give a parsed Doc, a Span or a Tree")
    return total


def syntactic_structures(where: Doc | Span, key: str | None = None) -> dict[str, list[Span]]:
    """The structures that `measure_syntax` counts by the definitions, as spans of the Doc in their order.

    The keys are W (words), S (sentences), VP, C (clauses), T (T-units), DC (dependent clauses), CT (complex T-units),
    CP (coordinate phrases) and CN (complex nominals), which are also the labels of the spans. Raises as
    `measure_syntax` does.
    """
    doc = where.doc
    found: dict[str, list[Span]] = {name: [] for name in STRUCTURES}
    for part in _sentences(where):
        positions = [token.i for token in part if not is_blank(token.text)]
        for name, spans in find_structures(to_tree(part, key)).items():
            found[name] += [Span(doc, positions[a], positions[b - 1] + 1, name) for a, b in spans]
    return found


def _trees(where: Doc | Span, key: str | None) -> list[Tree]:
    if isinstance(where, Doc):
        return trees(where, key)
    read_constituents(where.doc, key)
    return [to_tree(part, key) for part in _sentences(where)]


def _sentences(where: Doc | Span) -> Iterator[Span]:
    """The sentences of a Doc that have a word, and of a Span what is in it of each."""
    doc = where.doc
    first, last = token_bounds(where)
    for start, end, words in visible_tokens(doc):
        if any(first <= token.i < last for token in words):
            yield doc[max(start, first) : min(end, last)]
