"""The whole loop simulated: annotate trees, learn from them, annotate the next ones with the better model.

A simulated annotator, who knows the gold trees, makes the statement that corrects most brackets directly, until the
tree is the gold tree. After some numbers of trees a model is trained on them and scored on a
dev part that has no part in the annotation. A fifth of the annotated trees, drawn by chance, chooses λ.
"""

import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacy_dtparse.core.calibration import Calibration
from spacy_dtparse.core.parser import Capability
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees.tree import TOP

from ..data.calibrating import calibration_error, collect_probabilities
from ..data.corpus import Sentence
from .learning import Start, f1_of, learn
from .statements import FlatParser, ParserCorrector, count_statements

DEV_BLOCK = 5
"""One of so many annotated trees is drawn by chance for the dev part."""


@dataclass(frozen=True)
class Task:
    """Sentences to annotate, with gold trees and the tags that parsers get; `dev`: trees to score on; `parser`: the
    first parser (None: there is none); `span_model`: for the features of the models; `at`: the numbers of trees after
    which to learn; `network_from`: see `Start`."""

    pool: Sequence[Sentence]
    dev: Sequence[Sentence]
    parser: Any
    span_model: SpanParser | None
    at: Sequence[int]
    seed: int = 0
    network_from: int | None = None


def simulate_loop(task: Task, order: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Annotate sentences of the pool in an order; yield a record at each number of trees in `at`: the `trees`, the
    `statements` so far `without` and `with` learning (the trees, and so the models, are the same), and `f1`, in per
    cent, of the model that was trained on them on the dev part; `first`: of the first parser, None if there is none;
    the `kind` of the model, whether it was `calibrated`, and its `calibration error` on the dev part with its
    calibration and, as `calibration error before`, with that of the first parser."""
    labels = sorted({label for sentence in task.pool for label in sentence.tree.labels} - {TOP})
    first = task.parser or FlatParser()
    start = current = ParserCorrector(first, labels)
    start_f1 = best = None if task.parser is None else f1_of(task.parser, task.dev)
    chance, done, drawn = random.Random(task.seed), 0, 0
    is_dev: list[bool] = []
    without = learning = 0
    for n in sorted(task.at):
        for index in order[done:n]:
            count = count_statements(start, task.pool[index])
            without += count
            learning += count if current is start else count_statements(current, task.pool[index])
            if len(is_dev) % DEV_BLOCK == 0:
                drawn = chance.randrange(DEV_BLOCK)
            is_dev.append(len(is_dev) % DEV_BLOCK == drawn)
        done = n
        annotated = list(zip(order[:n], is_dev, strict=True))
        train, dev = ([task.pool[index] for index, dev in annotated if dev == wanted] for wanted in (False, True))
        with tempfile.TemporaryDirectory() as folder:
            start_from = Start(task.span_model, labels, network_from=task.network_from)
            found = learn(train, dev, Path(folder), current.parser, start_from)
        f1 = f1_of(found.parser, task.dev)
        errors = _calibration_errors(found.parser, getattr(first, "calibration", None), task.dev)
        if found.better:
            current, best = ParserCorrector(found.parser, labels), f1
            current.reparses = found.reparses
        yield {
            "trees": n, "without": without, "with": learning, "f1": f1, "in use": best, "first": start_f1,
            "taken over": found.better, "reparses": current.reparses, "kind": found.kind,
            "calibrated": found.calibrated, "compared": dict(found.compared), **errors,
        }  # fmt: skip


def _calibration_errors(parser: Any, before: Calibration | None, sentences: Sequence[Sentence]) -> dict[str, float]:
    """Return the calibration error of a parser's constituents on sentences, with its calibration and with that of the
    first parser, as far as there are any."""
    if Capability.POSTERIORS not in parser.capabilities:
        return {}
    data = collect_probabilities(parser, sentences, [one.tags for one in sentences])
    maps = {"calibration error": parser.calibration, "calibration error before": before}
    return {
        name: calibration_error(one.calibrate_constituents(data.probs), data.right)
        for name, one in maps.items()
        if one is not None
    }


def loop_table(records: Sequence[dict[str, Any]]) -> str:
    """Return records, which also have `treebank` and `order`, as a text table."""
    lines = [
        f"{'treebank':10}{'order':8}{'trees':>6}{'no learning':>13}{'learning':>10}{'ratio':>7}{'F1':>8}{'in use':>8}"
        "  model"
    ]
    for one in records:
        in_use = "-" if one["in use"] is None else f"{one['in use']:.2f}"
        ratio = one["with"] / max(one["without"], 1)
        lines.append(
            f"{one['treebank']:10}{one['order']:8}{one['trees']:6}{one['without']:13}{one['with']:10}{ratio:7.2f}"
            f"{one['f1']:8.2f}{in_use:>8}  {one['kind']}"
        )
    return "\n".join(lines)
