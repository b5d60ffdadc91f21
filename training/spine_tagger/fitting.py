"""Train and score taggers on labelled sentences or files; jackknife labels and parts of speech."""

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse import __version__
from spacy_dtparse.bpm_parser.features import TextRules
from spacy_dtparse.errors import DtparseError, TrainingDataError
from spacy_dtparse.linear.features import LabelStage, pack_pairs
from spacy_dtparse.spine_tagger.features import TagParts
from spacy_dtparse.spine_tagger.model import TaggerModel
from spacy_dtparse.spine_tagger.tagger import SequenceTagger

from ..data.corpus import long_block_folds, short_block_folds
from ..data.dependencies import DependencySentence, part_labels, with_labels
from ..runs.files import write_atomically
from ..runs.metrics_log import MetricsLogger, metrics_logger
from ..runs.resuming import claim_folder, digest, run_folder
from .corpus import LabelledSentence, Sentences, format_labelled, read_label_file
from .learners import Likelihood, list_features, make_data, train_gis, train_lbfgs, train_online
from .options import SequenceOptions

Paths = Sequence[Path]
Betas = Sequence[float]
BETAS = (0.075, 0.03, 0.01, 0.005, 0.001)  # of the C&C parser's passes (Clark & Curran 2007)
_HELD_OUT = 10  # without development sentences every tenth block is held out from an online learner, to fit the scale
_UNLIKELY = 1e-30  # lower probabilities are raised to this, so that a single sentence cannot determine the scale


def fit_tagger(
    train: Sentences,
    dev: Sentences,
    options: SequenceOptions,
    workdir: Path,
    meta: dict[str, Any],
    workers: int = 1,
    log_metrics: MetricsLogger = lambda **_: None,
) -> TaggerModel:
    """Train a tagger. Checkpoints are saved in `workdir`, so that a run can be resumed. `workers`: threads of GIS and
    L-BFGS; the model does not depend on them. An online learner's scale is fitted on `dev`, or without it on a held-out
    tenth of `train`. Raises TrainingDataError if there is no training data, or `workdir` belongs to another run."""
    if not train:
        raise TrainingDataError("no training sentences; give a file with some")
    if len({bool(sentence.tags) for sentence in train}) > 1:
        raise TrainingDataError("some sentences have tags and some have none; give files of one kind")
    held_out = list(dev)
    if options.online and not dev:
        held = long_block_folds(len(train), _HELD_OUT, 10) == _HELD_OUT - 1
        held_out, train = list(compress(train, held)), list(compress(train, ~held))
        if not held_out:
            raise TrainingDataError(
                f"{len(train)} sentences are too few to hold out a tenth of them for the scale; give at least "
                f"{_HELD_OUT}, or development sentences"
            )
    claim_folder(workdir, {"options": options.to_dict(), "sentences": digest(train)})
    started = time.perf_counter()
    try:
        parts = TagParts.build(train, options.min_word_count, options.plain, options.min_affix_count, options.cutoff)
    except DtparseError as error:
        raise TrainingDataError(f"cannot train on these labels: {error}") from error
    data = make_data(train, parts)
    listing = list_features(data, parts, options.min_count)
    log_metrics(
        sentences=len(train),
        tokens=sum(len(s.words) for s in train),
        labels=len(parts.labels),
        features=len(listing.keys),
        pairs=len(listing.codes),
        seconds=round(time.perf_counter() - started, 1),
    )
    state = workdir / "learner.npz"
    if options.online:
        codes, weights = train_online(data, parts, listing, options, state, log_metrics)
    else:
        function = Likelihood(data, parts, listing, options.sigma, workers)
        train_pairs = train_gis if options.estimator == "gis" else train_lbfgs
        codes, weights = listing.codes, train_pairs(function, listing, options, state, log_metrics)
    features, labels = (found.astype(np.int64) for found in np.divmod(codes, np.uint64(len(parts.labels))))
    stage = pack_pairs(listing.keys, features, labels, weights, options.max_weights, options.levels)
    scale = fit_scale(parts, stage, held_out) if options.online else 1.0
    model = TaggerModel(parts, stage, scale, meta)
    log_metrics(weights=len(stage.weights), scale=scale, seconds=round(time.perf_counter() - started, 1))
    return model


