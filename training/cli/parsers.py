"""Commands that train and score parsers."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from functools import partial

from spacy_dtparse.cli.pipelines import natural_number, positive_number
from spacy_dtparse.errors import ConfigError

from ..runs.files import write_json
from .declaring import (
    HEADS,
    LANG,
    NAMES,
    READ_SPEC,
    RECIPE_STEPS,
    TEXT_SPEC,
    choice,
    declare,
    each,
    flag,
    load_heads,
    model_metadata,
    model_options,
    number,
    option,
    parse_treebanks,
    path,
    settings,
    size,
    treebank_spec,
    treebanks,
)

LINKS_SPEC = "PATH[,tags=PATH][,limit=N][,block=K/N]"
BINARISE = choice(
    "--binarise",
    ("left", "right", "center-parent", "center-head"),
    "how to binarise long rules (default: center-head)",
    default="center-head",
)
command = partial(declare, "Parsers")


@command(
    "train-span --corpus build/corpus --names sample --tags build/tags --out build/span.model",
    *treebanks(dev="to be scored on"),
    each("--pretrain-trees", "trees of a teacher to train on first; repeatable", metavar=treebank_spec()),
    path("--teacher", "span parser whose marginals are interpolated with the trees of --pretrain-trees"),
    path("--distill", "shards written by teacher annotate, to learn from; repeatable", action="append", default=[],
         metavar="DIR"),
    path("--start", "span model whose networks and vocabulary to start from"),
    path("--word-vectors", "initial word vectors, written by teacher vectors", metavar="FILE"),
    option("--seeds", "random seeds; one network is trained for each", type=natural_number, nargs="+", default=[0, 1]),
    number("--workers", 2, "processes; at most one per network is used"),
    settings("training.span_parser.fitting.SpanOptions, its shape and dropout (epochs=20 dropout.layers=0.2)"),
    path("--workdir", "folder for unfinished networks, so that a run can be resumed"),
    HEADS,
    *model_options("span", credit="credit for the meta, for example for raw texts"),
)  # fmt: skip
def train_span(options: argparse.Namespace) -> None:
    """Train a span parser.

    Repeat the command to resume a run.
    """
    from training.data.shards import list_shards
    from training.data.treebanks import TreebankFile
    from training.span_parser.running import SpanSources, parse_settings, train_span_parser

    if options.workers < 1:
        raise ConfigError("--workers is 0; give 1 or more")
    train, dev = parse_treebanks(options)
    pretrain_files = list(map(TreebankFile.parse, options.pretrain_trees))
    chosen = parse_settings(options.set, tuple(options.seeds))
    shards = list_shards(options.distill)
    heads = load_heads(options)
    sources = SpanSources(
        train, dev, pretrain_files, options.teacher, shards, options.start, options.word_vectors, heads
    )
    seconds = train_span_parser(sources, chosen, model_metadata(options), options.out, options.workdir, options.workers)
    print(f"{size(options.out)}, {seconds:.0f} s")


@command(
    "jackknife-marginals --corpus build/corpus --names sample --tags build/tags --workdir build/jackknife "
    "--out build/marginals",
    *treebanks(),
    path("--start", "span model whose networks to start from; it must not be trained on these trees"),
    number("--folds", 4, "folds; a span model trained on the other folds computes the marginals of each"),
    option("--seeds", "random seeds; one network is trained for each", type=natural_number, nargs="+", default=[0]),
    number("--workers", 2, "processes"),
    settings("training.span_parser.fitting.SpanOptions, its shape and dropout (epochs=20 dropout.layers=0.2)"),
    path("--workdir", "folder for unfinished networks, so that a run can be resumed", required=True),
    path("--out", "folder for NAME.train.beliefs.npz", required=True),
)
def jackknife_marginals(options: argparse.Namespace) -> None:
    """Compute jackknifed span marginals of the trees that train-boosted learns from.

    Repeat the command to resume a run.
    """
    from training.span_parser.jackknife import jackknifed_marginals
    from training.span_parser.running import parse_settings

    chosen = parse_settings(options.set, tuple(options.seeds))
    files = jackknifed_marginals(parse_treebanks(options)[0], options.folds, chosen, options.workdir, options.out,
                                 options.start, options.workers)  # fmt: skip
    for file in files:
        print(size(file))


@command(
    "clusters --text assets/sample/plain.txt --n 16 --min-count 2 --out build/clusters.txt",
    option("--text", "UTF-8 text, one paragraph per line", nargs="+", required=True, metavar=TEXT_SPEC),
    number("--n", 200, "number of clusters", minimum=1),
    number("--min-count", 8, "cluster only words that occur at least N times", minimum=1),
    number("--rounds", 12, "passes over the words", minimum=1),
    option("--lang", "language, for spaCy's tokenizer (default: en)", default="en"),
    path("--out", "file for the clusters, one per line", required=True),
)
def clusters(options: argparse.Namespace) -> None:
    """Cluster the words of raw text, as features for boosted trees.

    To use them: train-boosted --clusters FILE --set templates=standard_clusters
    """
    from training.clusters.learning import learn_clusters
    from training.data.text import text_files

    learn_clusters(text_files(options.text), options.n, options.min_count, options.rounds, options.out, options.lang)
    print(size(options.out))


@command(
    "train-boosted --recipe training/recipes/sample.json --corpus build/corpus --names sample "
    "--tags build/tags --workdir build/fit --out build/dtparse.model",
    path("--recipe", "settings, such as training/recipes/sample.json", required=True),
    *treebanks(dev="whose F1 chooses λ"),
    path("--workdir", "folder for examples, checkpoints and logs", required=True),
    path("--span-model", "span model whose marginals are features: a model file, or en for the English one"),
    option(
        "--span-model-tagger",
        "if the span model was trained with other tags than the treebank's: a pipeline that predicts them, to learn "
        "which tag corresponds to which (default: with en, the English pipeline)",
        metavar="PIPELINE",
    ),
    path("--marginals", "folder with the files NAME.train.beliefs.npz that jackknife-marginals wrote (default: "
         "compute them with the span model)"),
    path("--clusters", "word clusters for the templates standard_clusters, written by the command clusters"),
    HEADS,
    *model_options("dtparse"),
    path("--meta", "JSON file with further metadata for the model"),
    settings("the recipe (path.patience=8 max_arity=5)"),
)  # fmt: skip
def train_boosted(options: argparse.Namespace) -> None:
    """Train an ensemble of boosted decision trees.

    Repeat the command to resume a run.
    """
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
    train, dev = parse_treebanks(options)
    if options.marginals is not None:
        train = [replace(file, marginals=options.marginals / f"{file.name}.train.beliefs.npz") for file in train]
    span_model = None if options.span_model is None else load_span_parser(options.span_model)
    resources = Resources(span_model, heads=load_heads(options))
    if options.clusters is not None:
        clusters, texts = read_clusters(options.clusters), listed_texts(options.clusters)
        resources = replace(resources, clusters=clusters, texts=texts)
    start = time.perf_counter()
    metadata = {**model_metadata(options), **extra}
    tag_pipeline = options.span_model_tagger or ("embedded" if str(options.span_model) == "en" else None)
    result = train_boosted_parser(recipe, train, dev, options.workdir, options.out, metadata, resources, tag_pipeline)
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    best = result.best or {}
    if best.get("f1") is not None:
        scores = ", ".join(f"{name} {100 * value:.2f}" for name, value in best["scores"].items() if name != "seconds")
        print(f"best λ {best['lambda']:.4g}: dev {scores}")
    print(f"{size(options.out)}, {time.perf_counter() - start:.0f} s")


@command(
    "train-window-filter build/dtparse.model --corpus build/corpus --names sample --out build/filtered.model",
    path("model", "the model file"),
    *treebanks(dev="to measure on"),
    number("--bits", 20, "binary logarithm of the size of the filter's table"),
    number("--seed", 0, "random seed"),
    path("--out", "the model file to write", required=True),
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
    train, dev = parse_treebanks(options)
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
    print(size(options.out))


def horizontal_order(text: str) -> int | None:
    """Parse a horizontal order: an integer, or None for "inf"."""
    if text == "inf":
        return None
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no horizontal order; give 0, 1, 2 … or inf")
    return int(text)


@command(
    "train-pcfg --corpus build/corpus --names sample --out build/pcfg.model",
    *treebanks(weight=False),
    option("--vertical", "vertical order: 1: plain labels; 2: labels with the parent's label (default)", type=int,
           default=2),
    option("--tag-vertical", "vertical order of tags (default: 2)", type=int, default=2),
    option("--horizontal", "horizontal order: number of siblings in the symbols of binarised rules (default: 1)",
           type=horizontal_order, default=1, metavar="N|inf"),
    BINARISE,
    option("--smoothing", "weight of the prior of the parts (default: 0, none)", type=float, default=0.0),
    RECIPE_STEPS,
    option("--max-words", "leave out longer sentences, counted after preprocessing", type=int),
    option("--min-word-count", "rarer words are treated as unknown words (default: 3)", type=int, default=3),
    choice(
        "--parse-tags",
        ("given", "own"),
        "given (default): the parser uses the tags of its input; own: it predicts tags itself",
        default="given",
    ),
    *model_options("pcfg"),
)  # fmt: skip
def train_pcfg(options: argparse.Namespace) -> None:
    """Estimate a treebank grammar from relative frequencies, and write its parser."""
    from spacy_dtparse.pcfgla.parser import PcfgParser
    from spacy_dtparse.trees import Recipe
    from training.data.treebanks import read_files, training_origin
    from training.pcfgla import Markov, PcfgOptions, train_pcfg

    chosen = PcfgOptions(
        Markov(options.vertical, options.horizontal, options.binarise, options.tag_vertical),
        Recipe.TM2006 if options.recipe_steps == "tm2006" else Recipe.PLAIN,
        options.smoothing,
        options.parse_tags == "given",
        options.max_words,
        options.min_word_count,
    )
    files, _ = parse_treebanks(options)
    start = time.perf_counter()
    meta = {**model_metadata(options), **training_origin(files)}
    model = train_pcfg(read_files(files), chosen, meta)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    PcfgParser(model).to_disk(options.out)
    for name, grammar in (("grammar", model.fine), ("coarse grammar", model.coarse)):
        print(
            f"{name}: {len(grammar.names)} symbols, {len(grammar.binary)} binary and {len(grammar.unary)} unary rules, "
            f"{len(grammar.emissions.symbol)} emissions of {len(model.words)} word classes"
        )
    left_out = f" ({model.meta['left_out']} longer ones left out)" if model.meta["left_out"] else ""
    print(
        f"{size(options.out)}, from {model.meta['sentences']} sentences{left_out}, {time.perf_counter() - start:.1f} s"
    )


@command(
    "train-pcfgla --corpus build/corpus --names sample --cycles 2 --out build/pcfgla.model",
    *treebanks(weight=False),
    number("--cycles", 4, "split-merge cycles"),
    number("--values", None, "instead of cycles: number of latent values of every symbol"),
    BINARISE,
    number("--horizontal", 0, "horizontal order: number of siblings in the symbols of binarised rules"),
    number("--iterations", 40, "maximum EM steps of a cycle"),
    option("--seeds", "random seeds; a grammar is trained for each, and the parser uses their product",
           type=natural_number, nargs="+", default=[0]),
    number("--max-words", None, "leave out longer sentences"),
    choice(
        "--parse-tags",
        ("given", "own"),
        "own (default): the parser predicts tags itself; given: it uses the tags of its input",
        default="own",
    ),
    flag(
        "--candidates",
        "add a grammar of vertical order 2 and horizontal order 1, whose best trees the parser can rerank",
    ),
    number("--threads", 2, "threads of the expectation step"),
    path("--workdir", "folder for finished cycles, so that a run can be resumed"),
    *model_options("pcfgla"),
)  # fmt: skip
def train_pcfgla(options: argparse.Namespace) -> None:
    """Train a PCFG with latent annotations by EM.

    Repeat the command to resume a run.
    """
    from spacy_dtparse.pcfgla.parser import PcfgParser
    from training.data.treebanks import read_files, training_origin
    from training.pcfgla import Markov
    from training.pcfgla.latent_training import LatentOptions, train_latent
    from training.runs.files import write_atomically
    from training.runs.metrics_log import log_metrics

    chosen = LatentOptions(
        markov=Markov(1, options.horizontal, options.binarise, 1),
        cycles=0 if options.values is not None else options.cycles,
        values=options.values if options.values is not None else LatentOptions.values,
        iterations=options.iterations,
        seeds=tuple(options.seeds),
        max_words=options.max_words,
        given_tags=options.parse_tags == "given",
        candidates=options.candidates,
    )
    if options.threads < 1:
        raise ConfigError("--threads is 0; give 1 or more")
    files, _ = parse_treebanks(options)
    start = time.perf_counter()
    meta = {**model_metadata(options), **training_origin(files)}
    model = train_latent(read_files(files), chosen, meta, options.threads, options.workdir, partial(log_metrics, None))
    write_atomically(options.out, PcfgParser(model).to_bytes())
    for part in model.latent:
        n_values, n_probabilities = int(part.sizes.sum()), int((part.values > 0).sum())
        print(f"{n_values} latent values, {len(part.rules)} rules, {n_probabilities} probabilities")
    if model.candidates is not None:
        n_symbols, n_rules = len(model.candidates.names), len(model.candidates.binary) + len(model.candidates.unary)
        print(f"candidates: {n_symbols} symbols, {n_rules} rules")
    print(f"{size(options.out)}, from {model.meta['sentences']} sentences, {time.perf_counter() - start:.0f} s")


@command(
    "train-bpm --train build/corpus/sample/train.mrg --dev build/corpus/sample/dev.mrg --out build/bpm.model",
    option("--train", "CoNLL-U files, or bracketed trees (.mrg)", nargs="+", default=[], metavar=LINKS_SPEC),
    option("--dev", "development files", nargs="*", default=[], metavar=LINKS_SPEC),
    option(
        "--tagger",
        "spaCy pipeline, or tagger that --jackknife wrote, whose tags replace those of the files (embedded: the "
        "English pipeline)",
    ),
    option(
        "--jackknife",
        "jackknife the tags of the training files with FOLDS taggers; one more, trained on all of them, tags the "
        "development files and is written next to OUT (suffix .tagger)",
        type=int,
        default=0,
        metavar="FOLDS",
    ),
    path("--guide", "model of a constituency parser whose trees guide the first stage"),
    option("--source", "parts of speech to use: tag (default), pos or pos+tag", default="tag"),
    option("--tag-positions", "characters of a positional tag to use, from 0 (default: all)", type=int, nargs="*",
           default=[]),
    option("--stem", "prefix (five characters, default), first (one character) or lemma", default="prefix"),
    option("--numbers", "how numerals are normalised: one (a single class, default) or chinese (years, months and "
           "dates are separate)", default="one"),
    option("--decoder", "projective (Eisner, default) or spanning", default="projective"),
    settings("training.bpm_parser.options.DependencyOptions (members=20 stages=1 method=mira)"),
    option("--workers", "processes, one learner in each (default: 2)", type=positive_number, default=2),
    path("--workdir", "folder for finished learners, so that a run can be resumed"),
    *model_options("bpm", licence=True, credit="credit for the meta"),
)  # fmt: skip
def train_bpm(options: argparse.Namespace) -> None:
    """Train a dependency parser, a Bayes point machine.

    Repeat the command to resume a run.
    """
    from spacy_dtparse.bpm_parser.features import TextRules
    from training.bpm_parser.options import DependencyOptions
    from training.bpm_parser.running import Annotators, train_dependency_parser
    from training.runs.settings import apply_field_settings
    from training.spine_tagger.fitting import jackknife_tags

    if not options.train:
        raise ConfigError("no training data; give --train FILE …")
    if options.jackknife and options.tagger is not None:
        raise ConfigError("both --tagger and --jackknife are given; leave one of them out")
    if options.jackknife not in (0, *range(2, 1000)):
        raise ConfigError(f"--jackknife is {options.jackknife}; give 2 folds or more")
    rules = TextRules(options.source, tuple(options.tag_positions), options.stem, options.numbers,
                      "none" if options.guide is None else "constituents")  # fmt: skip
    start = DependencyOptions(rules=rules, decoder=options.decoder)
    chosen = apply_field_settings(start, options.set, but=("rules", "decoder"))
    seconds = train_dependency_parser(
        options.train,
        options.dev,
        chosen,
        model_metadata(options),
        options.out,
        options.workdir,
        options.workers,
        Annotators(options.tagger, options.guide, options.jackknife, jackknife_tags if options.jackknife else None),
    )
    print(f"{size(options.out)}, {seconds:.0f} s")


@command(
    "evaluate-bpm build/bpm.model build/corpus/sample/dev.mrg",
    path("model", "the model file"),
    option("files", "CoNLL-U files, or bracketed trees (.mrg)", nargs="+", metavar=LINKS_SPEC),
    option(
        "--tagger", "spaCy pipeline, or tagger that train-bpm --jackknife wrote, whose tags replace those of the files"
    ),
    path("--guide", "model of a constituency parser, if the model was trained with --guide"),
    LANG,
    option("--stages", "stages to run (default: all)", type=int),
    option("--heads", "candidate heads per token in the later stages (default: 12)", type=int),
    option("--decoder", "projective or spanning (default: the model's)"),
    path("--json", "also write all scores to this file"),
)
def evaluate_bpm(options: argparse.Namespace) -> None:
    """Compute the attachment scores of a dependency parser on CoNLL-U files or bracketed trees."""
    from spacy_dtparse.core import load_dependency_parser, load_parser
    from training.bpm_parser.fitting import attachment_scores
    from training.bpm_parser.running import add_guides, find_tagger, read_treebank_file, tag_sentences

    parser = load_dependency_parser(options.model)
    parser = parser.with_settings(stages=options.stages, decoder=options.decoder, heads=options.heads)
    sentences = [sentence for file in options.files for sentence in read_treebank_file(file, options.lang)]
    if options.tagger is not None:
        sentences = tag_sentences(find_tagger(options.tagger), sentences)
    if options.guide is not None:
        sentences = add_guides(load_parser(options.guide), sentences, options.lang)
    for sentence in sentences[:20]:
        parser.parse(sentence.columns)
    start = time.process_time()
    report = attachment_scores(parser, sentences)
    seconds = time.process_time() - start
    tokens = sum(len(sentence.heads) for sentence in sentences)
    print(f"{len(sentences)} sentences, {tokens} tokens, {tokens / max(seconds, 1e-9):.0f} tokens per CPU second")
    print(report.line())
    if options.json is not None:
        write_json(options.json, report.to_dict())


@command(
    "evaluate build/span.model build/corpus/sample/dev.mrg --tags gold",
    path("source", "model file, or folder of a spaCy pipeline"),
    option("files", "bracketed gold trees", nargs="*", metavar=READ_SPEC),
    path("--corpus", "folder of treebanks: NAME/dev.mrg are used in addition to the files above"),
    NAMES,
    option("--tags", "tags to parse with (default: gold)", nargs="+", choices=("gold", "predicted"), default=["gold"]),
    option(
        "--budgets",
        "search budgets: inferences scored per sentence; 0 is greedy (default: the model's setting)",
        nargs="+",
        type=natural_number,
        metavar="N",
    ),
    choice(
        "--decoder",
        ("max-rule", "viterbi", "q", "rerank"),
        "decoding objective of a grammar with latent annotations (default: max-rule)",
    ),
    number("--candidates-n", None, "trees that the decoder rerank considers (default: 100)"),
    number("--networks", None, "maximum number of networks of a span parser to use"),
    option(
        "--ensemble-threshold",
        "skip a span parser's other networks if no constituent of the first one's tree has a higher cost, −ln of its "
        "probability; 0: always use all networks",
        type=float,
        metavar="COST",
    ),
    path("--json", "also write the records to this file", metavar="FILE"),
    flag("--record", "store the scores in the pipeline's meta.json"),
)
def evaluate(options: argparse.Namespace) -> None:
    """Score a parser on treebank files, with gold or predicted tags, with several search budgets."""
    from training.data.evaluate import evaluate, record_performance, scores_table
    from training.data.treebanks import TreebankFile, corpus_files

    files = [TreebankFile.parse(text) for text in options.files]
    if options.corpus is not None:
        files += corpus_files(options.corpus, options.names, "dev")
    if not files:
        raise ConfigError("no files to score on; give bracketed files, or --corpus FOLDER with --names")
    names = ("decoder", "candidates_n", "networks", "ensemble_threshold")
    changes = {name: getattr(options, name) for name in names}
    settings = {name: value for name, value in changes.items() if value is not None}
    records = evaluate(options.source, files, options.tags, options.budgets or [None], settings)
    print(scores_table(records))
    if options.json is not None:
        write_json(options.json, records)
    if options.record:
        record_performance(options.source, records)
