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
    heads_of,
    model_facts,
    model_options,
    number,
    option,
    path,
    say,
    settings,
    size,
    treebank_spec,
    treebanks,
    treebanks_of,
)

LINKS_SPEC = "PATH[,tags=PATH][,limit=N][,block=K/N]"
BINARISE = choice(
    "--binarise",
    ("left", "right", "center-parent", "center-head"),
    "how long rules are cut up (default: center-head)",
    default="center-head",
)
command = partial(declare, "Parsers")


@command(
    "span --corpus build/corpus --names sample --tags build/tags --out build/span.model",
    *treebanks(dev="to be scored on"),
    each("--more", "trees of a teacher, to begin with; repeatable", metavar=treebank_spec()),
    path("--teacher", "model of a span parser whose beliefs are mixed with --more"),
    path("--taught", "shards of teacher annotate; repeatable", action="append", default=[], metavar="DIR"),
    path("--start", "span model whose networks go on learning, with its lists of words"),
    path("--word-vectors", "of teacher vectors: where words begin", metavar="FILE"),
    option("--seeds", "a network for each", type=natural_number, nargs="+", default=[0, 1]),
    number("--workers", 2, "processes, as for networks"),
    settings("training.span.fitting.SpanOptions, its shape and dropout (epochs=20 dropout.layers=0.2)"),
    path("--workdir", "folder that keeps unfinished networks"),
    HEADS,
    *model_options("span", credit="a credit for the meta, as for raw texts"),
)
def span(options: argparse.Namespace) -> None:
    """Train a span parser.

    The same command goes on where a killed run stopped.
    """
    from training.data.shards import all_shards
    from training.data.treebanks import TreebankFile
    from training.span.running import fit_span, parse_settings

    if options.workers < 1:
        raise ConfigError("--workers is 0; give 1 or more")
    train, dev = treebanks_of(options)
    more = list(map(TreebankFile.parse, options.more))
    chosen = parse_settings(options.set, tuple(options.seeds))
    shards = all_shards(options.taught)
    seconds = fit_span(train, dev, more, chosen, model_facts(options), options.out, options.workdir, options.workers,
                       options.teacher, shards, options.start, options.word_vectors, heads_of(options))  # fmt: skip
    print(f"{size(options.out)}, {seconds:.0f} s")


@command(
    "readers --corpus build/corpus --names sample --tags build/tags --workdir build/readers --out build/beliefs",
    *treebanks(),
    path("--start", "span model that has not learned from the trees, whose networks go on learning"),
    number("--folds", 4, "networks, each trained without the sentences that it reads"),
    option("--seeds", "a network for each", type=natural_number, nargs="+", default=[0]),
    number("--workers", 2, "processes"),
    settings("training.span.fitting.SpanOptions, its shape and dropout (epochs=20 dropout.layers=0.2)"),
    path("--workdir", "folder for unfinished networks", required=True),
    path("--out", "folder for NAME.train.beliefs.npz", required=True),
)
def readers(options: argparse.Namespace) -> None:
    """Write a reader's jackknifed beliefs of the trees that fit learns from.

    The same command goes on where a killed run stopped.
    """
    from training.span.readers import jackknifed_beliefs
    from training.span.running import parse_settings

    chosen = parse_settings(options.set, tuple(options.seeds))
    written = jackknifed_beliefs(treebanks_of(options)[0], options.folds, chosen, options.workdir, options.out,
                                 options.start, options.workers)  # fmt: skip
    for file in written:
        print(size(file))


@command(
    "clusters --text assets/sample/plain.txt --n 16 --least 2 --out build/clusters.txt",
    option("--text", "UTF-8, a paragraph per line", nargs="+", required=True, metavar=TEXT_SPEC),
    number("--n", 200, "clusters", least=1),
    number("--least", 8, "how often the texts have a word that is put into one", least=1),
    number("--rounds", 12, "passes over the words", least=1),
    option("--lang", "of spaCy's tokenizer (default: en)", default="en"),
    path("--out", "file for the clusters, a line each", required=True),
)
def clusters(options: argparse.Namespace) -> None:
    """Cluster the words of raw text, for trees that test clusters.

    fit --clusters FILE --set templates=standard_clusters learns trees that do.
    """
    from training.clusters.learning import learn_clusters
    from training.data.text import text_files

    learn_clusters(text_files(options.text), options.n, options.least, options.rounds, options.out, options.lang, say)
    print(size(options.out))


