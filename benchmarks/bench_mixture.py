"""Combination of two parsers: F1 of trees decoded from the mean of their posteriors of constituents.

    python benchmarks/bench_mixture.py FIRST SECOND PATH,tags=PATH [--shares 0 0.4 0.5 0.6 1] [--trees]

FIRST, SECOND: models with `span_posteriors` (span parsers, PCFGs). `--shares`: weights of FIRST. The result is the tree
whose labels have the greatest sum of posterior - 0.5, where above 0. `--trees`: use the best tree of SECOND instead of
its posteriors, each constituent with probability 1.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from common import save

from spacy_dtparse.core import load_parser
from spacy_dtparse.scoring import ParsevalReport
from spacy_dtparse.span_parser.kernels.chart import best_inside, best_spans
from spacy_dtparse.trees import TOP, Tree
from training.data.corpus import Sentence
from training.data.treebanks import TreebankFile

PENALTY = 0.5
SpanMarginals = dict[tuple[int, int, str], float]


def tree_of(marginals: SpanMarginals, sentence: Sentence) -> Tree:
    """Return the tree with the greatest sum of (posterior - PENALTY) over its labels."""
    n = sentence.tree.n_tokens
    gains = np.zeros((n + 1, n + 1), dtype=np.float32)
    labels: dict[tuple[int, int], list[str]] = {}
    for (start, end, label), posterior in sorted(marginals.items(), key=lambda item: -item[1]):
        if label != TOP and posterior > PENALTY:
            gains[start, end] += posterior - PENALTY
            labels.setdefault((start, end), []).append(label)
    best, spans = np.zeros((n + 1, n + 1), dtype=np.float32), np.zeros((2 * n + 2, 2), dtype=np.int32)
    best_inside(gains, n, best)
    count = best_spans(best, n, spans)
    found = [(0, n, TOP)]
    for start, end in spans[:count].tolist():
        found += [(start, end, label) for label in labels.get((start, end), [])]
    return Tree.from_spans(sentence.tree.words, sentence.tree.tags, found)


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs=2, type=Path)
    parser.add_argument("file")
    parser.add_argument("--shares", nargs="+", type=float, default=[0.0, 0.4, 0.5, 0.6, 1.0])
    parser.add_argument("--trees", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sentences = TreebankFile.parse(options.file).read()
    first, second = (load_parser(path) for path in options.models)
    pairs: list[tuple[SpanMarginals, SpanMarginals]] = []
    for sentence in sentences:
        words, tags = sentence.tree.words, sentence.tags
        if options.trees:
            other = {span: 1.0 for span in second.parse(words, tags).tree.spans()}
        else:
            other = second.span_posteriors(words, tags)  # type: ignore[attr-defined]
        pairs.append((first.span_posteriors(words, tags), other))  # type: ignore[attr-defined]
    rows: list[dict[str, Any]] = []
    for share in options.shares:
        report = ParsevalReport(strict=True)
        for sentence, (one, other) in zip(sentences, pairs, strict=True):
            mixed = {key: share * one.get(key, 0.0) + (1 - share) * other.get(key, 0.0) for key in {*one, *other}}
            report.add(sentence.tree, tree_of(mixed, sentence))
        rows.append({"share": share, "f1": 100 * report.to_dict()["all"]["f1"]})
        print(f"{share:.2f} {rows[-1]['f1']:.2f}", flush=True)
    save(options, "mixture", rows)


if __name__ == "__main__":
    main()
