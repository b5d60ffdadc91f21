"""Put a tagger's pipeline and a parser together into one spaCy pipeline with licence and credits."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `assemble`."""
    parser.add_argument("--tagger", type=Path, required=True, help="pipeline folder that `tag` made")
    parser.add_argument("--model", type=Path, required=True, help="model file that `fit` made")
    parser.add_argument("--out", type=Path, required=True, help="folder for the pipeline")
    parser.add_argument(
        "--names", nargs="+", required=True, metavar="NAME[:WEIGHT]", help="treebanks that both learned from"
    )
    parser.add_argument("--name", default="dtparse", help="the pipeline's name (default: dtparse)")
    parser.add_argument("--version", help="the pipeline's version (default: the package's)")


def run(options: argparse.Namespace) -> None:
    """Assemble and say what came out."""
    from training.data.assemble import PipelineFacts, assemble, check_size

    facts = PipelineFacts(name=options.name, treebanks=options.names)
    if options.version:
        facts = PipelineFacts(name=options.name, treebanks=options.names, version=options.version)
    nlp = assemble(options.tagger, options.model, options.out, facts)
    print(
        f"{options.out}: {nlp.meta['lang']}_{nlp.meta['name']} {nlp.meta['version']}, {', '.join(nlp.pipe_names)}, "
        f"{check_size(options.out) / 1e6:.1f} MB, {nlp.meta['license']}"
    )
