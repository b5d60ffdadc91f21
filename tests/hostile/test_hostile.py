"""Hostile model files, five hundred of all kinds: each is refused in words, or parses."""

from __future__ import annotations

import pytest

from .bases import bases
from .trying import FAULT, OTHER, REFUSED, SAME
from .workers import run


@pytest.mark.slow
def test_hostile_files_end_in_errors_or_trees() -> None:
    found = bases()
    names = sorted(found)
    outcomes = list(run(found, 1, [(names[number % len(names)], number) for number in range(500)]))
    assert len(outcomes) == 500
    faults = [f"{name} {number}: {outcome}" for (name, number), outcome in outcomes if outcome.what == FAULT]
    assert not faults, "\n".join(faults)
    ends = {what: sum(outcome.what == what for _, outcome in outcomes) for what in (REFUSED, SAME, OTHER)}
    assert ends[REFUSED] > 250 and ends[SAME] > 10 and ends[OTHER] > 0, ends
