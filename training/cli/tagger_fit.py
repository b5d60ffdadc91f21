"""Train a log-linear tagger of spines or other labels.

The same command goes on where a killed run stopped.
"""

import argparse
from pathlib import Path

from spacy_dtparse.cli.pipelines import positive_number
from spacy_dtparse.errors import ConfigError

from .settings import add_model, add_settings, model_facts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tagger-fit`."""
    parser.add_argument(
        "--train", nargs="+", type=Path, default=[], metavar="FILE",
        help="word<TAB>tag<TAB>label (or word<TAB>label) in each line, blank lines between sentences",
    )  # fmt: skip
    parser.add_argument("--dev", nargs="*", type=Path, default=[], metavar="FILE", help="development files")
    parser.add_argument("--estimator", default="perceptron", help="perceptron (default), mira, gis or lbfgs")
    add_settings(parser, "training.loglinear_tagger.options.SequenceOptions (epochs=5 cutoff=10 sigma=0.5)")
    parser.add_argument(
        "--betas", nargs="+", type=float, default=[0.075, 0.03, 0.01, 0.005, 0.001], metavar="BETA",
        help="for which figures are printed (default: the five of the C&C parser)",
    )  # fmt: skip
    parser.add_argument(
        "--jackknife", type=int, default=0, metavar="FOLDS",
        help="instead of a model, write the training sentences with labels of taggers that have not seen them",
    )  # fmt: skip
    parser.add_argument("--workers", type=positive_number, default=2, help="threads (default: 2)")
    parser.add_argument("--workdir", type=Path, help="folder that keeps unfinished runs")
    add_model(
        parser, "tagger", of="sentences", licence=True, credit="a credit for the meta",
        out="the file to write: the model, or the sentences",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Train, write, and print the scores."""
    from training.loglinear_tagger.fitting import fit_files, jackknife, report
    from training.loglinear_tagger.options import SequenceOptions
    from training.runs.settings import changed_fields

    if not options.train:
        raise ConfigError("there is nothing to learn from; give --train FILE …")
    if any(not 0 <= beta <= 1 for beta in options.betas):
        raise ConfigError(f"--betas are {options.betas}; give numbers from 0 to 1")
    if options.jackknife and options.jackknife < 2:
        raise ConfigError(f"--jackknife is {options.jackknife}; give 2 folds or more")
    chosen = changed_fields(SequenceOptions(options.estimator), options.set, but=("estimator",))
    if options.jackknife:
        scores = jackknife(
            options.train, chosen, options.out, options.jackknife, options.workdir, options.workers, options.betas
        )
    else:
        scores = fit_files(
            options.train,
            options.dev,
            chosen,
            model_facts(options),
            options.out,
            options.workdir,
            options.workers,
            options.betas,
        )
    if scores:
        print(report(scores))
