"""What a teacher believes of sentences, as examples: a span parser's posteriors, mixed with another parser's trees."""

import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from functools import lru_cache, partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL, STORED_REAL
from spacy_dtparse.features.span.wordparts import WordParts
from spacy_dtparse.kernels.span.network import label_spans, score_spans
from spacy_dtparse.model.span.model import Chain
from spacy_dtparse.parsers.span import SpanParser

from ..data.corpus import Sentence
from ..data.spans import SpanExample, bracket_slopes, crossing_spans, label_chains, make_example, number_of

_LEAST = 0.02
"""Beliefs of a smaller probability are left out."""
PART = 1000
"""Sentences that one task makes examples of."""


class Teaching(NamedTuple):
    """What examples of a teacher's beliefs are made with: the teacher, the `share` of its beliefs, and what
    `make_example` takes."""

    teacher: SpanParser
    share: float
    words: WordParts
    chains: dict[Chain, int]
    counts: Counter[str]
    hide: float


def believed_examples(
    teaching: Teaching, sentences: Sequence[Sentence], executor: Executor | None = None
) -> Iterator[SpanExample]:
    """An example for each sentence, in their order; with an `executor` in its processes, with the same result."""
    if executor is None:
        return (believed_example(teaching, sentence) for sentence in sentences)
    packed = pickle.dumps(teaching)
    parts = [sentences[at : at + PART] for at in range(0, len(sentences), PART)]
    return chain.from_iterable(executor.map(partial(_part, packed), parts))


def _part(packed: bytes, sentences: Sequence[Sentence]) -> list[SpanExample]:
    teaching = _unpacked(packed)
    return [believed_example(teaching, sentence) for sentence in sentences]


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Teaching:
    """Made once in a process and not for every part: a teacher takes a while to load."""
    return pickle.loads(packed)


def believed_example(teaching: Teaching, sentence: Sentence) -> SpanExample:
    """`share` of the teacher's beliefs, and the rest of the sentence's own tree, whose missing brackets the teacher
    fills in."""
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
