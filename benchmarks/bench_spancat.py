"""A spancat over constituents compared with n-grams: candidates, their recall, F1, minutes, words per second.

    python benchmarks/bench_spancat.py --ewt EWT [--seeds 0 1 2] [--epochs 6] [--suggesters constituents n-grams-8 …]

The spans are those of `ewt_spans`, from the gold dependencies of the train and dev parts of the English Web Treebank.
`spacy train` trains each spancat with spancat.cfg, with the same layers, seed, batches and epochs; only the suggester
differs, and n-grams need no tagger and parser. Texts are raw: tokens, tags, sentence boundaries and trees are predicted
by the English pipeline, also in training. The spancat of the last epoch is scored on dev. Minutes are CPU time of
`spacy train`, which scores dev once, at its first batch; words per second are CPU time of `nlp.pipe` with all
components, the best of three repetitions. Results of an earlier run in `--work` are reused. First, the candidates of
more suggesters are counted on every tenth Doc of train; with no name after `--suggesters` this is all.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import spacy
from common import ROOT, save
from ewt_spans import KEY, LABELS, read_docs
from spacy.cli.train import train
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus
from spacy.util import load_config, registry

import spacy_dtparse
from spacy_dtparse.pipeline.suggester import ConstituentsSuggester

CONFIG = Path(__file__).with_name("spancat.cfg")
OURS = {"@misc": "spacy_dtparse.constituents_suggester.v1"}
NGRAMS = {"@misc": "spacy.ngram_range_suggester.v1", "min_size": 1}
SUGGESTERS: dict[str, dict[str, Any]] = {
    "constituents": OURS,
    "siblings-4": {**OURS, "siblings": 4},
    "n-grams-8": {**NGRAMS, "max_size": 8},
    "n-grams-15": {**NGRAMS, "max_size": 15},
}
"""The settings of [components.spancat.suggester] that are compared."""
PRESET = {"@misc": "spacy.preset_spans_suggester.v1"}
COUNTED: dict[str, dict[str, Any]] = {
    **{f"n-grams to {size}": {**NGRAMS, "max_size": size} for size in (3, 8, 12, 15)},
    "noun chunks": {**PRESET, "spans_key": "chunks"},
    "constituents without tokens": {**OURS, "tokens": False},
    "constituents, also trimmed": {**PRESET, "spans_key": "trimmed"},
    **{f"constituents, siblings = {most}": {**OURS, "siblings": most} for most in (1, 2, 3, 4, 6, 10)},
}
"""Suggesters whose candidates are only counted, without a spancat."""
PARSED = ("constituents", "siblings-4")
"""Suggesters that need a parser."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--ewt", type=Path, required=True, help="folder with en_ewt-ud-train.conllu and en_ewt-ud-dev.conllu"
    )
    parser.add_argument("--suggesters", nargs="*", default=list(SUGGESTERS), choices=list(SUGGESTERS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--every", type=int, default=2, help="train on every N-th Doc of ten sentences")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "spancat", help="folder for corpora and models")
    parser.add_argument("--out", type=Path, help="JSON file (default: build/bench/spancat.json)")
    options = parser.parse_args()
    facts: dict[str, Any] = {"data": prepare(options), "epochs": options.epochs, "runs": []}
    facts["candidates"] = look(options)
    for seed in options.seeds:
        for name in options.suggesters:
            file = options.work / f"{name}.{options.epochs}.{seed}.json"
            if not file.is_file():
                file.write_text(json.dumps(measure(options, name, seed), indent=1) + "\n")
            facts["runs"].append(json.loads(file.read_text()))
            print(shown(facts["runs"][-1:]), file=sys.stderr, flush=True)
    for name, found in facts["candidates"].items():
        print(f"| {name} | {found['candidates_per_token']:.2f} | {100 * found['recall_of_candidates']:.1f} |")
    for name in options.suggesters:
        print(shown([run for run in facts["runs"] if run["suggester"] == name]))
    save(options, "spancat", facts)


def prepare(options: argparse.Namespace) -> dict[str, Any]:
    """Write the corpora and the English pipeline; return statistics of the corpora."""
    options.work.mkdir(parents=True, exist_ok=True)
    nlp = spacy_dtparse.load()
    nlp.to_disk(options.work / "parser")
    facts = {}
    for part in ("train", "dev"):
        docs, gaps = read_docs(options.ewt / f"en_ewt-ud-{part}.conllu", nlp.vocab)
        docs = docs[:: options.every] if part == "train" else docs
        DocBin(docs=docs).to_disk(options.work / f"{part}.spacy")
        spans = [span for doc in docs for span in doc.spans[KEY]]
        facts[part] = {
            "docs": len(docs),
            "words": sum(map(len, docs)),
            "spans": len(spans),
            "gaps": sum(gaps.values()),
            "per_label": Counter(span.label_ for span in spans),
            "at_most": {size: sum(len(span) <= size for span in spans) / len(spans) for size in (1, 3, 8, 15, 30)},
        }
    return facts


def measure(options: argparse.Namespace, name: str, seed: int) -> dict[str, Any]:
    """Train a spancat with that suggester and score it on dev."""
    config = load_config(CONFIG)
    config["components"]["spancat"]["suggester"] = SUGGESTERS[name]
    if name not in PARSED:
        config["nlp"]["pipeline"] = ["tok2vec", "spancat"]
        config["components"] = {pipe: config["components"][pipe] for pipe in config["nlp"]["pipeline"]}
        config["training"].update(frozen_components=[], annotating_components=[])
    paths = {part: str(options.work / f"{part}.spacy") for part in ("train", "dev")}
    config["paths"].update(paths, parser=str(options.work / "parser"))
    config["training"]["max_epochs"] = options.epochs
    config["system"]["seed"] = seed
    folder = options.work / f"{name}.{seed}"
    folder.mkdir(exist_ok=True)
    config.to_disk(folder / "config.cfg")
    wall, cpu = time.perf_counter(), time.process_time()
    train(folder / "config.cfg", folder)
    facts = {
        "suggester": name,
        "seed": seed,
        "train_minutes": (time.perf_counter() - wall) / 60,
        "train_cpu_minutes": (time.process_time() - cpu) / 60,
    }
    nlp = spacy.load(folder / "model-last")
    scores = nlp.evaluate(Corpus(options.work / "dev.spacy")(nlp))
    facts["scores"] = {score: scores[f"spans_{KEY}_{score}"] for score in ("p", "r", "f", "per_type")}
    gold = list(DocBin().from_disk(options.work / "dev.spacy").get_docs(nlp.vocab))
    texts = [doc.text for doc in gold]
    with nlp.select_pipes(disable=["tok2vec", "spancat"]):
        docs = list(nlp.pipe(texts))
    spancat: Any = nlp.get_pipe("spancat")
    return facts | speed(nlp, texts) | candidates(spancat.suggester, docs, gold)


def speed(nlp: Language, texts: list[str]) -> dict[str, Any]:
    """Return words per second of CPU time of the whole pipeline, and of its spancat alone with its suggester."""
    turns = []
    for _ in range(3):
        began = time.process_time()
        docs = list(nlp.pipe(texts))
        turns.append(time.process_time() - began)
    with nlp.select_pipes(disable=["spancat"]):
        docs = list(nlp.pipe(texts))
    began = time.process_time()
    docs = list(nlp.get_pipe("spancat").pipe(docs, batch_size=nlp.batch_size))
    words = sum(map(len, docs))
    return {"words_per_second": words / min(turns), "spancat_words_per_second": words / (time.process_time() - began)}


def look(options: argparse.Namespace) -> dict[str, Any]:
    """Count the candidates of `COUNTED` on every tenth Doc of train, by name."""
    nlp = spacy_dtparse.load()
    gold = read_docs(options.ewt / "en_ewt-ud-train.conllu", nlp.vocab)[0][::10]
    docs = list(nlp.pipe(doc.text for doc in gold))
    for doc in docs:
        doc.spans["chunks"] = list(doc.noun_chunks)
        doc.spans["trimmed"] = trimmed(doc)
    suggesters = registry.resolve(COUNTED)
    return {name: candidates(suggester, docs, gold) for name, suggester in suggesters.items()}


def trimmed(doc: Doc) -> list[Span]:
    """Return the constituents and tokens, and each also without its determiner, without a final 's and without
    punctuation at its edges."""
    ranges = {(start, end) for start, end in ConstituentsSuggester().ranges(doc).tolist()}
    for start, end in list(ranges):
        inner_start, inner_end = start, end
        while inner_start < inner_end and doc[inner_start].is_punct:
            inner_start += 1
        while inner_start < inner_end and doc[inner_end - 1].is_punct:
            inner_end -= 1
        ranges |= {(inner_start, inner_end), (start + (doc[start].tag_ in ("DT", "PRP$")), end)}
        ranges.add((start, end - (doc[end - 1].tag_ == "POS")))
    return [doc[start:end] for start, end in sorted(ranges) if start < end]


def candidates(suggester: Any, docs: list[Doc], gold: list[Doc]) -> dict[str, Any]:
    """Return candidates per token, and the fraction of gold spans among them, compared by character offsets."""
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    count = 0
    for doc, wanted in zip(docs, gold, strict=True):
        ranges = suggester([doc]).dataXd.tolist()
        count += len(ranges)
        places = {(doc[start].idx, doc[end - 1].idx + len(doc[end - 1])) for start, end in ranges}
        for span in wanted.spans[KEY]:
            total[span.label_] += 1
            found[span.label_] += (span.start_char, span.end_char) in places
    return {
        "candidates_per_token": count / sum(map(len, docs)),
        "recall_of_candidates": sum(found.values()) / sum(total.values()),
        "recall_per_label": {label: found[label] / total[label] for label in LABELS if total[label]},
    }


def shown(runs: list[dict[str, Any]]) -> str:
    """Format a row of the table: means over seeds, F1 with minimum and maximum."""
    mean = {fact: statistics.mean(run[fact] for run in runs) for fact in runs[0] if isinstance(runs[0][fact], float)}
    f, p, r = ([100 * run["scores"][score] for run in runs] for score in "fpr")
    spread = f" ({min(f):.2f} to {max(f):.2f})" if len(runs) > 1 else ""
    cells = (
        runs[0]["suggester"],
        f"{mean['candidates_per_token']:.2f}",
        f"{100 * mean['recall_of_candidates']:.1f}",
        f"{statistics.mean(p):.1f}",
        f"{statistics.mean(r):.1f}",
        f"{statistics.mean(f):.2f}{spread}",
        f"{mean['train_cpu_minutes']:.1f}",
        f"{mean['words_per_second']:,.0f}",
    )
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
