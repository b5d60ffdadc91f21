"""Try hostile cases of all kinds, and print how many held.

    python -m tests.hostile [--only KIND or KIND/CASE …] [--list] [--verbose]

Each case runs in a process of its own, with limits of time and memory. Prints each case that did not hold, and a table
with a row for each kind; exits with 1 if a case did not hold. Hostile model files and trainings have commands of their
own: `python -m tests.hostile.model_files`, `python -m tests.hostile.training`.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import chain

# Read when numba is imported: nothing is interpreted, and no process compiles in the background.
os.environ.setdefault("SPACY_DTPARSE_WAIT", "1")

from .cases import Outcome, all_cases, kind_names, run_kind


def main() -> int:
    """Try cases, print a table, return 1 if one did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="kinds, or cases whose names begin so (kind/case)")
    parser.add_argument("--list", action="store_true", help="print the names of the cases, and try none")
    parser.add_argument("--verbose", action="store_true", help="print each case")
    options = parser.parse_args()
    names = options.only or []
    kinds = [kind for kind in kind_names() if not names or kind in {name.split("/")[0] for name in names}]
    if options.list:
        print("\n".join(one.name for one in all_cases(kinds)))
        return 0
    rows: dict[str, list[Outcome]] = {}
    for kind in kinds:
        for name, outcome in run_kind(kind, [] if kind in names else [name for name in names if "/" in name]):
            rows.setdefault(kind, []).append(outcome)
            if outcome.fault or options.verbose:
                print(
                    f"{'NOT HELD' if outcome.fault else 'held'} {name}: {outcome.seconds:.2f} s, "
                    f"{outcome.megabytes:.0f} MB {outcome.fault}".rstrip(),
                    flush=True,
                )
    if not rows:
        parser.error(f"no case is named {' or '.join(names)}; --list prints the names")
    print(f"{'kind':20} {'tried':>6} {'held':>6} {'not':>6} {'longest':>10} {'most memory':>12}")
    for name, outcomes in [*rows.items(), ("all", [*chain.from_iterable(rows.values())])]:
        held = sum(not outcome.fault for outcome in outcomes)
        longest, most = (max(outcome[field] for outcome in outcomes) for field in (1, 2))
        print(
            f"{name:20} {len(outcomes):6} {held:6} {len(outcomes) - held:6} {longest:8.2f} s {most:9.0f} MB", flush=True
        )
    return int(any(outcome.fault for outcomes in rows.values() for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
