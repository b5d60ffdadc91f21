"""F1 and speed of the span parser for its settings, with the boosted trees in the same run for comparison.

    python benchmarks/bench_span.py --corpus TREEBANKS --names craft genia masc gum --tags build/tags

Every eighth dev sentence of a large treebank, every second of a small one; tags from NAME.dev.tags of `--tags`. Speeds
are tokens per second of CPU time, the best of `--repeats` passes; the boosted trees are timed before and after, to show
changes of the machine's speed.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from common import arguments, save

from spacy_dtparse.core import Parser
from spacy_dtparse.models import embedded_pipeline, open_parser
from training.data.corpus import Sentence, read_treebank
from training.data.evaluate import parse_sentences, score_trees

SETTINGS: dict[str, dict[str, Any]] = {
    "first network (budget 0)": {"budget": 0},
    **{f"all networks unless all costs are at most {c}": {"ensemble_threshold": c} for c in (1.2, 0.8, 0.6, 0.4)},
    "default, penalty 0.4": {"penalty": 0.4},
    "default, penalty 0.45": {"penalty": 0.45},
    "default, penalty 0.55": {"penalty": 0.55},
    "default: all networks always": {},
}


def measured(parser: Parser, sentences: list[Sentence], repeats: int) -> dict[str, Any]:
    """Return F1 of all brackets by treebank and in total, in per cent, and tokens per second."""
    seconds = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        trees = parse_sentences(parser, sentences)
        seconds = min(seconds, time.process_time() - began)
    total, parts = score_trees(sentences, trees)
    figures = {name: report.to_dict()["all"] for name, report in {**parts, "all": total}.items()}
    return {
        **{name: round(100 * figure["f1"], 2) for name, figure in figures.items()},
        "precision": round(100 * figures["all"]["precision"], 2),
        "recall": round(100 * figures["all"]["recall"], 2),
        "tokens/s": round(sum(len(sentence.tags) for sentence in sentences) / seconds),
    }


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__)
    parser.add_argument("--tags", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    sentences: list[Sentence] = []
    for name in options.names:
        read = read_treebank(Path(options.corpus) / name / "dev.mrg", options.tags / f"{name}.dev.tags")
        sentences += read[:: 8 if len(read) > 1000 else 2]
    trees = open_parser("en_dtparse")
    span = open_parser("en_span" if options.pipeline == embedded_pipeline() else options.pipeline)
    rows: dict[str, dict[str, Any]] = {}
    parsers: dict[str, Parser] = {
        "boosted trees, greedy": trees.with_settings(budget=0),
        **{name: span.with_settings(**settings) for name, settings in SETTINGS.items()},
        "boosted trees": trees,
        "boosted trees, greedy, again": trees.with_settings(budget=0),
    }
    print("| setting | " + " | ".join([*options.names, "all", "precision", "recall", "tokens/s"]) + " |")
    for name, one in parsers.items():
        one.parse(sentences[0].tree.words, sentences[0].tags)
        rows[name] = measured(one, sentences, options.repeats)
        print(f"| {name} | " + " | ".join(str(value) for value in rows[name].values()) + " |", flush=True)
    save(options, "span", rows)


if __name__ == "__main__":
    main()
