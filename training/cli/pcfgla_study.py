"""Run the experiments of Matsuzaki et al. 2005, and fill the tables.

The same command goes on where a killed run stopped.
"""

import argparse
import sys
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `pcfgla-study`."""
    parser.add_argument("--corpus", type=Path, help="folder of treebanks: NAME/train.mrg and NAME/dev.mrg are used")
    parser.add_argument("--tags", type=Path, help="folder with NAME.dev.tags, predicted tags (default: none)")
    parser.add_argument("--out", type=Path, default=Path("build/latent_study"), help="folder of all runs")
    parser.add_argument("--runs", nargs="+", metavar="RUN", help="which runs of the plan (default: all)")
    parser.add_argument("--list", action="store_true", help="say what runs there are, and do nothing")
    parser.add_argument("--threads", type=natural_number, default=2, help="of the expectation step (default: 2)")
    parser.add_argument(
        "--scale", type=float, default=1.0, metavar="SHARE", help="use this share of the sentences (default: 1)"
    )
    parser.add_argument("--page", type=Path, help="only fill the blocks <!-- latent: NAME --> of this file")


def run(options: argparse.Namespace) -> None:
    """Run what is asked for and say a line for each run; or fill a page."""
    from training.studies.matsuzaki2005 import PLAN, TABLES, Study, execute
    from training.studies.plans import chosen, fill_blocks, load_results, run_each

    runs = chosen(PLAN, options.runs)
    if options.list:
        for run in runs:
            print(f"{run.name:26}{run.treebank:8}{', '.join(view.name for view in run.views)}")
        return
    if options.page is not None:
        results = load_results(options.out, PLAN, "views")
        print(f"{options.page}: {', '.join(fill_blocks(options.page, 'latent', TABLES, results)) or 'nothing to fill'}")
        return
    if options.corpus is None:
        raise ConfigError("give --corpus FOLDER, with the treebanks that the runs name (see --list)")
    if options.threads < 1:
        raise ConfigError("--threads is 0; give 1 or more")
    command = ("python", "-m", "training", *sys.argv[1:])
    study = Study(options.corpus, options.tags, options.out, options.threads, options.scale, command)
    run_each(runs, lambda run: execute(run, study), told)


def told(result: dict) -> str:
    """Parameters and F1 of a result, ending in a comma and a space."""
    f1 = ", ".join(f"{name} {100 * view['all']['f1']:.2f}" for name, view in result["views"].items())
    return f"{result['parameters'][0]} parameters, F1 {f1}, "
