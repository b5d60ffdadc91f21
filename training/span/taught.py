"""Distillation: examples from a teacher's marginals.

Examples of raw text (`training.data.shards`) are stored compactly and built on access; examples of sentences with trees
mix the trees with a span parser's posteriors."""

import pickle
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL, STORED_REAL
from spacy_dtparse.features.span.wordparts import WordParts
from spacy_dtparse.kernels.span.network import label_spans, score_spans
from spacy_dtparse.kernels.span.spans import tree_posteriors
from spacy_dtparse.model.span.model import Chain
from spacy_dtparse.parsers.span import SpanParser
from spacy_dtparse.text import normal_word

from ..data.corpus import Sentence
from ..data.shards import LEVELS, read_shard
from ..data.spans import SpanExample, bracket_slopes, crossing_spans, label_chains, make_example, number_of
from .kernels import fit_scores, score_matrix


class MadeExamples(Sequence[SpanExample]):
    """Examples that `_at` builds on access. `rows` int64: the number of rows of each."""

    rows: np.ndarray

    @abstractmethod
    def _at(self, place: int) -> SpanExample:
        """Build the example at an index, from 0."""

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> SpanExample: ...
    @overload
    def __getitem__(self, place: slice) -> list[SpanExample]: ...
    def __getitem__(self, place: int | slice) -> SpanExample | list[SpanExample]:
        places = range(len(self))[place]
        return self._at(places) if isinstance(places, int) else list(map(self._at, places))


class TaughtExamples(MadeExamples):
    """Sentences of shards with at most `max_words` words. The target of brackets is a distribution over trees that is
    fitted to the teacher's posteriors (`fit_scores`); the targets of labels are the teacher's probabilities. `rows`
    int64: the number of rows of each sentence, its words and one at each end."""

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
        numbers, rare, beliefs, scores = [], [], [], []
        for path in shards:
            shard = read_shard(path)
            own = np.array([number_of(labels, chains) for labels in shard.chains], dtype=np.int64)
            for sentence in shard.sentences:
                n = len(sentence.words)
                if n > max_words:
                    continue
                numbers.append(words.encode(sentence.words, sentence.tags))
                chance = np.zeros(n + 2, dtype=STORED_REAL)
                if hide > 0:
                    chance[1:-1] = [hide / (hide + counts[normal_word(word)]) for word in sentence.words]
                rare.append(chance)
                starts, ends, labels, mass = sentence.beliefs
                beliefs.append(np.stack([starts, ends, own[labels], np.rint(mass * LEVELS)], axis=1).astype(np.uint16))
                scores.append(_fitted(starts, ends, mass, n))
        self._row_from, self._belief_from, self._score_from = (
            np.cumsum([0, *map(len, parts)]) for parts in (numbers, beliefs, scores)
        )
        self.rows = np.diff(self._row_from)
        self._numbers = np.concatenate([np.zeros((0, 5), dtype=INDEX), *numbers])
        self._rare = np.concatenate([np.zeros(0, dtype=STORED_REAL), *rare])
        self._beliefs = np.concatenate([np.zeros((0, 4), dtype=np.uint16), *beliefs])
        self._scores = np.concatenate([np.zeros(0, dtype=_SCORE), *scores])
        self._weight = weight

    def packed(self) -> bytes:
        """The bytes of all arrays and of the weight, for a digest."""
        arrays = self.rows, self._belief_from, self._numbers, self._rare, self._beliefs, self._scores
        return b"".join(array.tobytes() for array in arrays) + str(self._weight).encode()

    def _at(self, place: int) -> SpanExample:
        here = slice(*self._row_from[place : place + 2])
        starts, ends, labels, levels = self._beliefs[slice(*self._belief_from[place : place + 2])].T.astype(np.int64)
        scored = self._scores[slice(*self._score_from[place : place + 2])]
        spans = np.column_stack([scored["start"], scored["end"]]).astype(INDEX)
        n = int(self.rows[place]) - 2
        believed = tree_posteriors(score_matrix(spans, scored["score"].astype(REAL), n))[1].astype(REAL)
        return SpanExample(
            self._numbers[here], self._rare[here].astype(REAL), np.stack([starts, ends], axis=1).astype(INDEX),
            labels.astype(INDEX), (levels / LEVELS).astype(REAL), None, believed, self._weight,
        )  # fmt: skip


_SCORE = np.dtype([("start", np.uint8), ("end", np.uint8), ("score", STORED_REAL)])


