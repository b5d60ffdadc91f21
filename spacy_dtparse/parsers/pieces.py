"""Where sentences are cut that are parsed in pieces."""

from collections.abc import Sequence

from ..trees.labels import PUNCTUATION_TAGS

Cut = tuple[int, int]
"""Tokens [start, end) of a piece."""


def cut(tags: Sequence[str], most: int) -> list[Cut]:
    """Pieces of at most `most` tokens, cut after punctuation where there is some in their second half."""
    cuts, start, n = [], 0, len(tags)
    while start < n:
        end = min(start + most, n)
        if end < n:
            places = range(end, start + most // 2, -1)
            end = next((place for place in places if tags[place - 1] in PUNCTUATION_TAGS), end)
        cuts.append((start, end))
        start = end
    return cuts
