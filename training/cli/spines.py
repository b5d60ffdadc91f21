"""Count the spines of treebanks, and write them for a tagger.

Inventory, ambiguity, and coverage of held-out text.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spacy_dtparse.cli.pipelines import natural_number, positive_number
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.trees.sided import written_categories

from .pcfg import RECIPES

if TYPE_CHECKING:
    from spacy_dtparse.trees import HeadRules
    from training.data.treebanks import TreebankFile

SPEC = "PATH[,tags=PATH][,block=K/N][,limit=N][,share=S]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spines`."""
    parser.add_argument("files", nargs="+", metavar=SPEC, help="bracketed trees")
    parser.add_argument("--held-out", nargs="+", default=[], metavar=SPEC, help="trees that these are to cover")
    parser.add_argument("--heads", type=Path, metavar="FILE", help="head rules in JSON (default: those of --lang)")
    parser.add_argument("--lang", default="en", help="language, for the head rules (default: en)")
    parser.add_argument("--categories", default="spine", help="spine (default), or sided: spines with sides")
    parser.add_argument(
        "--least", type=positive_number, default=1, metavar="N",
        help="categories met less often become the most frequent one of the token's tag (default: 1)",
    )  # fmt: skip
    parser.add_argument("--recipe-steps", default="plain", choices=RECIPES, help="preprocessing (default: plain)")
    parser.add_argument("--most", type=natural_number, default=20, metavar="N", help="rows of tables (default: 20)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures there")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="also write word, tag and category of each token, for tagger-fit"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="only check that every tree comes back from its spines and brackets, or from its sided spines alone",
    )


def run(options: argparse.Namespace) -> int:
    """Print the figures; with --check a line per file, and the exit code is 1 when a tree does not come back."""
    from spacy_dtparse.trees import HeadRules, Recipe, head_rules
    from training.data import spines
    from training.data.treebanks import TreebankFile, read_files
    from training.loglinear_tagger.corpus import LabelledSentence, write_labelled

    rules = head_rules(options.lang) if options.heads is None else HeadRules.from_json(options.heads)
    files, held_out = ([TreebankFile.parse(text) for text in texts] for texts in (options.files, options.held_out))
    categories = written_categories(options.categories, rules)
    if options.check:
        return _check([*files, *held_out], rules, options.categories)
    recipe = Recipe.TM2006 if options.recipe_steps == "tm2006" else Recipe.PLAIN
    sentences = spines.without_rare(spines.categorised(read_files(files), recipe, categories), options.least)
    inventory = spines.Inventory(sentences)
    described, covered = inventory.describe(options.most), None
    if held_out:
        covered = inventory.coverage(spines.categorised(read_files(held_out), recipe, categories))
    print(spines.report(described, covered, options.most))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"inventory": described, "held_out": covered}, indent=1) + "\n", "utf8")
    if options.write is not None:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        labelled = (LabelledSentence(*zip(*sentence, strict=True)) for sentence in sentences)
        options.write.write_text(write_labelled(labelled), "utf8")
    return 0


def _check(files: Sequence[TreebankFile], rules: HeadRules, categories: str) -> int:
    """The lines of --check, and its exit code."""
    from training.data.spines import check_file
    from training.data.treebanks import TreebankFile

    bad = 0
    for file in files:
        if file != TreebankFile(file.path):
            raise ConfigError(f"{file.path}: --check reads a file's trees as they are; give the path without options")
        trees, failed, problems = check_file(file.path, rules, sided=categories == "sided")
        print(f"{file.path}: {trees - failed} of {trees} trees come back", *problems, sep="\n  ")
        bad += failed
    return 1 if bad else 0
