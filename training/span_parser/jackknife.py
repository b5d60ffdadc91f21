"""Jackknifed span marginals: marginals of each training sentence by a network that was not trained on it.

Boosted trees that use a network's marginals as features must be trained on marginals like those at parsing time. A
network is more confident, and more often right, on its own training sentences; so each fold of the treebanks gets a
network that is trained on the other folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from spacy_dtparse.core import load_parser
from spacy_dtparse.core.marginals import SpanMarginals
from spacy_dtparse.core.pieces import iter_batches
from spacy_dtparse.core.registry import SPAN_MODEL_KINDS
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.span_parser.model import SpanModel
from spacy_dtparse.span_parser.parser import SpanParser

from ..data.clusters import STARTED_WITH_CLUSTERS, load_clusters
from ..data.corpus import Sentence, long_block_folds
from ..data.marginals import read_marginals, save_marginals
from ..data.relations import with_relation_files
from ..data.treebanks import TreebankFile, blocks
from ..runs.files import file_digest
from ..runs.lock import lock_dir
from ..runs.metrics_log import log_metrics
from ..runs.processes import map_tasks, optional_pool
from ..runs.resuming import claim_json
from .fitting import SpanOptions, make_model, make_training_data, stored_options, train_network
from .running import load_start_model


@dataclass(frozen=True)
class Fold:
    """The task of one process: the treebanks' sentences, the index of the fold to leave out, the number of folds, the
    options, and the folder for results. `start`: the model whose networks are trained further; None: train new ones.
    `clusters`: file of word clusters."""

    sentences: tuple[tuple[Sentence, ...], ...]
    index: int
    folds: int
    options: SpanOptions
    workdir: Path
    start: SpanModel | None = None
    clusters: Path | None = None


def folds_of_files(sentences: Sequence[Sequence[Sentence]], folds: int) -> list[list[int]]:
    """The fold index of each sentence of each treebank."""
    return [long_block_folds(len(part), folds).tolist() for part in sentences]


def train_fold(fold: Fold) -> int:
    """Train the networks of a fold and write their marginals of the sentences left out, unless the file exists.
    Returns the number of these sentences."""
    done = fold.workdir / f"fold{fold.index}.npz"
    folds = folds_of_files(fold.sentences, fold.folds)
    pairs = [s for part, indices in zip(fold.sentences, folds, strict=True) for s in zip(part, indices, strict=True)]
    held_out = [sentence for sentence, index in pairs if index == fold.index]
    if done.is_file():
        return len(held_out)
    folder = fold.workdir / f"fold{fold.index}"
    log_fold = partial(log_metrics, folder / "log.jsonl", fold=fold.index)
    clusters = load_clusters(fold.clusters)
    full = make_training_data([s for s, _ in pairs], (), fold.options, start=fold.start, clusters=clusters)
    short = [index for sentence, index in pairs if len(sentence.tags) <= fold.options.max_words]
    training_examples = (example for example, index in zip(full.train, short, strict=True) if index != fold.index)
    training_data = replace(
        full, train=tuple(training_examples)
    )  # vocabularies of all sentences, like the span model's
    packed = [train_network(training_data, fold.options, seed, folder, log_fold) for seed in fold.options.seeds]
    parser = SpanParser(make_model(training_data, packed, {}))
    marginals = parser.marginals([(s.tree.words, s.tags) for s in held_out])
    save_marginals(done, parser.chain_names, [len(s.tags) for s in held_out], marginals)
    return len(held_out)


@lock_dir("workdir")
def jackknifed_marginals(
    files: Sequence[TreebankFile],
    folds: int,
    options: SpanOptions,
    workdir: Path,
    out: Path,
    start: Path | None = None,
    workers: int = 2,
    clusters: Path | None = None,
) -> list[Path]:
    """Write `out`/NAME.train.marginals.npz for each treebank; returns the files. A killed run is resumed.

    `folds`: number of folds; each network is trained without the sentences that it then parses. A fold consists of
    blocks of neighbouring sentences of every treebank. `start`: a model (see `load_start_model`) that was not trained
    on the treebanks, with the label chains of the span model that the boosted trees will use. Without it, new networks
    are trained; the span model must then be one that was trained on all these treebanks with the same options and word
    `clusters` (a file). Raises ConfigError for two treebanks of the same name, for fewer than two folds, and for
    clusters together with a model to start from; TrainingDataError as training does.
    """
    names = [file.name for file in files]
    if len(set(names)) < len(names):
        raise ConfigError(f"treebanks are named {', '.join(names)}; give each a folder with a different name")
    if folds < 2:
        raise ConfigError(f"--folds is {folds}; jackknifing takes 2 or more")
    sources = with_relation_files(files) if options.relation_weight > 0 else files
    sentences = tuple(tuple(file.read()) for file in sources)
    if start is not None and clusters is not None:
        raise ConfigError(STARTED_WITH_CLUSTERS)
    model = None if start is None else load_start_model(start, len(options.seeds))
    conditions: dict[str, Any] = {
        "folds": folds,
        "options": stored_options(options),
        "start": None if model is None else model.fingerprint(),
        "sentences": {name: len(part) for name, part in zip(names, sentences, strict=True)},
        **({} if clusters is None else {"clusters": file_digest(clusters)}),
    }
    claim_json(workdir / "facts.json", conditions)
    tasks = [Fold(sentences, index, folds, options, workdir, model, clusters) for index in range(folds)]
    with optional_pool(workers) as pool:
        for index, n_sentences in enumerate(map_tasks(pool, train_fold, tasks)):
            log_metrics(None, fold=index, sentences=n_sentences)
    return _write_by_treebank(names, sentences, folds, workdir, out)


def marginals_by_blocks(models: Sequence[Path], files: Sequence[TreebankFile], out: Path) -> list[Path]:
    """Write `out`/NAME.train.marginals.npz for each treebank, by N span parsers that were trained elsewhere: the K-th
    parses the K-th block of N (`data.treebanks.blocks`), so it should be trained without it, on "block=-K/N". Returns
    the files. Raises ConfigError for a model of another kind, and for two with different label chains."""
    parsers: list[SpanParser] = []
    for path in models:
        parser = load_parser(path)
        if not isinstance(parser, SpanParser):
            raise ConfigError(f"{path} is a model of kind {parser.name!r}; give {' or '.join(SPAN_MODEL_KINDS)}")
        if parsers and parser.chain_names != parsers[0].chain_names:
            raise ConfigError(f"{path} has other label chains than {models[0]}; train them with the same trees' labels")
        parsers.append(parser)
    paths = []
    for file in files:
        sentences, found = file.read(), dict[int, SpanMarginals]()
        lengths = [len(sentence.tags) for sentence in sentences]
        for k, parser in enumerate(parsers, 1):
            indices = blocks(range(len(sentences)), f"{k}/{len(parsers)}", str(file.path))
            for part in iter_batches(indices, lengths.__getitem__):
                tagged = [(sentences[index].tree.words, sentences[index].tags) for index in part]
                found.update(zip(part, parser.marginals(tagged), strict=True))
        path = out / f"{file.name}.train.marginals.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        marginals = [found[index] for index in range(len(sentences))]
        save_marginals(path, parsers[0].chain_names, lengths, marginals)
        paths.append(path)
    return paths


def _write_by_treebank(
    names: Sequence[str], sentences: Sequence[Sequence[Sentence]], folds: int, workdir: Path, out: Path
) -> list[Path]:
    """Sort the marginals of all folds into one file per treebank."""
    saved = [read_marginals(workdir / f"fold{fold}.npz") for fold in range(folds)]
    chains = saved[0][0]
    if any(one[0] != chains for one in saved):
        raise ConfigError("the networks of the folds have different label chains; give a model to start from (--start)")
    rows = [iter(one[2]) for one in saved]
    paths = []
    for name, part, fold_indices in zip(names, sentences, folds_of_files(sentences, folds), strict=True):
        found: list[SpanMarginals] = [next(rows[fold]) for fold in fold_indices]
        path = out / f"{name}.train.marginals.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        save_marginals(path, chains, [len(s.tags) for s in part], found)
        paths.append(path)
    return paths
