"""The command `teacher` and its parts."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import cast

from spacy_dtparse.errors import ConfigError

from .declaring import (
    COMMANDS,
    NAMES,
    TEXT_SPEC,
    Command,
    each,
    number,
    option,
    path,
    settings,
    treebank_spec,
    treebanks,
    treebanks_of,
)

ABOUT = """Train the teacher, let it read raw text, score it.

Needs the extra `teacher`. A killed `fit` or `annotate` goes on with the same command."""
EXAMPLE = "teacher fit --corpus build/corpus --names sample --workdir build/teacher --out build/teacher/out"
COMMANDS["teacher"] = teacher = Command("Whole pipelines", ABOUT, EXAMPLE)


@teacher.part(
    *treebanks(dev="to be scored on", train="to learn from, W times in a pass", tags=False),
    each(
        "--dependencies",
        "CoNLL-U file, for tags (XPOS) and for what constituents may not cross",
        metavar="PATH[,weight=W]",
    ),
    path("--start", "teacher to go on from, with its labels, tags and sources"),
    each("--more-source", "a source to keep room for", metavar="NAME"),
    settings("training.teacher.fitting.TeacherOptions (epochs=6)"),
    path("--workdir", "folder for the log and the state of the run", required=True),
    path("--out", "folder to write the teacher to", required=True),
)
def fit(options: argparse.Namespace) -> None:
    """Train one network from treebanks."""
    from training.data.shards import Lists
    from training.data.treebanks import TreebankFile, read_files
    from training.runs.settings import changed_fields
    from training.runs.telling import tell
    from training.teacher.examples import partial_sentences
    from training.teacher.fitting import TeacherOptions, fit_teacher
    from training.teacher.model import load_teacher, save_teacher

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


@teacher.part(
    path("teachers", "folders of fit; several are averaged", nargs="+", metavar="TEACHER"),
    option("--text", "UTF-8, a paragraph per line", nargs="+", required=True, metavar=TEXT_SPEC),
    option("--source", "treebank whose conventions the trees follow (default: none's)"),
    each("--source-of", "the same for a text, by its file's name", metavar="TEXT=SOURCE"),
    option("--without", "files of trees, and shards, left out", nargs="*", default=[], metavar="TREES|DIR"),
    number("--min-words", 2, ""),
    number("--max-words", 60, ""),
    number("--most-words", None, "words of a text, evenly spread (default: all)"),
    number("--workers", 2, ""),
    path("--out", "folder for the shards", required=True),
)
def annotate(options: argparse.Namespace) -> None:
    """Read raw text, write what the teacher believes of it."""
    from training.data.text import text_files
    from training.teacher.annotating import Annotation, annotate

    chosen = dict(text.rpartition("=")[::2] for text in options.source_of)
    annotate(
        Annotation(
            tuple(options.teachers), text_files(options.text), options.out, options.source, chosen,
            tuple(map(Path, options.without)), options.min_words, options.max_words,
            options.most_words, options.workers,
        )
    )  # fmt: skip


@teacher.part(
    path("teachers", "folders of fit; averaged", nargs="+", metavar="TEACHER"),
    path("--taught", "shards; repeatable", action="append", required=True, metavar="DIR"),
    option("--source", "treebank whose conventions are read (default: none's)"),
    number("--places", 4, "places of a word that are read"),
    number("--least-word", 4, "of words that occur so often"),
    path("--out", "the file to write (.npz)", required=True),
)
def vectors(options: argparse.Namespace) -> None:
    """Write the teacher's mean vector of each word of annotated text."""
    from training.data.shards import all_shards
    from training.data.word_vectors import save_vectors
    from training.teacher.annotating import check_sources
    from training.teacher.model import chosen_sentences, load_teacher, mean_vectors

    check_sources(options.teachers, [options.source])
    shards = all_shards(options.taught)
    sentences, counts = chosen_sentences(shards, options.places, options.least_word)
    print(f"{len(sentences)} sentences of {sum(map(len, sentences))} words", flush=True)
    found = mean_vectors(load_teacher(options.teachers), sentences, counts, options.source, print)
    save_vectors(options.out, found)
    print(f"{options.out}: vectors of {len(found.words)} words, {options.out.stat().st_size / 1e6:.1f} MB")


