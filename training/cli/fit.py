"""Train an ensemble of boosted decision trees.

The same command goes on where a killed run stopped.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from spacy_dtparse.errors import ConfigError

from .settings import add_model, add_settings, model_facts
from .treebanks import add_treebanks, treebanks_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `fit`."""
    parser.add_argument("--recipe", type=Path, required=True, help="settings, such as training/recipes/sample.json")
    add_treebanks(parser, dev="whose F1 chooses λ")
    parser.add_argument("--workdir", type=Path, required=True, help="folder for examples, checkpoints and logs")
    add_model(parser, "dtparse")
    parser.add_argument("--meta", type=Path, help="JSON file with more facts for the model's meta")
    add_settings(parser, "the recipe (path.patience=8 max_arity=5)")


def run(options: argparse.Namespace) -> None:
    """Train and write the model; the last lines say how good it is and how large."""
    from training.dtree.fit import fit_model
    from training.dtree.recipe import FitRecipe
    from training.runs.settings import changed

    recipe = FitRecipe.from_dict(changed(FitRecipe.from_json(options.recipe).to_dict(), options.set))
    extra = {}
    if options.meta is not None:
        try:
            extra = json.loads(options.meta.read_text(encoding="utf8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{options.meta}: cannot read it ({error}); give a JSON file") from error
    train, dev = treebanks_of(options)
    began = time.perf_counter()
    result = fit_model(recipe, train, dev, options.workdir, options.out, {**model_facts(options), **extra})
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    best = result.best or {}
    if best.get("f1") is not None:
        figures = ", ".join(f"{name} {100 * value:.2f}" for name, value in best["scores"].items() if name != "seconds")
        print(f"best λ {best['lambda']:.4g}: dev {figures}")
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB, {time.perf_counter() - began:.0f} s")
