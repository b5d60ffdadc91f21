"""A pipeline of tok2vec, tagger and sentence boundaries, its training by spaCy's `nlp.update`, and the two runs: the
final tagger (and senter) on disk, with its scores; and tags for every training sentence from a tagger that has not seen
it."""

import hashlib
import json
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from itertools import chain, compress, repeat
from pathlib import Path
from typing import Any, cast

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam, Model, fix_random_seed, use_ops
from tqdm import tqdm

from spacy_dtparse.errors import ConfigError
from training.data.corpus import fold_numbers
from training.data.evaluate import tag_lists
from training.data.tokens import add_tokens
from training.data.treebanks import write_tags
from training.pos_tagger.config import AugmentConfig, FitConfig, NetworkConfig, TaggingConfig
from training.pos_tagger.documents import SPACE_TAG, DocumentSampler, WordSplitter
from training.pos_tagger.treebanks import Sentence, Treebank, accuracy, kept_runs, tag_set
from training.runs.files import append_line, write_atomically

PLAIN = AugmentConfig(tokenizer_norms=0, curly=0, lower=0, title=0, upper=0)
_ENDINGS = "com|org|net|edu|gov|mil|info|biz|io|tv|eu|uk|de|fr|es|nl|se|ch|at|ca|au|nz|jp|cn|ru|br|pl|dk|no|fi"
_EMOJI = "\U0001f000-\U0001faff\u2600-\u2605\u2615\u2639-\u263b\u2661\u2665\u26a1\u2728\u2764\u2b50\u200d\ufe0f"
FORMS = {
    "ADD": (
        r"^(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww][Ww][Ww]\.)\S+$",
        rf"^[A-Za-z0-9-]{{2,}}(?:\.[A-Za-z0-9-]+)*\.(?:{_ENDINGS})(?:[/:?]\S*)?$",
        r"^[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$",
        r"^@\w{2,}$",
    ),
    "NFP": (rf"^[{_EMOJI}]+$",),
    ":": (r"^\u2026+$",),
}
"""Regular expressions of whole tokens whose form alone decides their tag: addresses (ADD) and emoji (NFP), as in the
English Web Treebank, of which no tagger learns from a few hundred examples that are all different; the ellipsis."""


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


def add_forms(nlp: Language, tags: Collection[str]) -> None:
    """Add spaCy's `attribute_ruler` after the tagger, with FORMS for those of the tags that there are."""
    known = [tag for tag in FORMS if tag in tags]
    ruler: Any = nlp.add_pipe("attribute_ruler", after="tagger") if known else None
    for tag in known:
        ruler.add([[{"TEXT": {"REGEX": form}}] for form in FORMS[tag]], {"TAG": tag})


def train_final(
    treebanks: Sequence[Treebank],
    model: Path,
    out: Path,
    config: TaggingConfig,
    senter: bool = True,
    split_evidence: Sequence[str] = (),
    start: Path | None = None,
) -> dict[str, float]:
    """Train on all training sentences, save the pipeline to ``model`` and tag the dev parts with it.
    ``split_evidence``: names of the treebanks that split hyphenated words; they decide the tags of parts when
    ``augment.split_hyphens`` is on. ``start``: a pipeline to go on from, of the same tags and shape. Writes
    ``out/{treebank}.dev.tags`` (made by the pipeline as loaded from disk, one Doc per tree) and a line in
    ``out/log.jsonl``; returns the scores (accuracies and F1 as fractions), which also stand in the pipeline's meta."""
    model.mkdir(parents=True, exist_ok=True)  # fails now rather than after the fit
    out.mkdir(parents=True, exist_ok=True)
    tags, splitter = set(tag_set(treebanks)), None
    if config.augment.inserts_space:
        tags.add(SPACE_TAG)
    if config.augment.split_hyphens:
        tags.add("HYPH")
        evidence = [treebank for treebank in treebanks if treebank.name in split_evidence] or treebanks
        nlp = spacy.blank("en")
        add_tokens(nlp)
        splitter = WordSplitter(nlp.tokenizer, (sentence for treebank in evidence for sentence in treebank.train))
    groups = [treebank.train for treebank in treebanks for _ in range(treebank.weight)]
    other = None if start is None else spacy.load(start)
    pipeline, seconds = fit(config, groups, sorted(tags), senter, model.name, splitter, other)
    add_forms(pipeline, tags)
    pipeline.to_disk(model)
    scores, speed = _score(spacy.load(model), treebanks, config, senter, out)
    pipeline.meta["performance"] = scores
    pipeline.to_disk(model)
    append_line(out / "log.jsonl", {
        "what": "train", "model": model.name, **scores, "fit_seconds": round(seconds, 1), "dev_words_per_second": speed,
        "bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
        "config": config.fingerprint(),
    })  # fmt: skip
    return scores


