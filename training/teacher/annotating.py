"""Annotate raw text with a teacher: split it into sentences, and annotate and save these in shards, in several
processes."""

import json
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import ConfigError, ModelFormatError, TrainingDataError

from ..data.reading import load_tagger, sentence_key
from ..data.shards import save_shard
from ..data.text import TextFile
from ..data.treebanks import TreebankFile
from ..runs.files import file_digest, load_checkpoint, save_checkpoint, write_atomically
from ..runs.lock import lock_dir
from ..runs.processes import worker_pool
from ..runs.resuming import claim_json
from .span_teacher import SpanTeacher, span_parser_file

logger = logging.getLogger(__name__)

SHARD = 2000
"""Sentences per shard."""
PARAGRAPHS = 4000
"""Paragraphs per task of sentence splitting."""
_MIN_WORD_FRACTION = 0.4
"""Minimum fraction of a sentence's tokens that consist of letters."""


@dataclass(frozen=True)
class Annotation:
    """An annotation run. `teachers`: folders of teachers, whose scores are averaged, or one span parser: its file or
    name. `source`: treebank whose conventions the trees follow; `source_of`: the same by name of a text. `exclude`:
    files of trees, such as development parts, and folders of shards, whose sentences are excluded. `min_words`,
    `max_words`: length of a sentence. `max_text_words`: maximum number of words of a text, sampled evenly; None: all.
    `workers`: number of processes."""

    teachers: tuple[Path, ...]
    files: tuple[TextFile, ...]
    out: Path
    source: str | None = None
    source_of: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[Path, ...] = ()
    min_words: int = 2
    max_words: int = 60
    max_text_words: int | None = None
    workers: int = 2

    def __post_init__(self) -> None:
        unknown = set(self.source_of) - {file.name for file in self.files}
        if unknown:
            texts = ", ".join(file.name for file in self.files)
            raise ConfigError(f"--source-of names {', '.join(sorted(unknown))}, but the texts are {texts}")
        if not 1 <= self.min_words <= self.max_words:
            raise ConfigError(
                f"sentences of {self.min_words} to {self.max_words} words: the minimum must not exceed the maximum"
            )

    def conditions(self) -> dict[str, Any]:
        """Everything that determines the shards, as plain data."""
        networks: list[Path] = []
        for teacher in self.teachers:
            file = span_parser_file(teacher)
            networks += sorted(teacher.glob("*.safetensors")) if file is None else [file]
        return {
            "teachers": list(map(file_digest, networks)),
            "texts": [file.describe() for file in self.files],
            "without": [file_digest(file) for path in self.exclude for file in _sentence_files(path)],
            "source": self.source,
            "min_words": self.min_words,
            "max_words": self.max_words,
            "most_words": self.max_text_words,
            "source_of": dict(self.source_of),
            "shard": SHARD,
        }


def looks_like_language(words: Sequence[str]) -> bool:
    """Whether enough of the tokens are words, so that the text is no table or formula."""
    return sum(any(map(str.isalpha, word)) for word in words) >= max(1, _MIN_WORD_FRACTION * len(words))


_splitter = lru_cache(maxsize=1)(load_tagger)


def split_sentences(paragraphs: Sequence[str], min_words: int, max_words: int) -> list[tuple[str, ...]]:
    """Split paragraphs into sentences (tuples of words) with the embedded pipeline."""
    found = []
    for doc in _splitter().pipe(paragraphs, batch_size=64):
        for sentence in doc.sents:
            words = tuple(token.text for token in sentence if not token.is_space)
            if min_words <= len(words) <= max_words and looks_like_language(words):
                found.append(words)
    return found


def _sample_evenly(paragraphs: list[str], max_text_words: int | None) -> list[str]:
    """Sample blocks of ten paragraphs, evenly spread, with about `max_text_words` words."""
    sizes = [len(paragraph.split()) for paragraph in paragraphs]
    if max_text_words is None or sum(sizes) <= max_text_words:
        return paragraphs
    fraction = max_text_words / sum(sizes)
    chosen, total = [], 0.0
    for at in range(0, len(paragraphs), 10):
        total += fraction
        if total >= 1:
            total -= 1
            chosen += paragraphs[at : at + 10]
    return chosen


@lru_cache(maxsize=1)
def _load_teacher(folders: tuple[Path, ...]) -> Any:
    if span_parser_file(folders[0]) is not None:
        return SpanTeacher(folders[0])
    from .encoder import torch
    from .model import load_teacher

    torch.set_num_threads(1)
    return load_teacher(folders)


def annotate_shard(
    folders: tuple[Path, ...], source: str | None, path: Path, sentences: Sequence[tuple[str, ...]]
) -> int:
    """Annotate sentences and write a shard; returns its number of words."""
    teacher = _load_teacher(folders)
    save_shard(path, teacher.lists, sentences, list(teacher.marginals(sentences, source)))
    return sum(map(len, sentences))


