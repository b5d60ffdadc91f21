"""The boosted-tree parser: maps words and tags to a tree that covers every token."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.calibration import NO_SPAN_MODEL
from ..core.constraints import Constraints
from ..core.kbest import check_k, rank_parses
from ..core.parser import ParseResult, TaggedWords
from ..core.registry import CONSTITUENTS, SPAN_MODEL_KINDS, parser_from_bytes
from ..core.self_test import GoldenParse, Strings
from ..core.settings import SearchSettings
from ..core.stored import Data, RecipeParser
from ..core.supertags import SupertagCandidates, SupertagIndex, check_supertags
from ..dtypes import INDEX, OFFSET, POSITIONS, SIDES
from ..errors import DtparseError, ModelFormatError
from ..jit.warmup import kernels_for
from ..model_io.container import container_kind
from ..model_io.file_backed import FileBackedBytes
from ..trees.heads import HeadRules, head_rules
from ..trees.transforms import Removal
from ..trees.tree import Tree
from .constrained import search_constrained
from .features.marginals import batch_with_marginals, with_marginals
from .kbest import alternatives
from .kernels.batch import Parses, Sentences, make_workspace, search_all
from .kernels.features import TAG
from .kernels.marginals import CHAIN as MARGINAL_CHAIN
from .kernels.marginals import CHAIN_PROB, COLUMNS, END, LAST_SPAN, count_tokens
from .kernels.pruning import LIKELY
from .kernels.search import STATUSES
from .kernels.spines import CHAIN, MAX_LABELS, MAX_SPINES, fill_levels, no_supertags
from .model.bundle import KIND, SPAN_MODEL_ARRAY, read_model, write_model
from .model.model import CompiledDtree, DtreeModel, compile_model

Preprocessed = tuple[Removal, list[str], list[str]]
"""A preprocessed sentence: the record of the changes, the remaining words, their tags."""
_MAX_CACHED_STATES, _MAX_CACHED_ENTRIES = 1 << 18, 1 << 15
"""A larger agenda (states) or cache (entries) is freed after a batch, so that memory stays small."""
EXHAUSTIVE = SearchSettings(shift_threshold=math.inf, window_filter=0, commit_threshold=1.0)
"""Settings that skip nothing."""


class DtreeParser(RecipeParser):
    """Parses with a DtreeModel. Safe to use from several threads; the same input gives the same bits in any of them.

    Raises DtparseError if the numbers of words and tags differ, or if a word is empty.
    """

    model: DtreeModel
    name = KIND
    SELF_TEST_SETTINGS = SearchSettings(shift_threshold=math.inf, window_filter=0.002, commit_threshold=1.0)
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
        names = model.lexicon.labels.strings
        # maps of label ids: from the span model's labels to the model's, and back
        self._from_span_labels = self._to_span_labels = np.zeros(0, dtype=INDEX)
        if self.span_parser is not None and set(self.span_parser.labels) <= set(names):
            self._from_span_labels = np.array([names.index(label) for label in self.span_parser.labels], dtype=INDEX)
            known = {label: label_id for label_id, label in enumerate(self.span_parser.labels)}
            self._to_span_labels = np.array([known.get(label, -1) for label in names], dtype=INDEX)
        self._repeated_chains = self._find_repeated_chains()
        self._is_repeated = np.zeros(max(1, len(model.lexicon.chains)), dtype=np.bool_)
        self._is_repeated[list(self._repeated_chains)] = True
        self._no_supertags = no_supertags()
        usual = head_rules(model.meta.get("lang", ""))
        self._custom_heads = None if model.heads == usual else model.heads
        self._local = threading.local()
        self._spine_pruner = SpinePruner(model.lexicon.labels.strings)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of constituents, without TOP."""
        return self.model.lexicon.labels.strings[:-1]

    @property
    def head_rules(self) -> HeadRules | None:
        """The head rules of the model; None if they are the standard ones of its language."""
        return self._custom_heads

    def _vocabulary(self) -> tuple[Strings, Strings]:
        return self.model.lexicon.words, self.model.lexicon.tags

    def _with_test_settings(self) -> DtreeParser:
        return self

    def _with(self, settings: SearchSettings) -> DtreeParser:
        return DtreeParser(self.model, settings, self._data, self.compiled, self.span_parser)

    def mmap_model(self, path: Path) -> None:
        super().mmap_model(path)
        if self.span_parser is not None and isinstance(self._data, FileBackedBytes):
            self.span_parser._data = self._data.part(SPAN_MODEL_ARRAY)
            self.model = replace(self.model, span_model=self.span_parser._data)

    def _golden_outputs(self, words: list[str], tags: list[str]) -> GoldenParse:
        items, cost, _, _ = self._search(self.encode(words, tags, self.SELF_TEST_SETTINGS), 0, self.SELF_TEST_SETTINGS)
        return {"items": items.tolist(), "cost": cost}

    def encode(self, words: Sequence[str], tags: Sequence[str], settings: SearchSettings | None = None) -> np.ndarray:
        """Return the token matrix of a sentence, with span marginals if there is a span model; settings None: those of
        the parser."""
        columns = self.model.lexicon.encode(words, tags)
        if self.span_parser is None:
            return columns
        used = settings or self.settings
        return with_marginals(
            columns, self.span_parser.marginals([(words, tags)])[0], used.marginal_weight, used.commit_threshold
        )

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> dict[tuple[int, int, str], float]:
        """Return the span model's probabilities of constituents; see `SpanParser.span_posteriors`. Raises DtparseError
        if the model has no span model."""
        if self.span_parser is None:
            raise DtparseError(NO_SPAN_MODEL)
        return self.span_parser.span_posteriors(words, tags)

    def _search(
        self, tokens: np.ndarray, budget: int, settings: SearchSettings = EXHAUSTIVE, pruning: Pruning | None = None
    ) -> tuple[np.ndarray, float, str, np.ndarray]:
        """Parse one token matrix: (items int32 (m, 3): start, end, label in pre-order; cost; status; counts)."""
        parses = self._search_all(
            tokens, np.array([0, len(tokens)]), np.array([0, count_tokens(tokens)]), [budget], settings, pruning
        )
        return parses.items, float(parses.costs[0]), STATUSES[parses.statuses[0]], parses.counts[0]

    def _search_all(
        self, tokens: np.ndarray, row_offsets: np.ndarray, token_offsets: np.ndarray, budgets: Sequence[int],
        settings: SearchSettings, pruning: Pruning | None = None, k: int = 1, constraints: np.ndarray | None = None,
        symbols: np.ndarray | None = None,
    ) -> Parses:  # fmt: skip
        """Return the k best parses of token matrices, sentence s in the rows [`row_offsets[s]`, `row_offsets[s + 1]`)
        of `tokens`.

        `token_offsets`: cumulative numbers of their tokens, from 0. Either all or none of the budgets are 0; k > 1
        needs a positive budget. `pruning`, `constraints` (in the format of `dtparse.kernels.constraints`): for a single
        sentence only. `symbols` int32 (tokens,): ids of all tags, if they are computed already.
        """
        local, searches = self._local, budgets[0] > 0
        n = int(np.diff(token_offsets).max())
        if getattr(local, "capacity", 0) < n:
            local.capacity, local.workspaces = max(64, 2 * n) if n <= 4096 else n, {}
            local.scratch = self.compiled.scratch(local.capacity)
        workspace = local.workspaces.get(searches) or make_workspace(
            self.compiled.search, local.capacity, local.scratch, searches
        )
        if symbols is None:
            is_token = np.ones(len(tokens), dtype=np.bool_)
            if tokens.shape[1] == COLUMNS:
                positions = np.arange(len(tokens)) - np.repeat(row_offsets[:-1], np.diff(row_offsets))
                is_token = positions < np.repeat(np.diff(token_offsets), np.diff(row_offsets))
            symbols = np.ascontiguousarray(tokens[is_token, TAG])
        supertags = self._no_supertags
        if pruning is not None:
            supertags = supertags._replace(
                levels=pruning.levels, chains=np.zeros(len(workspace.nodes.item), dtype=CHAIN)
            )
        if constraints is not None:
            supertags = supertags._replace(constraints=constraints)
        parses, workspace = search_all(
            self.compiled.search,
            Sentences(tokens, row_offsets, symbols, token_offsets, np.array(budgets, OFFSET)),
            float(settings.shift_threshold),
            self.model.window_filter.min_margin(settings.window_filter),
            supertags,
            workspace,
            k,
        )
        if len(workspace.agenda.states) <= _MAX_CACHED_STATES and len(workspace.cache.entries) <= _MAX_CACHED_ENTRIES:
            local.workspaces[searches] = workspace
        else:
            local.workspaces.pop(searches, None)
        return parses

    @property
    def reads_spines(self) -> bool:
        """Whether `parse` uses supertags (spines): not if the model has very many labels, nor if it has a span model,
        which prunes more."""
        return self._spine_pruner.usable and self.span_parser is None

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
        record, words_left, tags_left = self._preprocess(words, tags)
        check_supertags(spines, len(words))
        if not self.reads_spines:
            return self.parse_batch([(words, tags)])[0]
        tokens = self.encode(words_left, tags_left)
        parses, counts, n_searches, ambiguity = self._search_with_supertags(tokens, [spines[k] for k in record.kept])
        return self._repair(
            record, words_left, tags_left, parses.items, parses.item_costs, float(parses.costs[0]),
            STATUSES[parses.statuses[0]], counts, tokens, n_searches, ambiguity,
        )  # fmt: skip

    def parse_constrained(self, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
        """Parse under constraints; see `ConstrainedParser` and `dtparse.constrained`. Spines are not used."""
        constraints.check(len(words), self.labels, words)
        return constraints.enforce(search_constrained(self, words, tags, constraints), self.labels)

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """Parse all sentences (words, tags): the same results as `parse` in less time."""
        prepared = [self._preprocess(*sentence) for sentence in sentences]
        results: list[ParseResult] = []
        with kernels_for(KIND, sum(len(one[1]) for one in prepared)):
            for _, part in groupby(prepared, lambda one: self.settings.budget_for(len(one[1])) > 0):
                results += self._parse_all(list(part))
        return results

    def parse_k_best(self, words: Sequence[str], tags: Sequence[str], k: int) -> list[ParseResult]:
        """Return the k best parses; see `KBestParser` and, for the search space, `dtparse.kbest`. Spines are not
        used."""
        check_k(k)
        first = self.parse(words, tags)
        return rank_parses(first, alternatives(self, first, words, tags, k), k)

    def _parse_all(self, prepared: Sequence[Preprocessed]) -> list[ParseResult]:
        """Parse preprocessed sentences; either all or none of them are parsed greedily."""
        words, tags = [text for one in prepared for text in one[1]], [text for one in prepared for text in one[2]]
        lengths = [len(one[1]) for one in prepared]
        token_offsets = np.cumsum([0, *lengths], dtype=OFFSET)
        tokens = columns = self.model.lexicon.encode(words, tags)
        row_offsets = token_offsets
        if self.span_parser is not None:
            marginals, span_offsets = self.span_parser.marginals_batch([one[1:] for one in prepared])
            tokens, row_offsets = batch_with_marginals(
                columns,
                token_offsets,
                marginals,
                span_offsets,
                self.settings.marginal_weight,
                self.settings.commit_threshold,
            )
        budgets = list(map(self.settings.budget_for, lengths))
        symbols = np.ascontiguousarray(columns[:, TAG])
        parses = self._search_all(tokens, row_offsets, token_offsets, budgets, self.settings, symbols=symbols)
        to_repair = self._sentences_to_repair(parses, tokens, row_offsets, token_offsets, tags)
        statuses, totals, counts = parses.statuses.tolist(), parses.costs.tolist(), parses.counts.tolist()
        ends, items, costs = parses.offsets.tolist(), parses.items.T.tolist(), parses.item_costs.tolist()
        names, found = self.model.lexicon.labels.strings, []
        for s, (record, words_left, tags_left) in enumerate(prepared):
            status = STATUSES[statuses[s]]
            if s in to_repair or (status == "fallback" and self.span_parser is not None):
                here = slice(ends[s], ends[s + 1])
                result = self._repair(
                    record, words_left, tags_left, parses.items[here], parses.item_costs[here], totals[s], status,
                    counts[s], tokens[row_offsets[s] : row_offsets[s + 1]],
                )  # fmt: skip
            else:
                starts, stops, labels = (column[ends[s] : ends[s + 1]] for column in items)
                tree = Tree.unchecked(words_left, tags_left, [names[label] for label in labels], starts, stops)
                result = self._make_result(tree, costs[ends[s] : ends[s + 1]], record, totals[s], status, counts[s])
            found.append(result)
        return found

    def _sentences_to_repair(
        self,
        parses: Parses,
        tokens: np.ndarray,
        row_offsets: np.ndarray,
        token_offsets: np.ndarray,
        tags: Sequence[str],
    ) -> set[int]:
        """Return which sentences of a batch may need a repeated label over a span or have unattached tokens."""
        if not (self.settings.attach_unattached and len(self._from_span_labels)):
            return set()
        span_items = parses.items.copy()
        span_items[:, 2] = self._to_span_labels[span_items[:, 2]]
        has_unattached_tokens = self.span_parser.has_unattached(tags, token_offsets, span_items, parses.offsets)
        to_repair = set(np.flatnonzero(has_unattached_tokens).tolist())
        if self._repeated_chains:
            likely_rows = np.flatnonzero(tokens[:, CHAIN_PROB] >= LIKELY)
            likely_rows = likely_rows[self._is_repeated.take(tokens[likely_rows, MARGINAL_CHAIN], mode="clip")]
            if len(likely_rows):
                sentence_ids = np.searchsorted(row_offsets, likely_rows, side="right") - 1
                # the rows of a sentence after those of its tokens are its marginals
                to_repair |= set(
                    sentence_ids[
                        likely_rows - row_offsets[sentence_ids] >= np.diff(token_offsets)[sentence_ids]
                    ].tolist()
                )
        return to_repair

    def _repair(
        self, record: Removal, words: list[str], tags: list[str], items: np.ndarray, costs: np.ndarray, cost: float,
        status: str, counts: list[int], tokens: np.ndarray, n_searches: int = 1, ambiguity: float | None = None,
    ) -> ParseResult:  # fmt: skip
        """Return the parse after repairs by the span model; its own parse if the search found none."""
        if status == "fallback" and self.span_parser is not None:
            parse = self.span_parser.parse(words, tags)
            if set(parse.tree.labels) <= set(self.model.lexicon.labels):
                tree, scores = self._restore(parse.tree, parse.scores, record)
                return ParseResult(tree, scores, parse.cost, status, counts[0], counts[1], None, n_searches)
        if self.settings.attach_unattached and len(self._from_span_labels) and status != "fallback":
            items, costs = self._add_repeated_unaries(tokens, items, costs)
            items, costs = self._attach_unattached(words, tags, items, costs)
        names = self.model.lexicon.labels.strings
        starts, ends, label_ids = items.T.tolist()
        tree = Tree.unchecked(words, tags, [names[label] for label in label_ids], starts, ends)
        return self._make_result(tree, costs.tolist(), record, cost, status, counts, n_searches, ambiguity)

    def _make_result(
        self, tree: Tree, scores: list[float], record: Removal, cost: float, status: str, counts: list[int],
        n_searches: int = 1, ambiguity: float | None = None,
    ) -> ParseResult:  # fmt: skip
        """Return the result over all words, from a tree over the preprocessed words; `counts`: as in `Parses`."""
        tree, restored = self._restore(tree, tuple(scores), record)
        proven = bool(counts[2]) if status == "optimal" else None
        return ParseResult(tree, restored, cost, status, counts[0], counts[1], proven, n_searches, ambiguity)

    def _find_repeated_chains(self) -> dict[int, list[int]]:
        """Return the span model's chains with a repeated label, which no inferences build, as the model's label ids."""
        known = self.model.lexicon.labels
        chains = [name.split() for name in self.model.lexicon.chains]
        return {
            chain_id: [known.id_of(label) for label in chain]
            for chain_id, chain in enumerate(chains)
            if len(set(chain)) < len(chain) and all(label in known for label in chain)
        }

    def _add_repeated_unaries(
        self, tokens: np.ndarray, items: np.ndarray, costs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return items and costs with a repeated label over each span for which the span model finds it likely."""
        n = count_tokens(tokens)
        likely_rows = np.flatnonzero(tokens[n:, CHAIN_PROB] >= LIKELY)
        for row, chain_id in zip(likely_rows.tolist(), tokens[n + likely_rows, MARGINAL_CHAIN].tolist(), strict=True):
            chain = self._repeated_chains.get(chain_id)
            if chain is None:
                continue
            start = int(np.searchsorted(tokens[:n, LAST_SPAN], n + row, side="right"))
            there = (items[1:, 0] == start) & (items[1:, 1] == tokens[n + row, END])
            at = 1 + np.flatnonzero(there)
            if sorted(items[at, 2].tolist()) == sorted(set(chain)):
                first, last = at[0], at[-1] + 1
                new_items = np.array([[start, tokens[n + row, END], label] for label in chain], dtype=INDEX)
                items = np.concatenate([items[:first], new_items, items[last:]])
                costs = np.concatenate([costs[:first], np.full(len(chain), costs[first]), costs[last:]])
        return items, costs

    def _attach_unattached(
        self, words: list[str], tags: list[str], items: np.ndarray, costs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Attach the tokens that the span model's treebanks never leave unattached; return items and costs."""
        span_items = items[1:].copy()
        span_items[:, 2] = self._to_span_labels[span_items[:, 2]]
        if len(span_items) and span_items[:, 2].min() < 0:  # a label that the span model does not have
            return items, costs
        found = self.span_parser.attach(words, tags, span_items, costs[1:])
        if found is None:
            return items, costs
        new_items = np.array(found[0], dtype=INDEX).reshape(-1, 3)
        new_items[:, 2] = self._from_span_labels[new_items[:, 2]]
        return np.concatenate([items[:1], new_items]), np.concatenate([costs[:1], found[1]])

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
            found = self._spine_pruner.pruning(supertags, beta)
            if found is not None and found.n_spines != n_spines:  # the number differs if and only if the spines do
                n_searches, n_spines = n_searches + 1, found.n_spines
                parses = self._search_all(tokens, *ends, budgets, self.settings, found)
                total_counts[2] = 0
                total_counts += parses.counts[0]
                if STATUSES[parses.statuses[0]] != "fallback":
                    return parses, total_counts.tolist(), n_searches, found.n_spines / n
        parses = self._search_all(tokens, *ends, budgets, self.settings)
        total_counts[2] = 0
        return parses, (total_counts + parses.counts[0]).tolist(), n_searches + 1, None


__all__ = ["KIND", "DtreeParser"]


class Pruning(NamedTuple):
    """The supertags after pruning: `levels` as in `dtparse.kernels.spines.SupertagArrays`, and the total `n_spines` of
    spines of all tokens."""

    levels: np.ndarray
    n_spines: int


class SpinePruner:
    """Prunes supertags for a model with these `labels`, TOP the last."""

    def __init__(self, labels: Sequence[str]):
        self._index = SupertagIndex([*labels[:-1], None])
        self._width = len(labels) + 1 + SIDES + POSITIONS
        self.usable = len(labels) <= MAX_LABELS

    def pruning(self, supertags: SupertagCandidates, beta: float) -> Pruning | None:
        """Return the spines that are at least `beta` times as probable as a token's most probable one; None if a token
        has none. A token keeps at most its `MAX_SPINES` most probable spines."""
        spines = self._index.spines(supertags, beta, MAX_SPINES)
        if spines is None:
            return None
        highest = int(np.diff(spines.ends, prepend=0).max())
        levels = np.zeros((len(supertags), highest + 1, self._width), np.uint64)
        fill_levels(*spines, levels)
        return Pruning(levels, len(spines.ends))
