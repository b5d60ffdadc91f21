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

from spacy_dtparse.core.ambiguous_tags import format_tag, parse_tag, second_tag
from spacy_dtparse.errors import ConfigError, TrainingDataError

from ..runs.resuming import array_to_data, as_array, open_arrays, save_arrays
from .corpus import Sentence
from .spans import count_chains

LEVELS = 255
MIN_PROB = 0.02
"""Labelled spans with a lower probability are left out."""
_ARRAYS = ("text", "tags", "tag_sure", "rows", "starts", "ends", "chains", "mass", "lists")


NO_SOURCE = "*"
"""The name of ANY_SOURCE."""


@dataclass(frozen=True)
class LabelSets:
    """The teacher's label chains (the first is empty), tags and sources (the first is NO_SOURCE), in the order of their
    ids."""

    chains: tuple[tuple[str, ...], ...]
    tags: tuple[str, ...]
    sources: tuple[str, ...]

    @classmethod
    def from_sentences(cls, sentences: Sequence[Sentence], min_chain_count: int = 2) -> LabelSets:
        """The lists for training sentences, with chains that occur at least `min_chain_count` times. Raises
        TrainingDataError if there is no sentence."""
        if not sentences:
            raise TrainingDataError("no sentences to train the teacher on; give treebanks with trees")
        counted = count_chains(sentence.tree for sentence in sentences)
        chains = [c for c, times in sorted(counted.items(), key=lambda x: (-x[1], x[0])) if times >= min_chain_count]
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
    def from_dict(cls, data: dict[str, Any]) -> LabelSets:
        """The reverse of `to_dict`."""
        return cls(tuple(map(tuple, data["chains"])), tuple(data["tags"]), tuple(data["sources"]))


class SpanDistribution(NamedTuple):
    """A teacher's distribution over labelled spans and tags of a sentence of n words. `spans` int32 (c, 2) with
    `labels` int32 (c,), ids of label chains (0: none), and `probs` float32 (c,): the probability that the tree has
    exactly this chain over the span; `tags` int32 (n,) with `tag_probs` float32 (n,), their probabilities."""

    spans: np.ndarray
    labels: np.ndarray
    probs: np.ndarray
    tags: np.ndarray
    tag_probs: np.ndarray


def save_shard(
    path: Path, lists: LabelSets, sentences: Sequence[tuple[str, ...]], distributions: Sequence[SpanDistribution]
) -> None:
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

    def concatenate(parts: list[np.ndarray], kind: type = np.uint8) -> np.ndarray:
        return np.concatenate([np.zeros(0, kind), *parts]).astype(kind)

    text = "".join(" ".join(words) + "\n" for words in sentences)
    save_arrays(
        path,
        {
            "text": np.frombuffer(text.encode(), dtype=np.uint8),
            "tags": concatenate([b.tags for b in distributions]),
            "tag_sure": concatenate([np.rint(b.tag_probs * LEVELS) for b in distributions]),
            "rows": np.array([len(b.probs) for b in distributions], dtype=np.int32),
            "starts": concatenate([b.spans[:, 0] for b in distributions]),
            "ends": concatenate([b.spans[:, 1] for b in distributions]),
            "chains": concatenate([b.labels for b in distributions], np.uint16),
            "mass": concatenate([np.rint(b.probs * LEVELS) for b in distributions]),
            "lists": as_array(lists.to_dict()),
        },
    )


@dataclass(frozen=True)
class AnnotatedSentence:
    """A sentence of a shard. `tags`: strings. `min_tag_prob`: the minimum probability of its tags. `distribution`:
    starts, ends, chains (int64) and probabilities (float32) of labelled spans, arrays of the same length."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    min_tag_prob: float
    distribution: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Shard:
    """A shard's lists of label chains and tags, and its sentences."""

    chains: tuple[tuple[str, ...], ...]
    tags: tuple[str, ...]
    sentences: tuple[AnnotatedSentence, ...]


def _read_arrays(path: Path) -> dict[str, Any]:
    with open_arrays(path) as arrays:
        return {name: arrays[name] for name in _ARRAYS}


def read_shard(path: Path) -> Shard:
    """Read a shard of `save_shard`. Raises TrainingDataError if it cannot be read."""
    arrays = _read_arrays(path)
    lists = array_to_data(arrays["lists"])
    tags = tuple(map(parse_tag, lists["tags"]))
    lines = arrays["text"].tobytes().decode().splitlines()
    sentences = []
    word_at = row_at = 0
    for line, rows in zip(lines, arrays["rows"].tolist(), strict=True):
        words = tuple(line.split(" "))
        token_rows, here = slice(word_at, word_at + len(words)), slice(row_at, row_at + rows)
        token_tags = tuple(tags[i] for i in arrays["tags"][token_rows].tolist())
        starts, ends, chains = (arrays[name][here].astype(np.int64) for name in ("starts", "ends", "chains"))
        distribution = starts, ends, chains, arrays["mass"][here].astype(np.float32) / LEVELS
        sentences.append(
            AnnotatedSentence(words, token_tags, float(arrays["tag_sure"][token_rows].min()) / LEVELS, distribution)
        )
        word_at, row_at = token_rows.stop, here.stop
    return Shard(tuple(map(tuple, lists["chains"])), tags, tuple(sentences))


def shard_files(folder: Path) -> dict[str, list[Path]]:
    """The shards of a folder by the name of their text. Raises TrainingDataError if there is none."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.npz")):
        found.setdefault(text_name(path), []).append(path)
    if not found:
        raise TrainingDataError(f"{folder} has no shards; write some: python -m training teacher annotate …")
    return found


def text_name(path: Path) -> str:
    """The name of the text that a shard belongs to."""
    return path.name.rsplit(".", 2)[0]


def list_shards(folders: Sequence[Path], every: int = 1) -> list[Path]:
    """The shards of several folders, every `every`-th of each text. Raises TrainingDataError as `shard_files` does."""
    return [path for folder in folders for paths in shard_files(folder).values() for path in paths[::every]]


def retag(path: Path, out: Path, tags: Sequence[Sequence[str]]) -> None:
    """Copy a shard with other tags, one for each word of each sentence; their probabilities are unknown and set to
    1. As a shard has at most 255 tags, the rarest second-best tags may be left out."""
    arrays = _read_arrays(path)
    given = [tag for row in tags for tag in row]
    pairs, plain = Counter(map(format_tag, filter(second_tag, given))), {str(tag) for tag in given}
    kept = {pair for pair, _ in sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[: LEVELS - len(plain)]}
    flat_tags = [format_tag(tag) if format_tag(tag) in kept else str(tag) for tag in given]
    known = sorted(set(flat_tags))
    ids = {tag: i for i, tag in enumerate(known)}
    flat = [ids[tag] for tag in flat_tags]
    if len(flat) != len(arrays["tags"]):
        raise TrainingDataError(f"{path}: {len(flat)} tags for {len(arrays['tags'])} words; give one for each")
    arrays["lists"] = as_array({**array_to_data(arrays["lists"]), "tags": known})
    arrays["tags"] = np.array(flat, dtype=np.uint8)
    arrays["tag_sure"] = np.full(len(flat), LEVELS, dtype=np.uint8)
    save_arrays(out, arrays)
