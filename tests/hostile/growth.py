"""How time grows with size: each function over Docs and trees of doubled sizes.

    python -m tests.hostile.growth [--only NAME …] [--size 1000] [--doublings 3]

A function is called for trees of five shapes and for ordinary sentences, for each size; the exponent is the slope of
CPU seconds over size between the last two sizes, on a logarithmic scale: 1 is linear, 2 quadratic. Prints a row for
each function and shape, and exits with 1 if an exponent is above 1.5 for a time of more than 50 ms.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import spacy
from spacy.tokens import Doc

import spacy_dtparse as dtparse
from spacy_dtparse.pipeline.writing import ParsedSentence, write_constituents
from spacy_dtparse.query import compile_pattern
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.bracket_writer import write_tree
from spacy_dtparse.trees.brackets import parse_trees

MAX_EXPONENT, MIN_SECONDS = 1.5, 0.05
SAMPLE = 50
"""Number of constituents for functions whose results are as long as a path."""
SENTENCE = (
    "(TOP (S (NP (NP (DT The) (NN man)) (PP (IN in) (NP (DT the) (NN house)))) (VP (VBD said) (SBAR (IN that) "
    "(S (NP (PRP she)) (VP (MD would) (VP (VB come)))))) (. .)))"
)
_VOCAB = spacy.blank("en").vocab


def make_tree(shape: str, n: int) -> Tree:
    """A tree of about n constituents: nested to the right or to the left, one chain, flat, or balanced."""
    if shape == "right":
        spans = [(k, n, "NP" if k % 2 else "VP") for k in range(n - 1)]
    elif shape == "left":
        spans = [(0, n - k, "NP" if k % 2 else "S") for k in range(n - 1)]
    elif shape == "chain":
        return Tree(["it"], ["PRP"], ["TOP", *["NP", "S"] * (n // 2)], [0] * (n // 2 * 2 + 1), [1] * (n // 2 * 2 + 1))
    elif shape == "flat":
        spans = [(0, n, "S"), *[(k, k + 1, "NP") for k in range(n)]]
    else:
        spans = [(0, n, "S"), *_balanced(0, n)]
    starts, ends, labels = zip(*spans, strict=True)
    tags = ["NN" if k % 3 else "VBD" for k in range(n)]
    return Tree([f"w{k % 50}" for k in range(n)], tags, ["TOP", *labels], [0, *starts], [n, *ends])


def _balanced(start: int, end: int) -> Iterator[tuple[int, int, str]]:
    todo = [(start, end)]
    while todo:
        start, end = todo.pop()
        yield start, end, "NP" if (end - start) % 2 else "VP"
        if end - start > 1:
            middle = (start + end) // 2
            todo += [(middle, end), (start, middle)]


def make_doc(tree: Tree) -> Doc:
    """A Doc of one sentence with the constituents of a tree."""
    doc = Doc(_VOCAB, words=tree.words, tags=tree.tags, sent_starts=[True] + [False] * (len(tree.words) - 1))
    write_constituents(doc, [ParsedSentence(0, len(doc), range(len(doc)), tree)])
    return doc


def doc_of_size(shape: str, n: int) -> Doc:
    """A Doc of about n constituents: one tree of a shape, or ordinary sentences of ten constituents each."""
    if shape != "sentences":
        return make_doc(make_tree(shape, n))
    tree, m = parse_trees(SENTENCE)[0], max(1, n // 10)
    length = len(tree.words)
    starts = [k % length == 0 for k in range(m * length)]
    doc = Doc(_VOCAB, words=tree.words * m, tags=tree.tags * m, sent_starts=starts)
    edges = range(0, m * length, length)
    write_constituents(doc, [ParsedSentence(k, k + length, range(k, k + length), tree) for k in edges])
    return doc


def _each(function: Callable[[Any], Any], sample: int | None = None) -> Callable[[Doc], Any]:
    """Call a function for every constituent, or for some."""

    def call(doc: Doc) -> None:
        spans = dtparse.constituents(doc)
        for span in spans if sample is None else spans[:: max(1, len(spans) // sample)]:
            function(span)

    return call


def _search(pattern: str) -> Callable[[Doc], Any]:
    return lambda doc: list(compile_pattern(pattern).search([dtparse.to_tree(doc[:])]))


def _clause_attributes(span: Any) -> None:
    if span.label_ == "S":
        for function in CLAUSE_FUNCTIONS:
            function(span)


CLAUSE_FUNCTIONS = (
    dtparse.subject, dtparse.verb, dtparse.objects, dtparse.clause_tokens, dtparse.clause_kind, dtparse.antecedent,
)  # fmt: skip
FUNCTIONS: dict[str, Callable[[Doc], Any]] = {
    "constituents": dtparse.constituents,
    "subconstituents": lambda doc: list(dtparse.subconstituents(doc[:])),
    "children": _each(lambda span: list(dtparse.children(span))),
    "parent": _each(dtparse.parent),
    "labels": _each(dtparse.labels),
    "head": _each(dtparse.head),
    "cost": _each(dtparse.cost),
    "phrase": _each(dtparse.phrase),
    "depth of some": _each(dtparse.depth, SAMPLE),
    "ancestors of some": _each(dtparse.ancestors, SAMPLE),
    "siblings of some": _each(dtparse.siblings, SAMPLE),
    "path of some": _each(lambda span: dtparse.path(span), SAMPLE),
    "lowest_common_ancestor of all": lambda doc: dtparse.lowest_common_ancestor(*dtparse.constituents(doc)),
    "parse_string": lambda doc: dtparse.parse_string(doc[:]),
    "to_tree": lambda doc: dtparse.to_tree(doc[:]),
    "read brackets": lambda doc: list(parse_trees(write_tree(dtparse.to_tree(doc[:])))),
    "c_commands of some": _each(lambda span: dtparse.c_commands(span, span.doc[-1]), SAMPLE),
    "clause attributes of some": _each(_clause_attributes, 10),
    "phrases": lambda doc: dtparse.phrases(doc, "NP"),
    "clauses": dtparse.clauses,
    "noun_chunks": dtparse.noun_chunks,
    "predicates": dtparse.predicates,
    "triples": dtparse.triples,
    "chunks": dtparse.chunks,
    "to_records": dtparse.to_records,
    "rows of tokens": lambda doc: dtparse.to_records(doc, "tokens"),
    "rows of clauses": lambda doc: dtparse.to_records(doc, "clauses"),
    "chunk_tags": dtparse.chunk_tags,
    "to_conllu": dtparse.to_conllu,
    "sentence_record": lambda doc: dtparse.sentence_record(doc[:]),
    "measure_syntax": dtparse.measure_syntax,
    "render tree": lambda doc: dtparse.render(doc, jupyter=False),
    "render text": lambda doc: dtparse.render(doc, style="text", jupyter=False),
    "as_doc": lambda doc: dtparse.as_doc(doc[:]),
    "NP << NP": _search("NP << NP"),
    "NP=a <<: (S > =a)": _search("NP=a <<: (S > =a)"),
    "NP=a <<: (S < =a)": _search("NP=a <<: (S < =a)"),
    "NP=a << (VP >> =a)": _search("NP=a << (VP >> =a)"),
}
SHAPES = ("right", "left", "chain", "flat", "balanced")


class Growth(NamedTuple):
    """The CPU seconds of a function for each of the sizes, smallest first."""

    name: str
    shape: str
    sizes: list[int]
    seconds: list[float]

    @property
    def exponent(self) -> float:
        """The slope between the first and the last size; between neighbours, noise would count too much."""
        first, last = (max(one, 1e-6) for one in (self.seconds[0], self.seconds[-1]))
        return math.log(last / first) / math.log(self.sizes[-1] / self.sizes[0])

    @property
    def is_too_steep(self) -> bool:
        return self.exponent > MAX_EXPONENT and self.seconds[-1] > MIN_SECONDS


def measure(name: str, shape: str, size: int, doublings: int) -> Growth:
    """Time a function; if it is too steep, again, up to three times: a busy machine may have slowed down one size."""
    for _ in range(3):
        found = measure_once(name, shape, size, doublings)
        if not found.is_too_steep:
            break
    return found


def measure_once(name: str, shape: str, size: int, doublings: int, max_seconds: float = 20.0) -> Growth:
    """Time a function; larger sizes are left out once one takes more than a fourth of `max_seconds`."""
    sizes, seconds = [], []
    for n in (size << k for k in range(doublings + 1)):
        doc = doc_of_size(shape, n)
        times = []
        for _ in range(3):
            began = time.process_time()
            FUNCTIONS[name](doc)
            times.append(time.process_time() - began)
        sizes.append(n)
        seconds.append(min(times))
        if seconds[-1] > max_seconds / 4 and len(sizes) > 1:
            break
    return Growth(name, shape, sizes, seconds)


def main() -> int:
    """Print the exponents; return 1 if one is too large."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.growth", description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=[*FUNCTIONS], metavar="NAME")
    parser.add_argument("--shapes", nargs="+", choices=(*SHAPES, "sentences"), default=(*SHAPES, "sentences"))
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--doublings", type=int, default=3)
    options = parser.parse_args()
    dtparse.register_extensions()
    too_steep = 0
    for name in options.only or FUNCTIONS:
        for shape in options.shapes:
            found = measure(name, shape, options.size, options.doublings)
            too_steep += found.is_too_steep
            times = " ".join(f"{one * 1000:.0f}" for one in found.seconds)
            note = "  TOO STEEP" if found.is_too_steep else ""
            print(f"{name:30} {shape:9} {found.exponent:5.2f}  {times} ms{note}", flush=True)
    return int(too_steep > 0)


if __name__ == "__main__":
    sys.exit(main())
