"""The command that learns from annotated trees."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from threading import Thread

from spacy_dtparse.errors import TrainingDataError

from ..runs.files import write_json
from . import declaring as arg

command = partial(arg.declare, "Parsers")


@command(
    "learn-annotated assets/sample/train.mrg,limit=60 --dev assets/sample/dev.mrg,limit=20 --out build/learned.model "
    "--workdir build/learned",
    arg.option(f"trees {arg.READ_SPEC}", "accepted trees, as dtparse annotate writes them"),
    arg.option(f"--dev {arg.READ_SPEC}", "trees to score on (default: the dev part beside the trees, trees.dev.mrg)"),
    arg.ERRORS,
    arg.option("--pipeline", "pipeline folder, or the name of an English parser (default: en_dtparse)"),
    arg.path("--current", "model file of the parser used so far (default: that of the pipeline)"),
    arg.workdir("examples and checkpoints", required=True),
    arg.path("--out", "model file, which is written if it is better than the parser used so far", required=True),
    arg.option("--network-from N", "from N trees on, train the network, too, and take the better model", type=int),
    arg.path("--report FILE", "also write the scores to this JSON file"),
    arg.flag("--stop-at-eof", "end at once when standard input ends, as it does with the process that started this"),
)
def learn_annotated(options: argparse.Namespace) -> None:
    """Train boosted trees over a pipeline's frozen span model on annotated trees, and score them on the dev part.

    With --network-from also the network. The model's probabilities are calibrated on the dev part.
    """
    from spacy_dtparse.annotation.suspicions import span_model_of
    from spacy_dtparse.cli.pipelines import get_component
    from spacy_dtparse.core import load_parser
    from spacy_dtparse.files import write_atomically
    from spacy_dtparse.pipeline.embedded import load_named
    from training.annotation.learning import Start, annotated_sentences, learn
    from training.data.corpus import Sentence
    from training.data.evaluate import tag_lists
    from training.data.treebanks import TreebankFile

    if options.stop_at_eof:
        Thread(target=_stop_at_eof, daemon=True).start()
    file = TreebankFile.parse(options.trees)
    beside = file.path.with_name(f"{file.path.stem}.dev{file.path.suffix}")
    if options.dev is None and not beside.is_file():
        raise TrainingDataError(f"there is no dev part {beside}; give one with --dev")
    dev = TreebankFile(beside) if options.dev is None else TreebankFile.parse(options.dev)
    nlp = load_named(options.pipeline)
    parser = get_component(nlp).configured_parser

    def read(part: TreebankFile) -> list[Sentence]:
        trees = [sentence.tree for sentence in part.read()]
        return annotated_sentences(trees, tag_lists(nlp, (tree.words for tree in trees)))

    current = parser if options.current is None else load_parser(options.current)
    start = Start(span_model_of(parser), (), nlp.lang or "en", options.network_from)
    found = learn(read(file), read(dev), options.workdir, current, start)
    if found.better:
        write_atomically(options.out, found.parser.to_bytes())
    report = found.to_dict()
    if options.report is not None:
        write_json(options.report, report)  # last: if it exists, the model is complete
    print(
        f"{report['trees']} trees: {report['f1']:.2f} F1 on {report['dev']} dev trees, before {report['before']:.2f}; "
        + (f"{options.out}: the model" if report["better"] else "not better, no model is written")
    )


def _stop_at_eof() -> None:
    """End this process when standard input ends."""
    while os.read(sys.stdin.fileno(), 1024):  # unbuffered: the lock of a buffer would abort the interpreter at its end
        pass
    os._exit(1)
