"""Compliance with deadlines on adversarial sentences.

    python benchmarks/bench_deadline.py [--pipelines NAME …] [--deadlines 0.02 0.1 0.5] [--lengths 20 40 80 200 …]

The kinds of sentences and the timed code are those of `bench_time_bounds.py`, without its search. Each sentence is
parsed three times under each deadline; the result is the median of the slowest kind, as a multiple of the deadline.
`doc`: time of the component for a Doc of the same length without parsing, to read it and to write the result, which no
deadline covers. Loaded objects are excluded from Python's garbage collector, as servers do.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench_time_bounds import Timer, kinds
from common import save

REPEATS = 3


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pipelines", nargs="+", default=["en_dtparse", "en_span", "en_trees", "en_pcfgla", "en_bpm"])
    parser.add_argument("--deadlines", nargs="+", type=float, default=[0.02, 0.1, 0.5])
    parser.add_argument("--lengths", nargs="+", type=int, default=[10, 20, 40, 80, 200, 1000, 5000, 20000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    report: dict[str, Any] = {}
    for name in options.pipelines:
        timer = Timer(name)
        for deadline in options.deadlines:
            rng = random.Random(options.seed)
            made, _ = kinds(rng)
            timer.last.deadline = deadline
            timer.last.set_parser(timer.last.parser)
            began = time.perf_counter()
            timer(made["ordinary"](5))
            measuring = time.perf_counter() - began
            gc.collect()
            gc.freeze()  # otherwise a collection scans all of spaCy now and then, for 0.1 s
            timed, worst, most = timer.last.timed_parser, [], []
            for length in options.lengths:
                rows = {kind: make(length) for kind, make in made.items()}
                longest = {kind: median(timer(items) for _ in range(REPEATS)) for kind, items in rows.items()}
                slowest = max(longest, key=lambda kind: longest[kind])
                worst.append(longest[slowest] / deadline)
                timed.deadline = 0.0  # no time for parsing
                most.append(timer(rows["ordinary"], REPEATS) / deadline)
                timed.deadline = deadline
            print(f"{name}, deadline {deadline} s, measured in {measuring:.2f} s; tokens {options.lengths}")
            print("  longest, in deadlines", *(f"{one:6.2f}" for one in worst))
            print("  Doc without parsing  ", *(f"{one:6.2f}" for one in most), flush=True)
            report[f"{name} {deadline}"] = {"measuring": measuring, "worst": worst, "doc": most}
    save(options, "deadline", report)


if __name__ == "__main__":
    main()
