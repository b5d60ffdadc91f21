"""Decoding with the latent grammars of a model and the decoder of the settings."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from ..core.settings import PcfgSettings
from ..errors import ConfigError
from .chart import Buffers
from .decoders import TreeScorer, distinct, rerank, viterbi
from .kbest import chart_trees, forest_trees
from .kernels.latent import LatentRules
from .latent import (
    Decoded,
    Leaves,
    PackedWord,
    all_posteriors,
    best,
    expected_counts,
    forest,
    join,
    narrow_allowed,
    pack,
    posteriors,
)
from .model.model import TAG, PcfgModel

PRUNER_FACTOR, NARROW_FACTOR = 10.0, 0.1
"""Thresholds as multiples of the setting `prune`: of a pruner, and of one grammar of a product for the next."""


def check_decoder(model: PcfgModel, decoder: str) -> None:
    """Raise ConfigError if the model does not support the decoder."""
    if not model.latent and decoder not in ("max-rule", "viterbi"):
        raise ConfigError(
            f"decoder {decoder!r} needs a grammar with latent annotations, and this model has none; leave the setting "
            "at 'max-rule', or train a model with `python -m training train-pcfgla`"
        )
    if decoder == "viterbi" and len(model.latent) > 1:
        raise ConfigError(
            f"decoder 'viterbi' takes one grammar with latent annotations, and this model is a product of "
            f"{len(model.latent)}, whose annotations have nothing in common; use 'max-rule', 'q' or 'rerank'"
        )
    if decoder == "rerank" and model.candidates is None:
        raise ConfigError(
            "decoder 'rerank' needs a candidate grammar, and this model has none; train it with "
            "`python -m training train-pcfgla --candidates`, or use another decoder"
        )


class LatentDecoder:
    """Decodes with the latent grammars of a model; `check_decoder` must have accepted the settings' decoder."""

    def __init__(self, model: PcfgModel, settings: PcfgSettings):
        self.model, self.settings = model, settings
        self._packed: dict[tuple[int, int, int], PackedWord] = {}
        self._root = model.root(model.coarse)

    def trees(
        self, classes: np.ndarray, given: np.ndarray | None, allowed: np.ndarray, narrow: bool, k: int, buffers: Buffers
    ) -> Iterator[Decoded]:
        """Yield trees, best first, none if there is no tree; with k = 1 only the best, otherwise at least k if there
        are that many (some may be equal).

        `classes` int32 (n,); `given`: see `PcfgGrammar.leaves`. `allowed` uint8 (cells, coarse symbols). `narrow`:
        whether symbols that are improbable under a pruner, or under one grammar of a product, are skipped in later
        grammars.
        """
        decoder, root = self.settings.decoder, self._root
        if decoder == "rerank":
            yield from self._rerank_candidates(classes, given, allowed, k, buffers)
            return
        parts, allowed_left = self._parts(classes, given, allowed, narrow)
        if allowed_left is None:
            return
        if decoder == "viterbi":
            found = viterbi(*parts[0], allowed_left, root)
            if found is not None:
                yield found
            return
        result = forest(parts, allowed_left, root, NARROW_FACTOR * self.settings.prune * narrow, decoder)
        if result is not None:
            yield best(result)
            yield from forest_trees(result) if k > 1 else ()

    def expected_counts(
        self, classes: np.ndarray, given: np.ndarray | None, allowed: np.ndarray, narrow: bool
    ) -> list[np.ndarray] | None:
        """Return, for each grammar, the expected number of occurrences of each symbol over each cell, float64 (cells,
        S); None if one of them has no tree. Arguments as for `trees`."""
        parts, allowed_left = self._parts(classes, given, allowed, narrow)
        found = None if allowed_left is None else all_posteriors(parts, allowed_left, self._root)
        if found is None:
            return None
        return [expected_counts(rules, result, len(allowed)) for (rules, _), result in zip(parts, found, strict=True)]

    def _parts(
        self, classes: np.ndarray, given: np.ndarray | None, allowed: np.ndarray, narrow: bool
    ) -> tuple[list[tuple[LatentRules, Leaves]], np.ndarray | None]:
        """Return (the grammars with the word vectors; `allowed` after pruning, None if a pruner has no tree)."""
        pruners = self.model.pruners
        for index, part in enumerate(pruners if narrow else ()):
            result = posteriors(part.kernel, self._words(index, classes, given), allowed, self._root)
            if result is None:
                return [], None
            allowed = narrow_allowed(part.kernel, result[0], allowed, PRUNER_FACTOR * self.settings.prune)
        latent = enumerate(self.model.latent, len(pruners))
        return [(part.kernel, self._words(index, classes, given)) for index, part in latent], allowed

    def _words(self, index: int, classes: np.ndarray, given: np.ndarray | None) -> Leaves:
        """Return the vectors of words under a grammar, given by index (pruners first)."""
        coarse, words = self.model.coarse, []
        part = (*self.model.pruners, *self.model.latent)[index]
        tags = [-1] * len(classes) if given is None else given.tolist()
        for word, tag in zip(classes.tolist(), tags, strict=True):
            packed = self._packed.get((index, word, tag))
            if packed is None:
                wanted = np.flatnonzero((coarse.kind == TAG) & (coarse.base == tag))
                packed = pack(part.vectors(word, wanted if tag >= 0 and len(wanted) else None))
                self._packed[index, word, tag] = packed
            words.append(packed)
        return join(words)

    @cached_property
    def _tree_scorers(self) -> list[TreeScorer]:
        assert self.model.candidates is not None  # see check_decoder
        return [TreeScorer(part.kernel, self.model.candidates) for part in self.model.latent]

    @cached_property
    def _groups(self) -> np.ndarray:
        return self.model.groups(self.model.candidates)

    def _rerank_candidates(
        self, classes: np.ndarray, given: np.ndarray | None, allowed: np.ndarray, k: int, buffers: Buffers
    ) -> Iterator[Decoded]:
        grammar = self.model.candidates
        assert grammar is not None
        leaves, leaf_from = grammar.leaves(classes, given)
        chart = buffers.fill(grammar.kernel, leaves, leaf_from, allowed, self._groups)
        derivations = chart_trees(chart, leaves, leaf_from, self.model.root(grammar))
        found = distinct(derivations, grammar, max(self.settings.candidates_n, k))
        first = len(self.model.pruners)
        vectors = [self._words(first + index, classes, given) for index in range(len(self.model.latent))]
        return rerank(found, grammar, self._tree_scorers, vectors)
