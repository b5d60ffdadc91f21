"""Score parses against a treebank: PARSEVAL by two conventions, all brackets and EVALB's."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import DtparseError
from ..files import atomic_write
from ..trees.bad_input import on_error
from .bad_input import add_errors_argument, report_skipped
from .language import LanguageWarning
from .pipelines import (
    add_pipeline_arguments,
    get_component,
    load_chosen_pipeline,
    natural_number,
    positive_number,
    sentence_pipes,
)
from .progress import Progress
from .tree_files import read_aligned_trees

if TYPE_CHECKING:
    from spacy.language import Language

    from ..trees.tree import Tree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse evaluate`."""
    parser.add_argument("gold", metavar="GOLD", help="a file of bracketed trees")
    parser.add_argument(
        "predicted",
        nargs="?",
        metavar="PREDICTED",
        help="a file of bracketed trees of the same sentences (default: parse the sentences of GOLD)",
    )
    parser.add_argument(
        "--tags",
        choices=("gold", "predicted"),
        default="predicted",
        help="parts of speech to parse with: the treebank's, or the pipeline's (default)",
    )
    parser.add_argument("--output", metavar="FILE", help="also write the predicted trees there")
    parser.add_argument(
        "--limit", type=natural_number, default=0, metavar="N", help="maximum number of sentences; 0 is all"
    )
    parser.add_argument("--json", action="store_true", help="all scores as JSON")
    parser.add_argument("--n-process", type=positive_number, default=1, metavar="N", help="processes (default: 1)")
    add_errors_argument(parser)
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print the scores."""
    from ..scoring import score_trees
    from ..trees.bracket_writer import write_tree

    skipped: list[DtparseError] = []
    read = read_aligned_trees(options.gold, on_error(options.errors), skipped, options.limit)
    if options.predicted is not None:
        others = read_aligned_trees(options.predicted, on_error(options.errors), skipped, options.limit)
        if len(others) != len(read):
            raise DtparseError(
                f"{options.gold} has {len(read)} trees and {options.predicted} {len(others)}; give one "
                "predicted tree per gold tree, in the same order"
            )
        pairs = [
            (tree, other) for tree, other in zip(read, others, strict=True) if tree is not None and other is not None
        ]
        gold, predicted = [tree for tree, _ in pairs], [other for _, other in pairs]
    else:
        gold = [tree for tree in read if tree is not None]
        nlp = load_chosen_pipeline(options)
        start_time = time.perf_counter()
        predicted = parse_gold(nlp, gold, gold_tags=options.tags == "gold", n_process=options.n_process)
        seconds = time.perf_counter() - start_time
        tokens = sum(len(tree.words) for tree in gold)
        print(
            f"dtparse: {len(gold)} sentences, {tokens} tokens in {seconds:.2f} s "
            f"({tokens / seconds:.0f} tokens/s{'' if options.tags == 'gold' else ', tagger included'})",
            file=sys.stderr,
        )
    if options.output is not None:
        with atomic_write(options.output) as file:
            file.writelines(f"{write_tree(tree)}\n".encode() for tree in predicted)
    report = score_trees(gold, predicted, strict=True)
    print(report.to_json() if options.json else report.to_table())
    return report_skipped(skipped)


def parse_gold(nlp: Language, gold: Sequence[Tree], *, gold_tags: bool, n_process: int) -> list[Tree]:
    """Parse the sentences of gold trees; return trees with the gold words and the tags that were used.

    Components that set sentence boundaries are disabled, and with `gold_tags` all but the parser and a spine_tagger.
    """
    from ..pipeline.attributes import to_tree
    from ..pipeline.corpus import blank_copy, doc_from_trees
    from ..trees.tree import Tree

    component = get_component(nlp)
    progress = Progress(len(gold), True, output_follows=True)
    docs = [blank_copy(doc_from_trees([tree], nlp.vocab), tags=gold_tags) for tree in gold]
    language = LanguageWarning(nlp)
    for number, doc in enumerate(docs, 1):
        language.check(doc, f"sentence {number} of the treebank")
    language.end()
    parsed = []
    with nlp.select_pipes(enable=sentence_pipes(nlp, only_parser=gold_tags)):
        for tree, doc in zip(gold, nlp.pipe(docs, n_process=n_process, batch_size=64), strict=True):
            found = to_tree(doc[:], component.spans_key)
            parsed.append(Tree(tree.words, found.tags, found.labels, found.starts, found.ends))
            progress.step(len(tree.words))
    progress.end()
    return parsed
