"""Explain why the parser of a pipeline built a constituent, or why it did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..core.parser import Decisions
from ..errors import NonConstituentError, OtherPipelineError
from ..trees.tree import TOP
from ..viz.svg import probability_text
from .attributes import locate, sentence_infos, without_blanks
from .constituent_group import attribute
from .constituent_pipe import ConstituentPipe, constituent_parsers
from .constituents import Constituents, group_key, read_constituents, values_in_order
from .explanation import Alternative, Explanation
from .group_values import EDITED
from .sentences import SentenceInput

_MIN_PROBABILITY = 0.01
"""Minimum probability, by the model, of an alternative that is listed."""
_MIN_SHOWN = 0.005
"""Minimum probability that is not shown as 0.00."""
_COST_TOLERANCE = 0.01
"""Tolerance within which costs of the same parser agree, compiled or not."""


def explain(nlp: Language | ConstituentPipe, span: Span) -> Explanation:
    """Explain why the constituent `span` of a Doc that `nlp` parsed is in the tree.

    `span`: one of `doc._.constituents`, or any span over the same tokens, which stands for the highest constituent
    there. Raises NonConstituentError for a span that is no constituent; its message says which constituents prevent it
    and how probable it is. Raises NotParsedError for a Doc without constituents, OtherPipelineError for a Doc that
    another pipeline parsed.
    """
    pipe, found = _component_of(nlp, span.doc)
    try:
        location = locate(span)
        if location.constituent < 0:
            raise NonConstituentError("one word")
    except NonConstituentError:
        raise NonConstituentError(_explain_absence(pipe, span, found)) from None
    sentence = _sentence_of(pipe, span.doc, found, location.start)
    return sentence.explain(location.constituent, only=True)


def explanations(nlp: Language | ConstituentPipe, doc: Doc) -> list[Explanation]:
    """Explain each of `doc._.constituents`, in this order; shared work is done once per sentence.

    Raises NotParsedError and OtherPipelineError as `explain` does.
    """
    pipe, found = _component_of(nlp, doc)
    sentence: _SentenceExplainer | None = None
    explained = []
    for index, start in enumerate(found.starts):
        if sentence is None or start >= sentence.end:
            sentence = _sentence_of(pipe, doc, found, start)
        explained.append(sentence.explain(index))
    return explained


def _component_of(nlp: Language | ConstituentPipe, doc: Doc) -> tuple[ConstituentPipe, Constituents]:
    """The component that wrote a Doc's constituents, and these constituents."""
    found = read_constituents(doc)
    key = str(group_key(doc))
    parsers = constituent_parsers(nlp)
    parser_name = attribute(doc.spans[key], "parser", "")
    for pipe in parsers:
        if pipe.spans_key == key and pipe.parser.name == parser_name:
            return pipe, found
    by = f"by a parser of kind {parser_name!r}" if parser_name else "by hand or from a treebank"
    here = ", ".join(f"{pipe.name!r} of kind {pipe.parser.name!r}" for pipe in parsers)
    raise OtherPipelineError(
        f"the constituents of this Doc (doc.spans[{key!r}]) were made {by}, and this pipeline has {here}: give the "
        "pipeline that parsed the Doc, or parse its text again"
    )


class _SentenceExplainer:
    """One sentence of a Doc, parsed again, with data shared by the explanations of its constituents."""

    def __init__(
        self, pipe: ConstituentPipe, doc: Doc, found: Constituents, sentence_input: SentenceInput, supertags: Mapping,
        constrained: bool,
    ):  # fmt: skip
        self.doc, self.found, self.sentence_input, self.end = doc, found, sentence_input, sentence_input.end
        spines = [supertags.get(i, ()) for i in sentence_input.positions]
        used_spines = spines if supertags and all(spines) else ()
        parser, (_, _, words, tags, _) = pipe.timed_parser, sentence_input
        self.decisions: Decisions = parser.explain(words, tags, used_spines)
        self._calibration = parser.calibration
        self.result, self.posteriors = self.decisions.result, self.decisions.posteriors
        tree = self.result.tree
        rows_of_parse = [(label, *self._token_range(s, e)) for s, e, label in tree.spans()]
        if len(rows_of_parse) > 1 and rows_of_parse[0][0] == TOP and rows_of_parse[0][1:] == rows_of_parse[1][1:]:
            del rows_of_parse[0]
        self._top = len(tree.labels) - len(rows_of_parse)
        self.first = next(
            (k for k, start in enumerate(found.starts) if sentence_input.start <= start < sentence_input.end), 0
        )
        there = range(self.first, self.first + len(rows_of_parse))
        rows = zip(found.labels, found.starts, found.ends, strict=True)
        costs_in_doc = (values_in_order(doc, str(group_key(doc)), "costs") or [])[there.start : there.stop]
        alike = rows_of_parse == list(rows)[there.start : there.stop] and not any(
            before is not None and abs(before - now) > _COST_TOLERANCE * max(1.0, abs(now))
            for before, now in zip(costs_in_doc, self.result.costs[self._top :], strict=False)
        )
        if not alike:
            raise OtherPipelineError(_explain_difference(doc, sentence_input, constrained))

    def probability(self, posterior: float) -> float:
        """The probability to show for one of the model's: the calibrated one, as in `span._.probability`, if the model
        has a calibration."""
        if self._calibration is None:
            return min(float(posterior), 1.0)
        return float(self._calibration.calibrate_constituents(np.array([posterior]))[0])

    def _token_range(self, start: int, end: int) -> tuple[int, int]:
        return self.sentence_input.positions[start], self.sentence_input.positions[end - 1] + 1

    def explain(self, index: int, only: bool = False) -> Explanation:
        """Explain constituent `index` of the Doc. `only`: compute the reasons for this constituent only; the
        caller needs no others."""
        tree, k = self.result.tree, index - self.first + self._top
        key = tree.starts[k], tree.ends[k], tree.labels[k]
        start, end = self.found.starts[index], self.found.ends[index]
        common: dict[str, Any] = {"label": key[2], "text": self.doc[start:end].text, "start": start, "end": end}
        posterior = self.posteriors.get(key, 0.0) if self.posteriors else None
        probability = None if posterior is None else 1.0 if key[2] == TOP else self.probability(posterior)
        decision = self.decisions.decision(k, only)
        return Explanation(
            **common,
            method=decision.method,
            decided=decision.text,
            probability=probability,
            alternatives=self._alternatives(k),
            reasons=decision.reasons,
        )

    def _alternatives(self, index: int) -> tuple[Alternative, ...]:
        """Probable constituents that are not in the tree and would replace this one: another label over the same span,
        or a bracket that crosses it, contains it and its neighbours, or has the same label over a part of it."""
        tree = self.result.tree
        start, end = tree.starts[index], tree.ends[index]
        built = set(tree.spans())
        extents = {span[:2] for span in built}
        above = [k for k in range(index) if tree.starts[k] <= start and end <= tree.ends[k]]
        around = [(tree.starts[k], tree.ends[k]) for k in above if (tree.starts[k], tree.ends[k]) != (start, end)]
        low, high = around[-1] if around else (start, end)
        found = []
        for (first, last, label), probability in self.posteriors.items():
            if probability < _MIN_PROBABILITY or label == TOP or (first, last, label) in built:
                continue
            if (first, last) == (start, end):
                relation = "same span"
            elif first < start < last < end or start < first < end < last:
                relation = "crosses"
            elif low <= first <= start and end <= last <= high and (first, last) not in extents:
                relation = "contains"
            elif (
                label == tree.labels[index]
                and (first, last) not in extents
                and ((first == start and last < end) or (start < first and last == end))
            ):
                relation = "shorter"
            else:
                continue
            tokens = self._token_range(first, last)
            text = self.doc[tokens[0] : tokens[1]].text
            found.append(Alternative(label, *tokens, text, self.probability(probability), relation))
        return tuple(sorted(found, key=lambda other: -other.probability))


