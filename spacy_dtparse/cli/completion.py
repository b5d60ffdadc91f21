"""Print a script that completes commands, options and their values in the shell.

bash: put the following line into ~/.bashrc, zsh: into ~/.zshrc (after compinit):
  source <(dtparse completion bash)
fish:
  dtparse completion fish > ~/.config/fish/completions/dtparse.fish
"""

import argparse
import re
from typing import NamedTuple

SHELLS = ("bash", "zsh", "fish")


class CompletionOption(NamedTuple):
    """An option of a command: its names (`-m`, `--max-count`), its help, whether a value follows, and the allowed
    values if there are few."""

    names: tuple[str, ...]
    help: str
    has_value: bool
    values: tuple[str, ...]


class CompletionCommand(NamedTuple):
    """A command: its name, a summary, its options, and the allowed values of its first argument if there are few."""

    name: str
    summary: str
    options: tuple[CompletionOption, ...]
    values: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse completion`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    from . import build_parser

    write = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[options.shell]
    print(write(find_commands(build_parser())))


def find_commands(parser: argparse.ArgumentParser) -> list[CompletionCommand]:
    """The commands of the argument parser of `dtparse`."""
    (subparsers,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    found = []
    for choice in subparsers._choices_actions:
        actions = subparsers.choices[choice.dest]._actions
        options = tuple(
            CompletionOption(
                tuple(action.option_strings), _help(action), action.nargs != 0, tuple(map(str, action.choices or ()))
            )
            for action in actions
            if action.option_strings
        )
        first = next((action for action in actions if not action.option_strings), None)
        values = tuple(map(str, first.choices or ())) if first is not None else ()
        found.append(CompletionCommand(choice.dest, _plain(choice.help or ""), options, values))
    return found


def _help(action: argparse.Action) -> str:
    return _plain((action.help or "") % {"default": action.default, "prog": "dtparse"})


def _plain(text: str) -> str:
    """The first clause of a help text, without characters that a shell would read."""
    return re.sub(r"[^\w\s.,:=<>/|+-]", "", re.split(r"[;(:]", text)[0]).strip()


def _quote(text: str) -> str:
    """A text in single quotes; `_plain` left none in it."""
    return f"'{text}'"


def bash_script(commands: list[CompletionCommand]) -> str:
    """The script for bash."""
    cases, values = [], []
    for command in commands:
        names = " ".join(name for option in command.options for name in option.names)
        cases.append(f'        {command.name}) words="{names}"; first="{" ".join(command.values)}" ;;')
        values += [
            f'        "{command.name} {name}") values="{" ".join(option.values)}"; follows=1 ;;'
            for option in command.options
            if option.has_value
            for name in option.names
        ]
    return f"""\
# Completion of dtparse in bash.
_dtparse() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
    local words="" first="" values="" follows=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{" ".join(one.name for one in commands)} --help --version" -- "$current"))
        return
    fi
    case "$command $before" in
{_NEW_LINE.join(values)}
    esac
    if [ -n "$follows" ]; then
        COMPREPLY=($(compgen -W "$values" -- "$current"))  # none: the shell completes names of files
        return
    fi
    case "$command" in
{_NEW_LINE.join(cases)}
    esac
    if [[ "$current" == -* ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    elif [ "$COMP_CWORD" -eq 2 ]; then
        COMPREPLY=($(compgen -W "$first" -- "$current"))
    fi
}}
complete -o default -F _dtparse dtparse"""


_NEW_LINE = "\n"


def zsh_script(commands: list[CompletionCommand]) -> str:
    """The script for zsh."""
    described = [f"        {_quote(f'{one.name}:{one.summary}')}" for one in commands]
    cases = []
    for command in commands:
        specs = [_zsh_option(option) for option in command.options]
        first = f"({' '.join(command.values)})" if command.values else "_files"
        specs += [_quote(f"1:argument:{first}"), "'*:file:_files'"]
        cases.append(f"        {command.name}) _arguments {' '.join(specs)} ;;")
    return f"""\
#compdef dtparse
# Completion of dtparse in zsh.
_dtparse() {{
    local -a commands
    commands=(
{_NEW_LINE.join(described)}
    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    local command="$words[2]"
    shift words
    (( CURRENT-- ))
    case "$command" in
{_NEW_LINE.join(cases)}
    esac
}}
compdef _dtparse dtparse"""


def _zsh_option(option: CompletionOption) -> str:
    text = option.help.replace(":", "\\:")
    value = "" if not option.has_value else f":value:({' '.join(option.values)})" if option.values else ":value:_files"
    excluded = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
    return " ".join(_quote(f"{excluded}{name}[{text}]{value}") for name in option.names)


def fish_script(commands: list[CompletionCommand]) -> str:
    """The script for fish."""
    lines = ["# Completion of dtparse in fish."]
    for command in commands:
        lines.append(f"complete -c dtparse -f -n __fish_use_subcommand -a {command.name} -d {_quote(command.summary)}")
        condition = f"-n '__fish_seen_subcommand_from {command.name}'"
        if command.values:
            lines.append(f"complete -c dtparse -f {condition} -a {_quote(' '.join(command.values))}")
        for option in command.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = f" -x -a {_quote(' '.join(option.values))}" if option.values else " -r" if option.has_value else ""
            lines.append(f"complete -c dtparse {condition} {names}{value} -d {_quote(option.help)}")
    return "\n".join(lines)
