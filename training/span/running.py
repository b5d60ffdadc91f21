"""Train a span parser from files to a model file, in several processes."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from spacy_dtparse import __version__
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.model.span.model import PackedNetwork
from spacy_dtparse.parsers import load_parser
from spacy_dtparse.parsers.span import SpanParser
from spacy_dtparse.stored_names import to_stored
from spacy_dtparse.trees import HeadRules, head_rules

from ..data.heads import rules_for
from ..data.shards import text_of
from ..data.treebanks import TreebankFile, origin_of, read_files, text_credits
from ..data.word_vectors import read_vectors
from ..runs.alone import alone_in
from ..runs.files import write_atomically
from ..runs.processes import worker_pool
from ..runs.settings import changed_fields
from ..runs.telling import tell
from .fitting import Material, SpanOptions, make_material, make_model, train_network


def parse_settings(settings: Sequence[str], seeds: tuple[int, ...] = (0, 1)) -> SpanOptions:
    """Parse NAME=VALUE settings into SpanOptions; names of parts have the prefix `shape.` or `dropout.`.

    Raises ConfigError for an unknown name or a value of another type.
    """
    return changed_fields(SpanOptions(seeds=seeds), settings, but=("seeds",))


def _one(material: Material, options: SpanOptions, workdir: Path | None, seed: int) -> PackedNetwork:
    log_file = None if workdir is None else workdir / f"network{seed}.jsonl"
    return train_network(material, options, seed, workdir, partial(tell, log_file))


def _span_parser(path: Path, user: str) -> SpanParser:
    parser = load_parser(path)
    if not isinstance(parser, SpanParser):
        raise ConfigError(f"{path} is a model of kind {parser.name!r}; {user} a model of kind 'span'")
    return parser


@alone_in("workdir")
def fit_span(
    train: Sequence[TreebankFile],
    dev: Sequence[TreebankFile],
    more: Sequence[TreebankFile],
    options: SpanOptions,
    facts: dict[str, Any],
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

    `more`: trees of a teacher; `teacher`: model file of a span parser whose marginals are mixed with them. `shards`:
    more training data, files of `python -m training teacher annotate`. `start`: model file whose networks are trained
    further. `vectors`: file of `python -m training teacher vectors` with the initial word vectors. `facts`: entries for
    the model's meta. `heads`: head rules of the constituents (see `data.heads.rules_for`). Raises TrainingDataError and
    ConfigError for unusable input.
    """
    began = time.perf_counter()
    sentences, taught = read_files(train), read_files(more)
    believer = None if teacher is None else _span_parser(teacher, "--teacher needs")
    if believer and not taught:
        raise ConfigError("--teacher is mixed with the trees of --pretrain-trees, but there are none; give some")
    begun = None if start is None else _span_parser(start, "--start needs").model
    if begun and len(begun.networks) != len(options.seeds):
        raise ConfigError(f"{start} has {len(begun.networks)} networks; give as many seeds, not {len(options.seeds)}")
    several = len(options.seeds) > 1
    held = None if vectors is None else read_vectors(vectors)
    if held is not None and begun is not None:
        raise ConfigError("--word-vectors initialise new networks, but --start continues trained ones; give only one")
    with worker_pool(workers) if workers > 1 and (several or believer) else nullcontext() as pool:
        material = make_material(sentences, read_files(dev), options, taught, believer, pool, shards, begun, held)
        tell(
            None, sentences=len(material.train), taught=len(material.more), rows=material.words.size,
            chains=len(material.chains) - 1,
        )  # fmt: skip
        work = partial(_one, material, options, workdir)
        packed = list(pool.map(work, options.seeds) if pool and several else map(work, options.seeds))
    origin = origin_of(train)
    meta = {
        "version": __version__,
        **facts,
        "treebanks": [
            {"name": file.name, "weight": file.weight, "tags": "gold" if file.tags is None else "predicted"}
            for file in train
        ],
        "license": origin["license"],
        "credits": [*origin["credits"], *facts.get("credits", []), *text_credits([text_of(path) for path in shards])],
        "sources": origin["sources"],
        "sentences": len(sentences),
        "taught_sentences": len(material.more),
        "options": to_stored(options),
    }
    rules = heads or rules_for(facts.get("lang", "en"), [sentence.tree for sentence in sentences])
    if rules != head_rules(facts.get("lang", "en")):
        meta["head_rules"] = rules.to_dict()
    write_atomically(out, SpanParser(make_model(material, packed, meta)).to_bytes())
    return time.perf_counter() - began