@command(
    "fit --recipe training/recipes/sample.json --corpus build/corpus --names sample "
    "--tags build/tags --workdir build/fit --out build/dtparse.model",
    path("--recipe", "settings, such as training/recipes/sample.json", required=True),
    *treebanks(dev="whose F1 chooses λ"),
    path("--workdir", "folder for examples, checkpoints and logs", required=True),
    path("--reader", "a span parser whose beliefs the trees test: a model file, or en, the English network"),
    option(
        "--reader-tagger",
        "where the reader does not know the treebank's tags: a pipeline whose tags it knows, to learn which of them "
        "stand for which (default: for en the English one)",
        metavar="PIPELINE",
    ),
    path("--beliefs", "folder with NAME.train.beliefs.npz of readers (default: the reader's own)"),
    path("--clusters", "word clusters for the templates standard_clusters, as clusters writes them"),
    HEADS,
    *model_options("dtparse"),
    path("--meta", "JSON file with more facts for the model's meta"),
    settings("the recipe (path.patience=8 max_arity=5)"),
)
def fit(options: argparse.Namespace) -> None:
    """Train an ensemble of boosted decision trees.

    The same command goes on where a killed run stopped.
    """
    from training.dtree.fit import fit_model, open_reader
    from training.dtree.recipe import FitRecipe
    from training.runs.settings import changed

    recipe = FitRecipe.from_dict(changed(FitRecipe.from_json(options.recipe).to_dict(), options.set))
    extra = {}
    if options.meta is not None:
        try:
            extra = json.loads(options.meta.read_text(encoding="utf8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{options.meta}: cannot read it ({error}); give a JSON file") from error
    train, dev = treebanks_of(options)
    if options.beliefs is not None:
        train = [replace(file, beliefs=options.beliefs / f"{file.name}.train.beliefs.npz") for file in train]
    reader = None if options.reader is None else open_reader(options.reader)
    began = time.perf_counter()
    facts = {**model_facts(options), **extra}
    asked = options.reader_tagger or ("embedded" if str(options.reader) == "en" else None)
    result = fit_model(recipe, train, dev, options.workdir, options.out, facts, reader, options.clusters,
                       heads_of(options), asked)  # fmt: skip
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    best = result.best or {}
    if best.get("f1") is not None:
        figures = ", ".join(f"{name} {100 * value:.2f}" for name, value in best["scores"].items() if name != "seconds")
        print(f"best λ {best['lambda']:.4g}: dev {figures}")
    print(f"{size(options.out)}, {time.perf_counter() - began:.0f} s")


@command(
    "gate build/dtparse.model --corpus build/corpus --names sample --out build/gated.model",
    path("model", "the model file"),
    *treebanks(dev="to measure on"),
    number("--bits", 20, "size of its table, as a power of two"),
    number("--seed", 0, ""),
    path("--out", "the model file to write", required=True),
)
def gate(options: argparse.Namespace) -> None:
    """Train the gate of a boosted-tree parser anew, and say on dev how many windows it saves."""
    from spacy_dtparse.models import find_model
    from spacy_dtparse.parsers.dtree import DtreeParser
    from training.data.treebanks import read_files
    from training.dtree.gate import derivations_of, gate_shares, train_gate
    from training.runs.files import write_atomically

    if not 2 <= options.bits <= 24:
        raise ConfigError(f"--bits is {options.bits}; it must be from 2 to 24")
    train, dev = treebanks_of(options)
    parser = DtreeParser.from_disk(find_model(options.model))
    search = parser.compiled.search

    def log(what: str, **facts: float) -> None:
        print(f"{what}: " + ", ".join(f"{name} {value:.6g}" for name, value in facts.items()), flush=True)

    derivations, skipped = derivations_of(parser.model, read_files(train))
    if skipped:
        print(f"{skipped} trees with labels that the model does not have were left out")
    gate = train_gate(search.grammar, search.heads, derivations, options.bits, options.seed, log)
    if dev:
        held_out, _ = derivations_of(parser.model, read_files(dev))
        print("gate    margin  right windows lost  windows scored")
        for share, found in gate_shares(search.grammar, search.heads, held_out, gate).items():
            print(f"{share:<6g}  {found['margin']:6.2f}  {found['lost']:18.3%}  {found['scored']:14.1%}")
    write_atomically(options.out, DtreeParser(replace(parser.model, gate=gate)).to_bytes())
    print(size(options.out))


def horizontal_order(text: str) -> int | None:
    """A horizontal order: a whole number, or None for "inf"."""
    if text == "inf":
        return None
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no horizontal order; give 0, 1, 2 … or inf")
    return int(text)


@command(
    "pcfg --corpus build/corpus --names sample --out build/pcfg.model",
    *treebanks(weight=False),
    option("--vertical", "1: labels as they are; 2: with the parent's (default)", type=int, default=2),
    option("--tag-vertical", "the same for parts of speech (default: 2)", type=int, default=2),
    option("--horizontal", "children remembered (default: 1)", type=horizontal_order, default=1, metavar="N|inf"),
    BINARISE,
    option("--smoothing", "weight of the parts' prior (default: 0, none)", type=float, default=0.0),
    RECIPE_STEPS,
    option("--max-words", "leave out longer sentences, counted after preprocessing", type=int),
    option("--min-word-count", "rarer words go by their looks (default: 3)", type=int, default=3),
    choice(
        "--parse-tags",
        ("given", "own"),
        "whether the parser keeps to a token's tag (default) or chooses tags itself",
        default="given",
    ),
    *model_options("pcfg"),
)
def pcfg(options: argparse.Namespace) -> None:
    """Make a treebank grammar and its parser, from relative frequencies."""
    from spacy_dtparse.parsers.pcfg import PcfgParser
    from spacy_dtparse.trees import Recipe
    from training.data.treebanks import origin_of, read_files
    from training.pcfg import Markov, PcfgOptions, train_pcfg

    chosen = PcfgOptions(
        Markov(options.vertical, options.horizontal, options.binarise, options.tag_vertical),
        Recipe.TM2006 if options.recipe_steps == "tm2006" else Recipe.PLAIN,
        options.smoothing,
        options.parse_tags == "given",
        options.max_words,
        options.min_word_count,
    )
    files, _ = treebanks_of(options)
    began = time.perf_counter()
    meta = {**model_facts(options), **origin_of(files)}
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
        f"{size(options.out)}, from {model.meta['sentences']} sentences{left_out}, {time.perf_counter() - began:.1f} s"
    )


