"""Attachment scores of a dependency parser on CoNLL-U files or bracketed trees."""

import argparse
import json
import time
from pathlib import Path

from .bpm import SPEC


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bpm-evaluate`."""
    parser.add_argument("model", type=Path, help="the model file")
    parser.add_argument("files", nargs="+", metavar=SPEC, help="CoNLL-U files, or bracketed trees (.mrg)")
    parser.add_argument(
        "--tagger", help="a spaCy pipeline (or what bpm --jackknife writes) whose tags take the place of the files'"
    )
    parser.add_argument("--guide", type=Path, help="a constituent parser's model, for a model that trees guide")
    parser.add_argument("--lang", default="en", help="language, for the head rules of bracketed trees (default: en)")
    parser.add_argument("--stages", type=int, help="stages to be run (default: all)")
    parser.add_argument("--heads", type=int, help="heads of a token that a later stage looks at (default: 12)")
    parser.add_argument("--decoder", help="projective or spanning (default: the model's)")
    parser.add_argument("--json", type=Path, help="also write all figures there")


def run(options: argparse.Namespace) -> None:
    """Print the scores of all files together."""
    from spacy_dtparse.parsers import load_dependency_parser, load_parser
    from training.dependency.fitting import judge
    from training.dependency.running import find_tagger, guided, read_treebank_file, tagged

    parser = load_dependency_parser(options.model)
    parser = parser.with_settings(stages=options.stages, decoder=options.decoder, heads=options.heads)
    sentences = [sentence for file in options.files for sentence in read_treebank_file(file, options.lang)]
    if options.tagger is not None:
        sentences = tagged(find_tagger(options.tagger), sentences)
    if options.guide is not None:
        sentences = guided(load_parser(options.guide), sentences, options.lang)
    for sentence in sentences[:20]:
        parser.parse(sentence.columns)
    began = time.process_time()
    report = judge(parser, sentences)
    seconds = time.process_time() - began
    tokens = sum(len(sentence.heads) for sentence in sentences)
    print(f"{len(sentences)} sentences, {tokens} tokens, {tokens / max(seconds, 1e-9):.0f} tokens per CPU second")
    print(report.line())
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report.to_dict(), indent=1) + "\n")
