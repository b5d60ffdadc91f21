"""Commands that reproduce studies of papers."""

import argparse
import sys
from functools import partial
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from . import declaring as arg

PAGES = Path(__file__).resolve().parents[2] / "docs" / "studies"
SCALE = arg.option("--scale FRACTION", "fraction of the sentences to use (default: 1)", type=float, default=1.0)
RUNS = arg.option("--runs RUN +", "runs of the plan to do (default: all)")
LIST = arg.flag("--list", "only list the runs")
command = partial(arg.declare, "Studies of the papers")


@command(
    "self-train-compare build/self_trained --recipe training/recipes/sample.json --sizes 0 "
    "10 --train build/corpus/sample/train.mrg --dev build/corpus/sample/dev.mrg --out build/students",
    arg.path("teacher", "folder that `self-train` wrote"),
    arg.path("--recipe", "settings, such as training/recipes/wsj.json", required=True),
    arg.option(
        "--sizes N +",
        "for each student the number of the teacher's trees; 0: the treebank alone",
        type=natural_number,
        required=True,
    ),
    arg.option(f"--train {arg.treebank_spec()} +", "treebank to train on"),
    arg.option(f"--dev {arg.treebank_spec()} +", "trees whose F1 chooses λ"),
    arg.option(
        "--evaluate NAME=PATH[,tags=PATH] +",
        "trees to score on, with gold tags, and with the tags of a file if one is given",
    ),
    arg.ERRORS,
    arg.option(
        "--teacher-weight",
        "total weight of the teacher's trees, as a multiple of the treebank's (default: 1; at most 1 per tree)",
        type=float,
        default=1.0,
    ),
    arg.option("--tree-weight", "weight of each of the teacher's trees, instead of --teacher-weight", type=float),
    arg.option("--minutes", "maximum duration of each student's λ path (default: according to the recipe)", type=float),
    arg.settings("the recipe (path.patience=8)"),
    arg.path("--out", "folder for the students, results and table.md", required=True),
)
def self_train_compare(options: argparse.Namespace) -> None:
    """Train students on increasing numbers of a teacher's trees, and compare them.

    Repeat the command to resume a run.
    """
    from training.data.treebanks import TreebankFile
    from training.dtparse.recipe import FitRecipe
    from training.runs.settings import apply_settings
    from training.self_training.students import Experiment, parse_named_file, run_experiment, students_table

    recipe = FitRecipe.from_dict(apply_settings(FitRecipe.from_json(options.recipe).to_dict(), options.set))
    evaluation_files = [parse_named_file(text) for text in options.evaluate]
    if len({name for name, _ in evaluation_files}) < len(evaluation_files):
        raise ConfigError(f"--evaluate: the names {', '.join(name for name, _ in evaluation_files)} must differ")
    train, dev = (tuple(map(TreebankFile.parse, texts)) for texts in (options.train, options.dev))
    experiment = Experiment(
        recipe,
        options.teacher,
        tuple(options.sizes),
        train,
        dev,
        dict(evaluation_files),
        options.out,
        options.teacher_weight,
        options.tree_weight,
        options.minutes,
    )
    print(students_table(run_experiment(experiment)), end="")


@command(
    "reproduce --corpus build/corpus --names sample --runs r2l",
    arg.CORPUS,
    arg.NAMES,
    arg.path(
        "--treebank ROOT", "WSJ part of the Penn Treebank, instead of --corpus: folders 02 to 22 with wsj_*.mrg or .prd"
    ),
    arg.flag("--test", "also score section 23 of --treebank"),
    arg.ERRORS,
    arg.path("--tags", "folder with NAME.train.tags and NAME.dev.tags (--treebank: ptb)"),
    arg.path("--out", "folder of all runs (default: build/2006)", default=Path("build/2006")),
    RUNS,
    LIST,
    SCALE,
    arg.number("--budget", 100_000, "inferences scored per sentence in the evaluation (default: 100000, the paper's)"),
    arg.option("--minutes N", "minutes of training per run (default: according to the plan)", type=float),
    arg.path("--baseline MODEL", "parser to compare with, instead of a PCFG"),
    arg.settings("all recipes (path.lambda_floor=1)"),
)
def reproduce(options: argparse.Namespace) -> None:
    """Run the experiments of Turian & Melamed 2006.

    Repeat the command to resume a run. Results are written to OUT/RUN/result.json; `reproduce-report` makes tables and
    plots of them.
    """
    from training.studies.plans import run_each, select_runs
    from training.studies.sources import corpus_sources, treebank_sources
    from training.studies.turian2006.running import PLAN, TrainingJob, execute

    if options.list:
        for run in PLAN:
            print(f"{run.name:22}{run.minutes:4.0f} min  {run.about}")
        return
    runs = select_runs(PLAN, options.runs)
    if options.minutes is not None and not options.minutes > 0:
        raise ConfigError(f"--minutes {options.minutes}: it must be above 0")
    if (options.corpus is None) == (options.treebank is None):
        raise ConfigError("give either --corpus FOLDER with --names, or --treebank ROOT")
    if options.treebank is not None:
        sources = treebank_sources(options.treebank, options.tags, options.scale, options.test)
    elif options.test:
        raise ConfigError("--test needs --treebank: the treebanks of --corpus have no test part")
    else:
        sources = corpus_sources(options.corpus, options.names, options.tags, options.scale)
    command = ("python", "-m", "training", *sys.argv[1:])
    job = TrainingJob(
        sources, options.out, options.budget, tuple(options.set), options.minutes, options.baseline, command
    )
    run_each(runs, lambda run: execute(run, job), _format_scores)


