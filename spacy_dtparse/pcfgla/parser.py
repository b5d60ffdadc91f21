"""The PCFG parser: maps words and tags to the most probable tree."""

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..core.constraints import Constraints
from ..core.kbest import DEADLINE, NO_MORE, PIECES, check_k, rank_parses
from ..core.parser import Capability, ParseList, Parser, ParseResult, Posteriors, TaggedWords
from ..core.pieces import iter_pieces
from ..core.self_test import GoldenParse
from ..core.settings import PcfgSettings
from ..core.stored import Data, RecipeParser
from ..core.supertags import SupertagCandidates, check_supertags
from ..core.time_limit import TimeLimit
from ..errors import ConfigError
from ..trees.tree import TOP, Tree
from .chart import EVERYTHING, NO_GROUPS, Buffers, Chart
from .chart_parse import GLUE_COST, ChartParse, chart_constituents, constituents, distinct_parses, glue, join_pieces
from .constraint_masks import constraint_masks
from .decisions import GrammarDecisions
from .kbest import chart_trees
from .latent import Decoded
from .latent_model import LatentDecoder, check_decoder
from .model.latent_part import LatentPart
from .model.model import KIND, PcfgGrammar, PcfgModel, read_model, write_model
from .spine_masks import Mask, SpineMasks, label_posteriors, plain_expected_counts

RETRY_TOKENS, LATENT_RETRY_TOKENS = 80, 25
"""Maximum number of tokens for a retry without pruning if pruning leaves no tree; it would take seconds for longer
sentences. The second: with latent annotations."""


class _Attempt(NamedTuple):
    """One attempt to parse a sentence: with a `grammar` and the words' `leaves`, or with the latent grammars (None).
    `given`: the tags that words must have, or None. `allowed` uint8 (cells, coarse symbols): the allowed symbols of
    each cell, or EVERYTHING if not `pruned`. `status`: the status of the parse, if there is one. `n_searches`,
    `ambiguity`: see `ParseResult`."""

    grammar: PcfgGrammar | None
    leaves: tuple[np.ndarray, np.ndarray]
    given: np.ndarray | None
    allowed: np.ndarray
    pruned: bool
    status: str
    n_searches: int
    ambiguity: float | None = None


