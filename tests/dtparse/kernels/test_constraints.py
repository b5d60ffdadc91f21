"""Constraints in the search, against their definitions, in random states of random sentences."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spacy_dtparse.dtparse.kernels import constraints as kernels
from spacy_dtparse.dtparse.kernels.constraints import ANY, no_constraints
from spacy_dtparse.dtparse.kernels.features import Windows
from spacy_dtparse.jit.decorator import callable_from_python
from tests.jit.harness import COLLINS, KERNEL_MARKS, SLOW, KernelState, sentence, small_lexicon
from tests.reference.states import STRATEGIES, Rules

pytestmark = KERNEL_MARKS
LABELS = ("NP", "VP", "S", "TOP")
TOP = len(LABELS) - 1

constrain_windows = callable_from_python(kernels.constrain_windows)
constrain_labels = callable_from_python(kernels.constrain_labels)
is_label_allowed = callable_from_python(kernels.is_label_allowed)
must_wait = callable_from_python(kernels.must_wait)


def labels_over(node) -> list[str]:
    """The labels of a reference node and of those below it over the same tokens, from top to bottom."""
    found = []
    while node.children:
        found.append(node.label)
        if len(node.children) > 1:
            break
        (node,) = node.children
    return found


def is_there(node, start, end, label) -> bool:
    names = labels_over(node) if (node.start, node.end) == (start, end) else []
    return bool(names) if label == ANY else LABELS[label] in names


def window_may_be(rows, items, i, j) -> bool:
    """Whether a window is allowed, as the module's docstring defines it."""
    start, end = items[i].start, items[j - 1].end
    for first, last, label, wanted in rows:
        if not wanted or last <= start or end <= first:
            continue
        if first <= start and end <= last:
            continue  # within it, or over it
        if not (start <= first and last <= end):
            return False  # across it
        inside = [item for item in items[i:j] if item.start < last and first < item.end]
        if len(inside) > 1 or (
            (inside[0].start, inside[0].end) == (first, last) and not is_there(inside[0], first, last, label)
        ):
            return False
    return True


def label_fits(rows, items, i, j, label) -> bool:
    """Whether a label is allowed, likewise."""
    start, end = items[i].start, items[j - 1].end
    own = [(one, wanted) for first, last, one, wanted in rows if (first, last) == (start, end)]
    if label != TOP and any(not wanted and one in (ANY, label) for one, wanted in own):
        return False
    on_top = j - i == 1 and (label == TOP or bool(items[i].children))
    missing = [one for one, wanted in own if wanted and on_top and not is_there(items[i], start, end, one)]
    return not missing or label in missing


def waits(rows, items, cursor) -> bool:
    """Whether a shift must wait for the leftmost item of the stack, likewise."""
    if cursor >= len(items):
        return False
    item = items[cursor]
    return any(
        wanted
        and first == item.start
        and (item.end < last or (item.end == last and not is_there(item, first, last, label)))
        for first, last, label, wanted in rows
    )


def some_rows(rng: random.Random, n: int, items) -> list[tuple[int, int, int, int]]:
    """Constraints that do not cross one another; half of them over items that are there."""
    rows: list[tuple[int, int, int, int]] = []
    for _ in range(rng.randint(1, 3)):
        item = rng.choice(items)
        start, end = (item.start, item.end) if rng.random() < 0.5 else sorted(rng.sample(range(n + 1), 2))
        crossed = any(a < start < b < end or start < a < end < b for a, b, _, wanted in rows if wanted)
        rows.append((start, end, rng.choice([ANY, 0, 1, 2]), int(not crossed and rng.random() < 0.7)))
    return rows


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_windows_labels_and_shifts(strategy):
    rng = random.Random(strategy)
    lexicon, met = small_lexicon(LABELS), [0] * 6
    for _ in range(100 if SLOW else 250):
        rules = Rules(strategy, LABELS, COLLINS, rng.choice([2, 3, 5]), True)
        words, tags = sentence(rng, rng.randint(1, 9))
        kernel, state = KernelState.start(rules, lexicon, words, tags), rules.start(tags)
        for _ in range(rng.randint(0, 12)):
            actions = rules.candidates(state)
            if rules.is_complete(state) or not actions:
                break
            action = rng.choice(actions)
            kernel.apply(*action)
            state = rules.apply(state, *action)
        items, windows = list(state.frontier), rules.windows(state)
        rows = some_rows(rng, len(tags), items)
        table, low = np.array(rows, np.int32), kernel.low
        i, j = (np.array([pair[k] + low for pair in windows] or [0], np.int32) for k in (0, 1))
        fits = [pair for pair in windows if window_may_be(rows, items, *pair)]
        kept_i, kept_j, no_labels = i.copy(), j.copy(), np.zeros(0, np.uint64)
        kept = Windows(kept_i, kept_j, no_labels)
        count = constrain_windows(table, kernel.nodes, kernel.frontier, kept, len(windows))
        assert count == len(fits)
        assert list(zip(kept_i[:count] - low, kept_j[:count] - low, strict=True)) == fits
        allowed = {}
        for a, b in windows:
            allowed[a, b] = [k for k in range(TOP + 1) if label_fits(rows, items, a, b, k)]
            here = table, kernel.nodes, kernel.frontier, a + low, b + low
            found = [k for k in range(TOP + 1) if is_label_allowed(*here, k, TOP)]
            assert found == allowed[a, b], (rows, a, b)
        bits = np.array([rng.randrange(1 << (TOP + 1)) for _ in windows] or [0], np.uint64)
        left = [
            (a, b, kept)
            for (a, b), own in zip(windows, bits.tolist(), strict=False)
            if (kept := own & sum(1 << k for k in allowed[a, b]))
        ]
        kept_i, kept_j = i.copy(), j.copy()
        kept = Windows(kept_i, kept_j, bits)
        count = constrain_labels(table, kernel.nodes, kernel.frontier, kept, len(windows), TOP)
        assert list(zip(kept_i[:count] - low, kept_j[:count] - low, bits[:count], strict=True)) == left
        for cursor in range(len(items) + 1):
            wait = must_wait(table, kernel.nodes, kernel.frontier, cursor + low, kernel.size)
            assert wait == waits(rows, items, cursor)
            met[wait] += 1
        met[2] += len(windows) - len(fits)
        met[3] += len(fits)
        met[4] += sum(len(own) for own in allowed.values())
        met[5] += sum(TOP + 1 - len(own) for own in allowed.values())
    assert min(met) > 5, met


def test_without_constraints_everything_is_allowed():
    rows = no_constraints()
    assert rows.shape == (0, 4)
    kernel = KernelState.start(Rules("shift_reduce", LABELS, COLLINS), small_lexicon(LABELS), ("a", "b"), ("DT", "NN"))
    assert not must_wait(rows, kernel.nodes, kernel.frontier, 0, 2)
    assert is_label_allowed(rows, kernel.nodes, kernel.frontier, 0, 2, 0, TOP)
