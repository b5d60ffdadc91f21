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
from tqdm import tqdm

from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.features.recurrent.forms import FORMS
from spacy_dtparse.features.recurrent.tokenparts import TokenParts
from spacy_dtparse.kernels.recurrent.tagging import TaggingNetwork
from spacy_dtparse.model.packing import pack
from spacy_dtparse.model.recurrent.model import RecurrentModel
from spacy_dtparse.parsers.tagging import RecurrentTagger
from spacy_dtparse.symbols import Remembered
from spacy_dtparse.text import normal_word
from training.data.corpus import fold_numbers
from training.data.evaluate import tag_lists
from training.data.tokens import blank_pipeline
from training.data.treebanks import write_tags
from training.pos_tagger.config import AugmentConfig, FitConfig, NetworkConfig, TaggingConfig
from training.pos_tagger.documents import SPACE_TAG, DocumentSampler, Token, WordSplitter
from training.pos_tagger.network import TaggedText, TaggerLearner, first_values
from training.pos_tagger.treebanks import Sentence, Treebank, accuracy, kept_runs, tag_set
from training.recurrent.layers import Arrays, as_network, values_of
from training.runs.alone import alone_in
from training.runs.files import append_line, keep_json, kept_json

PLAIN = AugmentConfig(curly=0, lower=0, title=0, upper=0)
TAGGER = "tagger"
"""The component's name."""
_BLANKS = ("\n", "\n\n", " ")


def learn_rate(config: FitConfig, step: int, done: float) -> float:
    """The learning rate of a step: linear warm-up to ``config.learn_rate``, for at most a tenth of the run, and linear
    decay to zero as ``done``, the fraction of words used, reaches 1."""
    warm = max((step + 1) / config.warmup_steps, 10 * done)
    return config.learn_rate * min(1.0, warm) * max(0.0, 1.0 - done)


def fit(
    config: TaggingConfig,
    groups: Sequence[Sequence[Sentence]],
    tags: Sequence[str],
    name: str,
    splitter: WordSplitter | None = None,
    start: RecurrentModel | None = None,
    lang: str = "en",
) -> tuple[RecurrentModel, float]:
    """Train a tagger of texts in ``lang`` for ``config.fit.epochs`` passes over ``groups`` (see ``DocumentSampler``),
    starting from the model ``start`` if given. Returns the model with averaged parameters, and the seconds used. Raises
    ValueError if there are no training words, ConfigError if ``start`` has other tags or sizes."""
    if config.augment.inserts_space and SPACE_TAG not in tags:
        raise ValueError(f"the settings insert whitespace tokens, but the tags lack {SPACE_TAG}; add it")
    options, started = config.fit, time.perf_counter()
    tokens = Counter(chain.from_iterable(sentence.words for group in groups for sentence in group))
    total = tokens.total() * options.epochs
    if total == 0:
        raise ValueError(f"{name}: there are no training words; check the treebank files and the folds")
    learned = [tag for tag in tags if tag != SPACE_TAG]
    if start is None:
        shown = tokens + Counter(dict.fromkeys(_BLANKS, config.network.least))
        parts = TokenParts.build(shown, config.network.least, config.network.most)
        values = first_values(parts.size, len(learned), config.network, np.random.default_rng(options.seed))
    else:
        parts, values = start.parts, _go_on(start, learned, config.network)
    learner = TaggerLearner(values, options)
    texts = Texts(parts, learned, tokens, options.hide)
    sampler = DocumentSampler(groups, config.augment, options, splitter)
    documents = map(texts.text, chain.from_iterable(sampler.one_pass() for _ in repeat(None)))
    used, step = 0, 0
    with tqdm(total=int(total), unit="w", unit_scale=True, desc=name, mininterval=5.0) as bar:
        while used < total:
            batch, words = list[TaggedText](), 0
            while words < options.batch:
                batch.append(next(documents))
                words += len(batch[-1].tags) - 2
            rate = learn_rate(options, step, used / total)
            losses = learner.step(batch, np.random.default_rng((options.seed, step)), rate)
            used, step = used + words, step + 1
            bar.update(words)
            bar.set_postfix({"tags": f"{losses[0]:.3f}", "starts": f"{losses[1]:.4f}"}, refresh=False)
    packed = pack(as_network(TaggingNetwork, learner.averages))
    own_forms = FORMS if lang == "en" else {}
    forms = tuple((form, tag) for tag, own in own_forms.items() if tag in tags for form in own)
    model = RecurrentModel(parts, tuple(learned), packed, forms, SPACE_TAG, {"lang": lang})
    return model, time.perf_counter() - started


def _go_on(start: RecurrentModel, tags: Sequence[str], config: NetworkConfig) -> Arrays:
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


