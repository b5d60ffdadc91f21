"""A folder of arrays for the device: sentences with and without trees as word pieces, lists, and encoders."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.text import SHAPES, read_word, word_shape

from ...data.corpus import Sentence
from ...data.reading import sentence_key
from ...data.shards import LabelSets
from ...data.spans import chain_ids, label_chains, labelled_spans
from ...data.text import TextFile
from ...data.treebanks import TreebankFile
from ...runs.files import write_json
from ...runs.processes import optional_pool
from ..annotating import PARAGRAPHS, new_sentences, split_sentences
from ..encoder import WordPieces, safetensors
from ..examples import read_dependency_constraints
from ..pretrained import KNOWN, WEIGHTS, encoder_folder
from .arrays import DEV, GOLD, LISTS, PIECE_MAP, RAW, STUDENT, TEACHER
from .weights import EncoderShape, piece_map, save_encoder

logger = logging.getLogger(__name__)

MAX_TREE_WORDS = 100
"""Maximum number of words of a sentence with a tree."""
Words = Sequence[str]


@dataclass(frozen=True)
class Preparation:
    """A folder of arrays. `train`, `dev`: trees; `dependencies`: CoNLL-U files; `texts`: raw text, without the
    sentences of all of these; `source`: treebank whose conventions its trees follow, `source_of`: the same by text;
    `teacher`, `student`: names or folders of encoders; `int8`: round their matrices; `min_words`, `max_words`: length
    of a raw sentence; `workers`: number of processes."""

    train: tuple[TreebankFile, ...]
    dev: tuple[TreebankFile, ...]
    dependencies: tuple[TreebankFile, ...]
    texts: tuple[TextFile, ...]
    source: str | None = None
    source_of: Mapping[str, str] = field(default_factory=dict)
    teacher: str = "mpnet-base"
    student: str = "minilm"
    int8: bool = True
    min_words: int = 2
    max_words: int = 60
    workers: int = 2


def prepare_arrays(folder: Path, preparation: Preparation) -> None:
    """Write a folder of arrays. Raises ConfigError for an unknown source or text or an encoder of
    another kind, TrainingDataError if a list is too
    long for the arrays or no sentence is left."""
    if not preparation.dev or not preparation.texts:
        raise ConfigError("give --dev and --text: the losses on dev are logged, and students learn from raw text")
    folder.mkdir(parents=True, exist_ok=True)
    folders = {name: encoder_folder(getattr(preparation, name)) for name in (TEACHER, STUDENT)}
    try:
        shapes = {name: EncoderShape.from_folder(path) for name, path in folders.items()}
    except (KeyError, ValueError) as error:
        raise ConfigError(f"an encoder cannot be used on the device: {error}; use {', '.join(KNOWN)}") from error
    train = [sentence for file in preparation.train for sentence in file.read()]
    dev = [sentence for file in preparation.dev for sentence in file.read()]
    partial_trees = [s for file in preparation.dependencies for s in read_dependency_constraints(file.path, file.name)]
    found = LabelSets.from_sentences(train)
    sources = {*found.sources[1:], *(sentence.source for sentence in partial_trees)}
    lists = LabelSets(found.chains, found.tags, (found.sources[0], *sorted(sources)))
    if len(lists.tags) > 255 or len(lists.sources) > 255:
        raise TrainingDataError(f"{len(lists.tags)} tags and {len(lists.sources)} sources; at most 255 are supported")
    source_ids = _text_sources(preparation, lists)
    words = WordArrays(folders[STUDENT])
    np.savez(folder / GOLD, **tree_arrays(train, partial_trees, lists, words))
    np.savez(folder / DEV, **tree_arrays(dev, (), lists, words))
    seen = {sentence_key(sentence.tree.words) for sentence in (*train, *dev, *partial_trees)}
    raw = raw_sentences(preparation, seen)
    if not any(raw):
        raise TrainingDataError("the raw texts have no sentence that is not excluded; give other texts")
    of_texts = np.repeat(np.array(source_ids, np.uint8), [len(part) for part in raw])
    np.savez(folder / RAW, **words.arrays(list(chain.from_iterable(raw))), src=of_texts)
    write_json(folder / LISTS, lists.to_dict())
    np.save(folder / PIECE_MAP, piece_map(folders[STUDENT], folders[TEACHER]))
    for name, encoder in folders.items():
        shapes[name].save(folder / f"{name}.json")
        tensors = safetensors.torch.load_file(encoder / WEIGHTS)
        save_encoder(folder / f"{name}.npz", {key: t.float().numpy() for key, t in tensors.items()}, preparation.int8)


def _text_sources(preparation: Preparation, lists: LabelSets) -> list[int]:
    """The id of the source of each raw text. Raises ConfigError for an unknown source or text."""
    unknown = set(preparation.source_of) - {file.name for file in preparation.texts}
    if unknown:
        texts = ", ".join(file.name for file in preparation.texts)
        raise ConfigError(f"--source-of names {', '.join(sorted(unknown))}, but the texts are {texts}")
    return [lists.source(preparation.source_of.get(file.name, preparation.source)) for file in preparation.texts]


class WordArrays:
    """Makes the arrays of words: word pieces by an encoder's tokenizer, and shapes."""

    def __init__(self, encoder: Path) -> None:
        self._pieces = WordPieces(encoder)
        self._words: dict[str, tuple[tuple[int, ...], int]] = {}

    def arrays(self, sentences: Iterable[Words]) -> dict[str, Any]:
        """`pieces`, `plen`, `shapes` and `nw` as in `SentenceArrays`."""
        pieces: list[int] = []
        counts, shapes, lengths = [], [], []
        for words in sentences:
            lengths.append(len(words))
            for word in words:
                ids, shape = self._entry(word)
                pieces.extend(ids)
                counts.append(len(ids))
                shapes.append(shape)
        return {
            "pieces": np.array(pieces, np.uint16),
            "plen": np.array(counts, np.uint8),
            "shapes": np.array(shapes, np.uint8),
            "nw": np.array(lengths, np.uint16),
        }

    def _entry(self, word: str) -> tuple[tuple[int, ...], int]:
        found = self._words.get(word)
        if found is None:
            shape = 1 + max(0, SHAPES.id_of(word_shape(word)))
            found = self._words[word] = (self._pieces.ids_of(read_word(word)), shape)
        return found


