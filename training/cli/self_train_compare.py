"""Train students with more and more of a teacher's trees, and compare them.

The same command goes on where a killed run stopped.
"""

import argparse
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from .settings import add_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `self-train-compare`."""
    spec = "PATH[,tags=PATH][,weight=W][,block=K/N][,limit=N][,share=S]"
    parser.add_argument("teacher", type=Path, help="the folder that `self-train` wrote")
    parser.add_argument("--recipe", type=Path, required=True, help="settings, such as training/recipes/wsj.json")
    parser.add_argument(
        "--sizes", nargs="+", type=natural_number, required=True, metavar="N",
        help="how many of the teacher's trees each student gets; 0: the treebank alone",
    )  # fmt: skip
    parser.add_argument("--train", nargs="+", default=[], metavar=spec, help="the treebank")
    parser.add_argument("--dev", nargs="+", default=[], metavar=spec, help="trees whose F1 chooses λ")
    parser.add_argument(
        "--judge", nargs="+", default=[], metavar="NAME=PATH[,tags=PATH]",
        help="trees to score on, with gold tags, and with those of the file if there is one",
    )  # fmt: skip
    parser.add_argument(
        "--share", type=float, default=1.0,
        help="what the teacher's trees weigh together, as a multiple of the treebank (default: 1; no tree above 1)",
    )  # fmt: skip
    parser.add_argument("--weight", type=float, help="of each of the teacher's trees, instead of --share")
    parser.add_argument("--minutes", type=float, help="of each student's λ path (default: as the recipe says)")
    add_settings(parser, "the recipe (path.patience=8)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the students, results and table.md")


def run(options: argparse.Namespace) -> None:
    """Train, score, print the table."""
    from training.data.treebanks import TreebankFile
    from training.dtree.recipe import FitRecipe
    from training.runs.settings import changed
    from training.self_train.students import Experiment, named_file, run_experiment, table

    recipe = FitRecipe.from_dict(changed(FitRecipe.from_json(options.recipe).to_dict(), options.set))
    judges = [named_file(text) for text in options.judge]
    if len({name for name, _ in judges}) < len(judges):
        raise ConfigError(f"--judge: the names {', '.join(name for name, _ in judges)} must differ")
    train, dev = (tuple(map(TreebankFile.parse, texts)) for texts in (options.train, options.dev))
    experiment = Experiment(recipe, options.teacher, tuple(options.sizes), train, dev, dict(judges), options.out,
                            options.share, options.weight, options.minutes)  # fmt: skip
    print(table(run_experiment(experiment, lambda line: print(line, flush=True))), end="")
