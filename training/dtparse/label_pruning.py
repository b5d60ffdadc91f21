"""Span marginals of training trees, and the labels that they leave to a window.

A window is a run of adjacent frontier items considered as the children of one inference."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from spacy_dtparse.core.marginals import SpanMarginals
from spacy_dtparse.dtparse.features.lexicon import Lexicon
from spacy_dtparse.dtparse.kernels.marginals import LIMITS
from spacy_dtparse.dtparse.kernels.pruning import AFTER, CERTAIN, LEVELS, LIKELY, MAIN, NAMED, PASSED
from spacy_dtparse.dtparse.kernels.spines import MAX_LABELS
from spacy_dtparse.dtypes import BITS
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import TOP, Tree

MIN_FRACTION = 5e-4
"""A window keeps a label if this fraction of the correct windows with its chain have it, or if the chain names it."""
MIN_COUNT = 2
MAIN_FRACTION, MIN_WINDOWS = 0.1, 20
"""The main labels of a chain: at least the first fraction of its correct windows, at least `MIN_WINDOWS`, have them."""
MIN_CONFIDENCE, MIN_ACCURACY = 0.9, 0.96
"""The span model's decision for a chain is final if it is right in at least the fraction `MIN_ACCURACY` of the training
spans, at least `MIN_WINDOWS`, to which it gives a probability of at least `MIN_CONFIDENCE`."""


def complete_marginals(
    span_parser: SpanParser, trees: Sequence[Tree], known: Sequence[SpanMarginals | None]
) -> list[SpanMarginals]:
    """The span marginals of each tree's sentence: the `known` ones, the others computed by the span model."""
    missing = [k for k, marginals in enumerate(known) if marginals is None]
    computed = dict(
        zip(missing, span_parser.marginals([(trees[k].words, trees[k].tags) for k in missing]), strict=True)
    )
    return [computed[k] if marginals is None else marginals for k, marginals in enumerate(known)]


def label_table(lexicon: Lexicon, trees: Sequence[Tree], marginals: Sequence[SpanMarginals]) -> np.ndarray:
    """The labels that span marginals leave to a window, as bits, uint64 (2, LEVELS, chains + 1); see
    `dtparse.kernels.pruning`.

    For a chain at a level: the labels that correct windows of these trees have, and the labels that the chain names. If
    the most probable chain is not certain, the second one adds the labels that it names, and the labels of correct
    windows that the most probable one rules out. NAMED and PASSED are set where these trees confirm the span model.
    Raises TrainingDataError for more labels than there are bits.
    """
    if len(lexicon.labels) > MAX_LABELS:
        raise TrainingDataError(
            f"the trees have {len(lexicon.labels)} labels; with a span model at most {MAX_LABELS} are allowed: train "
            "without one"
        )
    seen: Counter[tuple[int, int, int, str]] = Counter()
    second: Counter[tuple[int, int, int, int, str]] = Counter()
    for tree, of_tree in zip(trees, marginals, strict=True):
        bins = np.searchsorted(LIMITS, of_tree.chain_probs[:, 0], side="right")
        levels = (bins >= LIKELY).astype(int) + (bins >= CERTAIN)
        rows = {
            (i, j): (level, *pair)
            for (i, j), level, pair in zip(
                of_tree.spans.tolist(), levels.tolist(), of_tree.chains.tolist(), strict=True
            )
        }
        children = tree.child_lists()
        for node, (start, end, label) in enumerate(tree.spans()):
            row = rows.get((start, end))
            if row is not None and label != TOP:
                unary = int(len(children[node]) == 1 and children[node][0] >= 0)
                seen[unary, row[0], row[1], label] += 1
                if row[0] < 2:
                    second[(unary, *row, label)] += 1
    table = np.zeros((2, LEVELS, len(lexicon.chains) + 1), dtype=BITS)
    for chain, name in enumerate(lexicon.chains):
        for label in name.split():
            if label in lexicon.labels:
                table[:, :NAMED, chain] |= BITS(1) << BITS(lexicon.labels.id_of(label))
    totals: Counter[tuple[int, int, int]] = Counter()
    for (unary, level, chain, _), times in seen.items():
        totals[unary, level, chain] += times
    for (unary, level, chain, label), times in seen.items():
        if times >= max(MIN_COUNT, MIN_FRACTION * totals[unary, level, chain]):
            table[unary, level, chain] |= BITS(1) << BITS(lexicon.labels.id_of(label))
    missing: Counter[tuple[int, int, str]] = Counter()
    for (unary, level, chain, after, label), times in second.items():
        if not table[unary, level, chain] >> BITS(lexicon.labels.id_of(label)) & BITS(1):
            missing[unary, after, label] += times
    for (unary, after, label), times in missing.items():
        if times >= MIN_COUNT:
            table[unary, AFTER, after] |= BITS(1) << BITS(lexicon.labels.id_of(label))
    _add_main_labels(lexicon, seen, totals, table)
    _add_confident_chains(lexicon, trees, marginals, table)
    return table


def _add_main_labels(
    lexicon: Lexicon,
    seen: Mapping[tuple[int, int, int, str], int],
    totals: Mapping[tuple[int, int, int], int],
    table: np.ndarray,
) -> None:
    """Fill the row MAIN: the labels of at least `MAIN_FRACTION` of the correct windows with a chain that is likely or
    certain; if there are few such windows, the labels that the chain names."""
    for unary in range(2):
        for chain in range(len(lexicon.chains)):
            total = totals.get((unary, 1, chain), 0) + totals.get((unary, 2, chain), 0)
            if total < MIN_WINDOWS:
                continue
            table[unary, MAIN, chain] = 0
            for label in lexicon.labels:
                times = seen.get((unary, 1, chain, label), 0) + seen.get((unary, 2, chain, label), 0)
                if times >= MAIN_FRACTION * total:
                    table[unary, MAIN, chain] |= BITS(1) << BITS(lexicon.labels.id_of(label))


def _add_confident_chains(
    lexicon: Lexicon, trees: Sequence[Tree], marginals: Sequence[SpanMarginals], table: np.ndarray
) -> None:
    """Fill the rows NAMED and PASSED: the chains for which these trees confirm that the span model, where it is
    confident, predicts the right labels, or rightly predicts that there is no constituent."""
    tried = np.zeros((2, len(lexicon.chains) + 1))
    correct = np.zeros_like(tried)
    named = [list(dict.fromkeys(reversed(name.split()))) for name in lexicon.chains]
    for tree, of_tree in zip(trees, marginals, strict=True):
        labels_at: dict[tuple[int, int], set[str]] = {}
        for start, end, label in tree.spans():
            if label != TOP:
                labels_at.setdefault((start, end), set()).add(label)
        confident = of_tree.chain_probs[:, 0] >= MIN_CONFIDENCE
        for row in np.flatnonzero(confident | (of_tree.span_probs <= 1.0 - MIN_CONFIDENCE)).tolist():
            start, end = of_tree.spans[row].tolist()
            found, chain, kind = labels_at.get((start, end), set()), of_tree.chains[row, 0], 0 if confident[row] else 1
            tried[kind, chain] += 1
            correct[kind, chain] += found == (set(named[chain]) if confident[row] else set())
    confirmed = (tried >= MIN_WINDOWS) & (correct >= MIN_ACCURACY * tried)
    for chain, labels in enumerate(named):
        table[0, PASSED, chain] = confirmed[1, chain]
        if confirmed[0, chain] and len(labels) <= 2 and all(label in lexicon.labels for label in labels):
            for unary, label in enumerate(labels):
                table[unary, NAMED, chain] = BITS(1) << BITS(lexicon.labels.id_of(label))
