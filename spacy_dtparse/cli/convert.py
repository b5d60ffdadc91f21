"""Convert a treebank in Penn brackets to a .spacy file for spacy evaluate and spacy train."""

import argparse

from ..errors import ConfigError, TreeFormatError
from ..trees.bad_input import on_error
from ..trees.directional import CATEGORIES
from .bad_input import add_errors_argument, report_skipped
from .pipelines import natural_number, positive_number
from .terminal import printable_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse convert`."""
    parser.add_argument("source", metavar="TREES", help="a bracketed file, or a folder with .mrg or .psd files")
    parser.add_argument("target", metavar="OUTPUT.spacy")
    parser.add_argument(
        "--n-sents", type=positive_number, default=10, metavar="N", help="sentences per Doc (default: 10)"
    )
    parser.add_argument(
        "--limit", type=natural_number, default=0, metavar="N", help="maximum number of sentences; 0 is all"
    )
    parser.add_argument("--lang", default="en", help="language of the text (default: en)")
    parser.add_argument(
        "--categories", choices=CATEGORIES, help="also write the category of each word, to score a spine_tagger"
    )
    add_errors_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Write the file and print its number of Docs."""
    from ..pipeline.corpus import convert_brackets

    if not options.target.endswith(".spacy"):
        raise ConfigError(f"the output is {options.target!r}; its name must end in .spacy, as spaCy expects")
    skipped: list[TreeFormatError] = []
    count = convert_brackets(
        options.source, options.target, sentences_per_doc=options.n_sents, limit=options.limit, lang=options.lang,
        categories=options.categories, on_error=on_error(options.errors), errors=skipped,
    )  # fmt: skip
    print(f"{printable_path(options.target)}: {count} Docs")
    return report_skipped(skipped)
