"""The two runs: the final tagger (and senter) as a spaCy pipeline on disk, with its scores; and tags for every training
sentence from a tagger that has not seen it."""

import hashlib
import json
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.language import Language

from training.data.corpus import fold_numbers
from training.data.evaluate import tag_lists
from training.data.tokens import add_tokens
from training.data.treebanks import write_tags
from training.pos_tagger.config import AugmentConfig, TaggingConfig
from training.pos_tagger.documents import SPACE_TAG, DocumentSampler, WordSplitter
from training.pos_tagger.fit import fit
from training.pos_tagger.treebanks import Treebank, accuracy, kept_runs, tag_set
from training.runs.files import append_line, write_atomically

PLAIN = AugmentConfig(tokenizer_norms=0, curly=0, lower=0, title=0, upper=0)
_ENDINGS = "com|org|net|edu|gov|mil|info|biz|io|tv|eu|uk|de|fr|es|nl|se|ch|at|ca|au|nz|jp|cn|ru|br|pl|dk|no|fi"
_EMOJI = "\U0001f000-\U0001faff\u2600-\u2605\u2615\u2639-\u263b\u2661\u2665\u26a1\u2728\u2764\u2b50\u200d\ufe0f"
FORMS = {
    "ADD": (
        r"^(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww][Ww][Ww]\.)\S+$",
        rf"^[A-Za-z0-9-]{{2,}}(?:\.[A-Za-z0-9-]+)*\.(?:{_ENDINGS})(?:[/:?]\S*)?$",
        r"^[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$",
        r"^@\w{2,}$",
    ),
    "NFP": (rf"^[{_EMOJI}]+$",),
    ":": (r"^\u2026+$",),
}
"""Regular expressions of whole tokens whose form alone decides their tag: addresses (ADD) and emoji (NFP), as in the
English Web Treebank, of which no tagger learns from a few hundred examples that are all different; the ellipsis."""


def add_forms(nlp: Language, tags: Collection[str]) -> None:
    """Add spaCy's `attribute_ruler` after the tagger, with FORMS for those of the tags that there are."""
    known = [tag for tag in FORMS if tag in tags]
    ruler: Any = nlp.add_pipe("attribute_ruler", after="tagger") if known else None
    for tag in known:
        ruler.add([[{"TEXT": {"REGEX": form}}] for form in FORMS[tag]], {"TAG": tag})


def train_final(
    treebanks: Sequence[Treebank],
    model: Path,
    out: Path,
    config: TaggingConfig,
    senter: bool = True,
    split_evidence: Sequence[str] = (),
    start: Path | None = None,
) -> dict[str, float]:
    """Train on all training sentences, save the pipeline to ``model`` and tag the dev parts with it.
    ``split_evidence``: names of the treebanks that split hyphenated words; they decide the tags of parts when
    ``augment.split_hyphens`` is on. ``start``: a pipeline to go on from, of the same tags and shape. Writes
    ``out/{treebank}.dev.tags`` (made by the pipeline as loaded from disk, one Doc per tree) and a line in
    ``out/log.jsonl``; returns the scores (accuracies and F1 as fractions), which also stand in the pipeline's meta."""
    model.mkdir(parents=True, exist_ok=True)  # fails now rather than after the fit
    out.mkdir(parents=True, exist_ok=True)
    tags, splitter = set(tag_set(treebanks)), None
    if config.augment.inserts_space:
        tags.add(SPACE_TAG)
    if config.augment.split_hyphens:
        tags.add("HYPH")
        evidence = [treebank for treebank in treebanks if treebank.name in split_evidence] or treebanks
        nlp = spacy.blank("en")
        add_tokens(nlp)
        splitter = WordSplitter(nlp.tokenizer, (sentence for treebank in evidence for sentence in treebank.train))
    groups = [treebank.train for treebank in treebanks for _ in range(treebank.weight)]
    other = None if start is None else spacy.load(start)
    pipeline, seconds = fit(config, groups, sorted(tags), senter, model.name, splitter, other)
    add_forms(pipeline, tags)
    pipeline.to_disk(model)
    scores, speed = _score(spacy.load(model), treebanks, config, senter, out)
    pipeline.meta["performance"] = scores
    pipeline.to_disk(model)
    append_line(out / "log.jsonl", {
        "what": "train", "model": model.name, **scores, "fit_seconds": round(seconds, 1), "dev_words_per_second": speed,
        "bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
        "config": config.fingerprint(),
    })  # fmt: skip
    return scores