def fit_scale(parts: TagParts, stage: LabelStage, sentences: Sentences) -> float:
    """Fit the scale (1 / temperature) that maximises the probability of the sentences' labels, by golden-section search
    for its logarithm, to 0.01."""
    used = [s for s in sentences if s.words]

    @cache
    def loss(log_scale: float) -> float:
        tagger = SequenceTagger(TaggerModel(parts, stage, math.exp(log_scale), {}))
        return -sum(_log_probability(tagger, sentence) for sentence in used)

    greatest = max(float(np.abs(stage.weights).max(initial=1)) * 2.0**-stage.grid, 2.0**-20)
    low, high = math.log(0.001 / greatest), math.log(100.0 / greatest)
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    while high - low > 0.01:
        if loss(left) <= loss(right):
            high, right = right, left
            left = high - ratio * (high - low)
        else:
            low, left = left, right
            right = low + ratio * (high - low)
    return round(math.exp((low + high) / 2), 6) or 1e-6


def _log_probability(tagger: SequenceTagger, sentence: LabelledSentence) -> float:
    """The sum of the log probabilities of the labels, without labels that the tag dictionary does not allow."""
    total = 0.0
    for candidates, label in zip(tagger.multitag(sentence.words, sentence.tags, 0.0), sentence.labels, strict=True):
        prob = dict(candidates).get(label)
        if prob is not None:
            total += math.log(max(prob, _UNLIKELY))
    return total


def evaluate_tagger(tagger: SequenceTagger, sentences: Sentences, betas: Betas = BETAS) -> dict[str, Any]:
    """Score a tagger. `accuracy`: fraction of words whose most probable label is right; `sequence_accuracy`: the same
    for the best sequence; `betas`: for each β the fraction of words whose right label is a candidate, and the mean
    number of candidates per word."""
    words = right = in_sequence = 0
    counts, min_beta = {beta: [0, 0] for beta in betas}, min(betas, default=1.0)
    for sentence in sentences:
        words += len(sentence.words)
        path = tagger.tag(sentence.words, sentence.tags)
        in_sequence += sum(a == b for a, b in zip(path, sentence.labels, strict=True))
        for candidates, label in zip(
            tagger.multitag(sentence.words, sentence.tags, min_beta), sentence.labels, strict=True
        ):
            right += candidates[0][0] == label
            for beta, count in counts.items():
                names = [name for name, prob in candidates if prob >= beta * candidates[0][1]]
                count[0] += label in names
                count[1] += len(names)
    n = max(words, 1)
    per_beta = {
        str(beta): {"accuracy": hits / n, "labels": n_candidates / n} for beta, (hits, n_candidates) in counts.items()
    }
    return {"words": words, "accuracy": right / n, "sequence_accuracy": in_sequence / n, "betas": per_beta}


def _read_files(paths: Paths) -> list[LabelledSentence]:
    return [sentence for path in paths for sentence in read_label_file(path)]


def tagger_metadata(metadata: Mapping[str, Any], sentences: Sentences, options: SequenceOptions) -> dict[str, Any]:
    """The metadata of a model: `metadata`, the size of the training data, and the options."""
    counts = {"sentences": len(sentences), "tokens": sum(len(sentence.words) for sentence in sentences)}
    return {"version": __version__, **metadata, **counts, "options": options.to_dict()}


def fit_files(
    train: Paths,
    dev: Paths,
    options: SequenceOptions,
    metadata: dict[str, Any],
    out: Path,
    workdir: Path | None = None,
    workers: int = 2,
    betas: Betas = (),
) -> dict[str, Any]:
    """Train on files (see `read_label_file`), write `out` and return the scores on `dev` (see `evaluate_tagger`), {} if
    there are no dev files. `metadata`: for the model's meta. Without a `workdir` the run cannot be resumed. Raises
    TrainingDataError and ConfigError for unusable input."""
    started = time.perf_counter()
    sentences, held_out = _read_files(train), _read_files(dev)
    with run_folder(workdir) as folder:
        meta, log_metrics = tagger_metadata(metadata, sentences, options), metrics_logger(workdir)
        tagger = SequenceTagger(fit_tagger(sentences, held_out, options, folder, meta, workers, log_metrics))
        scores = tagger.meta["dev"] = evaluate_tagger(tagger, held_out, betas) if held_out else {}
        write_atomically(out, tagger.to_bytes())
        log_metrics(out=str(out), megabytes=out.stat().st_size / 1e6, seconds=time.perf_counter() - started)
    return scores


