"""Compile head rules to the arrays of `trees.kernels`, and convert the trees of a text to dependencies."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..dtypes import INDEX
from ..symbols import IdMap, Memo, SymbolTable
from .heads import CANDIDATE, HeadRules, resort_is_right
from .kernels import (
    EXCLUDED,
    FIRST,
    LAST,
    LEFT,
    NODE_COLUMNS,
    RIGHT,
    HeadTable,
    LinkScratch,
    TokenLinks,
    link_sentences,
)
from .labels import base_label
from .tree import TOP

_OTHER = "\0"
"""Represents all symbols that rules do not name."""
_ROOT, _NONE = -1, -2
"""Dependency codes of a root, and of a token that is in no tree."""


def compile_head_rules(rules: HeadRules, symbols: SymbolTable) -> HeadTable:
    """Compile `rules` over `symbols`, the labels and tags of children; function tags of symbols are ignored.

    Importing this module imports numba.
    """
    n = len(symbols)
    bases = [base_label(symbol) for symbol in symbols]
    labels = [None, CANDIDATE, *sorted(rules.rules)]  # None: the default rule
    rule_of_label = {label: r for r, label in enumerate(labels)}
    scans: list[list[int]] = []  # each: its direction, then the ranks of all symbols
    first_scan = [0]

    def add(direction: int, wanted: Mapping[str, int], other: int) -> None:
        scans.append([direction, *(wanted.get(base, other) for base in bases), other])

    for label in labels:
        rule = rules.default if label is None else rules.rule(label)
        for mode, names in rule:
            ranks = {name: rank for rank, name in reversed([*enumerate(names)])}  # a label's first rank counts
            direction = {"left": LEFT, "right": RIGHT, "first": FIRST, "last": LAST}[mode.removesuffix("-any")]
            add(direction, dict.fromkeys(ranks, 0) if mode.endswith("-any") else ranks, EXCLUDED)
        add(RIGHT if resort_is_right(rule) else LEFT, dict.fromkeys(rules.punctuation, 1), 0)
        first_scan.append(len(scans))

    coordinated = [int(label is None or label not in rules.no_coordination) for label in labels]
    rule_of_symbol = [rule_of_label.get(base, 0) if base != CANDIDATE else 0 for base in bases]
    # A label without a rule that is excluded from coordination needs a copy of the default rule with that flag.
    for label in sorted(rules.no_coordination - set(rules.rules)):
        scans += scans[: first_scan[1]]
        first_scan.append(len(scans))
        coordinated.append(0)
        rule_of_symbol = [
            len(coordinated) - 1 if base == label else r for base, r in zip(bases, rule_of_symbol, strict=True)
        ]
    symbol = np.zeros((n + 1, 3), dtype=INDEX)
    symbol[:, 0] = [*rule_of_symbol, rule_of_label[CANDIDATE]]
    symbol[:n, 1] = [base in rules.conjunctions for base in bases]
    symbol[:n, 2] = [base in rules.punctuation for base in bases]
    return HeadTable(
        symbol=symbol,
        rule=np.array([first_scan, [*coordinated, 0]], dtype=INDEX).T.copy(),
        scan=np.array(scans, dtype=INDEX),
    )


class TextGuide:
    """Computes `tree_guide` for the trees of all sentences of a text at once, by `rules`."""

    def __init__(self, rules: HeadRules):
        self.rules = rules
        names = {*rules.rules, *rules.conjunctions, *rules.no_coordination, *rules.punctuation}
        for rule in (*rules.rules.values(), rules.default, rules.candidate):
            names.update(*(labels for _, labels in rule))
        self._symbols = SymbolTable([_OTHER, *sorted(names - {_OTHER})])
        self._table = compile_head_rules(rules, self._symbols)
        self._symbol_of = Memo(self._symbol)

    def _symbol(self, name: str) -> tuple[int, int]:
        """Return the symbols that represent a label or tag as a child and as a constituent."""
        symbol = self._symbols.id_of(base_label(name), 0)
        return symbol, -1 if name == CANDIDATE else symbol

    def links(
        self,
        starts: np.ndarray,
        ends: np.ndarray,
        labels: np.ndarray,
        names: Sequence[str],
        tags: Sequence[str],
        bounds: Sequence[tuple[int, int]],
        visible: np.ndarray,
    ) -> tuple[list[int], list[str]] | None:
        """Return the heads and labels of `tree_guide` for each of N tokens; 0 and "" for tokens that are not visible.
        Heads are indices into the visible tokens of the sentence.

        `starts`, `ends`, `labels`: int64 (M,) each, the token spans of constituents in pre-order and their indices in
        `names`. `tags`: of all tokens. `bounds`: the sentences, half-open. `visible`: bool (N,), the tokens of the
        trees. Returns None if the constituents do not form trees of these sentences; see `link_sentences`.
        """
        m, n = len(starts), len(tags)
        name_ids: IdMap[str] = IdMap((TOP,))
        ids_of_names = np.array([name_ids[name] for name in names], INDEX)
        tag_ids = np.fromiter(map(name_ids.__getitem__, tags), INDEX, n)
        spans = np.empty((m, 3), INDEX)
        spans[:, 0], spans[:, 1] = starts, ends
        spans[:, 2] = ids_of_names[labels] if m else 0
        heads, links = np.zeros(n, INDEX), np.full(n, _NONE, np.int64)
        symbols = np.array(list(map(self._symbol_of.__getitem__, name_ids)), INDEX)
        sentences = np.array(bounds, INDEX).reshape(-1, 2)
        scratch = LinkScratch(np.empty((m + 1, NODE_COLUMNS), INDEX), np.empty((n, 2), INDEX), np.empty(n, INDEX))
        found = TokenLinks(heads, links)
        if not link_sentences(self._table, symbols, spans, tag_ids, sentences, visible, scratch, found):
            return None
        known = list(name_ids)

        def text(link: int) -> str:
            below, above = divmod(link, len(known))
            return f"{known[below]}<{known[above]}" if link >= 0 else "root" if link == _ROOT else ""

        return heads.tolist(), list(map(Memo(text).__getitem__, links.tolist()))
