"""Tokens per second of architectures of other parsers on raw text, compared with our pipelines in one run.

    python benchmarks/bench_peers.py --text FILE … [--pipelines en_dtparse en_span] [--words 20000] [--repeats 3]
        [--torch benepar stanza]

The run time of a network of fixed size does not depend on its weights, so the peer is not trained: `spacy cnn` has the
architecture of spaCy's small English pipeline (tok2vec of width 96 and depth 4, tagger of 50 tags, parser of 45
labels), which builds dependencies and no constituents. The results are tokens per second of CPU time and of wall time,
and the ratio of the first pipeline's speed (CPU time) to the system's.

`--torch` adds other constituency parsers on one thread, also untrained; see torch_peers.py. They need an environment
with `pip install benepar stanza "transformers<5"`, and minutes for a few thousand `--words`.
"""

from __future__ import annotations

import argparse
import random
import tempfile
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
from torch_peers import benepar_shape, one_thread, sentences, stanza_shape

Run = Callable[[], Any]
TRAINING = 100_000
"""Number of words of each text for training benepar's tokenizer."""


def spacy_cnn(texts: list[str]) -> Language:
    """Build spaCy's tok2vec, tagger and parser in the sizes of its small English pipeline."""
    nlp = spacy.blank("en")
    cnn = {
        "@architectures": "spacy.HashEmbedCNN.v2",
        "pretrained_vectors": None,
        "width": 96,
        "depth": 4,
        "embed_size": 2000,
        "window_size": 1,
        "maxout_pieces": 3,
        "subword_features": True,
    }
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "*"}
    nlp.add_pipe("tok2vec", config={"model": cnn})
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}})
    state = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "parser",
        "extra_state_tokens": False,
        "hidden_width": 64,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": listener,
    }
    nlp.add_pipe("parser", config={"model": state})
    rng, examples = random.Random(0), []
    for text in texts[:200]:
        doc = nlp.make_doc(text)
        n = len(doc)
        heads = [max(0, place - 1) for place in range(n)]
        deps = ["ROOT" if place == 0 else f"d{place % 45}" for place in range(n)]
        gold = Doc(
            nlp.vocab,
            words=[token.text for token in doc],
            heads=heads,
            deps=deps,
            tags=[f"T{rng.randrange(50)}" for _ in doc],
        )
        examples.append(Example(doc, gold))
    nlp.initialize(lambda: examples)
    return nlp


def torch_peers(names: list[str], path: Path, docs: list[Doc], folder: Path) -> dict[str, tuple[Run, dict[str, Any]]]:
    """Return by name: a function that parses the sentences of `docs`, and facts with the number of their tokens."""
    found, longer = sentences(docs)
    shared = {"tokens": sum(len(sentence.words) for sentence in found), "longer_sentences": longer}
    peers = {}
    if "benepar" in names:
        run, facts = benepar_shape(found, paragraphs(path, TRAINING), folder)
        peers["benepar, not trained"] = run, shared | facts
    if "stanza" in names:
        run, facts = stanza_shape(found)
        peers["stanza, not trained"] = run, shared | facts
    return peers


def by_turns(
    systems: dict[str, Run], repeats: int, before: Callable[[str], None] = lambda _: None
) -> dict[str, tuple[float, float]]:
    """Return the minimum CPU and wall seconds of each; an extra first round fills caches; `before` is not timed."""
    best = dict.fromkeys(systems, (float("inf"), float("inf")))
    for _ in range(repeats + 1):
        for name, run in systems.items():
            before(name)
            began = time.process_time(), time.perf_counter()
            run()
            spent = time.process_time() - began[0], time.perf_counter() - began[1]
            best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
    return best


def rows(source: str, best: dict[str, tuple[float, float]], facts: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each system; its facts include its `tokens`. Ratios are relative to the first system."""
    found: list[dict[str, Any]] = []
    for name, (cpu, wall) in best.items():
        tokens = facts[name]["tokens"]
        row = {"text": source, "system": name} | facts[name]
        row |= {"tokens_per_cpu_second": round(tokens / cpu), "tokens_per_wall_second": round(tokens / wall)}
        row |= {"cpu_microseconds": round(1e6 * cpu / tokens, 1), "wall_microseconds": round(1e6 * wall / tokens, 1)}
        first = found[0] if found else row
        row["first_is_faster"] = round(row["cpu_microseconds"] / first["cpu_microseconds"], 2)
        found.append(row)
    return found


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="UTF-8, a paragraph per line")
    parser.add_argument("--pipelines", nargs="+", default=["en_dtparse", "en_span"], help="names, or folders")
    parser.add_argument("--torch", nargs="+", choices=["benepar", "stanza"], default=[], help="parsers that torch runs")
    parser.add_argument("--words", type=int, default=20_000, help="words of each text (default: 20000)")
    parser.add_argument("--repeats", type=int, default=3, help="default: 3")
    parser.add_argument("--out", type=Path, help="JSON file (default: build/bench/peers.json)")
    options = parser.parse_args()
    if options.torch:
        one_thread()
    sources = {path: paragraphs(path, options.words) for path in options.text}
    pipelines = {name: load(name) for name in options.pipelines}
    reader = next(iter(pipelines.values()))
    pipelines["spacy cnn, not trained"] = spacy_cnn(next(iter(sources.values())))

    def forgetting(name: str) -> None:
        if name in pipelines:
            forget(pipelines[name])

    blank, results = spacy.blank("en"), []
    for path, texts in sources.items():
        systems: dict[str, Run] = {
            name: lambda texts=texts, nlp=nlp: sum(1 for _ in nlp.pipe(texts)) for name, nlp in pipelines.items()
        }
        tokens = sum(len(blank.make_doc(text)) for text in texts)
        facts: dict[str, dict[str, Any]] = {name: {"tokens": tokens} for name in systems}
        with tempfile.TemporaryDirectory() as folder:
            if options.torch:
                peers = torch_peers(options.torch, path, list(reader.pipe(texts)), Path(folder))
                systems |= {name: run for name, (run, _) in peers.items()}
                facts |= {name: known for name, (_, known) in peers.items()}
            for row in rows(path.name, by_turns(systems, options.repeats, forgetting), facts):
                results.append(row)
                print(row, flush=True)
    save(options, "peers", results)


if __name__ == "__main__":
    main()