def jackknife_labels(
    sentences: Sentences,
    options: SequenceOptions,
    folds: int,
    folder: Path,
    workers: int,
    betas: Betas,
    log_metrics: MetricsLogger,
) -> tuple[list[LabelledSentence], dict[str, Any]]:
    """(Sentences with labels predicted by taggers that were not trained on them, scores of all folds together; see
    `evaluate_tagger`). Finished folds are saved in `folder`; `workers`: number of folds in parallel. Raises
    TrainingDataError if there are fewer blocks of sentences than folds."""
    fold_ids = short_block_folds(len(sentences), folds)
    if len(np.unique(fold_ids)) < folds:
        raise TrainingDataError(
            f"{len(sentences)} sentences are too few for {folds} folds of blocks of ten; give more, or fewer folds"
        )

    def one(fold: int) -> tuple[list[LabelledSentence], dict[str, Any]]:
        held, rest = list(compress(sentences, fold_ids == fold)), list(compress(sentences, fold_ids != fold))
        tagger = SequenceTagger(fit_tagger(rest, (), options, folder / f"fold{fold}", {}))
        found = [s._replace(labels=tuple(tagger.tag(s.words, s.tags))) for s in held]
        scores = evaluate_tagger(tagger, held, betas)
        log_metrics(fold=fold, words=scores["words"], accuracy=scores["accuracy"])
        return found, scores

    with ThreadPoolExecutor(workers) as pool:
        labelled, scores = zip(*pool.map(one, range(folds)), strict=True)
    words, sources = [own["words"] for own in scores], [iter(found) for found in labelled]
    return [next(sources[fold]) for fold in fold_ids.tolist()], {**_mean(scores, words), "words": sum(words)}


def jackknife_files(
    train: Paths, options: SequenceOptions, out: Path, folds: int, workdir: Path | None, workers: int, betas: Betas = ()
) -> dict[str, Any]:
    """Write the sentences of files with jackknifed labels to `out`; returns the scores. Raises the errors of
    `jackknife_labels`."""
    sentences = _read_files(train)
    with run_folder(workdir) as folder:
        found, scores = jackknife_labels(sentences, options, folds, folder, workers, betas, metrics_logger(workdir))
    write_atomically(out, format_labelled(found).encode())
    return scores


def jackknife_tags(
    train: Sequence[DependencySentence],
    rules: TextRules,
    folds: int,
    folder: Path,
    workers: int = 2,
    log_metrics: MetricsLogger = lambda **_: None,
    meta: Mapping[str, Any] | None = None,
    options: SequenceOptions | None = None,
) -> tuple[list[DependencySentence], SequenceTagger]:
    """(Training sentences with parts of speech predicted by taggers that were not trained on them, a tagger trained on
    all of them for other sentences). Finished folds are saved in `folder`; `workers`: number of folds in parallel;
    `meta`: metadata for the tagger's model. Raises TrainingDataError if there are fewer blocks of sentences than
    folds."""
    options = options or SequenceOptions()
    gold = [LabelledSentence(tuple(s.columns.words), (), part_labels(s, rules)) for s in train]
    found, scores = jackknife_labels(gold, options, folds, folder, workers, (), log_metrics)
    log_metrics(tags_words=scores["words"], tags_accuracy=scores["accuracy"])
    metadata = {**(meta or {}), "jackknifed": scores["accuracy"]}
    model = fit_tagger(gold, (), options, folder / "all", metadata, workers, log_metrics)
    sentences = [with_labels(sentence, own.labels) for sentence, own in zip(train, found, strict=True)]
    return sentences, SequenceTagger(model)


def _mean(scores: Sequence[Any], words: Sequence[int]) -> Any:
    """The mean of numbers, or of all numbers in nested dictionaries, weighted by numbers of words."""
    if isinstance(scores[0], dict):
        return {name: _mean([own[name] for own in scores], words) for name in scores[0]}
    return sum(own * n for own, n in zip(scores, words, strict=True)) / max(sum(words), 1)


def report(scores: dict[str, Any]) -> str:
    """Format scores as lines of text."""
    return "\n".join(
        [
            f"{scores['words']} words, accuracy {100 * scores['accuracy']:.2f} %, "
            f"of the best sequence {100 * scores['sequence_accuracy']:.2f} %",
            *(
                f"beta {beta}: candidates include the right label {100 * values['accuracy']:.2f} %, "
                f"{values['labels']:.3f} labels per word"
                for beta, values in scores["betas"].items()
            ),
        ]
    )
