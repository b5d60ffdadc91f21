"""Tags for every training sentence from a tagger that has not seen it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from training.data.folds import fold_numbers
from training.data.treebanks import write_tags
from training.pos_tagger.config import JACKKNIFE, TaggingConfig
from training.pos_tagger.fit import fit, tag_sentences
from training.pos_tagger.treebanks import Treebank, accuracy, kept_runs, tag_set
from training.runs.files import append_line, write_atomically


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
    treebanks: Sequence[Treebank], out: Path, folds: int = 10, config: TaggingConfig | None = None, run: str = "pooled"
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
    out.mkdir(parents=True, exist_ok=True)
    fingerprint = _fingerprint(treebanks, folds, config)
    lines: dict[str, list[list[str]]] = {treebank.name: [[] for _ in treebank.train] for treebank in treebanks}
    for fold, plan in enumerate(plan_folds(treebanks, folds)):
        path = out / "folds" / run / f"fold_{fold:02d}.json"
        done = _load_fold(path, fingerprint)
        if done is None:
            done = _run_fold(treebanks, plan, config, fold, run, out)
            write_atomically(path, json.dumps({"fingerprint": fingerprint, "tags": done}).encode())
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
    treebanks: Sequence[Treebank], plan: FoldPlan, config: TaggingConfig, fold: int, run: str, out: Path
) -> dict[str, list[str]]:
    groups = [treebank.train[run] for treebank in treebanks for run in plan.runs[treebank.name] * treebank.weight]
    config = replace(config, fit=replace(config.fit, seed=config.fit.seed + fold))
    nlp, seconds = fit(config, groups, tag_set(treebanks), senter=False, name=f"{run} fold {fold}")
    result: dict[str, list[str]] = {}
    for treebank in treebanks:
        held = [treebank.train[index] for index in plan.held[treebank.name]]
        predicted = tag_sentences(nlp, held)
        result[treebank.name] = [" ".join(row) for row in predicted]
        right, total = accuracy(held, predicted)
        append_line(
            out / "log.jsonl",
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
