"""All exceptions of the package are in one module."""

import ast
import builtins
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spacy_dtparse
from spacy_dtparse import errors

PACKAGE = Path(spacy_dtparse.__file__).parent
MOVING = PACKAGE.parent / "docs" / "moving"


def is_exception(base: str) -> bool:
    found = getattr(builtins, base, None) or getattr(errors, base, None)
    exceptional = isinstance(found, type) and issubclass(found, BaseException)
    return exceptional or base.endswith(("Error", "Exception", "Warning"))


def test_no_other_module_defines_an_exception():
    """Except for private ones, which their modules raise and catch themselves."""
    found = [
        f"{path.relative_to(PACKAGE)}:{node.name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != Path(errors.__file__)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        for base in node.bases
        if is_exception(ast.unparse(base).rpartition(".")[2])
    ]
    assert found == []


def test_all_are_exported():
    defined = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, BaseException)
    }
    assert defined == set(errors.__all__)
    assert all(issubclass(getattr(errors, name), errors.DtparseError) for name in errors.__all__)


@pytest.mark.parametrize("module", ["core", "errors", "pipeline", "query", "scoring", "trees", "viz"])
def test_modules_of_the_documents_need_no_import_of_their_own(module):
    """`import spacy_dtparse` is enough for `spacy_dtparse.errors.NonConstituentError`."""
    program = f"import spacy_dtparse; assert spacy_dtparse.{module}.__name__ == 'spacy_dtparse.{module}'"
    program += f"; assert '{module}' in dir(spacy_dtparse)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=PACKAGE.parent)


@pytest.mark.parametrize("page", sorted(MOVING.glob("*.md")), ids=lambda page: page.name)
def test_errors_on_the_pages_for_users_of_other_parsers(page):
    names = set(re.findall(r"`(?:\w+\.)*(\w+Error)\b", page.read_text(encoding="utf8")))
    assert [name for name in names if not hasattr(errors, name) and not hasattr(builtins, name)] == []
