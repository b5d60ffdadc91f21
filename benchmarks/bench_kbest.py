"""k-best lists: milliseconds by sentence length, and the accuracy of the best tree in a list.

    python benchmarks/bench_kbest.py [--parsers NAME ...] [--corpus FOLDER --names masc gum craft genia wsj]

Times are CPU time for sentences of 10, 25, 40, 80, 160 and 1,000 tokens (dev sentences of all treebanks joined and
cut to length, gold tags). The oracle chooses from each list the tree with the highest F1 (PARSEVAL, every bracket but
TOP): the score of a perfect choice among k trees. It parses dev sentences with tags of the pipeline, at most
`--max-sentences` of each treebank, at equal steps; everyday trees come first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from common import EVERYDAY_DEV, arguments, dev_sentences, percentile, save

import spacy_dtparse
from spacy_dtparse.cli.pipelines import get_component
from spacy_dtparse.scoring.parseval import ALL, score_sentence
from spacy_dtparse.scoring.report import f1
from spacy_dtparse.trees import Tree
from training.data.corpus import Sentence
from training.data.evaluate import tag_lists
from training.data.treebanks import TreebankFile, corpus_files

LENGTHS = (10, 25, 40, 80, 160, 1000)
SIZES = (1, 10, 100)


def times(parser: Any, sentences: Sequence[Sentence], count: int) -> list[dict[str, Any]]:
    """Return the milliseconds of a parse and of lists, median and 95th percentile, for LENGTHS; up to `count` sentences
    each, and a tenth of that for the longest."""
    words = [word for sentence in sentences for word in sentence.tree.words]
    tags = [tag for sentence in sentences for tag in sentence.tree.tags]
    rows = []
    for length in LENGTHS:
        pieces = [(words[at : at + length], tags[at : at + length]) for at in range(0, len(words) - length, length)]
        pieces = pieces[: count if length < 1000 else -(-count // 10)]
        row: dict[str, Any] = {"tokens": length, "sentences": len(pieces)}
        for k in SIZES if pieces else ():
            parser.parse_k_best(*pieces[0], k)  # allocate buffers of this size
            taken, trees = [], 0
            for piece in pieces:
                began = time.process_time()
                trees += len(parser.parse_k_best(*piece, k))
                taken.append(1000 * (time.process_time() - began))
            row[f"k={k}"] = {"median": percentile(taken, 0.5), "p95": percentile(taken, 0.95)}
            row[f"k={k}"]["trees"] = trees / len(taken)
        rows.append(row)
    return rows


def oracle(parser: Any, sentences: Sequence[Sentence], tags: Sequence[Sequence[str]], k: int) -> dict[str, Any]:
    """Return F1 and exact match in per cent, of first trees and of the best tree of each list; mean length of lists and
    the fraction of trees after the first whose rank is proven."""
    sums = {size: [0, 0, 0, 0] for size in (1, 2, 5, k)}
    trees = proven = 0
    for sentence, row in zip(sentences, tags, strict=True):
        found = parser.parse_k_best(sentence.tree.words, row, k)
        trees += len(found)
        proven += sum(one.status == "optimal" for one in found[1:])
        scored = [_scored(sentence.tree, one.tree) for one in found]
        for size, total in sums.items():
            best = max(scored[:size], key=lambda one: f1(*one[:3]))
            for place, number in enumerate(best):
                total[place] += number
    n = len(sentences)
    rows = {
        f"best of {size}": {"f1": 100 * f1(*total[:3]), "exact": 100 * total[3] / n} for size, total in sums.items()
    }
    return {"sentences": n, **rows, "trees": trees / n, "proven": proven / max(trees - n, 1)}


def _scored(gold: Tree, tree: Tree) -> tuple[int, int, int, int]:
    score = score_sentence(gold, tree, ALL)
    return score.matched, score.gold, score.predicted, int(score.exact)


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__)
    parser.add_argument("--parsers", nargs="+", default=["en_dtparse", "en_span", "en_trees"], help="embedded parsers")
    parser.add_argument("--max-sentences", type=int, default=300, help="sentences of each treebank for the oracle")
    parser.add_argument("--count", type=int, default=50, help="sentences of each length for times")
    parser.add_argument("--k", type=int, default=10, help="length of the oracle's lists")
    options = parser.parse_args()
    facts: dict[str, Any] = {}
    for name in options.parsers:
        nlp = spacy_dtparse.load(name)
        own = get_component(nlp).configured_parser.inner_parser
        facts[name] = {"times": times(own, dev_sentences(options), options.count), "oracle": {}}
        for row in facts[name]["times"]:
            cells = [f"{row[f'k={k}']['median']:.1f} ({row[f'k={k}']['p95']:.1f})" for k in SIZES if f"k={k}" in row]
            print(f"| {name} | {row['tokens']} | {' | '.join(cells)} |", flush=True)
        for file in (TreebankFile(EVERYDAY_DEV), *corpus_files(options.corpus, options.names, "dev")):
            sentences = file.read()
            sentences = sentences[:: max(1, len(sentences) // options.max_sentences)][: options.max_sentences]
            tags = tag_lists(nlp, (sentence.tree.words for sentence in sentences))
            found = oracle(own, sentences, tags, options.k)
            facts[name]["oracle"][file.path.parent.name] = found
            cells = [f"{row['f1']:.2f} ({row['exact']:.1f})" for row in found.values() if isinstance(row, dict)]
            about = f"{found['trees']:.1f} | {100 * found['proven']:.0f}"
            print(
                f"| {name} | {file.path.parent.name} | {found['sentences']} | {' | '.join(cells)} | {about} |",
                flush=True,
            )
    save(options, "kbest", facts)


if __name__ == "__main__":
    main()
