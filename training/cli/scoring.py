"""Commands that score parsers and calibrate their probabilities."""

import argparse
from dataclasses import replace
from functools import partial
from typing import Any

from spacy_dtparse.cli.pipelines import natural_number
from spacy_dtparse.errors import ConfigError

from . import declaring as arg

command = partial(arg.declare, "Parsers")


@command(
    "evaluate build/span.model build/corpus/sample/dev.mrg --tags gold",
    arg.path("source", "model file, folder of a spaCy pipeline, or English pipeline by name"),
    arg.option(f"files {arg.READ_SPEC} *", "bracketed gold trees"),
    arg.ERRORS,
    arg.path("--corpus", "folder of treebanks: NAME/dev.mrg are used in addition to the files above"),
    arg.NAMES,
    arg.option("--tags +", "tags to parse with (default: gold)", choices=("gold", "predicted"), default=["gold"]),
    arg.option(
        "--budgets N +",
        "search budgets: inferences scored per sentence; 0 is greedy (default: the model's setting)",
        type=natural_number,
    ),
    arg.choice(
        "--decoder",
        ("max-rule", "viterbi", "q", "rerank"),
        "decoding objective of a grammar with latent annotations (default: max-rule)",
    ),
    arg.number("--candidates-n", None, "trees that the decoder rerank considers (default: 100)"),
    arg.number("--networks", None, "maximum number of networks of a span parser to use"),
    arg.option(
        "--ensemble-threshold COST",
        "skip a span parser's other networks if no constituent of the first one's tree has a higher cost, −ln of its "
        "probability; 0: always use all networks",
        type=float,
    ),
    arg.path("--json FILE", "also write the records to this file"),
    arg.flag("--record", "store the scores in the pipeline's meta.json"),
)
def evaluate(options: argparse.Namespace) -> None:
    """Score a parser on treebank files, with gold or predicted tags, with several search budgets."""
    from training.data.evaluate import evaluate, record_performance, scores_table
    from training.data.treebanks import TreebankFile, corpus_files

    files = [TreebankFile.parse(text) for text in options.files]
    if options.corpus is not None:
        files += corpus_files(options.corpus, options.names, "dev")
    if not files:
        raise ConfigError("no files to score on; give bracketed files, or --corpus FOLDER with --names")
    names = ("decoder", "candidates_n", "networks", "ensemble_threshold")
    changes = {name: getattr(options, name) for name in names}
    settings = {name: value for name, value in changes.items() if value is not None}
    records = evaluate(options.source, files, options.tags, options.budgets or [None], settings)
    print(scores_table(records))
    arg.write_results(options, records)
    if options.record:
        record_performance(options.source, records)


@command(
    "calibrate build/span.model --dev build/corpus/sample/dev.mrg --tags gold --out build/calibrated.model",
    arg.path("source", "model file, folder of a spaCy pipeline, or English pipeline by name"),
    arg.option(f"--dev {arg.READ_SPEC} +", "bracketed gold trees that the model was not trained on", required=True),
    arg.ERRORS,
    arg.choice(
        "--tags",
        ("gold", "predicted"),
        "tags to parse with; use the kind that the parser will be given later (default: predicted, by the pipeline or "
        "from the file of tags given with the trees)",
        default="predicted",
    ),
    arg.path(
        "--span-model FILE",
        "span parser to put in the place of the one inside the boosted trees first, for example the same network after "
        "more training; it must have the same label chains",
    ),
    arg.path("--out PATH", "file or folder for the calibrated model or pipeline"),
    arg.path("--json FILE", "also write the results to this file"),
)
def calibrate(options: argparse.Namespace) -> None:
    """Calibrate the probabilities that a parser gives to its constituents and trees, and measure the result."""
    from spacy_dtparse.cli.pipelines import get_component
    from spacy_dtparse.core import Capability
    from spacy_dtparse.core.calibration import CALIBRATION
    from training.data.calibrating import calibration_table, collect_probabilities, errors_by_treebank, fit_calibration
    from training.data.evaluate import load_source, tags_of
    from training.data.treebanks import TreebankFile
    from training.dtparse.fit import replace_span_model

    parser: Any
    parser, nlp = load_source(options.source)
    if options.span_model is not None:
        parser = replace_span_model(parser, options.span_model)
    if Capability.POSTERIORS not in parser.capabilities:
        raise ConfigError(f"{options.source}: {parser.missing_posteriors}")
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
    arg.write_results(options, {CALIBRATION: calibration.to_dict(), "treebanks": records})
    if options.out is None:
        return
    model = replace(parser.model, meta={**parser.meta, CALIBRATION: calibration.to_dict()})
    calibrated = type(parser)(model)
    if nlp is None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        calibrated.to_disk(options.out)
        print(arg.size(options.out))
    else:
        get_component(nlp).set_parser(calibrated)
        nlp.to_disk(options.out)
        print(f"{options.out}: calibrated pipeline")
