"""Parts of the studies' tables."""

from collections.abc import Sequence
from typing import Any

NO = "–"


def markdown(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table, the first column to the left, the others to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def percent(value: float | None, digits: int = 2) -> str:
    """A fraction as a percentage, without the sign."""
    return NO if value is None else f"{100 * value:.{digits}f}"
