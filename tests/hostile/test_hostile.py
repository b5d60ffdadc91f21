"""Five hundred hostile model files of all kinds: each is refused with a message, or parses. Greedy ones need little
time and memory."""

from __future__ import annotations

import time
from functools import partial

import pytest

from spacy_dtparse.core.registry import KINDS, parser_from_bytes
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.model_io.container import container_kind

from .bases import bases
from .greedy import REFUSED_AT_ONCE, greedy
from .trying import FAULT, OTHER, REFUSED, SAME
from .workers import MEGABYTES, SECONDS, measured, run


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


@pytest.mark.slow
def test_greedy_files_take_little() -> None:
    for name, data in greedy().items():
        assert len(data) < 3_000_000, name
        began, read = time.process_time(), partial(parser_from_bytes, data, KINDS[container_kind(data)].builds)
        if name in REFUSED_AT_ONCE:
            with pytest.raises(ModelFormatError):
                read()
            assert time.process_time() - began < 1, name
        else:
            _, megabytes = measured(read)
            assert time.process_time() - began < SECONDS and megabytes < MEGABYTES, name
