"""A teacher's beliefs of a sentence's spans, mixed with those of a parser of another kind."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL

from .trees import Beliefs

LEAST = 0.005
"""Probability from which on a mixed belief counts."""


class Believer(Protocol):
    """A parser that says how probable constituents are: latent grammars and span parsers."""

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> dict[tuple[int, int, str], float]: ...


class Beside(NamedTuple):
    """Another parser, and what its opinion weighs; the teacher's weighs 1 - share."""

    parser: Believer
    share: float


def mixed(
    beliefs: Beliefs, chains: Sequence[tuple[str, ...]], posteriors: Mapping[tuple[int, int, str], float], share: float
) -> Beliefs:
    """The teacher's beliefs with the other parser's, weighted. Of a chain of labels the other believes as much as of
    its least probable label; of the chains that the teacher does not mention, in those of one label alone."""
    number_of = {chain: number for number, chain in enumerate(chains)}
    mass = {
        (start, end, label): (1 - share) * value
        for start, end, label, value in zip(*(part.tolist() for part in beliefs), strict=True)
    }
    for start, end, name in posteriors:
        label = number_of.get((name,))
        if label:
            mass.setdefault((start, end, label), 0.0)
    for start, end, label in mass:
        if label:
            other = min(posteriors.get((start, end, name), 0.0) for name in chains[label])
            mass[start, end, label] += share * other
    kept = {place: value for place, value in mass.items() if value >= LEAST}
    starts, ends, labels = np.array(list(kept), dtype=INDEX).reshape(-1, 3).T
    return starts, ends, labels, np.array(list(kept.values()), dtype=REAL)


__all__ = ["Believer", "Beside", "mixed"]
