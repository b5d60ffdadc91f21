"""Train a span parser from files to a model file, in several processes."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from spacy_dtparse import __version__
from spacy_dtparse.core import Parser, load_parser
from spacy_dtparse.core import load_span_parser as load_span_model
from spacy_dtparse.core.registry import SPAN_MODEL_KINDS
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.models import SPAN_MODEL, open_parser
from spacy_dtparse.span_parser.model import PackedNetwork, SpanModel
from spacy_dtparse.span_parser.parser import KIND, SpanParser
from spacy_dtparse.trees import TOP, HeadRules, head_rules

from ..data.clusters import STARTED_WITH_CLUSTERS, load_clusters
from ..data.corpus import Sentence
from ..data.heads import rules_for
from ..data.relations import with_relation_files
from ..data.shards import text_name
from ..data.treebanks import CLUSTERED, TreebankFile, listed_texts, read_files, text_credits, training_origin
from ..data.word_vectors import WordVectors, read_vectors
from ..runs.files import write_atomically
from ..runs.lock import lock_dir
from ..runs.metrics_log import log_metrics
from ..runs.processes import map_tasks, optional_pool
from ..runs.settings import apply_field_settings
from .fitting import SpanOptions, SpanTrainingData, make_model, make_training_data, stored_options, train_network
from .network import Shape

logger = logging.getLogger(__name__)


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


def _check_kind(parser: Parser, source: Path, user: str, kinds: Sequence[str] = SPAN_MODEL_KINDS) -> SpanParser:
    if not isinstance(parser, SpanParser) or parser.name not in kinds:
        raise ConfigError(f"{source} is a model of kind {parser.name!r}; {user} a model of kind {' or '.join(kinds)}")
    return parser


def load_start_model(source: Path, n_networks: int) -> SpanModel:
    """Load the model whose `n_networks` networks are trained further: a model file, which may be that of boosted trees
    with a span model, or "en", the English one. Raises ConfigError for another kind of model or number of networks."""
    parser = open_parser(SPAN_MODEL) if str(source) == "en" else load_span_model(source)
    model = _check_kind(parser, source, "--start needs", (KIND,)).model
    if (found := len(model.networks)) != n_networks:
        count, seeds = f"{found} network{'s'[: found > 1]}", " ".join(map(str, range(found)))
        raise ConfigError(f"{source} has {count}; give as many seeds, not {n_networks}: --seeds {seeds}")
    return model


def _note_unknown_labels(start: SpanModel, sentences: Sequence[Sentence]) -> None:
    known = {label for chain in start.chains for label in chain}
    if missing := sorted({label for one in sentences for label in one.tree.labels} - known - {TOP}):
        logger.info(
            f"note: the model of --start does not have the labels {', '.join(missing)}, so it cannot learn them; a new "
            "network can, and so can boosted trees over the unchanged model (train-boosted --span-model)"
        )


@dataclass(frozen=True)
class SpanSources:
    """Input files of a training. `train`, `dev`: treebanks. `pretrain`: trees of a teacher; `teacher`: model file of a
    span parser whose marginals are mixed with them. `shards`: more training data, files of `python -m training teacher
    annotate`. `start`: see `load_start_model`. `vectors`: file of `python -m training teacher
    vectors` with the initial word vectors. `heads`: head rules of the constituents (see `data.heads.rules_for`).
    `clusters`: file of word clusters."""

    train: Sequence[TreebankFile]
    dev: Sequence[TreebankFile] = ()
    pretrain: Sequence[TreebankFile] = ()
    teacher: Path | None = None
    shards: Sequence[Path] = ()
    start: Path | None = None
    vectors: Path | None = None
    heads: HeadRules | None = None
    clusters: Path | None = None

    def load_start(self, n_networks: int) -> SpanModel | WordVectors | None:
        """Load the model with `n_networks` networks, or the word vectors, that the networks start from. Raises
        ConfigError for another number of networks, and for a model together with word vectors or clusters."""
        if self.start is None:
            return None if self.vectors is None else read_vectors(self.vectors)
        if self.vectors is not None:
            raise ConfigError(
                "--word-vectors initialise new networks, but --start continues trained ones; give only one"
            )
        if self.clusters is not None:
            raise ConfigError(STARTED_WITH_CLUSTERS)
        return load_start_model(self.start, n_networks)


def shape_of(packed: PackedNetwork) -> Shape:
    """The sizes of a network; those of one that started from a model are the model's."""
    layers, _, _, units = packed.arrays["recurrent"].shape
    return Shape(packed.arrays["table"].shape[1], units, layers, len(packed.arrays["bilinear"]))


