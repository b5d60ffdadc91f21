"""Candidates for spaCy's `spancat`: `spacy_dtparse.constituents_suggester.v1`, the constituents that a parser found.

(No `from __future__ import annotations` here: spaCy reads the annotations of registered functions.)
"""
# ruff: noqa: UP045 (older releases of spaCy do not support X | None)

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional, cast

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Ops, get_current_ops
from thinc.types import Ints2d, Ragged

from ..checks import Setting, boolean, check, integer
from ..errors import ConfigError, NotParsedError, shorten
from ..trees.labels import base_label
from .constituents import DEFAULT_KEY, read_constituents
from .model_pipe import KEY
from .sentences import is_blank, token_texts

_LABELS = Setting(
    lambda value: (
        value is None
        or (isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, str) and one for one in value))
    ),
    "a list of labels, such as ['NP', 'PP'], or null for all",
)


@dataclass(frozen=True)
class ConstituentsSuggester:
    """Suggests the constituents in `doc.spans[spans_key]`, each range of tokens once, by start, then by end.

    `labels`: only constituents with these labels; "NP" also stands for NP-SBJ. `siblings`: also runs of two to so many
    neighbours directly below such a constituent, constituents or tokens: with 2 *old dog* of *the old dog*. `tokens`:
    also each token. `min_size`, `max_size`: tokens of a candidate; `max_size` is 0 for any number. White space neither
    begins nor ends a candidate. Raises ConfigError for values that are not allowed.
    """

    spans_key: str = DEFAULT_KEY
    labels: Optional[tuple[str, ...]] = None
    siblings: int = 1
    tokens: bool = True
    min_size: int = 1
    max_size: int = 0

    def __post_init__(self) -> None:
        check(self, _ALLOWED, "constituents_suggester")
        if 0 < self.max_size < self.min_size:
            raise ConfigError(
                f"constituents_suggester: max_size = {self.max_size} is below min_size = {self.min_size}, so nothing "
                "is left; give a larger one, or 0 for any number of tokens"
            )

    def __call__(self, docs: Iterable[Doc], *, ops: Optional[Ops] = None) -> Ragged:
        """int32 [n, 2], start and end of each candidate, and the number of candidates of each Doc.

        Raises NotParsedError for a Doc with tokens and without constituents, TreeError if its constituents cross.
        """
        ops = get_current_ops() if ops is None else ops
        found = [self.ranges(doc) for doc in docs]
        spans = cast(Ints2d, np.concatenate([np.zeros((0, 2), dtype=np.int32), *found]))
        return Ragged(ops.asarray2i(spans), ops.asarray1i([len(ranges) for ranges in found]))

    def ranges(self, doc: Doc) -> np.ndarray:
        """The candidates of one Doc, int32 [n, 2]."""
        if len(doc) == 0:
            return np.zeros((0, 2), dtype=np.int32)
        if self.spans_key not in doc.spans:
            raise NotParsedError(_not_parsed_message(doc, self.spans_key))
        found = read_constituents(doc, self.spans_key)
        starts, ends = np.array(found.starts, dtype=np.int64), np.array(found.ends, dtype=np.int64)
        wanted = np.ones(len(starts), dtype=bool)
        if self.labels is not None:
            named = {label: not {label, base_label(label)}.isdisjoint(self.labels) for label in set(found.labels)}
            wanted = np.array([named[label] for label in found.labels], dtype=bool)
        visible = np.array([not is_blank(text) for text in token_texts(doc)], dtype=bool)
        positions = np.flatnonzero(visible)
        ranges_found = [(starts[wanted], ends[wanted])]
        if self.tokens:
            ranges_found.append((positions, positions + 1))
        if self.siblings > 1:
            ranges_found += _sibling_runs(
                starts, ends, np.array(found.parents, dtype=np.int64), wanted, positions, self.siblings
            )
        begin, end = (np.concatenate(part) for part in zip(*ranges_found, strict=True))
        size = end - begin
        valid = (size >= self.min_size) & visible[begin] & visible[end - 1]
        if self.max_size:
            valid &= size <= self.max_size
        width = len(doc) + 1
        codes = np.unique(begin[valid] * width + end[valid])
        return np.stack([codes // width, codes % width], axis=1).astype(np.int32)


_ALLOWED = {
    "spans_key": KEY,
    "labels": _LABELS,
    "siblings": integer(1),
    "tokens": boolean(),
    "min_size": integer(1),
    "max_size": integer(0),
}


@registry.misc("spacy_dtparse.constituents_suggester.v1")
def build_constituents_suggester(
    spans_key: str = DEFAULT_KEY,
    labels: Optional[list[str]] = None,
    siblings: int = 1,
    tokens: bool = True,
    min_size: int = 1,
    max_size: int = 0,
) -> ConstituentsSuggester:
    """The setting `suggester` of a `spancat`; see `ConstituentsSuggester`."""
    chosen = tuple(labels) if isinstance(labels, list) else labels
    return ConstituentsSuggester(spans_key, chosen, siblings, tokens, min_size, max_size)


def _sibling_runs(
    starts: np.ndarray,
    ends: np.ndarray,
    parents: np.ndarray,
    wanted: np.ndarray,
    positions: np.ndarray,
    max_length: int,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The ranges of two to `max_length` neighbours below a wanted constituent. `positions`: positions of the words."""
    innermost = np.full(int(max(ends.max(initial=0), positions.max(initial=0) + 1)), -1, dtype=np.int64)
    for index, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        innermost[start:end] = index
    above = np.concatenate([parents, innermost[positions]])
    begin, end = np.concatenate([starts, positions]), np.concatenate([ends, positions + 1])
    below = np.flatnonzero(above >= 0)
    below = below[wanted[above[below]]]
    below = below[np.lexsort((begin[below], above[below]))]
    above, begin, end = above[below], begin[below], end[below]
    return [
        (begin[: 1 - count][same], end[count - 1 :][same])
        for count in range(2, max_length + 1)
        if (same := above[: 1 - count] == above[count - 1 :]).any()
    ]


def _not_parsed_message(doc: Doc, key: str) -> str:
    return (
        f"constituents_suggester: the Doc {shorten(doc.text, 40)!r} has no constituents in doc.spans[{key!r}]. Put a "
        "parser such as 'dtparse', after a tagger, before the spancat. For training also name both in [training] "
        "annotating_components, or the Docs that the spancat learns from are not parsed"
    )
