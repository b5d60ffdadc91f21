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
from spacy_dtparse.span_parser.encoder import NetworkOutput
from spacy_dtparse.span_parser.features import WordParts
from spacy_dtparse.span_parser.kernels.network import label_spans, score_spans
from spacy_dtparse.span_parser.model import Chain
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.text import normal_word

from ..data.corpus import Sentence
from ..data.fitted import SCORE, fit_span_scores, fitted_posteriors
from ..data.network_outputs import network_outputs
from ..data.shards import LEVELS, read_shard
from ..data.spans import SpanExample, bracket_gradients, chain_id, crossing_spans, label_chains, make_example


class LazyExamples(Sequence[SpanExample]):
    """Examples that `_at` builds on access. `rows` int64: the number of rows of each."""

    rows: np.ndarray

    @abstractmethod
    def _at(self, index: int) -> SpanExample:
        """Build the example at an index, from 0."""

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> SpanExample: ...
    @overload
    def __getitem__(self, index: slice) -> list[SpanExample]: ...
    def __getitem__(self, index: int | slice) -> SpanExample | list[SpanExample]:
        indices = range(len(self))[index]
        return self._at(indices) if isinstance(indices, int) else list(map(self._at, indices))


class DistillationSet(LazyExamples):
    """Sentences of shards with at most `max_words` words. The target of brackets is a distribution over trees that is
    fitted to the teacher's posteriors (`data.fitted`); the targets of labels are the teacher's probabilities. `rows`
    int64: the number of rows of each sentence, its words and one at each end."""

    def __init__(
        self,
        shards: Iterable[Path],
        words: WordParts,
        chains: dict[Chain, int],
        counts: Counter[str],
        word_dropout: float,
        max_words: int,
        weight: float = 1.0,
    ):
        ids, rare, spans, scores = [], [], [], []
        for path in shards:
            shard = read_shard(path)
            chain_ids = np.array([chain_id(labels, chains) for labels in shard.chains], dtype=np.int64)
            for sentence in shard.sentences:
                n = len(sentence.words)
                if n > max_words:
                    continue
                ids.append(words.encode(sentence.words, sentence.tags))
                dropout_probs = np.zeros(n + 2, dtype=STORED_REAL)
                if word_dropout > 0:
                    dropout_probs[1:-1] = [
                        word_dropout / (word_dropout + counts[normal_word(word)]) for word in sentence.words
                    ]
                rare.append(dropout_probs)
                starts, ends, labels, probs = sentence.distribution
                spans.append(
                    np.stack([starts, ends, chain_ids[labels], np.rint(probs * LEVELS)], axis=1).astype(np.uint16)
                )
                scores.append(fit_span_scores(starts, ends, probs, n))
        self._row_offsets, self._span_offsets, self._score_offsets = (
            np.cumsum([0, *map(len, parts)]) for parts in (ids, spans, scores)
        )
        self.rows = np.diff(self._row_offsets)
        self._ids = np.concatenate([np.zeros((0, len(words.kinds)), dtype=INDEX), *ids])
        self._rare = np.concatenate([np.zeros(0, dtype=STORED_REAL), *rare])
        self._spans = np.concatenate([np.zeros((0, 4), dtype=np.uint16), *spans])
        self._scores = np.concatenate([np.zeros(0, dtype=SCORE), *scores])
        self._weight = weight

    def raw_bytes(self) -> bytes:
        """The bytes of all arrays and of the weight, for a digest."""
        arrays = self.rows, self._span_offsets, self._ids, self._rare, self._spans, self._scores
        return b"".join(array.tobytes() for array in arrays) + str(self._weight).encode()

    def _at(self, index: int) -> SpanExample:
        here = slice(*self._row_offsets[index : index + 2])
        starts, ends, labels, levels = self._spans[slice(*self._span_offsets[index : index + 2])].T.astype(np.int64)
        scored = self._scores[slice(*self._score_offsets[index : index + 2])]
        posteriors = fitted_posteriors(scored, int(self.rows[index]) - 2)
        return SpanExample(
            self._ids[here], self._rare[here].astype(REAL), np.stack([starts, ends], axis=1).astype(INDEX),
            labels.astype(INDEX), (levels / LEVELS).astype(REAL), None, posteriors, self._weight,
        )  # fmt: skip


def count_shard_words(shards: Iterable[Path]) -> Counter[tuple[str, str]]:
    """Count each pair of word and tag."""
    return Counter(
        pair for path in shards for s in read_shard(path).sentences for pair in zip(s.words, s.tags, strict=True)
    )