def _format_scores(result: dict) -> str:
    """The scores of a result as a phrase that ends in a comma and a space; empty if there are none."""
    words = ""
    if "best" in result:
        words += f"λ {result['best']['lambda']:.4g}, {result['best']['parameters']} parameters, "
    if "dev" in result:
        words += f"dev F1 {100 * result['dev']['all']['f1']:.2f} (cut off {100 * result['dev']['cut_short']:.1f} %), "
    return words


@command(
    "reproduce-report build/2006",
    arg.path("results ?", "folder of all runs", default=Path("build/2006")),
    arg.path(
        "--page",
        "file in which to fill the blocks <!-- 2006: NAME --> (default: docs/studies/turian2006.md)",
        default=PAGES / "turian2006.md",
    ),
    arg.path("--images", "folder for the plots (default: img next to the page)"),
)
def reproduce_report(options: argparse.Namespace) -> None:
    """Make tables and plots of the results of `reproduce`, next to those published in the papers."""
    from training.studies.plans import RESULT, fill_blocks, load_results
    from training.studies.turian2006.running import PLAN
    from training.studies.turian2006.tables import TABLES, draw_plots

    results = load_results(options.results, PLAN)
    if not results:
        raise ConfigError(f"{options.results} has no RUN/{RESULT}; run this first: python -m training reproduce")
    filled = fill_blocks(options.page, "2006", TABLES, results)
    drawn = draw_plots(results, options.images or options.page.parent / "img")
    print(f"{options.page}: {', '.join(filled) or 'nothing to fill'}")
    print("\n".join(map(str, drawn)))


@command(
    "pcfgla-study --corpus build/corpus --runs split-merge",
    arg.CORPUS,
    arg.path("--tags", "folder with NAME.dev.tags, predicted tags (default: none)"),
    arg.ERRORS,
    arg.path("--out", "folder of all runs", default=Path("build/latent_study")),
    RUNS,
    LIST,
    arg.number("--threads", 2, "threads of the expectation step", minimum=1),
    SCALE,
    arg.path("--page", "only fill the blocks <!-- latent: NAME --> of this file"),
)
def pcfgla_study(options: argparse.Namespace) -> None:
    """Run the experiments of Matsuzaki et al. 2005, and fill in the tables.

    Repeat the command to resume a run.
    """
    from training.studies.matsuzaki2005 import PLAN, TABLES, Study, execute
    from training.studies.plans import fill_blocks, load_results, run_each, select_runs

    runs = select_runs(PLAN, options.runs)
    if options.list:
        for run in runs:
            print(f"{run.name:26}{run.treebank:8}{', '.join(view.name for view in run.views)}")
        return
    if options.page is not None:
        results = load_results(options.out, PLAN, "views")
        print(f"{options.page}: {', '.join(fill_blocks(options.page, 'latent', TABLES, results)) or 'nothing to fill'}")
        return
    if options.corpus is None:
        raise ConfigError("give --corpus FOLDER, with the treebanks that --list shows")
    command = ("python", "-m", "training", *sys.argv[1:])
    study = Study(options.corpus, options.tags, options.out, options.threads, options.scale, command)
    run_each(runs, lambda run: execute(run, study), _format_view_scores)


def _format_view_scores(result: dict) -> str:
    """The number of parameters and F1 of a result, as a phrase that ends in a comma and a space."""
    f1 = ", ".join(f"{name} {100 * view['all']['f1']:.2f}" for name, view in result["views"].items())
    return f"{result['parameters'][0]} parameters, F1 {f1}, "
