"""Commands that train span parsers and boosted trees."""

import argparse
import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from . import declaring as arg

command = partial(arg.declare, "Parsers")
CLUSTERS = arg.path("--clusters FILE", "word clusters, written by the command clusters: one more feature of each word")


@command(
    "train-span --corpus build/corpus --names sample --tags build/tags --out build/span.model",
    *arg.treebanks(dev="to be scored on"),
    arg.each(f"--pretrain-trees {arg.treebank_spec()}", "trees of a teacher to train on first; repeatable"),
    arg.path("--teacher", "span parser whose marginals are interpolated with the trees of --pretrain-trees"),
    arg.each("--distill DIR", "shards written by teacher annotate, to learn from; repeatable", type=Path),
    arg.path(
        "--start MODEL",
        "span model whose networks, vocabulary and labels to start from: a model file, or en for the English one "
        "(with --seeds 0, since it has one network)",
    ),
    arg.path("--word-vectors FILE", "initial word vectors, written by teacher vectors"),
    CLUSTERS,
    arg.option("--seeds +", "random seeds; one network is trained for each", type=natural_number, default=[0, 1]),
    arg.number("--workers", 2, "processes; at most one per network is used", minimum=1),
    arg.settings("training.span_parser.fitting.SpanOptions, its shape and dropout (epochs=20 dropout.layers=0.2)"),
    arg.workdir("unfinished networks"),
    arg.HEADS,
    *arg.model_options("span", credit="credit for the meta, for example for raw texts"),
)
def train_span(options: argparse.Namespace) -> None:
    """Train a span parser."""
    from training.data.shards import list_shards
    from training.data.treebanks import TreebankFile
    from training.span_parser.running import SpanSources, parse_settings, train_span_parser

    train, dev = arg.parse_treebanks(options)
    pretrain_files = list(map(TreebankFile.parse, options.pretrain_trees))
    chosen = parse_settings(options.set, tuple(options.seeds))
    shards = list_shards(options.distill)
    heads = arg.load_heads(options)
    sources = SpanSources(
        train,
        dev,
        pretrain_files,
        options.teacher,
        shards,
        options.start,
        options.word_vectors,
        heads,
        options.clusters,
    )
    seconds = train_span_parser(
        sources, chosen, arg.model_metadata(options), options.out, options.workdir, options.workers
    )
    print(f"{arg.size(options.out)}, {seconds:.0f} s")


@command(
    "jackknife-marginals --corpus build/corpus --names sample --tags build/tags --workdir build/jackknife "
    "--out build/marginals",
    *arg.treebanks(),
    arg.path(
        "--start MODEL",
        "span model whose networks to start from (a model file, or en for the English one); it must not be trained on "
        "these trees",
    ),
    CLUSTERS,
    arg.number("--folds", 4, "folds; a span model trained on the other folds computes the marginals of each"),
    arg.option("--seeds +", "random seeds; one network is trained for each", type=natural_number, default=[0]),
    arg.number("--workers", 2, "processes"),
    arg.settings("training.span_parser.fitting.SpanOptions, its shape and dropout (epochs=20 dropout.layers=0.2)"),
    arg.workdir("unfinished networks", required=True),
    arg.path("--out", "folder for NAME.train.marginals.npz", required=True),
)
def jackknife_marginals(options: argparse.Namespace) -> None:
    """Compute jackknifed span marginals of the trees that train-boosted learns from."""
    from training.span_parser.jackknife import jackknifed_marginals
    from training.span_parser.running import parse_settings

    chosen = parse_settings(options.set, tuple(options.seeds))
    files = jackknifed_marginals(
        arg.parse_treebanks(options)[0],
        options.folds,
        chosen,
        options.workdir,
        options.out,
        options.start,
        options.workers,
        options.clusters,
    )
    for file in files:
        print(arg.size(file))