@command(
    "pcfgla --corpus build/corpus --names sample --cycles 2 --out build/pcfgla.model",
    *treebanks(weight=False),
    number("--cycles", 4, "of splitting and merging"),
    number("--values", None, "instead of cycles: so many latent values for every symbol at once"),
    BINARISE,
    number("--horizontal", 0, "children remembered"),
    number("--iterations", 40, "most EM steps of a cycle"),
    option("--seeds", "a grammar for each; the parser multiplies them", type=natural_number, nargs="+", default=[0]),
    number("--max-words", None, "leave out longer sentences"),
    choice(
        "--parse-tags",
        ("given", "own"),
        "whether the parser chooses tags itself (default) or keeps to a token's tag",
        default="own",
    ),
    flag(
        "--candidates",
        "add a grammar of vertical order 2 and horizontal order 1, whose best trees the parser can rerank",
    ),
    number("--threads", 2, "of the expectation step"),
    path("--workdir", "folder that keeps finished cycles"),
    *model_options("pcfgla"),
)
def pcfgla(options: argparse.Namespace) -> None:
    """Train a PCFG with latent annotations by EM.

    The same command goes on where a killed run stopped.
    """
    from spacy_dtparse.parsers.pcfg import PcfgParser
    from training.data.treebanks import origin_of, read_files
    from training.pcfg import Markov
    from training.pcfg.latent_training import LatentOptions, train_latent
    from training.runs.files import write_atomically
    from training.runs.telling import tell

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
    files, _ = treebanks_of(options)
    began = time.perf_counter()
    meta = {**model_facts(options), **origin_of(files)}
    model = train_latent(read_files(files), chosen, meta, options.threads, options.workdir, partial(tell, None))
    write_atomically(options.out, PcfgParser(model).to_bytes())
    for part in model.latent:
        n_values, n_numbers = int(part.sizes.sum()), int((part.values > 0).sum())
        print(f"{n_values} latent values, {len(part.rules)} rules, {n_numbers} probabilities")
    if model.candidates is not None:
        n_symbols, n_rules = len(model.candidates.names), len(model.candidates.binary) + len(model.candidates.unary)
        print(f"candidates: {n_symbols} symbols, {n_rules} rules")
    print(f"{size(options.out)}, from {model.meta['sentences']} sentences, {time.perf_counter() - began:.0f} s")


