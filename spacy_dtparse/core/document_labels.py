"""A parser that gives the labels of the parts of an article (CAPTION, HEADING, TITLE) only where they are probable."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ..trees.document_labels import DOCUMENT_LABELS, Key, document_labels_of, has_verb, remove_document_labels
from ..trees.tree import Tree
from .constraints import Constraints
from .kbest import CANDIDATES_PER_TREE, MAX_TREES, NO_MORE, check_k, rank_parses
from .parser import Capability, Decision, Decisions, ParseList, Parser, ParseResult, Posteriors, TaggedWords
from .time_limit import TimeLimit
from .wrapped import WrappedParser

MIN_PROBABILITY = 0.9
"""Minimum calibrated probability of such a label over words with a verb, fitted on development trees: see
docs/experiments/shipped.md."""


def filter_document_labels(parser: Parser, policy: str) -> Parser:
    """Return a parser that follows the setting `document_labels`, one of `settings.LABEL_POLICIES`: the same one if it
    has no such labels, or always gives them."""
    known = document_labels_of((*parser.labels, *parser.excluded_labels))
    if policy == "always" or known <= parser.excluded_labels:
        return parser
    return DocumentLabelFilter(parser, policy == "never")


class DocumentLabelFilter(WrappedParser):
    """A parser that wraps another and leaves DOCUMENT_LABELS out of its trees: all, if `leaves_out_all`, else those
    over words with a verb whose probability is below MIN_PROBABILITY, or, if the wrapped parser has no probabilities,
    all over words with a verb. The probability is calibrated if the model has a calibration.

    The decision on a sentence does not depend on other sentences. A tree from which nothing is left out, its costs and
    its posteriors are those of the wrapped parser.
    """

    def __init__(self, parser: Parser, leaves_out_all: bool = False):
        super().__init__(parser)
        self.leaves_out_all = leaves_out_all

    def with_settings(self, **changes: Any) -> DocumentLabelFilter:
        return DocumentLabelFilter(self.parser.with_settings(**changes), self.leaves_out_all)

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        parses = zip(sentences, self.parser.parse_batch(sentences), strict=True)
        return [
            self._filter(one, self._posteriors_of(*sentence)) if _has_labels(one) else one for sentence, one in parses
        ]

    def parse(self, words: Sequence[str], tags: Sequence[str], spines: Sequence[Any] = ()) -> ParseResult:
        return self._filter(self.parser.parse(words, tags, spines), self._posteriors_of(words, tags))

    def parse_with_posteriors(self, sentences: Sequence[TaggedWords]) -> list[tuple[ParseResult, Posteriors]]:
        return [
            self._filter_parse(result, found, self._find_allowed(result.tree, lambda found=found: found))  # type: ignore[misc]
            for result, found in self.parser.parse_with_posteriors(sentences)
        ]

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> Posteriors:
        """Return the posteriors of a sentence, which fit its filtered parse."""
        found = self.parser.span_posteriors(words, tags)
        if DOCUMENT_LABELS.isdisjoint(label for _, _, label in found):
            return found
        result = self.parser.parse(words, tags)
        return self._filter_parse(result, found, self._find_allowed(result.tree, lambda: found))[1]

    def explain(
        self, words: Sequence[str], tags: Sequence[str], spines: Sequence[Any] = (), limit: TimeLimit | None = None
    ) -> Decisions:
        found = self.parser.explain(words, tags, spines, limit)
        allowed = self._find_allowed(found.result.tree, lambda: found.posteriors)
        return _FilteredDecisions(found, allowed, tags, self.excluded_labels)

    def parse_k_best(
        self, words: Sequence[str], tags: Sequence[str], k: int, limit: TimeLimit | None = None
    ) -> ParseList:
        """Return the k best filtered parses: trees that differ only in what is left out are one."""
        check_k(k)
        posteriors = self._posteriors_of(words, tags)
        n_trees, max_trees = k, min(MAX_TREES, CANDIDATES_PER_TREE * k)
        best = None
        while True:
            found = self.parser.parse_k_best(words, tags, n_trees, limit)
            first, *others = (self._filter(one, posteriors) for one in found)
            ranked = rank_parses(
                first, ((one.margin or 0.0, one) for one in others), k, TimeLimit(), found.reason or NO_MORE
            )
            if best is not None and len(ranked) < len(best):  # the time was over early in this round
                return ParseList(best, found.reason)
            if len(ranked) == k or found.reason or n_trees >= max_trees:
                return ranked
            best, n_trees = ranked, min(2 * n_trees, max_trees)

    def parse_constrained(self, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
        """Return the filtered parse in which the constraints hold; a label that they require stays."""
        return self._filter_constrained([self.parser.parse_constrained(words, tags, constraints)], constraints)[0]

    def parse_k_best_constrained(
        self, words: Sequence[str], tags: Sequence[str], constraints: Constraints, k: int,
        limit: TimeLimit | None = None,
    ) -> ParseList:  # fmt: skip
        """Return the filtered parses in which the constraints hold: trees that differ only in what is left out are
        one."""
        found = self.parser.parse_k_best_constrained(words, tags, constraints, k, limit)
        first, *others = self._filter_constrained(found, constraints)
        return rank_parses(first, ((one.margin or 0.0, one) for one in others), k, TimeLimit(), found.reason or NO_MORE)

    def _filter_constrained(self, results: Sequence[ParseResult], constraints: Constraints) -> list[ParseResult]:
        required = {(one.start, one.end, label) for one in constraints.requirements for label in one.labels}
        posteriors = self._posteriors_of(results[0].tree.words, results[0].tree.tags)
        filtered = [self._filter(one, posteriors, required) for one in results]
        return [
            before if after is before else constraints.enforce(after, self.labels)
            for before, after in zip(results, filtered, strict=True)
        ]

    def _posteriors_of(self, words: Sequence[str], tags: Sequence[str]) -> Callable[[], Posteriors]:
        """Return a function that computes the posteriors of a sentence when it is first called; {} if the parser has
        none."""
        if Capability.POSTERIORS not in self.capabilities:
            return lambda: {}
        return cache(lambda: self.parser.span_posteriors(words, tags))

    def _filter(
        self, result: ParseResult, posteriors: Callable[[], Posteriors], required: Collection[Key] = ()
    ) -> ParseResult:
        if not _has_labels(result):
            return result
        return self._filter_parse(result, {}, {*self._find_allowed(result.tree, posteriors), *required})[0]

    def _filter_parse(
        self, result: ParseResult, posteriors: Posteriors, allowed: Collection[Key]
    ) -> tuple[ParseResult, Posteriors]:
        return filter_parse(result, posteriors, allowed, self.excluded_labels)

    def _find_allowed(self, tree: Tree, posteriors: Callable[[], Posteriors]) -> set[Key]:
        """Return the constituents of a tree with DOCUMENT_LABELS that are not left out."""
        if self.leaves_out_all or DOCUMENT_LABELS.isdisjoint(tree.labels):
            return set()
        labelled = [span for span in tree.spans() if span[2] in DOCUMENT_LABELS]
        return {
            one for one in labelled if not has_verb(tree.tags[one[0] : one[1]]) or self._is_probable(one, posteriors())
        }

    def _is_probable(self, constituent: Key, posteriors: Posteriors) -> bool:
        probability = posteriors.get(constituent, 0.0)
        if self.calibration is not None:
            probability = float(self.calibration.calibrate_constituents(np.array([probability]))[0])
        return probability >= MIN_PROBABILITY


def _has_labels(result: ParseResult) -> bool:
    return not DOCUMENT_LABELS.isdisjoint(result.tree.labels)


class _FilteredDecisions(Decisions):
    """Decisions of a parse without some constituents with DOCUMENT_LABELS. `allowed`: those that stay. `excluded`: see
    `filter_parse`. The posteriors have no such labels over words with a verb but these."""

    def __init__(self, decisions: Decisions, allowed: Collection[Key], tags: Sequence[str], excluded: Collection[str]):
        result, posteriors = filter_parse(decisions.result, decisions.posteriors, allowed, excluded)
        shown = {
            key: p
            for key, p in posteriors.items()
            if key[2] not in DOCUMENT_LABELS or key in allowed or not has_verb(tags[key[0] : key[1]])
        }
        super().__init__(decisions.name, result, shown)
        self._decisions = decisions
        self._origins = remove_document_labels(decisions.result.tree, allowed, excluded).origins

    def decision(self, constituent: int, only: bool = False) -> Decision:
        """Return the decision on a constituent, or that it stands in the place of one with another label."""
        origin = self._origins[constituent]
        found = self._decisions.decision(origin, only)
        decided, label = self._decisions.result.tree.labels[origin], self.result.tree.labels[constituent]
        if label == decided:
            return found
        return Decision(
            found.method,
            f"The parser decided on {decided}, a label of the parts of an article, which is not probable enough for "
            f"this sentence (see the setting document_labels). {label} stands in its place.",
        )


def filter_parse(
    result: ParseResult, posteriors: Posteriors, allowed: Collection[Key], excluded: Collection[str] = ()
) -> tuple[ParseResult, Posteriors]:
    """Return a parse and its posteriors without DOCUMENT_LABELS, except for the constituents `allowed`; the same ones
    if the tree has no others. A constituent that takes the place or the words of another has the larger posterior; none
    has a label of `excluded`."""
    tree, origins = remove_document_labels(result.tree, allowed, excluded)
    if tree is result.tree:
        return result, posteriors
    found = {key: p for key, p in posteriors.items() if key[2] not in DOCUMENT_LABELS or key in allowed}
    before, after = result.tree.spans(), tree.spans()
    for origin, key in zip(origins, after, strict=True):
        if posteriors and key != before[origin]:
            found[key] = max(found.get(key, 0.0), posteriors.get(before[origin], 0.0))
            if before[origin] not in after:
                found.pop(before[origin], None)
    return replace(result, tree=tree, costs=tuple(result.costs[k] for k in origins)), found
