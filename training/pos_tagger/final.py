"""The final tagger (and senter) as a spaCy pipeline on disk, with its scores."""

import time
from collections.abc import Sequence
from pathlib import Path

import spacy
from spacy.language import Language

from training.data.tokens import add_tokens
from training.data.treebanks import write_tags
from training.pos_tagger.config import FINAL, AugmentConfig, TaggingConfig
from training.pos_tagger.documents import SPACE_TAG, DocumentSampler
from training.pos_tagger.fit import fit, tag_sentences
from training.pos_tagger.forms import add_forms
from training.pos_tagger.splitting import WordSplitter
from training.pos_tagger.treebanks import Treebank, accuracy, tag_set
from training.runs.files import append_line

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

    ``split_evidence``: names of the treebanks that split hyphenated words; they decide the tags of parts when
    ``augment.split_hyphens`` is on. ``start``: a pipeline to go on from, of the same tags and shape. Writes
    ``out/{treebank}.dev.tags`` (made by the pipeline as loaded from disk, one Doc per tree) and a line in
    ``out/log.jsonl``; returns the scores (accuracies and F1 as fractions), which also stand in the pipeline's meta.
    """
    config = config or FINAL
    model.mkdir(parents=True, exist_ok=True)  # fails now rather than after the fit
    out.mkdir(parents=True, exist_ok=True)
    tags = set(tag_set(treebanks))
    splitter = None
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
    append_line(
        out / "log.jsonl",
        {
            "what": "train",
            "model": model.name,
            **scores,
            "fit_seconds": round(seconds, 1),
            "dev_words_per_second": speed,
            "bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
            "config": config.fingerprint(),
        },
    )
    return scores


def _score(
    nlp: Language, treebanks: Sequence[Treebank], config: TaggingConfig, senter: bool, out: Path
) -> tuple[dict[str, float], int | None]:
    """Accuracy and sentence F1 on the dev parts, whose tags are written; words tagged per second.

    Sentence F1 is that of dev documents of 1 to 8 sentences: `plain` as written, `varied` as in training.
    """
    scores: dict[str, float] = {}
    right = total = 0
    used = 0.0
    for treebank in treebanks:
        if not treebank.dev:
            continue
        if senter:
            for name, augment in (("plain", PLAIN), ("varied", config.augment)):
                documents = DocumentSampler([treebank.dev], augment, config.fit, nlp).one_pass()
                scores[f"sents_f_{name}_{treebank.name}"] = round(nlp.evaluate(documents)["sents_f"], 5)
        started = time.perf_counter()
        predicted = tag_sentences(nlp, treebank.dev)
        used += time.perf_counter() - started
        write_tags(out / f"{treebank.name}.dev.tags", predicted)
        good, words = accuracy(treebank.dev, predicted)
        scores[f"tag_acc_{treebank.name}"] = round(good / max(1, words), 5)
        right, total = right + good, total + words
    scores["tag_acc"] = round(right / max(1, total), 5)
    return scores, round(total / used) if used else None
