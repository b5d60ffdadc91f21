"""Summary of a label's rules in a model: which groups of tests they use, and the strongest rules in plain words."""

from dataclasses import dataclass

import numpy as np

from ...dtypes import CONFIDENCE_GRID
from ...stored_names import stored_as
from ..features.wording import GROUPS, group_of, phrase
from .model import DtreeModel
from .reasons import rule_book

_MAX_CONDITIONS = 4
"""Maximum number of conditions shown of a rule; most rules have many, and most conditions are negative."""


@stored_as("label", "n_rules", "constant", "weights", "rules")
@dataclass(frozen=True)
class LabelRules:
    """Summary of the `n_rules` rules of a `label`.

    `constant`: added to every score. `weights`: the fraction of the rules' absolute values on the conditions of each
    group, the largest first. `rules`: (value, words), the strongest first.
    """

    label: str
    n_rules: int
    constant: float
    weights: tuple[tuple[str, float], ...]
    rules: tuple[tuple[float, str], ...]

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.n_rules} rules, constant {self.constant:+.2f}"]
        lines.append("  weight by group: " + ", ".join(f"{name} {fraction:.0%}" for name, fraction in self.weights))
        return "\n".join([*lines, *(f"  {value:+.2f} {words}" for value, words in self.rules)])


def label_rules(model: DtreeModel, label: str, max_rules: int = 5) -> LabelRules:
    """Summarize the rules of a label, with its `max_rules` strongest rules. Raises ConfigError for an unknown label."""
    book = rule_book(model)
    label_id = book.label_id(label)
    rule_ids = np.flatnonzero(book.label_of_rule == label_id)
    units = np.abs(book.units[rule_ids])
    sums = dict.fromkeys(GROUPS, 0.0)
    for rule, size in zip(rule_ids.tolist(), units.tolist(), strict=True):
        conditions = book.conditions(rule)
        for condition in conditions:
            tests = book.tests(condition >> 1)
            for test in tests:
                sums[group_of(test.subject)] += size / len(conditions) / len(tests)
    total = sum(sums.values()) or 1.0
    weights = sorted(((name, value / total) for name, value in sums.items() if value), key=lambda one: -one[1])
    strongest = rule_ids[np.argsort(-units, kind="stable")[:max_rules]]
    return LabelRules(
        label,
        len(rule_ids),
        int(book.bias[label_id]) * CONFIDENCE_GRID,
        tuple(weights),
        tuple((int(book.units[rule]) * CONFIDENCE_GRID, _words(model, rule)) for rule in strongest.tolist()),
    )


def _words(model: DtreeModel, rule: int) -> str:
    """Format a rule in words: the positive conditions, then the negative ones."""
    book = rule_book(model)
    conditions = sorted(book.conditions(rule), key=lambda condition: not condition & 1)
    shown = [_condition(book.tests(condition >> 1), bool(condition & 1)) for condition in conditions[:_MAX_CONDITIONS]]
    n_more = len(conditions) - len(shown)
    return "if " + ", ".join(shown) + (f", and {n_more} more condition{'s' if n_more > 1 else ''}" if n_more else "")


def _condition(tests: tuple, holds: bool) -> str:
    if len(tests) == 1:
        return phrase(tests[0], holds)
    conjunction = " and ".join(phrase(test) for test in tests)
    return conjunction if holds else f"not ({conjunction})"
