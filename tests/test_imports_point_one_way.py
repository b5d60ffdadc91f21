"""The layers of docs/design.md: subpackages import only subpackages below them; nothing imports the trainers.

Imports are read from the syntax tree, so those inside functions count as well. Imports for type checking only do not
count: they create no dependency at run time.
"""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

from .sources import text_of, tree_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "spacy_dtparse"
BASE = {"checks", "errors", "dtypes", "symbols", "text", "memory", "stored_names", "files", "json_text"}
SHARED = {"base", "jit", "trees", "scoring", "model_io", "nn", "linear", "core"}
"""The subpackages that all parsers and taggers may use."""
COMPONENTS = (
    "recurrent_tagger",
    "span_parser",
    "dtparse",
    "pcfgla",
    "bpm_parser",
    "spine_tagger",
    "dependency_phrases",
)
"""A folder per component. Its modules `component` and `scorer` are for spaCy, the others do not import spaCy."""
REMOVABLE = {"pcfgla", "bpm_parser", "spine_tagger"}
"""Components that no other subpackage imports: without their folders, the others work."""
DOCS = SHARED | {"viz", "query", "models", "pipeline"} | (set(COMPONENTS) - REMOVABLE)
ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "jit": {"base"},
    "trees": {"base", "jit"},
    "scoring": {"base", "trees"},
    "model_io": {"base"},
    "nn": {"base", "jit", "model_io"},
    "linear": {"base", "jit", "model_io"},
    "core": {"base", "jit", "trees", "scoring", "model_io"},
    "viz": {"base", "trees"},
    "query": {"base", "trees"},
    "models": {"base", "core"},
    "pipeline": SHARED | {"viz", "query", "models"},
    **dict.fromkeys(COMPONENTS, SHARED | {"models", "pipeline"}),
    "web": DOCS,
    "annotation": DOCS | {"web"},
    "cli": DOCS | {"web", "annotation", "package"},  # package: load() and __version__
    # __init__ exports load() and, at first use, the functions of pipeline.attributes; __main__ is the command line
    "package": {"base", "models", "pipeline", "web", "annotation", "cli"},
}
TRAINERS = {*COMPONENTS, "teacher", "clusters"} - {"dependency_phrases"}  # rules, not trained
COMPOSITES = {"self_training", "supertag_adaptation"}
TRAINING: dict[str, set[str]] = {
    "runs": set(),
    "data": {"runs"},
    "nn": set(),
    **{subpackage: {"runs", "data"} for subpackage in TRAINERS},
    **{subpackage: {"runs", "data", "nn"} for subpackage in ("span_parser", "recurrent_tagger", "teacher")},
    "annotation": {"runs", "data", "dtparse", "span_parser"},
    "self_training": {"runs", "data"} | TRAINERS,
    "supertag_adaptation": {"runs", "data", "self_training"} | TRAINERS,
    "studies": {"runs", "data", "nn", "annotation"} | TRAINERS | COMPOSITES,
    "cli": {"runs", "data", "nn", "annotation", "studies"} | TRAINERS | COMPOSITES,
    "__main__": {"cli"},
}
"""Subpackage of training/ -> other subpackages of training/ that it may import. All may import the package."""
EXCEPTIONS = {"trees/tree.py": {"viz"}}
"""File -> subpackages that it may import in addition to those of its own. A Tree draws itself in a notebook."""
NUMBA = {"jit/__init__.py", "jit/decorator.py", "jit/sources.py", "jit/cache_state.py", "nn/kernels/vectors.py"}
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


@cache
def imported_modules(path: Path, root: Path = ROOT) -> frozenset[str]:
    """Absolute dotted names of the modules that a file imports at run time; `from a import b` gives a.b."""
    tree = tree_of(path)
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
    return frozenset(found)


FILES = sorted(PACKAGE.rglob("*.py"))


def test_subpackages_import_only_what_is_below():
    for path in FILES:
        check_imports(path)


