"""The recurrent tagger: maps the tokens of a text to their tags and sentence starts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.ambiguous_tags import MIN_RATIO
from ..core.self_test import GoldenParse, Strings
from ..core.settings import RecurrentTaggerSettings
from ..core.stored import Data, StoredParser
from ..dtypes import INDEX, REAL
from ..jit.warmup import kernels_for
from ..nn.packing import round_layers, self_test_tolerance
from ..symbols import Memo
from ..text import read_word
from .kernels import score_tags
from .model import KIND, RecurrentModel, read_model, write_model

OVERLAP = 50
"""Number of context tokens on either side of a piece of a long text."""
_MAX_GAP = REAL(-np.log(MIN_RATIO))
_BATCH_ROWS = 400
"""Rows per batch: enough to load the weights once for several texts, and still in the cache."""


class Piece(NamedTuple):
    """Tokens [start, end) of text `text`, with context [first, last)."""

    text: int
    first: int
    start: int
    end: int
    last: int

    @property
    def rows(self) -> int:
        """Number of rows of the piece, including one at each end."""
        return self.last - self.first + 2


class TaggerOutput(NamedTuple):
    """The tags of a text of n tokens. `tags` int32 (n,), indices into the tagger's `names`; `second_tags` int32 (n,):
    the second-best tags, -1 where a token has none; `start_odds` float32 (n,): log odds of sentence starts."""

    tags: np.ndarray
    second_tags: np.ndarray
    start_odds: np.ndarray


class RecurrentTagger(StoredParser):
    """Tags with a RecurrentModel. Safe to use from several threads; the same text gets the same tags in any batch."""

    model: RecurrentModel
    name = KIND
    SELF_TEST_SETTINGS = RecurrentTaggerSettings()
    FORMAT = read_model, write_model

    @property
    def tolerance(self) -> float:
        """The tolerance of the self-test; larger for files of older versions."""
        return self_test_tolerance(self.model.packed)

    def __init__(self, model: RecurrentModel, settings: RecurrentTaggerSettings | None = None, data: Data = None):
        super().__init__(model, settings, data)
        decided = dict.fromkeys([*(tag for _, tag in model.forms), *([model.space] if model.space else [])])
        self._network = round_layers(model.network)
        self.names = (*model.tags, *(tag for tag in decided if tag not in model.tags))
        """The tags by id."""
        self._forms = [(re.compile(form), self.names.index(tag)) for form, tag in model.forms]
        any_of = "|".join(f"(?:{form})" for form, _ in model.forms)
        self._any_form = re.compile(any_of) if any_of else None
        self._decisions = Memo(self._decide)

    @property
    def labels(self) -> tuple[str, ...]:
        """All tags that a token can get."""
        return self.names

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model and the current settings, as plain data."""
        network = self.model.network
        return {
            "tags": len(self.model.tags),
            "layers": len(network.weights),
            "units": int(2 * network.recurrent.shape[3]),
            "parameters": int(sum(array.size for array in self.model.packed.values())),
            "words": len(self.model.parts.tables[0]),
            "forms": len(self.model.forms),
            "max_tokens": self.settings.max_tokens,
        }

    @property
    def vocabulary(self) -> tuple[Strings, Strings]:
        return self.model.parts.tables[0], self.model.tags

    def golden_outputs(self, words: list[str], tags: list[str]) -> GoldenParse:
        best, _, starts = self._score([self.model.parts.encode(words)])
        return {"tags": best[1:-1].tolist(), "starts": starts[1:-1].tolist()}

    def _decide(self, text: str) -> int:
        """Return 2 * (t + 1), where t is the id of the tag that the form of a token alone decides (-1: none), plus 1
        for white space."""
        if not text.strip():
            return 2 * (self.names.index(self.model.space) + 1 if self.model.space else 0) + 1
        text = read_word(text)
        if self._any_form is None or not self._any_form.search(text):
            return 0
        return 2 * (1 + next(tag_id for form, tag_id in self._forms if form.search(text)))

    def tag(self, texts: Sequence[Sequence[str]]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Tag texts, which are lists of tokens: for each (tags int32 (n,), indices into `names`; starts bool (n,)).

        `starts`: whether a sentence begins at the token. It does at the first token, which may be white space before
        the first word, and otherwise never at white space.
        """
        return [(found.tags, found.start_odds > 0) for found in self.tag_texts(texts)]

    def tag_texts(self, texts: Sequence[Sequence[str]]) -> list[TaggerOutput]:
        """Tag texts as `tag` does, with second-best tags and with log odds of sentence starts: inf for the first token,
        -inf for white space and for the first word after initial white space."""
        encoded = [self.model.parts.encode(text) for text in texts]
        found = [
            TaggerOutput(np.empty(len(text), INDEX), np.empty(len(text), INDEX), np.empty(len(text), REAL))
            for text in texts
        ]
        lengths = [len(text) for text in texts]
        pieces = list(self._pieces(lengths))
        if pieces:
            with kernels_for(KIND, sum(lengths)):
                scored = self._score([self._rows(encoded[piece.text], piece) for piece in pieces])
        at = 1
        for piece in pieces:
            here = slice(at + piece.start - piece.first, at + piece.end - piece.first)
            for whole, part in zip(found[piece.text], scored, strict=True):
                whole[piece.start : piece.end] = part[here]
            at += piece.rows
        return [self._apply_forms(text, one) for text, one in zip(texts, found, strict=True)]

    def _apply_forms(self, text: Sequence[str], found: TaggerOutput) -> TaggerOutput:
        """Return the tags after those that forms decide are set; changes the log odds in place."""
        tags, second_tags, odds = found
        codes = [*map(self._decisions.__getitem__, text)]
        if any(codes):
            code_array = np.array(codes, dtype=INDEX)
            decided, is_word = code_array // 2 - 1, code_array % 2 == 0
            tags, second_tags = np.where(decided >= 0, decided, tags), np.where(decided >= 0, -1, second_tags)
            odds[~is_word] = -np.inf
            odds[np.flatnonzero(is_word)[:1]] = -np.inf
        odds[:1] = np.inf
        return TaggerOutput(tags, second_tags, odds)

    def _pieces(self, lengths: Sequence[int]) -> Iterator[Piece]:
        """Yield the pieces of texts, in order."""
        max_tokens = self.settings.max_tokens
        for text, length in enumerate(lengths):
            for start in range(0, length, max_tokens):
                end = min(start + max_tokens, length)
                yield Piece(text, max(0, start - OVERLAP), start, end, min(length, end + OVERLAP))

    def _rows(self, encoded: np.ndarray, piece: Piece) -> np.ndarray:
        """Return the rows of a piece, with one at each end."""
        if piece.rows == len(encoded):
            return encoded
        return np.concatenate([encoded[:1], encoded[piece.first + 1 : piece.last + 1], encoded[-1:]])

    def _score(self, rows: Sequence[np.ndarray]) -> TaggerOutput:
        """Return the tags and the log odds of starts for the concatenated rows of several pieces."""
        offsets = np.cumsum([0, *map(len, rows)]).astype(INDEX)
        joined_rows = rows[0] if len(rows) == 1 else np.concatenate(rows)
        best, second = np.empty((2, len(joined_rows)), INDEX)
        starts = np.empty(len(joined_rows), REAL)
        score_tags(self._network, joined_rows, offsets, _BATCH_ROWS, _MAX_GAP, best, second, starts)
        return TaggerOutput(best, second, starts)
