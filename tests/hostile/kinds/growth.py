"""Functions over deep and wide trees: eight times as many constituents take at most twenty-four times as long."""

from __future__ import annotations

import time

import spacy_dtparse as dtparse

from .. import growth
from ..cases import case

MAX_RATIO, MIN_SECONDS = 24, 0.1
"""Eight times the time is linear, 64 times quadratic; times below MIN_SECONDS are not compared."""
FUNCTIONS = (
    "constituents", "subconstituents", "children", "parent", "head", "cost", "to_tree", "to_records",
    "rows of tokens", "rows of clauses", "chunk_tags", "clauses", "clause attributes of some", "predicates",
    "noun_chunks", "ancestors of some", "path of some", "c_commands of some", "lowest_common_ancestor of all",
    "measure_syntax", "NP << NP", "NP=a <<: (S > =a)", "NP=a <<: (S < =a)", "NP=a << (VP >> =a)",
)  # fmt: skip
dtparse.register_extensions()


@case(seconds=30, megabytes=600, each=[(name, shape) for name in FUNCTIONS for shape in growth.SHAPES])
def time_per_constituent(what: tuple[str, str]) -> None:
    name, shape = what
    seconds = []
    for n in (500, 4000):
        doc, times = growth.make_doc(growth.make_tree(shape, n)), []
        for _ in range(3):
            began = time.process_time()
            growth.FUNCTIONS[name](doc)
            times.append(time.process_time() - began)
        seconds.append(min(times))
    small, large = seconds
    assert large < MIN_SECONDS or large < MAX_RATIO * small, f"{small:.3f} s, {large:.3f} s"
