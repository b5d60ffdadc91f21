"""Train a recurrent tagger of tags and sentence starts. There are two kinds of runs: the final tagger on disk, with its
scores; and jackknifing, which tags every training sentence with a tagger that was not trained on it."""

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress, repeat
from pathlib import Path
from typing import Any, cast

import numpy as np
import spacy
from spacy.language import Language

from spacy_dtparse.core.ambiguous_tags import format_tag, parse_tag
from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.nn.clusters import WordClusters
from spacy_dtparse.nn.packing import pack
from spacy_dtparse.pipeline.provenance import PROVENANCE
from spacy_dtparse.recurrent_tagger.features import TokenParts
from spacy_dtparse.recurrent_tagger.forms import FORMS, PENN_FORMS
from spacy_dtparse.recurrent_tagger.kernels import TaggingNetwork
from spacy_dtparse.recurrent_tagger.model import RecurrentModel
from spacy_dtparse.recurrent_tagger.tagger import RecurrentTagger
from spacy_dtparse.symbols import Memo
from spacy_dtparse.text import normal_word
from training.data.clusters import STARTED_WITH_CLUSTERS, load_clusters
from training.data.corpus import long_block_folds
from training.data.evaluate import tag_lists
from training.data.tagged_treebanks import CorpusSentence, Treebank, accuracy, consecutive_runs, tag_set
from training.data.tokens import blank_pipeline
from training.data.treebanks import CLUSTERED, listed_texts, text_credits, write_tags
from training.nn.layers import Arrays, as_network, values_of
from training.recurrent_tagger.config import AugmentConfig, FitConfig, NetworkConfig, TaggingConfig
from training.recurrent_tagger.documents import SPACE_TAG, DocumentSampler, TokenRow, WordSplitter
from training.recurrent_tagger.network import TaggedText, TaggerTrainer, init_tagger_values
from training.runs.files import append_line, file_digest, load_checkpoint, save_checkpoint
from training.runs.lock import lock_dir
from training.runs.progress import progress_bar

PLAIN = AugmentConfig(curly=0, lower=0, title=0, upper=0)
TAGGER = "tagger"
"""The component's name."""
_BLANKS = ("\n", "\n\n", " ")


def scheduled_rate(config: FitConfig, step: int, done: float) -> float:
    """The learning rate of a step: linear warm-up to
    ``config.learning_rate``, for at most a tenth of the run, and linear decay to zero as ``done``, the fraction of
    words used, reaches 1."""
    warm = max((step + 1) / config.warmup_steps, 10 * done)
    return config.learning_rate * min(1.0, warm) * max(0.0, 1.0 - done)


def train_tagger(
    config: TaggingConfig,
    groups: Sequence[Sequence[CorpusSentence]],
    tags: Sequence[str],
    name: str,
    splitter: WordSplitter | None = None,
    start: RecurrentModel | None = None,
    lang: str = "en",
    clusters: WordClusters | None = None,
) -> tuple[RecurrentModel, float]:
    """Train a tagger of texts in ``lang`` for ``config.fit.epochs`` passes over ``groups`` (see ``DocumentSampler``),
    starting from the model ``start`` if given. ``clusters``: word clusters, for an additional feature of each word.
    Returns the model with averaged parameters, and the seconds used. Raises ValueError if there are no training words,
    ConfigError if ``start`` has other tags or sizes, or is given together with ``clusters``."""
    if config.augment.inserts_space and SPACE_TAG not in tags:
        raise ValueError(f"the settings insert whitespace tokens, but the tags lack {SPACE_TAG}; add it")
    options, began = config.fit, time.perf_counter()
    tokens = Counter(chain.from_iterable(sentence.words for group in groups for sentence in group))
    total = tokens.total() * options.epochs
    if total == 0:
        raise ValueError(f"{name}: there are no training words; check the treebank files and the folds")
    learned_tags = [tag for tag in tags if tag != SPACE_TAG]
    if start is None:
        vocabulary = tokens + Counter(dict.fromkeys(_BLANKS, config.network.min_count))
        parts = TokenParts.build(vocabulary, config.network.min_count, config.network.max_vocab, clusters)
        values = init_tagger_values(parts.size, len(learned_tags), config.network, np.random.default_rng(options.seed))
    elif clusters is not None:
        raise ConfigError(STARTED_WITH_CLUSTERS)
    else:
        parts, values = start.parts, _start_values(start, learned_tags, config.network)
    learner = TaggerTrainer(values, options)
    encoder = TextEncoder(parts, learned_tags, tokens, options.word_dropout)
    sampler = DocumentSampler(groups, config.augment, options, splitter)
    documents = map(encoder.encode, chain.from_iterable(sampler.one_pass() for _ in repeat(None)))
    n_used, step = 0, 0
    with progress_bar("w", name, total=int(total), unit_scale=True, mininterval=5.0) as bar:
        while n_used < total:
            batch, words = list[TaggedText](), 0
            while words < options.batch_tokens:
                batch.append(next(documents))
                words += len(batch[-1].tags) - 2
            rate = scheduled_rate(options, step, n_used / total)
            losses = learner.step(batch, np.random.default_rng((options.seed, step)), rate)
            n_used, step = n_used + words, step + 1
            bar.update(words)
            bar.set_postfix({"tags": f"{losses[0]:.3f}", "starts": f"{losses[1]:.4f}"}, refresh=False)
    packed = pack(as_network(TaggingNetwork, learner.averages))
    listed = [*FORMS.items(), *(PENN_FORMS.items() if config.penn_forms else ())] if lang == "en" else []
    forms = tuple((form, tag) for tag, patterns in listed if tag in tags for form in patterns)
    model = RecurrentModel(parts, tuple(learned_tags), packed, forms, SPACE_TAG, {"lang": lang})
    return model, time.perf_counter() - began


