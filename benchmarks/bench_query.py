"""Tree patterns: patterns times sentences per second, compared with nltk's tgrep.

    python benchmarks/bench_query.py --trees FILE … [--sentences 10000] [--nltk-sentences 500]
    python benchmarks/bench_query.py --text FILE … [--sentences 10000] [--nltk-sentences 500]

Trees come from bracketed files, or from interleaved paragraphs of raw texts, which the pipeline parses first.
`PATTERNS` mean the same in both languages; on the sentences that nltk searches, both must find the same number of nodes
(words excluded). Patterns are compiled and trees are built before the timing, nltk's as ParentedTree. Our time has two
parts: building the table of nodes, once, and searching all patterns; *with names* also returns the nodes bound to
names, which is not measured for nltk. *Docs* is `ConstituentMatcher.pipe` over the same sentences as Docs of ten
sentences; it reads the Docs in every repetition. CPU time of one process, the best of `--repeats`; nltk is timed once,
on a subset of --nltk-sentences sentences at equal steps.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import spacy
from bench_pipeline import paragraphs
from common import arguments, save

from spacy_dtparse import ConstituentMatcher
from spacy_dtparse.pipeline.attributes import trees as trees_of
from spacy_dtparse.pipeline.corpus import doc_from_trees
from spacy_dtparse.query import Forest, Matching, Pattern, compile_pattern
from spacy_dtparse.trees import Tree, read_trees, write_tree

PATTERNS = (
    "NP", "/^NP/ < DT", "NP < NN < JJ", "NP !< DT", "S < (NP $.. VP)", "S < NP < (VP < MD)", "VP < (VP < VBN)",
    "NP < (PP < (IN < of))", "PP << NP", "NN >> VP", "NP !<< NN", "VP <, MD", "NP <- NNS", "NP <: PRP", "SBAR <: S",
    "JJ $. NN", "CC $, NP", "DT . NN", "NN .. VBD", "NP , VBD", "NP ,, VP", "S <<, CC", "VP <<: VB", "NP >2 VP",
    "NP [< JJ | < CD] > VP", "NP < NP | < SBAR", "VP < VBD !< NP !< PP", "NN|NNS < /ing$/",
    "S < (VP < (VB < go|come)) !<< PP", "NP <1 (NP <- NN) <2 (PP <1 IN)",
)  # fmt: skip
NAMED = ("NP=a < (PP=b < IN=c)", "S < NP=subject < (VP=predicate < MD=modal)", "NP=a $+ VP=b", "VP=a << PP=b")


def main() -> None:
    parser = arguments(__doc__, corpus=False)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--trees", type=Path, nargs="+", help="files of bracketed trees")
    source.add_argument("--text", type=Path, nargs="+", help="raw texts that the pipeline parses")
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--nltk-sentences", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    trees = list(islice(sentences(options), options.sentences))
    tokens = sum(len(tree.words) for tree in trees)
    print(f"{len(trees)} sentences, {tokens} tokens, {len(PATTERNS)} patterns", file=sys.stderr)

    patterns = [compile_pattern(text) for text in PATTERNS]
    built, forest = best(options.repeats, lambda: Forest(trees))
    searched, found = best(options.repeats, lambda: search(Forest(trees), patterns))
    again, _ = best(options.repeats, lambda: search(forest, patterns))
    named, ways = best(options.repeats, lambda: names(Forest(trees)))
    facts: dict[str, Any] = {
        "sentences": len(trees),
        "tokens": tokens,
        "patterns": len(PATTERNS),
        "matches": sum(map(len, found)),
        "table_seconds": built,
        "table_and_search_seconds": searched,
        "search_again_seconds": again,
        "per_second": len(trees) * len(patterns) / searched,
        "with_names": {"patterns": len(NAMED), "matches": ways, "per_second": len(trees) * len(NAMED) / named},
        "docs": {"per_second": len(trees) * len(patterns) / docs(trees, options.repeats)},
    }
    facts["nltk"] = against_nltk(trees[:: max(len(trees) // options.nltk_sentences, 1)], patterns)
    facts["ratio"] = facts["per_second"] / facts["nltk"]["per_second"]
    for name in ("per_second", "with_names", "docs", "nltk", "ratio"):
        print(f"{name}: {facts[name]}")
    save(options, "query", facts)


def sentences(options: Any) -> Iterator[Tree]:
    """Return the trees selected by the options."""
    if options.trees:
        yield from chain.from_iterable(map(read_trees, options.trees))
        return
    nlp = spacy.load(options.pipeline)
    each = options.sentences * 40 // len(options.text)
    texts = chain.from_iterable(zip(*(paragraphs(path, each) for path in options.text), strict=False))
    for doc in nlp.pipe(texts):
        yield from trees_of(doc)


def best(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the minimum CPU seconds of several repetitions, and the last result."""
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        found = work()
        seconds.append(time.process_time() - began)
    return min(seconds), found


def search(forest: Forest, patterns: list[Pattern]) -> list[Any]:
    matching = Matching(forest)
    return [matching.nodes(pattern.parsed) for pattern in patterns]


def names(forest: Forest) -> int:
    """Count the matches with bound names."""
    matching = Matching(forest)
    return sum(1 for text in NAMED for _ in matching.ways(compile_pattern(text).parsed))


def docs(trees: list[Tree], repeats: int) -> float:
    """Return the seconds of the matcher over Docs."""
    vocab = spacy.blank("en").vocab
    parsed = [doc_from_trees(trees[k : k + 10], vocab) for k in range(0, len(trees), 10)]
    matcher = ConstituentMatcher(vocab)
    for text in PATTERNS:
        matcher.add(text, [text])
    return best(repeats, lambda: sum(len(matches) for _, matches in matcher.pipe(parsed)))[0]


def against_nltk(trees: list[Tree], patterns: list[Pattern]) -> dict[str, Any]:
    """Time nltk on the same patterns and some of the trees. Raises AssertionError if it finds other nodes."""
    warnings.simplefilter("ignore")
    from nltk import __version__, tgrep
    from nltk.tree import ParentedTree

    theirs = [ParentedTree.fromstring(write_tree(tree)) for tree in trees]
    compiled = [tgrep.tgrep_compile(text) for text in PATTERNS]
    began = time.process_time()
    found = [[list(places) for places in tgrep.tgrep_positions(pattern, theirs)] for pattern in compiled]
    seconds = time.process_time() - began
    forest = Forest(trees)
    for pattern, places in zip(patterns, found, strict=True):
        ours = pattern.nodes(forest)
        ours = ours[forest.n_children[ours] > 0]
        nodes = (tree[place] for tree, some in zip(theirs, places, strict=True) for place in some)
        count = sum(not isinstance(node, str) for node in nodes)
        assert len(ours) == count, f"{pattern.source}: {len(ours)} nodes here, {count} in nltk"
    per_second = len(trees) * len(compiled) / seconds
    return {"version": __version__, "sentences": len(trees), "seconds": seconds, "per_second": per_second}


if __name__ == "__main__":
    main()
