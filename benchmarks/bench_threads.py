"""One pipeline shared by several threads: bit-identical Docs, and the speed-up.

    python benchmarks/bench_threads.py --text FILE … [--pipelines NAME …] [--threads 2 8] [--words 20000] [--repeats 5]

Threads take pieces of 50 paragraphs, and call `list(nlp.pipe(piece))`, or `nlp(text)` for each, of the same pipeline,
in alternation with one thread. The ratio is that of the best wall times; the number of available cores bounds it.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench_pipeline import forget, load, paragraphs
from common import save
from spacy.language import Language
from spacy.tokens import Doc

PIECE = 50


def bits(doc: Doc) -> tuple[Any, ...]:
    """Return all annotations of the components, numbers as they are in memory."""
    spans = doc.spans.get("constituents", [])
    of_spans = [(span.start, span.end, span.label_) for span in spans]
    of_tokens = [(token.text, token.tag_, token.pos_, token.is_sent_start, token.head.i, token.dep_) for token in doc]
    return of_tokens, of_spans, repr(getattr(spans, "attrs", {}))


def work(nlp: Language, texts: list[str], threads: int, one_by_one: bool) -> tuple[float, list[Doc]]:
    """Return the wall seconds, and the Docs in order."""
    pieces = [texts[k : k + PIECE] for k in range(0, len(texts), PIECE)]

    def parse(piece: list[str]) -> list[Doc]:
        return [nlp(text) for text in piece] if one_by_one else list(nlp.pipe(piece))

    forget(nlp)
    began = time.perf_counter()
    if threads == 1:
        docs = [doc for piece in pieces for doc in parse(piece)]
    else:
        with ThreadPoolExecutor(threads) as pool:
            docs = [doc for found in pool.map(parse, pieces) for doc in found]
    return time.perf_counter() - began, docs


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", nargs="+", type=Path, required=True)
    parser.add_argument("--pipelines", nargs="+", default=["en_dtparse", "en_span"])
    parser.add_argument("--threads", nargs="+", type=int, default=[2, 8])
    parser.add_argument("--words", type=int, default=20_000, help="words of each text")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    texts = [text for path in options.text for text in paragraphs(path, options.words)]
    cores = len(os.sched_getaffinity(0))
    report: dict[str, Any] = {"cores": cores}
    for name in options.pipelines:
        nlp = load(name)
        gc.freeze()  # as a server should: exclude loaded objects from garbage collection
        for one_by_one in (False, True):
            call = "nlp(text)" if one_by_one else "nlp.pipe"
            expected = [bits(doc) for doc in work(nlp, texts, 1, one_by_one)[1]]
            best = dict.fromkeys((1, *options.threads), float("inf"))
            for _ in range(options.repeats):
                for threads in best:
                    seconds, docs = work(nlp, texts, threads, one_by_one)
                    best[threads] = min(best[threads], seconds)
                    different = sum(bits(doc) != was for doc, was in zip(docs, expected, strict=True))
                    if different:
                        raise SystemExit(f"{name}, {call}, {threads} threads: {different} of {len(docs)} Docs differ")
            tokens = sum(len(doc) for doc in docs)
            rates = {threads: round(tokens / seconds) for threads, seconds in best.items()}
            ratios = {threads: round(best[1] / seconds, 2) for threads, seconds in best.items()}
            message = f"tokens per second {rates}, times one thread {ratios}, {len(texts)} Docs equal"
            print(f"{name}, {call}: {message}", flush=True)
            report[f"{name} {call}"] = {"tokens": tokens, "rates": rates, "ratios": ratios}
    save(options, "threads", report)


if __name__ == "__main__":
    main()