def check_imports(path):
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
            assert name in NUMBA | NUMBA_VERSION_ONLY, f"{name} imports numba; use jit.decorator.kernel"
        for_spacy = subpackage in COMPONENTS and path.stem in ("component", "scorer")
        if "pipeline" in module.split(".")[1:2]:
            assert for_spacy or subpackage not in COMPONENTS, f"{name} imports {module}"
        if top == "spacy" and not for_spacy and subpackage not in ("pipeline", "web", "annotation", "cli", "package"):
            raise AssertionError(f"{name} ({subpackage}) imports spaCy")


def test_trainers_do_not_import_one_another():
    paths = sorted((ROOT / "training").rglob("*.py"))
    assert len(paths) > 50
    for path in paths:
        check_imports_of_trainer(path)


def check_imports_of_trainer(path):
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


def is_kernel_file(path: Path) -> bool:
    """Whether a file of the package is among those that `jit.sources.kernel_sources` names as kernels."""
    return path.stem == "kernels" or path.parent.name == "kernels"


def test_kernels_depend_on_kernel_sources_only():
    """A change of anything that compiled code depends on invalidates the cache of compiled kernels."""
    from spacy_dtparse.jit.sources import kernel_sources

    sources = set(kernel_sources())
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sources}
    assert len(names) > 30
    for path in FILES:
        imported = imported_modules(path)
        if "kernel" not in text_of(path) or path.parent.name == "jit":
            continue
        defines = any(module.startswith("spacy_dtparse.jit.decorator.") for module in imported)
        compiled = defines and re.search(r"^@(\w+_)?kernel\b", text_of(path), re.MULTILINE)
        assert not compiled or path in sources, f"{path}: kernels belong into a file kernels.py or a folder kernels/"
        if is_kernel_file(path):
            for module in imported:
                own = module.startswith("spacy_dtparse.") and not module.startswith("spacy_dtparse.stored_names")
                assert not own or names & {module, module.rpartition(".")[0]}, f"{path} imports {module}"


def test_the_design_document_says_the_same():
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf8")
    documented = dict(re.findall(r"^\| `([a-z_]+)/` \|[^|]*\| ([^|]*) \|$", text, re.MULTILINE))
    order = list(documented)
    assert set(order) == set(ALLOWED) - {"base", "package"} | {"training"}
    for subpackage in set(order) - {"training"}:
        listed = set(re.findall(r"[a-z_]+", documented[subpackage]))
        if {"all", "above"} <= listed:
            without = set(COMPONENTS) if listed == {*"all above without components".split()} else set()
            without |= REMOVABLE if "last" in listed else set()
            listed = {"base", *order[: order.index(subpackage)]} - without
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


def test_the_picture_of_the_imports_is_up_to_date():
    script = ROOT / "docs" / "img" / "draw_imports.py"
    namespace = runpy.run_path(str(script))
    assert namespace["draw"]() == namespace["PICTURE"].read_text(encoding="utf8"), f"python {script.relative_to(ROOT)}"


def test_imports_are_found(tmp_path):
    """Test `imported_modules` itself: relative, nested and type-checking imports."""
    path = tmp_path / "spacy_dtparse" / "trees" / "bad.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "from typing import TYPE_CHECKING\nfrom ..model_io import rules\nfrom . import heads\n"
        "if TYPE_CHECKING:\n    import spacy\ndef f():\n    from training.dtparse.fit import Fit\n    import numba\n"
    )
    assert imported_modules(path, tmp_path) == {
        "typing.TYPE_CHECKING",
        "spacy_dtparse.model_io.rules",
        "spacy_dtparse.trees.heads",
        "training.dtparse.fit.Fit",
        "numba",
    }


def test_light_imports():
    """spaCy imports every plugin of the environment at every start: no numba, no kernels, no trainers."""
    statements = [
        "import spacy_dtparse",
        "import spacy; spacy.blank('en')",
        "import spacy_dtparse.pipeline.registration",
    ]
    code = "import sys\nkinds = ('spacy_dtparse.jit', 'training')\n" + "".join(
        f"{statement}\nprint([m for m in sys.modules if m == 'numba' or m.startswith(kinds)])\n"
        for statement in statements
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines() == ["[]"] * len(statements)
