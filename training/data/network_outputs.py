"""The output of a span parser's networks for many sentences."""

from collections.abc import Iterator, Sequence

from spacy_dtparse.core.parser import TaggedWords
from spacy_dtparse.span_parser.encoder import NetworkOutput, output_of
from spacy_dtparse.span_parser.parser import SpanParser

_BATCH = 64
"""Sentences that the networks read together: a large network is several times as fast as with one at a time."""


def network_outputs(parser: SpanParser, sentences: Sequence[TaggedWords]) -> Iterator[NetworkOutput]:
    """Yield the output of all networks for each sentence (words, tags), in order."""
    for first in range(0, len(sentences), _BATCH):
        batch = sentences[first : first + _BATCH]
        encoded = parser.encode(batch)
        yield from (output_of(encoded, s) for s in range(len(batch)))
