"""Speed of the parser alone in one process on one core: tokens per second, and time by sentence length.

    python benchmarks/bench_speed.py [--pipeline FOLDER] [--corpus FOLDER --names craft genia masc gum] [--text FILE]

Results: tokens per second on the dev sentences with gold tags, one by one and, if the parser supports it, in batches of
eight, as in a Doc, greedy and at the model's default budget; median and 99th percentile of the milliseconds for
sentences of 10, 20, 40, 80, 160 and 1,000 tokens (dev sentences joined and cut to length, so that word and tag
sequences are real); the fraction of dev sentences whose greedy parse is proven optimal, for a parser that proves it.
Times are CPU time of the process (time.process_time), so a busy machine affects them little.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import spacy
from common import arguments, budgets, dev_sentences, percentile, save
from spacy.language import Language

from spacy_dtparse.cli.pipelines import component_name, get_component
from spacy_dtparse.core import Parser
from training.data.corpus import Sentence
from training.data.evaluate import load_source

LENGTHS = (10, 20, 40, 80, 160, 1000)
BATCH_SIZE = 8
"""Batch size, as for the sentences of a Doc, for parsers that support batches."""


def throughput(parser: Parser, sentences: Sequence[Sentence], repeats: int) -> dict[str, Any]:
    """Return tokens per second of CPU time, the best of `repeats` passes, and statistics of the search."""
    rows = [(sentence.tree.words, sentence.tree.tags) for sentence in sentences]
    tokens = sum(len(words) for words, _ in rows)
    seconds, results = float("inf"), []
    parser.parse(*rows[0])
    for _ in range(repeats):
        began = time.process_time()
        results = [parser.parse(words, tags) for words, tags in rows]
        seconds = min(seconds, time.process_time() - began)
    parts = [rows[at : at + BATCH_SIZE] for at in range(0, len(rows), BATCH_SIZE)]
    parser.parse_batch(parts[0])
    together = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        for part in parts:
            parser.parse_batch(part)
        together = min(together, time.process_time() - began)
    known = [r for r in results if r.greedy_optimal is not None]
    proven = sum(r.status == "optimal" and bool(r.greedy_optimal) for r in known)
    statuses = sorted({r.status for r in results})
    return {
        "tokens": tokens,
        "sentences": len(rows),
        "tokens_per_second": tokens / seconds,
        "tokens_per_second_together": together and tokens / together,
        "status": {status: sum(r.status == status for r in results) for status in statuses},
        "greedy_proven_optimal": proven / len(rows) if known else None,
        "scored_per_token": sum(r.n_scored for r in results) / tokens,
    }


def by_length(parser: Parser, sentences: Sequence[Sentence], count: int) -> list[dict[str, Any]]:
    """Return milliseconds of CPU time per sentence for LENGTHS; up to `count` sentences each."""
    words = [word for sentence in sentences for word in sentence.tree.words]
    tags = [tag for sentence in sentences for tag in sentence.tree.tags]
    rows = []
    for length in LENGTHS:
        times: list[float] = []
        for start in range(0, len(words) - length + 1, length):
            piece = words[start : start + length], tags[start : start + length]
            if not times:
                parser.parse(*piece)  # allocate buffers of this size
            began = time.process_time()
            parser.parse(*piece)
            times.append(1000 * (time.process_time() - began))
            if len(times) == count:
                break
        if times:
            rows.append(
                {
                    "tokens": length,
                    "sentences": len(times),
                    "median_ms": percentile(times, 0.5),
                    "p99_ms": percentile(times, 0.99),
                }
            )
    return rows


def in_pipeline(nlp: Language, paragraphs: Sequence[str], repeats: int) -> dict[str, Any]:
    """Return tokens per second of CPU time of the component alone, over tagged Docs."""
    component, seconds, tokens = get_component(nlp), float("inf"), 0
    for _ in range(repeats):
        with nlp.select_pipes(disable=[component_name(nlp)]):
            docs = list(nlp.pipe(paragraphs))
        component(docs[0])
        began = time.process_time()
        for doc in docs:
            component(doc)
        seconds = min(seconds, time.process_time() - began)
        tokens = sum(map(len, docs))
    return {"docs": len(docs), "tokens": tokens, "tokens_per_second": tokens / seconds}


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=2, help="passes over the dev sentences; the best counts")
    parser.add_argument("--count", type=int, default=200, help="sentences per length")
    parser.add_argument("--text", type=Path, help="raw text, a paragraph per line, for the component's speed")
    parser.add_argument("--paragraphs", type=int, default=1200, help="number of lines of --text")
    options = parser.parse_args()
    model, nlp = load_source(options.pipeline)
    sentences = dev_sentences(options)
    facts: dict[str, Any] = {"treebanks": options.names}
    for budget in budgets(model):
        name, used = "default" if budget is None else "greedy", model.with_settings(budget=budget)
        facts[name] = {
            **throughput(used, sentences, options.repeats),
            "by_length": by_length(used, sentences, options.count),
        }
        print(f"{name}: {facts[name]['tokens_per_second']:.0f} tokens/s, {facts[name]['status']}")
        if facts[name]["tokens_per_second_together"]:
            print(f"  {BATCH_SIZE} sentences at once: {facts[name]['tokens_per_second_together']:.0f} tokens/s")
        for row in facts[name]["by_length"]:
            print(f"  {row['tokens']:5} tokens: median {row['median_ms']:8.2f} ms, p99 {row['p99_ms']:8.2f} ms")
    if options.text is not None and nlp is not None:
        with options.text.open(encoding="utf8") as lines:
            paragraphs = [line.strip() for line in islice(lines, options.paragraphs) if line.strip()]
        facts["pipeline"] = in_pipeline(spacy.load(options.pipeline), paragraphs, options.repeats)
        print(f"in a pipeline: {facts['pipeline']['tokens_per_second']:.0f} tokens/s, {len(paragraphs)} Docs")
    proven = facts["default"]["greedy_proven_optimal"]
    if proven is not None:
        print(f"greedy parse proven optimal: {100 * proven:.1f} % of sentences")
    save(options, "speed", facts)


if __name__ == "__main__":
    main()
