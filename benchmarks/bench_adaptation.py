"""Supertagger adaptation (Kummerfeld et al. 2010) of a chart parser to a domain that it was not trained on.

    python benchmarks/bench_adaptation.py prepare --parser MODEL --corpus TREEBANKS --train masc gum wsj \\
        --target craft genia --text RAW/bio.plos.txt --work WORK
    python benchmarks/bench_adaptation.py train --work WORK --estimators perceptron mira --sizes 0 10000 40000
    python benchmarks/bench_adaptation.py measure --work WORK --runs perceptron-0 perceptron-40000 --betas 0.1,0.01 \\
        --json WORK/speed.json

`prepare` trains a part-of-speech tagger on the --train treebanks (five-fold jackknifed for the treebanks themselves),
splits the text into sentences, and annotates them with the parser, whose charts are pruned by a perceptron trained on
the treebanks, within --annotate-betas; with --unrestricted, also without spines. `train` trains taggers of directional
spines on the treebanks and --sizes annotated sentences. A tagger's name is ESTIMATOR-SIZE, or
ESTIMATOR-SIZE-ANNOTATOR with --annotator tagger (sentences annotated by the tagger of the treebanks) or alone (by the
parser without spines), or ESTIMATOR-SIZE-goldN with --gold N (N additional gold trees of the target's training parts).
`measure` parses sentences of the dev parts of the target domain and of the training domain without spines and with each
tagger, interleaved sentence by sentence.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from adaptation_measures import Run, Sets, format_tables, measure, run_details, sets_of, spread
from common import ROOT  # noqa: F401 (makes `training` importable)
from spacy.language import Language
from spacy.tokens import Doc

from spacy_dtparse.core import load_parser, load_tagger
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.trees.directional import category_writer
from spacy_dtparse.trees.heads import COLLINS
from training.data.corpus import Sentence
from training.data.reading import SentenceSelection
from training.data.reading import load_tagger as tagging_pipeline
from training.data.spines import SpineToken, replace_rare
from training.data.text import text_files
from training.data.treebanks import TreebankFile
from training.runs.files import write_atomically
from training.runs.metrics_log import log_metrics
from training.runs.progress import show_progress
from training.self_training.silver import SilverParsing, parse_silver
from training.spine_tagger.corpus import LabelledSentence, format_labelled, read_label_file
from training.spine_tagger.fitting import evaluate_tagger, fit_tagger, jackknife_files
from training.spine_tagger.options import SequenceOptions
from training.supertag_adaptation.measuring import changes_table
from training.supertag_adaptation.running import label_sentences, split_parses

FOLDS = 5
TREEBANKS, TEXT, HELD, UNRESTRICTED = "treebanks.tsv", "text.tsv", "held.tsv", "alone.tsv"
PLAN, POS = "plan.json", "pos.model"
FIRST_TAGGER, MIN_COUNT = "perceptron-0", 5
"""Name of the tagger used for annotation; minimum count of a spine in the training data."""
EPOCHS, ITERATIONS = 6, 60


def chart_parser(path: Path) -> PcfgParser:
    """Load the parser of a model file of `python -m training train-pcfgla` or `train-pcfg`."""
    parser = load_parser(path)
    if not isinstance(parser, PcfgParser):
        raise SystemExit(f"{path}: a parser of kind {parser.name!r}; give one of `python -m training train-pcfgla`")
    return parser


def read(corpus: Path, names: Sequence[str], part: str) -> list[Sentence]:
    """Read the sentences of a part of treebanks with gold tags."""
    return [s for name in names for s in TreebankFile.parse(f"{corpus}/{name}/{part}.mrg").read()]


def predict_tags(sentences: Sequence[Sentence], tagger: SequenceTagger) -> list[Sentence]:
    """Return the sentences with the tags of a tagger."""
    return [Sentence(s.tree, tuple(tagger.tag(s.tree.words, ())), s.source) for s in sentences]


def prepare(options: argparse.Namespace) -> None:
    """Write the training data as files of words, tags and directional spines."""
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    plan = {
        "parser": str(options.parser),
        "corpus": str(options.corpus),
        "train": options.train,
        "target": options.target,
    }
    (work / PLAN).write_text(json.dumps(plan))
    gold = read(options.corpus, options.train, "train")
    tags = SequenceOptions(epochs=5)
    words = [LabelledSentence(s.tree.words, (), s.tags) for s in gold]
    (work / "pos.tsv").write_text(format_labelled(words), encoding="utf8")
    if not (work / POS).is_file():
        model = fit_tagger(words, (), tags, work / "pos", {}, 1, partial(log_metrics, None))
        write_atomically(work / POS, SequenceTagger(model).to_bytes())
    if not (work / "pos.jack.tsv").is_file():
        jackknife_files([work / "pos.tsv"], tags, work / "pos.jack.tsv", FOLDS, work / "pos_folds", 1)
    own = [row.labels for row in read_label_file(work / "pos.jack.tsv")]
    gold = [Sentence(s.tree, row, s.source) for s, row in zip(gold, own, strict=True)]
    parser = chart_parser(options.parser)
    label = partial(label_sentences, recipe=parser.recipe, categories=category_writer("directional", COLLINS))
    (work / TREEBANKS).write_text(format_labelled(label(gold)), encoding="utf8")
    first = argparse.Namespace(estimators=["perceptron"], sizes=[0], annotator="parser", gold=0, least=MIN_COUNT)
    train(argparse.Namespace(**vars(first), work=work, workers=options.workers))
    dev = [TreebankFile.parse(f"{options.corpus}/{name}/dev.mrg") for name in (*options.train, *options.target)]
    reading = SentenceSelection(3, 40, exclude=tuple(dev))
    pos = load_tagger(work / POS)

    @Language.component("treebanks_tags")
    def retag(doc: Doc) -> Doc:
        for sentence in doc.sents:
            tokens = [token for token in sentence if not token.is_space]
            for token, tag in zip(tokens, pos.tag([t.text for t in tokens], ()) if tokens else (), strict=True):
                token.tag_ = tag
        return doc

    nlp = tagging_pipeline()
    nlp.add_pipe("treebanks_tags", last=True)
    spined = {"settings": {"betas": options.annotate_betas}, "spines": work / f"{FIRST_TAGGER}.model"}
    for folder, names, how in (("text", (TEXT, HELD), spined), ("alone", (UNRESTRICTED, None), {})):
        if folder == "alone" and not options.unrestricted:
            continue
        files = text_files(options.text)
        parsing = SilverParsing(
            options.parser, files, reading, work / folder, options.workers, allow_unknown_confidence=True, **how
        )
        for name, part in zip(names, split_parses(parse_silver(parsing, nlp)), strict=True):
            if name:
                (work / name).write_text(format_labelled(label(part)), encoding="utf8")
                print(name, len(part), "sentences", sum(len(s.tags) for s in part), "tokens", flush=True)


def train(options: argparse.Namespace) -> None:
    """Train a tagger for each estimator and size."""
    work: Path = options.work
    treebanks = read_label_file(work / TREEBANKS)
    text = (
        read_label_file(work / (UNRESTRICTED if options.annotator == "alone" else TEXT)) if max(options.sizes) else []
    )
    gold = gold_of_target(work, options.gold) if options.gold else []
    for estimator in options.estimators:
        for size in options.sizes:
            name = f"{estimator}-{size}" + (f"-{options.annotator}" if options.annotator != "parser" else "")
            name += f"-gold{options.gold}" if gold else ""
            path = work / f"{name}.model"
            if path.is_file():
                continue
            annotated = text[:size]
            if options.annotator == "tagger":
                base = load_tagger(work / f"{estimator}-0.model")
                annotated = [s._replace(labels=tuple(base.tag(s.words, s.tags))) for s in annotated]
            sentences = without_rare_labels([*treebanks, *gold, *annotated], options.least)
            how = SequenceOptions(estimator, epochs=EPOCHS, iterations=ITERATIONS)
            began = time.process_time()
            model = fit_tagger(
                sentences, (), how, work / name, {}, options.workers, partial(log_metrics, work / f"{name}.jsonl")
            )
            seconds = round(time.process_time() - began)
            model.meta.update(sentences=len(sentences), seconds=seconds, options=how.to_dict(), least=options.least)
            write_atomically(path, SequenceTagger(model).to_bytes())
            print(
                f"{name}: {len(sentences)} sentences, {seconds} CPU s, {path.stat().st_size / 1e6:.2f} MB", flush=True
            )


def gold_of_target(work: Path, count: int) -> list[LabelledSentence]:
    """Return `count` sentences of the target's training parts, tagged by a tagger not trained on them."""
    plan = json.loads((work / PLAN).read_text())
    parser, tagger = chart_parser(Path(plan["parser"])), load_tagger(work / POS)
    chosen = spread(read(Path(plan["corpus"]), plan["target"], "train"), count)
    return label_sentences(predict_tags(chosen, tagger), parser.recipe, category_writer("directional", COLLINS))


