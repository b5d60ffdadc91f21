"""Tags for every training sentence from a tagger that has not seen it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import spacy

from training.data.folds import fold_numbers
from training.data.treebanks import write_tags
from training.pos_tagger.config import JACKKNIFE, TaggingConfig
from training.pos_tagger.corpus import DocumentSampler, EncodedSentence, encode
from training.pos_tagger.fit import fit
from training.pos_tagger.lexicon import Lexicon
from training.pos_tagger.network import TaggerNetwork
from training.pos_tagger.treebanks import Treebank, accuracy, kept_runs, tag_set


@dataclass(frozen=True)
class FoldPlan:
    """One fold: per treebank, the indices of its held-out sentences and the runs to learn from."""

    held: dict[str, list[int]]
    runs: dict[str, list[slice]]


def plan_folds(treebanks: Sequence[Treebank], folds: int) -> list[FoldPlan]:
    """Each sentence of each treebank is held out in exactly one fold and learned from in all others."""
    numbers = {treebank.name: fold_numbers(len(treebank.train), folds) for treebank in treebanks}
    return [
        FoldPlan(
            {name: np.flatnonzero(of == fold).tolist() for name, of in numbers.items()},
            {name: kept_runs(of != fold) for name, of in numbers.items()},
        )
        for fold in range(folds)
    ]


def _fingerprint(treebanks: Sequence[Treebank], folds: int, config: TaggingConfig) -> str:
    digest = hashlib.sha256(f"{config.fingerprint()} {folds}".encode())
    for treebank in treebanks:
        digest.update(f"\n{treebank.name} {treebank.weight}\n".encode())
        for sentence in treebank.train:
            digest.update(" ".join(sentence.words + sentence.tags).encode())
    return digest.hexdigest()[:16]


def _load_fold(path: Path, fingerprint: str) -> dict[str, list[str]] | None:
    """The tag lines of a finished fold, or None when there is none for these settings and sentences."""
    if not path.is_file():
        return None
    stored = json.loads(path.read_text(encoding="utf8"))
    return stored["tags"] if stored["fingerprint"] == fingerprint else None


def jackknife(
    treebanks: Sequence[Treebank],
    out: Path,
    folds: int = 10,
    config: TaggingConfig | None = None,
    run: str = "pooled",
) -> dict[str, float]:
    """Write ``out/{treebank}.train.tags``; return the accuracy of the predicted tags per treebank.

    The taggers learn from the other folds of all ``treebanks`` together. A finished fold is kept in
    ``out/folds/{run}`` and not done again by a later call with the same settings and sentences.
    ``out/log.jsonl`` gets a line per fold and treebank.
    """
    config = config or JACKKNIFE
    names = [treebank.name for treebank in treebanks]
    if len(set(names)) != len(names):
        raise ValueError(f"treebank folders must have different names, seen: {names}")
    fingerprint = _fingerprint(treebanks, folds, config)
    tags = tag_set(treebanks)
    lines: dict[str, list[list[str]]] = {
        treebank.name: [[] for _ in treebank.train] for treebank in treebanks
    }
    encoded: dict[str, list[EncodedSentence]] | None = None
    lexicon = Lexicon(spacy.blank("en"))
    for fold, plan in enumerate(plan_folds(treebanks, folds)):
        path = out / "folds" / run / f"fold_{fold:02d}.json"
        done = _load_fold(path, fingerprint)
        if done is None:
            if encoded is None:
                tag_numbers = {tag: number for number, tag in enumerate(tags)}
                encoded = {tb.name: [encode(s, lexicon, tag_numbers) for s in tb.train] for tb in treebanks}
            done = _run_fold(treebanks, encoded, lexicon, tags, plan, config, fold, run, out)
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps({"fingerprint": fingerprint, "tags": done}), encoding="utf8")
            os.replace(partial, path)
        for name, held in plan.held.items():
            for index, line in zip(held, done[name], strict=True):
                lines[name][index] = line.split()
    result = {}
    for treebank in treebanks:
        right, total = accuracy(treebank.train, lines[treebank.name])
        result[treebank.name] = right / max(1, total)
        write_tags(out / f"{treebank.name}.train.tags", lines[treebank.name])
    return result


def _run_fold(
    treebanks: Sequence[Treebank],
    encoded: dict[str, list[EncodedSentence]],
    lexicon: Lexicon,
    tags: list[str],
    plan: FoldPlan,
    config: TaggingConfig,
    fold: int,
    run: str,
    out: Path,
) -> dict[str, list[str]]:
    fit_config = replace(config.fit, seed=config.fit.seed + fold)
    groups = [
        encoded[treebank.name][run]
        for treebank in treebanks
        for run in plan.runs[treebank.name] * treebank.weight
    ]
    tag_numbers = {tag: number for number, tag in enumerate(tags)}
    network = TaggerNetwork(config.network, tags, senter=False, seed=fit_config.seed)
    sampler = DocumentSampler(groups, config.augment, fit_config, lexicon, tag_numbers)
    seconds = fit(network, sampler, lexicon, fit_config, f"{run} fold {fold}")
    table = lexicon.table()
    result: dict[str, list[str]] = {}
    for treebank in treebanks:
        held = plan.held[treebank.name]
        (classes,) = network.predict([table[encoded[treebank.name][index].words[0]] for index in held])
        predicted = [[tags[number] for number in row] for row in classes]
        result[treebank.name] = [" ".join(row) for row in predicted]
        right, total = accuracy([treebank.train[index] for index in held], predicted)
        log(
            out,
            {
                "what": "jackknife",
                "run": run,
                "fold": fold,
                "treebank": treebank.name,
                "sentences": len(held),
                "words": total,
                "accuracy": round(right / max(1, total), 5),
                "fit_seconds": round(seconds, 1),
                "config": config.fingerprint(),
            },
        )
    return result


def log(out: Path, entry: dict[str, object]) -> None:
    """Append one line to ``out/log.jsonl``."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / "log.jsonl").open("a", encoding="utf8") as stream:
        stream.write(json.dumps(entry) + "\n")
