"""Treebanks for training taggers: their sentences (words as in users' texts), weights and folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.text import raw_word
from spacy_dtparse.trees import EMPTY_TAG, base_label
from training.data.bad_input import read_trees
from training.data.dependencies import read_conllu_columns
from training.data.shards import list_shards, read_shard


@dataclass(frozen=True)
class CorpusSentence:
    """The words (unescaped) and gold tags (without function suffixes) of one tree."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_tagged_sentences(path: Path) -> list[CorpusSentence]:
    """Read the sentences of a file of bracketed trees, in file order, without empty elements (``-NONE-``). A tree
    without words gives a Sentence of no words, so that sentences and trees stay aligned. Raises TreeFormatError, with
    file, line and column, for a malformed tree."""
    sentences = []
    for tree in read_trees(path):
        leaves = [leaf for leaf in zip(tree.words, tree.tags, strict=True) if leaf[1] != EMPTY_TAG]
        words = tuple(raw_word(word) for word, _ in leaves)
        sentences.append(CorpusSentence(words, tuple(base_label(tag) for _, tag in leaves)))
    return sentences


@dataclass(frozen=True)
class Treebank:
    """A named treebank; ``weight``: number of times that each of its training sentences occurs in a pass."""

    name: str
    train: list[CorpusSentence] = field(repr=False)
    dev: list[CorpusSentence] = field(repr=False)
    weight: int = 1

    @classmethod
    def read(cls, argument: str, tag_column: str = "xpos") -> Treebank:
        """Read ``PATH`` or ``PATH:WEIGHT``: a folder with ``train.mrg`` and optionally ``dev.mrg``; a folder of shards
        annotated by a teacher; or a CoNLL-U file ``…train.conllu``, optionally with its ``…dev.conllu``, with the tags
        of the column ``tag_column``, "xpos" or "upos". Raises TrainingDataError if that column is empty."""
        text, _, number = argument.rpartition(":")
        path, weight = (Path(text), int(number)) if text and number.isdigit() else (Path(argument), 1)
        if weight < 1:
            raise ValueError(f"{argument}: the weight must be a whole number of at least 1")
        name, dev = path.resolve().name, list[CorpusSentence]()
        if path.suffix == ".conllu":
            other = path.with_name(path.name.replace("train", "dev"))
            name, train = path.resolve().parent.name, _read_conllu_sentences(path, tag_column)
            dev = _read_conllu_sentences(other, tag_column) if other != path and other.is_file() else []
        elif (path / "train.mrg").is_file():
            files = (path / "train.mrg", path / "dev.mrg")
            train, dev = (read_tagged_sentences(file) if file.is_file() else [] for file in files)
        elif any(path.glob("*.npz")):
            sentences = (sentence for shard in list_shards([path]) for sentence in read_shard(shard).sentences)
            train = [CorpusSentence(s.words, tuple(map(str, s.tags))) for s in sentences]
        else:
            raise FileNotFoundError(
                f"{path} has neither train.mrg nor shards; give the folder of a treebank or of annotated text"
            )
        return cls(name, train, dev, weight)


def _read_conllu_sentences(path: Path, tag_column: str) -> list[CorpusSentence]:
    rows = [(tuple(s.words), tuple(s.pos if tag_column == "upos" else s.tags)) for s in read_conllu_columns(path)]
    if rows and not any(tag for _, tags in rows for tag in tags):
        column, other = ("4 (UPOS)", "xpos") if tag_column == "upos" else ("5 (XPOS)", "upos")
        raise TrainingDataError(
            f"{path}: no token has a tag in column {column}; to use the other column of tags: --tag-column {other}"
        )
    return [CorpusSentence(words, tags) for words, tags in rows]


def consecutive_runs(selected: np.ndarray) -> list[slice]:
    """Maximal runs of consecutive sentences for which the boolean array ``selected`` [size] is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], selected, [False]]).astype(np.int8)))
    return [slice(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def tag_set(treebanks: Sequence[Treebank]) -> list[str]:
    """All tags of the training parts, sorted."""
    return sorted({tag for treebank in treebanks for sentence in treebank.train for tag in sentence.tags})


def accuracy(gold: Sequence[CorpusSentence], predicted: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Count correct tags and all tags."""
    rows = zip(gold, predicted, strict=True)
    same = [a == b for sentence, tags in rows for a, b in zip(sentence.tags, tags, strict=True)]
    return sum(same), len(same)
