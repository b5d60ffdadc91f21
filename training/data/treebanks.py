"""Treebank files named on the command line, and what the list of public treebanks says about them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.trees.psd import SUFFIX

from .corpus import Sentence, read_treebank

CATALOGUE = Path(__file__).resolve().parents[2] / "assets" / "treebanks.json"
TEXTS = CATALOGUE.with_name("texts.json")
OWN = {"sample": "sample treebank of spacy-dtparse", "everyday": "everyday trees of spacy-dtparse"}
"""Treebanks that were written for this project, by name; in the public domain."""
OWN_LICENCE = {"name": "CC0 1.0", "spdx": "CC0-1.0"}
_KEPT = "not to be published"
ORDER = ("CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-4.0")
"""Licences from the freest to the most demanding: what holds for a mixture is the last that occurs."""
T = TypeVar("T")


@dataclass(frozen=True)
class TreebankFile:
    """`PATH[,tags=PATH][,weight=W][,block=K/N][,limit=N][,share=S]`: trees, a tagger's tags for them, weight of their
    states.

    `block`: see `blocks`; `limit`: only the first N trees of it; `share`: of these so many, evenly spaced, always the
    same ones.
    """

    path: Path
    tags: Path | None = None
    weight: float = 1.0
    limit: int | None = None
    share: float = 1.0
    block: str | None = None

    @classmethod
    def parse(cls, text: str) -> TreebankFile:
        """Read a command line argument. Raises ConfigError for an unknown option or a value out of range."""
        path, *options = text.split(",")
        found: dict[str, Any] = {}
        for option in options:
            name, _, value = option.partition("=")
            try:
                if name == "tags" and value:
                    found[name] = Path(value)
                elif name in ("weight", "share"):
                    found[name] = float(value)
                elif name == "limit":
                    found[name] = int(value)
                elif name == "block":
                    blocks([], value, text)
                    found[name] = value
                else:
                    raise ConfigError(
                        f"{text}: {option!r} is no option of a treebank; allowed are tags=PATH, "
                        "weight=NUMBER, block=K/N, limit=N, share=NUMBER"
                    )
            except ConfigError:
                raise
            except ValueError:
                raise ConfigError(f"{text}: {value!r} is no number for {name!r}") from None
        if not 0 < found.get("weight", 1.0) < float("inf"):
            raise ConfigError(f"{text}: the weight is {found['weight']}; it must be above 0")
        if not 0 < found.get("share", 1.0) <= 1:
            raise ConfigError(f"{text}: the share is {found['share']}; it must be above 0 and at most 1")
        if found.get("limit", 1) < 1:
            raise ConfigError(f"{text}: the limit is {found['limit']}; it must be at least 1")
        return cls(Path(path), **found)

    @property
    def name(self) -> str:
        """The treebank's name: of the folder that the file is in."""
        return self.path.resolve().parent.name

    @property
    def texts(self) -> tuple[str, ...]:
        """The raw texts that a teacher's trees were made of, as `teacher trees` lists them beside the file."""
        listed = texts_beside(self.path)
        return tuple(listed.read_text(encoding="utf8").split()) if listed.is_file() else ()

    def read(self) -> list[Sentence]:
        """The sentences. Raises TrainingDataError when there is no such file or no tree in it."""
        for path in (self.path, self.tags):
            if path is not None and not path.is_file():
                raise TrainingDataError(f"there is no file {path}; give the path of a file that exists")
        sentences = read_treebank(self.path, self.tags, self.weight, None if self.block else self.limit)
        if not sentences:
            raise TrainingDataError(f"{self.path}: no tree in it; give a file of bracketed trees, (TOP (NP (NN test)))")
        if self.block is not None:
            found = len(sentences)
            sentences = blocks(sentences, self.block, str(self.path))[: self.limit]
            if not sentences:
                raise TrainingDataError(f"{self.path}: no tree of {found} is in the block {self.block}; give another")
        return list(every(sentences, self.share))


