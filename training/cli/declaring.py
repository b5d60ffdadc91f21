"""How commands are declared: what they do, their options as data, an example; and the options that several share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from spacy_dtparse.cli.pipelines import natural_number, positive_number
from spacy_dtparse.errors import ConfigError

if TYPE_CHECKING:
    from spacy_dtparse.trees import HeadRules
    from training.data.converting import Conversion
    from training.data.treebanks import TreebankFile

Run = Callable[[argparse.Namespace], int | None]
R = TypeVar("R", bound=Run)
READ_SPEC = "PATH[,tags=PATH][,block=K/N][,limit=N][,share=S]"
TEXT_SPEC = "PATH[,wrapped][,spaced]"


class Option(NamedTuple):
    """What `add_argument` takes."""

    name: str
    facts: dict[str, Any]


def option(name: str, about: str, **facts: Any) -> Option:
    """An option or argument, with the rest as `add_argument` takes it."""
    return Option(name, {"help": about or None, **facts})


def path(name: str, about: str, **facts: Any) -> Option:
    """The path of a file or a folder."""
    return option(name, about, type=Path, **facts)


def flag(name: str, about: str) -> Option:
    """An option that is given or not."""
    return option(name, about, action="store_true")


def choice(name: str, choices: Sequence[str], about: str, **facts: Any) -> Option:
    """One of some words."""
    return option(name, about, choices=choices, **facts)


def each(name: str, about: str, **facts: Any) -> Option:
    """An option that may be repeated."""
    return option(name, about, action="append", **{"default": [], **facts})


def number(name: str, default: int | None, about: str, least: int = 0) -> Option:
    """A whole number from `least`, 0 or 1, on; the default is added to what is said of it."""
    shown = about if default is None or "(default: " in about else f"{about} (default: {default})".strip()
    return option(name, shown, type=positive_number if least else natural_number, default=default, metavar="N")


@dataclass
class Command:
    """A command: its `group`, what it is `about`, the arguments of an `example`, its options, what it calls, or the
    parts that it has instead, by name."""

    group: str
    about: str
    example: str
    options: tuple[Option, ...] = ()
    call: Run | None = None
    parts: dict[str, Command] = field(default_factory=dict)

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the options; `call` is what the parsed ones have to be given to."""
        for name, facts in self.options:
            parser.add_argument(name, **facts)
        parser.set_defaults(call=self.call)
        if self.parts:
            parts = parser.add_subparsers(metavar="|".join(self.parts), required=True)
            for name, part in self.parts.items():
                part.add_to(parts.add_parser(name, help=part.about))

    def part(self, *options: Option) -> Callable[[R], R]:
        """Declare a function as a part of this command, which has its name and does what its docstring says."""

        def declared(call: R) -> R:
            self.parts[call.__name__] = Command(self.group, about(call), "", options, call)
            return call

        return declared


COMMANDS: dict[str, Command] = {}
"""The commands by name, in the order in which they were declared."""


def about(call: Run) -> str:
    """The docstring of a function, without its indentation."""
    return "\n".join(line.removeprefix("    ") for line in (call.__doc__ or "").strip().splitlines())


def declare(group: str, example: str, *options: Option) -> Callable[[R], R]:
    """Declare a function as a command: it has its name and does what its docstring says. `example`: its arguments, the
    name first."""

    def declared(call: R) -> R:
        COMMANDS[example.split()[0]] = Command(group, about(call), example, options, call)
        return call

    return declared


CORPUS = path("--corpus", "folder of treebanks: NAME/train.mrg and NAME/dev.mrg are used")
NAMES = option("--names", "the treebanks of --corpus", nargs="+", default=[], metavar="NAME[:WEIGHT]")
RECIPE_STEPS = choice("--recipe-steps", ("plain", "tm2006"), "preprocessing (default: plain)", default="plain")
LANG = option("--lang", "language, for the head rules of bracketed trees (default: en)", default="en")
HEADS = path(
    "--heads",
    "head rules in JSON, as heads writes them (default: those of --lang where they know the labels, else read off the "
    "trees)",
    metavar="FILE",
)
CONVERTING = (
    option("--lang", "language, of spaCy's tokenizer (default: en)", default="en"),
    path("--scheme", "new labels and tags, in JSON, such as training/schemes/greynir.json", metavar="FILE"),
    option("--encoding", "of the files (default: utf-8)", default="utf-8"),
    number("--limit", None, "only the first N trees of train", least=1),
    option("--also", "other parts to convert beside train and dev: test", nargs="*", default=[], metavar="PART"),
    option("--dev", "where there is no dev file, every N-th block of ten trees from the K-th on is it", metavar="K/N"),
)
"""The options of what converts treebanks; see `conversion_of`."""


