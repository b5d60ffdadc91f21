"""A teacher's vectors of words, each the mean over places in annotated text: where a student's words begin."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.text import normal_word

from ..data.shards import read_shard
from ..data.word_vectors import WordVectors
from .encoder import WIDTH, torch
from .model import Teacher
from .network import Reader, batches

BATCH = 1500
"""Sub-words that are read together."""


def chosen_sentences(shards: Sequence[Path], places: int, least: int) -> tuple[list[tuple[str, ...]], Counter[str]]:
    """Sentences in which words that occur at least `least` times have up to `places` places, and how often each normal
    word occurs in all of the shards."""
    counts = Counter(normal_word(w) for path in shards for s in read_shard(path).sentences for w in s.words)
    had: Counter[str] = Counter()
    chosen = []
    for path in shards:
        for sentence in read_shard(path).sentences:
            words = [normal_word(word) for word in sentence.words]
            if any(counts[word] >= least and had[word] < places for word in words):
                had.update(words)
                chosen.append(sentence.words)
    return chosen, counts


def mean_vectors(
    teacher: Teacher,
    sentences: Sequence[tuple[str, ...]],
    counts: Counter[str],
    source: str | None,
    log: Callable[[str], None] = lambda text: None,
) -> WordVectors:
    """Of each normal word of the sentences the mean over the teacher's networks and the word's places there, WIDTH
    numbers, with its count."""
    rows: dict[str, int] = {}
    for sentence in sentences:
        for word in sentence:
            rows.setdefault(normal_word(word), len(rows))
    sums, times = np.zeros((len(rows), WIDTH), dtype=REAL), np.zeros(len(rows), dtype=np.int64)
    done = 0
    for part, vectors in _read(teacher, sentences, source):
        at = np.array([rows[normal_word(word)] for word in part])
        np.add.at(sums, at, vectors)
        np.add.at(times, at, 1)
        before, done = done, done + len(part)
        if before // 200_000 < done // 200_000:
            log(f"{done} words")
    met = np.array([counts[word] for word in rows], dtype=np.int64)
    return WordVectors(tuple(rows), sums / np.maximum(times, 1)[:, None], met)


@torch.inference_mode()
def _read(
    teacher: Teacher, sentences: Sequence[tuple[str, ...]], source: str | None
) -> Iterator[tuple[list[str], np.ndarray]]:
    """Words of a batch of sentences with their vectors, float32 (words, WIDTH)."""
    number, reader = teacher.lists.source(source), Reader()
    reads = list(map(reader.read, sentences))
    for part in batches(reads, BATCH):
        read = [reads[k] for k in part]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = sum(network.read_words(read, [number] * len(read)).float() for network in teacher.networks)
        vectors = found.numpy() / REAL(len(teacher.networks))  # type: ignore[union-attr]
        own = [vectors[row, 1 : 1 + len(sentences[k])] for row, k in enumerate(part)]
        yield [word for k in part for word in sentences[k]], np.concatenate(own)
