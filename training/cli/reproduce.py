"""Run the experiments of Turian & Melamed 2006.

The same command goes on where a killed run stopped.
Results are OUT/RUN/result.json; `reproduce-report` makes tables and plots of them.
"""

import argparse
import sys
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from .settings import add_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `reproduce`."""
    parser.add_argument("--corpus", type=Path, help="folder of treebanks: NAME/train.mrg and NAME/dev.mrg are used")
    parser.add_argument("--names", nargs="+", default=[], metavar="NAME[:WEIGHT]", help="the treebanks of --corpus")
    parser.add_argument(
        "--treebank",
        type=Path,
        metavar="ROOT",
        help="the WSJ part of the Penn Treebank, instead of --corpus: folders 02 to 22 with wsj_*.mrg or .prd",
    )
    parser.add_argument("--test", action="store_true", help="also score section 23 of --treebank")
    parser.add_argument("--tags", type=Path, help="folder with NAME.train.tags and NAME.dev.tags (--treebank: ptb)")
    parser.add_argument("--out", type=Path, default=Path("build/2006"), help="folder of all runs (default: build/2006)")
    parser.add_argument("--runs", nargs="+", metavar="RUN", help="which runs of the plan (default: all)")
    parser.add_argument("--list", action="store_true", help="say what runs there are, and do nothing")
    parser.add_argument(
        "--scale", type=float, default=1.0, metavar="SHARE", help="use this share of the sentences (default: 1)"
    )
    parser.add_argument(
        "--budget",
        type=natural_number,
        default=100_000,
        metavar="N",
        help="inferences scored per sentence in the evaluation (default: 100000, the paper's)",
    )
    parser.add_argument("--minutes", type=float, metavar="N", help="of training per run, instead of the plan's")
    parser.add_argument("--baseline", type=Path, metavar="MODEL", help="a parser to compare with, instead of a PCFG")
    add_settings(parser, "all recipes (path.lambda_floor=1)")


def run(options: argparse.Namespace) -> None:
    """Run what is asked for, and say a line for each run.

    What belongs to the data (treebanks, sections) is checked before anything runs.
    """
    from training.studies.plans import chosen, run_each
    from training.studies.sources import corpus_sources, treebank_sources
    from training.studies.turian2006.running import PLAN, Job, execute

    if options.list:
        for run in PLAN:
            print(f"{run.name:22}{run.minutes:4.0f} min  {run.about}")
        return
    runs = chosen(PLAN, options.runs)
    if options.minutes is not None and not options.minutes > 0:
        raise ConfigError(f"--minutes {options.minutes}: it must be above 0")
    if (options.corpus is None) == (options.treebank is None):
        raise ConfigError("give either --corpus FOLDER with --names, or --treebank ROOT")
    if options.treebank is not None:
        sources = treebank_sources(options.treebank, options.tags, options.scale, options.test)
    elif options.test:
        raise ConfigError("--test needs --treebank: a folder of treebanks has no test part here")
    else:
        sources = corpus_sources(options.corpus, options.names, options.tags, options.scale)
    command = ("python", "-m", "training", *sys.argv[1:])
    job = Job(sources, options.out, options.budget, tuple(options.set), options.minutes, options.baseline, command)
    run_each(runs, lambda run: execute(run, job), told)


def told(result: dict) -> str:
    """The figures of a result in a few words, ending in a comma and a space; nothing when there are none."""
    words = ""
    if "best" in result:
        words += f"λ {result['best']['lambda']:.4g}, {result['best']['parameters']} parameters, "
    if "dev" in result:
        words += f"dev F1 {100 * result['dev']['all']['f1']:.2f} (cut short {100 * result['dev']['cut_short']:.1f} %), "
    return words