@command(
    "span-marginals --span-models build/span.model --corpus build/corpus --names sample --tags build/tags "
    "--out build/marginals",
    arg.path("--span-models MODEL +", "N span models; the K-th was trained with block=-K/N", required=True),
    *arg.treebanks(train="that train-boosted learns from"),
    arg.path("--out", "folder for NAME.train.marginals.npz", required=True),
)
def span_marginals(options: argparse.Namespace) -> None:
    """Compute the span marginals of trees with models that were trained elsewhere.

    Like jackknife-marginals, for models over a pretrained encoder: the K-th of N models computes those of block K/N.
    """
    from training.span_parser.jackknife import marginals_by_blocks

    for file in marginals_by_blocks(options.span_models, arg.parse_treebanks(options)[0], options.out):
        print(arg.size(file))


@command(
    "clusters --text assets/sample/plain.txt --n 16 --min-count 2 --out build/clusters.txt",
    arg.option(f"--text {arg.TEXT_SPEC} *", "UTF-8 text, one paragraph per line; options as in self-train", default=[]),
    arg.ERRORS,
    arg.flag("--lookups", "take the clusters of the package spacy-lookups-data, instead of learning them from text"),
    arg.number("--n", 200, "number of clusters, with --text", minimum=1),
    arg.number("--min-count", 8, "cluster only words that occur at least N times, with --text", minimum=1),
    arg.number("--rounds", 12, "passes over the words, with --text", minimum=1),
    arg.number("--max-words", 300_000, "number of words, the most frequent ones, with --lookups", minimum=1),
    arg.option("--lang", "language of the words, that of the pipeline (default: en)", default="en"),
    arg.path("--out", "file for the clusters, one per line", required=True),
)
def clusters(options: argparse.Namespace) -> None:
    """Cluster the words of raw text, as features for taggers, span models and boosted trees.

    To use them: --clusters FILE of pipeline, jackknife-tags, train-tagger, train-span and jackknife-marginals, and of
    train-boosted with --set templates=standard_clusters
    """
    from training.clusters.learning import learn_clusters
    from training.clusters.lookups import clusters_of_lookups
    from training.data.text import text_files

    if bool(options.text) == options.lookups:
        raise ConfigError("give either --text FILE, to learn clusters, or --lookups, for those of spacy-lookups-data")
    if options.lookups:
        clusters_of_lookups(options.lang, options.max_words, options.out)
    else:
        texts = text_files(options.text)
        learn_clusters(texts, options.n, options.min_count, options.rounds, options.out, options.lang)
    print(arg.size(options.out))


