"""The boosted-tree parser: maps words and tags to a tree that covers every token."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ..core.calibration import NO_SPAN_MODEL
from ..core.constraints import Constraints
from ..core.kbest import DEADLINE, NO_MORE, check_k, rank_parses
from ..core.parser import Capability, Decisions, ParseList, Parser, ParseResult, Posteriors, TaggedWords
from ..core.pieces import iter_batches
from ..core.registry import CONSTITUENTS, SPAN_MODEL_KINDS, parser_from_bytes
from ..core.self_test import GoldenParse, Strings
from ..core.settings import SearchSettings
from ..core.stored import Data, RecipeParser
from ..core.supertags import SupertagCandidates, check_supertags
from ..core.time_limit import TimeLimit
from ..dtypes import OFFSET
from ..errors import DtparseError, ModelFormatError
from ..jit.warmup import kernels_for
from ..model_io.container import container_kind
from ..model_io.file_backed import FileBackedBytes
from ..trees.heads import head_rules
from ..trees.transforms import Removal
from ..trees.tree import Tree
from .constrained import search_constrained
from .decisions import DtreeDecisions
from .encoder import EncodedBatch, Preprocessed, encode_batch
from .kbest import alternatives
from .kernels.batch import Parses
from .kernels.features import TAG
from .kernels.search import STATUSES
from .model.bundle import KIND, SPAN_MODEL_ARRAY, read_model, write_model
from .model.model import CompiledDtree, DtreeModel, compile_model
from .pruner import SpinePruner
from .repair import Repair
from .searcher import Searcher


class DtreeParser(RecipeParser, Parser):
    """Parses with a DtreeModel. Safe to use from several threads; the same input gives the same bits in any of them.

    The `span_parser`, if any, encodes a batch once, for its marginals, which are features of the trees, for repairs of
    the tree, and for probabilities. The `searcher` finds the tree, `repairs` change it.

    Raises DtparseError if the numbers of words and tags differ, or if a word is empty.
    """

    model: DtreeModel
    name = KIND
    SELF_TEST_SETTINGS = SearchSettings(
        shift_threshold=math.inf, window_filter=0.002, marginal_weight=0.5, commit_threshold=1.0
    )
    """Greedy parsing, with the window filter if the model has one."""

    FORMAT = read_model, write_model

    def __init__(
        self,
        model: DtreeModel,
        settings: SearchSettings | None = None,
        data: Data = None,
        compiled: CompiledDtree | None = None,
        span_parser: Any = None,
    ):
        super().__init__(model, settings, data)
        self.span_parser: Any = span_parser
        if span_parser is None and model.span_model:
            data = bytes(model.span_model)
            if container_kind(data) not in SPAN_MODEL_KINDS:
                raise ModelFormatError(
                    f"the span model inside the model is of kind {container_kind(data)!r}; it must be one of "
                    f"{', '.join(SPAN_MODEL_KINDS)}: fetch or write the model again"
                )
            # no self-test: that of the trees covers it
            self.span_parser = parser_from_bytes(data, CONSTITUENTS, self_test=False)
        if self.span_parser is not None and self.span_parser.chain_names != model.lexicon.chains.strings:
            raise ModelFormatError(
                "the span model inside the model has other label chains than its trees were trained with; fetch or "
                "write the model again"
            )
        self.compiled = compiled or compile_model(model)
        self.searcher = Searcher(model, self.compiled)
        self.repairs = Repair(model, self.span_parser, self.settings.attach_unattached)
        self._pruner = SpinePruner(model.lexicon.labels.strings)
        usual = head_rules(model.meta.get("lang", ""))
        self._custom_heads = None if model.heads == usual else model.heads

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Supertags are not used if the model has very many labels, nor if it has a span model, which prunes more."""
        found = {Capability.K_BEST, Capability.CONSTRAINTS, Capability.BUDGET}
        if self.span_parser is not None:
            found.add(Capability.POSTERIORS)
            found |= self.span_parser.capabilities & {Capability.SECOND_TAGS}
        elif self._pruner.usable:
            found.add(Capability.SUPERTAGS)
        return frozenset(found)

    @property
    def missing_posteriors(self) -> str:
        return NO_SPAN_MODEL

    @property
    def labels(self) -> tuple[str, ...]:
        return self.model.lexicon.labels.strings[:-1]

    @property
    def vocabulary(self) -> tuple[Strings, Strings]:
        return self.model.lexicon.words, self.model.lexicon.tags

    @property
    def lexicons(self) -> tuple[Strings, ...]:
        """The words of the model and of its span model."""
        return super().lexicons + (() if self.span_parser is None else self.span_parser.lexicons)

    def _with_test_settings(self) -> DtreeParser:
        return self

    def _with(self, settings: SearchSettings) -> DtreeParser:
        return DtreeParser(self.model, settings, self._data, self.compiled, self.span_parser)

    def mmap_model(self, path: Path) -> None:
        super().mmap_model(path)
        if self.span_parser is not None and isinstance(self._data, FileBackedBytes):
            part = self._data.part(SPAN_MODEL_ARRAY)
            self.span_parser.replace_data(part)
            self.model = replace(self.model, span_model=part)

    @property
    def tolerance(self) -> float:
        """Return the span model's tolerance, if there is one: costs depend on its marginals."""
        return self.TOLERANCE if self.span_parser is None else float(self.span_parser.tolerance)

    def golden_outputs(self, words: list[str], tags: list[str]) -> GoldenParse:
        """Return the constituents and the cost of the greedy parse."""
        tokens = self.encode(words, tags, self.SELF_TEST_SETTINGS)
        items, cost, _, _ = self.searcher.search(tokens, 0, self.SELF_TEST_SETTINGS)
        return {"items": items.tolist(), "cost": cost}

    def encode(self, words: Sequence[str], tags: Sequence[str], settings: SearchSettings | None = None) -> np.ndarray:
        """Return the token matrix of a sentence, with span marginals if there is a span model; settings None: those of
        the parser."""
        kept = Removal(tuple(words), tuple(tags), tuple(range(len(words))))
        batch = encode_batch(self.model, self.span_parser, [(kept, list(words), list(tags))])
        return batch.tokens(settings or self.settings)[0]

    def encode_sentence(self, words: Sequence[str], tags: Sequence[str], posteriors: bool = False) -> EncodedBatch:
        """Preprocess a sentence and encode it, as a batch of one; `posteriors`: see `encode_batch`."""
        return encode_batch(self.model, self.span_parser, [self.preprocess(words, tags)], posteriors)

    def parse(self, words: Sequence[str], tags: Sequence[str], spines: SupertagCandidates = ()) -> ParseResult:
        """Parse one sentence of raw words with their tags.

        Never fails on a non-empty sentence: `status` is "optimal" if the parse is proven optimal, "complete" if it is
        the best found within the budget, "greedy", or "fallback" if it was joined because no inference was possible.

        `spines`: for each word its supertag candidates with their probabilities. The search allows those
        whose probability is at least the first of the settings' `betas` times that of the word's most probable one. If
        that gives no complete parse, it uses the next of `betas`; the last search is not pruned. A status of "optimal"
        then refers to the pruned search space.
        """
        if not spines:
            return self.parse_batch([(words, tags)])[0]
        prepared = self.preprocess(words, tags)
        check_supertags(spines, len(words))
        if Capability.SUPERTAGS not in self.capabilities:
            return self.parse_batch([(words, tags)])[0]
        batch = encode_batch(self.model, None, [prepared])
        tokens, _ = batch.tokens(self.settings)
        used_spines = [spines[k] for k in prepared[0].kept]
        parses, counts, n_searches, ambiguity = self._search_with_supertags(tokens, used_spines)
        return self.repaired_result(
            batch, 0, tokens, parses.items, parses.item_costs, float(parses.costs[0]), STATUSES[parses.statuses[0]],
            counts, n_searches, ambiguity,
        )  # fmt: skip

    def parse_constrained(self, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
        """Parse under constraints; see `Parser` and `dtparse.constrained`. Spines are not used."""
        constraints.check(len(words), self.labels, words)
        return constraints.enforce(search_constrained(self, words, tags, constraints), self.labels)

    def parse_k_best_constrained(
        self, words: Sequence[str], tags: Sequence[str], constraints: Constraints, k: int,
        limit: TimeLimit | None = None,
    ) -> ParseList:  # fmt: skip
        """Return the parse and the other trees that the span model finds best, if there is one; see `Parser`."""
        check_k(k)
        limit = limit or TimeLimit()
        first = self.parse_constrained(words, tags, constraints)
        if k == 1 or self.span_parser is None or not set(self.span_parser.labels) <= set(self.labels):
            return rank_parses(first, (), k, limit)
        record, words_left, tags_left = self.preprocess(words, tags)
        known = Constraints(one for one in constraints if set(one.labels) <= set(self.span_parser.labels))
        if limit.is_over():
            return rank_parses(first, (), k, limit)
        others = self.span_parser.parse_k_best_constrained(
            words_left, tags_left, known.restrict_to(record.kept), k, limit
        )
        restored = ((one, *self.restore(one.tree, one.costs, record)) for one in others)
        parses = ((one.margin, replace(one, tree=tree, costs=costs)) for one, tree, costs in restored)
        return rank_parses(
            first, ((margin, constraints.enforce(one, self.labels)) for margin, one in parses), k, TimeLimit(),
            DEADLINE if limit.reached else NO_MORE,
        )  # fmt: skip

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """Parse all sentences (words, tags): the same results as one by one in less time."""
        results: list[ParseResult] = []
        with kernels_for(KIND, sum(len(words) for words, _ in sentences)):
            for part in self._parts(sentences):
                results += self._parse_encoded(encode_batch(self.model, self.span_parser, part))
        return results

    def parse_with_posteriors(self, sentences: Sequence[TaggedWords]) -> list[tuple[ParseResult, Posteriors]]:
        """Return the parse and the `span_posteriors` of each sentence, from one run of the span model."""
        if self.span_parser is None:
            raise DtparseError(NO_SPAN_MODEL)
        found: list[tuple[ParseResult, Posteriors]] = []
        with kernels_for(KIND, sum(len(words) for words, _ in sentences)):
            for part in self._parts(sentences):
                batch = encode_batch(self.model, self.span_parser, part, True)
                found += zip(self._parse_encoded(batch), self._posteriors_of(batch), strict=True)
        return found

    def explain(
        self, words: Sequence[str], tags: Sequence[str], spines: SupertagCandidates = (), limit: TimeLimit | None = None
    ) -> Decisions:
        """Return the decisions of the parse, with the rules that fired."""
        with kernels_for(KIND, len(words)):
            batch = self.encode_sentence(words, tags, self.span_parser is not None)
            result = self.parse(words, tags, spines) if spines else self._parse_encoded(batch)[0]
            posteriors = self._posteriors_of(batch)[0] if self.span_parser is not None else {}
        return DtreeDecisions(self, result, posteriors, batch, limit or TimeLimit())

    def _posteriors_of(self, batch: EncodedBatch) -> list[Posteriors]:
        """Return the `span_posteriors` of each sentence of a batch."""
        listed = self.span_parser.listed_posteriors(batch.listing, [one[1:] for one in batch.prepared])
        return [
            # posteriors are those of the given words, not of those that preprocessing leaves
            own if len(record.kept) == len(record.words) else self.span_posteriors(record.words, record.tags)
            for (record, *_), own in zip(batch.prepared, listed, strict=True)
        ]

    def _parts(self, sentences: Sequence[TaggedWords]) -> Iterator[list[Preprocessed]]:
        """Yield the preprocessed sentences in parts, of which either all or none are parsed greedily."""
        prepared = [self.preprocess(*sentence) for sentence in sentences]
        for _, part in groupby(prepared, lambda one: self.settings.budget_for(len(one[1])) > 0):
            yield from iter_batches(list(part), lambda one: len(one[1]))

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> Posteriors:
        """Return the span model's probabilities of constituents; see `SpanParser.span_posteriors`. Raises DtparseError
        if the model has no span model."""
        if self.span_parser is None:
            raise DtparseError(NO_SPAN_MODEL)
        return self.span_parser.span_posteriors(words, tags)

    def parse_k_best(
        self, words: Sequence[str], tags: Sequence[str], k: int, limit: TimeLimit | None = None
    ) -> ParseList:
        """Return the k best parses; see `Parser` and, for the search space, `dtparse.kbest`. Spines are not used."""
        check_k(k)
        with kernels_for(KIND, len(words)):
            batch = self.encode_sentence(words, tags)
            (first,) = self._parse_encoded(batch)
        limit = limit or TimeLimit()
        found = list(alternatives(self, first, batch, k, limit)) if k > 1 and not limit.is_over() else []
        # the list is complete, so it is ranked without a limit
        return rank_parses(first, found, k, TimeLimit(), DEADLINE if limit.reached else NO_MORE)

    def _parse_encoded(self, batch: EncodedBatch) -> list[ParseResult]:
        """Return the parses of a batch; either all or none of its sentences are parsed greedily."""
        token_offsets, n_tokens = batch.token_offsets, np.diff(batch.token_offsets).tolist()
        tokens, row_offsets = batch.tokens(self.settings)
        parses = self.searcher.search_all(
            tokens, row_offsets, token_offsets, list(map(self.settings.budget_for, n_tokens)), self.settings,
            symbols=np.ascontiguousarray(batch.columns[:, TAG]),
        )  # fmt: skip
        to_repair = self.repairs.sentences_to_repair(parses, tokens, row_offsets, token_offsets, batch.tags)
        statuses, totals, counts = parses.statuses.tolist(), parses.costs.tolist(), parses.counts.tolist()
        ends, items, costs = parses.offsets.tolist(), parses.items.T.tolist(), parses.item_costs.tolist()
        names, found = self.model.lexicon.labels.strings, []
        for s, (record, words, tags) in enumerate(batch.prepared):
            status, here = STATUSES[statuses[s]], slice(ends[s], ends[s + 1])
            if s in to_repair or (status == "fallback" and self.span_parser is not None):
                rows = tokens[row_offsets[s] : row_offsets[s + 1]]
                result = self.repaired_result(
                    batch, s, rows, parses.items[here], parses.item_costs[here], totals[s], status, counts[s]
                )
            else:
                starts, stops, labels = (column[here] for column in items)
                tree = Tree.unchecked(words, tags, [names[label] for label in labels], starts, stops)
                result = self._make_result(tree, costs[here], record, totals[s], status, counts[s])
            found.append(result)
        return found

    def repaired_result(
        self, batch: EncodedBatch, s: int, tokens: np.ndarray, items: np.ndarray, costs: np.ndarray, cost: float,
        status: str, counts: list[int], n_searches: int = 1, ambiguity: float | None = None,
    ) -> ParseResult:  # fmt: skip
        """Return the parse of sentence s of a batch after repairs by the span model; its own parse if the search found
        none. `tokens`: the token matrix of the sentence."""
        record, words, tags = batch.prepared[s]
        if status == "fallback" and self.span_parser is not None:
            parse = self.span_parser.parse_sentence((words, tags), batch.encoded, s)
            if set(parse.tree.labels) <= set(self.model.lexicon.labels):
                tree, restored = self.restore(parse.tree, parse.costs, record)
                return ParseResult(tree, restored, parse.cost, status, counts[0], counts[1], None, n_searches)
        if status != "fallback":
            items, costs = self.repairs.repair(tokens, tags, items, costs, batch.encoded, s)
        names = self.model.lexicon.labels.strings
        starts, ends, label_ids = items.T.tolist()
        tree = Tree.unchecked(words, tags, [names[label] for label in label_ids], starts, ends)
        return self._make_result(tree, costs.tolist(), record, cost, status, counts, n_searches, ambiguity)

    def _make_result(
        self, tree: Tree, costs: list[float], record: Removal, cost: float, status: str, counts: list[int],
        n_searches: int = 1, ambiguity: float | None = None,
    ) -> ParseResult:  # fmt: skip
        """Return the result over all words, from a tree over the preprocessed words; `counts`: as in `Parses`."""
        tree, restored = self.restore(tree, tuple(costs), record)
        proven = bool(counts[2]) if status == "optimal" else None
        return ParseResult(tree, restored, cost, status, counts[0], counts[1], proven, n_searches, ambiguity)

    def _search_with_supertags(
        self, tokens: np.ndarray, supertags: SupertagCandidates
    ) -> tuple[Parses, list[int], int, float | None]:
        """Search with supertags: (parse, total counts of all searches, number of searches, mean spines per token in the
        last search, None if it allowed all)."""
        n = len(tokens)
        ends, budgets = (np.array([0, n]),) * 2, [self.settings.budget_for(n)]
        total_counts = np.zeros(4, dtype=OFFSET)
        n_searches = n_spines = 0
        for beta in self.settings.betas:
            found = self._pruner.pruning(supertags, beta)
            if found is not None and found.n_spines != n_spines:  # the number differs if and only if the spines do
                n_searches, n_spines = n_searches + 1, found.n_spines
                parses = self.searcher.search_all(tokens, *ends, budgets, self.settings, found)
                total_counts[2] = 0
                total_counts += parses.counts[0]
                if STATUSES[parses.statuses[0]] != "fallback":
                    return parses, total_counts.tolist(), n_searches, found.n_spines / n
        parses = self.searcher.search_all(tokens, *ends, budgets, self.settings)
        total_counts[2] = 0
        return parses, (total_counts + parses.counts[0]).tolist(), n_searches + 1, None


__all__ = ["KIND", "DtreeParser"]
