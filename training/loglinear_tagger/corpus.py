"""Labelled sentences: files of a token to the line, and their arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX, OFFSET
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.features.linear.tagparts import TagParts
from spacy_dtparse.kernels.linear.tagging import COLUMNS, EDGE, FIRST_LABEL, START


class LabelledSentence(NamedTuple):
    """A sentence with as many words as labels, and as many tags or none."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    labels: tuple[str, ...]


def read_labelled(path: str | Path) -> list[LabelledSentence]:
    """The sentences of a file with "word<TAB>tag<TAB>label" or "word<TAB>label" in each line, blank lines between
    sentences.

    Raises TrainingDataError with file and line for other lines, or where both kinds occur.
    """
    path, sentences = Path(path), []
    rows: list[list[str]] = []
    width = 0
    try:
        lines = path.read_text(encoding="utf8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TrainingDataError(f"{path}: cannot read the labels ({error}); give a UTF-8 file") from error
    for number, line in enumerate([*lines, ""], 1):
        line = line.rstrip("\r")
        if line.strip():
            cells = line.split("\t")
            width = width or len(cells)
            if len(cells) not in (2, 3) or len(cells) != width or not all(cells):
                raise TrainingDataError(
                    f"{path}:{number}: {line[:60]!r} has not the form word<TAB>tag<TAB>label, or word<TAB>label in "
                    "every line of the file"
                )
            rows.append(cells)
        elif rows:
            words, *tags, labels = zip(*rows, strict=True)
            sentences.append(LabelledSentence(words, tags[0] if tags else (), labels))
            rows = []
    return sentences


def write_labelled(sentences: Iterable[LabelledSentence]) -> str:
    """The text that `read_labelled` reads."""
    parts = []
    for words, tags, labels in sentences:
        columns = (words, tags, labels) if tags else (words, labels)
        parts += ["\t".join(row) + "\n" for row in zip(*columns, strict=True)] + ["\n"]
    return "".join(parts)


class SequenceData(NamedTuple):
    """Sentences one after the other, each with its edges. `atoms`: int32 (rows, COLUMNS), see `kernels.linear.tagging`;
    `starts`: int64 (sentences + 1,), the first row of each; `gold`: int32 (rows,), atoms of the labels, START at
    edges."""

    atoms: np.ndarray
    starts: np.ndarray
    gold: np.ndarray


def make_data(sentences: Sequence[LabelledSentence], parts: TagParts) -> SequenceData:
    """The arrays of sentences; a label that `parts` lacks becomes the first one."""
    starts = np.cumsum([0, *(len(s.words) + 2 * EDGE for s in sentences)]).astype(OFFSET)
    atoms, gold = np.empty((int(starts[-1]), COLUMNS), INDEX), np.full(int(starts[-1]), START, INDEX)
    for sentence, start, end in zip(sentences, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        atoms[start:end] = parts.encode(sentence.words, sentence.tags)
        gold[start + EDGE : end - EDGE] = FIRST_LABEL + parts.labels.encode(sentence.labels, default=0)
    return SequenceData(atoms, starts, gold)
