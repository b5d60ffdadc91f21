"""Benefit and cost of constraints: F1 if a fraction of the gold constituents is given, and time per sentence.

    python benchmarks/bench_constraints.py --corpus FOLDER --names masc gum craft genia wsj [--models en_dtparse …]
        [--limit 200] [--shares 0.1 0.3] [--seed 0]

The everyday trees come first. Tags are predicted. The given constituents, with and without their labels, are sampled at
random; *held* is the fraction of constraints that hold, *enforced* that of sentences whose tree was changed after the
search to satisfy them. Time is CPU time of `parse_constrained` against `parse`, one sentence at a time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

from common import EVERYDAY_DEV, arguments, save

import spacy_dtparse
from spacy_dtparse.cli.pipelines import get_component
from spacy_dtparse.core.constraints import Constraint, Constraints
from spacy_dtparse.scoring import ParsevalReport
from spacy_dtparse.trees.tree import TOP
from training.data.evaluate import tag_lists
from training.data.treebanks import TreebankFile, corpus_files

MODELS = ("en_dtparse", "en_span", "en_trees", "en_pcfgla")


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--shares", nargs="+", type=float, default=[0.1, 0.3])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    files = [TreebankFile(EVERYDAY_DEV, limit=options.limit)]
    files += [TreebankFile(one.path, limit=options.limit) for one in corpus_files(options.corpus, options.names, "dev")]
    records = []
    for name in options.models:
        nlp = spacy_dtparse.load(name)
        own: Any = get_component(nlp).configured_parser.inner_parser
        for file in files:
            gold = [sentence.tree for sentence in file.read()]
            tags = tag_lists(nlp, (tree.words for tree in gold))
            record: dict[str, Any] = {"model": name, "treebank": file.name, "sentences": len(gold)}
            record["free"] = measure(own, gold, tags, [None] * len(gold))
            for share in options.shares:
                for labelled in (False, True):
                    drawn = random.Random(options.seed)

                    known = [[s for s in tree.spans() if s[2] != TOP and s[2] in own.labels] for tree in gold]
                    given = [
                        Constraints({Constraint(*s[: 2 + labelled]): 0 for s in spans if drawn.random() < share})
                        for spans in known
                    ]
                    record[f"{share:g} {'labelled' if labelled else 'bare'}"] = measure(own, gold, tags, given)
            records.append(record)
            message = [
                f"{kind}: {100 * one['f1']:.2f} ({one['ms']:.2f} ms, held {one['held']:.3f}, "
                f"enforced {one['enforced']:.3f})"
                for kind, one in record.items()
                if isinstance(one, dict)
            ]
            print(f"{name} {file.name} {len(gold)}: {'; '.join(message)}", flush=True)
    save(options, "constraints", records)


def measure(parser: Any, gold: Any, tags: Any, given: Sequence[Constraints | None]) -> dict[str, float]:
    """F1 of all brackets, milliseconds per sentence, fractions of constraints that hold and of trees changed."""
    report, seconds, asked, broken, enforced = ParsevalReport(strict=True), 0.0, 0, 0, 0
    for tree, row, constraints in zip(gold, tags, given, strict=True):
        began = time.process_time()
        if constraints is None:
            result = parser.parse(tree.words, row)
        else:
            result = parser.parse_constrained(tree.words, row, constraints)
        seconds += time.process_time() - began
        report.add(tree, result.tree)
        if constraints:
            asked, broken = asked + len(constraints), broken + len(constraints.violations(result.tree))
            enforced += result.status == "fallback"
    return {
        "f1": report.to_dict()["all"]["f1"],
        "ms": 1000 * seconds / len(gold),
        "held": 1 - broken / asked if asked else 1.0,
        "enforced": enforced / len(gold),
    }


if __name__ == "__main__":
    main()