@command(
    "bpm --train build/corpus/sample/train.mrg --dev build/corpus/sample/dev.mrg --out build/bpm.model",
    option("--train", "CoNLL-U files, or bracketed trees (.mrg)", nargs="+", default=[], metavar=LINKS_SPEC),
    option("--dev", "development files", nargs="*", default=[], metavar=LINKS_SPEC),
    option(
        "--tagger",
        "a spaCy pipeline (embedded: the English one; or what --jackknife has written) whose tags take the place "
        "of the files'",
    ),
    option(
        "--jackknife",
        "so many taggers of the files' own tags each tag a part that they have not seen, and one of all the rest, "
        "which is written beside OUT (suffix .tagger), the development files",
        type=int,
        default=0,
        metavar="FOLDS",
    ),
    path("--guide", "a constituent parser's model, whose trees guide the first stage"),
    option("--source", "parts of speech to read: tag (default), pos or pos+tag", default="tag"),
    option("--places", "characters of a positional tag that count, from 0", type=int, nargs="*", default=[]),
    option("--stem", "prefix (five characters, default), first (one) or lemma", default="prefix"),
    option("--numbers", "one (default) or chinese (years, months, dates apart)", default="one"),
    option("--decoder", "projective (Eisner, default) or spanning", default="projective"),
    settings("training.dependency.options.DependencyOptions (members=20 stages=1 method=mira)"),
    option("--workers", "processes, a learner in each (default: 2)", type=positive_number, default=2),
    path("--workdir", "folder that keeps finished learners"),
    *model_options("bpm", licence=True, credit="a credit for the meta"),
)
def bpm(options: argparse.Namespace) -> None:
    """Train a dependency parser, a Bayes point machine.

    The same command goes on where a killed run stopped.
    """
    from spacy_dtparse.features.linear.linkparts import TextRules
    from training.dependency.options import DependencyOptions
    from training.dependency.running import fit_dependency
    from training.loglinear_tagger.fitting import jackknifed_tags
    from training.runs.settings import changed_fields

    if not options.train:
        raise ConfigError("there is nothing to learn from; give --train FILE …")
    if options.jackknife and options.tagger is not None:
        raise ConfigError("both --tagger and --jackknife are given; tags are of the one or of the other")
    if options.jackknife not in (0, *range(2, 1000)):
        raise ConfigError(f"--jackknife is {options.jackknife}; give 2 folds or more")
    rules = TextRules(options.source, tuple(options.places), options.stem, options.numbers,
                      "none" if options.guide is None else "constituents")  # fmt: skip
    start = DependencyOptions(rules=rules, decoder=options.decoder)
    chosen = changed_fields(start, options.set, but=("rules", "decoder"))
    seconds = fit_dependency(
        options.train,
        options.dev,
        chosen,
        model_facts(options),
        options.out,
        options.workdir,
        options.workers,
        options.tagger,
        options.guide,
        options.jackknife,
        jackknifed_tags if options.jackknife else None,
    )
    print(f"{size(options.out)}, {seconds:.0f} s")


