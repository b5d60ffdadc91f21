"""Readable rules of a model, and the rules that fired for a constituent.

A label's score is a sum over its rules; each is a conjunction of atoms that must be present and atoms that must be
absent.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import DtparseError
from .model import DtreeModel
from .reasons import reasons, rule_book
from .rules import Rule


def label_rules(model: DtreeModel, label: str) -> list[Rule]:
    """Return the rules of `label` (or of `*shift*`), the largest |value| first; equal conjunctions in several trees are
    merged. Raises ConfigError for a label that the model does not have."""
    book = rule_book(model)
    return list(book.rules(np.ones(len(book.units), dtype=np.bool_), book.label_id(label)))


def explain(parser: Any, words: Sequence[str], tags: Sequence[str], constituent: int) -> list[Rule]:
    """Return the rules that fired for one constituent of `parser.parse(words, tags).tree`, the largest |value| first.

    `parser`: a `DtreeParser`. The values add up, exactly, to the score h of the inference that built the constituent.
    Its cost, `scores[constituent]` of the parse, is ln(1 + e^-h), plus, with a span model, that model's cost of the
    constituent and its label; only the latter if the span model allows no other inference, or if its probability
    reaches the setting `commit_threshold`. The list is empty if no rule fired (h = 0). Raises DtparseError for a
    constituent that is not in the tree or that no inference built.
    """
    spans = list(parser.parse(words, tags).tree.spans())
    m = len(spans)
    if not 0 <= constituent < m:
        raise DtparseError(f"there is no constituent {constituent}; this parse has constituents 0 to {m - 1}")
    found = reasons(parser, parser.encode_sentence(words, tags), only=spans[constituent])
    if not found:
        raise DtparseError(
            f"no inference built {f'constituent {constituent}' if constituent else 'the root'} of this parse: pieces "
            "were joined, preprocessing was undone, or unattached tokens were attached (attach_unattached=False)"
        )
    return list(found[spans[constituent]].rules)


def by_source(rules: Sequence[Rule]) -> dict[str, float]:
    """Split a score by `Rule.source`: sums of the values of rules that test span marginals only, words only, both, and
    of the label's constant ("nothing"). They add up to the score."""
    sums = dict.fromkeys(("span model", "words", "both", "nothing"), 0.0)
    for rule in rules:
        sums[rule.source] += rule.value
    return sums


def describe_marginals(parser: Any, words: Sequence[str], tags: Sequence[str], start: int, end: int) -> str:
    """Describe the span model's probabilities of constituents over the tokens [start, end).

    `parser`: a `DtreeParser`; the tokens are those that its preprocessing keeps. Raises DtparseError if the model has
    no span model.
    """
    if parser.span_parser is None:
        raise DtparseError("this model has no span model; its trees use words and tags only")
    marginals = parser.span_parser.marginals([(words, tags)])[0]
    row = next((k for k, span in enumerate(marginals.spans.tolist()) if span == [start, end]), None)
    prefix = f"the span model gives [{start}, {end})"
    if row is None:
        return f"{prefix} no constituent"
    names, parts = parser.span_parser.chain_names, []
    for chain, prob in zip(marginals.chains[row].tolist(), marginals.chain_probs[row].tolist(), strict=True):
        if chain >= 0 and prob >= _MIN_PROB:
            parts.append(f"{names[chain]} {prob:.2f}")
    none = 1 - float(marginals.span_probs[row])
    return f"{prefix} {', '.join([*parts, *([f'no constituent {none:.2f}'] if none >= _MIN_PROB else [])])}"


_MIN_PROB = 0.01
"""Minimum probability of the alternatives that are described."""
