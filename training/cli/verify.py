"""Check treebank files: published checksums, or at least that every tree can be read."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `verify`."""
    parser.add_argument("folder", type=Path, help="the folder with one folder per treebank")
    parser.add_argument("names", nargs="+", metavar="NAME[:WEIGHT]", help="treebanks, such as craft or sample")


def run(options: argparse.Namespace) -> int:
    """Print a line per file; the exit code is 1 when any differs from what was published."""
    from training.data.treebanks import weighted_names
    from training.data.verify import verify

    checks = verify(options.folder, list(weighted_names(options.names)))
    for check in checks:
        how = "as published" if check.published else "readable; no checksum is published for it"
        state = f"FAILED: {check.problem}" if check.problem else f"{check.trees} trees, {how}"
        print(f"{check.path}: {state}")
    failed = sum(bool(check.problem) for check in checks)
    if failed:
        print(f"{failed} of {len(checks)} files are not as they should be; fetch them again")
    return 1 if failed else 0
