"""Rules for names and docstrings (CONTRIBUTING.md, "Words"), so that a stranger to the project can read them.

- The first line of a docstring is an imperative or names what is returned; none begins with "What", "Of" or "Those".
- A function is a verb or the noun of what it returns; no name consists of a participle alone.
- Words that the project once used for things that have a name in the field do not come back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from .sources import text_of, tokens_of, tree_of

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("spacy_dtparse", "training", "benchmarks", "tests", "docs", ".ci")
SOURCES = [path for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))]
OWN = Path(__file__).resolve()
DOCUMENTS = sorted(
    path for part in (".", "docs", "assets") for path in (ROOT / part).glob("*.md" if part == "." else "**/*.md")
)
SITES = [ROOT / "project.yml", *sorted((ROOT / "spacy_dtparse" / "web").glob("page.*"))]

IRREGULAR = set(
    "begun bound bought broken brought built caught chosen come cut dealt done drawn driven fallen fed felt fought "
    "found frozen given gone got grown held hid hidden hit kept known laid led left lent let lit lost made meant met "
    "paid put read risen run said seen sent set shown shut sought sold spelt spent split spread stood stolen struck "
    "stuck sworn taken taught thought thrown told torn understood won worn wound woven written".split()
)
NOT_PARTICIPLES = {"bed", "embed", "feed", "need", "red", "seed", "shed", "speed", "unneed"}
PARTICLES = {"again", "all", "apart", "as", "at", "by", "for", "from", "in", "of", "off", "on", "out", "over", "to",
             "together", "under", "up", "with"}  # fmt: skip
PARTICIPLES_ALLOWED = {
    "run": "the imperative, too: the usual name of functions of commands, tasks and workers",
    "read": "the imperative: reads a file or a text",
    "put": "the imperative",
    "set": "the imperative",
    "split": "the imperative",
    "spread": "the imperative",
    "cut": "the imperative",
    "shut": "the imperative",
    "succeed": "the imperative",
    "left": "the direction",
    "compiled": "a property of a kernel: the compiled function",
    "stored_as": "a decorator, read as a statement about the class below it",
    "to_stored": "a conversion to stored data, like to_dict",
    "from_stored": "a conversion from stored data, like from_dict",
    "unchecked": "an alternative constructor, Tree.unchecked",
}
"""Names of functions that look like participles, and why they are right."""

OLD_NAMES = {
    "alone": "exclusive, lock", "bare": "unattached", "belief": "marginal", "beliefs": "marginals",
    "believe": "marginals", "believed": "marginals", "believer": "annotator", "chances": "probs",
    "disbelieved": "pruned", "firsts": "offsets", "gate": "window filter", "gated": "filtered",
    "hide": "word dropout", "judge": "evaluate", "judged": "evaluated", "masses": "probs", "mended": "repair",
    "offered": "supertags", "offering": "supertags", "offers": "supertags", "orphan": "unattached",
    "orphans": "unattached", "proof": "self-test", "proofs": "golden parses", "remembered": "memo",
    "sided": "directional", "sieve": "filter", "steered": "constrained", "sure": "confidence", "surest": "top",
    "taught": "distilled", "tell": "log", "teller": "logger", "telling": "logger", "told": "reported",
    "trust": "weight", "trusted": "unchecked",
}  # fmt: skip
"""Words that no identifier has as a part, and the words of the field."""
NAMES_ALLOWED = {"tell": "the method of files"}
"""Identifiers with such a part, and why."""

OLD_WORDS = re.compile(
    r"\b(beliefs?|believ(?:e|es|ed|ing)|disbeliev\w+|orphans?|steered|tak(?:e|es|en|ing) up|took up|mend(?:s|ed)?|"
    r"bare (?:tokens?|words?|children|child)|slow twins?|drawers?|surer|surest)\b",
    re.IGNORECASE,
)
"""Words that no prose has: docstrings, comments, messages, documents, the page."""
STORED = re.compile(r"""(["'`])(?:believed|believed_labels)\1|that they believed""")
"""Keys of stored files, names of files, and an input sentence of golden digests; a line may quote them."""


@cache
def words_of(name: str) -> tuple[str, ...]:
    """The words of an identifier, in lower case."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3_\2\4", name)
    return tuple(word.lower() for word in spaced.split("_") if word)


def is_participle(word: str) -> bool:
    return word in IRREGULAR or (word.endswith("ed") and word not in NOT_PARTICIPLES and len(word) > 4)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions and methods of a module."""
    return (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def wrong_docstrings(path: Path) -> list[str]:
    """Docstrings that do not begin with an imperative, or with a noun for what is returned."""
    if not re.search(r'"""\s*(What|Of|Those)\b', text_of(path)):  # no need to parse it
        return []
    return [
        f"{relative(path)}:{node.body[0].lineno}: {text.splitlines()[0]}"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node))
        and re.match(r"(What|Of|Those)\b", text)
    ]