def _start_values(start: RecurrentModel, tags: Sequence[str], config: NetworkConfig) -> Arrays:
    """Initial parameters from a trained network. Raises ConfigError if its tags or sizes differ."""
    if set(start.tags) != set(tags):
        raise ConfigError(
            f"the pipeline to start from has other tags ({', '.join(sorted(set(start.tags) ^ set(tags)))}); give the "
            "same treebanks"
        )
    values = values_of(start.network)
    sizes = values["table"].shape[1], values["recurrent"].shape[3], len(values["recurrent"])
    if sizes != (config.width, config.units, config.layers):
        raise ConfigError("the pipeline to start from has other sizes; give the same network settings")
    return values


class TextEncoder:
    """Encodes documents of tokens as training examples. ``counts``: number of occurrences of each token."""

    def __init__(self, parts: TokenParts, tags: Sequence[str], counts: Mapping[str, int], word_dropout: float):
        self._parts = parts
        self._tags = {tag: i for i, tag in enumerate(tags)}
        normal: Counter[str] = Counter()
        for token, times in counts.items():
            normal[normal_word(token)] += times
        self._rare = Memo[str, float](
            lambda token: (
                word_dropout / (word_dropout + normal[normal_word(token)]) if word_dropout and token.strip() else 0.0
            )
        )

    def encode(self, tokens: Sequence[TokenRow]) -> TaggedText:
        """Encode a document."""
        n = len(tokens)
        rare, tags, starts = np.zeros(n + 2, REAL), np.full(n + 2, -1, INDEX), np.zeros(n + 2, REAL)
        rare[1:-1] = [self._rare[token.word] for token in tokens]
        tags[1:-1] = [self._tags.get(token.tag, -1) for token in tokens]
        starts[1:-1] = [0.0 if token.tag == SPACE_TAG else 1.0 if token.start else -1.0 for token in tokens]
        starts[1] = 0
        return TaggedText(self._parts.encode([token.word for token in tokens]).copy(), rare, tags, starts)


def make_pipeline(model: RecurrentModel, senter: bool, nlp: Language | None = None) -> Language:
    """Add the tagger to ``nlp``, or to a blank pipeline of its language. With ``senter`` it also sets sentence
    starts."""
    nlp = nlp or blank_pipeline(model.meta["lang"])
    before = {field: nlp.meta.get(field) for field in PROVENANCE}
    component = cast(Any, nlp.add_pipe("recurrent_tagger", name=TAGGER, config={"sentences": senter}))
    component.set_parser(RecurrentTagger(model))
    for field, value in before.items():  # without those of the default model, which this one replaces
        nlp.meta[field] = value or ("" if field == "license" else [])  # written, since spaCy merges at loading
    return nlp


