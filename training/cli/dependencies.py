"""Commands that train and score dependency parsers."""

import argparse
import time
from functools import partial

from spacy_dtparse.errors import ConfigError

from . import declaring as arg

LINKS_SPEC = "PATH[,tags=PATH][,limit=N][,block=K/N]"
command = partial(arg.declare, "Parsers")


@command(
    "train-bpm --train build/corpus/sample/train.mrg --dev build/corpus/sample/dev.mrg --out build/bpm.model",
    arg.option(f"--train {LINKS_SPEC} +", "CoNLL-U files, or bracketed trees (.mrg)"),
    arg.option(f"--dev {LINKS_SPEC} *", "development files"),
    arg.ERRORS,
    arg.option(
        "--tagger",
        "spaCy pipeline, or tagger that --jackknife wrote, whose tags replace those of the files (embedded: the "
        "English pipeline)",
    ),
    arg.option(
        "--jackknife FOLDS",
        "jackknife the tags of the training files with FOLDS taggers; one more, trained on all of them, tags the "
        "development files and is written next to OUT (suffix .tagger)",
        type=int,
        default=0,
    ),
    arg.path("--guide", "model of a constituency parser whose trees guide the first stage"),
    arg.option("--source", "parts of speech to use: tag (default), pos or pos+tag", default="tag"),
    arg.option("--tag-positions *", "characters of a positional tag to use, from 0 (default: all)", type=int),
    arg.option("--stem", "prefix (five characters, default), first (one character) or lemma", default="prefix"),
    arg.option(
        "--numbers",
        "how numerals are normalised: one (a single class, default) or chinese (years, months and dates are separate)",
        default="one",
    ),
    arg.option("--decoder", "projective (Eisner, default) or spanning", default="projective"),
    arg.settings("training.bpm_parser.options.DependencyOptions (members=20 stages=1 method=mira)"),
    arg.number("--workers", 2, "processes, one learner in each", minimum=1),
    arg.workdir("finished learners"),
    *arg.model_options("bpm", licence=True, credit="credit for the meta"),
)
def train_bpm(options: argparse.Namespace) -> None:
    """Train a dependency parser, a Bayes point machine."""
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
    rules = TextRules(
        options.source,
        tuple(options.tag_positions),
        options.stem,
        options.numbers,
        "none" if options.guide is None else "constituents",
    )
    start = DependencyOptions(rules=rules, decoder=options.decoder)
    chosen = apply_field_settings(start, options.set, but=("rules", "decoder"))
    seconds = train_dependency_parser(
        options.train,
        options.dev,
        chosen,
        arg.model_metadata(options),
        options.out,
        options.workdir,
        options.workers,
        Annotators(options.tagger, options.guide, options.jackknife, jackknife_tags if options.jackknife else None),
    )
    print(f"{arg.size(options.out)}, {seconds:.0f} s")


@command(
    "evaluate-bpm build/bpm.model build/corpus/sample/dev.mrg",
    arg.path("model", "the model file"),
    arg.option(f"files {LINKS_SPEC} +", "CoNLL-U files, or bracketed trees (.mrg)"),
    arg.ERRORS,
    arg.option(
        "--tagger", "spaCy pipeline, or tagger that train-bpm --jackknife wrote, whose tags replace those of the files"
    ),
    arg.path("--guide", "model of a constituency parser, if the model was trained with --guide"),
    arg.LANG,
    arg.option("--stages", "stages to run (default: all)", type=int),
    arg.option("--heads", "candidate heads per token in the later stages (default: 12)", type=int),
    arg.option("--decoder", "projective or spanning (default: the model's)"),
    arg.path("--json", "also write all scores to this file"),
)
def evaluate_bpm(options: argparse.Namespace) -> None:
    """Compute the attachment scores of a dependency parser on CoNLL-U files or bracketed trees."""
    from spacy_dtparse.core import load_dependency_parser
    from spacy_dtparse.models import open_parser
    from training.bpm_parser.fitting import attachment_scores
    from training.bpm_parser.running import add_guides, find_tagger, read_treebank_file, tag_sentences

    parser = load_dependency_parser(options.model)
    parser = parser.with_settings(stages=options.stages, decoder=options.decoder, heads=options.heads)
    sentences = [sentence for file in options.files for sentence in read_treebank_file(file, options.lang)]
    if options.tagger is not None:
        sentences = tag_sentences(find_tagger(options.tagger), sentences)
    if options.guide is not None:
        sentences = add_guides(open_parser(options.guide), sentences, options.lang)
    for sentence in sentences[:20]:
        parser.parse(sentence.columns)
    start = time.process_time()
    report = attachment_scores(parser, sentences)
    seconds = time.process_time() - start
    tokens = sum(len(sentence.heads) for sentence in sentences)
    print(f"{len(sentences)} sentences, {tokens} tokens, {tokens / max(seconds, 1e-9):.0f} tokens per CPU second")
    print(report.line())
    arg.write_results(options, report.to_dict())
