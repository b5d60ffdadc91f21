"""Labelled sentences, and files of them with one token per line."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from spacy_dtparse.errors import TrainingDataError


class LabelledSentence(NamedTuple):
    """A sentence: words, a tag for each word or none at all, and a label for each word."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    labels: tuple[str, ...]


Sentences = Sequence[LabelledSentence]


def read_label_file(path: str | Path) -> list[LabelledSentence]:
    """Read the sentences of a file with "word<TAB>tag<TAB>label" or "word<TAB>label" in each line, blank lines between
    sentences. Raises TrainingDataError with file and line for other lines, or if both kinds occur."""
    sentences, rows, width = [], list[list[str]](), 0
    try:
        lines = Path(path).read_text(encoding="utf8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TrainingDataError(f"{path}: cannot read the labels ({error}); give a UTF-8 file") from error
    for number, line in enumerate([*lines, ""], 1):
        line = line.rstrip("\r")
        if line.strip():
            cells = line.split("\t")
            width = width or len(cells)
            if len(cells) not in (2, 3) or len(cells) != width or not all(cells):
                raise TrainingDataError(
                    f"{path}:{number}: {line[:60]!r} is not of the form word<TAB>tag<TAB>label, or word<TAB>label in "
                    "every line of the file"
                )
            rows.append(cells)
        elif rows:
            words, *tags, labels = zip(*rows, strict=True)
            sentences.append(LabelledSentence(words, tags[0] if tags else (), labels))
            rows = []
    return sentences


def format_labelled(sentences: Iterable[LabelledSentence]) -> str:
    """Format sentences as text for `read_label_file`."""
    columns = (zip(*filter(None, sentence), strict=True) for sentence in sentences)
    return "".join("".join("\t".join(row) + "\n" for row in rows) + "\n" for rows in columns)
