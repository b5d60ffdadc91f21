"""Parse raw text with a source parser into silver trees: in several processes, in order, and stored in chunks."""

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.parsers import ConstituentParser, load_parser, load_tagger
from spacy_dtparse.parsers.dtree import DtreeParser
from spacy_dtparse.parsers.pcfg import PcfgParser
from spacy_dtparse.trees import write_tree

from ..data.reading import Reading, TaggedSentence, read_sentences, tagger_facts
from ..data.text import TextFile
from ..runs.alone import alone
from ..runs.files import file_digest, keep_json, kept_json
from ..runs.processes import worker_pool
from ..runs.resuming import own_json
from ..runs.telling import Say

CHUNK = 200
"""Sentences that are parsed and written together."""

FACTS, SENTENCES = "facts.json", "sentences.json"


class Taught(NamedTuple):
    """The source parser's tree of a sentence in brackets, its confidence (see `sureness`), and the parse's status."""

    tree: str
    sure: float
    status: str


@dataclass(frozen=True)
class Teaching:
    """A parsing run: the source parser's model file, the texts, how to read them, and the working folder.

    `workdir`: a folder for `facts.json`, the tagged sentences and `chunks/`. `n_workers`: number of processes; 1: only
    this one. `settings`: settings of the source parser, by name (plain data); {}: those of the model. `unsure`: accept
    a source parser without confidence; `Taught.sure` is then nan. `spines`: the model file of a supertagger whose
    spines the source parser uses, within the lowest of its `betas`.
    """

    teacher: Path
    files: tuple[TextFile, ...]
    reading: Reading
    workdir: Path
    n_workers: int = 2
    settings: Mapping[str, Any] = field(default_factory=dict)
    unsure: bool = False
    spines: Path | None = None

    def facts(self, nlp: Language) -> dict[str, Any]:
        """The conditions that determine the trees, as plain data. Raises TrainingDataError for unreadable files."""
        try:
            digest = file_digest(self.teacher)
        except OSError as error:
            raise TrainingDataError(
                f"{self.teacher}: cannot read the source parser ({error.strerror}); give a model file, such as one "
                "written by `python -m training pcfgla`"
            ) from error
        reading = self.reading
        return {
            **({} if self.spines is None else {"spines": file_digest(self.spines)}),
            "teacher": {"file": self.teacher.name, "sha256": digest},
            "pipeline": tagger_facts(nlp),
            "texts": [file.facts() for file in self.files],
            "min_words": reading.min_words,
            "max_words": reading.max_words,
            "keep_hyphens": reading.keep_hyphens,
            "limit": reading.limit,
            "settings": dict(self.settings),
            "without": [
                hashlib.sha256(repr([s.tree.words for s in file.read()]).encode()).hexdigest()
                for file in reading.without
            ],
            "chunk": CHUNK,
        }


class Lesson(NamedTuple):
    """`sentences` and their silver `trees`; `facts`: the conditions of the run; `counts`: those of `read_sentences`."""

    sentences: list[TaggedSentence]
    trees: list[Taught]
    facts: dict[str, Any]
    counts: list[dict[str, Any]]


def n_grammars(teacher: ConstituentParser) -> int:
    """The divisor of a source parser's costs for `sureness`: the number of grammars for a product of grammars, whose
    costs are sums over the grammars, else 1; 0 for a PCFG without latent annotations, whose costs reflect the frequency
    of words rather than confidence.

    Raises ConfigError for a parser of another kind.
    """
    if isinstance(teacher, PcfgParser):
        return len(teacher.model.latent)
    if not isinstance(teacher, DtreeParser):
        raise ConfigError(f"the source parser is of kind {teacher.name!r}; give a model of pcfgla or train-boosted")
    return 1


def sureness(cost: float, n_words: int, n_grammars: int = 1) -> float:
    """Log confidence of a source parser in a tree, per word (nats, 0 is certainty): -cost / words / grammars.

    The cost of a latent grammar's tree is -ln of the product of its rules' posteriors given the words (max-rule
    parsing), that of a boosted-tree parser -ln of the product of its decisions' probabilities. nan for no grammars.
    """
    return 0.0 - max(cost, 0.0) / (n_words * n_grammars) if n_grammars else math.nan


@lru_cache(maxsize=1)
def _teacher(path: Path, settings: str) -> tuple[DtreeParser | PcfgParser, int]:
    """Load the parser of a model file with settings in JSON; returns it with the divisor of its costs."""
    teacher = load_parser(path)
    n_grammars(teacher)  # raises for others
    assert isinstance(teacher, DtreeParser | PcfgParser)
    return teacher.with_settings(**json.loads(settings)), n_grammars(teacher)


