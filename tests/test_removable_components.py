"""The components that no other subpackage imports can be removed: without their folders, the tests of the rest pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import pytest

from .compiled_kernels import copy_compiled_kernels
from .test_imports_point_one_way import REMOVABLE, ROOT, imported_modules

COPIED = ("spacy_dtparse", "training", "tests", "assets", "docs", "README.md", "pyproject.toml")
OTHERS = {
    *("golden", "hostile", "engines", "shipped", "web", "properties"),  # tests of all models that ship with the package
    *("annotation", "linear", "nn", "query", "scoring", "trees", "viz"),  # of code that looks up no component by name
}
"""Folders of tests that are not run again without the components."""
USES = (
    *REMOVABLE, "en_pcfgla", "en_bpm", "CONSTITUENT_FACTORIES", "both_factories", "link_parser", "link_model",
    "latent_parser", "bench_modules",
)  # fmt: skip
"""Names of the removable components, their models and fixtures that train them: tests with one of them are theirs."""
pytestmark = pytest.mark.slow


def copy_without_them(folder: Path) -> None:
    """Copy the sources without the folders of the removable components."""
    ignored = shutil.ignore_patterns(*REMOVABLE, "__pycache__", "en_pcfgla", "en_bpm")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    installed = distribution("spacy-dtparse")  # spaCy imports all entry points, so those of the components go as well
    metadata = folder / f"spacy_dtparse-{installed.version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(installed.read_text("METADATA") or "", "utf8")
    lines = (installed.read_text("entry_points.txt") or "").splitlines(keepends=True)
    kept = [line for line in lines if not any(f"spacy_dtparse.{name}." in line for name in REMOVABLE)]
    assert len(kept) < len(lines)
    (metadata / "entry_points.txt").write_text("".join(kept), "utf8")


def file_of(module: str, root: Path) -> Path | None:
    """The file of a module, or of the module that defines a name."""
    for name in (module, module.rpartition(".")[0]):
        path = root.joinpath(*name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


@cache
def imported_files(path: Path, root: Path) -> frozenset[Path | None]:
    """The files of ours that a module imports; None among them if one is missing."""
    ours = (module for module in imported_modules(path, root) if module.split(".")[0] in COPIED)
    return frozenset(None if REMOVABLE & set(module.split(".")) else file_of(module, root) for module in ours)


def is_complete(path: Path, root: Path) -> bool:
    """Whether all modules that a test module imports, directly or not, are there."""
    seen: set[Path] = set()
    waiting: set[Path | None] = {path}
    while waiting:
        file = waiting.pop()
        if file is None:
            return False
        seen.add(file)
        if file.stem not in ("test_imports_point_one_way", "conftest"):
            waiting |= imported_files(file, root) - seen
    return True


def files_of_the_rest(root: Path) -> list[str]:
    """The test files that need none of the removed components."""
    paths = sorted((root / "tests").rglob("test_*.py"))
    return [
        str(path.relative_to(root))
        for path in paths
        if not OTHERS & set(path.relative_to(root).parts)
        and path.parent != root / "tests"
        and is_complete(path, root)
        and not any(name in path.read_text(encoding="utf8") for name in USES)
    ]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    caches = {"NUMBA_CACHE_DIR": str(folder / "kernels")}  # other sources: stamps would be written again in turns
    environment = {**os.environ, **caches, "PYTHONPATH": str(folder), "SPACY_DTPARSE_WAIT": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_rest_works_without_them(tmp_path):
    copy_without_them(tmp_path)
    copy_compiled_kernels(tmp_path / "kernels")
    program = """
import spacy_dtparse, pathlib, pkgutil, importlib
assert pathlib.Path(spacy_dtparse.__file__).is_relative_to(pathlib.Path.cwd()), spacy_dtparse.__file__
names = [one.name for one in pkgutil.walk_packages(spacy_dtparse.__path__, "spacy_dtparse.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names), spacy_dtparse.load()("The cat sat on the mat.")._.constituents[0]._.parse_string)
"""
    done = run(tmp_path, "-c", program)
    assert done.returncode == 0, done.stderr
    modules, tree = done.stdout.split(" ", 1)
    assert int(modules) > 100
    assert tree.startswith("(TOP (S (NP (DT The) (NN cat))") or tree.startswith("(S (NP (DT The) (NN cat))"), tree
    files = files_of_the_rest(tmp_path)
    assert len(files) > 60, files
    # Tests of kernels are left out: no kernel knows which components there are.
    done = run(tmp_path, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow and not kernel", *files)
    assert done.returncode == 0, done.stdout[-4000:]
