"""Tables of results in Markdown, and the blocks of a page that hold them."""

import re
from collections.abc import Callable, Sequence
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


def fill_blocks(page: str, prefix: str, format_table: Callable[[str], str | None]) -> tuple[str, list[str]]:
    """(The text of a page with its blocks `<!-- PREFIX: NAME -->` … `<!-- /PREFIX -->` filled, the names of the filled
    ones). `format_table`: the table of a name; None: the block stays as it is."""
    filled: list[str] = []

    def block(match: re.Match[str]) -> str:
        table = format_table(match[2])
        if table is None:
            return match[0]
        filled.append(match[2])
        return f"{match[1]}{table}\n{match[3]}"

    pattern = re.compile(rf"(<!-- {prefix}: ([\w-]+) -->\n).*?(<!-- /{prefix} -->)", re.DOTALL)
    return pattern.sub(block, page), filled
