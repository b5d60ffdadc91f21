"""A trained teacher: networks of several seeds whose scores are averaged, their span marginals of a sentence, its
files, and its word vectors, each a mean over occurrences in annotated text: the initial word vectors of a student."""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.span_parser.kernels.chart import tree_posteriors
from spacy_dtparse.text import normal_word
from spacy_dtparse.trees import Tree

from ..data.shards import MIN_PROB, LabelSets, SpanDistribution, read_shard
from ..data.word_vectors import WordVectors
from ..runs.files import write_atomically
from .encoder import encoder_config, mixed_precision, safetensors, torch
from .network import TeacherNetwork, TokenizedSentence, WordPieceTokenizer, batches
from .trees import Interpolation, interpolate, most_probable_tree

logger = logging.getLogger(__name__)

_BATCH_PIECES = 1500
"""Word pieces per batch."""


@dataclass(frozen=True)
class Teacher:
    """`lists` and one or more `networks`; `meta`: plain data; `folder`: contains the encoder's configuration and word
    pieces."""

    lists: LabelSets
    networks: tuple[TeacherNetwork, ...]
    meta: dict[str, Any]
    folder: Path

    def marginals(
        self, sentences: Sequence[Sequence[str]], source: str | None, batch_tokens: int = _BATCH_PIECES
    ) -> Iterator[SpanDistribution]:
        """The span marginals of each sentence (lists of words), in order, in the conventions of `source`.
        `batch_tokens`: word pieces per batch. It changes uncertain probabilities by up to some hundredths where the
        encoder computes in bfloat16 (`mixed_precision`)."""
        source_id, tokenizer = self.lists.source(source), WordPieceTokenizer(self.folder)
        tokenized_sentences = list(map(tokenizer.tokenize, sentences))
        found: dict[int, SpanDistribution] = {}
        for part in batches(tokenized_sentences, batch_tokens):
            found.update(
                zip(part, self._batch_marginals([tokenized_sentences[k] for k in part], source_id), strict=True)
            )
        return (found[k] for k in range(len(tokenized_sentences)))

    @torch.inference_mode()
    def _batch_marginals(self, batch: Sequence[TokenizedSentence], source: int) -> list[SpanDistribution]:
        with mixed_precision():
            scores = [network(batch, [source] * len(batch)) for network in self.networks]
        weight = 1 / len(scores)
        spans = sum(part.spans.float() for part in scores).numpy() * REAL(weight)  # type: ignore[union-attr]
        tags = (sum(part.tags.float() for part in scores) * weight).softmax(-1).numpy()  # type: ignore[union-attr]
        rows, spans_of, posteriors = [], [], []
        for row, read in enumerate(batch):
            n = read.n
            posterior_matrix = np.zeros((n + 1, n + 1), dtype=REAL)
            if n > 1:
                scores_of = np.array(spans[row, : n + 1, : n + 1], dtype=REAL)
                np.fill_diagonal(scores_of[:, 1:], 0)
                posterior_matrix = tree_posteriors(scores_of)[1].astype(REAL)
            posterior_matrix[np.arange(n), np.arange(1, n + 1)] = 1
            here = np.argwhere(np.triu(posterior_matrix, 1) >= MIN_PROB)
            rows.append(np.full(len(here), row))
            spans_of.append(here)
            posteriors.append(posterior_matrix[here[:, 0], here[:, 1]])
        index = [torch.from_numpy(part) for part in (np.concatenate(rows), *np.concatenate(spans_of).T.copy())]
        with mixed_precision():
            logits = [
                network.label_scores(part, index).float() for network, part in zip(self.networks, scores, strict=True)
            ]
        chain_probs = (sum(logits) * weight).softmax(-1).numpy()  # type: ignore[union-attr]
        found, first = [], 0
        for row, read in enumerate(batch):
            last = first + len(spans_of[row])
            probs = chain_probs[first:last] * posteriors[row][:, None]
            which, labels = np.nonzero(probs >= MIN_PROB)
            where, tag_probs = spans_of[row][which].astype(INDEX), tags[row, : read.n]
            best, best_probs = tag_probs.argmax(1).astype(INDEX), tag_probs.max(1).astype(REAL)
            found.append(SpanDistribution(where, labels.astype(INDEX), probs[which, labels], best, best_probs))
            first = last
        return found

    def tree(
        self, words: Sequence[str], distribution: SpanDistribution, interpolation: Interpolation | None = None
    ) -> tuple[Tree, float]:
        """The `most_probable_tree` of marginals. `interpolation`: a parser whose marginals are interpolated."""
        tags, chains = [self.lists.tags[tag] for tag in distribution.tags.tolist()], self.lists.chains
        marginals = *distribution.spans.T, distribution.labels, distribution.probs
        if interpolation is not None:
            marginals = interpolate(
                marginals, chains, interpolation.parser.span_posteriors(words, tags), interpolation.weight
            )
        return most_probable_tree(words, tags, marginals, chains)


