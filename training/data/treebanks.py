"""Treebank files named on the command line, and their entries in the list of public treebanks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from spacy_dtparse.core.ambiguous_tags import format_tag
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.trees.psd import SUFFIX

from ..runs.files import write_atomically
from .corpus import Sentence, read_treebank
from .marginals import read_marginals

CATALOGUE = Path(__file__).resolve().parents[2] / "assets" / "treebanks.json"
TEXTS = CATALOGUE.with_name("texts.json")
PROJECT_TREEBANKS: dict[str, dict[str, Any]] = {
    name: {"name": f"{what} of spacy-dtparse", "licence": {"name": "CC0 1.0", "spdx": "CC0-1.0"}}
    for name, what in (("sample", "sample treebank"), ("everyday", "everyday trees"))
}
"""Treebanks written for this project, by name; in the public domain."""
_UNPUBLISHED = "not to be published"
CLUSTERED = "for word clusters"
"""The use of a raw text in its credit; see `text_credits`."""
LICENCE_ORDER = ("CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-4.0")
"""Licences from the most to the least permissive: a mixture has the last one that occurs."""
_OPTIONS: dict[str, Callable[[str], Any]] = {
    "tags": Path,
    "marginals": Path,
    "weight": float,
    "block": str,
    "limit": int,
    "fraction": float,
}
PARTS = ("train", "dev")
T = TypeVar("T")


@dataclass(frozen=True)
class TreebankFile:
    """`PATH[,tags=PATH][,marginals=PATH][,weight=W][,block=K/N][,limit=N][,fraction=F]`: a file of trees, a tagger's
    tags for them, their span marginals, the weight of their states. `relations`: a file of their dependencies, in
    CoNLL-U.

    `block`: see `blocks`; `limit`: only its first N trees; `fraction`: this fraction of them, evenly spaced, always the
    same trees.
    """

    path: Path
    tags: Path | None = None
    weight: float = 1.0
    limit: int | None = None
    fraction: float = 1.0
    block: str | None = None
    marginals: Path | None = None
    relations: Path | None = None

    @classmethod
    def parse(cls, text: str) -> TreebankFile:
        """Read a command line argument. Raises ConfigError for an unknown option or a value out of range."""
        path, *options = text.split(",")
        found: dict[str, Any] = {}
        for option in options:
            name, _, value = option.partition("=")
            if name not in _OPTIONS or (name in ("tags", "marginals") and not value):
                raise ConfigError(
                    f"{text}: {option!r} is no option of a treebank; allowed are tags=PATH, "
                    "marginals=PATH, weight=NUMBER, block=K/N, limit=N, fraction=NUMBER"
                )
            try:
                found[name] = _OPTIONS[name](value)
            except ValueError:
                raise ConfigError(f"{text}: {value!r} is no number for {name!r}") from None
        if "block" in found:
            blocks([], found["block"], text)
        if not 0 < found.get("weight", 1.0) < float("inf"):
            raise ConfigError(f"{text}: the weight is {found['weight']}; it must be above 0")
        if not 0 < found.get("fraction", 1.0) <= 1:
            raise ConfigError(f"{text}: the fraction is {found['fraction']}; it must be above 0 and at most 1")
        if found.get("limit", 1) < 1:
            raise ConfigError(f"{text}: the limit is {found['limit']}; it must be at least 1")
        return cls(Path(path), **found)

    @property
    def name(self) -> str:
        """The name of the treebank: that of the file's folder."""
        return self.path.resolve().parent.name

    @property
    def row_name(self) -> str:
        """The name in a table of results: `name`, or NAME_test for a file `test.mrg`."""
        return f"{self.name}_test" if self.path.stem == "test" else self.name

    @property
    def texts(self) -> tuple[str, ...]:
        """The raw texts whose trees a teacher predicted, from the list that `teacher trees` writes next to the file."""
        return listed_texts(self.path)

    def read(self) -> list[Sentence]:
        """Read the sentences. Raises TrainingDataError if there is no such file or no tree in it."""
        for path in (self.path, self.tags):
            if path is not None and not path.is_file():
                raise TrainingDataError(f"there is no file {path}; give the path of a file that exists")
        sentences = read_treebank(self.path, self.tags, self.weight, None if self.block else self.limit)
        if self.marginals is not None:
            sentences = _with_marginals(sentences, self.marginals)
        if self.relations is not None:
            from .relations import with_relations

            sentences = with_relations(sentences, self.relations)
        if not sentences:
            raise TrainingDataError(f"{self.path}: no tree in it; give a file of bracketed trees, (TOP (NP (NN test)))")
        chosen = sentences if self.block is None else blocks(sentences, self.block, str(self.path))[: self.limit]
        if not chosen:
            found = len(sentences)
            raise TrainingDataError(f"{self.path}: block {self.block} of its {found} trees is empty; give another one")
        return list(every(chosen, self.fraction))


