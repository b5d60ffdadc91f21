"""Jackknifed span marginals: marginals of each training sentence by a network that was not trained on it.

Boosted trees that use a network's marginals as features must be trained on marginals like those at parsing time. A
network is more confident, and more often right, on its own training sentences; so each fold of the treebanks gets a
network that is trained on the other folds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import ConfigError
from spacy_dtparse.features.trees.beliefs import Beliefs
from spacy_dtparse.model.span.model import SpanModel
from spacy_dtparse.parsers.span import SpanParser
from spacy_dtparse.stored_names import to_stored

from ..data.beliefs import read_beliefs, save_beliefs
from ..data.corpus import Sentence, fold_numbers
from ..data.treebanks import TreebankFile
from ..runs.alone import alone_in
from ..runs.files import file_digest
from ..runs.processes import worker_pool
from ..runs.resuming import own_json
from ..runs.telling import tell
from .fitting import SpanOptions, make_material, make_model, train_network


@dataclass(frozen=True)
class Fold:
    """The task of one process: the treebanks' sentences, the index of the fold to leave out, the number of folds, the
    options, and the folder for results. `start`: the model whose networks are trained further; None: train new ones."""

    sentences: tuple[tuple[Sentence, ...], ...]
    number: int
    folds: int
    options: SpanOptions
    workdir: Path
    start: SpanModel | None = None


def folds_of_files(sentences: Sequence[Sequence[Sentence]], folds: int) -> list[list[int]]:
    """The fold index of each sentence of each treebank."""
    return [fold_numbers(len(part), folds).tolist() for part in sentences]


def run_fold(fold: Fold) -> int:
    """Train the networks of a fold and write their marginals of the sentences left out, unless the file exists.
    Returns the number of these sentences."""
    done = fold.workdir / f"fold{fold.number}.npz"
    places = folds_of_files(fold.sentences, fold.folds)
    every = [s for part, numbers in zip(fold.sentences, places, strict=True) for s in zip(part, numbers, strict=True)]
    out = [sentence for sentence, number in every if number == fold.number]
    if done.is_file():
        return len(out)
    folder = fold.workdir / f"fold{fold.number}"
    log = partial(tell, folder / "log.jsonl", fold=fold.number)
    whole = make_material([sentence for sentence, _ in every], (), fold.options, start=fold.start)
    short = [number for sentence, number in every if len(sentence.tags) <= fold.options.max_words]
    learned = (example for example, number in zip(whole.train, short, strict=True) if number != fold.number)
    material = replace(whole, train=tuple(learned))  # vocabularies of all sentences, like the span model's
    packed = [train_network(material, fold.options, seed, folder, log) for seed in fold.options.seeds]
    parser = SpanParser(make_model(material, packed, {}))
    beliefs = parser.beliefs([(s.tree.words, s.tags) for s in out])
    save_beliefs(done, parser.chain_names, [len(s.tags) for s in out], beliefs)
    return len(out)


@alone_in("workdir")
def jackknifed_beliefs(
    files: Sequence[TreebankFile], folds: int, options: SpanOptions, workdir: Path, out: Path,
    start: Path | None = None, workers: int = 2,
) -> list[Path]:  # fmt: skip
    """Write `out`/NAME.train.beliefs.npz for each treebank; returns the files. A killed run is resumed.

    `folds`: number of folds; each network is trained without the sentences that it then parses. A fold consists of
    blocks of neighbouring sentences of every treebank. `start`: a model file of a span parser that was not trained on
    the treebanks, with the label chains of the span model that the boosted trees will use. Without it, new networks
    are trained; the span model must then be one that was trained on all these treebanks with the same options. Raises
    ConfigError for two treebanks of the same name or fewer than two folds, TrainingDataError as training does.
    """
    names = [file.name for file in files]
    if len(set(names)) < len(names):
        raise ConfigError(f"treebanks are named {', '.join(names)}; give each a folder with a different name")
    if folds < 2:
        raise ConfigError(f"--folds is {folds}; jackknifing takes 2 or more")
    sentences = tuple(tuple(file.read()) for file in files)
    model = None if start is None else SpanParser.from_disk(start).model
    if model is not None and len(model.networks) != len(options.seeds):
        raise ConfigError(f"{start} has {len(model.networks)} networks; give as many seeds, not {len(options.seeds)}")
    facts: dict[str, Any] = {
        "folds": folds,
        "options": to_stored(options),
        "start": None if start is None else file_digest(start),
        "sentences": {name: len(part) for name, part in zip(names, sentences, strict=True)},
    }
    own_json(workdir / "facts.json", json.loads(json.dumps(facts)))
    tasks = [Fold(sentences, number, folds, options, workdir, model) for number in range(folds)]
    with worker_pool(workers) if workers > 1 else nullcontext() as pool:
        for number, read in enumerate(pool.map(run_fold, tasks) if pool else map(run_fold, tasks)):
            tell(None, fold=number, sentences=read)
    return _gathered(names, sentences, folds, workdir, out)


def _gathered(
    names: Sequence[str], sentences: Sequence[Sequence[Sentence]], folds: int, workdir: Path, out: Path
) -> list[Path]:
    """Sort the marginals of all folds into one file per treebank."""
    read = [read_beliefs(workdir / f"fold{number}.npz") for number in range(folds)]
    chains = read[0][0]
    if any(one[0] != chains for one in read):
        raise ConfigError("the networks of the folds have different label chains; give a model to start from (--start)")
    rows = [iter(one[2]) for one in read]
    written = []
    for name, part, numbers in zip(names, sentences, folds_of_files(sentences, folds), strict=True):
        found: list[Beliefs] = [next(rows[number]) for number in numbers]
        path = out / f"{name}.train.beliefs.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        save_beliefs(path, chains, [len(s.tags) for s in part], found)
        written.append(path)
    return written
