"""Convert treebanks: cleaned brackets for the trainers, spaCy's binary format for spacy evaluate."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `convert`."""
    parser.add_argument("folder", type=Path, help="the folder with one folder per treebank")
    parser.add_argument("names", nargs="+", metavar="NAME[:WEIGHT]", help="treebanks, such as craft or sample")
    parser.add_argument("--out", type=Path, required=True, help="folder for NAME/{train,dev}.mrg and NAME/dev.spacy")


def run(options: argparse.Namespace) -> None:
    """Convert every treebank and say how many trees it has."""
    from training.data.converting import convert_treebank
    from training.data.treebanks import weighted_names

    for name in weighted_names(options.names):
        counts = convert_treebank(options.folder, name, options.out)
        print(f"{name}: " + ", ".join(f"{count} {part} trees" for part, count in counts.items()))
