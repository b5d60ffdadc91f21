"""Dev F1 per treebank, with gold and with predicted tags, at several search budgets.

    python benchmarks/bench_accuracy.py [--pipeline FOLDER] [--corpus FOLDER --names craft genia masc gum]

The table that the README shows; `python -m training evaluate` does the same for any model file.
"""

from __future__ import annotations

from common import arguments, save

from training.evaluate import evaluate, table
from training.treebanks import corpus_files


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__)
    parser.add_argument("--tags", nargs="+", choices=("gold", "predicted"), default=["gold", "predicted"])
    parser.add_argument(
        "--budgets", nargs="+", type=int, help="search budgets (default: greedy and the model's own)"
    )
    options = parser.parse_args()
    budgets = options.budgets or [0, None]
    records = evaluate(
        options.pipeline, corpus_files(options.corpus, options.names, "dev"), options.tags, budgets
    )
    print(table(records))
    save(options, "accuracy", records)


if __name__ == "__main__":
    main()
