"""Commands that check a treebank."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spacy_dtparse.errors import ConfigError, DtparseError

from ..runs.files import write_json
from . import declaring as arg

if TYPE_CHECKING:
    from spacy_dtparse.trees import Tree

command = partial(arg.declare, "Data")


@command(
    "plant-errors assets/sample/dev.mrg --n 12 --out build/planted.mrg --planted build/planted.json",
    arg.path("file", "bracketed trees"),
    arg.ERRORS,
    arg.number("--n", 200, "number of errors, at most one in each tree", minimum=1),
    arg.number("--seed", 0, "random seed"),
    arg.path("--out", "file for the trees with the errors", required=True),
    arg.path("--planted", "JSON file for the list of errors", required=True),
)
def plant_errors(options: argparse.Namespace) -> None:
    """Plant errors of six kinds in trees, to measure how many `review` finds."""
    from spacy_dtparse.files import write_atomically
    from training.annotation.planting import plant_errors

    trees, errors = plant_errors(_read([options.file], options.errors), options.n, options.seed)
    write_atomically(options.out, "".join(f"{tree}\n" for tree in trees))
    write_json(options.planted, [error.to_dict() for error in errors])
    print(f"{options.out}: {len(trees)} trees, {len(errors)} errors")


@command(
    "review build/planted.mrg --planted build/planted.json --places 10 20 --out build/ranking.jsonl",
    arg.path("files +", "bracketed trees to check"),
    arg.ERRORS,
    arg.option("--pipeline", "pipeline folder, or the name of an English parser (default: en_dtparse)"),
    arg.number(
        "--folds",
        0,
        "train the pipeline's span model on the other folds of these trees, for each of N folds; 0: use it as it is",
    ),
    arg.flag("--new-networks", "train new networks on the other folds: if the span model was trained on these trees"),
    arg.path("--planted", "list of errors that plant-errors wrote: count those that are found"),
    arg.option("--places N +", "numbers of first places to count errors in (default: 100 200 300)", type=int),
    arg.number("--show", 10, "number of first places to print"),
    arg.path("--out", "file for the ranking, for dtparse annotate --review --ranking"),
    arg.path("--json FILE", "also write the counts to this file"),
)
def review(options: argparse.Namespace) -> None:
    """Rank the constituents and tags of a treebank by how improbable a model finds them.

    A model must not evaluate trees that it was trained on: give --folds, and --new-networks if the span model was
    trained on these trees.
    """
    from spacy_dtparse.annotation.corrector import Corrector
    from spacy_dtparse.annotation.suspicions import fine_posteriors, span_model_of, write_ranking
    from spacy_dtparse.annotation.suspicions import review as rank
    from spacy_dtparse.pipeline.embedded import load_named
    from training.annotation.jackknife import jackknife_posteriors
    from training.annotation.measuring import places_table, summarize_places
    from training.annotation.planting import PlantedError

    if options.new_networks and not options.folds:
        raise ConfigError("--new-networks are trained on the other folds; give --folds 5")
    trees = _read(options.files, options.errors)
    errors = []
    if options.planted is not None:
        errors = [PlantedError.from_dict(one) for one in json.loads(options.planted.read_text(encoding="utf-8"))]
    corrector = Corrector(load_named(options.pipeline))
    tags = [corrector.tag(tree.words) for tree in trees]
    if options.folds:
        start = None
        if not options.new_networks:
            network = span_model_of(corrector.parser)
            if network is None:
                raise ConfigError(f"a parser of kind {corrector.parser.name!r} has no span model; give --new-networks")
            start = network.model
        posteriors = jackknife_posteriors(trees, tags, options.folds, start)
        method = f"{'new networks' if start is None else 'span model trained further'}, {options.folds} folds"
    else:
        posteriors = [fine_posteriors(corrector.parser, one.words, row) for one, row in zip(trees, tags, strict=True)]
        method = "the pipeline's model as it is"
    suspicions = rank(trees, tags, posteriors)
    print(f"{len(trees)} trees, {len(suspicions)} suspicious places; {method}")
    for place, one in enumerate(suspicions[: options.show], 1):
        print(f"{place:4} {one.score:5.1f}  tree {one.sentence + 1}: {one.text(trees[one.sentence].words)}")
    if options.out is not None:
        write_ranking(options.out, trees, suspicions, method)
        print(f"{options.out}: the ranking")
    if errors:
        summary = summarize_places(errors, suspicions, options.places or [100, 200, 300])
        print(places_table(summary))
        arg.write_results(options, {"method": method, **summary})


def _read(files: list[Path], errors: str) -> list[Tree]:
    """Read trees without empty elements and function tags. `errors`: the value of --errors. Raises ConfigError if there
    are none."""
    from spacy_dtparse.cli.annotate import read_trees_of
    from training.data.bad_input import skip_or_raise

    skipped: list[DtparseError] = []
    trees = [tree for file in files for tree in read_trees_of(str(file), errors, skipped)]
    for error in skipped:
        skip_or_raise(error)
    if not trees:
        raise ConfigError(f"{', '.join(map(str, files))}: no tree in it; give a file of bracketed trees")
    return trees