def _score(
    nlp: Language, treebanks: Sequence[Treebank], config: TaggingConfig, senter: bool, out: Path
) -> tuple[dict[str, float], int | None]:
    """Accuracy and sentence F1 on the dev parts, whose tags are written; words tagged per second. Sentence F1 is that
    of dev documents of 1 to 8 sentences: `plain` as written, `varied` as in training."""
    scores: dict[str, float] = {}
    right, total, used = 0, 0, 0.0
    for treebank in (treebank for treebank in treebanks if treebank.dev):
        for name, augment in (("plain", PLAIN), ("varied", config.augment)) if senter else ():
            documents = DocumentSampler([treebank.dev], augment, config.fit, nlp).one_pass()
            scores[f"sents_f_{name}_{treebank.name}"] = round(nlp.evaluate(documents)["sents_f"], 5)
        started = time.perf_counter()
        predicted = tag_lists(nlp, [sentence.words for sentence in treebank.dev])
        used += time.perf_counter() - started
        write_tags(out / f"{treebank.name}.dev.tags", predicted)
        good, words = accuracy(treebank.dev, predicted)
        scores[f"tag_acc_{treebank.name}"] = round(good / max(1, words), 5)
        right, total = right + good, total + words
    scores["tag_acc"] = round(right / max(1, total), 5)
    return scores, round(total / used) if used else None


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
    """Write ``out/{treebank}.train.tags``; return the accuracy of the predicted tags per treebank. The taggers learn
    from the other folds of all ``treebanks`` together. A finished fold is kept in ``out/folds/{run}`` and not done
    again by a later call with the same settings and sentences. ``out/log.jsonl`` gets a line per fold and treebank."""
    numbers = {treebank.name: fold_numbers(len(treebank.train), folds) for treebank in treebanks}
    if len(numbers) < len(treebanks):
        seen = [treebank.name for treebank in treebanks]
        raise ValueError(f"treebank folders must have different names, seen: {seen}")
    out.mkdir(parents=True, exist_ok=True)
    fingerprint = _fingerprint(treebanks, folds, config)
    lines = {name: np.empty(len(of), object) for name, of in numbers.items()}
    for fold in range(folds):
        path = out / "folds" / run / f"fold_{fold:02d}.json"
        done: dict[str, Any] = json.loads(path.read_text(encoding="utf8")) if path.is_file() else {"fingerprint": None}
        if done["fingerprint"] != fingerprint:
            tags = _run_fold(treebanks, [of == fold for of in numbers.values()], config, fold, run, out)
            done = {"fingerprint": fingerprint, "tags": tags}
            write_atomically(path, json.dumps(done).encode())
        for name, of in numbers.items():
            lines[name][of == fold] = done["tags"][name]
    result = {}
    for treebank in treebanks:
        rows = [line.split() for line in lines[treebank.name]]
        right, total = accuracy(treebank.train, rows)
        result[treebank.name] = right / max(1, total)
        write_tags(out / f"{treebank.name}.train.tags", rows)
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
        predicted = tag_lists(nlp, [sentence.words for sentence in sentences])
        result[treebank.name] = list(map(" ".join, predicted))
        right, total = accuracy(sentences, predicted)
        append_line(out / "log.jsonl", {
            "what": "jackknife", "run": run, "fold": fold, "treebank": treebank.name, "sentences": len(sentences),
            "words": total, "accuracy": round(right / max(1, total), 5), "fit_seconds": round(seconds, 1),
            "config": config.fingerprint(),
        })  # fmt: skip
    return result
