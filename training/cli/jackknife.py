"""Tag the training trees, each by a tagger that has not seen it.

The same command goes on where a killed run stopped.
"""

import argparse

from spacy_dtparse.cli.pipelines import natural_number

from .tagging import add_common, treebanks_and_config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `jackknife`."""
    add_common(parser)
    parser.add_argument("--folds", type=natural_number, default=10, help="how many taggers (default: 10)")
    parser.add_argument("--run", default="pooled", help="name of this run, for its checkpoints and the log")


def run(options: argparse.Namespace) -> None:
    """Train the taggers, write the tags, print how many are right."""
    from training.pos_tagger.config import JACKKNIFE
    from training.pos_tagger.running import jackknife

    treebanks, config = treebanks_and_config(options, JACKKNIFE)
    for name, value in jackknife(treebanks, options.out, options.folds, config, options.run).items():
        print(f"{name}: {100 * value:.2f} % of the jackknifed tags are right")
