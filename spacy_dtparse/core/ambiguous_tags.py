"""Ambiguous tags: the best and the second-best tag of a token (compare Curran, Clark & Vadas 2006: multi-tagging)."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import DtparseError
from ..trees.tree import Tree

SEPARATOR = "||"
"""Between the two tags in text, as in NN||VB; two bars, because a single one occurs inside tags of some tag sets."""
MIN_RATIO = 0.1
"""A second-best tag is given if its probability is at least this fraction of the best one's."""


class AmbiguousTag(str):
    """The best tag of a token with its second-best one: a string equal to the best tag, so that code that needs one tag
    needs no change. `second`: the second-best tag."""

    second: str
    __slots__ = ("second",)

    def __new__(cls, first: str, second: str) -> AmbiguousTag:
        """Make an ambiguous tag of two tags."""
        tag = super().__new__(cls, first)
        tag.second = second
        return tag

    def __reduce__(self) -> tuple[type[AmbiguousTag], tuple[str, str]]:
        return AmbiguousTag, (str.__str__(self), self.second)


def second_tag(tag: str) -> str:
    """Return the second-best tag, "" if there is none."""
    return tag.second if isinstance(tag, AmbiguousTag) else ""


def has_ambiguous(tags: Iterable[str]) -> bool:
    """Whether some of the tags are ambiguous."""
    return AmbiguousTag in set(map(type, tags))


def plain_tags(tree: Tree) -> Tree:
    """Return a tree with best tags only: spaCy's compiled code takes no subclass of str."""
    return Tree.unchecked(tree.words, tuple(map(str, tree.tags)), tree.labels, tree.starts, tree.ends)


def format_tag(tag: str) -> str:
    """Return the text of a tag for a file, NN||VB for an ambiguous one. Raises DtparseError for a tag that could not be
    read again because it contains the separator."""
    text = f"{tag}{SEPARATOR}{tag.second}" if isinstance(tag, AmbiguousTag) else tag
    found = parse_tag(text)
    if found != tag or second_tag(found) != second_tag(tag):
        raise DtparseError(f"the tag {str(tag)!r} cannot be written: {SEPARATOR!r} separates two tags; rename it")
    return text


def parse_tag(text: str) -> str:
    """Return the tag of a text that `format_tag` wrote."""
    first, _, second = text.partition(SEPARATOR)
    return AmbiguousTag(first, second) if first and second else text
