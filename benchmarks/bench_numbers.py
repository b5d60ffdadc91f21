"""Differences of costs and trees between types of CPU, simulated by numba's compilation targets, and their speed.

    python benchmarks/bench_numbers.py --text RAW/news.wikinews.txt --pipelines en_dtparse --sentences 10000

Each setting parses the same sentences of the text, with the tags of the pipeline under that setting, in a separate
process with separately compiled kernels: `host`, the CPU that numba detects; `avx2` and `sse2`, x86-64 CPUs with
vectors of 256 bits and fused multiply-add, and of 128 bits without; `generic`, any x86-64 CPU; `oldlibm`, like avx2,
but with the C library's functions for CPUs without fused multiply-add, as far as it has a choice. Prints for each how
many sentences have the same tags, trees and bit-identical costs as on the host, the largest difference of a cost in
equal trees, and the time relative to the host. `--twice` runs the last setting again, which must give the same results.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from itertools import chain, islice
from pathlib import Path
from typing import Any

from common import ROOT, save

SETTINGS: dict[str, dict[str, str]] = {
    "host": {},
    "avx2": {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""},
    "sse2": {"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": ""},
    "oldlibm": {
        "NUMBA_CPU_NAME": "x86-64-v3",
        "NUMBA_CPU_FEATURES": "",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-FMA,-FMA_Usable,-FMA4,-AVX512F",
    },
    "generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
}


def texts(path: Path, n_sentences: int) -> list[str]:
    """Return enough lines of the text for at least this many sentences."""
    lines = (line.strip() for line in path.open(encoding="utf8"))
    return list(islice((line for line in lines if len(line.split()) > 4), n_sentences))


def parse(name: str, lines: list[str], n_sentences: int) -> dict[str, Any]:
    """Parse with a pipeline: for each sentence tags, constituents with costs, heads; and the seconds."""
    import spacy_dtparse
    from spacy_dtparse import cost

    nlp = spacy_dtparse.load(name)
    splitter = spacy_dtparse.load("en_dtparse", exclude=["dtparse"])
    sents = chain.from_iterable(doc.sents for doc in splitter.pipe(lines))
    words = [[token.text for token in sent if not token.is_space] for sent in islice(sents, n_sentences)]
    from spacy.tokens import Doc

    docs = [Doc(nlp.vocab, words=one, sent_starts=[k == 0 for k in range(len(one))]) for one in words if one]
    pipes = [pipe for _, pipe in nlp.pipeline]
    for doc in docs[:50]:
        copy = doc.copy()
        for pipe in pipes:
            copy = pipe(copy)
    began = time.perf_counter()
    stream: Any = docs
    for pipe in pipes:
        stream = pipe.pipe(stream, batch_size=64)
    found = []
    for doc in stream:
        spans = doc._.constituents
        tree = [(span.start, span.end, span.label_) for span in spans]
        heads = [(token.head.i, token.dep_) for token in doc] if doc.has_annotation("DEP") else []
        found.append(([token.tag_ for token in doc], (tree, heads), [cost(span) for span in spans]))
    return {"found": found, "seconds": time.perf_counter() - began}


def run(setting: str, name: str, options: argparse.Namespace, folder: str) -> dict[str, Any]:
    """Run `parse` in a separate process."""
    out = Path(folder) / f"{setting}.pickle"
    cache = {"NUMBA_CACHE_DIR": f"{options.cache}/{setting}", "SPACY_DTPARSE_WAIT": "1"}
    environment = {**os.environ, **SETTINGS[setting], **cache}
    arguments = ["--text", str(options.text), "--sentences", str(options.sentences), "--inner", name, str(out)]
    subprocess.run([sys.executable, __file__, *arguments], check=True, env=environment)
    return pickle.loads(out.read_bytes())


def compare(here: dict[str, Any], there: dict[str, Any]) -> dict[str, Any]:
    """Count the sentences with equal tags, trees and costs, and return the largest difference of costs."""
    tags = trees = costs = 0
    largest = 0.0
    for (own_tags, own_tree, own), (tags_there, tree_there, theirs) in zip(here["found"], there["found"], strict=True):
        tags += own_tags == tags_there
        if own_tree != tree_there:
            continue
        trees += 1
        costs += own == theirs
        pairs = [(a, b) for a, b in zip(own, theirs, strict=True) if a is not None and b is not None]
        largest = max([largest, *(abs(a - b) for a, b in pairs)])
    return {
        "sentences": len(here["found"]),
        "tags": tags,
        "trees": trees,
        "costs": costs,
        "largest": largest,
        "time": here["seconds"] / there["seconds"],
    }


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--pipelines", nargs="+", default=["en_dtparse", "en_span"])
    parser.add_argument("--settings", nargs="+", default=["avx2", "sse2", "generic"], choices=list(SETTINGS)[1:])
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "numbers", help="folder of kernels")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--inner", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.inner:
        name, out = options.inner
        found = parse(name, texts(options.text, options.sentences), options.sentences)
        Path(out).write_bytes(pickle.dumps(found))
        return
    report: dict[str, Any] = {}
    for name in options.pipelines:
        with tempfile.TemporaryDirectory() as folder:
            host = run("host", name, options, folder)
            for setting in options.settings:
                here = run(setting, name, options, folder)
                report[f"{name} {setting}"] = compare(here, host)
                print(name, setting, json.dumps(report[f"{name} {setting}"]), flush=True)
            if options.twice:
                again = compare(run(options.settings[-1], name, options, folder), here)
                print(name, options.settings[-1], "once more", json.dumps(again), flush=True)
    save(options, "numbers", report)


if __name__ == "__main__":
    main()
