"""Train an ensemble of boosted decision trees.

The same command goes on where a killed run stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from spacy_dtparse.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `fit`."""
    parser.add_argument(
        "--recipe", type=Path, required=True, help="settings, such as training/recipes/sample.json"
    )
    spec = "PATH[,tags=PATH][,weight=W][,block=K/N][,limit=N][,share=S]"
    parser.add_argument(
        "--train", action="append", default=[], metavar=spec, help="bracketed trees to learn from; repeatable"
    )
    parser.add_argument(
        "--dev",
        action="append",
        default=[],
        metavar=spec,
        help="bracketed trees whose F1 chooses λ; repeatable",
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        help="folder of treebanks: NAME/train.mrg and NAME/dev.mrg are used beside the above",
    )
    parser.add_argument(
        "--names", nargs="+", default=[], metavar="NAME[:WEIGHT]", help="the treebanks of --corpus"
    )
    parser.add_argument(
        "--tags", type=Path, help="folder with NAME.train.tags and NAME.dev.tags for --corpus"
    )
    parser.add_argument(
        "--workdir", type=Path, required=True, help="folder for examples, checkpoints and logs"
    )
    parser.add_argument("--out", type=Path, required=True, help="the model file to write")
    parser.add_argument("--name", default="dtparse", help="the model's name in its meta")
    parser.add_argument("--lang", default="en", help="language of the treebanks (default: en)")
    parser.add_argument("--meta", type=Path, help="JSON file with more facts for the model's meta")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SETTING=VALUE",
        help="change a setting, such as path.patience=8",
    )


def run(options: argparse.Namespace) -> None:
    """Train and write the model; the last lines say how good it is and how large."""
    from training.data.treebanks import TreebankFile, corpus_files
    from training.dtree.fitting import fit_model
    from training.dtree.recipe import FitRecipe
    from training.runs.settings import changed

    recipe = FitRecipe.from_dict(changed(FitRecipe.from_json(options.recipe).to_dict(), options.set))
    extra = {}
    if options.meta is not None:
        try:
            extra = json.loads(options.meta.read_text(encoding="utf8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{options.meta}: cannot read it ({error}); give a JSON file") from error
    train = [TreebankFile.parse(text) for text in options.train]
    dev = [TreebankFile.parse(text) for text in options.dev]
    if options.corpus is not None:
        train += corpus_files(options.corpus, options.names, "train", options.tags)
        dev += corpus_files(options.corpus, options.names, "dev", options.tags)
    if not train:
        raise ConfigError(
            "there is nothing to learn from; give --train FILE, or --corpus FOLDER with --names"
        )
    began = time.perf_counter()
    result = fit_model(
        recipe,
        train,
        dev,
        options.workdir,
        options.out,
        {"name": options.name, "lang": options.lang, **extra},
    )
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    best = result.best or {}
    if best.get("f1") is not None:
        figures = ", ".join(
            f"{name} {100 * value:.2f}" for name, value in best["scores"].items() if name != "seconds"
        )
        print(f"best λ {best['lambda']:.4g}: dev {figures}")
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB, {time.perf_counter() - began:.0f} s")
