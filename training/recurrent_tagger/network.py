"""The recurrent tagger in training: loss and gradients of a batch of documents.

The loss of a token is -ln of the probability of its tag, plus -ln of the probability of whether a sentence begins
there. White space has no loss, and the first token of a document has no loss of sentence starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.nn.vocabularies import UNKNOWN_WORD
from spacy_dtparse.recurrent_tagger.features import WORD

from ..nn.layers import Arrays, NetworkTrainer, apply_dropout, init_layers, label_losses, random_matrix
from .config import FitConfig, NetworkConfig


@dataclass(frozen=True)
class TaggedText:
    """A training document. `ids` int32 (n + 2, k): rows of the table; `rare` float32 (n + 2,): probability of word
    dropout; `tags` int32 (n + 2,): tag ids, -1: no loss; `starts` float32 (n + 2,): 1 where a sentence begins, -1 where
    none does, 0: no loss."""

    ids: np.ndarray
    rare: np.ndarray
    tags: np.ndarray
    starts: np.ndarray


def init_tagger_values(size: int, n_tags: int, config: NetworkConfig, rng: np.random.Generator) -> Arrays:
    """Draw random initial parameters for a table of `size` rows and `n_tags` tags."""
    return init_layers(size, config.width, config.units, config.layers, rng) | {
        "outputs": random_matrix(2 * config.units, n_tags + 1, rng, 0.5),
        "output_bias": np.zeros(n_tags + 1, dtype=REAL),
    }


class TaggerTrainer(NetworkTrainer[TaggedText]):
    """Parameters and optimiser of a recurrent tagger."""

    def __init__(self, values: Arrays, config: FitConfig):
        super().__init__(values, config.dropout_table, config.dropout_layers, config.ema_decay)
        self.start_weight = config.start_weight

    def add_gradients(
        self, batch: Sequence[TaggedText], rng: np.random.Generator | None
    ) -> tuple[tuple[float, float], np.ndarray]:
        """See `NetworkTrainer.add_gradients`; the losses are those of tags and of sentence starts."""
        values, gradients = self.values, self.gradients
        bounds = np.cumsum([0, *(len(text.ids) for text in batch)])
        ids = np.concatenate([text.ids for text in batch])
        tags, starts = (np.concatenate([getattr(text, name) for text in batch]) for name in ("tags", "starts"))
        if rng is not None:
            dropped = rng.random(len(ids), dtype=REAL) < np.concatenate([text.rare for text in batch])
            ids[dropped, WORD] = UNKNOWN_WORD
        lengths = np.diff(bounds)
        states, activations = self._forward(ids, bounds, lengths, rng)
        masked, mask = apply_dropout(states, self.layer_dropout, rng, lengths)
        scores = masked @ values["outputs"] + values["output_bias"]
        tagged = np.flatnonzero(tags >= 0)
        per_token = REAL(1 / max(1, len(tagged)))
        gradient = np.zeros_like(scores)
        tag_losses, d_logits = label_losses(scores[tagged, :-1], tags[tagged])
        tag_loss = float(tag_losses.sum())
        gradient[tagged, :-1] = d_logits * per_token
        wrong = 1 / (1 + np.exp(np.clip(starts * scores[:, -1], -30, 30)))
        start_loss = -float(np.log1p(-np.minimum(wrong, 1 - 1e-7))[starts != 0].sum())
        gradient[:, -1] = -starts * wrong * per_token * REAL(self.start_weight)
        gradients["outputs"] += masked.T @ gradient
        gradients["output_bias"] += gradient.sum(axis=0)
        d_states = (gradient @ values["outputs"].T) * mask
        self._backward(d_states.astype(REAL), activations, ids, bounds)
        return (tag_loss * float(per_token), start_loss * float(per_token)), np.unique(ids)
