"""Labelled sentences, and files of them with one token per line."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from spacy_dtparse.errors import TrainingDataError

from ..data.bad_input import numbered_lines, skip_or_raise


class LabelledSentence(NamedTuple):
    """A sentence: words, a tag for each word or none at all, and a label for each word."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    labels: tuple[str, ...]


Sentences = Sequence[LabelledSentence]


def read_label_file(path: str | Path) -> list[LabelledSentence]:
    """Read the sentences of a file with "word<TAB>tag<TAB>label" or "word<TAB>label" in each line, blank lines between
    sentences. A sentence with another line, or if both kinds occur, with one of the second kind, is skipped or raises
    TrainingDataError, with file and line, by --errors."""
    sentences, rows, width, is_bad = [], list[list[str]](), 0, False
    try:
        lines = list(numbered_lines(Path(path)))
    except OSError as error:
        raise TrainingDataError(f"{path}: cannot read the labels ({error}); give a UTF-8 file") from error
    for number, line in [*lines, (0, "")]:
        if line is None:
            is_bad = True
        elif line.strip():
            cells = line.split("\t")
            if len(cells) not in (2, 3) or len(cells) != (width or len(cells)) or not all(cells):
                problem = (
                    f"{path}:{number}: {line[:60]!r} is not of the form word<TAB>tag<TAB>label, or word<TAB>label in "
                    "every line of the file"
                )
                skip_or_raise(TrainingDataError(problem))
                is_bad = True
            else:
                width = len(cells)
            rows.append(cells)
        else:
            if rows and not is_bad:
                words, *tags, labels = zip(*rows, strict=True)
                sentences.append(LabelledSentence(words, tags[0] if tags else (), labels))
            rows, is_bad = [], False
    return sentences


def format_labelled(sentences: Iterable[LabelledSentence]) -> str:
    """Format sentences as text for `read_label_file`."""
    columns = (zip(*filter(None, sentence), strict=True) for sentence in sentences)
    return "".join("".join("\t".join(row) + "\n" for row in rows) + "\n" for rows in columns)
