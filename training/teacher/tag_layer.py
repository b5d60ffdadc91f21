"""Tags from a pretrained encoder: a hidden layer over its word vectors, trained on gold tags. Its tags are better than
those of a recurrent tagger, which can learn from them. No torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.errors import ModelFormatError, TrainingDataError
from spacy_dtparse.models import open_parser
from spacy_dtparse.span_parser.pretrained_parser import PretrainedEncoder, PretrainedSpanParser
from spacy_dtparse.stored_names import stored_as, stored_fields, to_stored

from ..data.tagged_treebanks import CorpusSentence, Treebank, tag_set
from ..nn.kernels import AdamFactors, adam
from ..nn.layers import Arrays, apply_dropout, label_losses, random_matrix
from ..runs.resuming import open_arrays, save_arrays

_SENTENCES = 400
"""Sentences that are encoded at a time."""


@stored_as("tags", "mean", "scale", "hidden", "hidden_bias", "output", "output_bias")
class TagLayer(NamedTuple):
    """`tags`, T of them; float32 `mean`, `scale` (d,): the inputs are shifted and divided by them; `hidden` (d, h),
    `hidden_bias` (h,), `output` (h, T), `output_bias` (T,)."""

    tags: tuple[str, ...]
    mean: np.ndarray
    scale: np.ndarray
    hidden: np.ndarray
    hidden_bias: np.ndarray
    output: np.ndarray
    output_bias: np.ndarray

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """Return the most probable tag of each row, (n,)."""
        x = (inputs.astype(REAL) - self.mean) / self.scale
        return (np.maximum(x @ self.hidden + self.hidden_bias, 0) @ self.output + self.output_bias).argmax(axis=1)


def open_pretrained(model: Path | str) -> PretrainedSpanParser:
    """Return the span parser over a pretrained encoder of a model, by file or name, which may be boosted trees over it.
    Raises ModelFormatError for a model of another kind."""
    found = open_parser(model)
    parser = found.span_parser if isinstance(found, DtreeParser) else found
    if not isinstance(parser, PretrainedSpanParser):
        raise ModelFormatError(
            f"{model} is a model of kind {found.name!r} without a pretrained encoder; give one with it, such as "
            "en_dtparse_lg"
        )
    return parser


def open_encoder(model: Path | str) -> PretrainedEncoder:
    """Return the encoder of a model; see `open_pretrained`."""
    encoder = open_pretrained(model).encoder
    assert isinstance(encoder, PretrainedEncoder)
    return encoder


def encode_words(encoder: PretrainedEncoder, texts: Sequence[Sequence[str]]) -> np.ndarray:
    """Return the inputs of the layer for the words of texts, float16 (n, 2 d): a word's vector in its text, and the
    mean of the embeddings of its pieces and their shapes."""
    (network,) = encoder.networks
    vectors = encoder.word_vectors(texts)
    inside = np.ones(len(vectors), dtype=bool)
    ends = np.cumsum([len(words) + 2 for words in texts])
    inside[ends - 1] = inside[np.concatenate([[0], ends[:-1]])] = False
    rows, _ = encoder.words.encode_all([[word] for words in texts for word in words], len(network.positions))
    pieces, shapes = rows.pieces.T
    embedded = network.table[pieces] * network.factor[pieces, None] + network.shapes[shapes]
    means = np.add.reduceat(embedded, rows.piece_offsets[:-1]) / np.diff(rows.piece_offsets)[:, None]
    return np.hstack([vectors[inside], means[1::3]]).astype(np.float16)  # between the begin and the end of each text


def _encode_all(encoder: PretrainedEncoder, sentences: Sequence[CorpusSentence]) -> Iterator[np.ndarray]:
    for first in range(0, len(sentences), _SENTENCES):
        yield encode_words(encoder, [one.words for one in sentences[first : first + _SENTENCES]])


def fit_tag_layer(
    encoder: PretrainedEncoder,
    treebanks: Sequence[Treebank],
    log: Callable[[str], None],
    every: int = 1,
    epochs: int = 4,
    units: int = 384,
    seed: int = 0,
) -> TagLayer:
    """Train a layer of `units` on every `every`-th training sentence, `epochs` passes; a treebank's weight multiplies
    its losses. `log`: called after each pass with the accuracy on the development parts. Raises TrainingDataError if
    there are no sentences."""
    tags = tag_set(treebanks)
    ids = {tag: i for i, tag in enumerate(tags)}
    chosen = {one.name: [s for s in one.train[::every] if s.words] for one in treebanks}
    if not any(chosen.values()):
        raise TrainingDataError("there are no training sentences; give treebanks with a train part")
    inputs = np.concatenate([part for found in chosen.values() for part in _encode_all(encoder, found)])
    labels = np.array([ids[tag] for found in chosen.values() for s in found for tag in s.tags], dtype=INDEX)
    weights = np.concatenate(
        [np.full(sum(len(s.words) for s in chosen[one.name]), one.weight, dtype=REAL) for one in treebanks]
    )
    dev = {one.name: (list(_encode_all(encoder, one.dev)), one.dev) for one in treebanks if one.dev}
    sample = inputs[:: max(1, len(inputs) // 20_000)].astype(REAL)
    mean, scale = sample.mean(axis=0), sample.std(axis=0) + REAL(1e-3)
    rng = np.random.default_rng(seed)
    values: Arrays = {
        "hidden": random_matrix(inputs.shape[1], units, rng),
        "hidden_bias": np.zeros(units, dtype=REAL),
        "output": random_matrix(units, len(tags), rng),
        "output_bias": np.zeros(len(tags), dtype=REAL),
    }
    trainer = _Trainer(values, epochs * len(inputs))
    layer = TagLayer(tuple(tags), mean, scale, **values)
    for epoch in range(epochs):
        trainer.run_pass((inputs, labels, weights / weights.mean()), (mean, scale), rng)
        scores = [f"{name} {100 * _accuracy(layer, *found):.2f}" for name, found in dev.items()]
        log(f"pass {epoch + 1} of {epochs}, tags on dev: {', '.join(scores)}")
    return layer


class _Trainer:
    """Adam on the values of a layer, in place; the learning rate falls linearly over `total` words."""

    def __init__(self, values: Arrays, total: int, batch: int = 1024, learning_rate: float = 1e-3):
        self.values, self.total, self.batch, self.learning_rate = values, total, batch, learning_rate
        self.means, self.squares = ({name: np.zeros_like(a) for name, a in values.items()} for _ in range(2))
        self.steps = 0

    def run_pass(
        self,
        data: tuple[np.ndarray, np.ndarray, np.ndarray],
        normal: tuple[np.ndarray, np.ndarray],
        rng: np.random.Generator,
    ) -> None:
        inputs, labels, weights = data
        order = rng.permutation(len(inputs))
        for first in range(0, len(order), self.batch):
            rows = order[first : first + self.batch]
            x = (inputs[rows].astype(REAL) - normal[0]) / normal[1]
            self._step(x, labels[rows], weights[rows], rng)

    def _step(self, x: np.ndarray, labels: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> None:
        values = self.values
        x, _ = apply_dropout(x, 0.1, rng)
        hidden = np.maximum(x @ values["hidden"] + values["hidden_bias"], 0)
        kept, mask = apply_dropout(hidden, 0.2, rng)
        _, gradient = label_losses(kept @ values["output"] + values["output_bias"], labels)
        gradient *= (weights / REAL(len(labels)))[:, None]
        d_hidden = (gradient @ values["output"].T) * mask * (hidden > 0)
        gradients = {
            "hidden": x.T @ d_hidden,
            "hidden_bias": d_hidden.sum(axis=0),
            "output": kept.T @ gradient,
            "output_bias": gradient.sum(axis=0),
        }
        done = self.steps * self.batch / self.total
        rate = self.learning_rate * min(1.0, (self.steps + 1) / 200) * max(0.02, 1 - done)
        self.steps += 1
        corrections = (1 / (1 - beta**self.steps) for beta in (0.9, 0.999))
        factors = AdamFactors(*(REAL(one) for one in (rate, 0.9, 0.999, *corrections)))
        for name, value in values.items():
            parts = value, np.ascontiguousarray(gradients[name], dtype=REAL), self.means[name], self.squares[name]
            adam(*(array.reshape(-1) for array in parts), factors)


def _accuracy(layer: TagLayer, inputs: Sequence[np.ndarray], sentences: Sequence[CorpusSentence]) -> float:
    predicted = np.concatenate([layer.predict(part) for part in inputs])
    gold = [tag for sentence in sentences for tag in sentence.tags]
    return float(np.mean([layer.tags[i] == tag for i, tag in zip(predicted, gold, strict=True)]))


def save_tag_layer(path: Path, layer: TagLayer) -> None:
    """Write an .npz file of the arrays, and of the tags, one per line."""
    text = np.frombuffer("\n".join(layer.tags).encode(), dtype=np.uint8)
    save_arrays(path, {**to_stored(layer), "tags": text})


def read_tag_layer(path: Path) -> TagLayer:
    """Read a file of `save_tag_layer`. Raises TrainingDataError if it is not one."""
    with open_arrays(path) as arrays:
        names = list(stored_fields(TagLayer))
        if missing := set(names) - set(arrays):
            raise TrainingDataError(
                f"{path} lacks {', '.join(sorted(missing))}; give a file that `teacher fit-tags` wrote"
            )
        tags = tuple(arrays["tags"].tobytes().decode().split("\n"))
        return TagLayer(tags, *(arrays[name] for name in names[1:]))


class EncoderTagger:
    """Tags words with an encoder and a tag layer. Raises TrainingDataError if their sizes differ."""

    def __init__(self, model: Path | str, layer: Path):
        self.encoder, self.layer = open_encoder(model), read_tag_layer(layer)
        d = self.encoder.networks[0].table.shape[1]
        if len(self.layer.mean) != 2 * d:
            raise TrainingDataError(
                f"{layer} is for an encoder {len(self.layer.mean) // 2} wide, {model} is {d} wide; give the encoder "
                "that the layer was trained with"
            )

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        """Return the tags of sentences (lists of words)."""
        found: list[tuple[str, ...]] = []
        for first in range(0, len(sentences), _SENTENCES):
            part = sentences[first : first + _SENTENCES]
            if any(part):
                tags = iter(self.layer.predict(encode_words(self.encoder, part)))
            found += [tuple(self.layer.tags[next(tags)] for _ in words) for words in part]
        return found
