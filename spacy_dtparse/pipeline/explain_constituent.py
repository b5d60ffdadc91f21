"""Explain why the parser of a pipeline built a constituent, or why it did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log1p
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..core.parser import ParseResult
from ..errors import NonConstituentError, OtherPipelineError
from ..trees.tree import TOP
from ..viz.svg import score_text
from .attributes import locate
from .constituent_pipe import ConstituentPipe, constituent_parsers
from .constituents import Constituents, group_key, read_constituents
from .explanation import Alternative, Explanation
from .sentences import SentenceInput, is_blank

Key = tuple[int, int, str]
_MIN_PROBABILITY = 0.01
"""Minimum probability, by the model, of an alternative that is listed."""
_MIN_SHOWN = 0.005
"""Minimum probability that is not shown as 0.00."""
_MIN_AGREEMENT = 0.9
"""Minimum probability, by the span model, at which it counts as agreeing."""
_SCORE_TOLERANCE = 0.01
"""Tolerance within which scores of the same parser agree, compiled or not."""
_EPSILON = 1e-6


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
    """`explain` each of `doc._.constituents`, in order; shared work is done once per sentence."""
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
    parser_name = doc.spans[key].attrs.get("parser", "")
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
        self, pipe: ConstituentPipe, doc: Doc, found: Constituents, sentence_input: SentenceInput, supertags: Mapping
    ):
        self.doc, self.found, self.sentence_input, self.end = doc, found, sentence_input, sentence_input.end
        self.parser: Any = pipe.configured_parser
        spines = [supertags.get(i, ()) for i in sentence_input.positions]
        supertag_argument = (spines,) if supertags and all(spines) else ()
        self.result: ParseResult = self.parser.parse(sentence_input.words, sentence_input.tags, *supertag_argument)
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
        scores_in_doc = doc.spans[str(group_key(doc))].attrs.get("scores", ())[there.start : there.stop]
        alike = rows_of_parse == list(rows)[there.start : there.stop] and not any(
            before is not None and abs(before - now) > _SCORE_TOLERANCE * max(1.0, abs(now))
            for before, now in zip(scores_in_doc, self.result.scores[self._top :], strict=False)
        )
        if not alike:
            raise OtherPipelineError(
                "this pipeline's parse of the sentence differs from the Doc's tree or scores, so the tree is from "
                "another model, other settings or other tags: give the pipeline that parsed the Doc, or parse its text "
                "again"
            )
        self._reasons: dict[Key, Any] | None = None
        self._posteriors: Mapping[Key, float] | None = None

    @property
    def posteriors(self) -> Mapping[Key, float]:
        """The model's probabilities of constituents, not calibrated; {} if the parser has none."""
        if self._posteriors is None:
            has = hasattr(self.parser, "span_posteriors") and getattr(self.parser, "span_parser", self) is not None
            self._posteriors = (
                self.parser.span_posteriors(self.sentence_input.words, self.sentence_input.tags) if has else {}
            )
        return self._posteriors

    def probability(self, posterior: float) -> float:
        """The probability to show for one of the model's: the calibrated one, as in `span._.probability`, if the model
        has a calibration."""
        calibration = getattr(self.parser, "calibration", None)
        if calibration is None:
            return min(float(posterior), 1.0)
        return float(calibration.calibrate_constituents(np.array([posterior]))[0])

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
        others = self._alternatives(k)
        score = self.result.scores[k]
        if self.parser.name == "dtree":
            from ..dtparse.model.reasons import reasons  # numba

            if self._reasons is None:
                self._reasons = reasons(
                    self.parser, self.sentence_input.words, self.sentence_input.tags, key if only else None
                )
            reasons_of_key = self._reasons.get(key) if not self._is_fallback() else None
            decided = self._describe_decision(reasons_of_key, score, posterior)
            return Explanation(
                **common,
                method="rules",
                decided=decided,
                probability=probability,
                alternatives=others,
                reasons=reasons_of_key,
            )
        if self.parser.name == "span":
            decided = (
                "A network decided. It has probabilities but no rules, so it gives no reasons (boosted trees, as in "
                "en_dtparse, have rules)."
            )
            return Explanation(
                **common, method="network", decided=decided, probability=probability, alternatives=others
            )
        if self.parser.name != "pcfg":
            decided = f"A parser of kind {self.parser.name!r} decided; it gives no reasons, only the score {score:.2f}."
            return Explanation(
                **common, method=self.parser.name, decided=decided, probability=probability, alternatives=others
            )
        below = self._child_labels(k)
        decided = f"A grammar chose the tree as a whole; in it {key[2]} → {below} costs {score:.2f} (0 is certain)."
        return Explanation(**common, method="grammar", decided=decided, probability=probability, alternatives=others)

    def _is_fallback(self) -> bool:
        """Whether the tree comes from the span model because the search found none."""
        return self.result.status == "fallback" and self.parser.span_parser is not None

    def _describe_decision(self, why: Any, cost: float, posterior: float | None) -> str:
        if why is None:
            if self._is_fallback():
                return "No rule built it: the search found no complete tree, so this is the span model's tree."
            if self.parser.span_parser is not None:
                return "No rule built it: the span model added it after the search, to attach an unattached word."
            return "No rule built it: pieces were joined, or preprocessing was undone."
        trees_cost = log1p(exp(-why.score)) if why.score > -700 else -why.score
        if self.parser.span_parser is None:
            return "The rules decided."
        if cost < trees_cost - _EPSILON or (cost == 0.0 and trees_cost < _EPSILON):
            return "The span model was confident, so the rules were skipped. They would have given:"
        if cost > trees_cost + _EPSILON:
            added = f"{cost - trees_cost:.2f}"
            return f"The rules decided against the span model, whose probabilities added {added} to the cost."
        if posterior is not None and posterior >= _MIN_AGREEMENT:
            return "The rules decided; the span model agrees."
        return "The span model was undecided; the rules decided."

    def _child_labels(self, parent: int) -> str:
        """The labels and tags directly below a constituent of the tree."""
        tree, labels = self.result.tree, []
        at, k = tree.starts[parent], parent + 1
        while at < tree.ends[parent]:
            if k < len(tree.labels) and tree.starts[k] == at and tree.ends[k] <= tree.ends[parent]:
                labels.append(tree.labels[k])
                at = tree.ends[k]
                while k < len(tree.labels) and tree.starts[k] < at:
                    k += 1
            else:
                labels.append(tree.tags[at])
                at += 1
        return " ".join(labels)

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
    sentence_input = next(one for one in parser_input.sentences if one.start <= token < one.end)
    return _SentenceExplainer(pipe, doc, found, sentence_input, parser_input.supertags)


def _explain_absence(pipe: ConstituentPipe, span: Span, found: Constituents) -> str:
    """Describe why a span is no constituent: which constituents cross or contain it, and how probable it would be."""
    doc, (start, end) = span.doc, (span.start, span.end)
    while start < end and is_blank(doc[start].text):
        start += 1
    while end > start and is_blank(doc[end - 1].text):
        end -= 1
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
        named = ", ".join(f"{label} {score_text(p)}" for label, p in shown if p >= _MIN_SHOWN)
        message += f"; the parser's probability of a constituent there: {named or 'below 0.01'}"
    return message