@lock_dir("workdir")
def train_span_parser(
    sources: SpanSources,
    options: SpanOptions,
    metadata: dict[str, Any],
    out: Path,
    workdir: Path | None = None,
    workers: int = 2,
) -> float:
    """Train a span parser and write it to `out`; returns the seconds it took. `metadata`: entries for the model's meta.
    Raises TrainingDataError and ConfigError for unusable input."""
    began = time.perf_counter()
    train, shards = sources.train, sources.shards
    sentences, pretrain = (
        read_files(with_relation_files(files) if options.relation_weight > 0 else files)
        for files in (train, sources.pretrain)
    )
    teacher = (
        None
        if sources.teacher is None
        else _check_kind(load_parser(sources.teacher), sources.teacher, "--teacher needs")
    )
    if teacher and not pretrain:
        raise ConfigError("--teacher is mixed with the trees of --pretrain-trees, but there are none; give some")
    start, several = sources.load_start(len(options.seeds)), len(options.seeds) > 1
    start_meta = start.meta if isinstance(start, SpanModel) else {}
    if isinstance(start, SpanModel):
        _note_unknown_labels(start, sentences)
    with optional_pool(workers if several or teacher else 1) as pool:
        dev = read_files(sources.dev)
        clusters = load_clusters(sources.clusters)
        training_data = make_training_data(sentences, dev, options, pretrain, teacher, pool, shards, start, clusters)
        log_metrics(
            None,
            sentences=len(training_data.train),
            pretrain_sentences=len(training_data.pretrain),
            rows=training_data.words.size,
            chains=len(training_data.chains) - 1,
        )
        work = partial(_train_seed, training_data, options, workdir)
        packed = list(map_tasks(pool if several else None, work, options.seeds))
    names = {file.name for file in train}
    start_treebanks = [one for one in start_meta.get("treebanks", []) if one["name"] not in names]
    origin = training_origin(train, [one["name"] for one in start_treebanks])
    credits = [
        *origin["credits"],
        *metadata.get("credits", []),
        *text_credits([text_name(path) for path in shards]),
        *([] if sources.clusters is None else text_credits(listed_texts(sources.clusters), CLUSTERED)),
        *start_meta.get("credits", []),
    ]
    meta = {
        "version": __version__,
        **metadata,
        "treebanks": [
            {"name": file.name, "weight": file.weight, "tags": "gold" if file.tags is None else "predicted"}
            for file in train
        ]
        + start_treebanks,
        "license": origin["license"],
        "credits": list(dict.fromkeys(credits)),
        "sources": origin["sources"],
        "sentences": len(sentences),
        "taught_sentences": len(training_data.pretrain),
        "options": stored_options(replace(options, shape=shape_of(packed[0]))),
    }
    rules = sources.heads or rules_for(metadata.get("lang", "en"), [sentence.tree for sentence in sentences])
    if start_treebanks:
        meta["start"] = {**{key: start_meta.get(key) for key in ("name", "version")}, "treebanks": start_treebanks}
    if rules != head_rules(metadata.get("lang", "en")):
        meta["head_rules"] = rules.to_dict()
    write_atomically(out, SpanParser(make_model(training_data, packed, meta)).to_bytes())
    return time.perf_counter() - began
