"""Tests of README and docs: their code runs, their commands exist, their links have targets.

Tests marked `embedded` need the English pipeline in spacy_dtparse/models/en_dtparse.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path

import pytest
from spacy.cli._util import app

import spacy_dtparse
from spacy_dtparse.cli import COMMANDS
from spacy_dtparse.cli import build_parser as dtparse_parser
from spacy_dtparse.cli import main as dtparse
from spacy_dtparse.pipeline import registration as _registration  # noqa: F401 (registers what is not installed)
from spacy_dtparse.pipeline.attributes import trees
from spacy_dtparse.viz.svg import Look, svg_trees
from training.cli import build_parser as training_parser
from training.cli import main as training

from .bench_modules import bench_module
from .documents import ROOT, blocks, commands, run_python

DOCUMENTS = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    *sorted(path.relative_to(ROOT).as_posix() for part in ("assets", "docs") for path in (ROOT / part).rglob("*.md")),
]
MEASURED = [name for name in DOCUMENTS if name.startswith(("docs/experiments/", "docs/studies/"))]
TASKS = [
    f"docs/{name}.md"
    for name in (
        "use", "phrases", "clauses", "navigation", "tables", "formats", "search", "drawings", "serve", "probabilities",
        "k_best", "explanations", "constraints", "editing", "pipelines", "parsers", "captions", "command_line",
        "deadlines", "warmup", "training",
    )
]  # fmt: skip
"""The pages that docs/use.md lists, each on one subject."""


@pytest.fixture(scope="module")
def nlp():
    return spacy_dtparse.load()


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A copy of the files that the documents' commands need, as current folder; the commands write below build/ in
    it."""
    for name in ("assets", "training"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    return tmp_path


def spacy_command(arguments: list[str]) -> None:
    """`python -m spacy ARGUMENTS` in this process."""
    app(arguments, prog_name="spacy", standalone_mode=False)


PROGRAMS = {"training": training, "spacy_dtparse": dtparse, "spacy": spacy_command}
FASTER = {
    "train-boosted": ("path.lambda_floor=10", "n_workers=1"),
    "train-span": ("epochs=1",),
    "train-tagger": ("fit.epochs=3",),
}
"""Settings that only shorten training, by command."""


def run_command(line: str) -> None:
    """Run `python -m PROGRAM …` in this process, in which its modules and kernels are already loaded."""
    python, option, program, *arguments = shlex.split(line)
    assert (python, option) == ("python", "-m"), line
    arguments += [part for setting in FASTER.get(arguments[0], ()) for part in ("--set", setting)]
    arguments += ["--workers", "1"] if arguments[0] == "train-span" else []
    assert not PROGRAMS[program](arguments), line


@cache
def help_of(script: str, command: str) -> str:
    """The help text of a script of benchmarks/, or of a command of it."""
    path = Path(script)
    assert path.parent.name == "benchmarks" and (ROOT / path).is_file(), script
    output = io.StringIO()
    for arguments in ([command, "--help"], ["--help"]):  # the word may not be a command
        with bench_module(path.stem) as module, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [script, *arguments])
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                with pytest.raises(SystemExit) as end:
                    module.main()
        if end.value.code == 0:
            return output.getvalue()
    raise AssertionError(output.getvalue())