def tagger_model(nlp: Language) -> RecurrentModel:
    """The model of a pipeline's recurrent tagger. Raises ConfigError if there is none."""
    if not nlp.has_pipe(TAGGER) or nlp.get_pipe_meta(TAGGER).factory != "recurrent_tagger":
        raise ConfigError("the pipeline to start from has no recurrent tagger; give one made by `train-tagger`")
    return cast(Any, nlp.get_pipe(TAGGER)).parser.model


def train_final(
    treebanks: Sequence[Treebank],
    model: Path,
    out: Path,
    config: TaggingConfig,
    senter: bool = True,
    split_evidence: Sequence[str] = (),
    start: Path | None = None,
    lang: str = "en",
    clusters: Path | None = None,
) -> dict[str, float]:
    """Train on all training sentences, save the pipeline to ``model`` and tag the dev parts with it.
    ``split_evidence``: names of the treebanks that split hyphenated words; they determine the tags of parts if
    ``augment.split_hyphens`` is on. ``start``: a pipeline to start from, with the same tags and sizes. ``lang``: the
    language, for the tokenizer. ``clusters``: file of word clusters. Writes ``out/{treebank}.dev.tags`` (by the
    pipeline as loaded from disk, one Doc per tree) and a line in ``out/log.jsonl``. Returns the scores (accuracies
    and F1 as fractions; none without a dev part), which are also in the pipeline's meta."""
    model.mkdir(parents=True, exist_ok=True)  # fails now rather than after the fit
    out.mkdir(parents=True, exist_ok=True)
    tags, splitter = set(tag_set(treebanks)), None
    words = [sentence.words for treebank in treebanks for sentence in treebank.train]
    blank = blank_pipeline(lang, words)
    if config.augment.inserts_space:
        tags.add(SPACE_TAG)
    if config.augment.split_hyphens:
        tags |= {"HYPH"} if lang == "en" else set()
        evidence = [treebank for treebank in treebanks if treebank.name in split_evidence] or treebanks
        evidence_sentences = (sentence for treebank in evidence for sentence in treebank.train)
        splitting = blank_pipeline(lang, words)  # a separate pipeline, whose vocabulary is not saved
        splitter = WordSplitter(splitting.tokenizer, evidence_sentences, penn=lang == "en")
    groups = [treebank.train for treebank in treebanks for _ in range(treebank.weight)]
    start_model = None if start is None else tagger_model(spacy.load(start))
    trained, seconds = train_tagger(
        config, groups, sorted(tags), model.name, splitter, start_model, lang, load_clusters(clusters)
    )
    pipeline = make_pipeline(trained, senter, blank)
    if clusters is not None:
        pipeline.meta["credits"] = text_credits(listed_texts(clusters), CLUSTERED)
    pipeline.to_disk(model)
    scores, speed = _evaluate(spacy.load(model), treebanks, config, senter, out)
    pipeline.meta["performance"] = scores
    pipeline.to_disk(model)
    append_line(out / "log.jsonl", {
        "what": "train", "model": model.name, **scores, "fit_seconds": round(seconds, 1), "dev_words_per_second": speed,
        "bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
        "config": config.fingerprint(),
    })  # fmt: skip
    return scores


def _evaluate(
    nlp: Language, treebanks: Sequence[Treebank], config: TaggingConfig, senter: bool, out: Path
) -> tuple[dict[str, float], int | None]:
    """Tag the dev parts and write the tags. Returns accuracy and sentence F1, and words tagged per second. Sentence F1
    is measured on dev documents of 1 to 8 sentences: `plain` as written, `varied` as in training."""
    scores: dict[str, float] = {}
    correct, total, used = 0, 0, 0.0
    for treebank in (treebank for treebank in treebanks if treebank.dev):
        for name, augment in (("plain", PLAIN), ("varied", config.augment)) if senter else ():
            documents = DocumentSampler([treebank.dev], augment, config.fit).examples(nlp)
            scores[f"sents_f_{name}_{treebank.name}"] = round(nlp.evaluate(documents)["sents_f"], 5)
        started = time.perf_counter()
        predicted = tag_lists(nlp, [sentence.words for sentence in treebank.dev])
        used += time.perf_counter() - started
        write_tags(out / f"{treebank.name}.dev.tags", predicted)
        n_correct, words = accuracy(treebank.dev, predicted)
        scores[f"tag_acc_{treebank.name}"] = round(n_correct / max(1, words), 5)
        correct, total = correct + n_correct, total + words
    if total:
        scores["tag_acc"] = round(correct / total, 5)
    return scores, round(total / used) if used else None