class PcfgParser(RecipeParser, Parser):
    """Parses with a PcfgModel by CKY. Safe to use from several threads; the same input gives the same bits in any.

    The cost of a parse is −ln P(tree, words), where words are represented by their classes; a constituent's cost is
    −ln of the probability of its expansion into its children (so the costs and the word probabilities add up to the
    cost). With latent annotations the cost is −ln of the objective of the setting `decoder`: the product of posteriors
    or of q, or the probability of the complete ("viterbi") or of the observed tree ("rerank"). Costs of
    constituents are of the same kind, except for "rerank", whose costs are those of the candidate grammar.
    Status: "optimal" without pruning (or if pruning left no tree, so that everything was tried), "complete" with
    pruning or with supertags (spines).
    "fallback": the grammar has no tree for the sentence with these tags, so the tags were left open; or the tree is
    that of the coarse grammar; or, if that has none either, the fewest possible pieces were joined under TOP, each at
    GLUE_COST; or the sentence is longer than `max_tokens` and was parsed in pieces.

    Raises DtparseError if the numbers of words and tags differ, or if there are no words; ConfigError for a decoder
    that the model does not support.
    """

    model: PcfgModel
    name = KIND
    SELF_TEST_SETTINGS = PcfgSettings(prune=3e-4, beam=1e-5, max_tokens=150, decoder="max-rule")
    FORMAT = read_model, write_model
    DECISIONS = GrammarDecisions
    capabilities = frozenset({Capability.K_BEST, Capability.CONSTRAINTS, Capability.POSTERIORS, Capability.SUPERTAGS})

    def __init__(self, model: PcfgModel, settings: PcfgSettings | None = None, data: Data = None):
        super().__init__(model, settings, data)
        self._uses_given_tags = model.given_tags if self.settings.tags is None else self.settings.tags == "given"
        finer = len(model.fine.names) > len(model.coarse.names) or bool(model.latent)
        self._prunes = self.settings.prune > 0 and finer
        check_decoder(model, self.settings.decoder)
        self._latent = LatentDecoder(model, self.settings) if model.latent else None
        self._groups, self._names = model.groups(), tuple(model.labels)
        self._root = model.root(model.coarse)
        self._local = threading.local()
        self._masks = SpineMasks(model)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for label in self.model.labels if label != TOP)

    @cached_property
    def known_tags(self) -> frozenset[str]:
        """The parts of speech of the grammar."""
        return frozenset(self.model.tags.strings)

    @property
    def needs_tags(self) -> bool:
        """Whether a word may only have its input tag; otherwise the parser ignores input tags."""
        return self._uses_given_tags

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model and the current settings, as plain data: symbols, rules, word classes and tags of
        the observable grammar; latent values and their rules for each latent grammar and each pruning grammar."""
        model, settings = self.model, self.settings

        def sizes(parts: Sequence[LatentPart]) -> dict[str, Any]:
            values = [int(part.sizes.sum()) for part in parts]
            rules = [int(np.count_nonzero(part.values)) for part in parts]
            return {"grammars": len(parts), "latent values": values, "latent rules": rules}

        return {
            "tags": "given" if self._uses_given_tags else "own",
            "decoder": settings.decoder,
            "prune": settings.prune,
            "beam": settings.beam,
            "max_tokens": settings.max_tokens,
            "symbols": len(model.fine.names),
            "rules": len(model.fine.binary) + len(model.fine.unary),
            "word classes": len(model.words),
            "parts of speech": len(model.tags),
            **(sizes(model.latent) if model.latent else {}),
            **({f"pruning {name}": value for name, value in sizes(model.pruners).items()} if model.pruners else {}),
        }

    @property
    def vocabulary(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.model.words.classes.strings, ()  # an unknown tag is left open, so that a tree exists

    def golden_outputs(self, words: list[str], tags: list[str]) -> GoldenParse:
        return {"cost": self.parse(words, tags).cost}

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        return [self.parse(*sentence) for sentence in sentences]

    def parse(self, words: Sequence[str], tags: Sequence[str], spines: SupertagCandidates = ()) -> ParseResult:
        """Parse one sentence of raw words with their tags; never fails on a non-empty one. A tag that the grammar does
        not have leaves the word's tag open.

        `spines`: for each word its supertag candidates with their probabilities. The chart only allows
        symbols supported by spines whose probability is at least the first of the settings' `betas` times that of the
        word's most probable one. If that gives no tree, it uses the next of `betas`; the last chart allows everything.
        Raises DtparseError if the number of spines differs from the number of words, or if they are not pairs of text
        and probability. For a sentence in pieces `n_searches` is the maximum over the pieces.
        """
        check_supertags(spines, len(words))
        return self._results(words, tags, 1, spines)[0]

    def parse_k_best(
        self, words: Sequence[str], tags: Sequence[str], k: int, limit: TimeLimit | None = None
    ) -> ParseList:
        """Return the k best parses; see `Parser`. A margin is a difference of costs.

        There are fewer than k if 20 k derivations contain no more distinct trees (a tree may have several derivations),
        and only one if pieces were joined or the sentence was split. A chain of unary rules may go around a cycle.
        Raises DtparseError as `parse` does; ConfigError for k above 1 with decoder "viterbi" of a latent grammar, which
        finds only the best tree.
        """
        check_k(k)
        if self._latent is not None and self.settings.decoder == "viterbi" and k > 1:
            raise ConfigError(f"decoder 'viterbi' gives one tree, but k is {k}; use 'max-rule', 'q' or 'rerank'")
        limit = limit or TimeLimit()
        found = self._results(words, tags, k, limit=limit)
        first = found[0]
        if self.settings.decoder == "rerank" and k > self.settings.candidates_n:
            first = self.parse(words, tags)  # with fewer candidates
        reason = PIECES if len(words) > self.settings.max_tokens else DEADLINE if limit.reached else NO_MORE
        # the list is complete, so it is ranked without a limit
        return rank_parses(first, ((one.cost - first.cost, one) for one in found), k, TimeLimit(), reason)

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> Posteriors:
        """Return {(start, end, label): probability that the sentence's tree has such a constituent}, at least 1e-7.

        Probabilities are over all trees that remain after pruning, the mean if there are several latent grammars; the
        decoder does not matter. A tree with a label twice over one span counts twice; the total is capped at 1. If
        `parse` falls back to the coarse grammar, the probabilities are those of that grammar; without any tree there is
        only TOP; a long sentence is treated piece by piece. Raises DtparseError as `parse` does.
        """
        record, words_left, tags_left = self.preprocess(words, tags)
        if len(words_left) <= self.settings.max_tokens:
            found = self._posteriors(words_left, tags_left)
        else:
            found = {(0, len(words_left), TOP): 1.0}
            for first, last in iter_pieces(tags_left, self.settings.max_tokens):
                inner = self._posteriors(words_left[first:last], tags_left[first:last])
                found |= {(s + first, e + first, label): p for (s, e, label), p in inner.items() if label != TOP}
        kept_tokens = record.kept
        return {
            (
                0 if label == TOP else kept_tokens[start],
                len(words) if label == TOP else kept_tokens[end - 1] + 1,
                label,
            ): p
            for (start, end, label), p in found.items()
        }

    def parse_constrained(self, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
        """Parse under constraints, which restrict the chart; see `Parser`. Spines are not used. Raises
        DtparseError as `parse` does."""
        constraints.check(len(words), self.labels, words)
        return constraints.enforce(self._results(words, tags, 1, constraints=constraints)[0], self.labels)

    def _results(
        self,
        words: Sequence[str],
        tags: Sequence[str],
        k: int,
        spines: SupertagCandidates = (),
        constraints: Constraints | None = None,
        limit: TimeLimit | None = None,
    ) -> list[ParseResult]:
        record, words_left, tags_left = self.preprocess(words, tags)
        supertags = [spines[at] for at in record.kept] if spines else ()
        if len(words_left) <= self.settings.max_tokens:
            mapped = None if constraints is None else constraints.restrict_to(record.kept).without_chains(self.labels)
            parses = self._parse(words_left, tags_left, k, supertags, mapped, limit)
        else:
            pieces = list(iter_pieces(tags_left, self.settings.max_tokens))
            found_in_pieces = [self._parse(words_left[a:b], tags_left[a:b], 1, supertags[a:b])[0] for a, b in pieces]
            parses = [join_pieces(found_in_pieces, pieces)]
        results = []
        for found in parses:
            starts, ends, labels = zip(*found.spans, strict=True)
            tree = Tree.unchecked(words_left, tags_left, labels, starts, ends)
            tree, costs = self.restore(tree, tuple(found.costs), record)
            counts = found.n_items, found.n_tried, None, found.n_searches, found.ambiguity
            results.append(ParseResult(tree, costs, found.cost, found.status, *counts))
        return results

    def _attempts(
        self,
        classes: np.ndarray,
        tag_ids: np.ndarray,
        supertags: SupertagCandidates = (),
        constraints: Constraints | None = None,
    ) -> Iterator[_Attempt]:
        """Yield attempts, to be made in turn until one gives a tree.

        First come charts restricted by the constraints, or by the supertags. Then come unrestricted charts, first with
        the tags as given, then with open tags: each time the finer grammars with pruning, the finer grammars without
        pruning, and the coarse grammar, which derives everything that a finer one does.
        """
        model, n, threshold = self.model, len(classes), self.settings.prune
        target = None if self._latent else model.fine

        def prune(coarse: tuple[np.ndarray, np.ndarray], given: np.ndarray = EVERYTHING) -> np.ndarray | None:
            root, beam = self._root, self.settings.beam
            total, allowed = self._buffers().posterior(model.coarse, *coarse, root, beam, threshold, given)
            return allowed if total > -np.inf else None

        n_searches = 0
        masks = list(constraint_masks(model, n, constraints)) if constraints else []
        for given in (tag_ids, None) if self._uses_given_tags else (None,):
            leaves, coarse = model.fine.leaves(classes, given), model.coarse.leaves(classes, given)
            for allowed in [prune(coarse, one) if self._prunes else one for one in masks]:
                n_searches += 1
                if allowed is not None:
                    yield _Attempt(target, leaves, given, allowed, True, "complete", n_searches)
            for one in masks:
                n_searches += 1
                yield _Attempt(model.coarse, coarse, given, one, True, "complete", n_searches)
        for mask in self._masks_of(supertags):
            n_searches += 1
            given = tag_ids if self._uses_given_tags else None
            allowed = prune(model.coarse.leaves(classes, given), mask.allowed) if self._prunes else mask.allowed
            if allowed is not None:
                leaves = model.fine.leaves(classes, given)
                yield _Attempt(target, leaves, given, allowed, True, "complete", n_searches, mask.n_supertags / n)
        n_searches += 1
        for given in (tag_ids, None) if self._uses_given_tags else (None,):
            status = "fallback" if given is None and self._uses_given_tags else ""
            coarse = model.coarse.leaves(classes, given)
            fine = coarse if model.fine is model.coarse else model.fine.leaves(classes, given)
            allowed = prune(coarse) if self._prunes else None
            if allowed is not None:
                yield _Attempt(target, fine, given, allowed, True, status or "complete", n_searches)
            # without a beam, pruning removes nothing that the coarse grammar derives
            if not self._prunes or (n <= RETRY_TOKENS and (allowed is not None or self.settings.beam > 0)):
                if target is not None:
                    yield _Attempt(target, fine, given, EVERYTHING, False, status or "optimal", n_searches)
                elif prune == 0 or n <= LATENT_RETRY_TOKENS:
                    yield _Attempt(None, fine, given, EVERYTHING, False, status or "complete", n_searches)
            yield _Attempt(model.coarse, coarse, given, EVERYTHING, False, "fallback", n_searches)

    def _masks_of(self, supertags: SupertagCandidates) -> Iterator[Mask]:
        """Yield the mask of the supertags within each of the `betas`, skipping masks equal to the one before."""
        n_supertags = 0
        for beta in self.settings.betas if supertags else ():
            mask = self._masks.mask(supertags, beta)
            if mask is not None and mask.n_supertags != n_supertags:
                n_supertags = mask.n_supertags
                yield mask

    def _parse(
        self,
        words: Sequence[str],
        tags: Sequence[str],
        k: int = 1,
        supertags: SupertagCandidates = (),
        constraints: Constraints | None = None,
        limit: TimeLimit | None = None,
    ) -> list[ChartParse]:
        """Return the best parses, at most k and at least one, of a sentence that is short enough for a chart."""
        limit = limit or TimeLimit()
        model, n_items, n_tried = self.model, 0, 0
        classes = model.words.encode(words)
        for one in self._attempts(classes, model.tags.encode(tags), supertags, constraints):
            if one.grammar is None:
                assert self._latent is not None
                narrow = one.pruned and self._prunes
                trees = self._latent.trees(classes, one.given, self._cells(one, len(words)), narrow, k, self._buffers())
                found = distinct_parses((self._to_chart_parse(tree, one.status) for tree in trees), k, limit)
            else:
                groups = self._groups if one.pruned else NO_GROUPS
                chart = self._buffers().fill(one.grammar.kernel, *one.leaves, one.allowed, groups)
                n_items, n_tried = n_items + len(chart.items), n_tried + chart.tried
                found = self._read_chart(chart, one.grammar, one.leaves, one.status, k, limit)
            if found:
                break
        else:
            found = [glue(chart, len(words), model.coarse, self._root, self._names)]
        return [
            parse._replace(
                n_items=n_items, n_tried=parse.n_tried + n_tried, n_searches=one.n_searches, ambiguity=one.ambiguity
            )
            for parse in found
        ]

    def _cells(self, one: _Attempt, n: int) -> np.ndarray:
        """Return the allowed symbols of each cell, uint8 (cells, coarse symbols)."""
        return one.allowed if one.pruned else np.ones((n * (n + 1) // 2, len(self.model.coarse.names)), np.uint8)

    def _to_chart_parse(self, found: Decoded, status: str) -> ChartParse:
        shown = constituents(found.steps, self.model.coarse, self._names)
        return ChartParse(*shown, 0.0 - found.score, status, 0, found.n_rules)

    def _buffers(self) -> Buffers:
        if "buffers" not in vars(self._local):
            self._local.buffers = Buffers()
        return self._local.buffers

    def _read_chart(
        self,
        chart: Chart,
        grammar: PcfgGrammar,
        words: tuple[np.ndarray, np.ndarray],
        status: str,
        k: int,
        limit: TimeLimit,
    ) -> list[ChartParse]:
        """Return the k best parses with distinct trees, [] if the root has no derivation. `words`: the leaves."""
        root, n = self.model.root(grammar), len(words[1]) - 1
        steps = chart.derivation(0, n, root)
        if not len(steps):
            return []
        found = chain([(chart.score(0, n, root), steps)], chart_trees(chart, *words, root) if k > 1 else ())
        trees = (
            ChartParse(*chart_constituents(steps, grammar, self._names), 0.0 - log, status) for log, steps in found
        )
        return distinct_parses(trees, k, limit)

    def _posteriors(self, words: Sequence[str], tags: Sequence[str]) -> dict[tuple[int, int, str], float]:
        """Return the posteriors of constituents of a short sentence, by the first grammar that has a tree."""
        model, n = self.model, len(words)
        classes = model.words.encode(words)
        for one in self._attempts(classes, model.tags.encode(tags)):
            cells, grammar = self._cells(one, n), one.grammar or model.coarse
            if one.grammar is None:
                assert self._latent is not None
                expected_counts = self._latent.expected_counts(classes, one.given, cells, one.pruned)
            else:
                expected_counts = plain_expected_counts(grammar, one.leaves, cells, model.root(grammar))
            if expected_counts is not None:
                return label_posteriors(expected_counts, grammar, self._names, n)
        return {(0, n, TOP): 1.0}


__all__ = ["GLUE_COST", "KIND", "PcfgParser"]
