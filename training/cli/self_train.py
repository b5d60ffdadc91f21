"""Let a teacher parse raw text and keep the trees that it is sure of, for a student to learn from."""

import argparse
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `self-train`."""
    parser.add_argument("--teacher", type=Path, required=True, help="a model file, such as `pcfgla` writes")
    parser.add_argument(
        "--text", nargs="+", required=True, metavar="PATH[,wrapped][,spaced]",
        help="UTF-8, a paragraph per line, or a folder of .txt files; wrapped: lines broken at a width; spaced: "
        "hyphens set apart (two - year)",
    )  # fmt: skip
    parser.add_argument("--pipeline", help="tags and finds sentences: a folder or package (default: the embedded one)")
    parser.add_argument(
        "--keep-hyphens", action="store_true", help="words with hyphens stay whole, as in the treebanks wsj and genia"
    )
    parser.add_argument("--min-words", type=natural_number, default=3, help="of a sentence (default: 3)")
    parser.add_argument("--max-words", type=natural_number, default=40, help="of a sentence (default: 40)")
    parser.add_argument(
        "--without", nargs="+", default=[], type=Path, metavar="FILE",
        help="bracketed trees, such as a dev part, none of whose sentences may be kept",
    )  # fmt: skip
    parser.add_argument(
        "--sure", type=float, default=0.5, metavar="SHARE",
        help="of each text's sentences of similar length, keep the share that the teacher is surest of (default: 0.5)",
    )  # fmt: skip
    parser.add_argument(
        "--least-sure", type=float, metavar="S", help="keep none below this sureness per word, from 0 to 1"
    )
    parser.add_argument(
        "--sizes", nargs="+", type=natural_number, default=[], metavar="N", help="also write the first N trees"
    )
    parser.add_argument("--seed", type=natural_number, default=0, help="of the trees' order (default: 0)")
    parser.add_argument("--workers", type=natural_number, default=2, help="processes (default: 2)")
    parser.add_argument("--workdir", type=Path, required=True, help="folder that keeps what is parsed")
    parser.add_argument("--out", type=Path, required=True, help="folder for teacher.mrg, teacher.tags and teacher.json")


def run(options: argparse.Namespace) -> None:
    """Parse, choose, write; the last lines say how much was kept."""
    from training.data.reading import Reading, load_tagger
    from training.data.text import text_files
    from training.data.treebanks import TreebankFile
    from training.self_train.selecting import Selection, write_selection
    from training.self_train.teaching import Teaching, teach

    selection = Selection(options.sure, options.least_sure, tuple(options.sizes), options.seed)
    without = tuple(map(TreebankFile, options.without))
    reading = Reading(options.min_words, options.max_words, options.keep_hyphens, without)
    teaching = Teaching(options.teacher, text_files(options.text), reading, options.workdir, options.workers)
    lesson = teach(teaching, load_tagger(options.pipeline), lambda line: print(line, flush=True))
    report = write_selection(lesson, selection, options.out)
    for file in report["files"]:
        why = ", ".join(f"{reason} {count}" for reason, count in file["dropped"].items() if count)
        print(f"{file['name']}: {file['sentences']} sentences, {file['kept']} kept; left out: {why or 'none'}")
    print(f"{options.out / 'teacher.mrg'}: {report['kept']} trees, {report['kept_words']} words")
