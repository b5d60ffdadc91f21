"""Constraints of a Doc: spans that must or must not be constituents.

A span in `doc.spans["constraints"]` with the label "NP" must be an NP, with "" a constituent of any label; with "!NP"
it must not be an NP, with "!" not a constituent at all; with "=S VP" its constituents must be an S, the VP that is its
only child, and no other. White space at a span's edges is ignored.
"""

from collections.abc import Mapping, Sequence

from spacy.tokens import Doc

from ..core.constraints import Constraint, Constraints, read_label
from ..core.parser import Capability, Parser
from ..errors import ConfigError, ConstraintError
from .sentences import SentenceInput

CONSTRAINTS_KEY = "constraints"
"""The key of the span group in `doc.spans`."""


def read_constraints(
    doc: Doc, key: str, sentences: Sequence[SentenceInput], parser: Parser
) -> Mapping[int, Constraints]:
    """The constraints of the sentences that have some, by sentence index.

    Raises ConstraintError, which names them, for constraints that the parser cannot satisfy together, for a label that
    it does not have or that its settings exclude, and for a span that covers two sentences or only white space;
    ConfigError for a parser that does not support constraints.
    """
    found: dict[int, list[Constraint]] = {}
    for span in doc.spans[key]:
        wanted = read_label(span.label_)
        index = next((k for k, sentence in enumerate(sentences) if sentence.start <= span.start < sentence.end), None)
        if index is None or span.end > sentences[index].end:
            raise ConstraintError(
                f"doc.spans[{key!r}] has {span.text[:60]!r} (tokens {span.start} to {span.end}), which is not within "
                "one sentence, as constituents are: make the span shorter, or set the sentences' starts before the "
                "parser (token.is_sent_start)"
            )
        positions = sentences[index].positions
        inside = [leaf for leaf, i in enumerate(positions) if span.start <= i < span.end]
        if not inside:
            raise ConstraintError(
                f"doc.spans[{key!r}] has tokens {span.start} to {span.end}, which are white space only; a constituent "
                "has a word"
            )
        found.setdefault(index, []).append(Constraint(inside[0], inside[-1] + 1, *wanted))
    if found and Capability.CONSTRAINTS not in parser.capabilities:
        raise ConfigError(
            f"a parser of kind {parser.name!r} does not support constraints; remove doc.spans"
            f"[{key!r}], or set the component's constraints_key to None"
        )
    checked = {index: Constraints(dict.fromkeys(constraints)) for index, constraints in found.items()}
    for index, constraints in checked.items():
        words = sentences[index].words
        constraints.check(len(words), parser.labels, words, parser.excluded_labels)
    return checked
