"""Shards: files of sentences with a teacher's span distributions, compact and readable without torch.

A shard is an .npz of flat arrays: "text" uint8: the words of each sentence, separated by blanks, and a line break;
"tags" uint8 and "tag_sure" uint8 (the tag's probability) per word; "rows" int32 per sentence: its number of labelled
spans; "starts", "ends", "mass" (probability) uint8 and "chains" uint16 per labelled span (sentences have at most 255
words; probabilities in 255ths); "lists" uint8: the teacher's lists as JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spacy_dtparse.errors import ConfigError, TrainingDataError

from ..runs.resuming import as_array, as_facts, save_arrays, saved_arrays
from .corpus import Sentence
from .spans import count_chains

LEVELS = 255
LEAST = 0.02
"""Labelled spans with a lower probability are left out."""
_ARRAYS = ("text", "tags", "tag_sure", "rows", "starts", "ends", "chains", "mass", "lists")


NO_SOURCE = "*"
"""The name of ANY_SOURCE."""


@dataclass(frozen=True)
class Lists:
    """The teacher's label chains (the first is empty), tags and sources (the first is NO_SOURCE), in the order of their
    ids."""

    chains: tuple[tuple[str, ...], ...]
    tags: tuple[str, ...]
    sources: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], least_chain: int = 2) -> Lists:
        """The lists for training sentences, with chains that occur at least `least_chain` times. Raises
        TrainingDataError if there is no sentence."""
        if not sentences:
            raise TrainingDataError("no sentences to train the teacher on; give treebanks with trees")
        counted = count_chains(sentence.tree for sentence in sentences)
        chains = [c for c, times in sorted(counted.items(), key=lambda x: (-x[1], x[0])) if times >= least_chain]
        tags = Counter(tag for sentence in sentences for tag in sentence.tree.tags)
        sources = sorted({sentence.source for sentence in sentences})
        return cls(((), *chains), tuple(sorted(tags)), (NO_SOURCE, *sources))

    def source(self, name: str | None) -> int:
        """The id of a source; that of NO_SOURCE for None. Raises ConfigError for an unknown source."""
        if name is None:
            return 0
        if name not in self.sources:
            raise ConfigError(f"the teacher was not trained on {name!r}; its sources are {', '.join(self.sources)}")
        return self.sources.index(name)

    def to_dict(self) -> dict[str, Any]:
        """The lists as plain data."""
        return {
            "chains": [list(chain) for chain in self.chains],
            "tags": list(self.tags),
            "sources": list(self.sources),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Lists:
        """The reverse of `to_dict`."""
        return cls(tuple(map(tuple, data["chains"])), tuple(data["tags"]), tuple(data["sources"]))


class Belief(NamedTuple):
    """A teacher's distribution over labelled spans and tags of a sentence of n words. `spans` int32 (c, 2) with
    `labels` int32 (c,), ids of label chains (0: none), and `mass` float32 (c,): the probability that the tree has
    exactly this chain over the span; `tags` int32 (n,) with `tag_sure` float32 (n,), their probabilities."""

    spans: np.ndarray
    labels: np.ndarray
    mass: np.ndarray
    tags: np.ndarray
    tag_sure: np.ndarray


def save_shard(path: Path, lists: Lists, sentences: Sequence[tuple[str, ...]], beliefs: Sequence[Belief]) -> None:
    """Write a shard. Raises TrainingDataError for a sentence that is empty or too long, or a word that contains white
    space."""
    for words in sentences:
        if not 1 <= len(words) <= LEVELS or any(not word or word.split() != [word] for word in words):
            raise TrainingDataError(
                f"cannot store a sentence of {len(words)} words that begins {' '.join(words[:5])!r}: it must have 1 to "
                f"{LEVELS} words, none of them empty or with white space"
            )
    if len(lists.tags) > LEVELS or len(lists.chains) > 65_535:
        raise TrainingDataError(
            f"{len(lists.tags)} tags and {len(lists.chains)} label chains; a shard can store {LEVELS} and 65,535"
        )

    def joined(parts: list[np.ndarray], kind: type = np.uint8) -> np.ndarray:
        return np.concatenate([np.zeros(0, kind), *parts]).astype(kind)

    text = "".join(" ".join(words) + "\n" for words in sentences)
    save_arrays(path, {
        "text": np.frombuffer(text.encode(), dtype=np.uint8),
        "tags": joined([b.tags for b in beliefs]),
        "tag_sure": joined([np.rint(b.tag_sure * LEVELS) for b in beliefs]),
        "rows": np.array([len(b.mass) for b in beliefs], dtype=np.int32),
        "starts": joined([b.spans[:, 0] for b in beliefs]),
        "ends": joined([b.spans[:, 1] for b in beliefs]),
        "chains": joined([b.labels for b in beliefs], np.uint16),
        "mass": joined([np.rint(b.mass * LEVELS) for b in beliefs]),
        "lists": as_array(lists.to_dict()),
    })  # fmt: skip


@dataclass(frozen=True)
class TaughtSentence:
    """A sentence of a shard. `tags`: strings. `sure`: the minimum probability of its tags. `beliefs`:
    starts, ends, chains (int64) and probabilities (float32) of labelled spans, arrays of the same length."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    sure: float
    beliefs: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Shard:
    """A shard's lists of label chains and tags, and its sentences."""

    chains: tuple[tuple[str, ...], ...]
    tags: tuple[str, ...]
    sentences: tuple[TaughtSentence, ...]