@command(
    "train-boosted --recipe training/recipes/sample.json --corpus build/corpus --names sample "
    "--tags build/tags --workdir build/fit --out build/dtparse.model",
    arg.path("--recipe", "settings, such as training/recipes/sample.json", required=True),
    *arg.treebanks(dev="whose F1 chooses λ"),
    arg.workdir("examples, checkpoints and logs", required=True),
    arg.path("--span-model", "span model whose marginals are features: a model file, or en for the English one"),
    arg.option(
        "--span-model-tagger PIPELINE",
        "if the span model was trained with other tags than the treebank's: a pipeline that predicts them, to learn "
        "which tag corresponds to which (default: with en, the English pipeline)",
    ),
    arg.path(
        "--marginals",
        "folder with the files NAME.train.marginals.npz that jackknife-marginals wrote (default: "
        "compute them with the span model)",
    ),
    arg.path("--clusters", "word clusters for the templates standard_clusters, written by the command clusters"),
    arg.HEADS,
    *arg.model_options("dtparse"),
    arg.path("--meta", "JSON file with further metadata for the model"),
    arg.settings("the recipe (path.patience=8 max_arity=5)"),
)
def train_boosted(options: argparse.Namespace) -> None:
    """Train an ensemble of boosted decision trees."""
    from training.data.clusters import read_clusters
    from training.data.treebanks import listed_texts
    from training.dtparse.fit import load_span_parser, train_boosted_parser
    from training.dtparse.recipe import FitRecipe
    from training.dtparse.training_set import Resources
    from training.runs.settings import apply_settings

    recipe = FitRecipe.from_dict(apply_settings(FitRecipe.from_json(options.recipe).to_dict(), options.set))
    extra = {}
    if options.meta is not None:
        try:
            extra = json.loads(options.meta.read_text(encoding="utf8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{options.meta}: cannot read it ({error}); give a JSON file") from error
    train, dev = arg.parse_treebanks(options)
    if options.marginals is not None:
        train = [replace(file, marginals=options.marginals / f"{file.name}.train.marginals.npz") for file in train]
    span_model = None if options.span_model is None else load_span_parser(options.span_model)
    resources = Resources(span_model, heads=arg.load_heads(options))
    if options.clusters is not None:
        clusters, texts = read_clusters(options.clusters), listed_texts(options.clusters)
        resources = replace(resources, clusters=clusters, texts=texts)
    start = time.perf_counter()
    metadata = {**arg.model_metadata(options), **extra}
    tag_pipeline = options.span_model_tagger or ("embedded" if str(options.span_model) == "en" else None)
    result = train_boosted_parser(recipe, train, dev, options.workdir, options.out, metadata, resources, tag_pipeline)
    best = result.best or {}
    if best.get("f1") is not None:
        scores = ", ".join(f"{name} {100 * value:.2f}" for name, value in best["scores"].items() if name != "seconds")
        print(f"best λ {best['lambda']:.4g}: dev {scores}")
    print(f"{arg.size(options.out)}, {time.perf_counter() - start:.0f} s")


@command(
    "average-span build/first.model:0.25 build/second.model:0.75 --out build/mean.model",
    arg.option(
        "models MODEL[:WEIGHT] +", "span models, or boosted trees over them: model files, or English models by name"
    ),
    arg.path("--out", "the file to write", required=True),
)
def average_span(options: argparse.Namespace) -> None:
    """Average the parameters of span models that were trained from one model."""
    from training.data.treebanks import parse_weighted_names
    from training.dtparse.fit import load_span_parser
    from training.runs.files import write_atomically
    from training.span_parser.averaging import average_models

    weights = parse_weighted_names(options.models)
    parsers = list(map(load_span_parser, weights))
    mean = average_models([parser.model for parser in parsers], list(weights.values()))
    write_atomically(options.out, type(parsers[0])(mean).to_bytes())
    print(arg.size(options.out))


@command(
    "train-window-filter build/dtparse.model --corpus build/corpus --names sample --out build/filtered.model",
    arg.path("model", "the model file"),
    *arg.treebanks(dev="to measure on"),
    arg.number("--bits", 20, "binary logarithm of the size of the filter's table"),
    arg.number("--seed", 0, "random seed"),
    arg.path("--out", "the model file to write", required=True),
)
def retrain_window_filter(options: argparse.Namespace) -> None:
    """Retrain the window filter of a boosted-tree parser, and measure on dev how many windows it removes.

    A window is a run of adjacent frontier items considered as the children of one inference.
    """
    from spacy_dtparse.dtparse.parser import DtreeParser
    from spacy_dtparse.models import find_model
    from training.data.treebanks import read_files
    from training.dtparse.window_filter import derivations_of, filter_losses, train_window_filter
    from training.runs.files import write_atomically
    from training.runs.metrics_log import format_metrics

    if not 2 <= options.bits <= 24:
        raise ConfigError(f"--bits is {options.bits}; it must be from 2 to 24")
    train, dev = arg.parse_treebanks(options)
    parser = DtreeParser.from_disk(find_model(options.model))
    search = parser.compiled.search

    def log(what: str, **metrics: float) -> None:
        print(f"{what}, {format_metrics(metrics)}", flush=True)

    derivations, skipped = derivations_of(parser.model, read_files(train))
    if skipped:
        print(f"left out {skipped} trees with labels that the model lacks")
    window_filter = train_window_filter(search.grammar, search.heads, derivations, options.bits, options.seed, log)
    if dev:
        held_out, _ = derivations_of(parser.model, read_files(dev))
        print("filter  margin  gold windows lost  windows scored")
        for loss, found in filter_losses(search.grammar, search.heads, held_out, window_filter).items():
            print(f"{loss:<6g}  {found['margin']:6.2f}  {found['lost']:17.3%}  {found['scored']:14.1%}")
    write_atomically(options.out, DtreeParser(replace(parser.model, window_filter=window_filter)).to_bytes())
    print(arg.size(options.out))