def save_teacher(folder: Path, teacher: Teacher) -> None:
    """Write a teacher's folder: `teacher.json`, `network0.safetensors`, … with all weights, and the encoder's
    configuration and word pieces."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer.json"):
        write_atomically(folder / name, (teacher.folder / name).read_bytes())
    for i, network in enumerate(teacher.networks):
        tensors = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
        write_atomically(folder / f"network{i}.safetensors", safetensors.torch.save(tensors))
    content = {"lists": teacher.lists.to_dict(), "networks": len(teacher.networks), "meta": teacher.meta}
    write_atomically(folder / "teacher.json", json.dumps(content, indent=1).encode())


def load_teacher(folders: Sequence[Path]) -> Teacher:
    """Load the teacher of one or more folders of `save_teacher`, which must have the same lists.

    Raises ModelFormatError if a folder has no teacher, is damaged, or has other lists than the first.
    """
    networks: list[TeacherNetwork] = []
    lists: LabelSets | None = None
    meta: dict[str, Any] = {}
    for folder in folders:
        try:
            content = json.loads((folder / "teacher.json").read_text(encoding="utf8"))
            own_lists = LabelSets.from_dict(content["lists"])
            if lists is not None and own_lists != lists:
                raise ModelFormatError(f"{folder} has other labels, tags or sources than {folders[0]}; give only one")
            lists, meta = own_lists, meta or content["meta"]
            for i in range(int(content["networks"])):
                tensors = safetensors.torch.load_file(folder / f"network{i}.safetensors")
                width = tensors["form"].shape[0]
                sizes = len(own_lists.chains), len(own_lists.tags), len(own_lists.sources)
                network = TeacherNetwork(encoder_config(folder), *sizes, width)
                network.load_state_dict(tensors)
                networks.append(network.eval())
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, safetensors.SafetensorError) as error:
            raise ModelFormatError(
                f"{folder} contains no readable teacher ({error}); train one: python -m training teacher fit …"
            ) from error
    assert lists is not None
    return Teacher(lists, tuple(networks), meta, folders[0])


def sample_sentences(
    shards: Sequence[Path], max_occurrences: int, min_count: int
) -> tuple[list[tuple[str, ...]], Counter[str]]:
    """Select sentences that contain up to `max_occurrences` occurrences of each word that occurs at least `min_count`
    times. Returns them, and the count of each normal word in all of the shards."""
    counts = Counter(normal_word(w) for path in shards for s in read_shard(path).sentences for w in s.words)
    n_chosen: Counter[str] = Counter()
    chosen = []
    for path in shards:
        for sentence in read_shard(path).sentences:
            words = [normal_word(word) for word in sentence.words]
            if any(counts[word] >= min_count and n_chosen[word] < max_occurrences for word in words):
                n_chosen.update(words)
                chosen.append(sentence.words)
    return chosen, counts


def mean_vectors(
    teacher: Teacher, sentences: Sequence[tuple[str, ...]], counts: Counter[str], source: str | None
) -> WordVectors:
    """The vector of each normal word of the sentences, with its count: the mean over the teacher's networks and the
    word's occurrences, float32 (words, encoder width)."""
    rows: dict[str, int] = {}
    for sentence in sentences:
        for word in sentence:
            rows.setdefault(normal_word(word), len(rows))
    width = teacher.networks[0].encoder.width
    sums, times = np.zeros((len(rows), width), dtype=REAL), np.zeros(len(rows), dtype=np.int64)
    done = 0
    for part, vectors in _word_vectors(teacher, sentences, source):
        at = np.array([rows[normal_word(word)] for word in part])
        np.add.at(sums, at, vectors)
        np.add.at(times, at, 1)
        before, done = done, done + len(part)
        if before // 200_000 < done // 200_000:
            logger.info(f"{done} words")
    n_occurrences = np.array([counts[word] for word in rows], dtype=np.int64)
    return WordVectors(tuple(rows), sums / np.maximum(times, 1)[:, None], n_occurrences)


@torch.inference_mode()
def _word_vectors(
    teacher: Teacher, sentences: Sequence[tuple[str, ...]], source: str | None
) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield, for each batch of sentences, its words with their vectors, float32 (words, encoder width)."""
    source_id, tokenizer = teacher.lists.source(source), WordPieceTokenizer(teacher.folder)
    tokenized_sentences = list(map(tokenizer.tokenize, sentences))
    for part in batches(tokenized_sentences, _BATCH_PIECES):
        tokenized = [tokenized_sentences[k] for k in part]
        with mixed_precision():
            found = sum(
                network.encode_words(tokenized, [source_id] * len(tokenized)).float() for network in teacher.networks
            )
        vectors = found.numpy() / REAL(len(teacher.networks))  # type: ignore[union-attr]
        of_sentences = [vectors[row, 1 : 1 + len(sentences[k])] for row, k in enumerate(part)]
        yield [word for k in part for word in sentences[k]], np.concatenate(of_sentences)
