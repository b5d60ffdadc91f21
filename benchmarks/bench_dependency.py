"""Dependency parsers in four languages: averaged perceptron, MIRA, Bayes point, stages, decoders; and peers.

    python benchmarks/bench_dependency.py relations --ud UD --work build/bpm/relations --json build/bpm/relations.json
    python benchmarks/bench_dependency.py spacy --ud UD --work build/bpm/spacy
    python benchmarks/bench_dependency.py parsers --ud UD --work build/bpm/parsers --spacy build/bpm/spacy \\
        --json build/bpm/parsers.json

`relations` trains the paper's parser (one stage, no labels) with three seeds and gives the learning curve over members,
MIRA, and both decoders. `spacy` trains spaCy's transition parser for each language that has none yet in the --work
folder (LANG/model-best; the log is LANG.log). `parsers` trains the parser in its recommended configuration, and
measures its accuracy, speed and size. It compares them with each token's best head without a tree, and with spaCy's
parser if --spacy names a folder that has it. With --jackknife FOLDS it uses jackknifed tags instead of gold ones.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import ROOT  # noqa: F401 (makes `training` importable)
from dependency_peers import figures, spacy_peer, train_spacy, training_seconds

from spacy_dtparse.bpm_parser.features import TextRules
from spacy_dtparse.bpm_parser.parser import DependencyParser
from spacy_dtparse.scoring.attachment import AttachmentReport
from training.bpm_parser.fitting import attachment_scores, train_dependency_model
from training.bpm_parser.options import DependencyOptions
from training.bpm_parser.running import read_treebank_file
from training.data.dependencies import DependencySentence, part_labels, retag_sentences
from training.runs.metrics_log import log_metrics
from training.runs.processes import worker_pool
from training.spine_tagger.fitting import jackknife_tags

CZECH = ("cs_fictree/cs_fictree-ud-dev.conllu", "cs_cac/cs_cac-ud-dev.conllu")
FILES = {
    "en": (["en_ewt/en_ewt-ud-train.conllu"], ["en_ewt/en_ewt-ud-dev.conllu"]),
    "zh": (["zh_gsd_v1.4/zh-ud-train.conllu"], ["zh_gsd_v1.4/zh-ud-dev.conllu"]),
    "cs": (
        ["cs_pdtc_faust/cs_pdtc-ud-train-ft.conllu", "cs_cltt/cs_cltt-ud-train.conllu"]
        + [f"{path},block=-1/5" for path in CZECH],
        ["cs_cltt/cs_cltt-ud-dev.conllu", *[f"{path},block=1/5" for path in CZECH]],
    ),
    "ar": (["ar_padt_2016/ar-ud-dev.conllu,block=-1/5"], ["ar_padt_2016/ar-ud-dev.conllu,block=1/5"]),
}
"""Training and development files in the folder of Universal Dependencies; without a training part, blocks of the only
part."""
RULES = {
    "en": TextRules("pos+tag"),
    "zh": TextRules("pos+tag", stem="first", numbers="chinese"),
    "cs": TextRules("pos+tag", places=(0, 1, 4)),
    "ar": TextRules("pos+tag", places=(0, 1, 8), stem="lemma"),
}
"""Stems and numbers as in the paper; from positional tags: part of speech, its kind, and case."""
DECODERS = {"en": "projective", "zh": "projective", "cs": "spanning", "ar": "projective"}


def sentences_of(ud: Path, lang: str) -> tuple[list[DependencySentence], list[DependencySentence]]:
    """Return the (training, development) sentences of a language."""
    train, dev = ([s for f in files for s in read_treebank_file(f"{ud}/{f}", lang)] for files in FILES[lang])
    return train, dev


def relations(options: argparse.Namespace) -> dict[str, Any]:
    """Train and measure: learning curves of three seeds, MIRA, and the other decoder."""
    table: dict[str, Any] = {}
    for lang in options.langs:
        train, dev = sentences_of(options.ud, lang)
        base = DependencyOptions(
            rules=RULES[lang], decoder=DECODERS[lang], stages=1, label_members=0, members=options.members,
            epochs=options.epochs,
        )  # fmt: skip
        runs = {f"{DECODERS[lang]} {seed}": replace(base, seed=seed) for seed in range(options.seeds)}
        runs |= {f"mira {seed}": replace(base, seed=seed, method="mira", members=1) for seed in range(options.seeds)}
        if lang in ("cs", "ar"):
            other = "projective" if DECODERS[lang] == "spanning" else "spanning"
            runs |= {f"{other} {seed}": replace(base, seed=seed, decoder=other) for seed in range(options.seeds)}
        for name, chosen in runs.items():
            logged: list[dict[str, Any]] = []

            def hear(logged: list[dict[str, Any]] = logged, **facts: Any) -> None:
                logged.append(facts)
                log_metrics(None, **facts)

            began = time.perf_counter()
            with worker_pool(options.workers) as pool:
                model = train_dependency_model(
                    train, dev, chosen, options.work / f"{lang}-{name.replace(' ', '-')}", {}, pool, hear
                )
            members = [facts for facts in logged if "member" in facts]
            table[f"{lang} {name}"] = {
                "alone": [round(facts["alone_uas"], 3) for facts in members],
                "mean": [round(facts["mean_uas"], 3) for facts in members],
                "alone_words": [round(facts["alone_uas_words"], 3) for facts in members],
                "mean_words": [round(facts["mean_uas_words"], 3) for facts in members],
                "final": figures(attachment_scores(DependencyParser(model), dev)),
                "seconds": round(time.perf_counter() - began),
            }
            write(options.json, table)
    for name, run in table.items():
        if len(run["mean"]) > 1:
            curve = ", ".join(f"{uas:.2f}" for uas in run["mean"])
            print(f"{name}, UAS of the mean of 1 to {len(run['mean'])} learners: {curve}")
    for lang in options.langs:
        kinds = sorted({key.split()[1] for key in table if key.startswith(f"{lang} ")})
        for kind in kinds:
            runs_of = [table[key] for key in table if key.startswith(f"{lang} {kind} ")]
            first = [run["alone"][0] for run in runs_of]
            means = [run["mean"][-1] for run in runs_of]
            print(
                f"{lang} {kind}: one learner {statistics.mean(first):.2f} ({', '.join(f'{x:.2f}' for x in first)}), "
                f"mean of {len(runs_of[0]['mean'])} {statistics.mean(means):.2f} "
                f"({', '.join(f'{x:.2f}' for x in means)})"
            )
    return table


def best_heads(parser: DependencyParser, dev: list[DependencySentence]) -> AttachmentReport:
    """Return each token's best head by the scores of the first stage, not necessarily a tree."""
    report = AttachmentReport()
    first = parser.with_settings(stages=1)
    for sentence in dev:
        scores = first.link_scores(sentence.columns)
        np.fill_diagonal(scores, -np.inf)
        report.add(sentence.heads, scores[:, 1:].argmax(axis=0).tolist(), sentence.punctuation)
    return report


