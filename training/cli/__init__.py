"""The trainers' command line: thin wrappers over plain functions."""

import argparse
import errno
import logging
import sys
import textwrap
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool

from spacy_dtparse.errors import DtparseError

from . import data, own, parsers, pipelines, studies, taggers, teaching, trust  # noqa: F401 (their commands)
from .declaring import COMMANDS

GROUPS = ("Data", "Taggers", "Parsers", "Whole pipelines", "Studies of the papers")
"""The groups in which --help lists the commands."""


def overview() -> str:
    """The commands by group, each with what it does and an example."""
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
        description="Train, evaluate and put together parsers. Each command says its options: "
        "python -m training COMMAND --help",
        epilog=overview(),
        formatter_class=plain,
    )
    parser.add_argument("--verbose", action="store_true", help="say more on standard error")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    for name, command in COMMANDS.items():
        example, program = f"example:\n  python -m training {command.example}", f"python -m training {name}"
        command.add_to(
            commands.add_parser(name, prog=program, description=command.about, epilog=example, formatter_class=plain)
        )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 1 for bad input, 2 for wrong usage, 130 for Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = build_parser().parse_args(spelled_out(arguments))
    logging.basicConfig(
        level=logging.INFO if options.verbose else logging.WARNING, format="%(name)s: %(message)s", stream=sys.stderr
    )
    return _guarded(lambda: options.call(options))


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """Arguments with options in place of `--with NAME=VALUE …`, up to the next option."""
    made: list[str] = []
    within = False
    for argument in arguments:
        name, sign, value = argument.partition("=")
        within = argument == "--with" or (within and not argument.startswith("-"))
        if not within:
            made.append(argument)
        elif argument != "--with":
            made += [f"--{name}", *([value] if sign else [])]
    return made


def run_command(arguments: Sequence[str]) -> None:
    """Run a command as a step of another one; raises what it raises."""
    options = build_parser().parse_args(list(arguments))
    options.call(options)


def _guarded(call) -> int:  # type: ignore[no-untyped-def]
    """The exit code of a command: what it returns, or 0; bad input is said in one line."""
    try:
        return call() or 0
    except DtparseError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            message += "; make room there, and give the same command again to go on"
    except BrokenProcessPool:
        message = (
            "a worker process has ended before its work (killed, for want of memory perhaps); what was finished is "
            "kept: give the same command again to go on, with fewer --workers where memory was short"
        )
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130
    print(f"training: error: {message}", file=sys.stderr)
    return 1
