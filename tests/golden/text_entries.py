"""Entries of the output of commands."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout

from . import project
from .store import Entry, text

CHANGING = ("software",)
"""Sections of `dtparse info` about this machine and its software."""
TEXT = "She closed the door (the green one) and left."


def info_entries(group: str) -> Iterator[Entry]:
    """Yield entries of `dtparse info` of each shipped pipeline, without the parts that depend on the machine."""
    for name in project.PARSERS:
        yield text(f"{group}/{name}", stable_info(name))
    for form in ("brackets", "conllu"):
        yield text(f"{group}/parse as {form}", _printed(["parse", "--format", form, "--text", TEXT]))
    yield text(f"{group}/parse k best", _printed(["parse", "--k-best", "3", "--text", TEXT]))


def stable_info(name: str) -> str:
    """The output of `dtparse info` without versions of software and the path of the pipeline."""
    info = json.loads(_printed(["info", "--json", "--pipeline", name]))
    for section in CHANGING:
        info.pop(section, None)
    info["pipeline"].pop("path", None)
    return json.dumps(info, ensure_ascii=False)


def _printed(arguments: list[str]) -> str:
    """Return the output of a command. Raises RuntimeError if it fails."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        code = project.run_command(arguments)
    if code:
        raise RuntimeError(f"dtparse {' '.join(arguments)} ended with {code}")
    return printed.getvalue()
