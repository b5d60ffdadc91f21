"""A span parser as a teacher: it annotates raw text like the larger network, without torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from spacy_dtparse.dtypes import INDEX, REAL
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.models import find_model, is_name, open_parser
from spacy_dtparse.span_parser.kernels.network import span_probabilities
from spacy_dtparse.span_parser.parser import SpanParser

from ..data.evaluate import tag_lists
from ..data.network_outputs import network_outputs
from ..data.reading import load_tagger
from ..data.shards import MIN_PROB, NO_SOURCE, LabelSets, SpanDistribution


def span_parser_file(teacher: Path) -> Path | None:
    """The model file of a teacher given as a file or as the name of an English parser; None if it is a folder."""
    if teacher.is_file() or is_name(str(teacher)):
        return find_model(str(teacher))
    return None


class SpanTeacher:
    """The span marginals of a span parser, with the embedded pipeline's tags. Raises ModelFormatError for a model of
    another kind."""

    def __init__(self, source: Path):
        parser = open_parser(source)
        parser = getattr(parser, "span_parser", None) or parser  # boosted trees have a span parser inside
        if not isinstance(parser, SpanParser):
            raise ModelFormatError(
                f"{source} is a model of kind {parser.name!r}; a teacher must be a folder of `teacher fit` or a span "
                "parser"
            )
        self.parser, self.tagger = parser, load_tagger()
        self.lists = LabelSets(parser.model.chains, tuple(sorted(self.tagger.get_pipe("tagger").labels)), (NO_SOURCE,))  # type: ignore[attr-defined]

    def marginals(self, sentences: Sequence[tuple[str, ...]], source: str | None = None) -> Iterator[SpanDistribution]:
        """Yield the span marginals of each sentence; a span parser has no `source`."""
        self.lists.source(source)
        tag_ids = {tag: i for i, tag in enumerate(self.lists.tags)}
        tagged = list(zip(sentences, tag_lists(self.tagger, sentences), strict=True))
        for (words, tags), output in zip(tagged, network_outputs(self.parser, tagged), strict=True):
            n = len(words)
            spans, posteriors, logs = span_probabilities(*output, 0, n, MIN_PROB / 2)
            probs = np.exp(logs) * posteriors[:, None]
            rows, labels = np.nonzero(probs >= MIN_PROB)
            ids = np.array([tag_ids[tag] for tag in tags], dtype=INDEX)
            yield SpanDistribution(
                spans[rows], labels.astype(INDEX), probs[rows, labels].astype(REAL), ids, np.ones(n, dtype=REAL)
            )
