"""Declare commands: their summary, an example, and their options as data; and options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from spacy_dtparse.cli.pipelines import natural_number, positive_number
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees.bad_input import ERRORS as ERROR_POLICIES

from ..runs.files import write_json

if TYPE_CHECKING:
    from spacy_dtparse.trees import HeadRules
    from training.data.converting import Conversion
    from training.data.treebanks import TreebankFile

Run = Callable[[argparse.Namespace], int | None]
R = TypeVar("R", bound=Run)
READ_SPEC = "PATH[,tags=PATH][,block=K/N][,limit=N][,fraction=F]"
TEXT_SPEC = "PATH[,wrapped][,spaced]"


class Option(NamedTuple):
    """The arguments of `add_argument`: the name, and the keyword arguments."""

    name: str
    kwargs: dict[str, Any]


def option(syntax: str, about: str, **kwargs: Any) -> Option:
    """An option or argument. `syntax`: the name, then, if given, the metavar and the number of values as in `nargs` of
    argparse: "--sizes N *". An option with + or * that is not given has the value []. The other keyword arguments are
    passed on to `add_argument`."""
    name, *parts = syntax.split(" ")
    if parts and parts[-1] in ("+", "*", "?"):
        kwargs["nargs"] = parts.pop()
        if kwargs["nargs"] != "?" and name.startswith("-") and not kwargs.get("required"):
            kwargs.setdefault("default", [])
    if parts:
        (kwargs["metavar"],) = parts
    return Option(name, {"help": about or None, **kwargs})


def path(syntax: str, about: str, **kwargs: Any) -> Option:
    """An option whose value is the path of a file or a folder."""
    return option(syntax, about, type=Path, **kwargs)


def flag(name: str, about: str) -> Option:
    """An option without a value."""
    return option(name, about, action="store_true")


def choice(syntax: str, choices: Sequence[str], about: str, **kwargs: Any) -> Option:
    """An option that takes one of `choices`."""
    return option(syntax, about, choices=choices, **kwargs)


def each(syntax: str, about: str, **kwargs: Any) -> Option:
    """An option that may be repeated."""
    return option(syntax, about, action="append", **{"default": [], **kwargs})


def number(name: str, default: int | None, about: str, minimum: int = 0) -> Option:
    """An option that takes an integer of at least `minimum`, 0 or 1; the default is added to the help text."""
    shown = about if default is None or "(default: " in about else f"{about} (default: {default})".strip()
    return option(f"{name} N", shown, type=positive_number if minimum else natural_number, default=default)


@dataclass
class Command:
    """A command: its `group`, its help text `about`, the arguments of an `example`, its options, and the function that
    it calls, or its subcommands `subcommands`, by name."""

    group: str
    about: str
    example: str
    options: tuple[Option, ...] = ()
    call: Run | None = None
    subcommands: dict[str, Command] = field(default_factory=dict)

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the options to a parser; it stores the function to call with the parsed ones as `call`."""
        for name, kwargs in self.options:
            parser.add_argument(name, **kwargs)
        parser.set_defaults(call=self.call)
        if self.subcommands:
            subcommands = parser.add_subparsers(metavar="|".join(self.subcommands), required=True)
            for name, subcommand in self.subcommands.items():
                subcommand.add_to(subcommands.add_parser(name, help=subcommand.about))

    def subcommand(self, *options: Option) -> Callable[[R], R]:
        """Decorator: declare a function as a subcommand, named like the function, with - for _; its docstring is the
        help text."""

        def register(call: R) -> R:
            self.subcommands[call.__name__.replace("_", "-")] = Command(self.group, about(call), "", options, call)
            return call

        return register


COMMANDS: dict[str, Command] = {}
"""The commands by name, in the order in which they were declared."""


def about(call: Run) -> str:
    """The docstring of a function, dedented."""
    return "\n".join(line.removeprefix("    ") for line in (call.__doc__ or "").strip().splitlines())


def declare(group: str, example: str, *options: Option) -> Callable[[R], R]:
    """Decorator: declare a function as a command, with its docstring as help text. `example`: an example's arguments,
    the name of the command first."""

    def register(call: R) -> R:
        COMMANDS[example.split()[0]] = Command(group, about(call), example, options, call)
        return call

    return register


CORPUS = path("--corpus", "folder of treebanks: NAME/train.mrg and NAME/dev.mrg are used")
NAMES = option("--names NAME[:WEIGHT] +", "treebanks of --corpus to use")
RECIPE_STEPS = choice("--recipe-steps", ("plain", "tm2006"), "preprocessing (default: plain)", default="plain")
ERRORS = choice(
    "--errors",
    ERROR_POLICIES,
    "at a malformed tree, sentence, line or byte of the input: stop (strict, default); skip it (skip); or also replace "
    "such bytes by U+FFFD (replace). The exit code is 1 if something was skipped",
    default="strict",
)
LANG = option("--lang", "language, for the head rules of bracketed trees (default: en)", default="en")
HEADS = path(
    "--heads FILE",
    "head rules in JSON, in the format that the command heads writes (default: those of --lang if they cover the "
    "labels, otherwise learned from the trees)",
)
CONVERTING = (
    option("--lang", "language, for spaCy's tokenizer (default: en)", default="en"),
    path("--scheme FILE", "JSON file that renames labels and tags, such as training/schemes/greynir.json"),
    option("--encoding", "encoding of the files (default: utf-8)", default="utf-8"),
    number("--limit", None, "use only the first N trees of train", minimum=1),
    option("--splits PART *", "parts to convert in addition to train and dev: test"),
    choice(
        "--profile",
        ("universal", "penn", "gum"),
        "for CoNLL-U files: the rules that make phrases of dependencies (default: universal)",
        default="universal",
    ),
    option("--dev K/N", "if there is no dev file, use every N-th block of ten trees of train, starting with the K-th"),
)
"""Options of the commands that convert treebanks; see `parse_conversion`."""


