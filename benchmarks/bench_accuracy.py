"""Dev F1 per treebank, with gold and with predicted tags, at several search budgets.

    python benchmarks/bench_accuracy.py [--pipeline FOLDER] [--corpus FOLDER --names craft genia masc gum]

The everyday trees, dev and test, come first. This is the table of the README; `python -m training evaluate` does the
same for any model file.
"""

from __future__ import annotations

from common import EVERYDAY_DEV, EVERYDAY_TEST, arguments, budgets, save

from training.data.evaluate import evaluate, load_source, scores_table
from training.data.treebanks import TreebankFile, corpus_files


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__)
    parser.add_argument("--tags", nargs="+", choices=("gold", "predicted"), default=["gold", "predicted"])
    parser.add_argument(
        "--budgets", nargs="+", type=int, help="search budgets (default: 0, if it differs, and the model's default)"
    )
    options = parser.parse_args()
    chosen = options.budgets or budgets(load_source(options.pipeline)[0])
    everyday = [TreebankFile(EVERYDAY_DEV), TreebankFile(EVERYDAY_TEST)]
    files = [*everyday, *corpus_files(options.corpus, options.names, "dev")]
    records = evaluate(options.pipeline, files, options.tags, chosen)
    print(scores_table(records))
    save(options, "accuracy", records)


if __name__ == "__main__":
    main()