def _score(
    nlp: Language, treebanks: Sequence[Treebank], config: TaggingConfig, senter: bool, out: Path
) -> tuple[dict[str, float], int | None]:
    """Accuracy and sentence F1 on the dev parts, whose tags are written; words tagged per second. Sentence F1 is that
    of dev documents of 1 to 8 sentences: `plain` as written, `varied` as in training."""
    scores: dict[str, float] = {}
    right, total, used = 0, 0, 0.0
    for treebank in (treebank for treebank in treebanks if treebank.dev):
        for name, augment in (("plain", PLAIN), ("varied", config.augment)) if senter else ():
            documents = DocumentSampler([treebank.dev], augment, config.fit, nlp).one_pass()
            scores[f"sents_f_{name}_{treebank.name}"] = round(nlp.evaluate(documents)["sents_f"], 5)
        started = time.perf_counter()
        predicted = tag_lists(nlp, [sentence.words for sentence in treebank.dev])
        used += time.perf_counter() - started
        write_tags(out / f"{treebank.name}.dev.tags", predicted)
        good, words = accuracy(treebank.dev, predicted)
        scores[f"tag_acc_{treebank.name}"] = round(good / max(1, words), 5)
        right, total = right + good, total + words
    scores["tag_acc"] = round(right / max(1, total), 5)
    return scores, round(total / used) if used else None


def _fingerprint(treebanks: Sequence[Treebank], folds: int, config: TaggingConfig) -> str:
    digest = hashlib.sha256(f"{config.fingerprint()} {folds}".encode())
    for treebank in treebanks:
        digest.update(f"\n{treebank.name} {treebank.weight}\n".encode())
        for sentence in treebank.train:
            digest.update(" ".join(sentence.words + sentence.tags).encode())
    return digest.hexdigest()[:16]


def jackknife(
    treebanks: Sequence[Treebank], out: Path, folds: int, config: TaggingConfig, run: str = "pooled"
) -> dict[str, float]:
    """Write ``out/{treebank}.train.tags``; return the accuracy of the predicted tags per treebank. The taggers learn
    from the other folds of all ``treebanks`` together. A finished fold is kept in ``out/folds/{run}`` and not done
    again by a later call with the same settings and sentences. ``out/log.jsonl`` gets a line per fold and treebank."""
    numbers = {treebank.name: fold_numbers(len(treebank.train), folds) for treebank in treebanks}
    if len(numbers) < len(treebanks):
        seen = [treebank.name for treebank in treebanks]
        raise ValueError(f"treebank folders must have different names, seen: {seen}")
    out.mkdir(parents=True, exist_ok=True)
    fingerprint = _fingerprint(treebanks, folds, config)
    lines = {name: np.empty(len(of), object) for name, of in numbers.items()}
    for fold in range(folds):
        path = out / "folds" / run / f"fold_{fold:02d}.json"
        done: dict[str, Any] = json.loads(path.read_text(encoding="utf8")) if path.is_file() else {"fingerprint": None}
        if done["fingerprint"] != fingerprint:
            tags = _run_fold(treebanks, [of == fold for of in numbers.values()], config, fold, run, out)
            done = {"fingerprint": fingerprint, "tags": tags}
            write_atomically(path, json.dumps(done).encode())
        for name, of in numbers.items():
            lines[name][of == fold] = done["tags"][name]
    result = {}
    for treebank in treebanks:
        rows = [line.split() for line in lines[treebank.name]]
        right, total = accuracy(treebank.train, rows)
        result[treebank.name] = right / max(1, total)
        write_tags(out / f"{treebank.name}.train.tags", rows)
    return result


def _run_fold(
    treebanks: Sequence[Treebank], held_out: Sequence[np.ndarray], config: TaggingConfig, fold: int, run: str, out: Path
) -> dict[str, list[str]]:
    """Lines of tags for the sentences of each treebank that are `held_out`, bool, by a tagger of the others."""
    parts = list(zip(treebanks, held_out, strict=True))
    groups = [treebank.train[part] for treebank, held in parts for part in kept_runs(~held) * treebank.weight]
    config = replace(config, fit=replace(config.fit, seed=config.fit.seed + fold))
    nlp, seconds = fit(config, groups, tag_set(treebanks), senter=False, name=f"{run} fold {fold}")
    result: dict[str, list[str]] = {}
    for treebank, held in parts:
        sentences = list(compress(treebank.train, held))
        predicted = tag_lists(nlp, [sentence.words for sentence in sentences])
        result[treebank.name] = list(map(" ".join, predicted))
        right, total = accuracy(sentences, predicted)
        append_line(out / "log.jsonl", {
            "what": "jackknife", "run": run, "fold": fold, "treebank": treebank.name, "sentences": len(sentences),
            "words": total, "accuracy": round(right / max(1, total), 5), "fit_seconds": round(seconds, 1),
            "config": config.fingerprint(),
        })  # fmt: skip
    return result
