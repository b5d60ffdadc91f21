"""The window filter against integer arithmetic over reference states, and the filtered search against the agenda."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.features.templates import compile_templates
from spacy_dtparse.dtparse.kernels import replay, window_filter
from spacy_dtparse.dtparse.kernels.features import Windows
from spacy_dtparse.dtparse.kernels.window_filter import N_KEYS, N_VALUES
from spacy_dtparse.dtparse.model.window_filter import WindowFilter
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.jit.decorator import callable_from_python
from tests.jit.harness import (
    COLLINS,
    KERNEL_MARKS,
    SEQUENCES,
    SHIFT,
    SLOW,
    STRATEGIES,
    KernelState,
    collecting,
    gold,
    gold_trees,
    hand_made,
    sentence,
    small_lexicon,
)
from tests.reference import window_filter as reference
from tests.reference.search import agenda
from tests.reference.states import Rules, spans

pytestmark = KERNEL_MARKS
window_keys, filter_windows = (
    callable_from_python(window_filter.window_keys),
    callable_from_python(window_filter.filter_windows),
)
LABELS = ("NP", "VP", "TOP")


SHARES = {-3.0: 0.001, -0.5: 0.002, 0.0: 0.01, 1.0: 0.02, 2.5: 0.05}
"""Minimum margins in nats, and the settings for them."""


def random_filter(seed: int, bits: int = 8) -> WindowFilter:
    weights = np.random.default_rng(seed).integers(-200, 200, 1 << bits).astype(np.int16)
    return WindowFilter(weights, tuple(SHARES.values()), tuple(round(least * window_filter.UNIT) for least in SHARES))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_keys_are_those_of_the_reference(strategy):
    lexicon, rng = small_lexicon(LABELS), random.Random(5)
    rules = Rules(strategy, LABELS, hand_made(strategy).rules.heads, 3)
    keys, seen = np.zeros(N_KEYS + N_VALUES, dtype=np.int64), set()
    for n in (1, 2, 4) if SLOW else (1, 2, 4, 7, 9):
        words, tags = sentence(rng, n)
        state, kernel = rules.start(tags), KernelState.start(rules, lexicon, words, tags)
        while not rules.is_complete(state):
            for i, j in rules.windows(state):
                low = kernel.low
                window_keys(kernel.view(), i + low, j + low, np.uint64(2**16 - 1), keys)
                assert keys[:N_KEYS].tolist() == reference.keys(state, i, j, lexicon, words, tags, 2**16)
                seen.update(keys.tolist())
            choices = rules.candidates(state)
            if not choices:
                break
            action = rng.choice(choices)
            kernel.apply(*action)
            state = rules.apply(state, *action)
    assert len(seen) > 50


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_filtered_search_takes_the_steps_of_the_plain_agenda_over_the_windows_that_pass(strategy):
    fewer = statuses = 0
    for seed in range(2 if SLOW else 8):
        made, used = hand_made(strategy, LABELS, seed), random_filter(seed)
        model = replace(made.model, window_filter=used)
        rng = random.Random(seed)
        for n, budget in ((1, 50), (3, 0), (4, 60), (6, 0), (5, 200)):
            words, tags = sentence(rng, n)
            least = rng.choice(list(SHARES))
            rules = reference.FilteredRules(
                strategy,
                LABELS,
                made.rules.heads,
                made.rules.max_arity,
                made.rules.edge_punctuation,
                tuple(used.weights.tolist()),
                round(least * window_filter.UNIT),
                model.lexicon,
                tuple(words),
                tuple(tags),
            )
            found = agenda(rules, tags, made.scorer(words, tags), budget)
            settings = SearchSettings(budget=budget, shift_threshold=math.inf, window_filter=SHARES[least])
            result = DtreeParser(model, settings).parse(words, tags)
            assert (result.cost, result.status) == (found.cost, found.status)
            assert (result.n_states, result.n_scored) == (found.expanded, found.scored)
            if found.status != "fallback":
                assert result.tree.spans() == spans(found.state)
                statuses += 1
            plain = DtreeParser(model, replace(settings, window_filter=0)).parse(words, tags)
            assert plain == DtreeParser(made.model, settings).parse(words, tags)
            fewer += result.n_scored < plain.n_scored
    assert fewer > 0 and statuses > 0


def test_a_confident_window_skips_scoring_the_shift():
    """With a filter that passes every window, a window above `shift_threshold` is taken without scoring the shift."""
    rng, fewer = random.Random(2), 0
    for seed in range(4 if SLOW else 12):
        made = hand_made("shift_reduce", LABELS, seed)
        model = replace(made.model, window_filter=WindowFilter(np.full(4, 100, dtype=np.int16)))
        words, tags = sentence(rng, 5)
        all_scored = DtreeParser(model, SearchSettings(budget=0, shift_threshold=math.inf)).parse(words, tags)
        confident = DtreeParser(model, SearchSettings(budget=0, shift_threshold=1e-9)).parse(words, tags)
        assert confident.tree.words == all_scored.tree.words
        fewer += confident.n_scored < all_scored.n_scored
    assert fewer > 0


def test_which_windows_pass():
    """By hand: two tokens, all weights 1: every window sums to N_KEYS units."""
    lexicon = small_lexicon(LABELS)
    rules = Rules("r2l", LABELS, hand_made("r2l").rules.heads, 3)
    kernel = KernelState.start(rules, lexicon, ["the", "cat"], ["DT", "NN"])
    keys, weights = np.zeros(N_KEYS + N_VALUES, dtype=np.int64), np.ones(8, dtype=np.int16)
    for least, kept in ((N_KEYS, 3), (N_KEYS + 1, 0)):
        i, j = np.array([0, 0, 1], dtype=np.int32), np.array([1, 2, 2], dtype=np.int32)
        windows = Windows(i, j, np.arange(3, dtype=np.uint64))
        found = filter_windows(weights, least, kernel.view(), windows, 3, keys)
        assert found == (kept, N_KEYS)
    assert (i.tolist(), j.tolist()) == ([0, 0, 1], [1, 2, 2])


@pytest.mark.parametrize("length", [1, 3, 12])
def test_a_filter_of_another_length_is_refused(length):
    message = f"the window filter has {length} weights; it must be 0 or a power of two above 1"
    with pytest.raises(ConfigError, match=message):
        WindowFilter(np.zeros(length, dtype=np.int16))


@pytest.mark.parametrize("value", [-0.1, 1, math.inf, math.nan, True, "low"])
def test_a_setting_that_is_no_fraction_is_refused(value):
    with pytest.raises(ConfigError, match=r"'window_filter' is .*it must be a number from 0 to below 1"):
        SearchSettings(window_filter=value)


def test_training_uses_the_windows_that_are_right_or_pass():
    """A filter that passes all windows, or none; TOP's windows stay."""
    hard, lexicon, rng = callable_from_python(replay._hard_windows), small_lexicon(LABELS), random.Random(2)
    table, (atoms, _) = compile_templates(SEQUENCES, lexicon.sizes)[0], collecting(SEQUENCES, lexicon)
    met = {"right": 0, "wrong": 0}
    for n in (3, 5, 6):
        (tree,) = gold_trees(rng, lexicon, [n], 3)
        rules, example = Rules("shift_reduce", LABELS, COLLINS, 3), gold(lexicon, tree, "shift_reduce")
        kernel, no_steps = KernelState.start(rules, lexicon, tree.words, tree.tags), np.zeros((0, 3), np.int32)
        for step, (i, j, label) in enumerate(example.actions.tolist()):
            workspace, no_labels = np.zeros((2, 256), np.int32), np.zeros(0, np.uint64)
            windows = [(a + kernel.low, b + kernel.low) for a, b in kernel.windows()]
            over = {(a + kernel.low, b + kernel.low) for a, b, name in kernel.candidates() if name == "TOP"}
            right = {(i, j)} & {*windows} if label < len(LABELS) else set()
            for least, expected in ((-(2**30), windows), (2**30, [w for w in windows if w in right | over])):
                workspace[:, : len(windows)] = np.array(windows, np.int32).reshape(-1, 2).T
                extractor = replay.ExampleExtractor(
                    kernel.grammar, kernel.heads, table, atoms, np.zeros(256, np.int16), least
                )
                given, keys = Windows(*workspace, no_labels), np.zeros(N_KEYS + N_VALUES, np.int64)
                kept = hard(extractor, kernel.view(), example.actions, no_steps, step, given, len(windows), keys)
                assert list(zip(*workspace[:, :kept].tolist(), strict=True)) == expected
            met["right"] += len(right)
            met["wrong"] += len(windows) - len(right | over)
            name = LABELS[label] if label < len(LABELS) else SHIFT
            kernel.apply(i - kernel.low, j - kernel.low, name)
    assert met["right"] > 5 and met["wrong"] > 5
