"""The trainers' command line: thin wrappers over plain functions."""

import argparse
import errno
import sys
import textwrap
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool

from spacy_dtparse.cli.bad_input import report_skipped
from spacy_dtparse.errors import DtparseError

from ..runs.progress import configure_logging

# --help lists the commands in the order of these imports.
# isort: off
# fmt: off
from . import (  # noqa: F401
    data, treebank_pipeline, parsers, grammars, dependencies, scoring, annotation, reviewing, learning, pipelines,
    studies, taggers, teacher,
)

# fmt: on
# isort: on
from .declaring import COMMANDS

GROUPS = ("Data", "Taggers", "Parsers", "Whole pipelines", "Studies of the papers")
"""The groups in which --help lists the commands."""


def overview() -> str:
    """The commands by group, each with its summary and an example."""
    parts = []
    for group in GROUPS:
        parts.append(f"{group}:\n")
        for name, command in COMMANDS.items():
            if command.group == group:
                does = command.about.splitlines()[0]
                first, *rest = textwrap.wrap(f"python -m training {command.example}", 96)
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
        description="Train, evaluate and assemble parsers. Options of a command: python -m training COMMAND --help",
        epilog=overview(),
        formatter_class=plain,
    )
    parser.add_argument("--verbose", action="store_true", help="write more log messages to standard error")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    for name, command in COMMANDS.items():
        example, program = f"example:\n  python -m training {command.example}", f"python -m training {name}"
        command.add_to(
            commands.add_parser(name, prog=program, description=command.about, epilog=example, formatter_class=plain)
        )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 1 for bad input, 2 for wrong usage, 130 for Ctrl-C."""
    options = build_parser().parse_args(argv)
    configure_logging(options.verbose)
    return _run_reporting_errors(lambda: _call(options))


def run_command(arguments: Sequence[str]) -> None:
    """Run a command as a step of another one; raises what it raises."""
    options = build_parser().parse_args(list(arguments))
    options.call(options)


def _call(options: argparse.Namespace) -> int:
    """Run the command of the options; returns the exit code, 1 if malformed input was skipped."""
    from ..data.bad_input import input_errors

    with input_errors(getattr(options, "errors", "strict")) as skipped:
        code = options.call(options) or 0
    return code or report_skipped(
        [*skipped.values()], "malformed part of the input", "malformed parts of the input", "training"
    )


def _run_reporting_errors(call) -> int:  # type: ignore[no-untyped-def]
    """Run a command and return its exit code (its return value, or 0). Bad input is reported in one line."""
    try:
        return call() or 0
    except DtparseError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            message += "; free some disk space, and repeat the command to resume"
    except BrokenProcessPool:
        message = (
            "a worker process died before it finished (it was killed, perhaps because memory ran out); finished work "
            "is saved: repeat the command to resume, with fewer --workers if memory was short"
        )
    except KeyboardInterrupt:
        print("stopped; repeat the command to resume", file=sys.stderr)
        return 130
    print(f"training: error: {message}", file=sys.stderr)
    return 1
