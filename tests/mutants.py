"""Mutation testing: small changes of the features, kernels and decoders, one at a time; their tests must notice each.

    python -m tests.mutants --count 300 --seed 1 --output build/mutants.jsonl
    python -m tests.mutants --only spacy_dtparse/span_parser/kernels/chart.py:47:8:1     a survivor once more

Sources are never written: a forked process imports the changed text in place of the module's file and runs the module's
tests there, kernels as plain Python (NUMBA_DISABLE_JIT=1). What is imported before the fork costs nothing per mutant.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any, NamedTuple

from tests.test_imports_point_one_way import COMPONENTS, imported_modules

ROOT = Path(__file__).resolve().parents[1]
SHARED = ("kernels.py", "kernels/*.py")
"""Kernels, of any subpackage."""
OWN = ("features.py", "features/*.py", "kbest.py", "long.py", "chart.py", "decoders.py", "latent.py")
"""Features and decoders of a component."""
CORE = ("supertags", "marginals", "constraints", "kbest")
MEMORY = 8 << 30
"""Bytes of address space for one mutant: some allocate without end."""

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}


class Mutant(NamedTuple):
    """A change: the characters `start` to `end` of a file become `text`."""

    file: str
    line: int
    column: int
    number: int
    """Which of the changes that begin there."""
    start: int
    end: int
    before: str
    text: str

    @property
    def name(self) -> str:
        """The mutant's name in the format of `--only`."""
        return f"{self.file}:{self.line}:{self.column}:{self.number}"