_tagger = lru_cache(maxsize=1)(load_tagger)


def _parse_chunk(path: Path, settings: str, spines: Path | None, sentences: Sequence[TaggedSentence]) -> list[Taught]:
    teacher, divisor = _teacher(path, settings)
    found = []
    for _, words, tags in sentences:
        offered = () if spines is None else _tagger(spines).multitag(words, tags, min(teacher.settings.betas))
        result = teacher.parse(words, tags, offered)
        sure = sureness(result.cost, len(words), divisor)
        found.append(Taught(write_tree(result.tree), round(sure, 9), result.status))
    return found


def teach(teaching: Teaching, nlp: Language, log: Say = print) -> Lesson:
    """Read, tag and parse the texts; results of an earlier call with the same conditions are reused from the folder.

    `log` is called with progress messages. The result is the same with any number of workers. Raises TrainingDataError
    if the folder has trees of another source parser, text or options, or damaged ones; ConfigError for a source parser
    without confidence, unless `unsure` is set; and as `read_sentences` does.
    """
    if teaching.n_workers < 1:
        raise ConfigError(f"{teaching.n_workers} workers; give 1 or more (--workers)")
    with alone(teaching.workdir):
        return _taught(teaching, nlp, log)


def _taught(teaching: Teaching, nlp: Language, log: Say) -> Lesson:
    facts = json.loads(json.dumps(teaching.facts(nlp)))
    _teacher.cache_clear()
    _tagger.cache_clear()
    _, divisor = _teacher(teaching.teacher, json.dumps(dict(teaching.settings)))
    if divisor == 0 and not teaching.unsure:
        raise ConfigError(
            "the source parser is a PCFG without latent annotations, whose costs give no confidence; give a model of "
            "`python -m training pcfgla` or `python -m training train-boosted`"
        )
    folder = teaching.workdir
    own_json(folder / FACTS, facts)
    stored = kept_json(folder / SENTENCES)
    if stored is None:
        log("reading and tagging the texts")
        sentences, counts = read_sentences(nlp, teaching.files, teaching.reading)
        keep_json(folder / SENTENCES, {"counts": counts, "sentences": sentences})
    else:
        counts = stored["counts"]
        sentences = [TaggedSentence(f, tuple(w), tuple(t)) for f, w, t in stored["sentences"]]
    return Lesson(sentences, list(chain.from_iterable(_chunks(teaching, sentences, log))), facts, counts)


def _chunks(teaching: Teaching, sentences: list[TaggedSentence], log: Say) -> Iterator[list[Taught]]:
    """Yield the trees of each chunk, in order."""
    parts = [sentences[at : at + CHUNK] for at in range(0, len(sentences), CHUNK)]
    paths = [teaching.workdir / "chunks" / f"{number:06d}.json" for number in range(len(parts))]
    words = [sum(len(sentence.words) for sentence in part) for part in parts]
    missing = [number for number, path in enumerate(paths) if not path.is_file()]
    left = sum(words[number] for number in missing)
    log(f"{len(sentences)} sentences, {sum(words)} words to parse, {sum(words) - left} of them already parsed")
    began, done = time.perf_counter(), 0
    teacher = (teaching.teacher, json.dumps(dict(teaching.settings)), teaching.spines)
    pool = worker_pool(teaching.n_workers) if teaching.n_workers > 1 and len(missing) > 1 else None
    running: dict[int, Future[list[Taught]]] = {}
    ahead = iter(missing)
    try:
        for number, path in enumerate(paths):
            while pool is not None and len(running) < 2 * teaching.n_workers and (k := next(ahead, None)) is not None:
                running[k] = pool.submit(_parse_chunk, *teacher, parts[k])
            if path.is_file():
                yield _read_chunk(path, len(parts[number]))
                continue
            future = running.pop(number, None)
            found = _parse_chunk(*teacher, parts[number]) if future is None else future.result()
            keep_json(path, {"trees": found})
            done += words[number]
            speed = done / (time.perf_counter() - began)
            log(
                f"chunk {number + 1} of {len(parts)}: {speed:.0f} words/s, {left - done} words left, "
                f"{(left - done) / speed / 60:.1f} min"
            )
            yield found
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _read_chunk(path: Path, n: int) -> list[Taught]:
    rows = (kept_json(path) or {}).get("trees", ())
    if len(rows) != n:
        raise TrainingDataError(f"{path} does not have the trees of {n} sentences; delete it to parse them again")
    return [Taught(*row) for row in rows]
