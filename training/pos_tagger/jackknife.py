"""Tags for every training sentence from a tagger that has not seen it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from training.data.corpus import fold_numbers
from training.data.treebanks import write_tags
from training.pos_tagger.config import TaggingConfig
from training.pos_tagger.fit import fit, tag_sentences
from training.pos_tagger.treebanks import Treebank, accuracy, kept_runs, tag_set
from training.runs.files import append_line, write_atomically


def _fingerprint(treebanks: Sequence[Treebank], folds: int, config: TaggingConfig) -> str:
    digest = hashlib.sha256(f"{config.fingerprint()} {folds}".encode())
    for treebank in treebanks:
        digest.update(f"\n{treebank.name} {treebank.weight}\n".encode())
        for sentence in treebank.train:
            digest.update(" ".join(sentence.words + sentence.tags).encode())
    return digest.hexdigest()[:16]


def jackknife(
    treebanks: Sequence[Treebank], out: Path, folds: int, config: TaggingConfig, run: str = "pooled"
) -> dict[str, float]:
    """Write ``out/{treebank}.train.tags``; return the accuracy of the predicted tags per treebank.

    The taggers learn from the other folds of all ``treebanks`` together. A finished fold is kept in
    ``out/folds/{run}`` and not done again by a later call with the same settings and sentences.
    ``out/log.jsonl`` gets a line per fold and treebank.
    """
    names = [treebank.name for treebank in treebanks]
    if len(set(names)) != len(names):
        raise ValueError(f"treebank folders must have different names, seen: {names}")
    out.mkdir(parents=True, exist_ok=True)
    fingerprint = _fingerprint(treebanks, folds, config)
    numbers = [fold_numbers(len(treebank.train), folds) for treebank in treebanks]
    lines: dict[str, list[list[str]]] = {treebank.name: [[] for _ in treebank.train] for treebank in treebanks}
    for fold in range(folds):
        path = out / "folds" / run / f"fold_{fold:02d}.json"
        done: dict[str, Any] = json.loads(path.read_text(encoding="utf8")) if path.is_file() else {"fingerprint": None}
        if done["fingerprint"] != fingerprint:
            tags = _run_fold(treebanks, [of == fold for of in numbers], config, fold, run, out)
            done = {"fingerprint": fingerprint, "tags": tags}
            write_atomically(path, json.dumps(done).encode())
        for name, of in zip(names, numbers, strict=True):
            for index, line in zip(np.flatnonzero(of == fold).tolist(), done["tags"][name], strict=True):
                lines[name][index] = line.split()
    result = {}
    for treebank in treebanks:
        right, total = accuracy(treebank.train, lines[treebank.name])
        result[treebank.name] = right / max(1, total)
        write_tags(out / f"{treebank.name}.train.tags", lines[treebank.name])
    return result


def _run_fold(
    treebanks: Sequence[Treebank], held_out: Sequence[np.ndarray], config: TaggingConfig, fold: int, run: str, out: Path
) -> dict[str, list[str]]:
    """Lines of tags for the sentences of each treebank that are `held_out`, bool, by a tagger of the others."""
    parts = list(zip(treebanks, held_out, strict=True))
    groups = [treebank.train[part] for treebank, held in parts for part in kept_runs(~held) * treebank.weight]
    config = replace(config, fit=replace(config.fit, seed=config.fit.seed + fold))
    nlp, seconds = fit(config, groups, tag_set(treebanks), senter=False, name=f"{run} fold {fold}")
    result: dict[str, list[str]] = {}
    for treebank, held in parts:
        sentences = list(compress(treebank.train, held))
        predicted = tag_sentences(nlp, sentences)
        result[treebank.name] = list(map(" ".join, predicted))
        right, total = accuracy(sentences, predicted)
        append_line(out / "log.jsonl", {
            "what": "jackknife", "run": run, "fold": fold, "treebank": treebank.name, "sentences": len(sentences),
            "words": total, "accuracy": round(right / max(1, total), 5), "fit_seconds": round(seconds, 1),
            "config": config.fingerprint(),
        })  # fmt: skip
    return result