def prose(name: str) -> str:
    """A document without its code blocks."""
    text = (ROOT / name).read_text(encoding="utf8")
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(name: str) -> set[str]:
    """The anchors that a page gets for its headings: small letters, a hyphen for each space, no punctuation."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(name), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        assert anchor not in found, f"{name} has the heading {heading!r} twice"
        found.add(anchor)
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    text = prose(name)
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"(?:src|srcset|href)=\"([^\"]+)\"", text)
    for link in links:
        if link.startswith("http"):
            continue
        target, _, anchor = link.partition("#")
        path = (ROOT / name).parent / target if target else ROOT / name
        assert path.exists(), f"{name} links to {link}"
        if anchor:
            page = path.resolve().relative_to(ROOT).as_posix()
            assert anchor in anchors(page), f"{name} links to {link}; {page} has {sorted(anchors(page))}"


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.count("/") > 1 and name.startswith("docs/")])
def test_contents_name_every_section(name):
    text = prose(name)
    listed = re.findall(r"^ *- \[(.+)\]\(#[^)]+\)$", text, re.MULTILINE)
    assert listed == re.findall(r"^##+ (.+)$", text, re.MULTILINE)


def test_the_index_names_every_page():
    """Each page has a row in its tables, from which docs/conf.py makes the navigation of the site."""
    text = prose("docs/index.md")
    for name in DOCUMENTS:
        if name != "docs/index.md":
            page = os.path.relpath(name, "docs")
            assert re.search(rf"^\| \[[^\]]+\]\({re.escape(page)}\) \|", text, re.MULTILINE), page


def test_the_reference_has_every_public_name():
    """Functions, factories and errors are listed; the site inserts their docstrings."""
    functions, components = (
        (ROOT / "docs" / "api" / page).read_text("utf8") for page in ("functions.md", "components.md")
    )
    for name in spacy_dtparse.__all__:
        assert re.search(rf"^\.\. (autofunction|autoclass|data):: {name}(\(\))?$", functions, re.MULTILINE), name
    project = (ROOT / "pyproject.toml").read_text("utf8")
    factories = re.findall(r"^(\w+) = ", project.partition(".spacy_factories]")[2].partition("\n[")[0], re.MULTILINE)
    assert len(factories) >= 7
    for name in factories:
        assert f"\n## {name}\n" in components, name


def test_concepts_run():
    namespace: dict = {}
    for block in blocks("docs/concepts.md", "python"):
        run_python(block, "docs/concepts.md", namespace)
    assert namespace["tree"].words == ("The", "cat", "slept")


@pytest.mark.slow
def test_tutorial_runs(workplace):
    """Run every command and every line of Python, in order; the result is a pipeline that parses."""
    namespace: dict = {}
    for block in blocks("docs/tutorial.md", "bash", "python"):
        if block.language == "bash":
            for line in block.text.splitlines():
                run_command(line)
        else:
            run_python(block, "docs/tutorial.md", namespace)
    assert namespace["result"].tree.words == ("The", "old", "dog", "slept", ".")
    # the tutorial's tagger is too small for trees to be right; every word must be in one
    parses = [re.findall(r" ([^\s()]+)\)", sentence._.parse_string) for sentence in namespace["doc"].sents]
    assert parses == [["The", "old", "dog", "slept", "."], ["It", "was", "tired", "."]]
    assert (workplace / "build" / "tutorial" / "pipeline" / "LICENSE").is_file()


WITH_COMMANDS = [
    name
    for name in TASKS
    if re.search(r"^(dtparse|\S*python -m training) ", (ROOT / name).read_text(encoding="utf8"), re.MULTILINE)
]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", *WITH_COMMANDS, "docs/tutorial.md", *MEASURED])
def test_commands_exist(name):
    """The program of every command exists and has these options."""
    checked = 0
    for line in commands(name):
        for part in re.split(r"\s&&\s", line):
            words = shlex.split(part.replace(".venv/bin/", ""))
            if words[:3] == ["python", "-m", "training"] and words[3] not in ("train-tagger", "jackknife-tags"):
                assert training_parser().parse_args(words[3:]).command == words[3]
            elif words[0] == "dtparse" and words[1] in COMMANDS:
                assert dtparse_parser().parse_args(words[1:]).command == words[1]
            elif words[0] == "dtparse" and " " in words[1]:  # a text
                assert dtparse_parser().parse_args(["parse", "--text", *words[1:]]).text == [words[1]]
            elif words[0] == "python" and words[1].endswith(".py"):
                for option in (word for word in words if word.startswith("--")):
                    assert option in help_of(words[1], words[2]), f"{part}: {option}"
            elif words[:2] == ["python", "-m"] and words[2].startswith("tests."):
                assert importlib.util.find_spec(words[2]) is not None, words[2]
            else:
                continue
            checked += 1
    assert checked >= 1


def test_readme_is_short_and_leads_with_two_commands():
    assert len((ROOT / "README.md").read_text(encoding="utf8").splitlines()) <= 120
    assert [block.language for block in blocks("README.md", "bash", "python")] == ["bash", "bash", "python"]
    install = "python -m venv .venv && .venv/bin/pip install "
    assert all(line.startswith(install) for line in commands("README.md"))


@pytest.mark.embedded
def test_readme_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for block in blocks("README.md", "python"):
        run_python(block, "README.md", namespace)
    assert [sentence._.parse_string for sentence in namespace["doc"].sents] == [
        "(S (NP (PRP He)) (VP (VBD put) (NP (DT the) (JJ old) (NN dog)) (PP (IN in) (NP (DT the) (NN garden)))) (. .))",
        "(S (NP (PRP It)) (VP (VBD slept)) (. .))",
    ]
    assert "VP | put the old dog in the garden" in capsys.readouterr().out


@pytest.mark.embedded
def test_readme_picture_and_limits(nlp):
    """The picture shows the tree of the shipped parser, and the README's statements about the tagger's errors are
    true."""
    (tree,) = trees(nlp("The dog that slept in the garden wants its bone."))
    for theme in ("light", "dark"):
        drawn = (ROOT / "docs" / "img" / f"tree_{theme}.svg").read_text(encoding="utf8")
        expected = svg_trees([tree], Look(theme=theme))
        assert drawn == expected, f"dtparse show '…' --theme {theme} --svg docs/img/tree_{theme}.svg"
    (tree,) = trees(nlp("The complex houses married and single soldiers and their families."))
    married = tree.words.index("married")
    assert tree.tags[married - 1] == "NNS" and (married, married + 1, "VP") in tree.spans()


def test_use_is_short_and_lists_the_pages():
    """It has the most common tasks only; each page has one subject and is short enough to read."""
    assert len((ROOT / "docs/use.md").read_text(encoding="utf8").splitlines()) <= 200
    for name in TASKS:
        assert len((ROOT / name).read_text(encoding="utf8").splitlines()) <= 200, name
        assert name == "docs/use.md" or f"]({name.removeprefix('docs/')})" in prose("docs/use.md"), name


def matches(output: str, shown: str) -> bool:
    """Whether a page shows this output. A line of only "…" stands for lines that the page leaves out."""
    parts = [re.escape(part) for part in re.split(r"^ *…\n", shown, flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*".join(parts), output) is not None


def test_matches():
    assert matches("a\nb\nc\n", "a\n  …\nc\n") and matches("a\n", "a\n")
    assert not matches("a\nb\nd\n", "a\n  …\nc\n") and not matches("a\nb\n", "a\n")


WITH_PYTHON = [name for name in TASKS if "```python\n" in (ROOT / name).read_text(encoding="utf8")]


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", WITH_PYTHON)
def test_pages_run_by_themselves(name, tmp_path, monkeypatch, capsys):
    """Every page runs from top to bottom without another one, and prints what it shows directly below the code."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / name).read_text(encoding="utf8")
    namespace: dict = {}
    checked = 0
    for block in blocks(name, "python"):
        run_python(block, name, namespace)
        output = capsys.readouterr().out
        rest = "".join(text.splitlines(keepends=True)[block.line - 1 :])[len(block.text) :]
        if shown := re.match(r"```\n\n```\n(.*?)^```$", rest, flags=re.DOTALL | re.MULTILINE):
            assert matches(output, shown[1]), f"{name}:{block.line}: {output}"
            checked += 1
    assert checked or name in ("docs/formats.md", "docs/drawings.md"), name
    if name == "docs/drawings.md":
        assert (tmp_path / "tree.svg").read_text().startswith("<svg")
        assert "prefers-color-scheme" in (tmp_path / "spans.html").read_text()


