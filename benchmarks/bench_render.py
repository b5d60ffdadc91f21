"""Time of `render`: milliseconds per sentence for each style, on dev sentences and on one with 60 tokens.

    python benchmarks/bench_render.py --repeats 20

Docs with gold trees; CPU time of the calling thread, the median over the passes. The long sentence joins dev trees,
up to 60 tokens.
"""

from __future__ import annotations

import statistics
import time
from itertools import accumulate

from common import arguments, dev_sentences, save
from spacy.tokens import Doc
from spacy.vocab import Vocab

import spacy_dtparse
from spacy_dtparse.pipeline.writing import ParsedSentence, write_constituents
from spacy_dtparse.trees import TOP, Tree

LONG = 60


def doc_of(tree: Tree, vocab: Vocab) -> Doc:
    """Return a Doc of one sentence with the tree as its parse."""
    doc = Doc(vocab, words=list(tree.words), tags=list(tree.tags))
    write_constituents(doc, [ParsedSentence(0, len(doc), range(len(doc)), tree)])
    return doc


def joined(trees: list[Tree], n_tokens: int) -> Tree:
    """Return the first trees under one root, truncated to this number of tokens."""
    words = [word for tree in trees for word in tree.words][:n_tokens]
    tags = [tag for tree in trees for tag in tree.tags][:n_tokens]
    offsets = [0, *accumulate(tree.n_tokens for tree in trees)]
    spans = [
        (start + offset, min(end + offset, n_tokens), label)
        for tree, offset in zip(trees, offsets, strict=False)
        for start, end, label in tree.spans()[1:]
        if start + offset < n_tokens
    ]
    return Tree.from_spans(words, tags, [(0, n_tokens, TOP), *spans])


def milliseconds(docs: list[Doc], style: str, repeats: int) -> float:
    """Return the milliseconds of `render` per sentence, the median over the passes."""
    passes = []
    for _ in range(repeats):
        began = time.thread_time()
        for doc in docs:
            spacy_dtparse.render(doc, style=style)
        passes.append(1000 * (time.thread_time() - began) / len(docs))
    return statistics.median(passes)


def main() -> None:
    """Measure, print and save."""
    parser = arguments(__doc__)
    parser.add_argument("--repeats", type=int, default=20, help="passes over the sentences (default: %(default)s)")
    options = parser.parse_args()
    trees, vocab = [sentence.tree for sentence in dev_sentences(options)], Vocab()
    docs = {"dev": [doc_of(tree, vocab) for tree in trees], "long": [doc_of(joined(trees, LONG), vocab)]}
    facts: dict[str, float] = {"tokens_per_sentence": sum(map(len, docs["dev"])) / len(docs["dev"])}
    for name, some in docs.items():
        for style in ("tree", "spans", "text"):
            facts[f"{name}_{style}_ms"] = milliseconds(some, style, options.repeats)
    for name, value in facts.items():
        print(f"{name:24} {value:8.3f}")
    save(options, "render", facts)


if __name__ == "__main__":
    main()
