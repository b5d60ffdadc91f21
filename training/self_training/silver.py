"""Parse raw text with a source parser into silver trees: in several processes, in order, and stored in chunks."""

import hashlib
import json
import logging
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

from spacy_dtparse.core import Parser, load_parser, load_tagger
from spacy_dtparse.core.ambiguous_tags import format_tag, parse_tag
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.stored_names import from_stored
from spacy_dtparse.trees import write_tree

from ..data.reading import SentenceSelection, TaggedSentence, pipeline_metadata, select_sentences
from ..data.text import TextFile
from ..runs.files import file_digest, load_checkpoint, plain, save_checkpoint
from ..runs.lock import lock_dir
from ..runs.processes import worker_pool
from ..runs.resuming import claim_json

logger = logging.getLogger(__name__)

CHUNK = 200
"""Sentences that are parsed and written together."""

FACTS, SENTENCES = "facts.json", "sentences.json"


class SilverTree(NamedTuple):
    """The source parser's tree of a sentence in brackets, its confidence (see `log_confidence`), and the parse's
    status."""

    tree: str
    confidence: float
    status: str


@dataclass(frozen=True)
class SilverParsing:
    """A parsing run: the source parser's model file, the texts, how to read them, and the working folder.

    `workdir`: a folder for `facts.json`, the tagged sentences and `chunks/`. `n_workers`: number of processes; 1: only
    this one. `settings`: settings of the source parser, by stored name (plain data); {}: those of the model.
    `allow_unknown_confidence`: accept a source parser without confidence; `SilverTree.confidence` is then nan.
    `spines`: the model file of a supertagger whose spines the source parser uses, within the lowest of its `betas`.
    """

    source_parser: Path
    files: tuple[TextFile, ...]
    reading: SentenceSelection
    workdir: Path
    n_workers: int = 2
    settings: Mapping[str, Any] = field(default_factory=dict)
    allow_unknown_confidence: bool = False
    spines: Path | None = None

    def conditions(self, nlp: Language) -> dict[str, Any]:
        """The conditions that determine the trees, as plain data. Raises TrainingDataError for unreadable files."""
        try:
            digest = file_digest(self.source_parser)
        except OSError as error:
            raise TrainingDataError(
                f"{self.source_parser}: cannot read the source parser ({error.strerror}); give a model file, such as "
                "one written by `python -m training train-pcfgla`"
            ) from error
        reading = self.reading
        return {
            **({} if self.spines is None else {"spines": file_digest(self.spines)}),
            "teacher": {"file": self.source_parser.name, "sha256": digest},
            "pipeline": pipeline_metadata(nlp),
            "texts": [file.describe() for file in self.files],
            "min_words": reading.min_words,
            "max_words": reading.max_words,
            "keep_hyphens": reading.keep_hyphens,
            "limit": reading.limit,
            "settings": dict(self.settings),
            "without": [
                hashlib.sha256(repr([s.tree.words for s in file.read()]).encode()).hexdigest()
                for file in reading.exclude
            ],
            "chunk": CHUNK,
        }


class SilverTreebank(NamedTuple):
    """`sentences` and their silver `trees`; `conditions`: those of the run; `counts`: those of `select_sentences`."""

    sentences: list[TaggedSentence]
    trees: list[SilverTree]
    conditions: dict[str, Any]
    counts: list[dict[str, Any]]


def cost_divisor(source_parser: Parser) -> int:
    """The divisor of a source parser's costs for `log_confidence`: the number of grammars for a product of grammars,
    whose costs are sums over the grammars, else 1; 0 for a PCFG without latent annotations, whose costs reflect the
    frequency of words rather than confidence.

    Raises ConfigError for a parser of another kind.
    """
    if isinstance(source_parser, PcfgParser):
        return len(source_parser.model.latent)
    if not isinstance(source_parser, DtreeParser):
        raise ConfigError(
            f"the source parser is of kind {source_parser.name!r}; give a model of pcfgla or train-boosted"
        )
    return 1


def log_confidence(cost: float, n_words: int, cost_divisor: int = 1) -> float:
    """Log confidence of a source parser in a tree, per word (nats, 0 is certainty): -cost / words / grammars.

    The cost of a latent grammar's tree is -ln of the product of its rules' posteriors given the words (max-rule
    parsing), that of a boosted-tree parser -ln of the product of its decisions' probabilities. nan for no grammars.
    """
    return 0.0 - max(cost, 0.0) / (n_words * cost_divisor) if cost_divisor else math.nan


@lru_cache(maxsize=1)
def _load_source_parser(path: Path, settings: str) -> tuple[DtreeParser | PcfgParser, int]:
    """Load the parser of a model file with settings in JSON, by stored name. Returns (parser, divisor of its costs)."""
    source_parser = load_parser(path)
    cost_divisor(source_parser)  # raises for others
    assert isinstance(source_parser, DtreeParser | PcfgParser)
    changes = from_stored(type(source_parser.settings), json.loads(settings))
    return source_parser.with_settings(**changes), cost_divisor(source_parser)


