"""The command line: thin wrappers over plain functions. `main` is the console script `dtparse`."""

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import DtparseError
from ..memory import report_memory_limit
from . import (
    agreement,
    annotate,
    completion,
    convert,
    edit,
    evaluate,
    explain,
    grep,
    info,
    measure,
    parse,
    rules,
    serve,
    show,
    warmup,
)
from .terminal import discard_output, protected_streams, quiet_warnings

COMMANDS = {
    "parse": parse, "evaluate": evaluate, "show": show, "serve": serve, "annotate": annotate, "agreement": agreement,
    "grep": grep, "edit": edit, "measure": measure, "explain": explain, "rules": rules, "info": info,
    "convert": convert, "warmup": warmup, "completion": completion,
}  # fmt: skip

EPILOG = """\
A text instead of a command is parsed and printed:
  dtparse "The cat sat on the mat."

examples:
  dtparse parse notes.txt --format json > notes.jsonl
  echo "She saw the dog." | dtparse parse
  dtparse evaluate gold.mrg --tags gold
  dtparse show "She saw the dog." --svg tree.svg
  dtparse serve
  dtparse annotate notes.txt --out trees.mrg
  dtparse grep "NP < (PP < of)" gold.mrg
  dtparse edit "PP=pp > NP" "prune pp" gold.mrg
  dtparse measure essay.txt
  dtparse explain "She saw the dog." --span "the dog"
"""


def build_parser() -> argparse.ArgumentParser:
    """The argument parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="dtparse",
        description="Constituency parsing for spaCy.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"spacy-dtparse {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        summary = str(module.__doc__).splitlines()[0]
        module.add_arguments(commands.add_parser(name, help=summary, description=module.__doc__))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 0, 1 for bad input, 2 for wrong usage, 130 for Ctrl-C.

    `grep` has grep's codes: 0 if something matches, 1 if nothing does, 2 for bad input.
    """
    with protected_streams():
        if sys.stdout is None:
            return _fail("standard output is closed; write to a file or to /dev/null: dtparse … > FILE", 2)
        return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser()
    if not arguments:
        if sys.stdin is None or sys.stdin.isatty():
            parser.print_help()
            return 2
        arguments = ["parse"]
    elif arguments[0] not in COMMANDS and (not arguments[0].startswith("-") or " " in arguments[0]):
        problem = _not_a_text(arguments)
        if problem:
            parser.error(problem)
        arguments = ["parse", "--format", "pretty", f"--text={arguments[0]}", *arguments[1:]]
    options, rest = parser.parse_known_args(arguments)
    if rest and not (hasattr(options, "files") and all(word == "-" or word[:1] != "-" for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:  # files after an option; argparse only looks for them before it
        options.files = [*options.files, *rest]
    _use_utf8_output()
    quiet_warnings()
    command = COMMANDS[options.command]
    bad_input = getattr(command, "BAD_INPUT", 1)
    try:
        with report_memory_limit():
            code = command.run(options) or 0
        sys.stdout.flush()
    except DtparseError as error:
        return _fail(str(error), bad_input)
    except UnicodeEncodeError as error:  # the shell passed bytes that are not text
        return _fail(
            f"{error.object[error.start]!r} in {error.object[max(error.start - 20, 0) : error.start + 20]!r} is half "
            "of a character (a lone surrogate); give the text in the locale's encoding, or as a file with --encoding",
            bad_input,
        )
    except BrokenPipeError:  # `dtparse … | head`: the receiver stopped reading
        discard_output()
        return 0
    except OSError as error:
        _flush_or_discard()
        location = f"{error.filename}: " if error.filename else ""
        return _fail(f"{location}{error.strerror or error}", bad_input)
    except KeyboardInterrupt:
        return 130
    return code


def _not_a_text(arguments: Sequence[str]) -> str | None:
    """Why the first argument, which is not a command, is not a text to parse either; None if it is one."""
    first = arguments[0]
    if any(map(str.isspace, first)):
        return None
    if os.path.exists(first):
        return f"{first!r} is a file; to parse its text: dtparse parse {first}"
    if len(arguments) > 1 and not arguments[1].startswith("-"):
        return f"{first!r} is not a command ({', '.join(COMMANDS)}); put a text to parse in quotes"
    return None


def _flush_or_discard() -> None:
    """Write out what was printed; on a full disk give it up."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_output()


def _fail(message: str, code: int) -> int:
    print(f"dtparse: error: {message}", file=sys.stderr)
    return code


def _use_utf8_output() -> None:
    """Write UTF-8 if the locale has another encoding: trees may contain any character."""
    for stream in (sys.stdout, sys.stderr):
        encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
        if encoding != "utf8" and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")
