"""The training of teachers and students, for a given number of seconds; so two runs of a seed are not identical."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from .annotations import Annotations
from .arrays import DEV, GOLD, RAW, STUDENT, TEACHER, SentenceArrays, Sizes, Vocabulary, plan_batches
from .losses import distillation_loss, gold_loss
from .network import Network, load_vocabulary, make_network
from .optimizing import Optimizer

logger = logging.getLogger(__name__)

TEACHER_WEIGHTS = {"craft": 0.5, "en_ewt": 0.5, "everyday": 1.5, "genia": 0.5, "gum": 1.0, "masc": 1.0}
STUDENT_WEIGHTS = {"craft": 1.0, "en_ewt": 0.15, "everyday": 2.0, "genia": 1.0, "gum": 2.0, "masc": 2.0}
"""How often a sentence with a tree is drawn in each pass, by source; those of other sources: once."""
BLOCK = 50
"""Sentences with trees are in blocks of this size, 0 and 1 in turn."""
_EVERYDAY = "everyday"
_DEV_PIECES = 24_000


@dataclass(frozen=True)
class TeacherOptions:
    """`rate`: of the encoder's highest layer; `batch_pieces`: word pieces per batch; `source_dropout`: probability that
    a sentence is drawn without its source; `weights`: by source, instead of TEACHER_WEIGHTS."""

    seed: int = 0
    seconds: float = 85.0
    rate: float = 1.3e-4
    head_rate: float = 1.5e-3
    batch_pieces: int = 5000
    source_dropout: float = 0.15
    warmup_steps: int = 100
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StudentOptions:
    """`layers`: of the encoder; `rate`: of its highest layer, the heads' is three times as high; it falls linearly to
    the fraction `final`; `gold`: fraction of batches of sentences with trees; `without_block`: 0 or 1: learn nothing
    from this block of them; `batch_pieces`: word pieces per batch, half as many with trees; `weights`: by source,
    instead of STUDENT_WEIGHTS."""

    layers: int = 6
    seconds: float = 220.0
    rate: float = 6e-4
    final: float = 0.25
    gold: float = 0.0
    without_block: int | None = None
    batch_pieces: int = 20_000
    warmup_steps: int = 200
    seed: int = 1
    weights: Mapping[str, float] = field(default_factory=dict)


def _weights(data: SentenceArrays, sources: tuple[str, ...], weights: Mapping[str, float]) -> np.ndarray:
    """float64 (sentences,): how often each sentence is drawn in a pass."""
    return np.array([weights.get(name, 1.0) for name in sources])[data.sources_of]


def _draw(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How often each sentence is drawn in this pass: its weight, rounded down or up at random."""
    return np.floor(weights + rng.random(len(weights))).astype(int)


