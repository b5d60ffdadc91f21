"""dtparse completion: every command, option and value, and scripts that the shells accept."""

from __future__ import annotations

import argparse
import shutil
import subprocess

import pytest

from spacy_dtparse.cli import COMMANDS, build_parser
from spacy_dtparse.cli.completion import SHELLS, find_commands

from .test_cli import run


def test_every_command_option_and_value_is_found():
    commands = find_commands(build_parser())
    assert [command.name for command in commands] == list(COMMANDS)
    for command in commands:
        parser = argparse.ArgumentParser()
        COMMANDS[command.name].add_arguments(parser)
        expected = {name for action in parser._actions for name in action.option_strings}
        assert {name for option in command.options for name in option.names} == expected
    (grep,) = (command for command in commands if command.name == "grep")
    (output,) = (option for option in grep.options if "--output" in option.names)
    assert output.names == ("-o", "--output") and output.values == ("subtree", "tree", "words") and output.has_value
    assert not next(option for option in grep.options if "--count" in option.names).has_value
    assert commands[-1].values == SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_name_everything(capsys, shell):
    code, out, _ = run(capsys, "completion", shell)
    assert code == 0
    for command in find_commands(build_parser()):
        assert command.name in out
        for option in command.options:
            for name in option.names:
                short = "l" if name.startswith("--") else "s"
                assert (f" -{short} {name.lstrip('-')}" if shell == "fish" else name) in out
    assert run(capsys, "completion", "tcsh")[0] == 2


def complete(capsys, *words: str) -> list[str]:
    """The completions of the last word in bash."""
    script = run(capsys, "completion", "bash")[1]
    script += f"\nCOMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}; _dtparse"
    script += '\necho "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["dtparse", "e"], ["evaluate", "edit", "explain"]),
        (["dtparse", "--v"], ["--version"]),
        (["dtparse", "parse", "--format", ""], ["brackets", "pretty", "json", "conllu"]),
        (["dtparse", "parse", "--format", "c"], ["conllu"]),
        (["dtparse", "grep", "NP", "-o", "w"], ["words"]),
        (["dtparse", "grep", "NP", "--tr"], ["--tree-number"]),
        (["dtparse", "parse", "--model", "x"], []),
        (["dtparse", "parse", "notes"], []),
        (["dtparse", "completion", ""], ["bash", "zsh", "fish"]),
    ],
)
def test_completions_in_bash(capsys, words, expected):
    assert complete(capsys, *words) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_accept_the_scripts(capsys, tmp_path, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(run(capsys, "completion", shell)[1])
    done = subprocess.run([shell, "-n", str(tmp_path / "script")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
