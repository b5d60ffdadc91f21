"""The recurrent tagger in training: loss and gradients of a batch of documents.

The loss of a token is -ln of the probability of its tag, plus -ln of the probability of whether a sentence begins
there. White space has no loss, and the first token of a document has no loss of sentence starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spacy_dtparse.dtypes import REAL
from spacy_dtparse.features.recurrent.tokenparts import UNKNOWN_WORD, WORD

from ..recurrent.layers import Arrays, Learner, drop, first_layers, random_matrix
from .config import FitConfig, NetworkConfig


@dataclass(frozen=True)
class TaggedText:
    """A training document. `numbers` int32 (n + 2, k): rows of the table; `rare` float32 (n + 2,): probability of word
    dropout; `tags` int32 (n + 2,): tag ids, -1: no loss; `starts` float32 (n + 2,): 1 where a sentence begins, -1 where
    none does, 0: no loss."""

    numbers: np.ndarray
    rare: np.ndarray
    tags: np.ndarray
    starts: np.ndarray


def first_values(size: int, n_tags: int, config: NetworkConfig, rng: np.random.Generator) -> Arrays:
    """Draw random initial parameters for a table of `size` rows and `n_tags` tags."""
    return first_layers(size, config.width, config.units, config.layers, rng) | {
        "outputs": random_matrix(2 * config.units, n_tags + 1, rng, 0.5),
        "output_bias": np.zeros(n_tags + 1, dtype=REAL),
    }


class TaggerLearner(Learner):
    """Parameters and optimiser of a recurrent tagger."""

    def __init__(self, values: Arrays, config: FitConfig):
        super().__init__(values, config.dropout_table, config.dropout_layers, config.average)
        self.starts_count = config.starts

    def step(self, batch: Sequence[TaggedText], rng: np.random.Generator, rate: float) -> tuple[float, float]:
        """Update the parameters on a batch. Returns the losses of tags and of sentence starts per token, nats."""
        losses, rows = self.slopes_of(batch, rng)
        self._update(rows, rate)
        return losses

    def slopes_of(
        self, batch: Sequence[TaggedText], rng: np.random.Generator | None
    ) -> tuple[tuple[float, float], np.ndarray]:
        """Add the gradients of a batch's loss per token to `slopes`. Without `rng` there is no dropout.

        Returns ((loss of tags, of starts), rows of the table that occur in the batch).
        """
        values, slopes = self.values, self.slopes
        bounds = np.cumsum([0, *(len(text.numbers) for text in batch)])
        numbers = np.concatenate([text.numbers for text in batch])
        tags, starts = (np.concatenate([getattr(text, name) for text in batch]) for name in ("tags", "starts"))
        if rng is not None:
            hidden = rng.random(len(numbers), dtype=REAL) < np.concatenate([text.rare for text in batch])
            numbers[hidden, WORD] = UNKNOWN_WORD
        lengths = np.diff(bounds)
        read, kept = self._read(numbers, bounds, lengths, rng)
        masked, mask = drop(read, self.layer_share, rng, lengths)
        scores = masked @ values["outputs"] + values["output_bias"]
        learned = np.flatnonzero(tags >= 0)
        share = REAL(1 / max(1, len(learned)))
        slope = np.zeros_like(scores)
        logits = scores[learned, :-1]
        logits -= logits.max(axis=1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        here = np.arange(len(learned)), tags[learned]
        tag_loss = -float(logs[here].sum())
        chances = np.exp(logs)
        chances[here] -= 1
        slope[learned, :-1] = chances * share
        wrong = 1 / (1 + np.exp(np.clip(starts * scores[:, -1], -30, 30)))
        start_loss = -float(np.log1p(-np.minimum(wrong, 1 - 1e-7))[starts != 0].sum())
        slope[:, -1] = -starts * wrong * share * REAL(self.starts_count)
        slopes["outputs"] += masked.T @ slope
        slopes["output_bias"] += slope.sum(axis=0)
        d_read = (slope @ values["outputs"].T) * mask
        self._read_back(d_read.astype(REAL), kept, numbers, bounds)
        return (tag_loss * float(share), start_loss * float(share)), np.unique(numbers)
