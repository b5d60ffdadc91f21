"""The final tagger (and senter) as a spaCy pipeline on disk, with its scores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from training.data.tokens import add_tokens
from training.data.treebanks import write_tags
from training.pos_tagger.config import FINAL, AugmentConfig, TaggingConfig
from training.pos_tagger.corpus import SPACE_TAG, Document, DocumentSampler, EncodedSentence, encode
from training.pos_tagger.fit import fit
from training.pos_tagger.forms import add_forms
from training.pos_tagger.jackknife import log
from training.pos_tagger.lexicon import Lexicon
from training.pos_tagger.network import TaggerNetwork
from training.pos_tagger.sentences import Sentence
from training.pos_tagger.splitting import WordSplitter
from training.pos_tagger.treebanks import Treebank, accuracy, tag_set

PLAIN = AugmentConfig(tokenizer_norms=0, curly=0, lower=0, title=0, upper=0)


def train_final(
    treebanks: Sequence[Treebank],
    model: Path,
    out: Path,
    config: TaggingConfig | None = None,
    senter: bool = True,
    split_evidence: Sequence[str] = (),
    start: Path | None = None,
) -> dict[str, float]:
    """Train on all training sentences, save the pipeline to ``model`` and tag the dev parts with it.

    ``split_evidence``: names of the treebanks that split hyphenated words; they decide the tags of parts
    when ``augment.split_hyphens`` is on. ``start``: a pipeline to go on from, of the same tags and shape.
    Writes ``out/{treebank}.dev.tags`` (made by the pipeline as loaded from disk, one Doc per tree) and a line
    in ``out/log.jsonl``; returns the scores (accuracies and F1 as fractions), which also stand in the
    pipeline's meta.
    """
    config = config or FINAL
    model.mkdir(parents=True, exist_ok=True)  # fails now rather than after the fit
    tags = tag_set(treebanks)
    augment = config.augment
    if augment.inserts_space:
        tags = sorted({*tags, SPACE_TAG})
    if augment.split_hyphens:
        tags = sorted({*tags, "HYPH"})
    tag_numbers = {tag: number for number, tag in enumerate(tags)}
    nlp = spacy.blank("en")
    add_tokens(nlp)
    lexicon = Lexicon(nlp)
    splitter = None
    if augment.split_hyphens:
        named = [treebank for treebank in treebanks if treebank.name in set(split_evidence)]
        splitter = WordSplitter(nlp.tokenizer, (s for tb in named or treebanks for s in tb.train))
    groups: list[list[EncodedSentence]] = []
    for treebank in treebanks:
        encoded = [
            _encode_with_split(sentence, lexicon, tag_numbers, splitter) for sentence in treebank.train
        ]
        groups.extend([encoded] * treebank.weight)
    network = TaggerNetwork(config.network, tags, senter, config.fit.seed)
    if start is not None:
        network.start_from(spacy.load(start))
    sampler = DocumentSampler(groups, augment, config.fit, lexicon, tag_numbers)
    seconds = fit(network, sampler, lexicon, config.fit, model.name)
    scores: dict[str, float] = {}
    with_dev = [treebank for treebank in treebanks if treebank.dev]
    if senter:
        for treebank in with_dev:
            for name, value in _sentence_scores(network, treebank, lexicon, tag_numbers, config).items():
                scores[f"sents_f_{name}_{treebank.name}"] = value
    pipeline = network.pipeline()
    add_forms(pipeline, tags)
    pipeline.to_disk(model)
    loaded = spacy.load(model)
    right = total = 0
    used = 0.0
    for treebank in with_dev:
        started = time.perf_counter()
        predicted = tag_sentences(loaded, treebank.dev)
        used += time.perf_counter() - started
        write_tags(out / f"{treebank.name}.dev.tags", predicted)
        good, words = accuracy(treebank.dev, predicted)
        scores[f"tag_acc_{treebank.name}"] = round(good / max(1, words), 5)
        right, total = right + good, total + words
    scores["tag_acc"] = round(right / max(1, total), 5)
    fresh = spacy.load(model)  # the one that tagged has all words of dev among its strings
    fresh.meta["performance"] = scores
    fresh.to_disk(model)
    log(
        out,
        {
            "what": "train",
            "model": model.name,
            **scores,
            "fit_seconds": round(seconds, 1),
            "dev_words_per_second": round(total / used) if used else None,
            "bytes": folder_bytes(model),
            "config": config.fingerprint(),
        },
    )
    return scores


def tag_sentences(nlp: Language, sentences: Sequence[Sentence]) -> list[list[str]]:
    """The tags a pipeline gives to each sentence as a Doc of its own."""
    filled = [number for number, sentence in enumerate(sentences) if sentence.words]
    result: list[list[str]] = [[] for _ in sentences]
    docs = (Doc(nlp.vocab, words=list(sentences[number].words)) for number in filled)
    for number, doc in zip(filled, nlp.pipe(docs, batch_size=256), strict=True):
        result[number] = [token.tag_ for token in doc]
    return result


def folder_bytes(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _encode_with_split(
    sentence: Sentence, lexicon: Lexicon, tag_numbers: dict[str, int], splitter: WordSplitter | None
) -> EncodedSentence:
    encoded = encode(sentence, lexicon, tag_numbers)
    other = splitter.split(sentence) if splitter else None
    return encoded if other is None else replace(encoded, split=encode(other, lexicon, tag_numbers))


def _sentence_scores(
    network: TaggerNetwork,
    treebank: Treebank,
    lexicon: Lexicon,
    tag_numbers: dict[str, int],
    config: TaggingConfig,
) -> dict[str, float]:
    """Sentence F1 on dev documents of 1 to 8 sentences: ``plain`` as written, ``varied`` as in training.

    Tags that only dev has (an annotation slip) are replaced by any known one: senter scores do not read tags.
    """
    if not treebank.dev:
        return {}
    any_tag = next(iter(tag_numbers))
    known = [
        Sentence(sentence.words, tuple(tag if tag in tag_numbers else any_tag for tag in sentence.tags))
        for sentence in treebank.dev
    ]
    encoded = [encode(sentence, lexicon, tag_numbers) for sentence in known]
    scores = {}
    for name, augment in (("plain", PLAIN), ("varied", config.augment)):
        documents = list(DocumentSampler([encoded], augment, config.fit, lexicon, tag_numbers).one_pass())
        table = lexicon.table()
        starts = network.predict([table[document.words] for document in documents])[1]
        scores[name] = round(sentence_f1(documents, starts), 5)
    return scores


def sentence_f1(documents: Sequence[Document], predicted: Sequence[np.ndarray]) -> float:
    """F1 of whole sentences (both ends right); the first word of a document always starts one."""
    right = gold_count = predicted_count = 0
    for document, starts in zip(documents, predicted, strict=True):
        gold, guess = _spans(document.starts), _spans(starts)
        right += len(gold & guess)
        gold_count += len(gold)
        predicted_count += len(guess)
    return 2 * right / max(1, gold_count + predicted_count)


def _spans(starts: np.ndarray) -> set[tuple[int, int]]:
    edges = [0, *(int(i) for i in np.flatnonzero(starts) if i > 0), len(starts)]
    return set(pairwise(edges))