def _arrays(path: Path) -> dict[str, Any]:
    with saved_arrays(path) as held:
        return {name: held[name] for name in _ARRAYS}


def read_shard(path: Path) -> Shard:
    """Read a shard of `save_shard`. Raises TrainingDataError if it cannot be read."""
    arrays = _arrays(path)
    lists = as_facts(arrays["lists"])
    tags = tuple(lists["tags"])
    lines = arrays["text"].tobytes().decode().splitlines()
    sentences = []
    word_at = row_at = 0
    for line, rows in zip(lines, arrays["rows"].tolist(), strict=True):
        words = tuple(line.split(" "))
        own, here = slice(word_at, word_at + len(words)), slice(row_at, row_at + rows)
        own_tags = tuple(tags[number] for number in arrays["tags"][own].tolist())
        starts, ends, chains = (arrays[name][here].astype(np.int64) for name in ("starts", "ends", "chains"))
        beliefs = starts, ends, chains, arrays["mass"][here].astype(np.float32) / LEVELS
        sentences.append(TaughtSentence(words, own_tags, float(arrays["tag_sure"][own].min()) / LEVELS, beliefs))
        word_at, row_at = own.stop, here.stop
    return Shard(tuple(map(tuple, lists["chains"])), tags, tuple(sentences))


def shard_files(folder: Path) -> dict[str, list[Path]]:
    """The shards of a folder by the name of their text. Raises TrainingDataError if there is none."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.npz")):
        found.setdefault(text_of(path), []).append(path)
    if not found:
        raise TrainingDataError(f"{folder} has no shards; write some: python -m training teacher annotate …")
    return found


def text_of(path: Path) -> str:
    """The name of the text that a shard belongs to."""
    return path.name.rsplit(".", 2)[0]


def all_shards(folders: Sequence[Path], every: int = 1) -> list[Path]:
    """The shards of several folders, every `every`-th of each text. Raises TrainingDataError as `shard_files` does."""
    return [path for folder in folders for paths in shard_files(folder).values() for path in paths[::every]]


def retag(path: Path, out: Path, tags: Sequence[Sequence[str]]) -> None:
    """Copy a shard with other tags, one for each word of each sentence; their probabilities are unknown and set to
    1."""
    arrays = _arrays(path)
    known = sorted({tag for row in tags for tag in row})
    numbers = {tag: number for number, tag in enumerate(known)}
    flat = [numbers[tag] for row in tags for tag in row]
    if len(flat) != len(arrays["tags"]):
        raise TrainingDataError(f"{path}: {len(flat)} tags for {len(arrays['tags'])} words; give one for each")
    arrays["lists"] = as_array({**as_facts(arrays["lists"]), "tags": known})
    arrays["tags"] = np.array(flat, dtype=np.uint8)
    arrays["tag_sure"] = np.full(len(flat), LEVELS, dtype=np.uint8)
    save_arrays(out, arrays)
