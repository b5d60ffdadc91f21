"""Read files of raw text as paragraphs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spacy_dtparse.errors import ConfigError, TrainingDataError

from .bad_input import decoding_errors, skip_or_raise

SHORTEST_WRAPPED = 60
"""Minimum characters of a line whose sentence may continue on the next line."""

_SPACED_HYPHEN = re.compile(r"(?<=\w) - (?=\w)")
_QUOTES = re.compile(r"``|''")
_SENTENCE_END = tuple(".?!:;\"'”’")


@dataclass(frozen=True)
class TextFile:
    """`PATH[,wrapped][,spaced]`: UTF-8 text, one paragraph per line.

    `wrapped`: lines are broken at a fixed width: a line of at least SHORTEST_WRAPPED characters that does not end like
    a sentence continues on the next one. `spaced`: an earlier tokenizer put blanks around hyphens (`two - year`), which
    are removed, also around hyphens that stand for dashes.
    """

    path: Path
    wrapped: bool = False
    spaced: bool = False

    @classmethod
    def parse(cls, text: str) -> TextFile:
        """Parse a command line argument. Raises ConfigError for an unknown option."""
        path, *options = text.split(",")
        unknown = [option for option in options if option not in ("wrapped", "spaced")]
        if unknown:
            raise ConfigError(f"{text}: {unknown[0]!r} is no option of a text; allowed are wrapped, spaced")
        return cls(Path(path), "wrapped" in options, "spaced" in options)

    @property
    def name(self) -> str:
        """The name of the file without its ending."""
        return self.path.stem

    def describe(self) -> dict[str, object]:
        """Name, SHA-256 of the file and options, as plain data. Raises TrainingDataError if it cannot be read."""
        digest = hashlib.sha256(self._bytes()).hexdigest()
        return {"name": self.name, "sha256": digest, "wrapped": self.wrapped, "spaced": self.spaced}

    def paragraphs(self) -> list[str]:
        """The paragraphs, without empty ones; white space becomes single blanks, `` and '' become ". A line that is not
        UTF-8 is skipped or raises by --errors. Raises TrainingDataError if the file is missing or has no text."""
        lines = list(self._lines())
        found = list(filter(None, map(self._clean, _unwrap(lines) if self.wrapped else lines)))
        if not found:
            raise TrainingDataError(f"{self.path}: no text in it; give a file with one paragraph per line")
        return found

    def _lines(self) -> Iterator[str]:
        """The lines of the file."""
        start = 0
        for line in self._bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            try:
                yield line.decode("utf8", decoding_errors())
            except UnicodeDecodeError as error:
                at = start + error.start
                skip_or_raise(
                    TrainingDataError(
                        f"{self.path}: byte {at} is not UTF-8; convert the file to UTF-8, or use --errors"
                    )
                )
            start += len(line) + 1

    def _bytes(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise TrainingDataError(
                f"{self.path}: cannot read the text ({error.strerror}); give the path of a text file"
            ) from error

    def _clean(self, line: str) -> str:
        line = _QUOTES.sub('"', " ".join(line.split()))
        return _SPACED_HYPHEN.sub("-", line) if self.spaced else line


def text_files(arguments: Sequence[str]) -> tuple[TextFile, ...]:
    """Parse command line arguments that name files; a folder stands for the .txt files in and below it, sorted by name.
    Raises ConfigError for an unknown option, TrainingDataError for a folder without such files."""
    found: list[TextFile] = []
    for argument in arguments:
        file = TextFile.parse(argument)
        inside = sorted(path for path in file.path.rglob("*.txt") if path.is_file()) if file.path.is_dir() else None
        if inside == []:
            raise TrainingDataError(f"{file.path}: no .txt file in this folder; give another folder, or files")
        found += [file] if inside is None else [replace(file, path=path) for path in inside]
    return tuple(found)


def _unwrap(lines: list[str]) -> Iterator[str]:
    """Join the lines of each paragraph."""
    paragraph = ""
    for line in lines:
        text = line.strip()
        paragraph = f"{paragraph} {text}" if paragraph and text else paragraph or text
        if len(text) < SHORTEST_WRAPPED or text.endswith(_SENTENCE_END):
            yield paragraph
            paragraph = ""
    yield paragraph