def _fitted(starts: np.ndarray, ends: np.ndarray, mass: np.ndarray, n: int) -> np.ndarray:
    """Fit scores to a teacher's spans of two or more tokens; an array of _SCORE."""
    long = ends - starts > 1
    spans, place = np.unique(np.stack([starts[long], ends[long]], axis=1), axis=0, return_inverse=True)
    found = np.empty(len(spans), dtype=_SCORE)
    found["start"], found["end"] = spans.T
    found["score"] = fit_scores(spans.astype(INDEX), np.bincount(place.ravel(), mass[long], len(spans)), n)
    return found


def taught_words(shards: Iterable[Path]) -> Counter[tuple[str, str]]:
    """Count each pair of word and tag."""
    return Counter(
        pair for path in shards for s in read_shard(path).sentences for pair in zip(s.words, s.tags, strict=True)
    )


class Mixed(MadeExamples):
    """The concatenation of several sequences of examples. `rows` as in `TaughtExamples`."""

    def __init__(self, *parts: Sequence[SpanExample]):
        self.parts = parts
        self._from = np.cumsum([0, *map(len, parts)])
        self.rows = np.concatenate([example_rows(part) for part in parts])

    def _at(self, place: int) -> SpanExample:
        part = int(np.searchsorted(self._from, place, "right")) - 1
        return self.parts[part][place - int(self._from[part])]


def example_rows(examples: Sequence[SpanExample]) -> np.ndarray:
    """The number of rows of each example, int64."""
    if isinstance(examples, MadeExamples):
        return examples.rows
    return np.array([len(example.numbers) for example in examples], dtype=np.int64)


_LEAST = 0.02
"""Smaller probabilities are omitted."""
PART = 1000
"""Sentences per task."""


class Teaching(NamedTuple):
    """Everything needed to build examples with soft targets: the teacher, the weight of its marginals, and the
    arguments of `make_example`."""

    teacher: SpanParser
    share: float
    words: WordParts
    chains: dict[Chain, int]
    counts: Counter[str]
    hide: float


def believed_examples(
    teaching: Teaching, sentences: Sequence[Sentence], executor: Executor | None = None
) -> Iterator[SpanExample]:
    """Build an example for each sentence, in order. An `executor` does this in its processes, with the same result."""
    if executor is None:
        return (believed_example(teaching, sentence) for sentence in sentences)
    packed = pickle.dumps(teaching)
    parts = [sentences[at : at + PART] for at in range(0, len(sentences), PART)]
    return chain.from_iterable(executor.map(partial(_part, packed), parts))


def _part(packed: bytes, sentences: Sequence[Sentence]) -> list[SpanExample]:
    teaching = _unpacked(packed)
    return [believed_example(teaching, sentence) for sentence in sentences]


_unpacked = lru_cache(maxsize=1)(pickle.loads)
"""Unpickled once per process, not once per task, because a teacher takes long to load."""


def believed_example(teaching: Teaching, sentence: Sentence) -> SpanExample:
    """Build an example that mixes the teacher's marginals, with weight `share`, and the sentence's tree, with the
    remaining weight. The teacher fills in the missing brackets of the tree."""
    teacher, share, words, chains, counts, hide = teaching
    to_own = np.array([number_of(labels, chains) for labels in teacher.model.chains], dtype=INDEX)
    example = make_example(sentence, words, chains, counts, hide)
    tree = sentence.tree
    n = tree.n_tokens
    own_chains = {span: number_of(labels, chains) for span, labels in label_chains(tree).items()}
    gaps, own, weights, bias = teacher.read(tree.words, sentence.tags)
    scores = np.empty((n + 1, n + 1), dtype=REAL)
    score_spans(gaps, own, 0, n, scores)
    believed, in_tree = np.zeros((2, n + 1, n + 1), dtype=REAL)
    if n > 1:
        _, slopes, right = bracket_slopes(scores, crossing_spans(own_chains, n))
        believed, in_tree = (slopes + right).astype(REAL), right.astype(REAL)
    tokens = np.arange(n), np.arange(1, n + 1)
    target = share * believed + (1 - share) * in_tree
    believed[tokens] = in_tree[tokens] = 1
    looked_at = np.maximum(believed, in_tree) > _LEAST
    spans = np.argwhere(looked_at).astype(INDEX)
    logs = np.empty((len(spans), len(teacher.model.chains)), dtype=REAL)
    label_spans(gaps, weights, bias, spans, logs)
    mass = np.zeros((len(spans), len(chains)), dtype=REAL)
    np.add.at(mass.T, to_own, (share * believed[looked_at][:, None] * np.exp(logs)).T)
    for place, (start, end) in enumerate(spans.tolist()):
        mass[place, own_chains.get((start, end), 0)] += (1 - share) * in_tree[start, end]
    rows, labels = np.nonzero(mass > _LEAST)
    return SpanExample(
        example.numbers, example.rare, spans[rows], labels.astype(INDEX), mass[rows, labels], None,
        target.astype(STORED_REAL), example.weight,
    )  # fmt: skip
