"""Sentences of hundreds and thousands of tokens: F1 and time by length, against one chart over the whole sentence.

    python benchmarks/bench_long.py --corpus FOLDER --names masc gum craft genia wsj [--pipeline FOLDER]
        [--tags predicted]

Such sentences are rare in treebanks, so they are composed of dev sentences, with gold tags or those of the pipeline.
*Clauses*: sentences without their final periods and capitals, joined by semicolons under one S, as in legal text.
*Lists*: noun phrases of 2 to 12 tokens, joined by commas and a final `and` under one NP. A sentence has parts of a
single treebank, and all treebanks have the same number of sentences. Columns: F1 of all brackets and of EVALB's; F1 of
the brackets within the parts; precision and recall of the other brackets, which join the parts; microseconds of CPU
time per token, the best of `--repeats`. *Chart* is one chart over the whole sentence (max_tokens = 100,000), up to
`--chart` tokens, because its time grows with the cube of the length. Last come real dev sentences of 61 to 200 tokens,
with smaller max_tokens.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from common import arguments, dev_sentences, save
from spacy.language import Language

from spacy_dtparse.core import Parser
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.scoring import CONVENTIONS, score_sentence
from spacy_dtparse.scoring.report import f1, ratio
from spacy_dtparse.trees import Tree
from training.data.evaluate import load_source, tag_lists

LENGTHS = (200, 400, 800, 1600, 2000)
ANY = 100_000
"""max_tokens of the parser that always uses one chart."""
Spans = list[tuple[int, int, str]]


class Long(NamedTuple):
    """A composed sentence, and the positions of its parts."""

    tree: Tree
    parts: list[int]
    """The index of the part of each token, -1 for none."""


class Part(NamedTuple):
    """Words, tags, and spans (from 0) of a clause or phrase."""

    words: list[str]
    tags: list[str]
    spans: Spans


def part_of(tree: Tree, start: int, end: int) -> Part:
    """Return the constituents within [start, end) without TOP; sentence-initial words are in lower case."""
    words, tags = list(tree.words[start:end]), list(tree.tags[start:end])
    if start == 0 and not tags[0].startswith("NNP") and words[0] != "I":
        words[0] = words[0][0].lower() + words[0][1:]
    spans = [(i - start, j - start, label) for i, j, label in tree.spans()[1:] if start <= i and j <= end]
    return Part(words, tags, spans)


def clauses(trees: Iterable[Tree]) -> list[Part]:
    """Return sentences of at least 5 tokens without their final period."""
    found = []
    for tree in trees:
        n = tree.n_tokens - 1
        if n >= 4 and tree.tags[n] == "." and "." not in tree.tags[:n] and len(tree.spans()) > 1:
            top = tree.spans()[1]
            if top[:2] == (0, n + 1) and top[2] == "S":
                spans = [(i, min(j, n), label) for i, j, label in tree.spans() if i < min(j, n)]
                found.append(part_of(Tree.from_spans(tree.words[:n], tree.tags[:n], spans), 0, n))
    return found


def phrases(trees: Iterable[Tree]) -> list[Part]:
    """Return maximal noun phrases of 2 to 12 tokens that have neither comma nor coordination."""
    found = []
    for tree in trees:
        end = 0
        for i, j, label in tree.spans():
            if label == "NP" and i >= end and 2 <= j - i <= 12 and not {",", ":", "CC"} & set(tree.tags[i:j]):
                found.append(part_of(tree, i, j))
                end = j
    return found


def joined(parts: Sequence[Part], kind: str) -> Long:
    """Join the parts to a sentence."""
    words, tags, spans = ([], [], []) if kind == "clauses" else (["They", "include"], ["PRP", "VBP"], [(0, 1, "NP")])
    first, numbers = len(words), dict[int, int]()
    for k, part in enumerate(parts):
        if k and kind == "clauses":
            words.append(";")
            tags.append(":")
        elif k:
            words += [",", "and"] if k == len(parts) - 1 else [","]
            tags += [",", "CC"] if k == len(parts) - 1 else [","]
        at = len(words)
        words += part.words
        tags += part.tags
        spans += [(i + at, j + at, label) for i, j, label in part.spans]
        numbers |= dict.fromkeys(range(at, len(words)), k)
    last = len(words)
    words.append(".")
    tags.append(".")
    n = len(words)
    above = [(0, n, "TOP"), (0, n, "S")]
    if kind == "lists":
        above += [(1, last, "VP"), (first, last, "NP")]
    return Long(Tree.from_spans(words, tags, [*above, *spans]), [numbers.get(t, -1) for t in range(n)])


def long_sentences(parts: Sequence[Part], kind: str, length: int, number: int) -> list[Long]:
    """Compose sentences of about `length` tokens from the parts in order, starting again after the last."""
    found: list[Long] = []
    some: list[Part] = []
    size = at = 0
    while parts and len(found) < number:
        part = parts[at % len(parts)]
        if some and size + len(part.words) + 1 > length:
            found.append(joined(some, kind))
            some, size = [], 0
            continue
        some.append(part)
        size += len(part.words) + 1
        at += 1
    return found


def halves(sentence: Long, tree: Tree) -> tuple[Counter, Counter]:
    """Return (brackets within a part, the others), without TOP."""
    within, others = Counter[tuple[int, int, str]](), Counter[tuple[int, int, str]]()
    for i, j, label in tree.spans()[1:]:
        one = set(sentence.parts[i:j])
        (within if len(one) == 1 and -1 not in one else others)[i, j, label] += 1
    return within, others


def measured(parser: Parser, sentences: Sequence[Long], repeats: int, nlp: Language | None = None) -> dict[str, Any]:
    """Measure F1 and time of a parser; `nlp`: pipeline whose tags replace those of the treebank."""
    words = [sentence.tree.words for sentence in sentences]
    tags = [sentence.tree.tags for sentence in sentences] if nlp is None else tag_lists(nlp, words)
    rows = [*zip(words, tags, strict=True)]
    tokens = sum(len(words) for words, _ in rows)
    parser.parse(*rows[0])
    seconds, trees = float("inf"), list[Tree]()
    for _ in range(repeats):
        began = time.process_time()
        trees = [parser.parse(*row).tree for row in rows]
        seconds = min(seconds, time.process_time() - began)
    facts: dict[str, Any] = {"sentences": len(rows), "tokens": tokens, "us": 1e6 * seconds / tokens}
    for convention in CONVENTIONS:
        scores = [score_sentence(one.tree, tree, convention) for one, tree in zip(sentences, trees, strict=True)]
        facts[convention.name] = f1(*(sum(s[k] for s in scores) for k in range(3)))
    sums = {True: [0, 0, 0], False: [0, 0, 0]}
    for one, tree in zip(sentences, trees, strict=True):
        for inner, gold, own in zip((True, False), halves(one, one.tree), halves(one, tree), strict=True):
            for k, counter in enumerate((gold & own, gold, own)):
                sums[inner][k] += counter.total()
    matched, gold_n, own_n = sums[False]
    return facts | {"within": f1(*sums[True]), "precision": ratio(matched, own_n), "recall": ratio(matched, gold_n)}


def with_chart(parser: Parser, max_tokens: int) -> Parser:
    """Return the parser, or its span model, with a chart up to `max_tokens` tokens."""
    if isinstance(parser, DtreeParser):
        span_parser = parser.span_parser.with_settings(max_tokens=max_tokens)
        return DtreeParser(parser.model, parser.settings, None, parser.compiled, span_parser)
    return parser.with_settings(max_tokens=max_tokens)


def show(name: str, length: str, facts: dict[str, Any]) -> None:
    """Print a row of the table."""
    shares = " | ".join(f"{100 * facts[key]:.2f}" for key in ("all", "evalb", "within", "precision", "recall"))
    print(f"| {name} | {length} | {facts['sentences']} | {shares} | {facts['us']:.1f} |", flush=True)


def main() -> None:
    """Measure, print, save."""
    options = arguments(__doc__)
    options.add_argument("--lengths", nargs="+", type=int, default=LENGTHS, help="lengths of the composed sentences")
    options.add_argument("--tokens", type=int, default=8000, help="minimum tokens per treebank, length and kind")
    options.add_argument("--repeats", type=int, default=2, help="passes over the sentences; the best counts")
    options.add_argument("--chart", type=int, default=800, help="maximum length for one chart")
    options.add_argument("--real", nargs="+", type=int, default=(30, 45, 60), help="max_tokens for real sentences")
    options.add_argument("--tags", choices=("gold", "predicted"), default="gold", help="tags that the parser is given")
    given = options.parse_args()
    parser, nlp = load_source(given.pipeline)
    tagger = nlp if given.tags == "predicted" else None
    sentences = dev_sentences(given)
    trees = {source: [one.tree for one in sentences if one.source == source] for source in given.names}
    facts: list[dict[str, Any]] = []
    print("| sentences | tokens | number | all | evalb | within | rest: precision | recall | µs per token |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")

    def measure(name: str, length: str, used: Parser, work: Sequence[Long]) -> None:
        facts.append({"name": name, "length": length, **measured(used, work, given.repeats, tagger)})
        show(name, length, facts[-1])

    makers: dict[str, Callable[[Iterable[Tree]], list[Part]]] = {"clauses": clauses, "lists": phrases}
    for kind, make in makers.items():
        parts = [make(some) for some in trees.values()]
        for length in given.lengths:
            number = -(-given.tokens // length)
            work = [one for some in parts for one in long_sentences(some, kind, length, number)]
            measure(kind, str(length), parser, work)
            if length <= given.chart:
                measure(f"{kind}, chart", str(length), with_chart(parser, ANY), work)
    real = [Long(tree, [0] * tree.n_tokens) for some in trees.values() for tree in some if 60 < tree.n_tokens <= 200]
    for max_tokens in (*given.real, ANY) if real else ():
        measure(
            "real" if max_tokens < ANY else "real, chart",
            f"max_tokens={max_tokens}",
            with_chart(parser, max_tokens),
            real,
        )
    save(given, "long", facts)


if __name__ == "__main__":
    main()