LICENCE = (
    option("--license", "of the pipeline (default: what the list of treebanks says)", default=""),
    each("--credit", "a credit for the pipeline's meta; repeatable", metavar="TEXT"),
)


def treebank_spec(tags: bool = True, weight: bool = True) -> str:
    """How a file of trees is named, for the help."""
    return f"PATH{'[,tags=PATH]' * tags}{'[,weight=W]' * weight}[,block=K/N][,limit=N][,share=S]"


def treebanks(dev: str = "", train: str = "to learn from", tags: bool = True, weight: bool = True) -> list[Option]:
    """`--train`, `--corpus`, `--names`; with a `dev`, what its trees are for, `--dev`; with `tags` `--tags`."""
    spec, parts = treebank_spec(tags, weight), "NAME/train.mrg and NAME/dev.mrg" if dev else "NAME/train.mrg"
    made = [each("--train", f"trees {train}; repeatable", metavar=spec)]
    if dev:
        made.append(each("--dev", f"trees {dev}; repeatable", metavar=spec))
    made.append(path("--corpus", f"folder of treebanks: {parts} are used beside the above"))
    names = "NAME[:WEIGHT]" if weight else "NAME"
    made.append(option("--names", "the treebanks of --corpus", nargs="+", default=[], metavar=names))
    if tags:
        named = parts.replace(".mrg", ".tags").replace("/", ".")
        made.append(path("--tags", f"folder with {named} for --corpus (default: gold tags)"))
    return made


def treebanks_of(options: argparse.Namespace) -> tuple[list[TreebankFile], list[TreebankFile]]:
    """(Files to learn from, development files) of the options. Raises ConfigError when there is none to learn from."""
    from training.data.treebanks import TreebankFile, corpus_files

    given = {"train": options.train, "dev": getattr(options, "dev", None)}
    found: dict[str, list[TreebankFile]] = {"train": [], "dev": []}
    for part, texts in given.items():
        if texts is not None:
            found[part] = list(map(TreebankFile.parse, texts))
            if options.corpus is not None:
                found[part] += corpus_files(options.corpus, options.names, part, getattr(options, "tags", None))
    if not found["train"]:
        raise ConfigError("there is nothing to learn from; give --train FILE, or --corpus FOLDER with --names")
    return found["train"], found["dev"]


def settings(of: str) -> Option:
    """--set NAME=VALUE …: one or several at a time, repeatable. `of`: what they are settings of, with an example."""
    return option(
        "--set", f"settings of {of}; repeatable", action="extend", nargs="*", default=[], metavar="NAME=VALUE"
    )


def model_options(
    name: str, *, of: str = "treebanks", licence: bool = False, credit: str = "", out: str = "the model file to write"
) -> list[Option]:
    """`--name`, `--lang` and `--out`; with `licence` `--license`, with a `credit`, what it is, `--credit`."""
    return [
        option("--name", "the model's name in its meta", default=name),
        option("--lang", f"language of the {of} (default: en)", default="en"),
        *([option("--license", "licence of the model, for its meta", default="")] if licence else []),
        *([each("--credit", credit, metavar="TEXT")] if credit else []),
        path("--out", out, required=True),
    ]


def model_facts(options: argparse.Namespace) -> dict[str, Any]:
    """What the options of `model_options` say, for a model's meta."""
    names = {"name": "name", "lang": "lang", "license": "license", "credits": "credit"}
    return {key: getattr(options, option) for key, option in names.items() if hasattr(options, option)}


def conversion_of(options: argparse.Namespace) -> Conversion:
    """What the options of CONVERTING say. Raises ConfigError for a scheme that cannot be read."""
    from training.data.converting import Conversion
    from training.data.scheme import Scheme

    scheme = Scheme() if options.scheme is None else Scheme.from_json(options.scheme)
    return Conversion(options.lang, scheme, options.encoding, options.limit, options.dev, tuple(options.also))


def conversion_flags(options: argparse.Namespace) -> list[str]:
    """The options of CONVERTING as they would be typed."""
    flags = {"--lang": options.lang, "--scheme": options.scheme, "--encoding": options.encoding,
             "--limit": options.limit, "--dev": options.dev}  # fmt: skip
    typed = [part for flag, value in flags.items() if value is not None for part in (flag, str(value))]
    return [*typed, *(["--also", *options.also] if options.also else [])]


def heads_of(options: argparse.Namespace) -> HeadRules | None:
    """The head rules of the file of `HEADS`, None where none is given. Raises ConfigError, OSError."""
    from spacy_dtparse.trees import HeadRules

    return None if options.heads is None else HeadRules.from_json(options.heads)


def size(path: Path) -> str:
    """A file that was written, with its size."""
    return f"{path}: {path.stat().st_size / 1e6:.2f} MB"


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)
