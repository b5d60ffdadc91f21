"""Fill the marked blocks of a Markdown page: `<!-- PREFIX: NAME -->` … `<!-- /PREFIX -->`."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from spacy_dtparse.errors import ConfigError


def fill_blocks(page: Path, prefix: str, makers: Mapping[str, Callable[[], str | None]]) -> list[str]:
    """Fill the blocks of the file `page` and return the names of those that were filled.

    A block whose maker gives None stays as it is. Raises ConfigError for a block that has no maker.
    """
    filled: list[str] = []

    def block(match: re.Match[str]) -> str:
        name = match[2]
        if name not in makers:
            raise ConfigError(f"{page}: there is no table {name!r}; allowed are {', '.join(makers)}")
        text = makers[name]()
        if text is None:
            return match[0]
        filled.append(name)
        return f"{match[1]}{text}\n{match[3]}"

    start, end = (re.escape(f"<!-- {mark}") for mark in (f"{prefix}: ", f"/{prefix} -->"))
    pattern = re.compile(rf"({start}([\w-]+) -->\n).*?({end})", re.DOTALL)
    page.write_text(pattern.sub(block, page.read_text(encoding="utf8")), encoding="utf8")
    return filled
