"""Memory of a pipeline: during loading and the first parse, on a stream, and shared by two forked processes.

    python benchmarks/bench_memory.py --text FILE … [--pipelines NAME …] [--sentences 1000000] [--docs 10] [--zones 0 1]

Each line of output is measured in a separate process. A stream repeats the lines of the texts as documents of about
--docs sentences, half of which contain a new word; `nlp.pipe` is given a generator. RSS is measured every 20,000
sentences. With zones, every 200 documents are parsed in a `nlp.memory_zone()`, so that the StringStore does not grow.
The pipeline "blank" is only spaCy's tokenizer, to measure spaCy's part of the growth.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from common import save

EVERY = 20_000


def status(name: str, file: str = "/proc/self/status") -> float:
    """Return the value of a line of the process's status, in MB."""
    for line in Path(file).read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise ValueError(name)


def first(name: str) -> dict[str, Any]:
    """Measure the peak memory after imports, after loading and after the first parse."""
    import spacy

    facts: dict[str, Any] = {"spacy": status("VmHWM")}
    nlp = load(name)
    facts["loaded"] = status("VmHWM")
    nlp("The cat sat on the mat, and nobody said a word about it.")
    facts["first parse"] = status("VmHWM")
    assert spacy
    return facts


def load(name: str) -> Any:
    """Load a packaged pipeline, or, as "blank", only spaCy's tokenizer and rule-based sentence boundaries."""
    if name == "blank":
        import spacy

        nlp = spacy.blank("en")
        nlp.add_pipe("sentencizer")
        return nlp
    import spacy_dtparse

    return spacy_dtparse.load(name)


def stream(lines: list[str], per_doc: int) -> Iterator[str]:
    """Yield an endless stream of documents with this many sentences, half of which have a unique word."""
    numbered = (f"{line} Case{number} ended." for number, line in enumerate(cycle(lines)))
    while True:
        yield " ".join(islice(numbered, max(per_doc // 2, 1)))


def streamed(name: str, sentences: list[str], most: int, per_doc: int, zones: bool) -> dict[str, Any]:
    """Measure RSS every 20,000 sentences, the peak, and sentences per second."""
    nlp = load(name)
    list(nlp.pipe(sentences[:200]))
    rss, done, next_look = [], 0, EVERY
    texts = stream(sentences, per_doc)
    began = time.perf_counter()
    while done < most:
        with nlp.memory_zone() if zones else nullcontext():
            for doc in nlp.pipe(islice(texts, 200) if zones else texts):
                done += sum(1 for _ in doc.sents)
                if done >= next_look:
                    rss.append(round(status("VmRSS"), 1))
                    next_look += EVERY
                if done >= most and not zones:
                    break
    seconds = time.perf_counter() - began
    facts = {"sentences": done, "per second": round(done / seconds), "rss": rss, "peak": round(status("VmHWM"), 1)}
    return {**facts, "strings": len(nlp.vocab.strings), "growth": round(max(rss) / rss[0] - 1, 3)}


def forked(name: str) -> dict[str, Any]:
    """Measure private and shared memory of two processes, forked from one that has parsed, after each has parsed."""
    import gc

    nlp = load(name)
    nlp("The cat sat on the mat.")
    gc.freeze()
    facts: dict[str, Any] = {"parent": round(status("VmRSS"), 1)}
    for number in range(2):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            nlp("Two dogs slept under the old table, and one of them dreamt.")
            own = {field: status(field, "/proc/self/smaps_rollup") for field in ("Rss", "Pss", "Private_Dirty")}
            os.write(writing, json.dumps(own).encode())
            os._exit(0)
        os.waitpid(child, 0)
        facts[f"fork {number}"] = {key: round(value, 1) for key, value in json.loads(os.read(reading, 10_000)).items()}
    return facts


def run(job: list[Any]) -> dict[str, Any]:
    """Run one measurement in a separate process."""
    done = subprocess.run([sys.executable, __file__, "--job", json.dumps(job)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(job[0], job[1], *job[3:], json.dumps(found), flush=True)
    return found


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--text", nargs="+", type=Path, default=[])
    parser.add_argument("--pipelines", nargs="+", default=["en_dtparse", "en_span"])
    parser.add_argument("--sentences", type=int, default=1_000_000, help="0: no stream")
    parser.add_argument("--docs", nargs="+", type=int, default=[10], help="sentences per document")
    parser.add_argument("--zones", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.job:
        kind, name, *rest = json.loads(options.job)
        if kind == "stream":
            rest[0] = [line for path in rest[0] for line in Path(path).read_text().splitlines() if line.strip()][:3000]
        print(json.dumps({"first": first, "forked": forked, "stream": streamed}[kind](name, *rest)))
        return
    report = {}
    for name in options.pipelines:
        jobs = [["first", name], ["forked", name]]
        texts = [str(path) for path in options.text]
        sizes = [(docs, bool(zone)) for docs in options.docs for zone in options.zones if options.sentences]
        jobs += [["stream", name, texts, options.sentences, docs, zone] for docs, zone in sizes]
        report[name] = [[job[0], job[3:], run(job)] for job in jobs]
    save(options, "memory", report)


if __name__ == "__main__":
    main()