def wrong_functions(path: Path) -> list[str]:
    """Functions that are named neither by a verb nor by the noun of what they return."""
    wrong = []
    for node in functions(path):
        words = [word for word in words_of(node.name) if word not in PARTICLES]
        if words and all(map(is_participle, words)) and node.name.strip("_") not in PARTICIPLES_ALLOWED:
            wrong.append(f"{relative(path)}:{node.lineno}: {node.name}")
    return wrong


def wrong_names(path: Path) -> list[str]:
    """Names that are not those of the field."""
    found = set()
    for kind, name, offset in tokens_of(path):
        better = [OLD_NAMES[word] for word in words_of(name) if word in OLD_NAMES] if kind == "name" else []
        if better and name not in NAMES_ALLOWED:
            line = text_of(path).count("\n", 0, offset) + 1
            found.add(f"{relative(path)}:{line}: {name} (say {', '.join(better)})")
    return sorted(found)


def wrong_words(path: Path) -> list[str]:
    """Lines of prose with private words."""
    if not OLD_WORDS.search(text_of(path)):
        return []
    lines = text_of(path).splitlines()
    return [
        f"{relative(path)}:{k}: {line.strip()}"
        for k, line in enumerate(lines, 1)
        if OLD_WORDS.search(STORED.sub("", line))
    ]


_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_STARTS = re.compile(r"(?:^|[.:;!?]\s+|^[-*>]\s+|^\d+\.\s+)(?=((?:Of|Those|What)\b[^.!?]*[.!?]?))", re.MULTILINE)


def wrong_sentences(path: Path) -> list[str]:
    """Sentences of documents that begin with "Of", "Those" or, unless they are questions, "What"."""
    if path.suffix != ".md":
        return []
    text = _FENCED.sub(lambda block: "\n" * block.group().count("\n"), text_of(path))
    found = []
    for match in {match.start(1): match for match in _STARTS.finditer(text)}.values():
        line_start = match.start(1) == 0 or text[match.start(1) - 1] == "\n"
        before = text[: match.start(1)].rstrip()
        continues = line_start and before and not text[len(before) : match.start(1)].count("\n") > 1
        if not match[1].endswith("?") and not (continues and before[-1] not in ".:!?"):
            found.append(f"{relative(path)}:{text.count(chr(10), 0, match.start(1)) + 1}: {match[1][:60]}")
    return found


ENGLISH_WORDS = ROOT / "spacy_dtparse" / "trees" / "verb_words.py"
"""A file of lists of English words, which may have any word."""
INSTALLED = [path for path in SOURCES if relative(path).startswith(("spacy_dtparse", "training"))]
RULES = [
    (wrong_docstrings, SOURCES),
    (wrong_sentences, [path for path in DOCUMENTS if path.name != "GUIDE.md"]),
    (wrong_functions, INSTALLED),
    (wrong_names, [path for path in SOURCES if path != OWN]),
    (wrong_words, [path for path in [*SOURCES, *DOCUMENTS, *SITES] if path not in (OWN, ENGLISH_WORDS)]),
]


@pytest.mark.parametrize("rule, paths", RULES, ids=[rule.__name__ for rule, _ in RULES])
def test_the_language(rule, paths):
    assert len(paths) > 50
    assert [line for path in paths for line in rule(path)] == [], rule.__doc__


def test_the_rules_can_fail(tmp_path):
    text = 'def taken_up(beliefs):\n    """What is taken up."""\n'
    path = tmp_path / "wrong.py"
    path.write_text(text, encoding="utf8")
    for rule, _ in RULES:
        assert rule is wrong_sentences or rule(path), rule


def test_beginnings_of_sentences(tmp_path):
    path = tmp_path / "page.md"
    lines = ["# Of pages", "", "It is one. Of two pages, one is", "Of interest. Those are:", "", "- Of dogs."]
    lines += ["What is it?", "What it is."]
    path.write_text("\n".join([*lines, "```", "Of code.", "```"]), encoding="utf8")
    assert [line.rsplit(": ")[-1].split()[0] for line in wrong_sentences(path)] == ["Of", "Those", "Of", "What"]
