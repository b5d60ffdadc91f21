"""Settings (--set NAME=VALUE) in documented commands, in project.yml and in help texts exist and accept these values.

Works without torch: the names of the teacher's settings are read from its source.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import srsly

from training.bpm_parser.options import DependencyOptions
from training.cli import COMMANDS
from training.dtparse.recipe import FitRecipe
from training.recurrent_tagger.config import TaggingConfig
from training.runs.settings import apply_field_settings, apply_settings
from training.span_parser.fitting import SpanOptions
from training.spine_tagger.options import SequenceOptions

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PIPELINE_OPTIONS = {"--tagger-set": "train-tagger", "--span-set": "train-span", "--boosted-set": "train-boosted"}
"""Options of `pipeline` and `learning-curve`, and the commands whose settings they take."""


def teacher_settings() -> dict[str, None]:
    """The names of the fields of TeacherOptions."""
    source = (ROOT / "training" / "teacher" / "fitting.py").read_text(encoding="utf8")
    (options,) = (n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == "TeacherOptions")
    return {node.target.id: None for node in options.body if isinstance(node, ast.AnnAssign)}


def apply_to_recipe(settings: list[str]) -> None:
    """Apply settings of a recipe. Raises ConfigError."""
    FitRecipe.from_dict(apply_settings(FitRecipe().to_dict(), settings))


APPLY: dict[str, Callable[[list[str]], object]] = {
    **dict.fromkeys(("train-tagger", "jackknife-tags"), lambda s: apply_field_settings(TaggingConfig(), s)),
    **dict.fromkeys(
        ("train-span", "jackknife-marginals"), lambda s: apply_field_settings(SpanOptions(), s, but=("seeds",))
    ),
    **dict.fromkeys(
        ("train-spine-tagger", "adapt"), lambda s: apply_field_settings(SequenceOptions(), s, but=("estimator",))
    ),
    **dict.fromkeys(("train-boosted", "self-train-compare", "reproduce"), apply_to_recipe),
    "train-bpm": lambda s: apply_field_settings(DependencyOptions(), s, but=("rules", "decoder")),
    "teacher": lambda s: apply_settings(teacher_settings(), s),
}
"""A function for each command with settings that applies settings to the defaults."""


def commands_in(text: str) -> Iterator[str]:
    """The calls of the trainers in a document: lines of code blocks and inline code."""
    fences = r"^```[^\n]*\n(.*?)^```"
    for block in re.findall(fences, text, re.MULTILINE | re.DOTALL):
        yield from re.findall(r"python -m training (.*)", block.replace("\\\n", " "))
    yield from re.findall(r"`python -m training ([^`]*)`", re.sub(fences, "", text, flags=re.MULTILINE | re.DOTALL))


def settings_in(line: str) -> Iterator[tuple[str, list[str]]]:
    """(Command, NAME=VALUE settings) of each option of a command line that takes settings."""
    name, *words = shlex.split(line)
    option = ""
    found: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            option = word
        elif (option == "--set" and name in APPLY) or option in PIPELINE_OPTIONS:
            found.setdefault(PIPELINE_OPTIONS.get(option, name), []).append(word)
    yield from found.items()


def project_commands() -> list[str]:
    """The calls of the trainers in project.yml, with its variables filled in."""
    project = srsly.read_yaml(ROOT / "project.yml")
    lines = [line for command in project["commands"] for line in command["script"]]
    filled = (re.sub(r"\$\{vars\.(\w+)\}", lambda match: str(project["vars"][match[1]]), line) for line in lines)
    return [line.removeprefix("python -m training ") for line in filled if line.startswith("python -m training ")]


def test_every_command_with_settings_is_checked():
    with_settings = {name for name, command in COMMANDS.items() if any(o.name == "--set" for o in command.options)}
    assert with_settings == {*APPLY.keys() - {"teacher"}, "pipeline", "learning-curve"}
    assert any(option.name == "--set" for option in COMMANDS["teacher"].subcommands["fit"].options)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_documented_settings_exist(path):
    for line in commands_in(path.read_text(encoding="utf8")):
        for command, settings in settings_in(line):
            APPLY[command](settings)


def test_settings_of_the_project_exist():
    found = [pair for line in project_commands() for pair in settings_in(line)]
    assert {"train-tagger", "train-span", "train-bpm", "teacher", "adapt"} <= {command for command, _ in found}
    for command, settings in found:
        APPLY[command](settings)


def test_settings_in_help_texts_exist():
    named = 0
    for name, command in COMMANDS.items():
        declared = [*command.options, *(o for inner in command.subcommands.values() for o in inner.options)]
        for option in declared:
            if option.name == "--set" and name in APPLY:
                examples = re.search(r"\((\S+=[^)]*)\)", option.kwargs["help"])
                assert examples, name
                APPLY[name](examples[1].split())
                named += 1
    assert named == len(APPLY)


def test_wrong_settings_are_found():
    line = "train-tagger --treebank x --set fit.epoch=3 --out y"
    ((command, settings),) = settings_in(line)
    with pytest.raises(Exception, match=r"no setting 'fit\.epoch'"):
        APPLY[command](settings)
    assert list(commands_in(f"`python -m training {line}`\n```bash\npython -m training clean x\n```\n")) == [
        "clean x",
        line,
    ]