def tree_arrays(
    trees: Sequence[Sentence], partial_trees: Sequence[Sentence], lists: LabelSets, words: WordArrays
) -> dict[str, Any]:
    """The arrays of sentences of at most MAX_TREE_WORDS words as in `SentenceArrays`. `partial_trees`: sentences whose
    spans only restrict which spans constituents may not cross. Sources that are not in the lists have the id 0."""
    ids, tag_ids = chain_ids(lists.chains), {tag: i for i, tag in enumerate(lists.tags)}
    source_ids = {name: i for i, name in enumerate(lists.sources)}
    spans, labels = [], []
    kept = [(s, True) for s in trees] + [(s, False) for s in partial_trees]
    kept = [(sentence, labelled) for sentence, labelled in kept if sentence.tree.n_tokens <= MAX_TREE_WORDS]
    for sentence, labelled in kept:
        if labelled:
            found, chains, _ = labelled_spans(sentence.tree, ids)
        else:
            found = np.array(list(label_chains(sentence.tree)), np.int32).reshape(-1, 2)
            chains = np.zeros(len(found), np.int32)
        spans.append(found)
        labels.append(chains)
    tags = [tag_ids.get(tag, -1) for sentence, _ in kept for tag in sentence.tree.tags]
    return {
        **words.arrays(sentence.tree.words for sentence, _ in kept),
        "src": np.array([source_ids.get(sentence.source, 0) for sentence, _ in kept], np.uint8),
        "tags": np.array(tags, np.int16),
        "spans": np.concatenate(spans).astype(np.uint8),
        "labels": np.concatenate(labels).astype(np.int16),
        "ns": np.array([len(found) for found in spans], np.uint16),
        "lab": np.array([labelled for _, labelled in kept], np.uint8),
    }


def raw_sentences(preparation: Preparation, seen: set[str]) -> list[list[tuple[str, ...]]]:
    """The sentences of each raw text, each once, without those whose keys are in `seen`, which is extended."""
    split = partial(split_sentences, min_words=preparation.min_words, max_words=preparation.max_words)
    found = []
    with optional_pool(preparation.workers) as pool:
        run = map if pool is None else pool.map
        for file in preparation.texts:
            paragraphs = file.paragraphs()
            parts = [paragraphs[at : at + PARAGRAPHS] for at in range(0, len(paragraphs), PARAGRAPHS)]
            found.append(list(new_sentences(chain.from_iterable(run(split, parts)), seen)))
            logger.info(f"{file.name}: {len(found[-1])} sentences of {sum(map(len, found[-1]))} words")
    return found
