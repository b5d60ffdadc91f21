"""Comparison of spine taggers: accuracy, multitags and speed, on Docs of treebank tokens with gold tags.

    python benchmarks/bench_spine_taggers.py TREES TAGGER … [--beta 0.075] [--categories spine] [--repeats 5]

A TAGGER is a model file of `python -m training train-spine-tagger`. Each runs as a spine_tagger in a pipeline, one
sentence per Doc. Speed is tokens per CPU second of the process, the median of the repetitions. Scores are those of the
component's scorer, as JSON on standard output.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import spacy
from common import ROOT  # noqa: F401 (makes `spacy_dtparse` importable)
from spacy.training import Example

from spacy_dtparse.pipeline import factories  # noqa: F401 (registers the factories where it is not installed)
from spacy_dtparse.pipeline.corpus import create_bracket_corpus
from spacy_dtparse.trees.directional import CATEGORIES


def measure(model: Path, trees: Path, categories: str, beta: float, repeats: int) -> dict[str, Any]:
    """Return scores and speed at `beta`."""
    nlp = spacy.blank("en")
    tagger: Any = nlp.add_pipe("spine_tagger", config={"model": str(model), "beta": beta})
    corpus = create_bracket_corpus(trees, gold_tags=True, categories=categories, spines_key=tagger.spans_key)
    seconds = []
    for _ in range(repeats + 1):  # the first one compiles and fills caches
        examples = list(corpus(nlp))
        began = time.process_time()
        docs = list(nlp.pipe(example.predicted for example in examples))
        seconds.append(time.process_time() - began)
    words = sum(map(len, docs))
    found = [Example(doc, example.reference) for doc, example in zip(docs, examples, strict=True)]
    scores = tagger.score(found)
    return {"beta": beta, "words": words, **scores, "tokens_per_cpu_second": words / statistics.median(seconds[1:])}


def main() -> None:
    """Print one line of JSON for each tagger."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trees", type=Path)
    parser.add_argument("taggers", type=Path, nargs="+", metavar="TAGGER")
    parser.add_argument("--beta", type=float, default=0.075)
    parser.add_argument("--categories", choices=CATEGORIES, default="spine")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    for tagger in options.taggers:
        found = measure(tagger, options.trees, options.categories, options.beta, options.repeats)
        print(json.dumps({"tagger": str(tagger), **found}))


if __name__ == "__main__":
    main()
