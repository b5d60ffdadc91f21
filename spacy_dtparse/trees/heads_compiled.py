"""Compile head rules to the arrays of `kernels.trees.heads`, and convert the trees of a text to dependencies."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..dtypes import INDEX
from ..kernels.trees.heads import FIRST, LAST, LEFT, NODE_COLUMNS, NOT_WANTED, RIGHT, HeadTable, link_sentences
from ..symbols import Numbered, Remembered, SymbolTable
from .heads import CANDIDATE, HeadRules, resort_is_right
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
    number = {label: r for r, label in enumerate(labels)}
    scans: list[list[int]] = []  # each: its direction, then the ranks of all symbols
    first_scan = [0]

    def add(direction: int, wanted: Mapping[str, int], other: int) -> None:
        scans.append([direction, *(wanted.get(base, other) for base in bases), other])

    for label in labels:
        rule = rules.default if label is None else rules.rule(label)
        for mode, names in rule:
            ranks = {name: place for place, name in reversed([*enumerate(names)])}  # a label's first rank counts
            direction = {"left": LEFT, "right": RIGHT, "first": FIRST, "last": LAST}[mode.removesuffix("-any")]
            add(direction, dict.fromkeys(ranks, 0) if mode.endswith("-any") else ranks, NOT_WANTED)
        add(RIGHT if resort_is_right(rule) else LEFT, dict.fromkeys(rules.punctuation, 1), 0)
        first_scan.append(len(scans))

    coordinated = [int(label is None or label not in rules.no_coordination) for label in labels]
    own_rule = [number.get(base, 0) if base != CANDIDATE else 0 for base in bases]
    # A label without a rule that is excluded from coordination needs a copy of the default rule with that flag.
    for label in sorted(rules.no_coordination - set(rules.rules)):
        scans += scans[: first_scan[1]]
        first_scan.append(len(scans))
        coordinated.append(0)
        own_rule = [len(coordinated) - 1 if base == label else r for base, r in zip(bases, own_rule, strict=True)]
    symbol = np.zeros((n + 1, 3), dtype=INDEX)
    symbol[:, 0] = [*own_rule, number[CANDIDATE]]
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
        self._symbol_of = Remembered(self._symbol)

    def _symbol(self, name: str) -> tuple[int, int]:
        """Return the symbols that represent a label or tag as a child and as a constituent."""
        symbol = self._symbols.number(base_label(name), 0)
        return symbol, -1 if name == CANDIDATE else symbol

    def links(
        self, starts: np.ndarray, ends: np.ndarray, labels: np.ndarray, names: Sequence[str], tags: Sequence[str],
        bounds: Sequence[tuple[int, int]], visible: np.ndarray,
    ) -> tuple[list[int], list[str]] | None:  # fmt: skip
        """Return the heads and labels of `tree_guide` for each of N tokens; 0 and "" for tokens that are not visible.
        Heads are indices into the visible tokens of the sentence.

        `starts`, `ends`, `labels`: int64 (M,) each, the token spans of constituents in pre-order and their indices in
        `names`. `tags`: of all tokens. `bounds`: the sentences, half-open. `visible`: bool (N,), the tokens of the
        trees. Returns None if the constituents do not form trees of these sentences; see `link_sentences`.
        """
        m, n = len(starts), len(tags)
        numbers: Numbered[str] = Numbered((TOP,))
        own = np.array([numbers[name] for name in names], INDEX)
        tag_numbers = np.fromiter(map(numbers.__getitem__, tags), INDEX, n)
        spans = np.empty((m, 3), INDEX)
        spans[:, 0], spans[:, 1] = starts, ends
        spans[:, 2] = own[labels] if m else 0
        heads, links, room = np.zeros(n, INDEX), np.full(n, _NONE, np.int64), np.empty(n, INDEX)
        if not link_sentences(
            self._table, np.array(list(map(self._symbol_of.__getitem__, numbers)), INDEX), spans, tag_numbers,
            np.array(bounds, INDEX).reshape(-1, 2), visible, np.empty((m + 1, NODE_COLUMNS), INDEX),
            np.empty((n, 2), INDEX), room, heads, links,
        ):  # fmt: skip
            return None
        known = list(numbers)

        def text(link: int) -> str:
            below, above = divmod(link, len(known))
            return f"{known[below]}<{known[above]}" if link >= 0 else "root" if link == _ROOT else ""

        return heads.tolist(), list(map(Remembered(text).__getitem__, links.tolist()))
