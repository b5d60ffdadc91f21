"""Commands of the papers' studies."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from .declaring import CORPUS, NAMES, declare, flag, number, option, path, say, settings, treebank_spec

PAGES = Path(__file__).resolve().parents[2] / "docs" / "studies"
SCALE = option("--scale", "use this share of the sentences (default: 1)", type=float, default=1.0, metavar="SHARE")
RUNS = option("--runs", "which runs of the plan (default: all)", nargs="+", metavar="RUN")
LIST = flag("--list", "say what runs there are, and do nothing")
command = partial(declare, "Studies of the papers")


@command(
    "self-train-compare build/taught --recipe training/recipes/sample.json --sizes 0 "
    "10 --train build/corpus/sample/train.mrg --dev build/corpus/sample/dev.mrg --out build/students",
    path("teacher", "the folder that `self-train` wrote"),
    path("--recipe", "settings, such as training/recipes/wsj.json", required=True),
    option(
        "--sizes",
        "how many of the teacher's trees each student gets; 0: the treebank alone",
        nargs="+",
        type=natural_number,
        required=True,
        metavar="N",
    ),
    option("--train", "the treebank", nargs="+", default=[], metavar=treebank_spec()),
    option("--dev", "trees whose F1 chooses λ", nargs="+", default=[], metavar=treebank_spec()),
    option(
        "--judge",
        "trees to score on, with gold tags, and with those of the file if there is one",
        nargs="+",
        default=[],
        metavar="NAME=PATH[,tags=PATH]",
    ),
    option(
        "--share",
        "what the teacher's trees weigh together, as a multiple of the treebank (default: 1; no tree above 1)",
        type=float,
        default=1.0,
    ),
    option("--weight", "of each of the teacher's trees, instead of --share", type=float),
    option("--minutes", "of each student's λ path (default: as the recipe says)", type=float),
    settings("the recipe (path.patience=8)"),
    path("--out", "folder for the students, results and table.md", required=True),
)
def self_train_compare(options: argparse.Namespace) -> None:
    """Train students with more and more of a teacher's trees, and compare them.

    The same command goes on where a killed run stopped.
    """
    from training.data.treebanks import TreebankFile
    from training.dtree.recipe import FitRecipe
    from training.runs.settings import changed
    from training.self_train.students import Experiment, named_file, run_experiment, table

    recipe = FitRecipe.from_dict(changed(FitRecipe.from_json(options.recipe).to_dict(), options.set))
    judges = [named_file(text) for text in options.judge]
    if len({name for name, _ in judges}) < len(judges):
        raise ConfigError(f"--judge: the names {', '.join(name for name, _ in judges)} must differ")
    train, dev = (tuple(map(TreebankFile.parse, texts)) for texts in (options.train, options.dev))
    experiment = Experiment(
        recipe, options.teacher, tuple(options.sizes), train, dev, dict(judges), options.out, options.share,
        options.weight, options.minutes,
    )  # fmt: skip
    print(table(run_experiment(experiment, say)), end="")


@command(
    "reproduce --corpus build/corpus --names sample --runs r2l",
    CORPUS,
    NAMES,
    path(
        "--treebank",
        "the WSJ part of the Penn Treebank, instead of --corpus: folders 02 to 22 with wsj_*.mrg or .prd",
        metavar="ROOT",
    ),
    flag("--test", "also score section 23 of --treebank"),
    path("--tags", "folder with NAME.train.tags and NAME.dev.tags (--treebank: ptb)"),
    path("--out", "folder of all runs (default: build/2006)", default=Path("build/2006")),
    RUNS,
    LIST,
    SCALE,
    number("--budget", 100_000, "inferences scored per sentence in the evaluation (default: 100000, the paper's)"),
    option("--minutes", "of training per run, instead of the plan's", type=float, metavar="N"),
    path("--baseline", "a parser to compare with, instead of a PCFG", metavar="MODEL"),
    settings("all recipes (path.lambda_floor=1)"),
)
def reproduce(options: argparse.Namespace) -> None:
    """Run the experiments of Turian & Melamed 2006.

    The same command goes on where a killed run stopped.
    Results are OUT/RUN/result.json; `reproduce-report` makes tables and plots of them.
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
    run_each(runs, lambda run: execute(run, job), _figures)


def _figures(result: dict) -> str:
    """The figures of a result in a few words, ending in a comma and a space; nothing when there are none."""
    words = ""
    if "best" in result:
        words += f"λ {result['best']['lambda']:.4g}, {result['best']['parameters']} parameters, "
    if "dev" in result:
        words += f"dev F1 {100 * result['dev']['all']['f1']:.2f} (cut short {100 * result['dev']['cut_short']:.1f} %), "
    return words


@command(
    "reproduce-report build/2006",
    path("results", "the folder of all runs", nargs="?", default=Path("build/2006")),
    path(
        "--page",
        "file whose blocks <!-- 2006: NAME --> are filled (default: docs/studies/turian2006.md)",
        default=PAGES / "turian2006.md",
    ),
    path("--images", "folder for the plots (default: img beside the page)"),
)
def reproduce_report(options: argparse.Namespace) -> None:
    """Make tables and plots of what `reproduce` measured, beside the figures that the papers print."""
    from training.studies.plans import RESULT, fill_blocks, load_results
    from training.studies.turian2006.running import PLAN
    from training.studies.turian2006.tables import TABLES, draw_plots

    results = load_results(options.results, PLAN)
    if not results:
        raise ConfigError(f"{options.results} has no RUN/{RESULT}; make some with: python -m training reproduce")
    filled = fill_blocks(options.page, "2006", TABLES, results)
    drawn = draw_plots(results, options.images or options.page.parent / "img")
    print(f"{options.page}: {', '.join(filled) or 'nothing to fill'}")
    print("\n".join(map(str, drawn)))


@command(
    "pcfgla-study --corpus build/corpus --runs split-merge",
    CORPUS,
    path("--tags", "folder with NAME.dev.tags, predicted tags (default: none)"),
    path("--out", "folder of all runs", default=Path("build/latent_study")),
    RUNS,
    LIST,
    number("--threads", 2, "of the expectation step"),
    SCALE,
    path("--page", "only fill the blocks <!-- latent: NAME --> of this file"),
)
def pcfgla_study(options: argparse.Namespace) -> None:
    """Run the experiments of Matsuzaki et al. 2005, and fill the tables.

    The same command goes on where a killed run stopped.
    """
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
    run_each(runs, lambda run: execute(run, study), _scores)


def _scores(result: dict) -> str:
    """Parameters and F1 of a result, ending in a comma and a space."""
    f1 = ", ".join(f"{name} {100 * view['all']['f1']:.2f}" for name, view in result["views"].items())
    return f"{result['parameters'][0]} parameters, F1 {f1}, "
