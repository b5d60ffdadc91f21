"""The chunks of a Doc and the IOB tags of its tokens, as in CoNLL-2000; `trees.chunks` defines them."""

from spacy.tokens import Doc, Span

from ..trees.chunks import OUTSIDE
from ..trees.chunks import chunks as chunks_of_tree
from .phrases import find_in_trees
from .sentences import token_bounds


def chunks(where: Doc | Span, key: str | None = None) -> list[Span]:
    """The chunks of a Doc, or those within a Span, labelled NP, VP, PP and so on, in order; they do not overlap.

    A chunk is a phrase up to its head, without arguments and modifiers after it (see docs/phrases.md). `key`: of the
    span group with the constituents. Raises NotParsedError if the Doc has no valid parse.
    """
    return [Span(where.doc, *found) for found in find_in_trees(where, key, chunks_of_tree)]


def chunk_tags(where: Doc | Span, key: str | None = None) -> list[str]:
    """The IOB tag of each token of a Doc or Span: B-NP begins an NP chunk, I-NP continues it, O is in no chunk.

    Every chunk begins with B (IOB2). In a Span, tokens of a chunk that the Span cuts are O. White space inside a chunk
    continues it. `key` and errors as for `chunks`.
    """
    first, _ = token_bounds(where)
    tags = [OUTSIDE] * len(where)
    for chunk in chunks(where, key):
        start, end = chunk.start - first, chunk.end - first
        tags[start:end] = [f"B-{chunk.label_}", *[f"I-{chunk.label_}"] * (end - start - 1)]
    return tags