def _sentence_of(pipe: ConstituentPipe, doc: Doc, found: Constituents, token: int) -> _SentenceExplainer:
    """The sentence that contains a token."""
    parser_input = pipe.read_doc(doc)
    index, sentence_input = next(
        (index, one) for index, one in enumerate(parser_input.sentences) if one.start <= token < one.end
    )
    constrained = bool(parser_input.constraints.get(index))
    return _SentenceExplainer(pipe, doc, found, sentence_input, parser_input.supertags, constrained)


def _explain_difference(doc: Doc, sentence_input: SentenceInput, constrained: bool) -> str:
    """Describe why the Doc's tree of a sentence is not the parser's."""
    statuses = (info["status"] for info in sentence_infos(doc) if info["start"] == sentence_input.start)
    if next(statuses, "") == EDITED:
        return (
            "the constituents of this sentence were edited after parsing, so no decision of the parser explains its "
            "tree; parse the text again to explain the parser's own tree"
        )
    if constrained:
        return (
            "this sentence has constraints, so no decision of the parser explains its tree; parse the text again "
            "without constraints to explain the parser's own tree"
        )
    return (
        "this pipeline's parse of the sentence differs from the Doc's tree or costs, so the tree is from another "
        "model, other settings or other tags, or was parsed under constraints: give the pipeline that parsed the Doc, "
        "or parse its text again"
    )


def _explain_absence(pipe: ConstituentPipe, span: Span, found: Constituents) -> str:
    """Describe why a span is no constituent: which constituents cross or contain it, and how probable it would be."""
    doc = span.doc
    start, end = without_blanks(doc, span.start, span.end)
    if start == end:
        return f"tokens {span.start} to {span.end} are white space only; they are in no constituent"
    rows = list(zip(found.starts, found.ends, found.labels, strict=True))

    def describe(spans: Sequence[tuple[int, int, str]]) -> str:
        return ", ".join(f"{label} “{doc[s:e].text[:60]}”" for s, e, label in spans)

    crossing = [(s, e, label) for s, e, label in rows if s < start < e < end or start < s < end < e]
    around = [(s, e, label) for s, e, label in rows if s <= start and end <= e]
    message = f"“{span.text[:60]}” is not a constituent"
    if crossing:
        message += f"; these constituents of the tree cross it: {describe(crossing[:4])}"
    if around:
        message += f"; the smallest constituent around it is {describe(around[-1:])}"
    sentence = _sentence_of(pipe, doc, found, start)
    if end > sentence.end:
        return f"{message}; it crosses a sentence boundary, which no constituent does"
    if sentence.posteriors:
        leaf_of = {i: k for k, i in enumerate(sentence.sentence_input.positions)}
        span_key = leaf_of[start], leaf_of[end - 1] + 1
        by_label = {key[2]: p for key, p in sentence.posteriors.items() if key[:2] == span_key and key[2] != TOP}
        likely = sorted(by_label.items(), key=lambda item: -item[1])[:3]
        shown = [(label, sentence.probability(p)) for label, p in likely]
        named = ", ".join(f"{label} {probability_text(p)}" for label, p in shown if p >= _MIN_SHOWN)
        message += f"; the parser's probability of a constituent there: {named or 'below 0.01'}"
    return message
