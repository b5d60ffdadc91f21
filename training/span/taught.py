"""A teacher's beliefs of raw text (`training.teacher.shards`) as examples, kept small and made when they are asked
for."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL, STORED_REAL
from spacy_dtparse.features.lexicon import normal_word
from spacy_dtparse.features.wordparts import WordParts
from spacy_dtparse.model.span import Chain

from ..teacher.shards import LEVELS, read_shard
from .examples import SpanExample, crossing_spans, number_of

SURE = 0.5
"""Probability above which a constituent is one that the students' trees may not cross; two such never cross."""


class MadeExamples(Sequence[SpanExample]):
    """Examples that `_at` makes when they are asked for. `rows` int64: the rows of each."""

    rows: np.ndarray

    @abstractmethod
    def _at(self, place: int) -> SpanExample:
        """The example of a place from 0 on."""

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> SpanExample: ...
    @overload
    def __getitem__(self, place: slice) -> list[SpanExample]: ...
    def __getitem__(self, place: int | slice) -> SpanExample | list[SpanExample]:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        return self._at(place)


class TaughtExamples(MadeExamples):
    """Sentences of shards of at most `max_words` words. Trees must not cross the constituents that the teacher is SURE
    of; labels count by what it believes of them. `rows` int64: the rows of each, its words and one around each end."""

    def __init__(
        self,
        shards: Iterable[Path],
        words: WordParts,
        chains: dict[Chain, int],
        counts: Counter[str],
        hide: float,
        max_words: int,
        weight: float = 1.0,
    ):
        numbers, rare, beliefs, n_beliefs, sizes = [], [], [], [], []
        for path in shards:
            shard = read_shard(path)
            own = np.array([number_of(chain, chains) for chain in shard.chains], dtype=np.int64)
            for sentence in shard.sentences:
                if len(sentence.words) > max_words:
                    continue
                numbers.append(words.encode(sentence.words, sentence.tags))
                hidden = [hide / (hide + counts[normal_word(word)]) for word in sentence.words] if hide > 0 else None
                chance = np.zeros(len(sentence.words) + 2, dtype=STORED_REAL)
                if hidden is not None:
                    chance[1:-1] = hidden
                rare.append(chance)
                starts, ends, labels, mass = sentence.beliefs
                packed = np.empty((len(starts), 4), dtype=np.uint16)
                packed[:, 0], packed[:, 1], packed[:, 2], packed[:, 3] = (
                    starts,
                    ends,
                    own[labels],
                    np.rint(mass * LEVELS),
                )
                beliefs.append(packed)
                n_beliefs.append(len(packed))
                sizes.append(len(sentence.words) + 2)
        self.rows = np.array(sizes, dtype=np.int64)
        self._row_from = np.concatenate([[0], np.cumsum(self.rows)])
        self._belief_from = np.concatenate([[0], np.cumsum(np.array(n_beliefs, dtype=np.int64))])
        self._numbers = np.concatenate(numbers) if numbers else np.zeros((0, 5), dtype=INDEX)
        self._rare = np.concatenate(rare) if rare else np.zeros(0, dtype=STORED_REAL)
        self._beliefs = np.concatenate(beliefs) if beliefs else np.zeros((0, 4), dtype=np.uint16)
        self._weight = weight

    def packed(self) -> bytes:
        """All that the examples are made of."""
        arrays = self.rows, self._belief_from, self._numbers, self._rare, self._beliefs
        return b"".join(array.tobytes() for array in arrays) + str(self._weight).encode()

    def _at(self, place: int) -> SpanExample:
        here = slice(*self._row_from[place : place + 2])
        starts, ends, labels, levels = self._beliefs[slice(*self._belief_from[place : place + 2])].T.astype(np.int64)
        shares = (levels / LEVELS).astype(REAL)
        n = int(self.rows[place]) - 2
        constituents = np.zeros((n + 1, n + 1), dtype=REAL)
        labelled = labels > 0
        np.add.at(constituents, (starts[labelled], ends[labelled]), shares[labelled])
        sure = np.argwhere(constituents > SURE).tolist()
        return SpanExample(
            self._numbers[here],
            self._rare[here].astype(REAL),
            np.stack([starts, ends], axis=1).astype(INDEX),
            labels.astype(INDEX),
            shares,
            crossing_spans([(start, end) for start, end in sure], n),
            None,
            self._weight,
        )


def taught_words(shards: Iterable[Path]) -> Counter[tuple[str, str]]:
    """How often each word comes with each tag."""
    found: Counter[tuple[str, str]] = Counter()
    for path in shards:
        for sentence in read_shard(path).sentences:
            found.update(zip(sentence.words, sentence.tags, strict=True))
    return found


class Mixed(MadeExamples):
    """Several sequences of examples one after the other. `rows` as in TaughtExamples."""

    def __init__(self, *parts: Sequence[SpanExample]):
        self.parts = parts
        self._from = np.cumsum([0, *map(len, parts)])
        self.rows = np.concatenate([example_rows(part) for part in parts])

    def _at(self, place: int) -> SpanExample:
        part = int(np.searchsorted(self._from, place, "right")) - 1
        return self.parts[part][place - int(self._from[part])]


def example_rows(examples: Sequence[SpanExample]) -> np.ndarray:
    """The rows of each example, int64."""
    rows = getattr(examples, "rows", None)
    return np.array([len(example.numbers) for example in examples], dtype=np.int64) if rows is None else rows