def block_of(n: int) -> np.ndarray:
    """The block, 0 or 1, of each of `n` sentences."""
    return (np.arange(n) // BLOCK) % 2


def _to_list(losses: torch.Tensor) -> list[float]:
    return [round(value, 4) for value in losses.tolist()]


def train_teacher(folder: Path, options: TeacherOptions, device: torch.device) -> Network:
    """Train the encoder TEACHER on the trees of a folder of arrays."""
    torch.manual_seed(options.seed)
    rng = np.random.default_rng(options.seed)
    data, sizes = SentenceArrays(folder / GOLD, device), Sizes.load(folder)
    vocabulary = load_vocabulary(folder, TEACHER, device)
    network = make_network(folder, TEACHER).to(device).train()
    network.set_dropout(0.1, 0.2)
    optimizer = Optimizer(network, options.rate, options.head_rate)
    weights = _weights(data, sizes.sources, {**TEACHER_WEIGHTS, **options.weights})
    began, steps, total = time.time(), 0, torch.zeros(3, device=device)
    planned: list[np.ndarray] = []
    while True:
        if not planned:
            planned = plan_batches(data.pieces_of, _draw(weights, rng), options.batch_pieces, rng)[::-1]
        if (elapsed := (time.time() - began) / options.seconds) >= 1:
            break
        index = torch.from_numpy(planned.pop()).to(device)
        sources = data.sources[index] * (torch.rand(len(index), device=device) >= options.source_dropout)
        with torch.autocast(device.type, torch.bfloat16):
            loss, parts = gold_loss(network, data, index, data.batch(index, sources, vocabulary))
        optimizer.step(loss, min(1, (steps + 1) / options.warmup_steps) * max(0.01, 1 - elapsed))
        steps, total = steps + 1, total + parts
        if steps % 200 == 0:
            logger.info(f"step {steps}, {elapsed:.2f} of the time: {_to_list(total / 200)}")
            total = torch.zeros_like(total)
    logger.info(f"teacher of seed {options.seed}: {steps} steps; dev {dev_losses(folder, network, vocabulary, True)}")
    return network


def train_student(
    folder: Path, options: StudentOptions, annotations: list[Path], start: Path | None, device: torch.device
) -> tuple[Network, dict[str, list[float]]]:
    """Train the encoder STUDENT on files of annotations and, by the option `gold`, on trees, without a source. `start`:
    a network of the same shape to continue. Returns it with its `dev_losses`."""
    torch.manual_seed(options.seed)
    rng = np.random.default_rng(7)
    raw, gold = SentenceArrays(folder / RAW, device), SentenceArrays(folder / GOLD, device)
    targets, vocabulary = Annotations(raw, annotations), load_vocabulary(folder, STUDENT, device)
    network = make_network(folder, STUDENT, options.layers)
    if start is not None:
        network.load_state_dict(torch.load(start, map_location="cpu", weights_only=True))
    network.to(device).train()
    network.set_dropout(0.05, 0.1)
    optimizer = Optimizer(network, options.rate, options.rate * 3)
    annotated = np.flatnonzero(targets.annotated)
    weights = _weights(gold, Sizes.load(folder).sources, {**STUDENT_WEIGHTS, **options.weights})
    if options.without_block is not None:
        weights = weights * (block_of(len(gold)) != options.without_block)
    raw_plan: list[np.ndarray] = []
    gold_plan: list[np.ndarray] = []
    began, steps, words = time.time(), 0, 0
    total, counts = torch.zeros(2, 3, device=device), [0, 0]
    while (elapsed := (time.time() - began) / options.seconds) < 1:
        if has_trees := bool(rng.random() < options.gold):
            if not gold_plan:
                gold_plan = plan_batches(gold.pieces_of, _draw(weights, rng), options.batch_pieces // 2, rng)
            members, data = gold_plan.pop(), gold
        else:
            if not raw_plan:
                planned = plan_batches(raw.pieces_of[annotated], 1, options.batch_pieces, rng)
                raw_plan = [annotated[part] for part in planned]
            members, data = raw_plan.pop(), raw
        index = torch.from_numpy(members).to(device)
        batch = data.batch(index, torch.zeros_like(index), vocabulary)
        with torch.autocast(device.type, torch.bfloat16):
            if has_trees:
                loss, parts = gold_loss(network, gold, index, batch)
            else:
                loss, parts = distillation_loss(network, targets, index, batch)
        fraction = options.final + (1 - options.final) * (1 - elapsed)
        optimizer.step(loss, min(1, (steps + 1) / options.warmup_steps) * fraction)
        steps, words = steps + 1, words + int(data.words_of[members].sum())
        total[int(has_trees)] += parts
        counts[int(has_trees)] += 1
        if steps % 500 == 0:
            means = [_to_list(row / max(1, count)) for row, count in zip(total, counts, strict=True)]
            logger.info(f"step {steps}, {elapsed:.2f} of the time, {words} words: {means}")
            total, counts = torch.zeros_like(total), [0, 0]
    found = dev_losses(folder, network, vocabulary, False)
    logger.info(f"student: {steps} steps, {words} words; dev {found}")
    return network, found


@torch.no_grad()
def dev_losses(folder: Path, network: Network, vocabulary: Vocabulary, use_source: bool) -> dict[str, list[float]]:
    """The losses of brackets, labels and tags in nats per word on the trees of DEV, by source. `use_source`: the
    network is given the source, _EVERYDAY (if it is one) for trees of none."""
    network.eval()
    names, device = Sizes.load(folder).sources, next(network.parameters()).device
    data = SentenceArrays(folder / DEV, device)
    unknown = names.index(_EVERYDAY) if _EVERYDAY in names else 0
    found = {}
    for source in sorted(set(data.sources_of.tolist())):
        chosen, total, words = np.flatnonzero(data.sources_of == source), torch.zeros(3, device=device), 0
        for part in plan_batches(data.pieces_of[chosen], 1, _DEV_PIECES, np.random.default_rng(0)):
            index = torch.from_numpy(chosen[part]).to(device)
            sources = torch.full_like(index, (source or unknown) if use_source else 0)
            with torch.autocast(device.type, torch.bfloat16):
                _, parts = gold_loss(network, data, index, data.batch(index, sources, vocabulary))
            count = int(data.words_of[chosen[part]].sum())
            total, words = total + parts * count, words + count
        found[names[source]] = _to_list(total / words)
    network.train()
    return found
