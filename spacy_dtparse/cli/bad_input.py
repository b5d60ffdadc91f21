"""The option --errors of commands that read files: stop at bad input, or skip it and report how much."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from ..errors import DtparseError
from ..trees.bad_input import ERRORS, describe_skipped

Item = TypeVar("Item")
Result = TypeVar("Result")


def add_errors_argument(parser: argparse.ArgumentParser, unit: str = "tree") -> None:
    """Add --errors. `unit`: what is skipped, "tree" or "line"."""
    parser.add_argument(
        "--errors",
        choices=ERRORS,
        default="strict",
        help=f"at a malformed {unit} or byte: stop (strict, default); skip the {unit}; or also replace such bytes by "
        "U+FFFD",
    )


def report_skipped(
    skipped: Sequence[DtparseError], unit: str = "malformed tree", units: str = "", program: str = "dtparse"
) -> int:
    """Report on standard error how many trees or lines were skipped, and the first problem; return the exit code. See
    `describe_skipped`."""
    if not skipped:
        return 0
    print(f"{program}: warning: {describe_skipped(skipped, unit, units)}", file=sys.stderr)
    return 1


class StopAtError:
    """Iterates over items up to the first DtparseError, which `check` raises: so that the items before it can be
    processed in batches first."""

    def __init__(self) -> None:
        self.error: DtparseError | None = None

    def before_error(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items before the error."""
        try:
            yield from items
        except DtparseError as error:
            self.error = error

    def check(self) -> None:
        """Raise the error, if there was one."""
        if self.error is not None:
            raise self.error


def skip_errors(
    items: Iterable[Item], convert: Callable[[Item], Result], errors: str, skipped: list[DtparseError]
) -> Iterator[Result]:
    """Yield the result of `convert` for each item. An item for which it raises DtparseError is left out and its error
    appended to `skipped`, unless `errors` is "strict"."""
    for item in items:
        try:
            result = convert(item)
        except DtparseError as error:
            if errors == "strict":
                raise
            skipped.append(error)
            continue
        yield result
