"""The command line of the modules that run on the device: `python -m training.teacher.accelerated`."""

from __future__ import annotations

import argparse
import json
import logging
import time
from pathlib import Path

import torch

from .annotations import annotate
from .arrays import RAW, STUDENT, SentenceArrays
from .network import load_network
from .saving import save_network
from .steps import StudentOptions, TeacherOptions, train_student, train_teacher

logger = logging.getLogger(__name__)


def _weight(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    return name, float(value)


def _part(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    return int(part), int(parts)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m training.teacher.accelerated", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    first, second = TeacherOptions(), StudentOptions()
    teacher = commands.add_parser("teacher", help="train a teacher on trees")
    teacher.add_argument("--seed", type=int, default=first.seed)
    teacher.add_argument("--batch-pieces", type=int, default=first.batch_pieces, help="word pieces per batch")
    annotating = commands.add_parser("annotate", help="annotate the raw sentences with the mean scores of teachers")
    annotating.add_argument("--teachers", type=Path, nargs="+", required=True)
    annotating.add_argument(
        "--part", type=_part, default=(0, 1), metavar="K/N", help="each N-th sentence, from the K-th"
    )
    annotating.add_argument("--batch-pieces", type=int, default=60_000, help="word pieces per batch")
    student = commands.add_parser("student", help="train a student on annotations, and on trees")
    student.add_argument("--annotations", type=Path, nargs="+", required=True)
    student.add_argument("--start", type=Path, help="a network to continue")
    student.add_argument("--layers", type=int, default=second.layers, help="layers of the encoder")
    student.add_argument("--final", type=float, default=second.final, help="the last rate, as a fraction of the first")
    student.add_argument("--gold", type=float, default=second.gold, help="fraction of the batches that have trees")
    student.add_argument("--without-block", type=int, choices=(0, 1), help="a half of the trees that is left out")
    student.add_argument("--batch-pieces", type=int, default=second.batch_pieces, help="word pieces per batch")
    for command, options in ((teacher, first), (student, second)):
        command.add_argument("--seconds", type=float, default=options.seconds, help="time of training, without loading")
        command.add_argument("--rate", type=float, default=options.rate, help="rate of the encoder's highest layer")
        command.add_argument("--weight", type=_weight, action="append", default=[], metavar="SOURCE=W")
    save = commands.add_parser("save", help="write a student's weights to a small file")
    save.add_argument("network", type=Path)
    for command in (teacher, annotating, student, save):
        command.add_argument("--arrays", type=Path, required=True, help="folder of python -m training teacher arrays")
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--device", default="cuda", help="cuda or cpu")
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run one command."""
    options = make_parser().parse_args(arguments)
    device = torch.device(options.device)
    torch.backends.cuda.matmul.allow_tf32 = True
    options.out.parent.mkdir(parents=True, exist_ok=True)
    if options.command == "teacher":
        settings = TeacherOptions(
            options.seed, options.seconds, options.rate, batch_pieces=options.batch_pieces, weights=dict(options.weight)
        )
        torch.save(train_teacher(options.arrays, settings, device).state_dict(), options.out)
    elif options.command == "annotate":
        data, began = SentenceArrays(options.arrays / RAW, device), time.time()
        found = annotate(options.arrays, options.teachers, data, options.part, options.batch_pieces)
        logger.info(f"{len(found['tags'])} words, {len(found['tags']) / (time.time() - began):.0f} words/s")
        torch.save(found, options.out)
    elif options.command == "student":
        _train_student(options, device)
    else:
        save_network(options.out, load_network(options.arrays, STUDENT, options.network))


def _train_student(options: argparse.Namespace, device: torch.device) -> None:
    """Train a student and write it, and its losses on the development trees next to it."""
    settings = StudentOptions(
        options.layers,
        options.seconds,
        options.rate,
        options.final,
        options.gold,
        options.without_block,
        options.batch_pieces,
        weights=dict(options.weight),
    )
    network, losses = train_student(options.arrays, settings, options.annotations, options.start, device)
    torch.save(network.state_dict(), options.out)
    options.out.with_suffix(".json").write_text(json.dumps(losses), encoding="utf8")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s")
    main()