def _with_marginals(sentences: Sequence[Sentence], path: Path) -> list[Sentence]:
    """Add marginals to the first sentences of a treebank, from the file that `jackknife-marginals` wrote for all."""
    _, lengths, marginals = read_marginals(path)
    if lengths[: len(sentences)] != [len(sentence.tags) for sentence in sentences]:
        raise TrainingDataError(
            f"{path} has the marginals of other sentences; write it again: python -m training jackknife-marginals …"
        )
    return [replace(s, marginals=b) for s, b in zip(sentences, marginals[: len(sentences)], strict=True)]


def blocks(items: Sequence[T], block: str, text: str) -> list[T]:
    """Every N-th block of ten items, starting with the K-th ("K/N"), or all other blocks ("-K/N"); so one file can
    provide training and development data. Raises ConfigError, which names `text`, for any other `block`."""
    which, _, n_blocks = block.removeprefix("-").partition("/")
    if not which.isdecimal() or not n_blocks.isdecimal() or not 0 < int(which) <= int(n_blocks):
        raise ConfigError(f"{text}: the block is {block!r}; give K/N or -K/N with K from 1 to N")
    inside = not block.startswith("-")
    return [item for i, item in enumerate(items) if (i // 10 % int(n_blocks) == int(which) - 1) == inside]


def every(sentences: Sequence[Sentence], fraction: float) -> tuple[Sentence, ...]:
    """About this fraction of the sentences, evenly spaced; always the same ones. Raises ConfigError unless `fraction`
    is above 0 and at most 1."""
    if not 0 < fraction <= 1:
        raise ConfigError(
            f"the fraction of sentences to use (fraction=, --scale) is {fraction!r}; it must be above 0 and at most 1"
        )
    indices = dict.fromkeys(math.floor(k / fraction) for k in range(math.ceil(len(sentences) * fraction)))
    return tuple(sentences[i] for i in indices if i < len(sentences))


def read_files(files: Iterable[TreebankFile]) -> list[Sentence]:
    """The sentences of all files, in order."""
    return [sentence for file in files for sentence in file.read()]


def parse_weighted_names(arguments: Sequence[str]) -> dict[str, float]:
    """Parse `NAME` and `NAME:WEIGHT` arguments to a mapping; the default weight is 1. Raises ConfigError for a name
    given twice or a weight that is no number above 0."""
    found: dict[str, float] = {}
    for argument in arguments:
        name, colon, text = argument.partition(":")
        try:
            weight = float(text) if colon else 1.0
        except ValueError:
            weight = 0.0
        if not name or name in found or not 0 < weight < float("inf"):
            raise ConfigError(f"{argument!r}: give each one once, as NAME or NAME:WEIGHT with a weight above 0")
        found[name] = weight
    return found


CONLLU = ".conllu"
"""The suffix of dependency treebanks."""


def part_file(folder: Path, name: str, part: str) -> Path:
    """The path `folder`/NAME/`part`.mrg, or that of the .psd or CoNLL-U file (`part`.conllu or …-`part`.conllu) if only
    that exists."""
    path = folder / name / f"{part}.mrg"
    if path.is_file():
        return path
    others = [path.with_suffix(SUFFIX), path.with_suffix(CONLLU), *sorted(path.parent.glob(f"*-{part}{CONLLU}"))]
    return next((other for other in others if other.is_file()), path)


def corpus_files(
    folder: Path, names: Sequence[str], part: str = "train", tags: Path | None = None
) -> list[TreebankFile]:
    """The files `folder`/NAME/`part`.mrg (or .psd) of every `NAME[:WEIGHT]`, with `tags`/NAME.`part`.tags if a folder
    of tags is given. For part "dev", treebanks without a dev part are left out."""
    files = []
    for name, weight in parse_weighted_names(names).items():
        path = part_file(folder, name, part)
        if part != "dev" or path.is_file():
            files.append(TreebankFile(path, None if tags is None else tags / f"{name}.{part}.tags", weight))
    return files


def read_list(path: Path, key: str, description: str) -> Any:
    """Read the value of `key` in one of the project's lists. Raises ConfigError if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf8"))[key]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: cannot read the {description} ({error})") from error


def catalogue() -> dict[str, dict[str, Any]]:
    """The public treebanks by id. Raises ConfigError if the list cannot be read."""
    return {entry["id"]: entry for entry in read_list(CATALOGUE, "treebanks", "list of treebanks")}


def provenance(names: Sequence[str]) -> dict[str, Any]:
    """Licence, credits and sources of a model trained on the named treebanks, as plain data.

    `license` is the strictest licence of the treebanks if all are known and a model may be shipped, else the reasons
    why not. `notices`: licence texts to include, relative to the folder of the list.
    """
    known = {**catalogue(), **PROJECT_TREEBANKS}
    credits: list[str] = []
    sources: list[dict[str, str]] = []
    notices: list[str] = []
    licences: list[str] = []
    problems: list[str] = []
    for name in dict.fromkeys(names):
        entry = known.get(name, {"name": name, "licence": {"name": "not known", "spdx": None}})
        terms, repositories = entry["licence"], entry.get("source", {}).get("github")
        url = (
            {"url": ", ".join(f"https://github.com/{repository}" for repository in repositories)}
            if repositories
            else {}
        )
        sources.append({"name": entry["name"], **url, "license": terms["name"]})
        credits += entry.get("credits", [])
        notices += [terms["text"]] if "text" in terms else []
        if name not in known:
            problems.append(f"the terms of {name} are not known")
        elif not entry.get("model_may_be_shipped", True):
            problems.append(f"{entry['name']}: {entry['terms']}")
        elif terms["spdx"] in LICENCE_ORDER:
            licences.append(terms["spdx"])
        elif terms["spdx"] is not None:
            problems.append(f"no rule for the licence {terms['spdx']} of {entry['name']}")
    licence = max(licences, key=LICENCE_ORDER.index, default=LICENCE_ORDER[0])
    # Among attribution licences of several versions: the share-alike one, or the latest.
    text = licence.replace("-", " ", licence.count("-")).replace("CC BY SA", "CC BY-SA")
    if problems:
        text = f"{_UNPUBLISHED}: {'; '.join(problems)}"
    return {"license": text, "credits": credits, "sources": sources, "notices": notices}


def text_list_path(path: Path) -> Path:
    """The path of the list of raw texts behind a file of a teacher's trees or of clusters: its name with the ending
    .texts."""
    return path.with_suffix(".texts")


def listed_texts(path: Path) -> tuple[str, ...]:
    """The names of raw texts in the list `text_list_path` a file; none if there is no list."""
    listed = text_list_path(path)
    return tuple(listed.read_text(encoding="utf8").split()) if listed.is_file() else ()


def span_model_treebanks(meta: Mapping[str, Any]) -> list[str]:
    """The names of the treebanks that the span model of a parser, or the model that its networks started from, was
    trained on, from the parser's meta."""
    models = (meta.get("reader", {}), meta.get("start", {}))
    return [treebank["name"] for model in models for treebank in model.get("treebanks", [])]


def source_treebanks(sources: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ids, as `provenance` takes them, of the treebanks in the `sources` of a pipeline's meta."""
    ids = {entry["name"]: name for name, entry in {**catalogue(), **PROJECT_TREEBANKS}.items()}
    return [ids.get(source["name"], source["name"]) for source in sources]


def training_origin(
    files: Sequence[TreebankFile], span_model: Sequence[str] = (), texts: Sequence[str] = ()
) -> dict[str, Any]:
    """`provenance` of files of trees and of the treebanks `span_model` of a span model, with a credit for each raw text
    whose trees a teacher predicted, and for the raw `texts` of word clusters."""
    origin = provenance([*(file.name for file in files if not file.texts), *span_model])
    texts_read = [text for file in files for text in file.texts]
    credits = [*text_credits(texts_read), *text_credits([text for text in texts if text not in texts_read], CLUSTERED)]
    if any(_UNPUBLISHED in credit for credit in credits) and not origin["license"].startswith(_UNPUBLISHED):
        origin["license"] = f"{_UNPUBLISHED}: see the credits of the raw texts"
    return {**origin, "credits": [*origin["credits"], *credits]}


def text_credits(names: Sequence[str], use: str = "annotated by a teacher") -> list[str]:
    """A credit for each raw text, by the names of the files, with its use; the credit of an unlisted text says that its
    terms are unknown. Raises ConfigError if the list cannot be read."""
    known = read_list(TEXTS, "texts", "list of raw texts")
    found = []
    for name in dict.fromkeys(names):
        credit, ships = f"Raw text {name}, whose terms are not known", False
        if name in known:
            what, licence, ships = (known[name][key] for key in ("what", "licence", "ships"))
            credit = f"Raw text, {use}: {what} ({licence})"
        found.append(credit if ships else f"{credit}: {_UNPUBLISHED}")
    return found


def write_tags(path: Path, lines: Sequence[Sequence[str]]) -> None:
    """Write one line of tags per sentence, separated by spaces; an empty line for an empty sentence."""
    write_atomically(path, "".join(" ".join(map(format_tag, tags)) + "\n" for tags in lines).encode())
