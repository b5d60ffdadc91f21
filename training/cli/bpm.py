"""Train a dependency parser, a Bayes point machine.

The same command goes on where a killed run stopped.
"""

import argparse
from pathlib import Path

from spacy_dtparse.cli.pipelines import positive_number
from spacy_dtparse.errors import ConfigError

from .settings import add_model, add_settings, model_facts

SPEC = "PATH[,tags=PATH][,limit=N][,block=K/N]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bpm`."""
    parser.add_argument("--train", nargs="+", default=[], metavar=SPEC, help="CoNLL-U files, or bracketed trees (.mrg)")
    parser.add_argument("--dev", nargs="*", default=[], metavar=SPEC, help="development files")
    parser.add_argument(
        "--tagger",
        help="a spaCy pipeline (embedded: the English one; or what --jackknife has written) whose tags take the place "
        "of the files'",
    )
    parser.add_argument(
        "--jackknife", type=int, default=0, metavar="FOLDS",
        help="so many taggers of the files' own tags each tag a part that they have not seen, and one of all the rest, "
        "which is written beside OUT (suffix .tagger), the development files",
    )  # fmt: skip
    parser.add_argument("--guide", type=Path, help="a constituent parser's model, whose trees guide the first stage")
    parser.add_argument("--source", default="tag", help="parts of speech to read: tag (default), pos or pos+tag")
    parser.add_argument(
        "--places", type=int, nargs="*", default=[], help="characters of a positional tag that count, from 0"
    )
    parser.add_argument("--stem", default="prefix", help="prefix (five characters, default), first (one) or lemma")
    parser.add_argument("--numbers", default="one", help="one (default) or chinese (years, months, dates apart)")
    parser.add_argument("--decoder", default="projective", help="projective (Eisner, default) or spanning")
    add_settings(parser, "training.dependency.options.DependencyOptions (members=20 stages=1 method=mira)")
    parser.add_argument("--workers", type=positive_number, default=2, help="processes, a learner in each (default: 2)")
    parser.add_argument("--workdir", type=Path, help="folder that keeps finished learners")
    add_model(parser, "bpm", licence=True, credit="a credit for the meta")


def run(options: argparse.Namespace) -> None:
    """Train, write the model, say how large it is."""
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
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB, {seconds:.0f} s")