def blocks(items: Sequence[T], block: str, text: str) -> list[T]:
    """Of blocks of ten items every N-th from the K-th ("K/N"), or all but those ("-K/N"); so one file can be training
    and development data.

    Raises ConfigError, which names `text`, for any other `block`.
    """
    which, _, of = block.removeprefix("-").partition("/")
    if not which.isdecimal() or not of.isdecimal() or not 0 < int(which) <= int(of):
        raise ConfigError(f"{text}: the block is {block!r}; give K/N or -K/N with K from 1 to N")
    inside = not block.startswith("-")
    return [item for number, item in enumerate(items) if (number // 10 % int(of) == int(which) - 1) == inside]


def every(sentences: Sequence[Sentence], share: float) -> tuple[Sentence, ...]:
    """About `share` of the sentences, evenly spaced; always the same ones.

    Raises ConfigError unless `share` is above 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise ConfigError(
            f"the share of the sentences to use (share=, --scale) is {share!r}; it must be above 0 and at most 1"
        )
    places = dict.fromkeys(math.floor(k / share) for k in range(math.ceil(len(sentences) * share)))
    return tuple(sentences[place] for place in places if place < len(sentences))


def read_files(files: Iterable[TreebankFile]) -> list[Sentence]:
    """The sentences of all files, in order."""
    return [sentence for file in files for sentence in file.read()]


def weighted_names(arguments: Sequence[str]) -> dict[str, float]:
    """`NAME` and `NAME:WEIGHT` arguments as a mapping; without a weight it is 1.

    Raises ConfigError for a name given twice or a weight that is no number above 0.
    """
    found: dict[str, float] = {}
    for argument in arguments:
        name, colon, text = argument.partition(":")
        try:
            weight = float(text) if colon else 1.0
        except ValueError:
            weight = 0.0
        if not name or name in found or not 0 < weight < float("inf"):
            raise ConfigError(f"{argument!r}: give each treebank once, as NAME or NAME:WEIGHT with a weight above 0")
        found[name] = weight
    return found


def part_file(folder: Path, name: str, part: str) -> Path:
    """`folder`/NAME/`part`.mrg, or the .psd file of that name where there is no other."""
    path = folder / name / f"{part}.mrg"
    other = path.with_suffix(SUFFIX)
    return other if other.is_file() and not path.is_file() else path


def corpus_files(
    folder: Path, names: Sequence[str], part: str = "train", tags: Path | None = None
) -> list[TreebankFile]:
    """`folder`/NAME/`part`.mrg (or .psd) of every `NAME[:WEIGHT]`, with `tags`/NAME.`part`.tags when a folder of
    tags is given.

    A treebank without a dev part is left out of "dev".
    """
    files = []
    for name, weight in weighted_names(names).items():
        path = part_file(folder, name, part)
        if part == "dev" and not path.is_file():
            continue
        files.append(TreebankFile(path, None if tags is None else tags / f"{name}.{part}.tags", weight))
    return files


def catalogue(path: Path = CATALOGUE) -> dict[str, dict[str, Any]]:
    """The public treebanks by id. Raises ConfigError when the list cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf8"))
        return {entry["id"]: entry for entry in document["treebanks"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: cannot read the list of treebanks ({error})") from error


def provenance(names: Sequence[str], known: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
    """Licence, credits and sources of a model trained on the named treebanks, as plain data.

    `license` is the strictest of the treebanks' where all are known and a model may be shipped, else a sentence that
    says why not. `notices`: licence texts that travel along, relative to the folder of the list.
    """
    known = catalogue() if known is None else known
    credits: list[str] = []
    sources: list[dict[str, str]] = []
    notices: list[str] = []
    licences: list[str] = []
    problems: list[str] = []
    for name in dict.fromkeys(names):
        if name in OWN:
            licences.append(OWN_LICENCE["spdx"])
            sources.append({"name": OWN[name], "license": OWN_LICENCE["name"]})
            continue
        entry = known.get(name)
        if entry is None:
            problems.append(f"the terms of {name} are not known")
            sources.append({"name": name, "license": "not known"})
            continue
        credits += entry["credits"]
        repositories = ", ".join(f"https://github.com/{repository}" for repository in entry["source"]["github"])
        sources.append({"name": entry["name"], "url": repositories, "license": entry["licence"]["name"]})
        if "text" in entry["licence"]:
            notices.append(entry["licence"]["text"])
        if not entry["model_may_be_shipped"]:
            problems.append(f"{entry['name']}: {entry['terms']}")
        elif entry["licence"]["spdx"] not in (None, *ORDER):
            problems.append(f"no rule for the licence {entry['licence']['spdx']} of {entry['name']}")
        elif entry["licence"]["spdx"] in ORDER:
            licences.append(entry["licence"]["spdx"])
    licence = max(licences, key=ORDER.index, default=ORDER[0])
    # Attribution licences of several versions together: the share-alike one, or the latest.
    text = licence.replace("-", " ", licence.count("-")).replace("CC BY SA", "CC BY-SA")
    return {
        "license": f"{_KEPT}: {'; '.join(problems)}" if problems else text,
        "credits": credits,
        "sources": sources,
        "notices": notices,
    }


def texts_beside(path: Path) -> Path:
    """The file that lists the raw texts of a file of trees which a teacher made: its name, ending in .texts."""
    return path.with_suffix(".texts")


def origin_of(files: Sequence[TreebankFile]) -> dict[str, Any]:
    """`provenance` of files of trees, with a credit for each raw text that a teacher read for some of them."""
    origin = provenance([file.name for file in files if not file.texts])
    told = text_credits([text for file in files for text in file.texts])
    if any(_KEPT in credit for credit in told) and not origin["license"].startswith(_KEPT):
        origin["license"] = f"{_KEPT}: see the credits of the raw texts"
    return {**origin, "credits": [*origin["credits"], *told]}


def text_credits(names: Sequence[str], path: Path = TEXTS) -> list[str]:
    """A credit for each raw text that a teacher has read, by the names of their files; one that is not listed is named
    with the words that its terms are not known. Raises ConfigError when the list cannot be read."""
    try:
        known = json.loads(path.read_text(encoding="utf8"))["texts"]
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"{path}: cannot read the list of raw texts ({error})") from error
    found = []
    for name in dict.fromkeys(names):
        entry = known.get(name)
        if entry is None:
            found.append(f"Raw text {name}, whose terms are not known: {_KEPT}")
        else:
            end = "" if entry["ships"] else f": {_KEPT}"
            found.append(f"Raw text, annotated by a teacher: {entry['what']} ({entry['licence']}){end}")
    return found


def write_tags(path: Path, lines: Sequence[Sequence[str]]) -> None:
    """One line per sentence, tags separated by spaces; an empty sentence gives an empty line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(" ".join(tags) + "\n" for tags in lines), encoding="utf8")