_load_supertagger = lru_cache(maxsize=1)(load_tagger)


def _parse_chunk(
    path: Path, settings: str, spines: Path | None, sentences: Sequence[TaggedSentence]
) -> list[SilverTree]:
    source_parser, divisor = _load_source_parser(path, settings)
    found = []
    for _, words, tags in sentences:
        supertags = (
            () if spines is None else _load_supertagger(spines).multitag(words, tags, min(source_parser.settings.betas))
        )
        result = source_parser.parse(words, tags, supertags)
        confidence = log_confidence(result.cost, len(words), divisor)
        found.append(SilverTree(write_tree(result.tree), round(confidence, 9), result.status))
    return found


@lock_dir("parsing.workdir")
def parse_silver(parsing: SilverParsing, nlp: Language) -> SilverTreebank:
    """Read, tag and parse the texts; results of an earlier call with the same conditions are reused from the folder.

    The result is the same with any number of workers. Raises
    TrainingDataError if the folder has trees of another source parser, text or options, or damaged ones; ConfigError
    for a source parser without confidence, unless `allow_unknown_confidence` is set; and as `select_sentences` does.
    """
    if parsing.n_workers < 1:
        raise ConfigError(f"{parsing.n_workers} workers; give 1 or more (--workers)")
    conditions = plain(parsing.conditions(nlp))
    _load_source_parser.cache_clear()
    _load_supertagger.cache_clear()
    _, divisor = _load_source_parser(parsing.source_parser, json.dumps(dict(parsing.settings)))
    if divisor == 0 and not parsing.allow_unknown_confidence:
        raise ConfigError(
            "the source parser is a PCFG without latent annotations, whose costs give no confidence; give a model of "
            "`python -m training train-pcfgla` or `python -m training train-boosted`"
        )
    folder = parsing.workdir
    claim_json(folder / FACTS, conditions)
    stored = load_checkpoint(folder / SENTENCES)
    if stored is None:
        logger.info("reading and tagging the texts")
        sentences, counts = select_sentences(nlp, parsing.files, parsing.reading)
        written = [(one.file, one.words, [*map(format_tag, one.tags)]) for one in sentences]
        save_checkpoint(folder / SENTENCES, {"counts": counts, "sentences": written})
    else:
        counts = stored["counts"]
        sentences = [TaggedSentence(f, tuple(w), tuple(map(parse_tag, t))) for f, w, t in stored["sentences"]]
    return SilverTreebank(sentences, list(chain.from_iterable(_chunks(parsing, sentences))), conditions, counts)


def _chunks(parsing: SilverParsing, sentences: list[TaggedSentence]) -> Iterator[list[SilverTree]]:
    """Yield the trees of each chunk, in order."""
    parts = [sentences[at : at + CHUNK] for at in range(0, len(sentences), CHUNK)]
    paths = [parsing.workdir / "chunks" / f"{i:06d}.json" for i in range(len(parts))]
    words = [sum(len(sentence.words) for sentence in part) for part in parts]
    missing = [i for i, path in enumerate(paths) if not path.is_file()]
    n_left = sum(words[i] for i in missing)
    logger.info(
        f"{len(sentences)} sentences, {sum(words)} words to parse, {sum(words) - n_left} of them already parsed"
    )
    began, done = time.perf_counter(), 0
    source_parser = (parsing.source_parser, json.dumps(dict(parsing.settings)), parsing.spines)
    pool = worker_pool(parsing.n_workers) if parsing.n_workers > 1 and len(missing) > 1 else None
    running: dict[int, Future[list[SilverTree]]] = {}
    pending = iter(missing)
    try:
        for i, path in enumerate(paths):
            while pool is not None and len(running) < 2 * parsing.n_workers and (k := next(pending, None)) is not None:
                running[k] = pool.submit(_parse_chunk, *source_parser, parts[k])
            if path.is_file():
                yield _read_chunk(path, len(parts[i]))
                continue
            future = running.pop(i, None)
            found = _parse_chunk(*source_parser, parts[i]) if future is None else future.result()
            save_checkpoint(path, {"trees": found})
            done += words[i]
            speed = done / (time.perf_counter() - began)
            logger.info(
                f"chunk {i + 1} of {len(parts)}: {speed:.0f} words/s, {n_left - done} words left, "
                f"{(n_left - done) / speed / 60:.1f} min"
            )
            yield found
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _read_chunk(path: Path, n: int) -> list[SilverTree]:
    rows = (load_checkpoint(path) or {}).get("trees", ())
    if len(rows) != n:
        raise TrainingDataError(f"{path} does not have the trees of {n} sentences; delete it to parse them again")
    return [SilverTree(*row) for row in rows]
