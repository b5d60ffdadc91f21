"""Splitting sentences that are parsed in pieces, and batches that are parsed in parts."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ..trees.labels import PUNCTUATION_TAGS

PieceSpan = tuple[int, int]
"""Tokens [start, end) of a piece."""
MAX_BATCH_TOKENS = 2048
"""Maximum number of tokens for which the output of a network is in memory: some megabytes."""
T = TypeVar("T")


def iter_pieces(tags: Sequence[str], max_tokens: int) -> Iterator[PieceSpan]:
    """Yield pieces of at most `max_tokens` tokens, split after punctuation if there is some in the second half of a
    piece. Each piece is computed only on request."""
    start, n = 0, len(tags)
    while start < n:
        end = min(start + max_tokens, n)
        if end < n:
            candidates = range(end, start + max_tokens // 2, -1)
            end = next((i for i in candidates if tags[i - 1] in PUNCTUATION_TAGS), end)
        yield start, end
        start = end


def iter_batches(sentences: Sequence[T], length: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield the sentences in order, in batches of at most `MAX_BATCH_TOKENS` tokens, or of one sentence. `length`:
    returns the number of tokens of a sentence."""
    part: list[T] = []
    size = 0
    for one in sentences:
        if part and size + length(one) > MAX_BATCH_TOKENS:
            yield part
            part, size = [], 0
        part.append(one)
        size += length(one)
    if part:
        yield part