class Texts:
    """Encodes documents of tokens as training examples. ``counts``: number of occurrences of each token."""

    def __init__(self, parts: TokenParts, tags: Sequence[str], counts: Mapping[str, int], hide: float):
        self._parts = parts
        self._tags = {tag: number for number, tag in enumerate(tags)}
        normal: Counter[str] = Counter()
        for token, times in counts.items():
            normal[normal_word(token)] += times
        self._rare = Remembered[str, float](
            lambda token: hide / (hide + normal[normal_word(token)]) if hide and token.strip() else 0.0
        )

    def text(self, tokens: Sequence[Token]) -> TaggedText:
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
    component = cast(Any, nlp.add_pipe("recurrent_tagger", name=TAGGER, config={"sentences": senter}))
    component.set_parser(RecurrentTagger(model))
    return nlp


def model_of(nlp: Language) -> RecurrentModel:
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
) -> dict[str, float]:
    """Train on all training sentences, save the pipeline to ``model`` and tag the dev parts with it.
    ``split_evidence``: names of the treebanks that split hyphenated words; they determine the tags of parts if
    ``augment.split_hyphens`` is on. ``start``: a pipeline to start from, with the same tags and sizes. ``lang``: the
    language, for the tokenizer. Writes ``out/{treebank}.dev.tags`` (by the pipeline as loaded from disk, one Doc per
    tree) and a line in ``out/log.jsonl``. Returns the scores (accuracies and F1 as fractions), which are also in the
    pipeline's meta."""
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
        known = (sentence for treebank in evidence for sentence in treebank.train)
        cutting = blank_pipeline(lang, words)  # a separate pipeline, whose vocabulary is not saved
        splitter = WordSplitter(cutting.tokenizer, known, penn=lang == "en")
    groups = [treebank.train for treebank in treebanks for _ in range(treebank.weight)]
    other = None if start is None else model_of(spacy.load(start))
    trained, seconds = fit(config, groups, sorted(tags), model.name, splitter, other, lang)
    pipeline = make_pipeline(trained, senter, blank)
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
    """Tag the dev parts and write the tags. Returns accuracy and sentence F1, and words tagged per second. Sentence F1
    is measured on dev documents of 1 to 8 sentences: `plain` as written, `varied` as in training."""
    scores: dict[str, float] = {}
    right, total, used = 0, 0, 0.0
    for treebank in (treebank for treebank in treebanks if treebank.dev):
        for name, augment in (("plain", PLAIN), ("varied", config.augment)) if senter else ():
            documents = DocumentSampler([treebank.dev], augment, config.fit).examples(nlp)
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


@alone_in("out")
def jackknife(
    treebanks: Sequence[Treebank], out: Path, folds: int, config: TaggingConfig, run: str = "pooled", lang: str = "en"
) -> dict[str, float]:
    """Write ``out/{treebank}.train.tags``; returns the accuracy of the predicted tags per treebank. The tagger of a
    fold is trained on the other folds of all ``treebanks`` together. Finished folds are stored in ``out/folds/{run}``;
    a later call with the same settings and sentences reuses them. ``out/log.jsonl`` gets a line per fold and
    treebank."""
    numbers = {treebank.name: fold_numbers(len(treebank.train), folds) for treebank in treebanks}
    if len(numbers) < len(treebanks):
        seen = [treebank.name for treebank in treebanks]
        raise ValueError(f"treebank folders must have different names, but are named {seen}")
    out.mkdir(parents=True, exist_ok=True)
    fingerprint = _fingerprint(treebanks, folds, config)
    lines = {name: np.empty(len(of), object) for name, of in numbers.items()}
    for fold in range(folds):
        path = out / "folds" / run / f"fold_{fold:02d}.json"
        done = kept_json(path) or {"fingerprint": None}
        if done["fingerprint"] != fingerprint:
            tags = _run_fold(treebanks, [of == fold for of in numbers.values()], config, fold, run, out, lang)
            done = {"fingerprint": fingerprint, "tags": tags}
            keep_json(path, done)
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
    treebanks: Sequence[Treebank],
    held_out: Sequence[np.ndarray],
    config: TaggingConfig,
    fold: int,
    run: str,
    out: Path,
    lang: str,
) -> dict[str, list[str]]:
    """Train a tagger on the sentences that are not `held_out` (bool), and return lines of tags for those that are."""
    parts = list(zip(treebanks, held_out, strict=True))
    groups = [treebank.train[part] for treebank, held in parts for part in kept_runs(~held) * treebank.weight]
    config = replace(config, fit=replace(config.fit, seed=config.fit.seed + fold))
    model, seconds = fit(config, groups, tag_set(treebanks), name=f"{run} fold {fold}", lang=lang)
    nlp = make_pipeline(model, senter=False)
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