LICENCE = (
    option("--license", "license of the pipeline (default: according to the list of treebanks)", default=""),
    each("--credit TEXT", "credit for the pipeline's meta; repeatable"),
)


def treebank_spec(tags: bool = True, weight: bool = True) -> str:
    """The syntax of an argument that names a file of trees, for the help text."""
    return f"PATH{'[,tags=PATH]' * tags}{'[,weight=W]' * weight}[,block=K/N][,limit=N][,fraction=F]"


def treebanks(dev: str = "", train: str = "to train on", tags: bool = True, weight: bool = True) -> list[Option]:
    """The options `--train`, `--corpus`, `--names` and `--errors`; `--dev` if `dev` says what its trees are for;
    `--tags` if `tags`."""
    spec, files = treebank_spec(tags, weight), "NAME/train.mrg and NAME/dev.mrg" if dev else "NAME/train.mrg"
    options = [each(f"--train {spec}", f"trees {train}; repeatable")]
    if dev:
        options.append(each(f"--dev {spec}", f"trees {dev}; repeatable"))
    options.append(path("--corpus", f"folder of treebanks: {files} are used in addition to the files above"))
    names = "NAME[:WEIGHT]" if weight else "NAME"
    options.append(option(f"--names {names} +", "treebanks of --corpus to use"))
    if tags:
        named = files.replace(".mrg", ".tags").replace("/", ".")
        options.append(path("--tags", f"folder with {named} for --corpus (default: gold tags)"))
    return [*options, ERRORS]


def parse_treebanks(options: argparse.Namespace) -> tuple[list[TreebankFile], list[TreebankFile]]:
    """(Training files, development files) that the options name. Raises ConfigError if there is no training file."""
    from training.data.treebanks import TreebankFile, corpus_files

    arguments = {"train": options.train, "dev": getattr(options, "dev", None)}
    files: dict[str, list[TreebankFile]] = {"train": [], "dev": []}
    for part, texts in arguments.items():
        if texts is not None:
            files[part] = list(map(TreebankFile.parse, texts))
            if options.corpus is not None:
                files[part] += corpus_files(options.corpus, options.names, part, getattr(options, "tags", None))
    if not files["train"]:
        raise ConfigError("no training data; give --train FILE, or --corpus FOLDER with --names")
    return files["train"], files["dev"]


def workdir(content: str, required: bool = False) -> Option:
    """The option --workdir. `content`: of the folder."""
    return path("--workdir", f"folder for {content}; repeat the command to resume a run", required=required)


def settings(of: str) -> Option:
    """The option --set NAME=VALUE …: one or several at a time, repeatable. `of`: the class whose fields they set, with
    an example."""
    return option("--set NAME=VALUE *", f"settings of {of}; repeatable", action="extend")


def model_options(
    name: str, *, of: str = "treebanks", licence: bool = False, credit: str = "", out: str = "the model file to write"
) -> list[Option]:
    """The options `--name`, `--lang` and `--out`; `--license` if `licence`; `--credit` if `credit`, its help text, is
    given."""
    return [
        option("--name", "name of the model in its meta", default=name),
        option("--lang", f"language of the {of} (default: en)", default="en"),
        *([option("--license", "license of the model, for its meta", default="")] if licence else []),
        *([each("--credit TEXT", credit)] if credit else []),
        path("--out", out, required=True),
    ]


def model_metadata(options: argparse.Namespace) -> dict[str, Any]:
    """The values of the options of `model_options`, for a model's meta."""
    names = {"name": "name", "lang": "lang", "license": "license", "credits": "credit"}
    return {key: getattr(options, option) for key, option in names.items() if hasattr(options, option)}


def parse_conversion(options: argparse.Namespace) -> Conversion:
    """The conversion that the options of CONVERTING describe. Raises ConfigError for a scheme that cannot be read."""
    from training.data.converting import Conversion
    from training.data.scheme import Scheme

    scheme = Scheme() if options.scheme is None else Scheme.from_json(options.scheme)
    return Conversion(
        options.lang, scheme, options.encoding, options.limit, options.dev, tuple(options.splits), options.profile
    )


def conversion_flags(options: argparse.Namespace) -> list[str]:
    """The options of CONVERTING as command line arguments."""
    flags = {
        "--lang": options.lang,
        "--scheme": options.scheme,
        "--encoding": options.encoding,
        "--limit": options.limit,
        "--dev": options.dev,
        "--profile": options.profile if options.profile != "universal" else None,
    }
    typed = [argument for flag, value in flags.items() if value is not None for argument in (flag, str(value))]
    return [*typed, *(["--splits", *options.splits] if options.splits else [])]


def load_heads(options: argparse.Namespace) -> HeadRules | None:
    """The head rules in the file given with --heads; None if none is given. Raises ConfigError, OSError."""
    from spacy_dtparse.trees import HeadRules

    return None if options.heads is None else HeadRules.from_json(options.heads)


def write_results(options: argparse.Namespace, results: Any) -> None:
    """Write plain data to the file given with --json, if one is given."""
    if options.json is not None:
        write_json(options.json, results)


def size(path: Path) -> str:
    """The path of a file and its size, as a message."""
    return f"{path}: {path.stat().st_size / 1e6:.2f} MB"