def _changed(node: ast.AST) -> Iterator[str]:
    """Replacements for the node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        swapped = COMPARISONS[type(node.ops[0])]()
        yield f"({ast.unparse(ast.Compare(node.left, [swapped], node.comparators))})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield repr(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield f"({node.value + 1!r})"
        yield f"({node.value - 1!r})"
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield f"({ast.unparse(ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right))})"
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"({ast.unparse(ast.BoolOp(other, node.values))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.AugAssign):
        yield "pass"
        if type(node.op) in ARITHMETIC:
            yield ast.unparse(ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value))
    elif isinstance(node, ast.Break | ast.Continue | ast.Raise):
        yield "pass"
    elif isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
        yield "pass"
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript | ast.Attribute):
        yield "pass"


def _condition(node: ast.AST) -> ast.expr | None:
    """The condition of the node, if no other change negates it."""
    if not isinstance(node, ast.If | ast.While | ast.IfExp):
        return None
    if isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return node.test
    return None if isinstance(node.test, ast.Compare | ast.UnaryOp) else node.test


def _behaviour(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is below it, without imports, annotations, decorators and what only type checkers read."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.AST) and not isinstance(child, ast.Import | ast.ImportFrom):
                yield from _behaviour(child)


def mutants_of(file: str, source: str) -> list[Mutant]:
    """All mutants of a file's text, in the order of their positions."""
    lines = source.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))

    def place(line: int, column: int) -> int:  # ast counts bytes
        return offsets[line - 1] + len(lines[line - 1].encode()[:column].decode())

    found: list[Mutant] = []
    seen: dict[tuple[int, int], int] = {}

    def add(node: Any, text: str) -> None:
        start, end = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
        number = seen[node.lineno, node.col_offset] = seen.get((node.lineno, node.col_offset), 0) + 1
        found.append(Mutant(file, node.lineno, node.col_offset, number, start, end, source[start:end], text))

    for node in _behaviour(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            continue
        for text in _changed(node):
            add(node, text)
        condition = _condition(node)
        if condition is not None:
            add(condition, f"(not ({ast.unparse(condition)}))")
    return sorted(found, key=lambda mutant: mutant[1:4])


@cache
def mutated_files() -> tuple[str, ...]:
    """The files that are changed: features, kernels and decoders."""
    package = ROOT / "spacy_dtparse"
    found = {path for pattern in SHARED for path in package.glob(f"*/{pattern}")}
    found |= {path for part in COMPONENTS for pattern in OWN for path in (package / part).glob(pattern)}
    found |= {package / "core" / f"{name}.py" for name in CORE}
    return tuple(sorted(str(path.relative_to(ROOT)) for path in found if path.name != "__init__.py"))


@cache
def _importers() -> dict[str, set[str]]:
    """{dotted name of a module: the files of the package and of the tests that import it}"""
    found = defaultdict(set)
    for part in ("spacy_dtparse", "training", "tests"):
        for path in (ROOT / part).rglob("*.py"):
            for module in imported_modules(path):
                found[module].add(str(path.relative_to(ROOT)))
                found[module.rpartition(".")[0]].add(str(path.relative_to(ROOT)))
    return found


@cache
def tests_of(file: str) -> tuple[str, ...]:
    """The tests of a file: those that import it, and those of its subpackage that import a module that does. If there
    are none, the tests of the nearest modules that depend on it."""
    folder = f"tests/{file.split('/')[1]}/"
    seen, level = {file}, {file}
    found: set[str] = set()
    for distance in range(5):
        level = {one for name in level for one in _importers()[name[:-3].replace("/", ".")]} - seen
        seen |= level
        tests = {one for one in level if Path(one).name.startswith("test_") and "/golden/" not in one}
        found |= tests if distance == 0 or not found else {one for one in tests if one.startswith(folder)}
        if found and distance:
            break
    return tuple(sorted(found))


def all_mutants() -> list[Mutant]:
    """The mutants of all `mutated_files`."""
    return [one for file in mutated_files() for one in mutants_of(file, (ROOT / file).read_text())]


class _Changed(SourceFileLoader):
    """Loads a module from a text in place of its file's."""

    def __init__(self, name: str, path: str, text: str):
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> Any:
        return compile(self._text, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, file: str, text: str):
        self._name, self._path, self._text = file[:-3].replace("/", "."), str(ROOT / file), text

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(
            fullname, self._path, loader=_Changed(fullname, self._path, self._text)
        )


def _run(file: str, text: str, log: Path) -> int:
    """In the forked process: the file's tests with `text` in place of the file."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with log.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.meta_path.insert(0, _Finder(file, text))
    import pytest

    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow and not embedded", "--tb=line"]
    return int(pytest.main([*options, *tests_of(file)]))


def tested(file: str, text: str, limit: float) -> tuple[str, float, str]:
    """The verdict of the tests on a file's changed text: "caught", "time" (caught: over `limit` seconds) or "survived";
    the seconds; the last line of their output."""
    began = time.monotonic()
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        child = os.fork()
        if child == 0:
            code = 3
            try:
                code = _run(file, text, Path(log.name))
            finally:
                os._exit(code)
        status = None
        while status is None:
            done, status_now = os.waitpid(child, os.WNOHANG)
            if done:
                status = status_now
            elif time.monotonic() - began > limit:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return "time", time.monotonic() - began, ""
            else:
                time.sleep(0.05)
        said = [line for line in Path(log.name).read_text(errors="replace").splitlines() if line.strip()]
    code = os.waitstatus_to_exitcode(status)
    if code in (4, 5):  # wrong use, no tests
        raise SystemExit(f"tests of {file}: {said[-3:]}")
    failed = [line for line in said if line.startswith(("FAILED", "ERROR"))]
    return "survived" if code == 0 else "caught", time.monotonic() - began, (failed or said or [""])[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="how many mutants, drawn from all (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: 1)")
    parser.add_argument("--only", nargs="+", help="these mutants alone, named as in the output")
    parser.add_argument("--output", type=Path, help="a JSON line per mutant; those that are there are not run again")
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ.update(NUMBA_DISABLE_JIT="1", SPACY_DTPARSE_WAIT="1")
    for name in ("numba", "numpy", "pytest", "spacy"):
        importlib.import_module(name)
    if any(name.startswith("spacy_dtparse.") for name in sys.modules):
        raise SystemExit("the package was imported too early")

    every = all_mutants()
    if options.only:
        drawn = [one for one in every if one.name in options.only]
    else:
        drawn = sorted(random.Random(options.seed).sample(every, options.count))
    done = {}
    if options.output and options.output.is_file():
        done = {one["name"]: one for one in map(json.loads, options.output.read_text().splitlines())}
    files = {one.file for one in drawn}
    print(f"{len(drawn)} of {len(every)} mutants in {len(files)} of {len(mutated_files())} files", flush=True)
    limits: dict[str, float] = {}
    caught = 0
    for mutant in drawn:
        kept = done.get(mutant.name)
        if kept is None:
            source = (ROOT / mutant.file).read_text()
            if mutant.file not in limits:
                outcome, seconds, said = tested(mutant.file, source, 600)
                if outcome != "survived":
                    raise SystemExit(f"the tests of {mutant.file} fail without a change: {said}")
                limits[mutant.file] = 20 + 4 * seconds
                print(f"{mutant.file}: {seconds:.1f} s", flush=True)
            text = source[: mutant.start] + mutant.text + source[mutant.end :]
            outcome, seconds, said = tested(mutant.file, text, limits[mutant.file])
            kept = {"name": mutant.name, "outcome": outcome, "seconds": round(seconds, 1), "before": mutant.before}
            kept |= {"after": mutant.text, "said": said}
            if options.output:
                with options.output.open("a") as lines:
                    lines.write(json.dumps(kept) + "\n")
        caught += kept["outcome"] != "survived"
        if kept["outcome"] == "survived":
            print(f"survived {mutant.name}: {mutant.before!r} -> {mutant.text!r}", flush=True)
    print(f"caught {caught} of {len(drawn)} ({caught / max(len(drawn), 1):.1%})")


if __name__ == "__main__":
    main()
