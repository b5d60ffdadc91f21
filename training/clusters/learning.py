"""Cluster the words of raw text, and write a file of clusters."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import spacy

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.text import normal_word

from ..data.text import TextFile
from ..data.treebanks import text_list_path
from ..runs.files import write_atomically
from .exchange import exchange

logger = logging.getLogger(__name__)


def learn_clusters(
    texts: Sequence[TextFile], n_clusters: int, min_count: int, rounds: int, out: Path, lang: str = "en"
) -> None:
    """Cluster the words that occur at least `min_count` times in the texts, and write the clusters to `out`, one per
    line, words by frequency; and the names of the texts to a file next to it. Words are normalised
    (`spacy_dtparse.text.normal_word`) tokens of spaCy's tokenizer for `lang`.

    Raises ConfigError, and TrainingDataError if there are fewer words than clusters.
    """
    if n_clusters < 2 or min_count < 1 or rounds < 1:
        raise ConfigError(
            f"{n_clusters} clusters, minimum count {min_count}, {rounds} rounds: give at least 2, 1 and 1"
        )
    words, ids = assign_word_ids(word_lists(texts, lang), min_count)
    if len(words) < n_clusters:
        raise TrainingDataError(
            f"the texts have {len(words)} words that occur at least {min_count} times, for {n_clusters} clusters; give "
            "more text or fewer clusters"
        )
    logger.info(f"{len(ids):,} words of text, {len(words):,} distinct words for {n_clusters} clusters")
    clusters = exchange(ids, len(words), n_clusters, rounds)
    lines: list[list[str]] = [[] for _ in range(n_clusters)]
    for word, cluster in zip(words, clusters.tolist(), strict=True):
        lines[cluster].append(word)
    write_atomically(out, "".join(" ".join(line) + "\n" for line in lines if line).encode())
    write_atomically(text_list_path(out), "".join(f"{text.name}\n" for text in texts).encode())


def word_lists(texts: Iterable[TextFile], lang: str) -> Iterable[list[str]]:
    """The normalised words of each paragraph."""
    tokenizer = spacy.blank(lang).tokenizer
    for text in texts:
        for paragraph in text.paragraphs():
            yield [normal_word(token.text) for token in tokenizer(paragraph) if not token.is_space]


def assign_word_ids(paragraphs: Iterable[Sequence[str]], min_count: int) -> tuple[list[str], np.ndarray]:
    """(Words that occur at least `min_count` times, the most frequent first; the text as their ids, int32 (m,): −1 for
    other words and after each paragraph)."""
    index: dict[str, int] = {}
    text: list[int] = []
    for paragraph in paragraphs:
        text += [index.setdefault(word, len(index)) for word in paragraph]
        text.append(-1)
    ids, words = np.array(text, dtype=np.int32), list(index)
    counts = np.bincount(ids[ids >= 0], minlength=len(words))
    order = np.argsort(-counts, kind="stable")
    frequent = order[counts[order] >= min_count]
    rank = np.full(len(words) + 1, -1, dtype=np.int32)
    rank[frequent] = np.arange(len(frequent), dtype=np.int32)
    return [words[word_id] for word_id in frequent.tolist()], rank[ids]
