"""Train the teacher, let it read raw text, score it.

Needs the extra `teacher`. A killed `fit` or `annotate` goes on with the same command.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import cast

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from .settings import add_settings
from .treebanks import add_treebanks, treebank_spec, treebanks_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `teacher fit` and its other commands."""
    commands = parser.add_subparsers(
        dest="teacher_command", metavar="fit|annotate|vectors|trees|retag|evaluate", required=True
    )
    fit = commands.add_parser("fit", help="train one network from treebanks")
    add_treebanks(fit, dev="to be scored on", train="to learn from, W times in a pass", tags=False)
    fit.add_argument(
        "--dependencies", action="append", default=[], metavar="PATH[,weight=W]",
        help="CoNLL-U file, for tags (XPOS) and for what constituents may not cross",
    )  # fmt: skip
    fit.add_argument("--start", type=Path, help="teacher to go on from, with its labels, tags and sources")
    fit.add_argument("--more-source", action="append", default=[], metavar="NAME", help="a source to keep room for")
    add_settings(fit, "training.teacher.fitting.TeacherOptions (epochs=6)")
    fit.add_argument("--workdir", type=Path, required=True, help="folder for the log and the state of the run")
    fit.add_argument("--out", type=Path, required=True, help="folder to write the teacher to")
    annotate = commands.add_parser("annotate", help="read raw text, write what the teacher believes of it")
    annotate.add_argument(
        "teachers", nargs="+", type=Path, metavar="TEACHER", help="folders of fit; several are averaged"
    )
    annotate.add_argument(
        "--text", nargs="+", required=True, metavar="PATH[,wrapped][,spaced]", help="UTF-8, a paragraph per line"
    )
    annotate.add_argument("--source", help="treebank whose conventions the trees follow (default: none's)")
    annotate.add_argument(
        "--source-of",
        action="append",
        default=[],
        metavar="TEXT=SOURCE",
        help="the same for a text, by its file's name",
    )
    annotate.add_argument(
        "--without", nargs="*", default=[], metavar="TREES|DIR", help="files of trees, and shards, left out"
    )
    annotate.add_argument("--min-words", type=natural_number, default=2)
    annotate.add_argument("--max-words", type=natural_number, default=60)
    annotate.add_argument("--most-words", type=natural_number, help="words of a text, evenly spread (default: all)")
    annotate.add_argument("--workers", type=natural_number, default=2)
    annotate.add_argument("--out", type=Path, required=True, help="folder for the shards")
    vectors = commands.add_parser("vectors", help="write the teacher's mean vector of each word of annotated text")
    vectors.add_argument("teachers", nargs="+", type=Path, metavar="TEACHER", help="folders of fit; averaged")
    vectors.add_argument(
        "--taught", type=Path, action="append", required=True, metavar="DIR", help="shards; repeatable"
    )
    vectors.add_argument("--source", help="treebank whose conventions are read (default: none's)")
    vectors.add_argument("--places", type=natural_number, default=4, help="places of a word that are read (default: 4)")
    vectors.add_argument(
        "--least-word", type=natural_number, default=4, metavar="N", help="of words that occur so often (default: 4)"
    )
    vectors.add_argument("--out", type=Path, required=True, help="the file to write (.npz)")
    trees = commands.add_parser("trees", help="write the trees that the teacher finds in annotated text")
    trees.add_argument("shards", nargs="+", type=Path, metavar="DIR", help="folders of annotate or retag")
    trees.add_argument(
        "--least-sure", type=float, default=0.0, metavar="P", help="none with a constituent less probable (default: 0)"
    )
    trees.add_argument(
        "--every", type=natural_number, default=1, metavar="N", help="every N-th shard of a text (default: all)"
    )
    trees.add_argument("--out", type=Path, required=True, help="the file to write, a tree in a line")
    retag = commands.add_parser("retag", help="tag annotated text or trees with a pipeline, as the parser will meet it")
    retag.add_argument(
        "sources", nargs="*", type=Path, metavar="DIR|TREES", help="shards of annotate, or trees: NAME/PART.mrg"
    )
    retag.add_argument("--corpus", type=Path, help="folder of treebanks: train and dev of --names beside the above")
    retag.add_argument("--names", nargs="+", default=[], metavar="NAME[:WEIGHT]", help="the treebanks of --corpus")
    retag.add_argument("--pipeline", help="spaCy pipeline with a tagger (default: the embedded one)")
    retag.add_argument(
        "--keep", type=natural_number, default=0, metavar="N", help="leave every N-th shard as it is (default: none)"
    )
    retag.add_argument("--workers", type=natural_number, default=2)
    retag.add_argument("--out", type=Path, required=True, help="folder for the new shards, or for NAME.PART.tags")
    evaluate = commands.add_parser("evaluate", help="score a teacher on trees")
    evaluate.add_argument("teachers", nargs="+", type=Path, metavar="TEACHER")
    evaluate.add_argument("--dev", action="append", default=[], metavar=treebank_spec(tags=False), required=True)
    evaluate.add_argument("--source", help="treebank whose conventions the trees follow (default: each file's own)")
    evaluate.add_argument("--beside", type=Path, metavar="MODEL", help="latent grammars or a span parser, mixed in")
    evaluate.add_argument("--share", type=float, default=0.5, help="what its opinion weighs (default: %(default)s)")


def run(options: argparse.Namespace) -> None:
    """Call what the command asks for."""
    commands = {"fit": _fit, "annotate": _annotate, "vectors": _vectors, "trees": _trees, "retag": _retag,
                "evaluate": _evaluate}  # fmt: skip
    commands[options.teacher_command](options)