def speed(parser: DependencyParser, dev: list[DependencySentence]) -> int:
    """Return tokens per CPU second, the best of three rounds."""
    for sentence in dev[:20]:
        parser.parse(sentence.columns)
    best = 0.0
    for _ in range(3):
        began = time.process_time()
        for sentence in dev:
            parser.parse(sentence.columns)
        best = max(best, sum(len(s.heads) for s in dev) / (time.process_time() - began))
    return round(best)


def tag_accuracy(rules: TextRules, gold: list[DependencySentence], found: list[DependencySentence]) -> float:
    """Return the percentage of tokens whose parts of speech, as used by the parser, are all correct."""
    right = [
        own == other
        for a, b in zip(gold, found, strict=True)
        for own, other in zip(part_labels(a, rules), part_labels(b, rules), strict=True)
    ]
    return round(100 * statistics.mean(right), 2)


def parsers(options: argparse.Namespace) -> dict[str, Any]:
    """Train and measure the parser in its recommended configuration, and its peers."""
    table: dict[str, Any] = {}
    for lang in options.langs:
        train, dev = sentences_of(options.ud, lang)
        began = time.perf_counter()
        tags: dict[str, Any] = {}
        if options.jackknife:
            train, tagger = jackknife_tags(
                train, RULES[lang], options.jackknife, options.work / f"{lang}-tags", options.workers
            )
            gold, dev = dev, retag_sentences(tagger, dev)
            tags = {"tag_accuracy": tag_accuracy(RULES[lang], gold, dev)}
        chosen = DependencyOptions(rules=RULES[lang], decoder=DECODERS[lang], members=options.members)
        with worker_pool(options.workers) as pool:
            model = train_dependency_model(
                train, dev, chosen, options.work / lang, {}, pool, partial(log_metrics, None)
            )
        seconds = round(time.perf_counter() - began)
        parser = DependencyParser(model)
        rows = table[lang] = {
            "training_seconds": seconds, "sentences": len(train), "dev_sentences": len(dev), **tags,
        }  # fmt: skip
        for name, settings in (("all stages", {}), ("first stage", {"stages": 1})):
            used = parser.with_settings(**settings)
            rows[name] = {**figures(attachment_scores(used, dev)), "tokens_per_second": speed(used, dev)}
        data = parser.to_bytes()
        rows["all stages"]["megabytes"] = round(len(data) / 1e6, 2)
        (options.work / f"{lang}.model").write_bytes(data)
        rows["best heads, no tree"] = figures(best_heads(parser, dev))
        if options.spacy is not None and (options.spacy / lang / "model-best").is_dir():
            took = training_seconds(options.spacy / f"{lang}.log")
            rows["spaCy parser"] = spacy_peer(options.spacy / lang / "model-best", dev)
            rows["spaCy parser"] |= {} if took is None else {"training_seconds": took}
        for name, row in rows.items():
            print(lang, name, row, flush=True)
        write(options.json, table)
    return table


def spacy_parsers(options: argparse.Namespace) -> None:
    """Train spaCy's parser for the languages that have none yet."""
    for lang in options.langs:
        train_spacy(lang, *sentences_of(options.ud, lang), options.work)


def write(path: Path | None, table: dict[str, Any]) -> None:
    """Save the results so far."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(table, indent=1))


PARTS = {"relations": relations, "spacy": spacy_parsers, "parsers": parsers}


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=tuple(PARTS))
    parser.add_argument("--ud", type=Path, required=True, help="folder of Universal Dependencies treebanks")
    parser.add_argument("--work", type=Path, required=True, help="folder for training; finished parts are reused")
    parser.add_argument("--langs", nargs="+", default=list(FILES), choices=list(FILES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--jackknife", type=int, default=0, metavar="FOLDS", help="use tags jackknifed in FOLDS")
    parser.add_argument("--spacy", type=Path, help="folder of spaCy pipelines, LANG/model-best")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
