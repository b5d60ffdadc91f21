"""spaCy's transition parser on the treebanks of bench_dependency.py: training with `spacy train`, and evaluation."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import spacy
from common import ROOT  # noqa: F401 (makes `training` importable)
from spacy.cli.init_config import init_config
from spacy.tokens import Doc, DocBin

from spacy_dtparse.scoring.attachment import AttachmentReport
from training.data.dependencies import DependencySentence

FINISHED = "Saved pipeline"
"""Last message of spaCy's training."""
FIRST_MESSAGE = "spacy train begins"
"""First message of each run in the log."""


def figures(report: AttachmentReport) -> dict[str, float]:
    """Return the scores of a report in per cent."""
    found = report.to_dict()
    everything, words = found["all"], found["without_punctuation"]
    rates = {
        "uas": everything["uas"],
        "las": everything["las"],
        "complete": everything["complete"],
        "uas_words": words["uas"],
        "las_words": words["las"],
        "complete_words": words["complete"],
        "root": found["root_accuracy"],
    }
    return {name: round(100 * value, 2) for name, value in rates.items()}


def write_docs(sentences: Sequence[DependencySentence], lang: str, path: Path) -> None:
    """Write a .spacy file of words, heads and labels, one Doc per sentence."""
    vocab = spacy.blank(lang).vocab
    docs = DocBin()
    for sentence in sentences:
        heads = [head - 1 if head else place for place, head in enumerate(sentence.heads)]
        deps = [label if head else "ROOT" for label, head in zip(sentence.labels, sentence.heads, strict=True)]
        starts = [place == 0 for place in range(len(heads))]
        docs.add(Doc(vocab, words=list(sentence.columns.words), heads=heads, deps=deps, sent_starts=starts))
    docs.to_disk(path)


def score_of(pipeline: Path) -> float:
    """Return the score by which `spacy train` chooses its best pipeline."""
    performance = json.loads((pipeline / "meta.json").read_text(encoding="utf8"))["performance"]
    return 0.5 * performance["dep_uas"] + 0.5 * performance["dep_las"]


def set_aside(unfinished: Path, cut: Path) -> None:
    """Move the output of an interrupted run from `unfinished` to `cut`, with the best pipeline of all such runs."""
    if not (unfinished / "model-last").is_dir():
        return
    best, earlier = unfinished / "model-best", cut / "model-best"
    if earlier.is_dir():
        if score_of(earlier) > score_of(best):
            shutil.rmtree(best)
            earlier.rename(best)
        shutil.rmtree(cut)
    unfinished.rename(cut)


def train_spacy(
    lang: str,
    train: Sequence[DependencySentence],
    dev: Sequence[DependencySentence],
    work: Path,
    changes: Sequence[str] = (),
) -> None:
    """Train tok2vec and parser with spaCy's default CPU config (`spacy init config --optimize efficiency`), stopped by
    its default rule, into work/LANG/model-best, unless that exists. spaCy's output goes to work/LANG.log, each line
    after its time. `changes`: more arguments of `spacy train`, such as "--training.max_steps=9".

    After an interrupted run, the next one continues from its last pipeline, with a new optimizer (spaCy saves none) and
    with batches of the size reached; the result is the best pipeline of all the runs.
    """
    best, log, cut = work / lang / "model-best", work / f"{lang}.log", work / f"{lang}.cut"
    if best.is_dir():
        print(f"{lang}: {best} exists", flush=True)
        return
    work.mkdir(parents=True, exist_ok=True)
    for part, sentences in (("train", train), ("dev", dev)):
        write_docs(sentences, lang, work / f"{lang}.{part}.spacy")
    path, unfinished = work / f"{lang}.cfg", work / f"{lang}.part"
    config = init_config(lang=lang, pipeline=["parser"], optimize="efficiency", gpu=False)
    set_aside(unfinished, cut)
    if cut.is_dir():
        config["components"] = {name: {"source": str(cut / "model-last")} for name in ("tok2vec", "parser")}
        config["training"]["batcher"]["size"] = config["training"]["batcher"]["size"]["stop"]
    config.to_disk(path)
    command = [
        sys.executable,
        "-m",
        "spacy",
        "train",
        str(path),
        "--output",
        str(unfinished),
        *changes,
        *(f"--paths.{part}={work / f'{lang}.{part}.spacy'}" for part in ("train", "dev")),
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "ANSI_COLORS_DISABLED": "1"}
    with (
        log.open("a" if cut.is_dir() else "w", encoding="utf8") as file,
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf8"
        ) as running,
    ):
        file.write(f"{datetime.now().isoformat(timespec='seconds')} {FIRST_MESSAGE}\n")
        for line in running.stdout or ():
            print(f"{lang}: {line}", end="", flush=True)
            file.write(f"{datetime.now().isoformat(timespec='seconds')} {line}")
            file.flush()
    if running.returncode:
        raise SystemExit(f"{lang}: spacy train ended with code {running.returncode}; {log} says why")
    set_aside(unfinished, cut)
    best.parent.mkdir(exist_ok=True)
    (cut / "model-best").rename(best)
    shutil.rmtree(cut)


def training_seconds(log: Path) -> int | None:
    """Return the total seconds of the runs in a log of `train_spacy`, each from its first to its last line; None if the
    log is missing, has no finished training, or no times."""
    lines = log.read_text(encoding="utf8").splitlines() if log.is_file() else []
    if not any(FINISHED in line for line in lines):
        return None
    begins = [0, *(place for place, line in enumerate(lines) if place and line.endswith(FIRST_MESSAGE)), len(lines)]
    total = 0.0
    try:
        for first, end in itertools.pairwise(begins):
            times = [datetime.fromisoformat(line.partition(" ")[0]) for line in (lines[first], lines[end - 1])]
            total += (times[1] - times[0]).total_seconds()
    except ValueError:
        return None
    return round(total)


def spacy_peer(folder: Path, dev: Sequence[DependencySentence]) -> dict[str, Any]:
    """Measure accuracy, speed and size of a spaCy pipeline's parser on the words of the sentences."""
    nlp = spacy.load(folder)
    docs = [Doc(nlp.vocab, words=list(sentence.columns.words)) for sentence in dev]
    list(nlp.pipe(docs[:50]))
    docs = [Doc(nlp.vocab, words=list(sentence.columns.words)) for sentence in dev]
    began = time.process_time()
    parsed = list(nlp.pipe(docs))
    seconds = time.process_time() - began
    report = AttachmentReport()
    for sentence, doc in zip(dev, parsed, strict=True):
        heads = [0 if token.head.i == token.i else token.head.i + 1 for token in doc]
        labels = ["root" if token.head.i == token.i else token.dep_ for token in doc]
        if heads.count(0) != 1:  # cut into several sentences: the first root is the root, the others depend on it
            roots = [place for place, head in enumerate(heads) if head == 0]
            heads = [roots[0] + 1 if place in roots[1:] else head for place, head in enumerate(heads)]
        report.add(sentence.heads, heads, sentence.punctuation, sentence.labels, labels)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    tokens = sum(len(sentence.heads) for sentence in dev)
    return {**figures(report), "tokens_per_second": round(tokens / seconds), "megabytes": round(size / 1e6, 2)}
