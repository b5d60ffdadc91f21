"""Ambiguous tags: a token's tag with the tagger's second choice (Curran, Clark & Vadas 2006 give a parser several)."""

from __future__ import annotations

from collections.abc import Iterable

SEPARATOR = "||"
"""Between the two tags in text, as in NN||VB; two bars, because tags of some tag sets have one."""
MIN_RATIO = 0.1
"""A second choice is given if its probability is at least this fraction of the first one's."""


class AmbiguousTag(str):
    """A tag that knows the tagger's second choice: a string equal to the first choice, so that code that needs one tag
    needs no change. `second`: the second choice."""

    second: str
    __slots__ = ("second",)

    def __new__(cls, first: str, second: str) -> AmbiguousTag:
        """Make a tag of two; `first` may be ambiguous itself, then its second choice is replaced."""
        tag = super().__new__(cls, first)
        tag.second = second
        return tag

    def __reduce__(self) -> tuple[type[AmbiguousTag], tuple[str, str]]:
        return AmbiguousTag, (str.__str__(self), self.second)


def second_tag(tag: str) -> str:
    """Return the second choice of a tag, "" if it has none."""
    return tag.second if isinstance(tag, AmbiguousTag) else ""


def has_ambiguous(tags: Iterable[str]) -> bool:
    """Whether some of the tags are ambiguous."""
    return AmbiguousTag in set(map(type, tags))


def format_tag(tag: str) -> str:
    """Return the text of a tag for a file, NN||VB for an ambiguous one."""
    return f"{tag}{SEPARATOR}{tag.second}" if isinstance(tag, AmbiguousTag) else tag


def parse_tag(text: str) -> str:
    """Return the tag of a text that `format_tag` wrote."""
    first, _, second = text.partition(SEPARATOR)
    return AmbiguousTag(first, second) if first and second else text
