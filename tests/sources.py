"""Words of Python sources, by a regular expression: four times as fast as `tokenize` for tests that read all files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_TOKEN = re.compile(
    r"""(?P<text>\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3})|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<comment>\#.*)|(?P<name>[^\W\d]\w*)|(?P<number>\d\w*)"""
)


@cache
def text_of(path: Path) -> str:
    """The source of a module."""
    return path.read_text(encoding="utf8")


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(text_of(path))


def tokens_of(path: Path) -> Iterator[tuple[str, str, int]]:
    """(Kind, token, offset) of names and keywords ("name"), of strings in one line ("string") and in several ("text"),
    of comments ("comment") and of numbers ("number")."""
    return ((str(found.lastgroup), found.group(), found.start()) for found in _TOKEN.finditer(text_of(path)))
