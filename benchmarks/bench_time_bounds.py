"""Time per token on adversarial sentences, from ordinary lengths to 20,000 tokens.

    python benchmarks/bench_time_bounds.py [--pipelines NAME …] [--lengths 40 200 1000 5000 20000] [--steps 60]

Kinds of sentences: ordinary ones (of our everyday trees) joined to one, tokens in random order, repeated patterns, and
the result of a search: starting from the slowest pattern, it changes one token of a block of six at random, `--steps`
times, and keeps a change that makes parsing slower at 200 tokens. The timed code is the component on a tagged Doc. The
*ratio* of a length is the time per token of its slowest kind, divided by that of the slowest at 200 tokens or less.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import EVERYDAY_DEV, save
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse.trees import read_trees

SHORT, BLOCK = 200, 6
Items = list[tuple[str, str]]
PATTERNS = {
    "prepositions": "in/IN the/DT house/NN",
    "clauses": "that/IN he/PRP said/VBD",
    "coordination": "and/CC dogs/NNS",
    "nouns": "dog/NN",
    "infinitives": "to/TO try/VB",
    "brackets": "(/-LRB-",
    "unknown tags": "%%/XX",
}


class Timer:
    """Measures the seconds of a pipeline's last component."""

    def __init__(self, name: str):
        self.nlp: Any = spacy_dtparse.load(name)
        factories = [(pipe, self.nlp.get_pipe_meta(pipe).factory) for pipe in self.nlp.pipe_names]
        parsers = [pipe for pipe, factory in factories if factory in ("dtparse", "span_parser", "pcfgla", "bpm_parser")]
        self.before, self.last = [self.nlp.get_pipe(pipe) for pipe in parsers[:-1]], self.nlp.get_pipe(parsers[-1])

    def __call__(self, items: Items, repeats: int = 1) -> float:
        """Return the minimum of several measurements."""
        least = float("inf")
        for _ in range(repeats):
            words, tags = [word for word, _ in items], [tag for _, tag in items]
            doc = Doc(self.nlp.vocab, words=words, tags=tags, sent_starts=[k == 0 for k in range(len(items))])
            for pipe in self.before:
                doc = pipe(doc)
            began = time.perf_counter()
            self.last(doc)
            least = min(least, time.perf_counter() - began)
        return least


def cut(block: Items, length: int) -> Items:
    """Repeat a block up to this length."""
    return (block * (length // len(block) + 1))[:length]


def search(timer: Timer, block: Items, tokens: Items, steps: int, rng: random.Random) -> Items:
    """Search a slower block by hill climbing."""
    block = cut(block, BLOCK)
    most = timer(cut(block, SHORT), 3)
    for _ in range(steps):
        other = list(block)
        other[rng.randrange(BLOCK)] = rng.choice(tokens)
        seconds = timer(cut(other, SHORT), 3)
        if seconds > most:
            block, most = other, seconds
    return block


def kinds(rng: random.Random) -> tuple[dict[str, Callable[[int], Items]], Items]:
    """Return by kind a function that makes a sentence of a given length, and all tokens."""
    trees = list(read_trees(EVERYDAY_DEV))
    tokens = [pair for tree in trees for pair in zip(tree.words, tree.tags, strict=True)]
    start = rng.randrange(len(tokens))
    made: dict[str, Callable[[int], Items]] = {
        "ordinary": lambda length: cut(tokens[start:] + tokens[:start], length),
        "any order": lambda length: [rng.choice(tokens) for _ in range(length)],
    }
    for name, pattern in PATTERNS.items():
        block = [(word, tag) for word, tag in (pair.rsplit("/", 1) for pair in pattern.split())]
        made[name] = lambda length, block=block: cut(block, length)  # type: ignore[misc]
    return made, tokens


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pipelines", nargs="+", default=["en_dtparse", "en_span", "en_trees", "en_pcfgla", "en_bpm"])
    parser.add_argument("--lengths", nargs="+", type=int, default=[40, 200, 1000, 5000, 20000])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    report: dict[str, Any] = {}
    for name in options.pipelines:
        rng = random.Random(options.seed)
        timer, (made, tokens) = Timer(name), kinds(rng)
        timer(made["ordinary"](SHORT), 5)
        rates = {kind: [1e6 * timer(make(SHORT), 3) / SHORT] for kind, make in made.items() if kind in PATTERNS}
        worst = max(rates, key=lambda kind: rates[kind])
        found = search(timer, made[worst](BLOCK), tokens, options.steps, rng)
        print(f"{name}: found", *(f"{word}/{tag}" for word, tag in found))
        made["found"] = lambda length, found=found: cut(found, length)
        rates = {kind: [] for kind in made}
        for kind, make in made.items():
            for length in options.lengths:
                rates[kind].append(1e6 * timer(make(length), 3 if length <= 1000 else 1) / length)
        slowest = [max(own[k] for own in rates.values()) for k in range(len(options.lengths))]
        short = max(rate for rate, n in zip(slowest, options.lengths, strict=True) if n <= SHORT)
        print(f"{name}: microseconds per token at {options.lengths} tokens")
        for kind, own in rates.items():
            print(f"  {kind:24s}", *(f"{rate:8.1f}" for rate in own), flush=True)
        print(f"  {'ratio':24s}", *(f"{rate / short:8.2f}" for rate in slowest), flush=True)
        report[name] = {"rates": rates, "ratio": [rate / short for rate in slowest]}
    save(options, "time_bounds", report)


if __name__ == "__main__":
    main()
