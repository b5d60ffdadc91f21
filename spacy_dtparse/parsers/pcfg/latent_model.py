"""A model's grammars with latent annotations, with the decoder that the settings name."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from ...errors import ConfigError
from ...kernels.pcfg.latent import LatentRules
from ...model.pcfg.model import TAG, PcfgModel
from ..settings import PcfgSettings
from .chart import Buffers
from .decoders import Observed, distinct, rerank, viterbi
from .kbest import chart_trees, forest_trees
from .latent import (
    Decoded,
    Leaves,
    PackedWord,
    all_posteriors,
    best,
    forest,
    join,
    narrowed,
    pack,
    posteriors,
    symbol_mass,
)

PRUNER_SHARE, NARROW_SHARE = 10.0, 0.1
"""A pruner's threshold, and that of one grammar of a product for the next, as multiples of the setting `prune`."""


def check_decoder(model: PcfgModel, decoder: str) -> None:
    """Raises ConfigError when a decoder cannot work with a model."""
    if not model.latent and decoder not in ("max-rule", "viterbi"):
        raise ConfigError(
            f"decoder {decoder!r} needs a grammar with latent annotations, and this model has none; leave the setting "
            "at 'max-rule', or train a model with `python -m training pcfgla`"
        )
    if decoder == "viterbi" and len(model.latent) > 1:
        raise ConfigError(
            f"decoder 'viterbi' takes one grammar with latent annotations, and this model is a product of "
            f"{len(model.latent)}, whose annotations have nothing in common; use 'max-rule', 'q' or 'rerank'"
        )
    if decoder == "rerank" and model.candidates is None:
        raise ConfigError(
            "decoder 'rerank' needs a grammar of candidates, and this model has none; train it with "
            "`python -m training pcfgla --candidates`, or use another decoder"
        )


class LatentDecoder:
    """Decodes with the latent grammars of a model; `check_decoder` has let the settings' decoder pass."""

    def __init__(self, model: PcfgModel, settings: PcfgSettings):
        self.model, self.settings = model, settings
        self._packed: dict[tuple[int, int, int], PackedWord] = {}
        self._root = model.root(model.coarse)

    def trees(
        self, classes: np.ndarray, given: np.ndarray | None, allowed: np.ndarray, narrow: bool, k: int, buffers: Buffers
    ) -> Iterator[Decoded]:
        """Trees from the best one down, none if there is none; with k = 1 only the best, with more at least k (several
        may be alike) where there are so many.

        `classes` int32 (n,); `given`: see `PcfgGrammar.leaves`. `allowed` uint8 (cells, coarse symbols). `narrow`:
        whether what a pruner, or one grammar of a product, finds unlikely is left out of what comes after.
        """
        decoder, root = self.settings.decoder, self._root
        if decoder == "rerank":
            yield from self._reranked(classes, given, allowed, k, buffers)
            return
        parts, left = self._parts(classes, given, allowed, narrow)
        if left is None:
            return
        if decoder == "viterbi":
            found = viterbi(*parts[0], left, root)
            if found is not None:
                yield found
            return
        made = forest(parts, left, root, NARROW_SHARE * self.settings.prune * narrow, decoder)
        if made is not None:
            yield best(made)
            yield from forest_trees(made) if k > 1 else ()

    def mass(
        self, classes: np.ndarray, given: np.ndarray | None, allowed: np.ndarray, narrow: bool
    ) -> list[np.ndarray] | None:
        """For each grammar how often a tree is expected to have each symbol over each cell, float64 (cells, S); None
        where one of them has no tree. Arguments as for `trees`."""
        parts, left = self._parts(classes, given, allowed, narrow)
        found = None if left is None else all_posteriors(parts, left, self._root)
        if found is None:
            return None
        return [symbol_mass(rules, made, len(allowed)) for (rules, _), made in zip(parts, found, strict=True)]

    def _parts(
        self, classes: np.ndarray, given: np.ndarray | None, allowed: np.ndarray, narrow: bool
    ) -> tuple[list[tuple[LatentRules, Leaves]], np.ndarray | None]:
        """(The grammars, each with its words' vectors; what the pruners leave of `allowed`, None: one has no tree)."""
        pruners = self.model.pruners
        for number, part in enumerate(pruners if narrow else ()):
            made = posteriors(part.kernel, self._words(number, classes, given), allowed, self._root)
            if made is None:
                return [], None
            allowed = narrowed(part.kernel, made[0], allowed, PRUNER_SHARE * self.settings.prune)
        latent = enumerate(self.model.latent, len(pruners))
        return [(part.kernel, self._words(number, classes, given)) for number, part in latent], allowed

    def _words(self, number: int, classes: np.ndarray, given: np.ndarray | None) -> Leaves:
        """The vectors of words under a grammar (pruners first)."""
        coarse, words = self.model.coarse, []
        part = (*self.model.pruners, *self.model.latent)[number]
        tags = [-1] * len(classes) if given is None else given.tolist()
        for word, tag in zip(classes.tolist(), tags, strict=True):
            packed = self._packed.get((number, word, tag))
            if packed is None:
                wanted = np.flatnonzero((coarse.kind == TAG) & (coarse.base == tag))
                packed = pack(part.vectors(word, wanted if tag >= 0 and len(wanted) else None))
                self._packed[number, word, tag] = packed
            words.append(packed)
        return join(words)

    @cached_property
    def _observed(self) -> list[Observed]:
        assert self.model.candidates is not None  # see check_decoder
        return [Observed(part.kernel, self.model.candidates) for part in self.model.latent]

    @cached_property
    def _groups(self) -> np.ndarray:
        return self.model.groups(self.model.candidates)

    def _reranked(
        self, classes: np.ndarray, given: np.ndarray | None, allowed: np.ndarray, k: int, buffers: Buffers
    ) -> Iterator[Decoded]:
        grammar = self.model.candidates
        assert grammar is not None
        leaves, leaf_from = grammar.leaves(classes, given)
        chart = buffers.fill(grammar.kernel, leaves, leaf_from, allowed, self._groups)
        derivations = chart_trees(chart, leaves, leaf_from, self.model.root(grammar))
        found = distinct(derivations, grammar, max(self.settings.candidates_n, k))
        first = len(self.model.pruners)
        vectors = [self._words(first + number, classes, given) for number in range(len(self.model.latent))]
        return rerank(found, grammar, self._observed, vectors)
