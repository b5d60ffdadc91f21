"""A pipeline of tok2vec, tagger and sentence boundaries, and its training by spaCy's `nlp.update`."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain, repeat
from typing import Any, cast

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam, Model, fix_random_seed, use_ops
from tqdm import tqdm

from spacy_dtparse.errors import ConfigError
from training.data.tokens import add_tokens
from training.pos_tagger.config import FitConfig, NetworkConfig, TaggingConfig
from training.pos_tagger.documents import SPACE_TAG, DocumentSampler, WordSplitter
from training.pos_tagger.treebanks import Sentence


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


def fit(
    config: TaggingConfig,
    groups: Sequence[Sequence[Sentence]],
    tags: Sequence[str],
    senter: bool,
    name: str,
    splitter: WordSplitter | None = None,
    start: Language | None = None,
) -> tuple[Language, float]:
    """Train a pipeline for ``config.fit.epochs`` passes over ``groups`` (see ``DocumentSampler``), from ``start`` if
    that is given. Returns the pipeline with averaged parameters, and the seconds used. Raises ValueError where there
    is nothing to learn from, ConfigError where ``start`` has other tags or sizes."""
    if config.augment.inserts_space and SPACE_TAG not in tags:
        raise ValueError(f"whitespace tokens are asked for, but the tags lack {SPACE_TAG}; add it")
    with use_ops("numpy", use_blis=False):  # OpenBLAS multiplies faster than blis
        nlp = blank_pipeline(config.network, tags, senter, config.fit.seed)
    if start is not None:
        copy_parameters(start, nlp)
    options = config.fit
    sampler = DocumentSampler(groups, config.augment, options, nlp, splitter)
    total = sum(len(sentence.tags) for group in groups for sentence in group) * options.epochs
    if total == 0:
        raise ValueError(f"{name}: there are no training words; check the treebank files and the folds")
    started = time.perf_counter()
    optimizer = Adam(
        options.learn_rate, L2=options.l2, grad_clip=options.grad_clip, L2_is_weight_decay=True, use_averages=True
    )
    documents = chain.from_iterable(sampler.one_pass() for _ in repeat(None))
    sizes, used = batch_sizes(options, total), 0
    with tqdm(total=int(total), unit="w", unit_scale=True, desc=name, mininterval=5.0) as bar:
        for size in sizes:
            if used >= total:
                break
            batch, words = list[Example](), 0
            while words < size:
                batch.append(next(documents))
                words += len(batch[-1])
            # The decay follows the words seen: batches overshoot their wanted size by part of a document.
            optimizer.learn_rate = learn_rate(options, int(len(sizes) * used / total), len(sizes))
            losses = nlp.update(batch, drop=options.dropout, sgd=optimizer)
            used += words
            bar.update(words)
            bar.set_postfix({part: f"{loss / words:.3f}" for part, loss in losses.items()}, refresh=False)
    trained = blank_pipeline(config.network, tags, senter, options.seed)  # without the words of the training
    with nlp.use_params(cast(Any, optimizer.averages)):
        copy_parameters(nlp, trained)
    return trained, time.perf_counter() - started


def copy_parameters(source: Language, target: Language) -> None:
    """Take over the parameters of a trained pipeline. Raises ConfigError where its tags or its sizes are others."""
    missing = [name for name in target.pipe_names if not source.has_pipe(name)]
    if missing:
        raise ConfigError(f"the pipeline to start from has no {', '.join(missing)}; give one that `tag` has made")
    mine, theirs = (set(getattr(nlp.get_pipe("tagger"), "labels", ())) for nlp in (target, source))
    if mine != theirs:
        raise ConfigError(
            f"the pipeline to start from has other tags ({', '.join(sorted(mine ^ theirs))}); give the same treebanks"
        )
    models = [[cast(Any, nlp.get_pipe(name)).model for nlp in (source, target)] for name in target.pipe_names]
    if any(_shapes(one) != _shapes(other) for one, other in models):
        raise ConfigError("the pipeline to start from has other sizes; give the same network settings")
    for one, other in models:
        other.from_bytes(one.to_bytes())


def _shapes(model: Model) -> list[tuple[int, ...]]:
    return [node.get_param(name).shape for node in model.walk() for name in node.param_names]


def blank_pipeline(config: NetworkConfig, tags: Sequence[str], senter: bool, seed: int) -> Language:
    """An English pipeline with untrained parameters. Raises ValueError unless ``tags`` are sorted and at least two."""
    if list(tags) != sorted(tags) or len(tags) < 2:
        raise ValueError(f"tags must be sorted and at least two, seen: {list(tags)[:5]}…")
    fix_random_seed(seed)
    nlp = spacy.blank("en")
    add_tokens(nlp)
    vectors = {"pretrained_vectors": None, **asdict(config), "subword_features": True}
    nlp.add_pipe("tok2vec", config={"model": {"@architectures": "spacy.HashEmbedCNN.v2", **vectors}})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": config.width, "upstream": "tok2vec"}
    model = {"@architectures": "spacy.Tagger.v2", "nO": None, "normalize": False, "tok2vec": listener}
    for name in ("tagger", "senter") if senter else ("tagger",):
        nlp.add_pipe(name, config={"model": model})
    doc = Doc(nlp.vocab, words=list(tags), tags=list(tags), sent_starts=[True, *[False] * (len(tags) - 1)])
    nlp.initialize(lambda: [Example(doc, doc)])
    fix_random_seed(seed)  # initialize() above seeds from its own config
    return nlp
