"""Boosted trees with a span model, compared with the span model alone: F1, exact match, unattached words, speed.

    python benchmarks/bench_span_model.py --corpus TREEBANKS --names masc gum craft genia wsj [--marginal-weight 0 2]
        [--commit-threshold 1]

Tags are those of the English pipeline. Both parse the same dev sentences in one process, in alternation; speed is in
CPU time, and differences of F1 come with a paired bootstrap. The default of --model is the English model `en_dtparse`.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from common import EVERYDAY_DEV, EVERYDAY_TEST, arguments, save

from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.models import embedded_model
from spacy_dtparse.scoring.significance import paired_bootstrap
from spacy_dtparse.trees.unattached import unattached_tokens
from training.data.evaluate import load_source, score_trees, tag_lists
from training.data.treebanks import TreebankFile, corpus_files

TURNS = 3


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--model", type=Path, default=Path(embedded_model("en_dtparse")), help="a model with a span model"
    )
    parser.add_argument("--marginal-weight", type=float, nargs="*", default=[], help="other values of the setting")
    parser.add_argument("--commit-threshold", type=float, nargs="*", default=[], help="other values of the setting")
    options = parser.parse_args()
    trees = DtreeParser.from_disk(options.model)
    if trees.span_parser is None:
        raise SystemExit(f"{options.model} has no span model; give a model trained with --span-model")
    _, nlp = load_source(Path(options.pipeline))
    assert nlp is not None
    parsers = {"span model": trees.span_parser, "greedy": trees.with_settings(budget=0), "default": trees}
    parsers |= {
        f"marginal_weight {value:g}": trees.with_settings(marginal_weight=value) for value in options.marginal_weight
    }
    parsers |= {
        f"commit_threshold {value:g}": trees.with_settings(commit_threshold=value) for value in options.commit_threshold
    }
    found = []
    everyday = [TreebankFile(EVERYDAY_DEV), TreebankFile(EVERYDAY_TEST)]
    for file in [*everyday, *corpus_files(options.corpus, options.names, "dev")]:
        gold = file.read()
        given = list(zip((s.tree.words for s in gold), tag_lists(nlp, [s.tree.words for s in gold]), strict=True))
        n_tokens = sum(len(tags) for _, tags in given)
        results, seconds = {}, {name: [] for name in parsers}
        for one in parsers.values():
            one.parse_batch(given[:20])
        for _ in range(TURNS):
            for name, one in parsers.items():
                began = time.process_time()
                results[name] = one.parse_batch(given)
                seconds[name].append(time.process_time() - began)
        reports = {name: score_trees(gold, [r.tree for r in rows])[0] for name, rows in results.items()}
        for name, report in reports.items():
            scores, statuses = report.to_dict(), [result.status for result in results[name]]
            row = {
                "treebank": file.row_name,
                "sentences": len(gold),
                "parser": name,
                "all": round(100 * scores["all"]["f1"], 2),
                "evalb": round(100 * scores["evalb"]["f1"], 2),
                "exact": round(100 * scores["all"]["exact_match"], 1),
                "tokens_per_second": round(n_tokens / statistics.median(seconds[name])),
                "optimal": round(100 * statuses.count("optimal") / len(gold), 1),
                "fallback": statuses.count("fallback"),
                "unattached": sum(len(unattached_tokens(result.tree)) for result in results[name]),
            }
            if name != "span model":
                test = paired_bootstrap(report.counts["all"], reports["span model"].counts["all"])
                row |= {"difference": round(100 * test.difference, 2), "p": round(test.p_value, 4)}
            found.append(row)
            print(row, flush=True)
    save(options, "span_model", found)


if __name__ == "__main__":
    main()
