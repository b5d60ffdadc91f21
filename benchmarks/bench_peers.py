"""Tokens per second of other parsers' shapes on raw text, beside our pipelines, in one run.

    python benchmarks/bench_peers.py --text FILE … [--pipelines en_dtparse en_span] [--words 20000] [--repeats 3]

Weights do not change how long a network of fixed size takes, so the peer is not trained: `spacy cnn` is the shape of
spaCy's small English pipeline (tok2vec of width 96 and depth 4, tagger of 50 tags, parser of 45 labels), which makes
dependencies and no constituents. Figures are tokens per second of CPU time and of wall time.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spacy
from bench_pipeline import forget, load, paragraphs
from common import save
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example


def spacy_cnn(texts: list[str]) -> Language:
    """spaCy's tok2vec, tagger and parser in the sizes of its small English pipeline."""
    nlp = spacy.blank("en")
    cnn = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": 96, "depth": 4,
           "embed_size": 2000, "window_size": 1, "maxout_pieces": 3, "subword_features": True}  # fmt: skip
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "*"}
    nlp.add_pipe("tok2vec", config={"model": cnn})
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}})
    state = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "parser", "extra_state_tokens": False,
             "hidden_width": 64, "maxout_pieces": 2, "use_upper": True, "tok2vec": listener}  # fmt: skip
    nlp.add_pipe("parser", config={"model": state})
    rng, examples = random.Random(0), []
    for text in texts[:200]:
        doc = nlp.make_doc(text)
        n = len(doc)
        heads = [max(0, place - 1) for place in range(n)]
        deps = ["ROOT" if place == 0 else f"d{place % 45}" for place in range(n)]
        gold = Doc(nlp.vocab, words=[token.text for token in doc], heads=heads, deps=deps,
                   tags=[f"T{rng.randrange(50)}" for _ in doc])  # fmt: skip
        examples.append(Example(doc, gold))
    nlp.initialize(lambda: examples)
    return nlp


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="UTF-8, a paragraph per line")
    parser.add_argument("--pipelines", nargs="+", default=["en_dtparse", "en_span"], help="names, or folders")
    parser.add_argument("--words", type=int, default=20_000, help="words of each text (default: 20000)")
    parser.add_argument("--repeats", type=int, default=3, help="default: 3")
    parser.add_argument("--out", type=Path, help="JSON file (default: build/bench/peers.json)")
    options = parser.parse_args()
    sources = {path.name: paragraphs(path, options.words) for path in options.text}
    first = next(iter(sources.values()))
    pipelines = {name: load(name) for name in options.pipelines} | {"spacy cnn": spacy_cnn(first)}
    systems: dict[str, Callable[[list[str]], Any]] = {
        name: lambda texts, nlp=nlp: (forget(nlp), sum(1 for _ in nlp.pipe(texts))) for name, nlp in pipelines.items()
    }
    blank, results = spacy.blank("en"), []
    for source, texts in sources.items():
        tokens = sum(len(blank.make_doc(text)) for text in texts)
        best = dict.fromkeys(systems, (float("inf"), float("inf")))
        for _ in range(options.repeats + 1):  # the first compiles and fills caches
            for name, run in systems.items():
                began = time.process_time(), time.perf_counter()
                run(texts)
                spent = time.process_time() - began[0], time.perf_counter() - began[1]
                best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
        for name, seconds in best.items():
            by_cpu, by_wall = (round(tokens / spent) for spent in seconds)
            row = {"text": source, "system": name, "tokens_per_cpu_second": by_cpu, "tokens_per_wall_second": by_wall}
            results.append(row)
            print(results[-1], flush=True)
    save(options, "peers", results)


if __name__ == "__main__":
    main()
