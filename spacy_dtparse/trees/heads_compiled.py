"""Head rules compiled to the arrays of the kernel `kernels.trees.heads.head_position`."""

from collections.abc import Mapping

import numpy as np

from ..dtypes import INDEX
from ..kernels.trees.heads import FIRST, LAST, LEFT, NOT_WANTED, RIGHT, HeadTable
from ..symbols import SymbolTable
from .heads import CANDIDATE, HeadRules, resort_is_right
from .labels import base_label


def compile_head_rules(rules: HeadRules, symbols: SymbolTable) -> HeadTable:
    """`rules` over `symbols`, which hold the labels and tags of children; function tags of symbols do not count.

    Importing this module imports numba.
    """
    n = len(symbols)
    bases = [base_label(symbol) for symbol in symbols]
    labels = [None, CANDIDATE, *sorted(rules.rules)]  # None: the default rule
    number = {label: r for r, label in enumerate(labels)}
    scans: list[list[int]] = []  # the direction of each, and the ranks of all symbols
    first_scan = [0]

    def add(direction: int, wanted: Mapping[str, int], other: int) -> None:
        scans.append([direction, *(wanted.get(base, other) for base in bases), other])

    for label in labels:
        rule = rules.default if label is None else rules.rule(label)
        for mode, names in rule:
            ranks = {name: place for place, name in reversed([*enumerate(names)])}  # a label's first place counts
            direction = {"left": LEFT, "right": RIGHT, "first": FIRST, "last": LAST}[mode.removesuffix("-any")]
            add(direction, dict.fromkeys(ranks, 0) if mode.endswith("-any") else ranks, NOT_WANTED)
        add(RIGHT if resort_is_right(rule) else LEFT, dict.fromkeys(rules.punctuation, 1), 0)
        first_scan.append(len(scans))

    coordinated = [int(label is None or label not in rules.no_coordination) for label in labels]
    own_rule = [number.get(base, 0) if base != CANDIDATE else 0 for base in bases]
    # A label without a rule of its own that is excluded from coordination needs a rule with that flag.
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
