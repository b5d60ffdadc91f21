"""Raw text to trees: tokens per second of `nlp.pipe`, in total and by component, with one and several threads.

    python benchmarks/bench_pipeline.py --text FILE … [--pipelines NAME_OR_FOLDER …] [--threads 1 2] [--words 60000]

Components are measured in CPU time, whole pipelines in CPU and wall time, on paragraphs of each text. The pipelines are
measured in alternation, `--repeats` times; the best of each is reported. Trees and tags must not depend on
`--threads`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import spacy
from common import save
from spacy.language import Language
from spacy.tokens import Doc

import spacy_dtparse


def paragraphs(path: Path, words: int) -> list[str]:
    """Return paragraphs of a text, with about this many words in total."""
    found, total = [], 0
    with path.open(encoding="utf8") as lines:
        for line in lines:
            if total >= words:
                break
            if line.strip():
                found.append(line.strip())
                total += len(line.split())
    return found


def load(name: str) -> Language:
    return spacy.load(name) if Path(name).exists() else spacy_dtparse.load(name)


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    done = work()
    return time.process_time() - began, done


def forget(nlp: Language) -> None:
    """Empty the tokenizer's cache of words, so that it does not speed up repetitions."""
    tokenizer: Any = nlp.tokenizer
    tokenizer.rules = tokenizer.rules


def by_component(nlp: Language, texts: list[str]) -> tuple[dict[str, float], int]:
    """Return the CPU seconds of each component, and the number of tokens."""
    forget(nlp)
    seconds, docs = cpu(lambda: [nlp.make_doc(text) for text in texts])
    found = {"tokenizer": seconds}
    for name, pipe in nlp.pipeline:
        found[name], docs = cpu(partial(_through, pipe, docs))
    return found, sum(map(len, docs))


def _all(nlp: Language, texts: list[str]) -> list[Doc]:
    return list(nlp.pipe(texts))


def _through(pipe: Any, docs: list[Doc]) -> list[Doc]:
    return list(pipe.pipe(docs)) if hasattr(pipe, "pipe") else [pipe(doc) for doc in docs]


def answers(docs: list[Doc]) -> list[Any]:
    return [
        ([token.tag_ for token in doc], [(s.start, s.end, s.label_) for s in doc.spans.get("constituents", [])])
        for doc in docs
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="UTF-8, a paragraph per line")
    parser.add_argument("--pipelines", nargs="+", default=["en_dtparse"], help="names, or folders of pipelines")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="threads of the last component")
    parser.add_argument("--words", type=int, default=20_000, help="words of each text (default: 20000)")
    parser.add_argument("--repeats", type=int, default=3, help="default: 3")
    parser.add_argument("--out", type=Path, help="JSON file (default: build/bench/pipeline.json)")
    options = parser.parse_args()
    loaded = {name: load(name) for name in options.pipelines}
    results = []
    for text in options.text:
        texts = paragraphs(text, options.words)
        for nlp in loaded.values():
            list(nlp.pipe(texts[:20]))  # compiles and loads kernels
        best: dict[tuple[str, str], float] = {}
        tokens: dict[str, int] = {}
        for _ in range(options.repeats):
            for name, nlp in loaded.items():
                seconds, tokens[name] = by_component(nlp, texts)
                first = None
                for threads in options.threads:
                    last = nlp.pipeline[-1][1]
                    if hasattr(last, "threads"):
                        last.threads = threads
                    forget(nlp)
                    began = time.perf_counter()
                    spent, docs = cpu(partial(_all, nlp, texts))
                    seconds[f"all, {threads} threads: wall"] = time.perf_counter() - began
                    seconds[f"all, {threads} threads: CPU"] = spent
                    first = first or answers(docs)
                    if answers(docs) != first:
                        sys.exit(f"{name}: another result with {threads} threads")
                for part, value in seconds.items():
                    best[name, part] = min(value, best.get((name, part), value))
        for (name, part), value in best.items():
            row = {"text": text.name, "pipeline": name, "part": part, "tokens_per_second": round(tokens[name] / value)}
            row["microseconds"] = round(1e6 * value / tokens[name], 2)
            results.append(row)
            print(row, flush=True)
    save(options, "pipeline", results)


if __name__ == "__main__":
    main()
