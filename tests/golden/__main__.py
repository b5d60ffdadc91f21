"""`python -m tests.golden`; see the package."""

import os
from pathlib import Path

# Before numpy and numba are loaded: matrix products of one thread have the same bits; compiled kernels are those of the
# tests; no kernel is interpreted while others compile, because that changes the last bits.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).resolve().parents[2] / "build" / "kernels"))
os.environ["SPACY_DTPARSE_WAIT"] = "1"

import argparse  # noqa: E402 (after the settings above)
import logging  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402

from .running import GROUPS, entries_of, names_of  # noqa: E402
from .store import BITS, Entry, Stored, kernel_target  # noqa: E402


def main() -> int:
    """Compare or write digests; returns the exit code, 1 if some differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the digests instead of comparing")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="groups, or beginnings of entries' names")
    parser.add_argument("--fast", action="store_true", help="without the slow groups")
    parser.add_argument("--list", action="store_true", help="print the names of groups and stored entries")
    options = parser.parse_args()
    stored = Stored.read()
    if options.list:
        print(*GROUPS, *sorted({*stored.same, *stored.text, *(stored.here(BITS) or {})}), sep="\n")
        return 0
    groups = names_of(options.only, slow=not options.fast)
    if not groups:
        parser.error(f"there is no group for {' '.join(options.only)}; see --list")
    warnings.simplefilter("ignore")
    logging.disable()
    made: list[Entry] = []
    for group in groups:
        began = time.perf_counter()
        entries = entries_of(group, options.only)
        made += entries
        print(f"{group}: {len(entries)} entries, {time.perf_counter() - began:.1f} s", flush=True)
        if options.write:
            stored.take(entries)
            stored.write()
    if options.write:
        return 0
    problems = stored.differing(made)
    if not options.only or set(options.only) <= set(GROUPS):
        problems += stored.missing(made, groups)
    if stored.here(BITS) is None:
        print(f"no bits are stored for {kernel_target()}; they are not compared")
    print("\n".join(problems) if problems else f"{len(made)} entries are as stored")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
