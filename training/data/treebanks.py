"""Treebank files named on the command line, and what the list of public treebanks says about them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.trees.psd import SUFFIX

from ..runs.files import write_atomically
from .beliefs import read_beliefs
from .corpus import Sentence, read_treebank

CATALOGUE = Path(__file__).resolve().parents[2] / "assets" / "treebanks.json"
TEXTS = CATALOGUE.with_name("texts.json")
OWN: dict[str, dict[str, Any]] = {
    name: {"name": f"{what} of spacy-dtparse", "licence": {"name": "CC0 1.0", "spdx": "CC0-1.0"}}
    for name, what in (("sample", "sample treebank"), ("everyday", "everyday trees"))
}
"""Treebanks that were written for this project, by name; in the public domain."""
_KEPT = "not to be published"
ORDER = ("CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-4.0")
"""Licences from the freest to the most demanding: what holds for a mixture is the last that occurs."""
_OPTIONS: dict[str, Callable[[str], Any]] = {
    "tags": Path,
    "beliefs": Path,
    "weight": float,
    "block": str,
    "limit": int,
    "share": float,
}
PARTS = ("train", "dev")
T = TypeVar("T")


@dataclass(frozen=True)
class TreebankFile:
    """`PATH[,tags=PATH][,beliefs=PATH][,weight=W][,block=K/N][,limit=N][,share=S]`: trees, a tagger's tags for them, a
    reader's beliefs, weight of their states.

    `block`: see `blocks`; `limit`: only the first N trees of it; `share`: of these so many, evenly spaced, always the
    same ones.
    """

    path: Path
    tags: Path | None = None
    weight: float = 1.0
    limit: int | None = None
    share: float = 1.0
    block: str | None = None
    beliefs: Path | None = None

    @classmethod
    def parse(cls, text: str) -> TreebankFile:
        """Read a command line argument. Raises ConfigError for an unknown option or a value out of range."""
        path, *options = text.split(",")
        found: dict[str, Any] = {}
        for option in options:
            name, _, value = option.partition("=")
            if name not in _OPTIONS or (name in ("tags", "beliefs") and not value):
                raise ConfigError(
                    f"{text}: {option!r} is no option of a treebank; allowed are tags=PATH, "
                    "beliefs=PATH, weight=NUMBER, block=K/N, limit=N, share=NUMBER"
                )
            try:
                found[name] = _OPTIONS[name](value)
            except ValueError:
                raise ConfigError(f"{text}: {value!r} is no number for {name!r}") from None
        if "block" in found:
            blocks([], found["block"], text)
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
        return listed_texts(self.path)

    def read(self) -> list[Sentence]:
        """The sentences. Raises TrainingDataError when there is no such file or no tree in it."""
        for path in (self.path, self.tags):
            if path is not None and not path.is_file():
                raise TrainingDataError(f"there is no file {path}; give the path of a file that exists")
        sentences = read_treebank(self.path, self.tags, self.weight, None if self.block else self.limit)
        if self.beliefs is not None:
            sentences = _with_beliefs(sentences, self.beliefs)
        if not sentences:
            raise TrainingDataError(f"{self.path}: no tree in it; give a file of bracketed trees, (TOP (NP (NN test)))")
        chosen = sentences if self.block is None else blocks(sentences, self.block, str(self.path))[: self.limit]
        if not chosen:
            found = len(sentences)
            raise TrainingDataError(f"{self.path}: no tree of {found} is in the block {self.block}; give another")
        return list(every(chosen, self.share))


def _with_beliefs(sentences: Sequence[Sentence], path: Path) -> list[Sentence]:
    """The first sentences of a treebank with what `training readers` wrote of all of them."""
    _, lengths, beliefs = read_beliefs(path)
    if lengths[: len(sentences)] != [len(sentence.tags) for sentence in sentences]:
        raise TrainingDataError(f"{path} is not of these sentences; write it again: python -m training readers …")
    return [replace(s, beliefs=b) for s, b in zip(sentences, beliefs[: len(sentences)], strict=True)]


def blocks(items: Sequence[T], block: str, text: str) -> list[T]:
    """Of blocks of ten items every N-th from the K-th ("K/N"), or all but those ("-K/N"); so one file can be training
    and development data. Raises ConfigError, which names `text`, for any other `block`."""
    which, _, of = block.removeprefix("-").partition("/")
    if not which.isdecimal() or not of.isdecimal() or not 0 < int(which) <= int(of):
        raise ConfigError(f"{text}: the block is {block!r}; give K/N or -K/N with K from 1 to N")
    inside = not block.startswith("-")
    return [item for number, item in enumerate(items) if (number // 10 % int(of) == int(which) - 1) == inside]


def every(sentences: Sequence[Sentence], share: float) -> tuple[Sentence, ...]:
    """About `share` of the sentences, evenly spaced; always the same ones. Raises ConfigError unless `share` is above 0
    and at most 1."""
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
    """`NAME` and `NAME:WEIGHT` arguments as a mapping; without a weight it is 1. Raises ConfigError for a name given
    twice or a weight that is no number above 0."""
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
    """`folder`/NAME/`part`.mrg (or .psd) of every `NAME[:WEIGHT]`, with `tags`/NAME.`part`.tags when a folder of tags
    is given. A treebank without a dev part is left out of "dev"."""
    files = []
    for name, weight in weighted_names(names).items():
        path = part_file(folder, name, part)
        if part != "dev" or path.is_file():
            files.append(TreebankFile(path, None if tags is None else tags / f"{name}.{part}.tags", weight))
    return files


def read_list(path: Path, key: str, what: str) -> Any:
    """What one of the project's lists has under `key`. Raises ConfigError when it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf8"))[key]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: cannot read the {what} ({error})") from error


