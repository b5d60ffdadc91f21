"""Splitting sentences that are parsed in pieces."""

from collections.abc import Iterator, Sequence

from ..trees.labels import PUNCTUATION_TAGS

PieceSpan = tuple[int, int]
"""Tokens [start, end) of a piece."""


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


def split_into_pieces(tags: Sequence[str], max_tokens: int) -> list[PieceSpan]:
    """Return all pieces of `iter_pieces`."""
    return list(iter_pieces(tags, max_tokens))
