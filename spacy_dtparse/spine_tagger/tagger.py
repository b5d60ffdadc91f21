"""The sequence tagger: maps words and tags to labels."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..core.self_test import GoldenParse
from ..core.settings import TaggerSettings
from ..core.stored import StoredParser, check_sentence
from ..dtypes import INDEX, OFFSET, SCORE
from ..errors import ConfigError
from .kernels import EDGE, ENTRY, select_labels, tag_sentence
from .model import KIND, TaggerModel, read_model, write_model

ScoredLabels = list[tuple[str, float]]
"""Labels of a token with their probabilities, best first."""


class SequenceTagger(StoredParser):
    """Labels words with a TaggerModel. Immutable and safe to share between threads; the same sentence gets the same
    labels in any batch, thread or process.

    Raises DtparseError on an empty sentence, or if a model that uses tags is not given one tag per word.
    """

    model: TaggerModel
    name = KIND
    SELF_TEST_SETTINGS = TaggerSettings(beam=4, share=0.1)
    FORMAT = read_model, write_model

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels that a word can get."""
        return self.model.parts.labels.strings

    @property
    def needs_tags(self) -> bool:
        """Whether the model uses tags."""
        return len(self.model.parts.tags) > 0

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model and the current settings, as plain data."""
        parts, weights = self.model.parts, self.model.weights
        return {
            "labels": len(parts.labels),
            "features": len(weights.keys),
            "weights": len(weights.weights),
            "words": len(parts.words),
            "words in the tag dictionary": len(parts.known),
            "tags": len(parts.tags),
            "scale": self.model.scale,
            "beam": self.settings.beam,
            "share": self.settings.share,
        }

    @property
    def vocabulary(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.model.parts.words.strings, self.model.parts.tags.strings

    def golden_outputs(self, words: list[str], tags: list[str]) -> GoldenParse:
        _, marginals, ends, _ = self._run(words, tags)
        return {"probabilities": np.maximum.reduceat(marginals, np.append(0, ends[:-1])).tolist()}

    def tag(self, words: Sequence[str], tags: Sequence[str] = ()) -> list[str]:
        """Return the labels of the most probable sequence."""
        _, _, _, path = self._run(words, tags)
        names = self.labels
        return [names[label] for label in path.tolist()]

    def multitag(self, words: Sequence[str], tags: Sequence[str] = (), beta: float = 0.01) -> list[ScoredLabels]:
        """Return for each word the labels whose probability is at least `beta` times that of its best one, best first,
        ties in the order of `labels`. Raises ConfigError unless 0 <= beta <= 1."""
        if not 0.0 <= beta <= 1.0:
            raise ConfigError(f"beta is {beta!r}; it must be a number from 0 to 1")
        atoms, marginals, ends, _ = self._run(words, tags)
        parts, names = self.model.parts, self.labels
        labels, probs = np.empty(len(marginals), INDEX), np.empty(len(marginals), SCORE)
        count = select_labels(atoms, parts.allowed_from, parts.allowed, marginals, float(beta), labels, probs, ends)
        pairs = [(names[k], p) for k, p in zip(labels[:count].tolist(), probs[:count].tolist(), strict=True)]
        return [pairs[start:end] for start, end in pairwise([0, *ends.tolist()])]

    def _run(self, words: Sequence[str], tags: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Return (atoms, marginals, their ends, best path) of a sentence; see `spine_tagger.kernels.tag_sentence`."""
        check_sentence(words, tags if self.needs_tags else words)
        parts = self.model.parts
        atoms = parts.encode(words, tags if self.needs_tags else ())
        entries = atoms[EDGE:-EDGE, ENTRY]
        capacity = int((parts.allowed_from[entries + 1] - parts.allowed_from[entries]).sum())
        marginals, ends, path = np.empty(capacity, SCORE), np.empty(len(words), OFFSET), np.empty(len(words), INDEX)
        beam, share = self.settings.beam, float(self.settings.share)
        tag_sentence(atoms, self.model.tables, len(parts.labels), beam, share, marginals, ends, path)
        return atoms, marginals, ends, path
