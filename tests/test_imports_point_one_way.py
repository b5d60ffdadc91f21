"""The layers of docs/design.md: subpackages import only subpackages below them; nothing imports the trainers.

Imports are read from the syntax tree, so those inside functions count as well. Imports for type checking only do not
count: they create no dependency at run time.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "spacy_dtparse"
BASE = {"checks", "errors", "dtypes", "symbols", "text", "memory", "stored_names"}
ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "trees": {"base"},
    "scoring": {"base", "trees"},
    "kernels": {"base"},
    "features": {"base", "trees", "kernels"},
    "model": {"base", "trees", "kernels", "features"},
    "parsers": {"base", "trees", "scoring", "kernels", "features", "model"},
    "viz": {"base", "trees"},
    "query": {"base", "trees"},
    "models": {"base"},
    "pipeline": {"base", "trees", "scoring", "kernels", "features", "model", "models", "parsers", "viz", "query"},
    "web": {
        "base", "trees", "scoring", "kernels", "features", "model", "models", "parsers", "viz", "query", "pipeline",
    },
    "cli": {
        # package: load() and __version__
        "base", "trees", "scoring", "kernels", "features", "model", "models", "parsers", "viz", "query", "pipeline",
        "web", "package",
    },
    # __init__ exports load() and, at first use, the functions of pipeline.attributes; __main__ is the
    # command line
    "package": {"base", "models", "pipeline", "web", "cli"},
}  # fmt: skip
TRAINERS = {"dtree", "span", "pcfg", "dependency", "pos_tagger", "loglinear_tagger", "teacher", "clusters"}
COMPOSITES = {"self_train", "supertag_adaptation"}
TRAINING: dict[str, set[str]] = {
    "runs": set(),
    "data": {"runs"},
    "recurrent": set(),
    **{subpackage: {"runs", "data"} for subpackage in TRAINERS},
    **{subpackage: {"runs", "data", "recurrent"} for subpackage in ("span", "pos_tagger")},
    "self_train": {"runs", "data"} | TRAINERS,
    "supertag_adaptation": {"runs", "data", "self_train"} | TRAINERS,
    "studies": {"runs", "data", "recurrent"} | TRAINERS | COMPOSITES,
    "cli": {"runs", "data", "recurrent", "studies"} | TRAINERS | COMPOSITES,
    "__main__": {"cli"},
}
"""Subpackage of training/ -> other subpackages of training/ that it may import. All may import the package."""
EXCEPTIONS = {"trees/heads_compiled.py": {"kernels"}}
"""File -> subpackages that it may import in addition to those of its own. Head rules are data of `trees` that a kernel
applies."""
NUMBA = {"kernels/jit.py", "kernels/cache_state.py", "kernels/vectors.py"}
"""Files that import numba: the decorator of all kernels, the check whether its cache is filled, and code that kernels
cannot express."""
NUMBA_VERSION_ONLY = {"cli/info.py"}
"""A file that imports numba only to print its version."""


def subpackage_of(module: str) -> str:
    """The subpackage of a module of the package, given by its dotted name."""
    parts = module.split(".")
    if len(parts) == 1 or not any((PACKAGE / f"{parts[1]}{end}").exists() for end in ("", ".py")):
        return "package"  # a name of the package itself, such as spacy_dtparse.load
    if parts[1] in ("__init__", "__main__"):
        return "package"
    return "base" if parts[1] in BASE else parts[1]


def _type_checking_only(tree: ast.Module) -> set[ast.AST]:
    nodes: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            nodes.update(inner for statement in node.body for inner in ast.walk(statement))
    return nodes


def imported_modules(path: Path, root: Path = ROOT) -> set[str]:
    """Absolute dotted names of the modules that a file imports at run time; `from a import b` gives a.b."""
    tree = ast.parse(path.read_text(encoding="utf8"))
    skipped = _type_checking_only(tree)
    package = list(path.relative_to(root).parent.parts)
    found = set()
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_subpackages_import_only_what_is_below(path):
    name = str(path.relative_to(PACKAGE).as_posix())
    subpackage = subpackage_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    assert subpackage in ALLOWED, f"{name} is in a subpackage that docs/design.md does not describe"
    allowed = ALLOWED[subpackage] | {subpackage} | EXCEPTIONS.get(name, set())
    for module in imported_modules(path):
        top = module.split(".")[0]
        assert top not in ("training", "tests", "benchmarks"), f"{name} imports {module}"
        if top == "spacy_dtparse":
            assert subpackage_of(module) in allowed, (
                f"{name} ({subpackage}) imports {module}; allowed are {sorted(allowed)}"
            )
        if top == "numba":
            assert name in NUMBA | NUMBA_VERSION_ONLY, f"{name} imports numba; use kernels.jit.kernel"
        if top == "spacy" and subpackage not in ("pipeline", "web", "cli", "package"):
            raise AssertionError(f"{name} ({subpackage}) imports spaCy")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "training").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_trainers_do_not_import_one_another(path):
    subpackage = path.relative_to(ROOT / "training").with_suffix("").parts[0]
    if subpackage == "__init__":
        return
    assert subpackage in TRAINING, f"{path} is in a subpackage of training/ that docs/design.md does not describe"
    for module in imported_modules(path):
        top, *rest = module.split(".")
        assert top not in ("tests", "benchmarks"), f"{path} imports {module}"
        if top == "training" and rest[0] != subpackage:
            allowed = sorted(TRAINING[subpackage])
            assert rest[0] in allowed, f"{path} imports {module}; allowed are {allowed}"


TASK_FOLDERS = {"trees", "span", "pcfg", "linear"}
"""Folders of kernels, features and model: none imports another one, and code that they share imports none of them."""


def task_folder_of(module: str) -> str | None:
    """The task folder of a module of kernels, features or model; None for shared code and for other modules."""
    parts = module.split(".")
    if len(parts) < 3 or parts[1] not in ("kernels", "features", "model"):
        return None
    return parts[2] if parts[2] in TASK_FOLDERS else None


def test_task_folders_do_not_import_one_another():
    seen = set()
    for path in FILES:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if name.split(".")[1] not in ("kernels", "features", "model"):
            continue
        folder = task_folder_of(name)
        seen.add(folder)
        for module in imported_modules(path):
            assert task_folder_of(module) in (None, folder), f"{name} imports {module}"
    assert seen == TASK_FOLDERS | {None}


def test_sibling_parsers_do_not_import_one_another():
    siblings = {path.name for path in (PACKAGE / "parsers").iterdir() if (path / "__init__.py").is_file()}
    assert "dtree" in siblings
    for path in FILES:
        parts = path.relative_to(PACKAGE).parts
        if parts[0] != "parsers" or len(parts) < 3:
            continue
        for module in imported_modules(path):
            inner = module.split(".")
            if inner[:2] == ["spacy_dtparse", "parsers"] and len(inner) > 2 and inner[2] in siblings:
                assert inner[2] == parts[1], f"{'/'.join(parts)} imports {module}"


def test_the_design_document_says_the_same():
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf8")
    documented = dict(re.findall(r"^\| `([a-z]+)/` \|[^|]*\| ([^|]*) \|$", text, re.MULTILINE))
    order = list(documented)
    assert set(order) == set(ALLOWED) - {"base", "package"} | {"training"}
    for subpackage in set(order) - {"training"}:
        listed = set(re.findall(r"[a-z]+", documented[subpackage]))
        if listed == {"all", "above"}:
            listed = {"base", *order[: order.index(subpackage)]}
        assert ALLOWED[subpackage] - {"package"} <= listed, (
            f"{subpackage} may import more in this test than in docs/design.md"
        )
    trainers = dict(re.findall(r"^\| `training/([a-z_]+)/` \|[^|]*\| ([^|]*) \|$", text, re.MULTILINE))
    assert set(trainers) == set(TRAINING) - {"__main__"}
    for subpackage, listed in trainers.items():
        words = set(re.findall(r"[a-z_]+", listed))
        named = words & set(TRAINING) | (TRAINERS if "trainers" in words else set())
        if words == {"all", "above"}:
            named = set(list(trainers)[: list(trainers).index(subpackage)])
        assert TRAINING[subpackage] == named, f"{subpackage}: this test and docs/design.md allow different imports"
    for name, subpackages in EXCEPTIONS.items():
        assert re.search(rf"`{re.escape(name)}`[^\n]*`{'`, `'.join(sorted(subpackages))}`", text), name


def test_imports_are_found(tmp_path):
    """Test `imported_modules` itself: relative, nested and type-checking imports."""
    path = tmp_path / "spacy_dtparse" / "trees" / "bad.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "from typing import TYPE_CHECKING\nfrom ..model import rules\nfrom . import heads\n"
        "if TYPE_CHECKING:\n    import spacy\ndef f():\n    from training.dtree.fit import Fit\n    import numba\n"
    )
    assert imported_modules(path, tmp_path) == {
        "typing.TYPE_CHECKING",
        "spacy_dtparse.model.rules",
        "spacy_dtparse.trees.heads",
        "training.dtree.fit.Fit",
        "numba",
    }


@pytest.mark.parametrize(
    "statement", ["import spacy_dtparse", "import spacy; spacy.blank('en')", "import spacy_dtparse.pipeline.component"]
)
def test_a_light_import(statement):
    """spaCy imports every plugin of the environment at every start: no numba, no kernels, no trainers."""
    code = (
        f"{statement}\nimport sys\n"
        "kinds = ('spacy_dtparse.kernels', 'training')\n"
        "heavy = [m for m in sys.modules if m == 'numba' or m.startswith(kinds)]\n"
        "print(heavy)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
