"""The trainers' command line: thin wrappers over plain functions."""

import argparse
import logging
import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module

from spacy_dtparse.errors import DtparseError

GROUPS: dict[str, dict[str, str]] = {
    "Data": {
        "collect": "collect build/assets --names craft genia gum masc --out build/treebanks",
        "verify": "verify assets sample",
        "convert": "convert assets sample --out build/corpus",
        "conventions": "conventions assets/everyday/train.mrg",
    },
    "Taggers": {
        "jackknife": "jackknife --corpus build/corpus --names sample --folds 4 --out build/tags",
        "tag": "tag --corpus build/corpus --names sample --out build/tags --model build/tagger",
        "spines": "spines build/corpus/sample/train.mrg --write build/spines.train",
        "tagger-fit": "tagger-fit --train build/spines.train --out build/spines.model",
    },
    "Parsers": {
        "span": "span --corpus build/corpus --names sample --tags build/tags --out build/span.model",
        "fit": "fit --recipe training/recipes/sample.json --corpus build/corpus --names sample "
        "--tags build/tags --workdir build/fit --out build/dtparse.model",
        "gate": "gate build/dtparse.model --corpus build/corpus --names sample --out build/gated.model",
        "pcfg": "pcfg --corpus build/corpus --names sample --out build/pcfg.model",
        "pcfgla": "pcfgla --corpus build/corpus --names sample --cycles 2 --out build/pcfgla.model",
        "bpm": "bpm --train build/corpus/sample/train.mrg --dev build/corpus/sample/dev.mrg --out build/bpm.model",
        "bpm-evaluate": "bpm-evaluate build/bpm.model build/corpus/sample/dev.mrg",
        "evaluate": "evaluate build/span.model build/corpus/sample/dev.mrg --tags gold",
    },
    "Whole pipelines": {
        "assemble": "assemble --tagger build/tagger --model build/span.model --names sample --out build/pipeline",
        "teacher": "teacher fit --corpus build/corpus --names sample --workdir build/teacher --out build/teacher/out",
        "self-train": "self-train --teacher build/pcfgla.model --text assets/sample/plain.txt "
        "--workdir build/self_train --out build/taught",
        "adapt": "adapt embedded --parser embedded --text assets/sample/plain.txt --out build/adapted",
        "clean": "clean build/sample",
    },
    "Studies of the papers": {
        "self-train-compare": "self-train-compare build/taught --recipe training/recipes/sample.json --sizes 0 "
        "10 --train build/corpus/sample/train.mrg --dev build/corpus/sample/dev.mrg --out build/students",
        "reproduce": "reproduce --corpus build/corpus --names sample --runs r2l",
        "reproduce-report": "reproduce-report build/2006",
        "pcfgla-study": "pcfgla-study --corpus build/corpus --runs split-merge",
    },
}
"""The commands by group, each with an example of its arguments."""
EXAMPLES = {name: example for group in GROUPS.values() for name, example in group.items()}
COMMANDS = {name: import_module(f".{name.replace('-', '_')}", __package__) for name in EXAMPLES}
"""The module of each command: its docstring says what it does, `add_arguments` and `run` do it."""


def overview() -> str:
    """The commands by group, each with what it does and an example."""
    parts = []
    for group, commands in GROUPS.items():
        parts.append(f"{group}:\n")
        for name, example in commands.items():
            does = str(COMMANDS[name].__doc__).splitlines()[0]
            first, *rest = textwrap.wrap(f"python -m training {example}", 96)
            lines = [f"  {name:19} {does}", f"      $ {first}", *(f"          {line}" for line in rest)]
            if rest:
                lines[1:-1] = [f"{line} \\" for line in lines[1:-1]]
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def build_parser() -> argparse.ArgumentParser:
    """The argument parser with all commands."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m training",
        usage="python -m training [--verbose] COMMAND …",
        description="Train, evaluate and put together parsers. Each command says its options: "
        "python -m training COMMAND --help",
        epilog=overview(),
        formatter_class=plain,
    )
    parser.add_argument("--verbose", action="store_true", help="say more on standard error")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    for name, module in COMMANDS.items():
        example, program = f"example:\n  python -m training {EXAMPLES[name]}", f"python -m training {name}"
        module.add_arguments(
            commands.add_parser(name, prog=program, description=module.__doc__, epilog=example, formatter_class=plain)
        )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 1 for bad input, 2 for wrong usage, 130 for Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = build_parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO if options.verbose else logging.WARNING, format="%(name)s: %(message)s", stream=sys.stderr
    )
    return _guarded(lambda: COMMANDS[options.command].run(options))


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
