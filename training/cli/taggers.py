"""Commands that train taggers and tag treebanks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from spacy_dtparse.cli.pipelines import positive_number
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees.directional import category_writer

from . import declaring as arg

if TYPE_CHECKING:
    from spacy_dtparse.trees import HeadRules
    from training.data.tagged_treebanks import Treebank
    from training.data.treebanks import TreebankFile
    from training.recurrent_tagger.config import TaggingConfig

command = partial(arg.declare, "Taggers")
COMMON = (
    arg.each(
        "--treebank PATH[:WEIGHT]",
        "folder with train.mrg and dev.mrg, or of shards that a teacher has annotated, or a CoNLL-U file; repeat to "
        "train on several; weight: repetitions per epoch",
    ),
    arg.path("--corpus", "folder of treebanks: NAME/train.mrg and dev.mrg precede those of --treebank"),
    arg.NAMES,
    arg.choice(
        "--tag-column", ("xpos", "upos"), "column of a CoNLL-U file that has the tags (default: xpos)", default="xpos"
    ),
    arg.option("--lang", "language of the text (default: en)", default="en"),
    arg.ERRORS,
    arg.path("--clusters FILE", "word clusters, written by the command clusters: one more feature of each word"),
    arg.path("--out", "folder for predicted tags and log.jsonl, not for the model", required=True),
    arg.settings("training.recurrent_tagger.config.TaggingConfig (fit.epochs=8 network.width=48)"),
)
"""The options of `train-tagger` and `jackknife-tags`."""


def treebanks_and_config(options: argparse.Namespace, start: TaggingConfig) -> tuple[list[Treebank], TaggingConfig]:
    """(Treebanks, configuration) that the options of COMMON describe. Raises ConfigError, TrainingDataError."""
    from training.data.tagged_treebanks import Treebank
    from training.runs.settings import apply_field_settings

    if options.names and options.corpus is None:
        raise ConfigError("--names needs --corpus, the folder of the treebanks")
    named = [*(f"{options.corpus}/{name}" for name in options.names), *options.treebank]
    if not named:
        raise ConfigError("no training data; give --treebank PATH, or --corpus FOLDER with --names")
    return [Treebank.read(text, options.tag_column) for text in named], apply_field_settings(start, options.set)


@command(
    "jackknife-tags --corpus build/corpus --names sample --folds 4 --out build/tags",
    *COMMON,
    arg.number("--folds", 10, "number of taggers"),
    arg.option("--run", "name of this run, for its checkpoints and the log", default="pooled"),
)
def jackknife_tags(options: argparse.Namespace) -> None:
    """Tag each training tree with a tagger that was trained without it.

    Repeat the command to resume a run.
    """
    from training.recurrent_tagger.config import JACKKNIFE
    from training.recurrent_tagger.running import jackknife

    treebanks, config = treebanks_and_config(options, JACKKNIFE)
    accuracies = jackknife(treebanks, options.out, options.folds, config, options.run, options.lang, options.clusters)
    for name, value in accuracies.items():
        print(f"{name}: {100 * value:.2f} % of the jackknifed tags are correct")


@command(
    "train-tagger --corpus build/corpus --names sample --out build/tags --model build/tagger",
    *COMMON,
    arg.path("--model", "folder for the trained spaCy pipeline", required=True),
    arg.path("--start PIPELINE", "pipeline that this command wrote, to continue training from"),
    arg.flag("--no-senter", "train no sentence segmentation"),
    arg.each(
        "--split-hyphens NAME",
        "treebank that splits hyphenated words, as evidence for augment.split_hyphens; repeatable",
    ),
)
def train_tagger(options: argparse.Namespace) -> None:
    """Train the tagger and the sentence segmentation of a spaCy pipeline, and tag the dev parts."""
    from training.recurrent_tagger.config import FINAL
    from training.recurrent_tagger.running import train_final

    treebanks, config = treebanks_and_config(options, FINAL)
    scores = train_final(
        treebanks,
        options.model,
        options.out,
        config,
        not options.no_senter,
        options.split_hyphens,
        options.start,
        options.lang,
        options.clusters,
    )
    if scores:
        print("\n".join(f"{name}: {100 * value:.2f} %" for name, value in scores.items()))
    else:
        print(
            "there is no development set, so nothing is scored; put dev.mrg or ….dev.conllu next to the training file"
        )


@command(
    "spines build/corpus/sample/train.mrg --write build/spines.train",
    arg.option(f"files {arg.READ_SPEC} +", "bracketed trees"),
    arg.ERRORS,
    arg.option(f"--held-out {arg.READ_SPEC} +", "trees whose coverage is measured"),
    arg.path("--heads FILE", "head rules in JSON (default: those of --lang)"),
    arg.option("--lang", "language, for the head rules (default: en)", default="en"),
    arg.option("--categories", "spine (default), or directional: with sides", default="spine"),
    arg.option(
        "--min-count N",
        "replace rarer categories by the most frequent one of the token's tag (default: 1)",
        type=positive_number,
        default=1,
    ),
    arg.RECIPE_STEPS,
    arg.number("--max-rows", 20, "maximum rows of a table"),
    arg.path("--json FILE", "also write all results to this file"),
    arg.path("--write FILE", "also write word, tag and category of each token, for train-spine-tagger"),
    arg.flag(
        "--check",
        "only check that every tree can be rebuilt from its spines and brackets, or from its directional spines alone",
    ),
)
def spines(options: argparse.Namespace) -> int:
    """Count the spines of treebanks, and write them for a tagger.

    Prints the inventory, its ambiguity, and its coverage of held-out text.
    """
    from spacy_dtparse.trees import HeadRules, Recipe, head_rules
    from training.data import spines
    from training.data.treebanks import TreebankFile, read_files
    from training.spine_tagger.corpus import LabelledSentence, format_labelled

    rules = head_rules(options.lang) if options.heads is None else HeadRules.from_json(options.heads)
    files, held_out = ([TreebankFile.parse(text) for text in texts] for texts in (options.files, options.held_out))
    categories = category_writer(options.categories, rules)
    if options.check:
        return _check_round_trips([*files, *held_out], rules, options.categories)
    recipe = Recipe.TM2006 if options.recipe_steps == "tm2006" else Recipe.PLAIN
    sentences = spines.replace_rare(spines.categorise(read_files(files), recipe, categories), options.min_count)
    inventory = spines.Inventory(sentences)
    described, covered = inventory.describe(options.max_rows), None
    if held_out:
        covered = inventory.coverage(spines.categorise(read_files(held_out), recipe, categories))
    print(spines.report(described, covered, options.max_rows))
    arg.write_results(options, {"inventory": described, "held_out": covered})
    if options.write is not None:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        labelled = (LabelledSentence(*zip(*sentence, strict=True)) for sentence in sentences)
        options.write.write_text(format_labelled(labelled), "utf8")
    return 0


def _check_round_trips(files: Sequence[TreebankFile], rules: HeadRules, categories: str) -> int:
    """Print the results of --check, and return the exit code."""
    from training.data.spines import check_round_trips
    from training.data.treebanks import TreebankFile

    bad = 0
    for file in files:
        if file != TreebankFile(file.path):
            raise ConfigError(f"{file.path}: --check reads all trees of a file; give the path without options")
        trees, failed, problems = check_round_trips(file.path, rules, directional=categories == "directional")
        print(f"{file.path}: {trees - failed} of {trees} trees rebuilt", *problems, sep="\n  ")
        bad += failed
    return 1 if bad else 0


@command(
    "train-spine-tagger --train build/spines.train --out build/spines.model",
    arg.path(
        "--train FILE +",
        "one token per line as word<TAB>tag<TAB>label (or word<TAB>label), blank lines between sentences",
    ),
    arg.path("--dev FILE *", "development files"),
    arg.ERRORS,
    arg.option("--estimator", "perceptron (default), mira, gis or lbfgs", default="perceptron"),
    arg.settings("training.spine_tagger.options.SequenceOptions (epochs=5 cutoff=10 sigma=0.5)"),
    arg.option(
        "--betas BETA +",
        "betas for which to print results (default: the five of the C&C parser)",
        type=float,
        default=[0.075, 0.03, 0.01, 0.005, 0.001],
    ),
    arg.option(
        "--jackknife FOLDS",
        "instead of a model, write the training sentences with jackknifed labels",
        type=int,
        default=0,
    ),
    arg.number("--workers", 2, "threads", minimum=1),
    arg.workdir("unfinished runs"),
    *arg.model_options(
        "tagger",
        of="sentences",
        licence=True,
        credit="credit for the meta",
        out="file to write: the model, or the sentences",
    ),
)
def train_spine_tagger(options: argparse.Namespace) -> None:
    """Train a log-linear tagger of spines or other labels."""
    from training.runs.settings import apply_field_settings
    from training.spine_tagger.fitting import fit_files, jackknife_files, report
    from training.spine_tagger.options import SequenceOptions

    if not options.train:
        raise ConfigError("no training data; give --train FILE …")
    if any(not 0 <= beta <= 1 for beta in options.betas):
        raise ConfigError(f"--betas are {options.betas}; give numbers from 0 to 1")
    if options.jackknife and options.jackknife < 2:
        raise ConfigError(f"--jackknife is {options.jackknife}; give 2 folds or more")
    chosen = apply_field_settings(SequenceOptions(options.estimator), options.set, but=("estimator",))
    if options.jackknife:
        scores = jackknife_files(
            options.train, chosen, options.out, options.jackknife, options.workdir, options.workers, options.betas
        )
    else:
        scores = fit_files(
            options.train,
            options.dev,
            chosen,
            arg.model_metadata(options),
            options.out,
            options.workdir,
            options.workers,
            options.betas,
        )
    if scores:
        print(report(scores))
