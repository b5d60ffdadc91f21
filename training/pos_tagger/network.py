"""The spaCy pipeline that is trained, and its network run directly on feature arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model, NumpyOps, Ops, Optimizer, fix_random_seed, get_current_ops, set_dropout_rate

from spacy_dtparse.errors import ConfigError
from training.data.tokens import add_tokens
from training.pos_tagger.config import NetworkConfig


def _pass_through(model: Model, features: Sequence[np.ndarray], is_train: bool):
    return features, lambda d_features: []


class TaggerNetwork:
    """tok2vec + tagger (+ senter) of one spaCy pipeline, trainable on feature arrays instead of Docs.

    Features are uint64 [words, 4] arrays per document (``Lexicon.table`` rows); they take the place of what
    spaCy's feature extractor reads off Docs. ``pipeline()`` gives the pipeline with its extractor in place.
    """

    def __init__(self, config: NetworkConfig, tags: Sequence[str], senter: bool, seed: int) -> None:
        if list(tags) != sorted(tags) or len(tags) < 2:
            raise ValueError(f"tags must be sorted and at least two, seen: {list(tags)[:5]}…")
        fix_random_seed(seed)
        self.tags = tuple(tags)
        self.has_senter = senter
        self._nlp = _blank_pipeline(config, self.tags, senter)
        fix_random_seed(seed)  # initialize() above seeds from its own config
        self._tok2vec = _model(self._nlp, "tok2vec")
        self._heads = [_model(self._nlp, "tagger").layers[1]]
        if senter:
            self._heads.append(_model(self._nlp, "senter").layers[1])
        self._extractor = next(node for node in self._tok2vec.walk() if node.name == "extract_features")
        self._extract = self._extractor._func
        self._extractor._func = _pass_through
        self._swap_ops(
            NumpyOps(use_blis=False)
        )  # numpy's OpenBLAS multiplies about 3.5 times faster than blis

    def update(
        self, features: list[np.ndarray], targets: Sequence[np.ndarray], dropout: float, optimizer: Optimizer
    ) -> float:
        """One update; ``targets`` are int [words of all documents] per head. Returns the summed loss."""
        set_dropout_rate(self._tok2vec, dropout)
        sizes = np.cumsum([len(rows) for rows in features])[:-1]
        vectors, backprop = self._tok2vec.begin_update(features)
        d_vectors: list[np.ndarray] | None = None
        loss = 0.0
        for head, target in zip(self._heads, targets, strict=True):
            scores, backprop_head = head.begin_update(vectors)
            d_scores = np.concatenate(scores)  # probabilities: spaCy's softmax normalizes while it trains
            rows = np.arange(len(target))
            loss -= float(np.log(np.maximum(d_scores[rows, target], 1e-12)).sum())
            d_scores[rows, target] -= 1.0
            d_scores /= len(features)  # as spaCy: the mean over documents
            parts = backprop_head(np.split(d_scores, sizes))
            d_vectors = parts if d_vectors is None else [a + b for a, b in zip(d_vectors, parts, strict=True)]
        backprop(d_vectors)
        self._tok2vec.finish_update(optimizer)
        for head in self._heads:
            head.finish_update(optimizer)
        return loss

    def start_from(self, nlp: Language) -> None:
        """Take over the parameters of a trained pipeline. Raises ConfigError where its tags or its shape are others."""
        names = ["tagger", *(["senter"] if self.has_senter else [])]
        missing = [name for name in ("tok2vec", *names) if not nlp.has_pipe(name)]
        if missing:
            raise ConfigError(f"the pipeline to start from has no {', '.join(missing)}; give one that `tag` has made")
        theirs = tuple(getattr(nlp.get_pipe("tagger"), "labels", ()))
        if theirs != self.tags:
            other = ", ".join(sorted(set(theirs) ^ set(self.tags)))
            raise ConfigError(f"the pipeline to start from has other tags ({other}); give the same treebanks")
        pairs = [(self._tok2vec, _model(nlp, "tok2vec"))]
        pairs += [(head, _model(nlp, name).layers[1]) for head, name in zip(self._heads, names, strict=True)]
        for mine, other_model in pairs:
            try:
                mine.from_bytes(other_model.to_bytes())
            except ValueError as error:
                raise ConfigError(
                    "the pipeline to start from has another shape; give the same network settings"
                ) from error
            for one, two in zip(mine.walk(), other_model.walk(), strict=True):
                for name in one.param_names:
                    if one.get_param(name).shape != two.get_param(name).shape:
                        raise ConfigError("the pipeline to start from has other sizes; give the same network settings")

    def use_averages(self, optimizer: Optimizer) -> None:
        """Set every parameter to its running average."""
        for model in (self._tok2vec, *self._heads):
            for node in model.walk():
                for name in node.param_names:
                    average = (optimizer.averages or {}).get((node.id, name))
                    if average is not None:
                        node.set_param(name, cast(Any, average.reshape(node.get_param(name).shape).copy()))

    def predict(self, features: Sequence[np.ndarray], batch_words: int = 4000) -> list[list[np.ndarray]]:
        """Best class per word: ``result[head][document]`` is int [words]; ties take the lower number."""
        result: list[list[np.ndarray]] = [[] for _ in self._heads]
        batch: list[np.ndarray] = []
        size = 0
        for number, rows in enumerate(features):
            batch.append(rows)
            size += len(rows)
            if size >= batch_words or number + 1 == len(features):
                vectors = self._tok2vec.predict(batch)
                for head, classes in zip(self._heads, result, strict=True):
                    classes.extend(scores.argmax(axis=1) for scores in head.predict(vectors))
                batch, size = [], 0
        return result

    def pipeline(self) -> Language:
        """The pipeline, ready for use on texts; this network must not be trained further."""
        self._extractor._func = self._extract
        self._swap_ops(get_current_ops())
        return self._nlp

    def _swap_ops(self, ops: Ops) -> None:
        for model in (self._tok2vec, *self._heads):
            for node in model.walk():
                node.ops = ops


def _model(nlp: Language, name: str) -> Model:
    return cast(Any, nlp.get_pipe(name)).model


def _blank_pipeline(config: NetworkConfig, tags: Sequence[str], senter: bool) -> Language:
    """A blank English pipeline of the wanted shape with untrained parameters."""
    nlp = spacy.blank("en")
    add_tokens(nlp)
    nlp.add_pipe(
        "tok2vec",
        config={
            "model": {
                "@architectures": "spacy.HashEmbedCNN.v2",
                "pretrained_vectors": None,
                "width": config.width,
                "depth": config.depth,
                "embed_size": config.embed_size,
                "window_size": config.window_size,
                "maxout_pieces": config.maxout_pieces,
                "subword_features": True,
            }
        },
    )
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": config.width, "upstream": "tok2vec"}
    model = {"@architectures": "spacy.Tagger.v2", "nO": None, "normalize": False, "tok2vec": listener}
    nlp.add_pipe("tagger", config={"model": model})
    if senter:
        nlp.add_pipe("senter", config={"model": model})
    starts: list[bool | int | None] = [True, *[False] * (len(tags) - 1)]
    doc = Doc(nlp.vocab, words=list(tags), tags=list(tags), sent_starts=starts)
    nlp.initialize(lambda: [Example(doc, doc)])
    labels = cast(Any, nlp.get_pipe("tagger")).labels
    if labels != tuple(tags):
        raise ValueError(f"spaCy ordered the tags unexpectedly: {labels}; expected them sorted: {tags}")
    return nlp
