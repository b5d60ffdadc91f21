"""Profile of the span parser: microseconds per token for each of its steps, with one network and with all.

    python benchmarks/bench_span_parts.py --repeats 20

Gold tags of the dev sentences of `--min-tokens` to `--max-tokens` tokens; CPU time of the calling thread, the median
over the passes. The time of a step is the time of the calls up to its end minus that of the calls before it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from common import arguments, dev_sentences, save

from spacy_dtparse.core import load_span_parser
from spacy_dtparse.models import find_model
from spacy_dtparse.span_parser.kernels.network import span_probabilities
from spacy_dtparse.span_parser.parser import SpanParser
from training.data.corpus import Sentence

LEAST = 0.01
"""Minimum posterior probability of spans that are labelled, as in a parse."""


def steps(parser: SpanParser, sentences: list[Sentence], repeats: int) -> dict[str, float]:
    """Return the microseconds per token of each step and of the whole parse."""
    given = [(sentence.tree.words, sentence.tags) for sentence in sentences]
    read = [parser.run_networks(*words_tags) for words_tags in given]
    parsed = {
        "words": lambda k: parser.model.words.encode(*given[k]),
        "reading": lambda k: parser.run_networks(*given[k]),
        "spans": lambda k: span_probabilities(*read[k], 0, len(given[k][0]), LEAST),
        "parse": lambda k: parser.parse(*given[k]),
    }
    tokens = sum(len(tags) for _, tags in given)

    def seconds(step: Callable[[int], Any]) -> float:
        began = time.thread_time()
        for k in range(len(given)):
            step(k)
        return time.thread_time() - began

    for step in parsed.values():
        seconds(step)  # compile or load kernels
    passes = [{name: seconds(step) for name, step in parsed.items()} for _ in range(repeats)]
    micro = {name: 1e6 * statistics.median(one[name] for one in passes) / tokens for name in parsed}
    return {
        "ids of words and affixes": micro["words"],
        "reading": micro["reading"] - micro["words"],
        "scores of spans, posteriors, labels": micro["spans"],
        "best tree, and the result": micro["parse"] - micro["reading"] - micro["spans"],
        "parse": micro["parse"],
    }


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--min-tokens", type=int, default=10)
    parser.add_argument("--max-tokens", type=int, default=40)
    options = parser.parse_args()
    sentences = [s for s in dev_sentences(options) if options.min_tokens <= len(s.tags) <= options.max_tokens]
    if not sentences:
        raise SystemExit(
            f"there is no dev sentence of {options.min_tokens} to {options.max_tokens} tokens; give other limits"
        )
    whole = load_span_parser(find_model(options.pipeline))
    every = len(whole.model.networks)
    columns = {n: steps(whole.with_settings(networks=n), sentences, options.repeats) for n in sorted({1, every})}
    print("| µs per token | " + " | ".join(f"{n} of {every} networks" for n in columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for name in columns[1]:
        print(f"| {name} | " + " | ".join(f"{column[name]:.1f}" for column in columns.values()) + " |")
    save(options, "span_parts", {str(n): column for n, column in columns.items()} | {"sentences": len(sentences)})


if __name__ == "__main__":
    main()
