"""The training loop: words per batch growing, Adam with linear decay, averaged parameters."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from thinc.api import Adam
from tqdm import tqdm

from training.pos_tagger.config import FitConfig
from training.pos_tagger.corpus import Document, DocumentSampler
from training.pos_tagger.lexicon import Lexicon
from training.pos_tagger.network import TaggerNetwork


def batch_sizes(config: FitConfig, total: float) -> list[int]:
    """The words of each update, growing from ``batch_start`` to ``batch_stop``, ``total`` words in all."""
    sizes = []
    size, used = float(config.batch_start), 0.0
    while used < total:
        sizes.append(int(size))
        used += int(size)
        size = min(size * config.batch_growth, float(config.batch_stop))
    return sizes


def learn_rate(config: FitConfig, step: int, steps: int) -> float:
    """Linear warm-up to ``config.learn_rate``, then linear decay to zero at ``steps``."""
    warmup = min(config.warmup_steps, max(1, steps // 10))
    if step < warmup:
        return config.learn_rate * (step + 1) / warmup
    return config.learn_rate * max(0.0, (steps - step) / max(1, steps - warmup))


def _endless(sampler: DocumentSampler) -> Iterator[Document]:
    while True:
        yield from sampler.one_pass()


def _take(documents: Iterator[Document], words: int) -> list[Document]:
    batch: list[Document] = []
    used = 0
    for document in documents:
        batch.append(document)
        used += len(document)
        if used >= words:
            break
    return batch


def fit(
    network: TaggerNetwork, sampler: DocumentSampler, lexicon: Lexicon, config: FitConfig, name: str
) -> float:
    """Train for ``config.epochs`` passes and set the averaged parameters. Returns the seconds used."""
    started = time.perf_counter()
    per_pass = sampler.words_per_pass()
    if per_pass == 0:
        raise ValueError(f"{name}: there are no training words; check the treebank files and the folds")
    table = lexicon.table()
    total = per_pass * config.epochs
    sizes = batch_sizes(config, total)
    optimizer = Adam(
        config.learn_rate,
        L2=config.l2,
        grad_clip=config.grad_clip,
        L2_is_weight_decay=True,
        use_averages=True,
    )
    documents = _endless(sampler)
    recent = 0.0
    with tqdm(total=int(total), unit="w", unit_scale=True, desc=name, mininterval=5.0) as bar:
        used = 0.0
        for size in sizes:
            if used >= total:
                break
            batch = _take(documents, size)
            words = sum(len(document) for document in batch)
            # The decay follows the words seen: batches overshoot their wanted size by part of a document.
            step = int(len(sizes) * used / total)
            optimizer.learn_rate = learn_rate(config, step, len(sizes))
            targets = [np.concatenate([document.tags for document in batch])]
            if network.has_senter:
                targets.append(np.concatenate([document.starts for document in batch]))
            loss = network.update(
                [table[document.words] for document in batch], targets, config.dropout, optimizer
            )
            recent = 0.95 * recent + 0.05 * loss / words if used else loss / words
            used += words
            bar.update(words)
            bar.set_postfix(loss=f"{recent:.3f}", refresh=False)
    network.use_averages(optimizer)
    return time.perf_counter() - started
