"""Results as Markdown: tables, and the marked blocks of a page, `<!-- PREFIX: NAME -->` … `<!-- /PREFIX -->`."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import ConfigError

from ..runs.files import read_result
from .plans import Named

NO, RESULT = "–", "result.json"

Results = Mapping[str, dict[str, Any]]
"""A run's result by its name."""

Tables = Mapping[str, tuple[Sequence[str], Callable[[Results], str]]]
"""Table by name: the runs that it needs at least one of, and what makes it."""


def markdown(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table, the first column to the left, the others to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def percent(value: float | None, digits: int = 2) -> str:
    """A fraction as a percentage, without the sign."""
    return NO if value is None else f"{100 * value:.{digits}f}"


def load_results(folder: Path, plan: Sequence[Named], *keys: str) -> dict[str, dict[str, Any]]:
    """The results of the plan's runs below `folder`; see `read_result`."""
    found = {run.name: read_result(folder / run.name / RESULT, *keys) for run in plan}
    return {name: result for name, result in found.items() if result is not None}


def fill_blocks(page: Path, prefix: str, tables: Tables, results: Results) -> list[str]:
    """Fill the blocks of the file `page` and return the names of those that were filled.

    A block without results stays as it is. Raises ConfigError for a block of an unknown name.
    """
    filled: list[str] = []

    def block(match: re.Match[str]) -> str:
        name = match[2]
        if name not in tables:
            raise ConfigError(f"{page}: there is no table {name!r}; allowed are {', '.join(tables)}")
        runs, make = tables[name]
        if not set(runs) & set(results):
            return match[0]
        filled.append(name)
        return f"{match[1]}{make(results)}\n{match[3]}"

    start, end = (re.escape(f"<!-- {mark}") for mark in (f"{prefix}: ", f"/{prefix} -->"))
    pattern = re.compile(rf"({start}([\w-]+) -->\n).*?({end})", re.DOTALL)
    page.write_text(pattern.sub(block, page.read_text(encoding="utf8")), encoding="utf8")
    return filled
