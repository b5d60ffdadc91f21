"""Measures of syntactic complexity (Lu 2010): counts of structures in trees, and ratios between the counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from html import escape
from itertools import islice

from ..errors import ConfigError
from ..trees.heads import COLLINS, HeadRules
from ..trees.labels import EMPTY_TAG
from ..trees.transforms import strip_empty
from ..trees.tree import Tree
from .forest import Forest
from .pattern import Pattern, compile_pattern
from .structures import STRUCTURES, find_structures

COUNTING = ("definitions", "l2sca")
"""Ways to count: by the definitions in docs/measures.md, or by Lu's patterns as they are."""

RATIOS = {
    "MLS": ("W", "S", "mean length of sentence"),
    "MLT": ("W", "T", "mean length of T-unit"),
    "MLC": ("W", "C", "mean length of clause"),
    "C/S": ("C", "S", "clauses per sentence"),
    "VP/T": ("VP", "T", "verb phrases per T-unit"),
    "C/T": ("C", "T", "clauses per T-unit"),
    "DC/C": ("DC", "C", "dependent clauses per clause"),
    "DC/T": ("DC", "T", "dependent clauses per T-unit"),
    "T/S": ("T", "S", "T-units per sentence"),
    "CT/T": ("CT", "T", "complex T-units per T-unit"),
    "CP/T": ("CP", "T", "coordinate phrases per T-unit"),
    "CP/C": ("CP", "C", "coordinate phrases per clause"),
    "CN/T": ("CN", "T", "complex nominals per T-unit"),
    "CN/C": ("CN", "C", "complex nominals per clause"),
}
"""Abbreviation of a ratio -> the counts above and below the line, and its name."""

_BATCH_SIZE = 1000
_CLAUSE = (
    "S|SINV|SQ [> ROOT <, (VP <# VB) | <# MD|VBZ|VBP|VBD | < (VP [<# MD|VBP|VBZ|VBD | < CC < (VP <# MD|VBP|VBZ|VBD)])]"
)
_T_UNIT = "S|SBARQ|SINV|SQ > ROOT | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]"
_DEPENDENT = f"SBAR < ({_CLAUSE})"
L2SCA_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "VP": ("VP > S|SINV|SQ", "MD|VBZ|VBP|VBD > (SQ !< VP)"),
    "C": (_CLAUSE, f"FRAG > ROOT !<< ({_CLAUSE})"),
    "T": (_T_UNIT, f"FRAG > ROOT !<< ({_T_UNIT})"),
    "DC": (_DEPENDENT,),
    "CT": (f"S|SBARQ|SINV|SQ [> ROOT | [$-- S|SBARQ|SINV|SQ !>> SBAR|VP]] << ({_DEPENDENT})",),
    "CP": ("ADJP|ADVP|NP|VP < CC",),
    "CN": (
        "NP !> NP [<< JJ|POS|PP|S|VBG | << (NP $++ NP !$+ CC)]",
        "SBAR [<# WHNP | <# (IN < That|that|For|for) | <, S] & [$+ VP | > VP]",
        "S < (VP <# VBG|TO) $+ VP",
    ),
}
"""The published patterns: structure -> patterns whose matches are added up. ROOT matches every root."""


@dataclass(frozen=True, repr=False)
class SyntaxMeasures:
    """Counts of structures in a text, and the ratios between them. The sum of two has the counts of both texts.

    The fields are the counts. `measures["MLT"]` returns a count or ratio by its abbreviation (see STRUCTURES and
    RATIOS); a ratio whose denominator is 0 is None. `str()` is a table.
    """

    words: int = 0
    sentences: int = 0
    verb_phrases: int = 0
    clauses: int = 0
    t_units: int = 0
    dependent_clauses: int = 0
    complex_t_units: int = 0
    coordinate_phrases: int = 0
    complex_nominals: int = 0

    def __getitem__(self, name: str) -> int | float | None:
        if name in STRUCTURES:
            return self.counts[name]
        if name not in RATIOS:
            raise KeyError(f"{name!r} is no measure; the measures are {', '.join((*STRUCTURES, *RATIOS))}")
        above, below, _ = RATIOS[name]
        counts = self.counts
        return counts[above] / counts[below] if counts[below] else None

    def __add__(self, other: SyntaxMeasures) -> SyntaxMeasures:
        if not isinstance(other, SyntaxMeasures):
            return NotImplemented
        return SyntaxMeasures(*(a + b for a, b in zip(self.counts.values(), other.counts.values(), strict=True)))

    @property
    def counts(self) -> dict[str, int]:
        """Abbreviation -> count."""
        values = (getattr(self, field.name) for field in fields(self))
        return dict(zip(STRUCTURES, values, strict=True))

    def to_dict(self) -> dict[str, int | float | None]:
        """All counts and ratios by abbreviation, in the order of L2SCA's output."""
        return {name: self[name] for name in (*STRUCTURES, *RATIOS)}

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Abbreviation, value and name of each measure."""
        for name, value in self.to_dict().items():
            described = STRUCTURES[name] if name in STRUCTURES else RATIOS[name][2]
            yield name, format_measure(value), described

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {count}" for name, count in self.counts.items())
        return f"<SyntaxMeasures: {counts}>"

    def __str__(self) -> str:
        return "\n".join(f"{name:<5}{value:>9}  {described}" for name, value, described in self._rows())

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th>{escape(name)}</th><td style="text-align:right">{value}</td>'
            f'<td style="text-align:left">{described}</td></tr>'
            for name, value, described in self._rows()
        )
        return f"<table>{rows}</table>"


def format_measure(value: int | float | None) -> str:
    """A measure as text: four decimals for a ratio, - for none."""
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def measure_trees(trees: Iterable[Tree], counting: str = "definitions", rules: HeadRules = COLLINS) -> SyntaxMeasures:
    """Count the structures in trees, one per sentence, and return the measures. Empty elements and function tags do not
    count.

    `counting`: one of COUNTING. `rules`: head rules, which only the patterns need. Raises ConfigError for another way
    to count.
    """
    if counting not in COUNTING:
        raise ConfigError(f"counting={counting!r}; allowed are {', '.join(map(repr, COUNTING))}")
    total = SyntaxMeasures()
    rest = (strip_empty(tree) for tree in trees if {*tree.tags} != {EMPTY_TAG})
    while batch := list(islice(rest, _BATCH_SIZE)):
        total += _count_patterns(batch, rules) if counting == "l2sca" else _count_structures(batch)
    return total


def _count_structures(trees: Iterable[Tree]) -> SyntaxMeasures:
    counts = dict.fromkeys(STRUCTURES, 0)
    for tree in trees:
        for name, spans in find_structures(tree).items():
            counts[name] += len(spans)
    return SyntaxMeasures(*counts.values())


@cache
def _compile_patterns() -> dict[str, tuple[Pattern, ...]]:
    return {name: tuple(map(compile_pattern, patterns)) for name, patterns in L2SCA_PATTERNS.items()}


def _count_patterns(trees: list[Tree], rules: HeadRules) -> SyntaxMeasures:
    """Count as L2SCA does: a node once per pattern; a word is a token whose tag begins with a letter."""
    forest = Forest(trees, rules)
    words = sum(tag[:1].isalpha() for tree in trees for tag in tree.tags)
    counts = {"W": words, "S": len(trees)}
    for name, patterns in _compile_patterns().items():
        counts[name] = sum(len(pattern.nodes(forest)) for pattern in patterns)
    return SyntaxMeasures(*(counts[name] for name in STRUCTURES))
