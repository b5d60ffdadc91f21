"""Train the window filter (see `kernels.window_filter`): logistic regression on the windows of gold derivations.

A window is a run of adjacent frontier items considered as the children of one inference."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from spacy_dtparse.dtparse.kernels.features import TAG, ParseState
from spacy_dtparse.dtparse.kernels.marginals import count_tokens
from spacy_dtparse.dtparse.kernels.replay import right_label, state_buffers
from spacy_dtparse.dtparse.kernels.state import SHIFT_REDUCE, Grammar, infer, list_windows, start_sentence
from spacy_dtparse.dtparse.kernels.window_filter import N_KEYS, UNIT, window_keys
from spacy_dtparse.dtparse.model.model import DtreeModel
from spacy_dtparse.dtparse.model.window_filter import EVERYTHING, WindowFilter, held_out_margins
from spacy_dtparse.dtypes import INDEX, OFFSET
from spacy_dtparse.jit.decorator import noalloc_kernel
from spacy_dtparse.trees import Recipe
from spacy_dtparse.trees.kernels import HeadTable

from ..data.corpus import Sentence, training_tree
from .examples import Derivation, gold_derivation

EPOCHS = 4
RATE = 0.1
"""Learning rate of AdaGrad; with 0.05 the dev loss was the same after more epochs."""
MIN_SEEN = 3
"""Entries seen fewer times per epoch in training are set to 0: they carry no information, and zeros need no space in a
file."""
STEP = 8
"""Weights are rounded to multiples of this many units (1/32 nat), for a smaller file."""

HOLD_OUT = 10
"""One in this many derivations is held out to measure the loss of a margin."""

LOSSES = (0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05)
"""Fractions of correct windows lost; the window filter stores the minimum margin of each."""

_MAX_STEPS = 32 * UNIT // STEP
"""Number of margin steps counted on either side of 0: 32 nats."""
_MIN_GRADIENT = 1e-4


class FilterLearner(NamedTuple):
    """A window filter during training, and what was counted.

    `weight`, `squares` float32 (entries,), a power of two of them: weights in nats, and AdaGrad's sums of squared
    gradients; `seen` uint8 (entries,): visits, up to 255. `margins` int64: see `_margin_counts`. `sums` float64 (2,):
    log loss and windows.
    """

    weight: np.ndarray
    squares: np.ndarray
    seen: np.ndarray
    margins: np.ndarray
    sums: np.ndarray


@noalloc_kernel
def _visit(grammar, heads, tokens, actions, ready, buffers, children, learner, rate, importance):
    """Visit the windows of one derivation, of as many tokens as `buffers.tags`, and update the weights, or (rate = 0)
    count their margins."""
    weight, squares, seen, margins, sums = learner
    nodes, frontier, windows, keys = buffers.nodes, buffers.frontier, buffers.windows, buffers.window_keys
    n = np.int64(buffers.tags.shape[0])
    mask = np.uint64(weight.shape[0] - 1)
    start_sentence(tokens, n, buffers.tags, nodes, frontier)
    low, size = np.int64(0), n
    cursor = n if grammar.options[0] == SHIFT_REDUCE else np.int64(0)
    n_labels = np.int64(grammar.options[3])
    for step in range(actions.shape[0]):
        gold_i, gold_j, gold = np.int64(actions[step, 0]), np.int64(actions[step, 1]), np.int64(actions[step, 2])
        state = ParseState(tokens, n, nodes, frontier, low, cursor, size)
        n_windows = list_windows(grammar, state, windows)
        for w in range(n_windows):
            i, j = np.int64(windows.i[w]), np.int64(windows.j[w])
            right = 1 if gold_i == i and gold_j == j and gold < n_labels else 0
            if right == 0 and ready.shape[0] > 0 and right_label(nodes, frontier, actions, ready, step, i, j) >= 0:
                right = 1
            window_keys(state, i, j, mask, keys)
            margin = 0.0
            for k in range(N_KEYS):
                margin += weight[keys[k]]
            p = 1.0 / (1.0 + math.exp(-margin)) if margin > -30.0 else 0.0
            sums[0] -= math.log(max(p if right == 1 else 1.0 - p, 1e-12))
            sums[1] += 1.0
            if rate > 0.0:
                gradient = (p - right) * importance
                for k in range(N_KEYS):
                    key = keys[k]
                    if seen[key] < 255:
                        seen[key] += np.uint8(1)
                    if abs(gradient) > _MIN_GRADIENT:
                        squares[key] += gradient * gradient
                        weight[key] -= rate * gradient / math.sqrt(squares[key])
            else:
                at = np.int64(math.floor(margin * (UNIT / STEP) + 0.5)) + _MAX_STEPS
                margins[right, min(max(at, 0), margins.shape[1] - 1)] += 1
        low, cursor, size = infer(grammar, heads, state, gold_i, gold_j, gold, children)


def _visit_all(
    grammar: Grammar, heads: HeadTable, derivations: Sequence[Derivation], learner: FilterLearner, rate: float
) -> None:
    """Call `_visit` on each derivation."""
    n = max((count_tokens(d.tokens) for d in derivations), default=1)
    capacity = n + max((len(d.actions) for d in derivations), default=1)
    buffers, children = state_buffers(grammar, n, capacity), np.zeros(1024, dtype=INDEX)
    for d in derivations:
        tags = np.ascontiguousarray(d.tokens[: count_tokens(d.tokens), TAG])
        here = buffers._replace(tags=tags)
        _visit(grammar, heads, d.tokens, d.actions, d.ready, here, children, learner, rate, d.weight)


def train_window_filter(
    grammar: Grammar,
    heads: HeadTable,
    derivations: Sequence[Derivation],
    bits: int,
    seed: int = 0,
    log: Callable[..., Any] = lambda *_, **__: None,
) -> WindowFilter:
    """Train a window filter of 2 ** bits weights, by AdaGrad on the log loss of all windows.

    First a tenth of the derivations is held out, to measure how many of their correct windows each margin loses; then
    the filter is trained on all of them. With fewer than HOLD_OUT derivations the filter is empty. `log` is called with
    epoch and loss (nats per window). The same input and seed give the same bits.
    """
    if len(derivations) < HOLD_OUT:
        return WindowFilter()
    training = [d for n, d in enumerate(derivations) if n % HOLD_OUT]
    weights = _train_weights(grammar, heads, training, bits, seed)
    counts = _margin_counts(grammar, heads, derivations[::HOLD_OUT], weights)
    margins = held_out_margins(np.repeat((np.arange(counts.shape[1]) - _MAX_STEPS) * STEP, counts[1]), LOSSES)
    return WindowFilter(_train_weights(grammar, heads, derivations, bits, seed, log), LOSSES, margins)


def _train_weights(
    grammar: Grammar,
    heads: HeadTable,
    derivations: Sequence[Derivation],
    bits: int,
    seed: int,
    log: Callable[..., Any] = lambda *_, **__: None,
) -> np.ndarray:
    """Train the weights; int16 (2 ** bits,), in multiples of STEP units."""
    entries = 1 << bits
    weight, squares = np.zeros(entries, dtype=np.float32), np.ones(entries, dtype=np.float32)
    seen = np.zeros(entries, dtype=np.uint8)
    margins, rng = np.zeros((2, 1), dtype=OFFSET), np.random.default_rng(seed)
    for epoch in range(EPOCHS):
        order = [derivations[n] for n in rng.permutation(len(derivations))]
        sums = np.zeros(2)
        _visit_all(grammar, heads, order, FilterLearner(weight, squares, seen, margins, sums), RATE)
        log("gate", epoch=epoch + 1, loss=float(sums[0] / max(sums[1], 1.0)), windows=int(sums[1]))
    weight[seen < EPOCHS * MIN_SEEN] = 0.0
    units = np.rint(weight.astype(np.float64) * (UNIT / STEP)) * STEP
    return np.clip(units, -(2**15) + STEP, 2**15 - STEP).astype(np.int16)


def _margin_counts(
    grammar: Grammar, heads: HeadTable, derivations: Sequence[Derivation], weights: np.ndarray
) -> np.ndarray:
    """int64 (2, 2 * _MOST): numbers of wrong and correct windows by margin, in steps of STEP units from
    -`_MAX_STEPS`."""
    margins, unused = np.zeros((2, 2 * _MAX_STEPS), dtype=OFFSET), np.zeros(1, dtype=np.float32)
    nats, seen = (weights / UNIT).astype(np.float32), np.zeros(1, dtype=np.uint8)
    _visit_all(grammar, heads, derivations, FilterLearner(nats, unused, seen, margins, np.zeros(2)), 0.0)
    return margins


def filter_losses(
    grammar: Grammar, heads: HeadTable, derivations: Sequence[Derivation], window_filter: WindowFilter
) -> dict[float, dict[str, float]]:
    """For each fraction that the filter can lose: its minimum margin in nats, the fraction of correct windows lost in
    these derivations, and the fraction of all windows that are scored."""
    counts = _margin_counts(grammar, heads, derivations, window_filter.weights)
    found = {}
    for loss in window_filter.losses:
        min_margin = window_filter.min_margin(loss)
        at = min(max(min_margin // STEP + _MAX_STEPS, 0), 2 * _MAX_STEPS)
        found[loss] = {
            "margin": -math.inf if min_margin == EVERYTHING else min_margin / UNIT,
            "lost": int(counts[1, :at].sum()) / max(int(counts[1].sum()), 1),
            "scored": int(counts[:, at:].sum()) / max(int(counts.sum()), 1),
        }
    return found


def derivations_of(model: DtreeModel, sentences: Sequence[Sentence]) -> tuple[list[Derivation], int]:
    """The gold derivations of a model's strategy, and the number of trees left out because the model lacks a label."""
    recipe, labels = Recipe(model.recipe), model.lexicon.labels
    out = []
    for i, sentence in enumerate(sentences):
        tree = training_tree(sentence, recipe)
        if all(label in labels for label in tree.labels):
            out.append(gold_derivation(tree, model.lexicon, model.strategy, i, weight=sentence.weight))
    return out, len(sentences) - len(out)
