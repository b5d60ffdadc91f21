"""Training examples of the teacher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spacy_dtparse.dtypes import INDEX
from spacy_dtparse.trees import TOP, Tree

from ..data.corpus import Sentence
from ..data.dependencies import read_conllu
from ..data.fitted import fit_span_scores
from ..data.shards import LabelSets, read_shard
from ..data.spans import chain_id, crossing_spans, label_chains, labelled_spans
from .network import ANY_SOURCE, TokenizedSentence, WordPieceTokenizer


@dataclass(frozen=True)
class TeacherExample:
    """One sentence of n words: `tokenized` (its word pieces), `source`, `tags` int64 (n,), -1: unknown, and, of its
    tree, `spans` int32 (c, 2) with `labels` int32 (c,): constituents, single words and the whole sentence, None if
    labels are unknown; `crossing` as in `data.spans`, None if brackets are unknown. For distillation there are instead
    the labelled spans of another teacher with `probs` float32 (c,), their probabilities, and `scores`, its distribution
    over binary trees as in `data.fitted`."""

    tokenized: TokenizedSentence
    source: int
    tags: np.ndarray
    spans: np.ndarray | None
    labels: np.ndarray | None
    crossing: np.ndarray | None
    probs: np.ndarray | None = None
    scores: np.ndarray | None = None

    @property
    def has_brackets(self) -> bool:
        """Whether anything is known of the sentence's brackets."""
        return self.crossing is not None or self.scores is not None


def make_example(
    sentence: Sentence,
    lists: LabelSets,
    chain_ids: dict[tuple[str, ...], int],
    tokenizer: WordPieceTokenizer,
    labelled_tree: bool = True,
) -> TeacherExample:
    """Build the example of a sentence; `chain_ids`: ids of the lists' chains. Unless it is a `labelled_tree`, its spans
    only restrict which spans constituents may not cross."""
    tree = sentence.tree
    tag_ids = {tag: i for i, tag in enumerate(lists.tags)}
    tags = np.array([tag_ids.get(tag, -1) for tag in tree.tags], dtype=np.int64)
    source = lists.sources.index(sentence.source) if sentence.source in lists.sources else 0
    tokenized = tokenizer.tokenize(tree.words)
    if not labelled_tree:
        return TeacherExample(tokenized, source, tags, None, None, crossing_spans(label_chains(tree), tree.n_tokens))
    return TeacherExample(tokenized, source, tags, *labelled_spans(tree, chain_ids))


def distillation_examples(
    shards: Iterable[Path],
    lists: LabelSets,
    chain_ids: dict[tuple[str, ...], int],
    tokenizer: WordPieceTokenizer,
    max_words: int,
) -> Iterator[TeacherExample]:
    """Yield the examples of the sentences of shards with at most `max_words` words, without a source."""
    tag_ids = {tag: i for i, tag in enumerate(lists.tags)}
    for path in shards:
        shard = read_shard(path)
        ids = np.array([chain_id(labels, chain_ids) for labels in shard.chains], dtype=INDEX)
        for sentence in shard.sentences:
            n = len(sentence.words)
            if n > max_words:
                continue
            starts, ends, labels, probs = sentence.distribution
            yield TeacherExample(
                tokenizer.tokenize(sentence.words),
                ANY_SOURCE,
                np.array([tag_ids.get(tag, -1) for tag in sentence.tags], dtype=np.int64),
                np.stack([starts, ends], axis=1).astype(INDEX),
                ids[labels],
                None,
                probs,
                fit_span_scores(starts, ends, probs, n),
            )


def read_dependency_constraints(path: Path, source: str) -> list[Sentence]:
    """Read the sentences of a CoNLL-U file with their tags (XPOS) and, as spans with the dummy label X, the words that
    each word dominates: constituents seldom cross such a span, without punctuation at its ends."""
    found = []
    for sentence in read_conllu(path):
        words, tags = sentence.columns.words, sentence.columns.tags
        n = len(words)
        first, last, count = list(range(n)), list(range(n)), [1] * n
        below = Counter(head - 1 for head in sentence.heads)
        leaves = [token for token in range(n) if token not in below]
        while leaves:
            token = leaves.pop()
            head = sentence.heads[token] - 1
            if head < 0:
                continue
            first[head], last[head] = min(first[head], first[token]), max(last[head], last[token])
            count[head] += count[token]
            below[head] -= 1
            if below[head] == 0:
                leaves.append(head)
        spans = {(0, n)}
        for start, end, size in zip(first, last, count, strict=True):
            if size == end - start + 1:  # a span without a gap
                while start < end and sentence.punctuation[start]:
                    start += 1
                while end > start and sentence.punctuation[end]:
                    end -= 1
                if start < end:
                    spans.add((start, end + 1))
        tree = Tree.from_spans(words, tags, [(0, n, TOP), *((s, e, "X") for s, e in sorted(spans) if (s, e) != (0, n))])
        found.append(Sentence(tree, tree.tags, source))
    return found