class ConcatExamples(LazyExamples):
    """The concatenation of several sequences of examples. `rows` as in `DistillationSet`."""

    def __init__(self, *parts: Sequence[SpanExample]):
        self.parts = parts
        self._offsets = np.cumsum([0, *map(len, parts)])
        self.rows = np.concatenate([row_counts(part) for part in parts])

    def _at(self, index: int) -> SpanExample:
        part = int(np.searchsorted(self._offsets, index, "right")) - 1
        return self.parts[part][index - int(self._offsets[part])]


def row_counts(examples: Sequence[SpanExample]) -> np.ndarray:
    """The number of rows of each example, int64."""
    if isinstance(examples, LazyExamples):
        return examples.rows
    return np.array([len(example.rows) for example in examples], dtype=np.int64)


_MIN_PROB = 0.02
"""Smaller probabilities are omitted."""
SENTENCES_PER_TASK = 1000
"""Sentences per task."""


class SoftTargets(NamedTuple):
    """Everything needed to build examples with soft targets: the teacher, the weight of its marginals, and the
    arguments of `make_example`."""

    teacher: SpanParser
    weight: float
    words: WordParts
    chains: dict[Chain, int]
    counts: Counter[str]
    word_dropout: float


def soft_target_examples(
    targets: SoftTargets, sentences: Sequence[Sentence], executor: Executor | None = None
) -> Iterator[SpanExample]:
    """Build an example for each sentence, in order. An `executor` does this in its processes, with the same result."""
    if executor is None:
        return _make_examples(targets, sentences)
    packed = pickle.dumps(targets)
    parts = [sentences[at : at + SENTENCES_PER_TASK] for at in range(0, len(sentences), SENTENCES_PER_TASK)]
    return chain.from_iterable(executor.map(partial(_unpack_and_make_examples, packed), parts))


def _unpack_and_make_examples(packed: bytes, sentences: Sequence[Sentence]) -> list[SpanExample]:
    return list(_make_examples(_load_targets(packed), sentences))


def _make_examples(targets: SoftTargets, sentences: Sequence[Sentence]) -> Iterator[SpanExample]:
    outputs = network_outputs(targets.teacher, [(sentence.tree.words, sentence.tags) for sentence in sentences])
    for sentence, output in zip(sentences, outputs, strict=True):
        yield soft_target_example(targets, sentence, output)


_load_targets = lru_cache(maxsize=1)(pickle.loads)
"""Unpickled once per process, not once per task, because a teacher takes long to load."""


def soft_target_example(targets: SoftTargets, sentence: Sentence, output: NetworkOutput) -> SpanExample:
    """Build an example that mixes the teacher's marginals, with weight `weight`, and the sentence's tree, with the
    remaining weight. The teacher fills in the missing brackets of the tree. `output`: that of the teacher's networks
    for the sentence."""
    teacher, weight, words, chains, counts, word_dropout = targets
    chain_ids = np.array([chain_id(labels, chains) for labels in teacher.model.chains], dtype=INDEX)
    example = make_example(sentence, words, chains, counts, word_dropout)
    tree = sentence.tree
    n = tree.n_tokens
    tree_chains = {span: chain_id(labels, chains) for span, labels in label_chains(tree).items()}
    gaps, span_weights, layer = output
    scores = np.empty((n + 1, n + 1), dtype=REAL)
    score_spans(gaps, span_weights, 0, n, scores)
    posteriors, in_tree = np.zeros((2, n + 1, n + 1), dtype=REAL)
    if n > 1:
        _, gradients, right = bracket_gradients(scores, crossing_spans(tree_chains, n))
        posteriors, in_tree = (gradients + right).astype(REAL), right.astype(REAL)
    tokens = np.arange(n), np.arange(1, n + 1)
    target = weight * posteriors + (1 - weight) * in_tree
    posteriors[tokens] = in_tree[tokens] = 1
    listed = np.maximum(posteriors, in_tree) > _MIN_PROB
    spans = np.argwhere(listed).astype(INDEX)
    logs = np.empty((len(spans), len(teacher.model.chains)), dtype=REAL)
    label_spans(gaps, layer, spans, logs)
    probs = np.zeros((len(spans), len(chains)), dtype=REAL)
    np.add.at(probs.T, chain_ids, (weight * posteriors[listed][:, None] * np.exp(logs)).T)
    for index, (start, end) in enumerate(spans.tolist()):
        probs[index, tree_chains.get((start, end), 0)] += (1 - weight) * in_tree[start, end]
    rows, labels = np.nonzero(probs > _MIN_PROB)
    return SpanExample(
        example.rows, example.rare, spans[rows], labels.astype(INDEX), probs[rows, labels], None,
        target.astype(STORED_REAL), example.weight,
    )  # fmt: skip