def catalogue() -> dict[str, dict[str, Any]]:
    """The public treebanks by id. Raises ConfigError when the list cannot be read."""
    return {entry["id"]: entry for entry in read_list(CATALOGUE, "treebanks", "list of treebanks")}


def provenance(names: Sequence[str]) -> dict[str, Any]:
    """Licence, credits and sources of a model trained on the named treebanks, as plain data.

    `license` is the strictest of the treebanks' where all are known and a model may be shipped, else a sentence that
    says why not. `notices`: licence texts that travel along, relative to the folder of the list.
    """
    known = {**catalogue(), **OWN}
    credits: list[str] = []
    sources: list[dict[str, str]] = []
    notices: list[str] = []
    licences: list[str] = []
    problems: list[str] = []
    for name in dict.fromkeys(names):
        entry = known.get(name, {"name": name, "licence": {"name": "not known", "spdx": None}})
        terms, repositories = entry["licence"], entry.get("source", {}).get("github")
        url = {"url": ", ".join(f"https://github.com/{place}" for place in repositories)} if repositories else {}
        sources.append({"name": entry["name"], **url, "license": terms["name"]})
        credits += entry.get("credits", [])
        notices += [terms["text"]] if "text" in terms else []
        if name not in known:
            problems.append(f"the terms of {name} are not known")
        elif not entry.get("model_may_be_shipped", True):
            problems.append(f"{entry['name']}: {entry['terms']}")
        elif terms["spdx"] in ORDER:
            licences.append(terms["spdx"])
        elif terms["spdx"] is not None:
            problems.append(f"no rule for the licence {terms['spdx']} of {entry['name']}")
    licence = max(licences, key=ORDER.index, default=ORDER[0])
    # Attribution licences of several versions together: the share-alike one, or the latest.
    text = licence.replace("-", " ", licence.count("-")).replace("CC BY SA", "CC BY-SA")
    if problems:
        text = f"{_KEPT}: {'; '.join(problems)}"
    return {"license": text, "credits": credits, "sources": sources, "notices": notices}


def texts_beside(path: Path) -> Path:
    """The file that lists the raw texts of a file of trees which a teacher made, or of clusters: its name, ending in
    .texts."""
    return path.with_suffix(".texts")


def listed_texts(path: Path) -> tuple[str, ...]:
    """The names in `texts_beside` a file; none where there is no such file."""
    listed = texts_beside(path)
    return tuple(listed.read_text(encoding="utf8").split()) if listed.is_file() else ()


def reader_treebanks(meta: Mapping[str, Any]) -> list[str]:
    """The names of the treebanks that the reader of a model has learned from, by the model's meta."""
    return [treebank["name"] for treebank in meta.get("reader", {}).get("treebanks", [])]


def origin_of(files: Sequence[TreebankFile], reader: Sequence[str] = (), texts: Sequence[str] = ()) -> dict[str, Any]:
    """`provenance` of files of trees and of the treebanks of a `reader`, with a credit for each raw text that a teacher
    read for some of them, and for other raw `texts`."""
    origin = provenance([*(file.name for file in files if not file.texts), *reader])
    read = [text for file in files for text in file.texts]
    told = text_credits(list(dict.fromkeys([*read, *texts])))
    if any(_KEPT in credit for credit in told) and not origin["license"].startswith(_KEPT):
        origin["license"] = f"{_KEPT}: see the credits of the raw texts"
    return {**origin, "credits": [*origin["credits"], *told]}


def text_credits(names: Sequence[str]) -> list[str]:
    """A credit for each raw text that a teacher has read, by the names of their files; one that is not listed is named
    with the words that its terms are not known. Raises ConfigError when the list cannot be read."""
    known = read_list(TEXTS, "texts", "list of raw texts")
    found = []
    for name in dict.fromkeys(names):
        credit, ships = f"Raw text {name}, whose terms are not known", False
        if name in known:
            what, licence, ships = (known[name][key] for key in ("what", "licence", "ships"))
            credit = f"Raw text, annotated by a teacher: {what} ({licence})"
        found.append(credit if ships else f"{credit}: {_KEPT}")
    return found


def write_tags(path: Path, lines: Sequence[Sequence[str]]) -> None:
    """One line per sentence, tags separated by spaces; an empty sentence gives an empty line."""
    write_atomically(path, "".join(" ".join(tags) + "\n" for tags in lines).encode())
