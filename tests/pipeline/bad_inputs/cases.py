"""Helpers that make bad or odd inputs, and the kinds of expected results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse.dtparse.component import DtParse
from spacy_dtparse.models import open_parser
from spacy_dtparse.pipeline.sentences import is_blank, plain_word
from spacy_dtparse.text import unescape_token
from spacy_dtparse.trees.brackets import parse_tree

from ..rule_parser import RuleParser


class Bench:
    """Means to make the rows: the embedded pipeline, a small dependency model, and a folder for files."""

    link_model: Callable[[], Path]

    def __init__(self, folder: Path):
        self.folder = folder
        self.nlp: Any = None

    def file(self, data: bytes, name: str = "input") -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def doc(self, words: str, tags: str | None = None, starts: str | None = None) -> Doc:
        """Make a Doc of words between spaces; "-" is a missing tag; `starts` has 1, 0 or ? for each word."""
        flags = {"1": True, "0": False, "?": None}
        return Doc(
            self.nlp.vocab,
            words=words.split(" "),
            tags=None if tags is None else [tag.replace("-", "") for tag in tags.split(" ")],
            sent_starts=None if starts is None else [flags[flag] for flag in starts],
        )

    def parse(self, *arguments: str | None) -> Doc:
        """Parse the Doc of `doc` with a dtparse component that has not warned yet."""
        component = DtParse(parser=self.nlp.get_pipe("dtparse").parser)
        return component(self.doc(*arguments))  # type: ignore[arg-type]

    def rule_parser(self) -> Any:
        return RuleParser()

    def model(self) -> bytes:
        return open_parser("en_span").to_bytes()

    def component(self, factory: str = "dtparse", **settings: Any) -> DtParse:
        return spacy.blank("en").add_pipe(factory, config=settings)  # type: ignore[return-value]


class Raises(NamedTuple):
    error: type[Exception] | str
    phrase: str

    def __str__(self) -> str:
        name = self.error if isinstance(self.error, str) else self.error.__name__
        return f"{name}: `… {self.phrase} …`"


class Exits(NamedTuple):
    code: int
    phrase: str

    def __str__(self) -> str:
        return f"exit code {self.code}, on standard error: `… {self.phrase} …`"


class Returns(NamedTuple):
    text: str
    check: Callable[[Any], bool]
    warning: str = ""

    def __str__(self) -> str:
        return self.text + (f", and a warning: `… {self.warning} …`" if self.warning else "")


class Case(NamedTuple):
    area: str
    name: str
    make: Callable[[Bench], Any]
    gets: Raises | Exits | Returns


def whole(doc: Doc) -> bool:
    """Whether every sentence has a tree of exactly its visible tokens, readable again from its brackets."""
    for sentence in doc.sents if len(doc) else ():
        words = [plain_word(token.text) for token in sentence if not is_blank(token.text)]
        if words:
            tree = parse_tree(sentence._.parse_string)
            if [unescape_token(word) for word in tree.words] != words or tree.labels[0] != "TOP":
                return False
    infos = spacy_dtparse.sentence_infos(doc)
    return [(info["start"], info["end"]) for info in infos] == [(s.start, s.end) for s in doc.sents if len(doc)]


def statuses(doc: Doc) -> set[str]:
    return {info["status"] for info in spacy_dtparse.sentence_infos(doc)}


def has(*parts: str) -> Callable[[Doc], bool]:
    """Return a check whether the brackets of the sentences contain all `parts`."""
    return lambda doc: all(part in " ".join(s._.parse_string for s in doc.sents) for part in parts)


TREES = "one tree per sentence, of all its tokens"