@pytest.mark.embedded
def test_gallery_runs(capsys):
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf8")
    pairs = re.findall(r"^```python\n(.*?)^```\n\n^```\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert len(pairs) == text.count("```python")
    namespace: dict = {}
    for block, (_, output) in zip(blocks("docs/gallery.md", "python"), pairs, strict=True):
        run_python(block, "docs/gallery.md", namespace)
        assert capsys.readouterr().out == output


@pytest.mark.embedded
def test_gallery_commands_print_their_outputs(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf8")
    shown = re.findall(r"^```\n\$ ([^\n]+)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert len(shown) == text.count("\n$ ")
    for line, output in shown:
        words = shlex.split(line)
        if words[:2] == ["python", "-c"]:
            exec(words[2], {})
        else:
            assert words[0] == "dtparse" and dtparse(words[1:]) == 0, line
        printed = capsys.readouterr().out
        assert matches(printed.rstrip("\n") + "\n", output), f"{line}: {printed}"


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("benepar", "14 6\n"),
        ("stanza", "(TOP (S (NP (PRP She))"),
        ("corenlp", "NP 1 8\n"),
        ("nltk", "['She', 'the old dog', 'the garden', 'It']\n['She', 'the old dog', 'the garden', 'It']\n"),
    ],
)
def test_moving_runs(name, expected, capsys):
    namespace: dict = {}
    for block in blocks(f"docs/moving/{name}.md", "python"):
        run_python(block, f"docs/moving/{name}.md", namespace)
    assert expected in capsys.readouterr().out


@pytest.mark.embedded
def test_index_and_faq_run(capsys):
    namespace: dict = {}
    for name in ("docs/index.md", "docs/faq.md", "docs/languages.md"):
        for block in blocks(name, "python"):
            run_python(block, name, namespace)
    output = capsys.readouterr().out
    assert "PP | on the mat\n" in output and "('INTJ', 0, 5)" in output and "(NP (DT The) (JJ left) (NN leg))" in output


@pytest.mark.embedded
def test_readme_first_command_parses(capsys):
    line = commands("README.md")[0].rpartition("&&")[2]
    words = shlex.split(line)
    assert words[:3] == [".venv/bin/python", "-m", "spacy_dtparse"]
    assert dtparse(words[3:]) == 0
    expected = "(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))"
    assert " ".join(capsys.readouterr().out.split()) == expected


@pytest.mark.slow
@pytest.mark.embedded
def test_use_dtparse_commands_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "notes.txt").write_text("She laughed. He did not.\n")
    shutil.copytree(ROOT / "assets" / "sample", tmp_path / "assets" / "sample")
    monkeypatch.chdir(tmp_path)
    lines = [line for name in WITH_COMMANDS for line in commands(name) if line.startswith("dtparse ")]
    assert len(lines) >= 20
    for line in lines:
        assert dtparse(shlex.split(line)[1:]) == 0, line
        assert capsys.readouterr().out.strip() or "--svg" in line or "--html" in line
    assert "<svg" in (tmp_path / "tree.svg").read_text() and 'class="line"' in (tmp_path / "tree.html").read_text()
