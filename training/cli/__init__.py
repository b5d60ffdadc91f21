"""The trainers' command line: thin wrappers over plain functions."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from spacy_dtparse.errors import ConfigError, DtparseError

from . import (
    adapt,
    assemble,
    bpm,
    bpm_evaluate,
    clean,
    collect,
    conventions,
    convert,
    evaluate,
    fit,
    gate,
    latent_study,
    pcfg,
    pcfgla,
    reproduce,
    reproduce_report,
    self_train,
    self_train_compare,
    span,
    spines,
    tagger_fit,
    teacher,
    verify,
)

COMMANDS = {
    "collect": collect,
    "verify": verify,
    "conventions": conventions,
    "convert": convert,
    "fit": fit,
    "gate": gate,
    "assemble": assemble,
    "evaluate": evaluate,
    "pcfg": pcfg,
    "pcfgla": pcfgla,
    "span": span,
    "spines": spines,
    "bpm": bpm,
    "bpm-evaluate": bpm_evaluate,
    "tagger-fit": tagger_fit,
    "teacher": teacher,
    "adapt": adapt,
    "pcfgla-study": latent_study,
    "self-train": self_train,
    "self-train-compare": self_train_compare,
    "reproduce": reproduce,
    "reproduce-report": reproduce_report,
    "clean": clean,
}
TAGGING = {"tag": "train", "jackknife": "jackknife"}

EPILOG = """\
tag and jackknife have options of their own: python -m training tag --help

a parser for the sample treebank:
  python -m training fit --recipe training/recipes/sample.json --train assets/sample/train.mrg \\
    --dev assets/sample/dev.mrg --workdir build/fit --out build/dtparse.model
  python -m training evaluate build/dtparse.model assets/sample/dev.mrg
"""


def build_parser() -> argparse.ArgumentParser:
    """The argument parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m training",
        description="Train, evaluate and put together parsers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--verbose", action="store_true", help="say more on standard error")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        summary = str(module.__doc__).splitlines()[0]
        module.add_arguments(commands.add_parser(name, help=summary, description=module.__doc__))
    commands.add_parser("tag", help="Train the tagger (and senter) as a spaCy pipeline.")
    commands.add_parser("jackknife", help="Tag the training trees, each by a tagger that has not seen it.")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 1 for bad input, 2 for wrong usage, 130 for Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in TAGGING:
        return _guarded(lambda: run_tagging(TAGGING[arguments[0]], arguments[1:]))
    options = build_parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO if options.verbose else logging.WARNING,
        format="%(name)s: %(message)s",
        stream=sys.stderr,
    )
    return _guarded(lambda: COMMANDS[options.command].run(options))


def run_tagging(command: str, arguments: Sequence[str]) -> None:
    """Run a command of `training.tagging`.

    `--corpus DIR --names NAME[:WEIGHT] …` stand for its --treebank options, and `--settings NAME=VALUE …`
    for its --set options: a variable of project.yml cannot have `--` in it (weasel drops it).
    """
    from training.tagging.__main__ import main as tagging

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--corpus")
    parser.add_argument("--names", nargs="+", default=[])
    parser.add_argument("--settings", nargs="*", default=[])
    options, rest = parser.parse_known_args(list(arguments))
    if options.names and options.corpus is None:
        raise ConfigError("--names needs --corpus, the folder that the treebanks are in")
    treebanks = [part for name in options.names for part in ("--treebank", f"{options.corpus}/{name}")]
    settings = [part for setting in options.settings for part in ("--set", setting)]
    tagging([command, *treebanks, *settings, *rest])


def _guarded(call) -> int:  # type: ignore[no-untyped-def]
    """The exit code of a command: what it returns, or 0; bad input is said in one line."""
    try:
        return call() or 0
    except DtparseError as error:
        message = str(error)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130
    print(f"training: error: {message}", file=sys.stderr)
    return 1
