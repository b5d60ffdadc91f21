"""Splitting sentences that are parsed in pieces."""

from collections.abc import Iterator, Sequence

from ..trees.labels import PUNCTUATION_TAGS

Cut = tuple[int, int]
"""Tokens [start, end) of a piece."""


def cuts(tags: Sequence[str], most: int) -> Iterator[Cut]:
    """Yield pieces of at most `most` tokens, split after punctuation if there is some in the second half of a piece.
    Each piece is computed only on request."""
    start, n = 0, len(tags)
    while start < n:
        end = min(start + most, n)
        if end < n:
            places = range(end, start + most // 2, -1)
            end = next((place for place in places if tags[place - 1] in PUNCTUATION_TAGS), end)
        yield start, end
        start = end


def cut(tags: Sequence[str], most: int) -> list[Cut]:
    """Return all pieces of `cuts`."""
    return list(cuts(tags, most))