def _fit(options: argparse.Namespace) -> None:
    from ..data.shards import Lists
    from ..data.treebanks import TreebankFile, read_files
    from ..runs.settings import changed_fields
    from ..runs.telling import tell
    from ..teacher.examples import partial_sentences
    from ..teacher.fitting import TeacherOptions, fit_teacher
    from ..teacher.model import load_teacher, save_teacher

    files, dev = treebanks_of(options)
    train = [(file.weight, sentence, True) for file in files for sentence in file.read()]
    for text in options.dependencies:
        file = TreebankFile.parse(text)
        train += [(file.weight, sentence, False) for sentence in partial_sentences(file.path, file.name)]
    settings = changed_fields(TeacherOptions(), options.set)
    start = None if options.start is None else load_teacher([options.start])
    lists = None
    if start is None:
        lists = Lists.of([sentence for _, sentence, labelled in train if labelled])
        known = {*lists.sources, *(s.source for _, s, _ in train), *options.more_source} - {lists.sources[0]}
        lists = Lists(lists.chains, lists.tags, (lists.sources[0], *sorted(known)))
    facts = {"files": [f"{f.name}/{f.path.name}:{f.weight}" for f in files], "dependencies": len(options.dependencies)}
    log = partial(tell, options.workdir / "log.jsonl")
    teacher = fit_teacher(train, read_files(dev), settings, lists, options.workdir, start, facts, log)
    save_teacher(options.out, teacher)
    print(f"{options.out}: a teacher of {len(teacher.lists.chains) - 1} label chains, {len(teacher.lists.tags)} tags")


def _annotate(options: argparse.Namespace) -> None:
    from ..data.text import text_files
    from ..teacher.annotating import Annotation, annotate

    chosen = dict(text.rpartition("=")[::2] for text in options.source_of)
    annotate(
        Annotation(
            tuple(options.teachers), text_files(options.text), options.out, options.source, chosen,
            tuple(map(Path, options.without)), options.min_words, options.max_words,
            options.most_words, options.workers,
        )
    )  # fmt: skip


def _vectors(options: argparse.Namespace) -> None:
    from ..data.shards import all_shards
    from ..data.word_vectors import save_vectors
    from ..teacher.annotating import check_sources
    from ..teacher.model import chosen_sentences, load_teacher, mean_vectors

    check_sources(options.teachers, [options.source])
    shards = all_shards(options.taught)
    sentences, counts = chosen_sentences(shards, options.places, options.least_word)
    print(f"{len(sentences)} sentences of {sum(map(len, sentences))} words", flush=True)
    found = mean_vectors(load_teacher(options.teachers), sentences, counts, options.source, print)
    save_vectors(options.out, found)
    print(f"{options.out}: vectors of {len(found.words)} words, {options.out.stat().st_size / 1e6:.1f} MB")


def _trees(options: argparse.Namespace) -> None:
    from spacy_dtparse.trees import write_tree

    from ..data.shards import all_shards, text_of
    from ..data.treebanks import texts_beside
    from ..runs.files import write_atomically
    from ..teacher.trees import trees_of

    if options.every < 1:
        raise ConfigError("--every is 0; give 1 or more")
    shards = all_shards(options.shards, options.every)
    lines = [write_tree(tree) for tree, _ in trees_of(shards, options.least_sure)]
    write_atomically(options.out, "".join(f"{line}\n" for line in lines).encode())
    texts = dict.fromkeys(text_of(path) for path in shards)
    write_atomically(texts_beside(options.out), "".join(f"{text}\n" for text in texts).encode())
    print(f"{options.out}: {len(lines)} trees")


def _retag(options: argparse.Namespace) -> None:
    from ..data.treebanks import corpus_files
    from ..runs.processes import worker_pool
    from ..teacher.retagging import retag_tasks, run_task

    sources = list(options.sources)
    if options.corpus is not None:
        files = [file for part in ("train", "dev") for file in corpus_files(options.corpus, options.names, part)]
        sources += [file.path for file in files]
    if not sources:
        raise ConfigError("there is nothing to tag; give shards, files of trees, or --corpus with --names")
    tasks = retag_tasks(sources, options.out, options.keep)
    with worker_pool(options.workers) as pool:
        for number, said in enumerate(pool.map(partial(run_task, options.pipeline), tasks), 1):
            if said or number % 20 == 0 or number == len(tasks):
                print(said or f"{number} of {len(tasks)}", flush=True)


def _evaluate(options: argparse.Namespace) -> None:
    from spacy_dtparse.parsers import load_parser

    from ..data.treebanks import TreebankFile, read_files
    from ..teacher.fitting import judge
    from ..teacher.model import load_teacher
    from ..teacher.trees import Believer, Beside

    if not 0 <= options.share <= 1:
        raise ConfigError(f"--share is {options.share}; give what --beside weighs, from 0 to 1")
    teacher, beside = load_teacher(options.teachers), None
    if options.beside is not None:
        parser = load_parser(options.beside)
        if not hasattr(parser, "span_posteriors"):
            raise ConfigError(
                f"{options.beside} has no probabilities of constituents; give latent grammars or a span parser"
            )
        beside = Beside(cast(Believer, parser), options.share)
    for file in map(TreebankFile.parse, options.dev):
        figures = judge(teacher, read_files([file]), options.source, beside)
        print("  ".join(f"{name} {value:.2f}" for name, value in figures.items()))
