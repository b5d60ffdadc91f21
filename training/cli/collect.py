"""Collect public treebanks: from their projects' files to train.mrg and dev.mrg, one tree per line.

Which document belongs to which part is read from assets/splits.json; test parts are left out.
"""

import argparse
import sys
from pathlib import Path

from spacy_dtparse.errors import DtparseError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `collect`."""
    parser.add_argument("folder", type=Path, help="the folder with one folder per treebank, as fetched")
    parser.add_argument("--names", nargs="+", required=True, metavar="NAME[:WEIGHT]", help="craft, genia, gum, masc")
    parser.add_argument("--out", type=Path, required=True, help="folder for NAME/{train,dev}.mrg")


def run(options: argparse.Namespace) -> int:
    """Collect every treebank and say what became of it; the exit code is 1 when one could not be collected.

    A treebank that fails does not keep the others from being collected.
    """
    from training.data.collecting import collect_treebank, layouts
    from training.data.treebanks import weighted_names

    known, names, failed = layouts(), list(weighted_names(options.names)), []
    for name in names:
        try:
            collected = collect_treebank(options.folder, name, options.out, known)
        except (DtparseError, OSError) as error:
            print(f"training: error: {name}: {error}", file=sys.stderr)
            failed.append(name)
        else:
            print("\n".join(collected.lines()))
    if failed:
        print(f"{len(failed)} of {len(names)} treebanks not collected: {', '.join(failed)}", file=sys.stderr)
    if len(failed) < len(names):
        done = " ".join(name for name in names if name not in failed)
        print(
            "Another version of a project's repository gives other checksums than the published ones; to compare: "
            f"python -m training verify {options.out} {done}"
        )
    return 1 if failed else 0
