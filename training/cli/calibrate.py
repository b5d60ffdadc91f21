"""The command `calibrate`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from spacy_dtparse.errors import ConfigError

from ..runs.files import write_json
from .declaring import READ_SPEC, choice, declare, option, path, size


@declare(
    "Parsers",
    "calibrate build/span.model --dev build/corpus/sample/dev.mrg --tags gold --out build/calibrated.model",
    path("source", "model file, or folder of a spaCy pipeline"),
    option(
        "--dev", "bracketed gold trees that the model was not trained on", nargs="+", required=True, metavar=READ_SPEC
    ),
    choice(
        "--tags",
        ("gold", "predicted"),
        "tags to parse with; use the kind that the parser will be given later (default: predicted, by the pipeline or "
        "from the file of tags given with the trees)",
        default="predicted",
    ),
    path("--out", "file or folder for the calibrated model or pipeline", metavar="PATH"),
    path("--json", "also write the results to this file", metavar="FILE"),
)
def calibrate(options: argparse.Namespace) -> None:
    """Calibrate the probabilities that a parser gives to its constituents and trees, and measure the result."""
    from spacy_dtparse.cli.pipelines import get_component
    from spacy_dtparse.core.calibration import CALIBRATION, NO_SPAN_MODEL
    from training.data.calibrating import calibration_table, collect_probabilities, errors_by_treebank, fit_calibration
    from training.data.evaluate import load_source, tags_of
    from training.data.treebanks import TreebankFile

    parser: Any
    parser, nlp = load_source(options.source)
    if getattr(parser, "span_parser", parser) is None:
        raise ConfigError(f"{options.source}: {NO_SPAN_MODEL}")
    files = [TreebankFile.parse(text) for text in options.dev]
    names = [file.name for file in files]
    if len(set(names)) < len(names):
        raise ConfigError(
            f"two of the treebanks have the same name ({', '.join(names)}); put each file into a folder of its own"
        )
    results = {}
    for file in files:
        gold = replace(file, tags=None).read()
        results[file.name] = collect_probabilities(parser, gold, tags_of(file, gold, options.tags, nlp, options.source))
    calibration = fit_calibration(list(results.values()))
    records = errors_by_treebank(results, calibration)
    print(calibration_table(records))
    if options.json is not None:
        write_json(options.json, {CALIBRATION: calibration.to_dict(), "treebanks": records})
    if options.out is None:
        return
    model = replace(parser.model, meta={**parser.meta, CALIBRATION: calibration.to_dict()})
    calibrated = type(parser)(model)
    if nlp is None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        calibrated.to_disk(options.out)
        print(size(options.out))
    else:
        get_component(nlp).set_parser(calibrated)
        nlp.to_disk(options.out)
        print(f"{options.out}: calibrated pipeline")
