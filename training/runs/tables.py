"""Tables of results in Markdown."""

from collections.abc import Sequence
from typing import Any

NO = "–"
"""The cell of a missing value."""


def markdown(head: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1) -> str:
    """A Markdown table with the first `left` columns left-aligned, the others right-aligned."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * left + "---:|" * (len(head) - left), *lines[1:]])


def percent(value: float | None, digits: int = 2) -> str:
    """Format a fraction as a percentage, without the percent sign."""
    return NO if value is None else f"{100 * value:.{digits}f}"
