"""Try hostile model files.

    python -m tests.hostile.model_files --files 50000 [--seed 0] [--kinds dtree …] [--workers 1] [--report FILE]

Each file is read and used for parsing in a worker process of limited time and memory. Prints the number of each outcome
for each base, and every FAULT; exits with 1 if there is one. With NUMBA_BOUNDSCHECK=1 kernels check bounds (give
NUMBA_CACHE_DIR a separate folder).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict

from .bases import bases
from .trying import FAULT
from .workers import MEGABYTES, SECONDS, run


def main() -> int:
    """Try files, print the outcomes, return 1 if there is a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.model_files", description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=500, help="of all kinds together")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", help="bases whose names begin so; all if not given")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit for a file")
    parser.add_argument("--megabytes", type=float, default=MEGABYTES, help="limit for what a file adds")
    parser.add_argument("--report", help="a file for one line of JSON for each file")
    options = parser.parse_args()
    chosen = {name: data for name, data in bases().items() if not options.kinds or name.split("-")[0] in options.kinds}
    started, names = time.perf_counter(), sorted(chosen)
    numbers = range(options.first, options.first + options.files)
    jobs = [(names[number % len(names)], number) for number in numbers]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    slowest, largest = (0.0, ""), (0.0, "")
    report = open(options.report, "a", encoding="utf8") if options.report else None
    for (name, number), outcome in run(chosen, options.seed, jobs, options.workers, options.seconds, options.megabytes):
        counts[name][outcome.what] += 1
        slowest = max(slowest, (outcome.seconds, f"{name} {number}: {outcome.changes}"))
        largest = max(largest, (outcome.megabytes, f"{name} {number}: {outcome.changes}"))
        if outcome.what == FAULT:
            print(f"FAULT {name} {number}: {outcome.changes} -> {outcome.said}", flush=True)
        if report:
            report.write(json.dumps([name, number, *outcome]) + "\n")
            report.flush()
    for name, found in sorted(counts.items()):
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in sorted(found.items())))
    total = sum(counts.values(), Counter())
    print(f"all: {dict(total)} of {len(jobs)} files in {time.perf_counter() - started:.0f} s")
    print(f"longest: {slowest[0]:.2f} s ({slowest[1][:200]})")
    print(f"most memory: {largest[0]:.0f} MB ({largest[1][:200]})")
    return int(total[FAULT] > 0)


if __name__ == "__main__":
    sys.exit(main())
