"""A trained teacher: networks of several seeds whose scores are averaged, their span marginals of a sentence, its
files, and its word vectors, each a mean over occurrences in annotated text: the initial word vectors of a student."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.kernels.span.spans import tree_posteriors
from spacy_dtparse.text import normal_word
from spacy_dtparse.trees import Tree

from ..data.shards import LEAST, Belief, Lists, read_shard
from ..data.word_vectors import WordVectors
from ..runs.files import write_atomically
from ..runs.telling import Say
from .encoder import WIDTH, safetensors, torch
from .network import Read, Reader, TeacherNetwork, batches
from .trees import Beside, best_tree, mixed

_BATCH = 1500
"""Word pieces per batch."""


@dataclass(frozen=True)
class Teacher:
    """`lists` and one or more `networks`; `meta`: plain data."""

    lists: Lists
    networks: tuple[TeacherNetwork, ...]
    meta: dict[str, Any]

    def beliefs(self, sentences: Sequence[Sequence[str]], source: str | None, batch: int = _BATCH) -> Iterator[Belief]:
        """The span marginals of each sentence (lists of words), in order, in the conventions of `source`. `batch`: word
        pieces per batch. It changes uncertain probabilities by up to some hundredths, as the encoder computes in
        bfloat16."""
        number, reader = self.lists.source(source), Reader()
        reads = list(map(reader.read, sentences))
        found: dict[int, Belief] = {}
        for part in batches(reads, batch):
            found.update(zip(part, self._believe([reads[k] for k in part], number), strict=True))
        return (found[k] for k in range(len(reads)))

    @torch.inference_mode()
    def _believe(self, batch: Sequence[Read], source: int) -> list[Belief]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = [network(batch, [source] * len(batch)) for network in self.networks]
        share = 1 / len(scores)
        spans = sum(part.spans.float() for part in scores).numpy() * REAL(share)  # type: ignore[union-attr]
        tags = (sum(part.tags.float() for part in scores) * share).softmax(-1).numpy()  # type: ignore[union-attr]
        rows, places, posteriors = [], [], []
        for row, read in enumerate(batch):
            n = read.n
            held = np.zeros((n + 1, n + 1), dtype=REAL)
            if n > 1:
                own = np.array(spans[row, : n + 1, : n + 1], dtype=REAL)
                np.fill_diagonal(own[:, 1:], 0)
                held = tree_posteriors(own)[1].astype(REAL)
            held[np.arange(n), np.arange(1, n + 1)] = 1
            here = np.argwhere(np.triu(held, 1) >= LEAST)
            rows.append(np.full(len(here), row))
            places.append(here)
            posteriors.append(held[here[:, 0], here[:, 1]])
        index = [torch.from_numpy(part) for part in (np.concatenate(rows), *np.concatenate(places).T.copy())]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = [
                network.label_scores(part, index).float() for network, part in zip(self.networks, scores, strict=True)
            ]
        chances = (sum(logits) * share).softmax(-1).numpy()  # type: ignore[union-attr]
        found, first = [], 0
        for row, read in enumerate(batch):
            last = first + len(places[row])
            mass = chances[first:last] * posteriors[row][:, None]
            which, labels = np.nonzero(mass >= LEAST)
            where, own_tags = places[row][which].astype(INDEX), tags[row, : read.n]
            best, sure = own_tags.argmax(1).astype(INDEX), own_tags.max(1).astype(REAL)
            found.append(Belief(where, labels.astype(INDEX), mass[which, labels], best, sure))
            first = last
        return found

    def tree(self, words: Sequence[str], belief: Belief, beside: Beside | None = None) -> tuple[Tree, float]:
        """The `best_tree` of marginals. `beside`: a parser whose marginals are interpolated."""
        tags, chains = [self.lists.tags[tag] for tag in belief.tags.tolist()], self.lists.chains
        beliefs = *belief.spans.T, belief.labels, belief.mass
        if beside is not None:
            beliefs = mixed(beliefs, chains, beside.parser.span_posteriors(words, tags), beside.share)
        return best_tree(words, tags, beliefs, chains)


def save_teacher(folder: Path, teacher: Teacher) -> None:
    """Write a teacher's folder: `teacher.json`, `network0.safetensors`, … (without the encoder's frozen embeddings)."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, network in enumerate(teacher.networks):
        tensors = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
        write_atomically(folder / f"network{number}.safetensors", safetensors.torch.save(tensors))
    facts = {"lists": teacher.lists.to_dict(), "networks": len(teacher.networks), "meta": teacher.meta}
    write_atomically(folder / "teacher.json", json.dumps(facts, indent=1).encode())


def load_teacher(folders: Sequence[Path]) -> Teacher:
    """Load the teacher of one or more folders of `save_teacher`, which must have the same lists.

    Raises ModelFormatError if a folder has no teacher, is damaged, or has other lists than the first.
    """
    networks: list[TeacherNetwork] = []
    lists: Lists | None = None
    meta: dict[str, Any] = {}
    for folder in folders:
        try:
            facts = json.loads((folder / "teacher.json").read_text(encoding="utf8"))
            own = Lists.from_dict(facts["lists"])
            if lists is not None and own != lists:
                raise ModelFormatError(f"{folder} has other labels, tags or sources than {folders[0]}; give only one")
            lists, meta = own, meta or facts["meta"]
            for number in range(int(facts["networks"])):
                tensors = safetensors.torch.load_file(folder / f"network{number}.safetensors")
                width = tensors["form"].shape[0]
                network = TeacherNetwork(len(own.chains), len(own.tags), len(own.sources), width)
                network.load_state_dict(tensors)
                networks.append(network.eval())
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, safetensors.SafetensorError) as error:
            raise ModelFormatError(
                f"{folder} contains no readable teacher ({error}); train one: python -m training teacher fit …"
            ) from error
    assert lists is not None
    return Teacher(lists, tuple(networks), meta)


def chosen_sentences(shards: Sequence[Path], places: int, least: int) -> tuple[list[tuple[str, ...]], Counter[str]]:
    """Select sentences that contain up to `places` occurrences of each word that occurs at least `least` times. Returns
    them, and the count of each normal word in all of the shards."""
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
    teacher: Teacher, sentences: Sequence[tuple[str, ...]], counts: Counter[str], source: str | None, log: Say = print
) -> WordVectors:
    """The vector of each normal word of the sentences, with its count: the mean over the teacher's networks and the
    word's occurrences, float32 (words, WIDTH)."""
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
    """Yield, for each batch of sentences, its words with their vectors, float32 (words, WIDTH)."""
    number, reader = teacher.lists.source(source), Reader()
    reads = list(map(reader.read, sentences))
    for part in batches(reads, _BATCH):
        read = [reads[k] for k in part]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = sum(network.read_words(read, [number] * len(read)).float() for network in teacher.networks)
        vectors = found.numpy() / REAL(len(teacher.networks))  # type: ignore[union-attr]
        own = [vectors[row, 1 : 1 + len(sentences[k])] for row, k in enumerate(part)]
        yield [word for k in part for word in sentences[k]], np.concatenate(own)
