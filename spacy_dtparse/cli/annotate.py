"""Annotate sentences with trees on a web page: correct the parser's trees by stating single constituents."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, DtparseError, TrainingDataError
from ..trees.bad_input import on_error
from . import agreement
from .bad_input import add_errors_argument, report_skipped
from .lines import check_files, read_lines
from .pipelines import add_pipeline_arguments, load_chosen_pipeline, natural_number
from .serve import add_address_arguments

if TYPE_CHECKING:
    from ..errors import TreeFormatError
    from ..trees.tree import Tree

TREE_SUFFIXES = (".mrg", ".psd")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `dtparse annotate`."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="plain text, or trees to correct (files that end in .mrg or .psd)"
    )
    parser.add_argument(
        "--adjudicate",
        nargs=2,
        metavar="TREES",
        help="instead of FILEs: the trees of two annotators, to choose the right ones of those that differ",
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="file for the accepted trees, such as trees.mrg")
    parser.add_argument("--pretokenized", action="store_true", help="each line of a text is a sentence of tokens")
    parser.add_argument(
        "--labels", nargs="+", default=[], metavar="LABEL", help="labels that trees may have besides the parser's"
    )
    parser.add_argument(
        "--scheme",
        metavar="NAME",
        help="annotation scheme: penn, tiger, or a JSON file; accepted trees have its labels, and its root label",
    )
    parser.add_argument("--annotator", default="", metavar="NAME", help="name of the annotator, for the journal")
    parser.add_argument(
        "--order",
        choices=("expected-errors", "given"),
        default="expected-errors",
        help="next sentence: the one with most expected errors per token (default), or as in the files",
    )
    parser.add_argument(
        "--dev-fraction",
        type=float,
        default=0.2,
        metavar="F",
        help="fraction of the sentences that are randomly chosen for the dev part (default: %(default)s)",
    )
    parser.add_argument(
        "--review", action="store_true", help="check the trees of FILES, the most suspicious first (no dev part)"
    )
    parser.add_argument(
        "--ranking", metavar="FILE", help="with --review: the ranking that `python -m training review` wrote"
    )
    parser.add_argument(
        "--learn-every",
        type=natural_number,
        metavar="N",
        help="train a model on every N accepted trees in the background, and go on with it if it is better",
    )
    parser.add_argument(
        "--learn-network",
        type=natural_number,
        metavar="N",
        help="with --learn-every: from N trees on, train the network, too, and take the better of the two models",
    )
    parser.add_argument("--seed", type=natural_number, default=0, metavar="N", help="random seed (default: 0)")
    parser.add_argument("--encoding", default="utf-8", help="of the texts (default: utf-8)")
    add_errors_argument(parser, "line or tree")
    add_address_arguments(parser)
    add_pipeline_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C; return the exit code, 1 if something was skipped (--errors)."""
    out = Path(options.out)
    _check(options, out)
    served = _adjudicate if options.adjudicate else _review if options.review else _annotate
    return served(options, out)


def _check(options: argparse.Namespace, out: Path) -> None:
    """Raise ConfigError for options that do not go together."""
    if bool(options.files) == bool(options.adjudicate):
        raise ConfigError("give files to annotate, or the two files of --adjudicate")
    if options.review and options.adjudicate:
        raise ConfigError("--review is for one file of trees, --adjudicate for two; leave one of them out")
    if options.ranking is not None and not options.review:
        raise ConfigError("--ranking is the order of a review; give --review, too")
    if options.learn_every is not None and (options.review or options.adjudicate):
        raise ConfigError(
            "--learn-every needs the dev part, which --review and --adjudicate do not have; leave one of them out"
        )
    if options.learn_every is not None and options.dev_fraction == 0:
        raise ConfigError("--learn-every compares parsers on the dev part, and --dev-fraction is 0; give more than 0")
    if options.learn_network is not None and options.learn_every is None:
        raise ConfigError("--learn-network says from when on the network is trained, too; give --learn-every as well")
    if options.learn_every is not None and options.model is not None:
        raise ConfigError("--learn-every learns over the span model of a pipeline; give --pipeline, not --model")
    if out.exists() and not out.with_name(f"{out.name}.journal.jsonl").exists():
        raise ConfigError(
            f"{out} exists and has no journal beside it; give another --out, and this file as input to correct its "
            "trees"
        )