def without_rare_labels(sentences: Sequence[LabelledSentence], least: int) -> list[LabelledSentence]:
    """Return the sentences without categories that occur less than `least` times (see `replace_rare`)."""
    rows = replace_rare([list(map(SpineToken, *sentence)) for sentence in sentences], least)
    return [s._replace(labels=tuple(t.category for t in row)) for s, row in zip(sentences, rows, strict=True)]


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the parser alone and with each tagger at each list of betas."""
    work: Path = options.work
    plan = json.loads((work / PLAN).read_text())
    parser, pos = chart_parser(Path(plan["parser"])), load_tagger(work / POS)
    corpus = Path(plan["corpus"])
    dev = {part: predict_tags(read(corpus, plan[part], "dev"), pos) for part in ("target", "train")}
    sets: Sets = sets_of(dev["target"], dev["train"], read_label_file(work / HELD), options.sentences)
    betas = [tuple(float(beta) for beta in text.split(",")) for text in options.betas]
    sets = {name: part for name, part in sets.items() if name in (options.sets or sets)}
    taggers = {name: load_tagger(work / f"{name}.model") for name in options.runs}
    runs = [Run("unpruned", None, ())] + [Run(name, tagger, row) for name, tagger in taggers.items() for row in betas]
    label = partial(label_sentences, recipe=parser.recipe, categories=category_writer("directional", COLLINS))
    table: dict[str, Any] = {"taggers": {}, "chains": options.chain, "sets": measure(parser, sets, runs)}
    gold = label(spread(dev["target"][1::2], options.sentences))
    held = spread(read_label_file(work / HELD), options.sentences)
    for name, tagger in taggers.items():
        meta = tagger.meta
        table["taggers"][name] = {
            "target": evaluate_tagger(tagger, gold),
            "text": evaluate_tagger(tagger, held),
            "seconds": meta.get("seconds"),
            "sentences": meta.get("sentences"),
            "labels": len(tagger.labels),
            "megabytes": round((work / f"{name}.model").stat().st_size / 1e6, 2),
        }
    if options.json:
        write_atomically(options.json, (json.dumps(table, indent=1) + "\n").encode())
    print(format_tables(table))
    if options.breakdown:
        for row in betas:
            print(f"betas {row}: {' to '.join(options.breakdown)}")
            print(
                changes_table(
                    *(run_details(table["sets"]["text"], Run(name, taggers[name], row)) for name in options.breakdown)
                )
            )
    return table


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("prepare")
    first.add_argument("--parser", type=Path, required=True)
    first.add_argument("--corpus", type=Path, required=True)
    first.add_argument("--train", nargs="+", required=True)
    first.add_argument("--target", nargs="+", required=True)
    first.add_argument("--text", nargs="+", required=True)
    first.add_argument("--annotate-betas", nargs="+", type=float, default=[0.1, 0.01], metavar="BETA")
    first.add_argument("--unrestricted", action="store_true", help="annotate the text also without spines")
    second = commands.add_parser("train")
    second.add_argument("--estimators", nargs="+", default=["perceptron"])
    second.add_argument("--sizes", nargs="+", type=int, required=True)
    second.add_argument("--annotator", choices=("parser", "tagger", "alone"), default="parser")
    second.add_argument("--least", type=int, default=MIN_COUNT)
    second.add_argument("--gold", type=int, default=0, metavar="N", help="trees of the target's training parts to add")
    third = commands.add_parser("measure")
    third.add_argument("--runs", nargs="+", required=True)
    third.add_argument(
        "--betas", nargs="+", default=["0.5,0.05", "0.3,0.03", "0.2,0.02", "0.1,0.01", "0.03,0.003", "0.01,0.001"]
    )
    third.add_argument("--sets", nargs="*", default=[], help="some of tune, target, own, text, 5-20, 21-40, 41-250")
    third.add_argument(
        "--chain",
        nargs="+",
        action="append",
        default=[],
        metavar="RUN",
        help="some of --runs, starting with the tagger of the treebanks: compared at the betas at which it is the most "
        "accurate on the tuning set, and each at the fastest betas that are not significantly less accurate there",
    )
    third.add_argument("--breakdown", nargs=2, metavar="RUN", help="two of --runs: where the second one saves time")
    third.add_argument("--sentences", type=int, default=300, help="sentences per set, and per length range")
    third.add_argument("--json", type=Path)
    for command in (first, second, third):
        command.add_argument("--work", type=Path, required=True)
        command.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    show_progress()
    {"prepare": prepare, "train": train, "measure": measure_all}[options.command](options)


if __name__ == "__main__":
    main()
