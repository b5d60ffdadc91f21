"""From treebank files to a model file: reading, training, provenance, writing."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from spacy_dtparse import __version__
from spacy_dtparse.parsers.dtree import DtreeParser

from ..data.treebanks import TreebankFile, origin_of, read_files
from ..runs.files import write_atomically
from .boosting.path import PathResult
from .fit import Fit
from .recipe import FitRecipe


def fit_model(
    recipe: FitRecipe,
    train: Sequence[TreebankFile],
    dev: Sequence[TreebankFile],
    workdir: Path,
    out: Path,
    meta: dict[str, Any] | None = None,
    executor: Executor | None = None,
) -> PathResult:
    """Train a parser and write it to `out`; an unfinished run in `workdir` is resumed.

    `meta`: facts to be added to the model's own (treebanks, licence, credits, dev scores). Raises
    TrainingDataError and ConfigError for what cannot be used.
    """
    sentences, held_out = read_files(train), read_files(dev)
    counts = Counter(sentence.source for sentence in sentences)
    origin = origin_of(train)
    facts: dict[str, Any] = {
        "version": __version__,
        "treebanks": [
            {
                "name": file.name,
                "sentences": counts[file.name],
                "weight": file.weight,
                "tags": "gold" if file.tags is None else "predicted",
            }
            for file in train
        ],
        **{key: value for key, value in origin.items() if key != "notices"},
        **(meta or {}),
    }
    fit = Fit(recipe, sentences, held_out, workdir, executor=executor, meta=facts)
    model, result = fit.run()
    best = result.best or {}
    model.meta["fit"] = {
        "lambda": best.get("lambda"),
        "parameters": best.get("parameters"),
        "trees": best.get("trees"),
        "dev": best.get("scores", {}),
        "stopped": result.stopped,
    }
    write_atomically(out, DtreeParser(model).to_bytes())
    return result
