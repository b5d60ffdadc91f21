"""The treebanks a tagger learns from: their sentences, weights and folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from training.dependency.corpus import read_conllu
from training.tagging.sentences import Sentence, read_sentences
from training.teacher.shards import all_shards, read_shard


@dataclass(frozen=True)
class Treebank:
    """A named treebank; ``weight`` is how often a pass shows each of its training sentences."""

    name: str
    train: list[Sentence] = field(repr=False)
    dev: list[Sentence] = field(repr=False)
    weight: int = 1

    @classmethod
    def read(cls, argument: str) -> Treebank:
        """Read ``PATH`` or ``PATH:WEIGHT``: a folder with ``train.mrg`` and, if there is one, ``dev.mrg``; a folder of
        shards that a teacher has annotated; or a CoNLL-U file ``…train.conllu`` (XPOS) with, if there is one, its
        ``…dev.conllu``."""
        folder_text, colon, weight_text = argument.rpartition(":")
        if not colon or not weight_text.isdigit():
            folder_text, weight_text = argument, "1"
        folder = Path(folder_text)
        weight = int(weight_text)
        if weight < 1:
            raise ValueError(f"{argument}: the weight must be a whole number of at least 1")
        if folder.suffix == ".conllu":
            other = folder.with_name(folder.name.replace("train", "dev"))
            dev_sentences = _conllu(other) if other != folder and other.is_file() else []
            return cls(folder.resolve().parent.name, _conllu(folder), dev_sentences, weight)
        if not (folder / "train.mrg").is_file():
            if any(folder.glob("*.npz")):
                return cls(folder.resolve().name, _taught(folder), [], weight)
            raise FileNotFoundError(
                f"{folder}: neither train.mrg nor shards in this folder; give that of a treebank or of annotated text"
            )
        dev = folder / "dev.mrg"
        name = folder.resolve().name
        return cls(
            name, read_sentences(folder / "train.mrg"), read_sentences(dev) if dev.is_file() else [], weight
        )


def _conllu(path: Path) -> list[Sentence]:
    return [Sentence(tuple(s.columns.words), tuple(s.columns.tags)) for s in read_conllu(path)]


def _taught(folder: Path) -> list[Sentence]:
    return [Sentence(s.words, s.tags) for path in all_shards([folder]) for s in read_shard(path).sentences]


def fold_numbers(size: int, folds: int, block: int = 200) -> np.ndarray:
    """int32 [size]: the fold of each sentence. Blocks of consecutive sentences go round the folds in turn.

    Blocks (of at most ``block`` sentences, shorter in small treebanks so that each fold gets about four) keep
    most of a document on one side, and still show every fold each genre of a treebank sorted by genre.
    """
    if folds < 2:
        raise ValueError(f"jackknifing needs at least 2 folds, seen: {folds}")
    block = max(1, min(block, size // (4 * folds)))
    return ((np.arange(size) // block) % folds).astype(np.int32)


def kept_runs(keep: np.ndarray) -> list[slice]:
    """The maximal runs of consecutive sentences where the boolean array ``keep`` [size] is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], keep, [False]]).astype(np.int8)))
    return [slice(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def tag_set(treebanks: Sequence[Treebank]) -> list[str]:
    """All tags of the training parts, sorted."""
    return sorted({tag for treebank in treebanks for sentence in treebank.train for tag in sentence.tags})


def write_tags(path: Path, lines: Sequence[Sequence[str]]) -> None:
    """One line per sentence, tags separated by spaces; an empty sentence gives an empty line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(" ".join(tags) + "\n" for tags in lines), encoding="utf8")


def accuracy(gold: Sequence[Sentence], predicted: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Right tags and all tags."""
    right = total = 0
    for sentence, tags in zip(gold, predicted, strict=True):
        right += sum(a == b for a, b in zip(sentence.tags, tags, strict=True))
        total += len(sentence.tags)
    return right, total
