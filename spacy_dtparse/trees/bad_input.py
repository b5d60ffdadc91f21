"""Malformed trees, lines and bytes in files: the values of the option --errors, and messages about what was skipped."""

from collections.abc import Sequence

from ..errors import DtparseError

ERRORS = ("strict", "skip", "replace")
"""Stop at malformed input; skip it; or also replace bytes that are not in the encoding by U+FFFD."""


def on_error(errors: str) -> str:
    """The value of `on_error` of `brackets.read_trees` for one of ERRORS."""
    return "raise" if errors == "strict" else errors


def describe_skipped(skipped: Sequence[DtparseError], unit: str, units: str = "") -> str:
    """Return a message that says how many units were skipped, at least one, and the first error. `unit`: what was
    skipped, such as "malformed tree"; `units`: its plural, if that is not `unit` with an s."""
    what = f"1 {unit} was" if len(skipped) == 1 else f"{len(skipped)} {units or f'{unit}s'} were"
    return f"{what} skipped; the first: {skipped[0]}"