@teacher.part(
    path("shards", "folders of annotate or retag", nargs="+", metavar="DIR"),
    option("--least-sure", "none with a constituent less probable (default: 0)", type=float, default=0.0, metavar="P"),
    number("--every", 1, "every N-th shard of a text (default: all)"),
    option("--skip", "texts left out", nargs="*", default=[], metavar="TEXT"),
    option("--parser", "model that finds the trees in the teacher's place, or an English one's name", metavar="MODEL"),
    option("--surest", "share of each text, what costs --parser least (default: 1)", type=float, metavar="SHARE"),
    number("--most", None, "trees, drawn from all texts alike, with --parser (default: all)"),
    path("--out", "the file to write, a tree in a line", required=True),
)
def trees(options: argparse.Namespace) -> None:
    """Write the trees that the teacher, or another parser, finds in annotated text."""
    from spacy_dtparse.models import find_model
    from spacy_dtparse.parsers import load_parser
    from spacy_dtparse.parsers.base import BatchParser
    from spacy_dtparse.trees import write_tree
    from training.data.shards import all_shards, text_of
    from training.data.treebanks import texts_beside
    from training.runs.files import write_atomically
    from training.teacher.trees import parsed_trees, surest, trees_of

    if options.every < 1:
        raise ConfigError("--every is 0; give 1 or more")
    shards = [path for path in all_shards(options.shards, options.every) if text_of(path) not in options.skip]
    if options.parser is None:
        if options.surest is not None or options.most is not None:
            raise ConfigError("--surest and --most go with --parser; without it --least-sure chooses")
        lines = [write_tree(tree) for tree, _ in trees_of(shards, options.least_sure)]
    else:
        share = 1.0 if options.surest is None else options.surest
        if options.least_sure or not 0 < share <= 1:
            raise ConfigError(
                f"--surest is {share}; with --parser it is above 0 and at most 1, and --least-sure is not given"
            )
        parser = load_parser(find_model(options.parser))
        if not isinstance(parser, BatchParser):
            raise ConfigError(f"{options.parser} parses no batches; give boosted trees or a span parser")
        lines = [write_tree(tree) for tree in surest(parsed_trees(shards, parser), share, options.most)]
    write_atomically(options.out, "".join(f"{line}\n" for line in lines).encode())
    texts = dict.fromkeys(text_of(path) for path in shards)
    write_atomically(texts_beside(options.out), "".join(f"{text}\n" for text in texts).encode())
    print(f"{options.out}: {len(lines)} trees")


@teacher.part(
    path("sources", "shards of annotate, or trees: NAME/PART.mrg", nargs="*", metavar="DIR|TREES"),
    path("--corpus", "folder of treebanks: train and dev of --names beside the above"),
    NAMES,
    option("--pipeline", "spaCy pipeline with a tagger (default: the embedded one)"),
    number("--keep", 0, "leave every N-th shard as it is (default: none)"),
    number("--workers", 2, ""),
    path("--out", "folder for the new shards, or for NAME.PART.tags", required=True),
)
def retag(options: argparse.Namespace) -> None:
    """Tag annotated text or trees with a pipeline, as the parser will meet it."""
    from training.data.treebanks import corpus_files
    from training.runs.processes import worker_pool
    from training.teacher.retagging import retag_tasks, run_task

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


@teacher.part(
    path("teachers", "", nargs="+", metavar="TEACHER"),
    each("--dev", "", metavar=treebank_spec(tags=False), required=True),
    option("--source", "treebank whose conventions the trees follow (default: each file's own)"),
    path("--beside", "latent grammars or a span parser, mixed in", metavar="MODEL"),
    option("--share", "what its opinion weighs (default: %(default)s)", type=float, default=0.5),
)
def evaluate(options: argparse.Namespace) -> None:
    """Score a teacher on trees."""
    from spacy_dtparse.parsers import load_parser
    from training.data.treebanks import TreebankFile, read_files
    from training.teacher.fitting import judge
    from training.teacher.model import load_teacher
    from training.teacher.trees import Believer, Beside

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