def _fingerprint(treebanks: Sequence[Treebank], folds: int, config: TaggingConfig, clusters: Path | None) -> str:
    of_clusters = "" if clusters is None else f" {file_digest(clusters)}"
    digest = hashlib.sha256(f"second tags {config.fingerprint()} {folds}{of_clusters}".encode())
    for treebank in treebanks:
        digest.update(f"\n{treebank.name} {treebank.weight}\n".encode())
        for sentence in treebank.train:
            digest.update(" ".join(sentence.words + sentence.tags).encode())
    return digest.hexdigest()[:16]


@lock_dir("out")
def jackknife(
    treebanks: Sequence[Treebank],
    out: Path,
    folds: int,
    config: TaggingConfig,
    run: str = "pooled",
    lang: str = "en",
    clusters: Path | None = None,
) -> dict[str, float]:
    """Write ``out/{treebank}.train.tags``; returns the accuracy of the predicted tags per treebank. The tagger of a
    fold is trained on the other folds of all ``treebanks`` together, with the word ``clusters`` of a file if given.
    Finished folds are stored in ``out/folds/{run}``;
    a later call with the same settings and sentences reuses them. ``out/log.jsonl`` gets a line per fold and
    treebank."""
    fold_of = {treebank.name: long_block_folds(len(treebank.train), folds) for treebank in treebanks}
    if len(fold_of) < len(treebanks):
        seen = [treebank.name for treebank in treebanks]
        raise ValueError(f"treebank folders must have different names, but are named {seen}")
    out.mkdir(parents=True, exist_ok=True)
    fingerprint, known_clusters = _fingerprint(treebanks, folds, config, clusters), load_clusters(clusters)
    lines = {name: np.empty(len(of), object) for name, of in fold_of.items()}
    for fold in range(folds):
        path = out / "folds" / run / f"fold_{fold:02d}.json"
        saved = load_checkpoint(path) or {"fingerprint": None}
        if saved["fingerprint"] != fingerprint:
            held_out = [of == fold for of in fold_of.values()]
            tags = _tag_fold(treebanks, held_out, config, fold, run, out, lang, known_clusters)
            saved = {"fingerprint": fingerprint, "tags": tags}
            save_checkpoint(path, saved)
        for name, of in fold_of.items():
            lines[name][of == fold] = saved["tags"][name]
    result = {}
    for treebank in treebanks:
        rows = [[*map(parse_tag, line.split())] for line in lines[treebank.name]]
        correct, total = accuracy(treebank.train, rows)
        result[treebank.name] = correct / max(1, total)
        write_tags(out / f"{treebank.name}.train.tags", rows)
    return result


def _tag_fold(
    treebanks: Sequence[Treebank],
    held_out: Sequence[np.ndarray],
    config: TaggingConfig,
    fold: int,
    run: str,
    out: Path,
    lang: str,
    clusters: WordClusters | None,
) -> dict[str, list[str]]:
    """Train a tagger on the sentences that are not `held_out` (bool), and return lines of tags for those that are."""
    parts = list(zip(treebanks, held_out, strict=True))
    groups = [treebank.train[part] for treebank, mask in parts for part in consecutive_runs(~mask) * treebank.weight]
    config = replace(config, fit=replace(config.fit, seed=config.fit.seed + fold))
    name, tags = f"{run} fold {fold}", tag_set(treebanks)
    model, seconds = train_tagger(config, groups, tags, name=name, lang=lang, clusters=clusters)
    nlp = make_pipeline(model, senter=False)
    result: dict[str, list[str]] = {}
    for treebank, mask in parts:
        sentences = list(compress(treebank.train, mask))
        predicted = tag_lists(nlp, [sentence.words for sentence in sentences])
        result[treebank.name] = [" ".join(map(format_tag, tags)) for tags in predicted]
        correct, total = accuracy(sentences, predicted)
        append_line(out / "log.jsonl", {
            "what": "jackknife", "run": run, "fold": fold, "treebank": treebank.name, "sentences": len(sentences),
            "words": total, "accuracy": round(correct / max(1, total), 5), "fit_seconds": round(seconds, 1),
            "config": config.fingerprint(),
        })  # fmt: skip
    return result