def _annotate(options: argparse.Namespace, out: Path) -> int:
    from ..annotation.scheme import load_scheme
    from ..annotation.server import annotate

    functions = options.scheme is not None and bool(load_scheme(options.scheme).functions)
    skipped: list[DtparseError] = []
    sentences = list(
        read_sentences(options.files, options.pretokenized, options.encoding, options.errors, skipped, functions)
    )
    code = report_skipped(skipped, "malformed line or tree", "malformed lines or trees")
    chosen = {"order": options.order, "dev_fraction": options.dev_fraction, "seed": options.seed}
    chosen |= {"scheme": options.scheme, **_common(options)}
    if options.learn_every is None:
        annotate(sentences, out, load_chosen_pipeline(options), **chosen)
    else:
        from ..annotation.learning import annotate_and_learn, training_command

        command = training_command(options.pipeline, options.learn_network)
        annotate_and_learn(
            sentences, out, load_chosen_pipeline(options), learn_every=options.learn_every, command=command, **chosen
        )
    return code


def _adjudicate(options: argparse.Namespace, out: Path) -> int:
    from ..annotation.server import adjudicate

    skipped: list[DtparseError] = []
    first, second = (agreement.read_annotator_trees(name, options.errors, skipped) for name in options.adjudicate)
    code = report_skipped(skipped, "malformed tree", "malformed trees")
    names = agreement.annotator_names(options.adjudicate)
    adjudicate(
        first, second, out, load_chosen_pipeline(options), names=names, scheme=options.scheme, **_common(options)
    )
    return code


def _review(options: argparse.Namespace, out: Path) -> int:
    from ..annotation.reviewing import review_treebank
    from ..annotation.suspicions import read_ranking

    skipped: list[DtparseError] = []
    trees = [tree for name in options.files for tree in read_trees_of(name, options.errors, skipped)]
    code = report_skipped(skipped, "malformed tree", "malformed trees")
    ranking = None if options.ranking is None else read_ranking(options.ranking, trees)
    if ranking is None:
        print(f"dtparse: looking for suspicious places in {len(trees)} trees", file=sys.stderr, flush=True)
    review_treebank(trees, out, load_chosen_pipeline(options), ranking=ranking, **_common(options))
    return code


def _common(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments that all servers have."""
    names = ("labels", "annotator", "port", "host")
    return {name: getattr(options, name) for name in names}


def read_trees_of(name: str, errors: str = "strict", skipped: list[DtparseError] | None = None) -> list[Tree]:
    """Return the trees of a file to check. `errors`, `skipped`: see `read_sentences`. Raises TrainingDataError for
    another kind of file, TreeFormatError for a malformed tree."""
    if Path(name).suffix not in TREE_SUFFIXES:
        raise TrainingDataError(f"a review takes files of trees, which end in .mrg or .psd, not {name}")
    return [
        one for one in read_sentences([name], False, errors=errors, skipped=skipped) if not isinstance(one, str | list)
    ]


def read_sentences(
    names: Sequence[str],
    tokens: bool,
    encoding: str = "utf-8",
    errors: str = "strict",
    skipped: list[DtparseError] | None = None,
    functions: bool = False,
) -> Iterator[str | list[str] | Tree]:
    """Yield the texts, tokens of sentences, or trees of files.

    `encoding`: of the texts. `errors`: one of `bad_input.ERRORS`; the errors of what is skipped are appended to
    `skipped`. `functions`: keep function labels. Raises TrainingDataError for a file that is not there, TreeFormatError
    for a malformed tree, DtparseError for bytes that are not in the encoding."""
    from ..pipeline.corpus import read_clean_trees

    found: list[DtparseError] = [] if skipped is None else skipped
    check_files([], encoding)
    for name in names:
        path = Path(name)
        if not path.is_file():
            raise TrainingDataError(f"there is no file {name}; give files of text or of bracketed trees")
        if path.suffix in TREE_SUFFIXES:
            bad_trees: list[TreeFormatError] = []
            yield from read_clean_trees(name, functions=functions, on_error=on_error(errors), errors=bad_trees)
            found += bad_trees
            continue
        lines = [line.text for line in read_lines([name], encoding, errors, found)]
        if tokens:
            yield from (line.split() for line in lines if line.strip())
        else:
            yield from (part for part in "\n".join(lines).split("\n\n") if part.strip())
