"""Train a span parser from files to a model file, in several processes."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from spacy_dtparse import __version__
from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.model import PackedNetwork
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.stored_names import to_stored
from spacy_dtparse.trees import HeadRules, head_rules

from ..data.heads import rules_for
from ..data.shards import text_name
from ..data.treebanks import TreebankFile, read_files, text_credits, training_origin
from ..data.word_vectors import read_vectors
from ..runs.files import write_atomically
from ..runs.lock import lock_dir
from ..runs.metrics_log import log_metrics
from ..runs.processes import worker_pool
from ..runs.settings import apply_field_settings
from .fitting import SpanOptions, SpanTrainingData, make_model, make_training_data, train_network


def parse_settings(settings: Sequence[str], seeds: tuple[int, ...] = (0, 1)) -> SpanOptions:
    """Parse NAME=VALUE settings into SpanOptions; names of parts have the prefix `shape.` or `dropout.`.

    Raises ConfigError for an unknown name or a value of another type.
    """
    return apply_field_settings(SpanOptions(seeds=seeds), settings, but=("seeds",))


def _train_seed(
    training_data: SpanTrainingData, options: SpanOptions, workdir: Path | None, seed: int
) -> PackedNetwork:
    log_file = None if workdir is None else workdir / f"network{seed}.jsonl"
    return train_network(training_data, options, seed, workdir, partial(log_metrics, log_file))


def _load_span_parser(path: Path, user: str) -> SpanParser:
    parser = load_parser(path)
    if not isinstance(parser, SpanParser):
        raise ConfigError(f"{path} is a model of kind {parser.name!r}; {user} a model of kind 'span'")
    return parser


@lock_dir("workdir")
def train_span_parser(
    train: Sequence[TreebankFile],
    dev: Sequence[TreebankFile],
    pretrain: Sequence[TreebankFile],
    options: SpanOptions,
    metadata: dict[str, Any],
    out: Path,
    workdir: Path | None = None,
    workers: int = 2,
    teacher: Path | None = None,
    shards: Sequence[Path] = (),
    start: Path | None = None,
    vectors: Path | None = None,
    heads: HeadRules | None = None,
) -> float:
    """Train a span parser and write it to `out`; returns the seconds it took.

    `pretrain`: trees of a teacher; `teacher`: model file of a span parser whose marginals are mixed with them.
    `shards`: more training data, files of `python -m training teacher annotate`. `start`: model file whose networks are
    trained further. `vectors`: file of `python -m training teacher vectors` with the initial word vectors. `metadata`:
    entries for the model's meta. `heads`: head rules of the constituents (see `data.heads.rules_for`). Raises
    TrainingDataError and ConfigError for unusable input.
    """
    began = time.perf_counter()
    sentences, pretrain_sentences = read_files(train), read_files(pretrain)
    teacher_parser = None if teacher is None else _load_span_parser(teacher, "--teacher needs")
    if teacher_parser and not pretrain_sentences:
        raise ConfigError("--teacher is mixed with the trees of --pretrain-trees, but there are none; give some")
    start_model = None if start is None else _load_span_parser(start, "--start needs").model
    if start_model and len(start_model.networks) != len(options.seeds):
        raise ConfigError(
            f"{start} has {len(start_model.networks)} networks; give as many seeds, not {len(options.seeds)}"
        )
    several = len(options.seeds) > 1
    word_vectors = None if vectors is None else read_vectors(vectors)
    if word_vectors is not None and start_model is not None:
        raise ConfigError("--word-vectors initialise new networks, but --start continues trained ones; give only one")
    with worker_pool(workers) if workers > 1 and (several or teacher_parser) else nullcontext() as pool:
        training_data = make_training_data(
            sentences,
            read_files(dev),
            options,
            pretrain_sentences,
            teacher_parser,
            pool,
            shards,
            start_model,
            word_vectors,
        )
        log_metrics(
            None, sentences=len(training_data.train), pretrain_sentences=len(training_data.pretrain),
            rows=training_data.words.size, chains=len(training_data.chains) - 1,
        )  # fmt: skip
        work = partial(_train_seed, training_data, options, workdir)
        packed = list(pool.map(work, options.seeds) if pool and several else map(work, options.seeds))
    origin = training_origin(train)
    meta = {
        "version": __version__,
        **metadata,
        "treebanks": [
            {"name": file.name, "weight": file.weight, "tags": "gold" if file.tags is None else "predicted"}
            for file in train
        ],
        "license": origin["license"],
        "credits": [
            *origin["credits"],
            *metadata.get("credits", []),
            *text_credits([text_name(path) for path in shards]),
        ],
        "sources": origin["sources"],
        "sentences": len(sentences),
        "taught_sentences": len(training_data.pretrain),
        "options": to_stored(options),
    }
    rules = heads or rules_for(metadata.get("lang", "en"), [sentence.tree for sentence in sentences])
    if rules != head_rules(metadata.get("lang", "en")):
        meta["head_rules"] = rules.to_dict()
    write_atomically(out, SpanParser(make_model(training_data, packed, meta)).to_bytes())
    return time.perf_counter() - began