def check_sources(teachers: Sequence[Path], sources: Sequence[str | None]) -> None:
    """Raise ModelFormatError for a folder without a teacher, ConfigError for an unknown source, and for a span parser
    together with other teachers."""
    if any(span_parser_file(teacher) is not None for teacher in teachers):
        if len(teachers) > 1:
            raise ConfigError("a span parser cannot be combined with other teachers; give one teacher")
        if any(source is not None for source in sources):
            raise ConfigError(f"{teachers[0]} is a span parser, without sources; leave --source and --source-of out")
        return
    for folder in teachers:
        try:
            known = json.loads((folder / "teacher.json").read_text(encoding="utf8"))["lists"]["sources"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelFormatError(
                f"{folder} contains no readable teacher ({error}); train one: python -m training teacher fit …"
            ) from error
        unknown = sorted({source for source in sources if source is not None} - set(known))
        if unknown:
            raise ConfigError(f"{folder} has no source {', '.join(unknown)}; its sources are {', '.join(known)}")


def annotate(annotation: Annotation) -> None:
    """Write `out`/NAME.00000.npz, … for each text, `facts.json` and `counts.json`. Existing shards are not annotated
    again.

    Raises TrainingDataError if the folder has shards of another teacher, text or options, or a text is unreadable.
    """
    check_sources(annotation.teachers, [annotation.source, *annotation.source_of.values()])
    _annotate(annotation)


@lock_dir("annotation.out")
def _annotate(annotation: Annotation) -> None:
    claim_json(annotation.out / "facts.json", annotation.conditions())
    seen = {sentence_key(words) for path in annotation.exclude for words in _read_sentences(path)}
    counts: dict[str, Any] = {}
    began, done = time.perf_counter(), 0
    with worker_pool(annotation.workers) as pool:
        for file in annotation.files:
            source = annotation.source_of.get(file.name, annotation.source)
            sentences_file = annotation.out / f"{file.name}.sentences.json"
            if sentences_file.is_file():
                sentences = _stored_sentences(sentences_file)
                seen.update(map(sentence_key, sentences))
            else:
                paragraphs = _sample_evenly(file.paragraphs(), annotation.max_text_words)
                parts = [paragraphs[at : at + PARAGRAPHS] for at in range(0, len(paragraphs), PARAGRAPHS)]
                found = pool.map(
                    partial(split_sentences, min_words=annotation.min_words, max_words=annotation.max_words), parts
                )
                sentences = list(new_sentences(chain.from_iterable(found), seen))
                save_checkpoint(sentences_file, {"sentences": sentences})
            counts[file.name] = {"sentences": len(sentences), "words": sum(map(len, sentences)), "source": source}
            logger.info(f"{file.name}: {len(sentences)} sentences, {counts[file.name]['words']} words")
            paths = [annotation.out / f"{file.name}.{k:05d}.npz" for k in range(math.ceil(len(sentences) / SHARD))]
            tasks = [
                pool.submit(annotate_shard, annotation.teachers, source, path, sentences[k * SHARD : (k + 1) * SHARD])
                for k, path in enumerate(paths)
                if not path.is_file()
            ]
            for i, task in enumerate(tasks, 1):
                done += task.result()
                if i % 5 == 0 or i == len(tasks):
                    logger.info(
                        f"  shard {i} of {len(tasks)}: {done / (time.perf_counter() - began):.0f} words/s in all"
                    )
    write_atomically(annotation.out / "counts.json", json.dumps(counts, indent=1).encode())


def _sentence_files(path: Path) -> list[Path]:
    """A file of trees, or the files of a shard folder that store the sentences of each text."""
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.sentences.json"))
    if not found:
        raise TrainingDataError(f"{path} has no annotated text; give files of trees, or folders of teacher annotate")
    return found


def _read_sentences(path: Path) -> list[Sequence[str]]:
    if not path.is_dir():
        return [sentence.tree.words for sentence in TreebankFile(path).read()]
    return [words for file in _sentence_files(path) for words in _stored_sentences(file)]


def _stored_sentences(path: Path) -> list[tuple[str, ...]]:
    """Read the stored sentences of a text."""
    return [tuple(words) for words in (load_checkpoint(path) or {}).get("sentences", ())]


def new_sentences(sentences: Iterable[tuple[str, ...]], seen: set[str]) -> Iterator[tuple[str, ...]]:
    """Yield the sentences whose keys are not in `seen`, and add the keys."""
    for words in sentences:
        if (key := sentence_key(words)) not in seen:
            seen.add(key)
            yield words
