"""Code blocks of the documents, for the tests that run them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Block(NamedTuple):
    """A fenced code block: its language, its text, and the line its text starts at (from 1)."""

    language: str
    text: str
    line: int


def blocks(name: str, *languages: str) -> list[Block]:
    """The fenced code blocks of a document of the repository in the given languages, in order."""
    text = (ROOT / name).read_text(encoding="utf8")
    found = [
        Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1)
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    ]
    assert found, f"{name} has no code block"
    return [block for block in found if block.language in languages]


def commands(name: str) -> list[str]:
    """The lines of the document's bash blocks."""
    return [line for block in blocks(name, "bash") for line in block.text.splitlines() if line.strip()]


def run_python(block: Block, name: str, namespace: dict) -> None:
    """Run a Python block in `namespace`; tracebacks name the document and its line."""
    code = compile("\n" * (block.line - 1) + block.text, str(ROOT / name), "exec")
    exec(code, namespace)