@command(
    "bpm-evaluate build/bpm.model build/corpus/sample/dev.mrg",
    path("model", "the model file"),
    option("files", "CoNLL-U files, or bracketed trees (.mrg)", nargs="+", metavar=LINKS_SPEC),
    option("--tagger", "a spaCy pipeline (or what bpm --jackknife writes) whose tags take the place of the files'"),
    path("--guide", "a constituent parser's model, for a model that trees guide"),
    LANG,
    option("--stages", "stages to be run (default: all)", type=int),
    option("--heads", "heads of a token that a later stage looks at (default: 12)", type=int),
    option("--decoder", "projective or spanning (default: the model's)"),
    path("--json", "also write all figures there"),
)
def bpm_evaluate(options: argparse.Namespace) -> None:
    """Attachment scores of a dependency parser on CoNLL-U files or bracketed trees."""
    from spacy_dtparse.parsers import load_dependency_parser, load_parser
    from training.dependency.fitting import judge
    from training.dependency.running import find_tagger, guided, read_treebank_file, tagged

    parser = load_dependency_parser(options.model)
    parser = parser.with_settings(stages=options.stages, decoder=options.decoder, heads=options.heads)
    sentences = [sentence for file in options.files for sentence in read_treebank_file(file, options.lang)]
    if options.tagger is not None:
        sentences = tagged(find_tagger(options.tagger), sentences)
    if options.guide is not None:
        sentences = guided(load_parser(options.guide), sentences, options.lang)
    for sentence in sentences[:20]:
        parser.parse(sentence.columns)
    began = time.process_time()
    report = judge(parser, sentences)
    seconds = time.process_time() - began
    tokens = sum(len(sentence.heads) for sentence in sentences)
    print(f"{len(sentences)} sentences, {tokens} tokens, {tokens / max(seconds, 1e-9):.0f} tokens per CPU second")
    print(report.line())
    if options.json is not None:
        write_json(options.json, report.to_dict())


@command(
    "evaluate build/span.model build/corpus/sample/dev.mrg --tags gold",
    path("source", "a model file, or the folder of a spaCy pipeline"),
    option("files", "bracketed gold trees", nargs="*", metavar=READ_SPEC),
    path("--corpus", "folder of treebanks: NAME/dev.mrg are used beside the above"),
    NAMES,
    option("--tags", "tags to parse with (default: gold)", nargs="+", choices=("gold", "predicted"), default=["gold"]),
    option(
        "--budgets",
        "inferences scored per sentence; 0 is greedy (default: the model's own setting)",
        nargs="+",
        type=natural_number,
        metavar="N",
    ),
    choice(
        "--decoder",
        ("max-rule", "viterbi", "q", "rerank"),
        "how a grammar with latent annotations chooses a tree (default: max-rule)",
    ),
    number("--candidates-n", None, "trees that the decoder rerank looks at (default: 100)"),
    number("--networks", None, "most networks that a span parser asks"),
    option(
        "--confident",
        "score up to which a span parser's first network is believed; 0 asks all networks always",
        type=float,
        metavar="S",
    ),
    path("--json", "also write the records there", metavar="FILE"),
    flag("--record", "keep the figures in the pipeline's meta.json"),
)
def evaluate(options: argparse.Namespace) -> None:
    """Score a parser on treebank files, with gold or predicted tags, at several search budgets."""
    from training.data.evaluate import evaluate, record_performance, table
    from training.data.treebanks import TreebankFile, corpus_files

    files = [TreebankFile.parse(text) for text in options.files]
    if options.corpus is not None:
        files += corpus_files(options.corpus, options.names, "dev")
    if not files:
        raise ConfigError("there is nothing to score on; give bracketed files, or --corpus FOLDER with --names")
    names = ("decoder", "candidates_n", "networks", "confident")
    changes = {name: getattr(options, name) for name in names}
    settings = {name: value for name, value in changes.items() if value is not None}
    records = evaluate(options.source, files, options.tags, options.budgets or [None], settings)
    print(table(records))
    if options.json is not None:
        write_json(options.json, records)
    if options.record:
        record_performance(options.source, records)
