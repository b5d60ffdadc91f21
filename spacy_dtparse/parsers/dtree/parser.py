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

from ...dtypes import INDEX, OFFSET, PLACES, SIDES
from ...errors import DtparseError, ModelFormatError
from ...features.offers import Offered, OfferReader, check_offered
from ...features.trees.beliefs import all_with_beliefs, with_beliefs
from ...kernels.trees.batch import Parses, Sentences, make_room, search_all
from ...kernels.trees.beliefs import CHAIN as BELIEVED_CHAIN
from ...kernels.trees.beliefs import COLUMNS, END, LAST_SPAN, SURE, count_tokens
from ...kernels.trees.features import TAG
from ...kernels.trees.pruning import LIKELY
from ...kernels.trees.search import STATUSES
from ...kernels.trees.spines import CHAIN, MOST_LABELS, MOST_SPINES, fill_levels, no_offers
from ...model.ahead import kernels_for
from ...model.container import container_kind
from ...model.kept import KeptInFile
from ...model.trees.bundle import KIND, READER, read_model, write_model
from ...model.trees.model import CompiledDtree, DtreeModel, compile_model
from ...trees.heads import HeadRules, head_rules
from ...trees.transforms import Removal
from ...trees.tree import Tree
from ..base import ParseResult, TaggedWords
from ..constraints import Constraints
from ..kbest import check_k, ranked
from ..kinds import CONSTITUENTS, READERS, read_as
from ..proofs import Proof, Strings
from ..settings import SearchSettings
from ..stored import Data, RecipeParser
from .kbest import others_than
from .steered import steered

Prepared = tuple[Removal, list[str], list[str]]
"""A preprocessed sentence: the record of the changes, the remaining words, their tags."""
_KEPT_STATES, _KEPT_ENTRIES = 1 << 18, 1 << 15
"""A larger agenda (states) or cache (entries) is freed after a batch, so that memory stays small."""
EXHAUSTIVE = SearchSettings(confident=math.inf, gate=0, sure=1.0)
"""Settings that skip nothing."""


class DtreeParser(RecipeParser):
    """Parses with a DtreeModel. Safe to use from several threads; the same input gives the same bits in any of them.

    Raises DtparseError if the numbers of words and tags differ, or if a word is empty.
    """

    model: DtreeModel
    name = KIND
    PROOF = SearchSettings(confident=math.inf, gate=0.002, sure=1.0)
    """Greedy parsing, with the window filter if the model has one."""

    FORMAT = read_model, write_model

    def __init__(
        self, model: DtreeModel, settings: SearchSettings | None = None, data: Data = None,
        compiled: CompiledDtree | None = None, reader: Any = None,
    ):  # fmt: skip
        super().__init__(model, settings, data)
        self.reader: Any = reader
        if reader is None and model.reader:
            data = bytes(model.reader)
            if container_kind(data) not in READERS:
                raise ModelFormatError(
                    f"the span model inside the model is of kind {container_kind(data)!r}; it must be one of "
                    f"{', '.join(READERS)}: fetch or write the model again"
                )
            # no self-test: that of the trees covers it
            self.reader = read_as(data, CONSTITUENTS, prove=False)
        if self.reader is not None and self.reader.chain_names != model.lexicon.chains.strings:
            raise ModelFormatError(
                "the span model inside the model has other label chains than its trees were trained with; fetch or "
                "write the model again"
            )
        self.compiled = compiled or compile_model(model)
        names = model.lexicon.labels.strings
        # maps of label ids: from the span model's labels to the model's, and back
        self._own_labels = self._readers_labels = np.zeros(0, dtype=INDEX)
        if self.reader is not None and set(self.reader.labels) <= set(names):
            self._own_labels = np.array([names.index(label) for label in self.reader.labels], dtype=INDEX)
            known = {label: number for number, label in enumerate(self.reader.labels)}
            self._readers_labels = np.array([known.get(label, -1) for label in names], dtype=INDEX)
        self._repeated = self._repeating_chains()
        self._repeats = np.zeros(max(1, len(model.lexicon.chains)), dtype=np.bool_)
        self._repeats[list(self._repeated)] = True
        self._no_offers = no_offers()
        usual = head_rules(model.meta.get("lang", ""))
        self._own_heads = None if model.heads == usual else model.heads
        self._local = threading.local()
        self._spines = SpineReader(model.lexicon.labels.strings)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of constituents, without TOP."""
        return self.model.lexicon.labels.strings[:-1]

    @property
    def head_rules(self) -> HeadRules | None:
        """The head rules of the model; None if they are the standard ones of its language."""
        return self._own_heads

    def _known(self) -> tuple[Strings, Strings]:
        return self.model.lexicon.words, self.model.lexicon.tags

    def _prover(self) -> DtreeParser:
        return self

    def _with(self, settings: SearchSettings) -> DtreeParser:
        return DtreeParser(self.model, settings, self._data, self.compiled, self.reader)

    def keep_in_file(self, path: Path) -> None:
        super().keep_in_file(path)
        if self.reader is not None and isinstance(self._data, KeptInFile):
            self.reader._data = self._data.part(READER)
            self.model = replace(self.model, reader=self.reader._data)

    def _proof(self, words: list[str], tags: list[str]) -> Proof:
        items, cost, _, _ = self._search(self.encode(words, tags, self.PROOF), 0, self.PROOF)
        return {"items": items.tolist(), "cost": cost}

    def encode(self, words: Sequence[str], tags: Sequence[str], settings: SearchSettings | None = None) -> np.ndarray:
        """Return the token matrix of a sentence, with span marginals if there is a span model; settings None: those of
        the parser."""
        columns = self.model.lexicon.encode(words, tags)
        if self.reader is None:
            return columns
        used = settings or self.settings
        return with_beliefs(columns, self.reader.beliefs([(words, tags)])[0], used.trust, used.sure)

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> dict[tuple[int, int, str], float]:
        """Return the span model's probabilities of constituents; see `SpanParser.span_posteriors`. Raises DtparseError
        if the model has no span model."""
        if self.reader is None:
            raise DtparseError(
                "this model has no probabilities of constituents because it has no span model; use a model with one"
            )
        return self.reader.span_posteriors(words, tags)

    def _search(
        self, tokens: np.ndarray, budget: int, settings: SearchSettings = EXHAUSTIVE, pruning: Pruning | None = None
    ) -> tuple[np.ndarray, float, str, np.ndarray]:
        """Parse one token matrix: (items int32 (m, 3): start, end, label in pre-order; cost; status; counts)."""
        parses = self._search_all(
            tokens, np.array([0, len(tokens)]), np.array([0, count_tokens(tokens)]), [budget], settings, pruning
        )
        return parses.items, float(parses.costs[0]), STATUSES[parses.statuses[0]], parses.counts[0]

    def _search_all(
        self, tokens: np.ndarray, rows: np.ndarray, firsts: np.ndarray, budgets: Sequence[int],
        settings: SearchSettings, pruning: Pruning | None = None, k: int = 1, constraints: np.ndarray | None = None,
        symbols: np.ndarray | None = None,
    ) -> Parses:  # fmt: skip
        """Return the k best parses of token matrices, the rows [rows[s], rows[s + 1]) of `tokens`.

        `firsts`: cumulative numbers of their tokens, from 0. Either all or none of the budgets are 0; k > 1 needs a
        positive budget. `pruning`, `constraints` (in the format of `kernels.trees.constraints`): for a single sentence
        only. `symbols` int32 (tokens,): ids of all tags, if they are computed already.
        """
        local, keep = self._local, budgets[0] > 0
        n = int(np.diff(firsts).max())
        if getattr(local, "room", 0) < n:
            local.room, local.rooms = max(64, 2 * n) if n <= 4096 else n, {}
            local.scratch = self.compiled.scratch(local.room)
        room = local.rooms.get(keep) or make_room(self.compiled.search, local.room, local.scratch, keep)
        if symbols is None:
            is_token = np.ones(len(tokens), dtype=np.bool_)
            if tokens.shape[1] == COLUMNS:
                places = np.arange(len(tokens)) - np.repeat(rows[:-1], np.diff(rows))
                is_token = places < np.repeat(np.diff(firsts), np.diff(rows))
            symbols = np.ascontiguousarray(tokens[is_token, TAG])
        offers = self._no_offers
        if pruning is not None:
            offers = offers._replace(levels=pruning.levels, chains=np.zeros(len(room.nodes.item), dtype=CHAIN))
        if constraints is not None:
            offers = offers._replace(constraints=constraints)
        parses, room = search_all(
            self.compiled.search,
            Sentences(tokens, rows, symbols, firsts, np.array(budgets, OFFSET)),
            float(settings.confident), self.model.gate.least(settings.gate), offers, room, k,
        )  # fmt: skip
        if len(room.agenda.states) <= _KEPT_STATES and len(room.cache.entries) <= _KEPT_ENTRIES:
            local.rooms[keep] = room
        else:
            local.rooms.pop(keep, None)
        return parses

    @property
    def reads_spines(self) -> bool:
        """Whether `parse` uses supertags (spines): not if the model has very many labels, nor if it has a span model,
        which prunes more."""
        return self._spines.usable and self.reader is None

    def parse(self, words: Sequence[str], tags: Sequence[str], spines: Offered = ()) -> ParseResult:
        """Parse one sentence of raw words with their tags.

        Never fails on a non-empty sentence: `status` is "optimal" if the parse is proven optimal, "complete" if it is
        the best found within the budget, "greedy", or "fallback" if it was joined because no inference was possible.

        `spines`: for each word its supertag candidates (see Offered) with their probabilities. The search allows those
        whose probability is at least the first of the settings' `betas` times that of the word's most probable one. If
        that gives no complete parse, it uses the next of `betas`; the last search is not pruned. A status of "optimal"
        then refers to the pruned search space.
        """
        if not spines:
            return self.parse_batch([(words, tags)])[0]
        record, kept_words, kept_tags = self._prepared(words, tags)
        check_offered(spines, len(words))
        if not self.reads_spines:
            return self.parse_batch([(words, tags)])[0]
        tokens = self.encode(kept_words, kept_tags)
        parses, counts, tried, ambiguity = self._passes(tokens, [spines[k] for k in record.kept])
        return self._mended(
            record, kept_words, kept_tags, parses.items, parses.item_costs, float(parses.costs[0]),
            STATUSES[parses.statuses[0]], counts, tokens, tried, ambiguity,
        )  # fmt: skip

    def parse_under(self, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
        """Parse under constraints; see `SteeredParser` and `parsers.dtree.constrained`. Spines are not used."""
        constraints.check(len(words), self.labels, words)
        return constraints.enforce(steered(self, words, tags, constraints), self.labels)

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """Parse all sentences (words, tags): the same results as `parse` in less time."""
        prepared = [self._prepared(*sentence) for sentence in sentences]
        results: list[ParseResult] = []
        with kernels_for(KIND, sum(len(one[1]) for one in prepared)):
            for _, part in groupby(prepared, lambda one: self.settings.budget_for(len(one[1])) > 0):
                results += self._parse_all(list(part))
        return results

    def parse_k(self, words: Sequence[str], tags: Sequence[str], k: int) -> list[ParseResult]:
        """Return the k best parses; see `KBestParser` and, for the search space, `parsers.dtree.kbest`. Spines are not
        used."""
        check_k(k)
        first = self.parse(words, tags)
        return ranked(first, others_than(self, first, words, tags, k), k)

    def _parse_all(self, prepared: Sequence[Prepared]) -> list[ParseResult]:
        """Parse preprocessed sentences; either all or none of them are parsed greedily."""
        words, tags = [text for one in prepared for text in one[1]], [text for one in prepared for text in one[2]]
        lengths = [len(one[1]) for one in prepared]
        firsts = np.cumsum([0, *lengths], dtype=OFFSET)
        tokens = columns = self.model.lexicon.encode(words, tags)
        rows = firsts
        if self.reader is not None:
            beliefs, begins = self.reader.beliefs_together([one[1:] for one in prepared])
            tokens, rows = all_with_beliefs(
                columns, firsts, beliefs, begins, self.settings.trust, self.settings.sure
            )  # fmt: skip
        budgets = list(map(self.settings.budget_for, lengths))
        symbols = np.ascontiguousarray(columns[:, TAG])
        parses = self._search_all(tokens, rows, firsts, budgets, self.settings, symbols=symbols)
        changed = self._changed(parses, tokens, rows, firsts, tags)
        statuses, totals, counts = parses.statuses.tolist(), parses.costs.tolist(), parses.counts.tolist()
        ends, items, costs = parses.firsts.tolist(), parses.items.T.tolist(), parses.item_costs.tolist()
        names, found = self.model.lexicon.labels.strings, []
        for s, (record, own_words, own_tags) in enumerate(prepared):
            status = STATUSES[statuses[s]]
            if s in changed or (status == "fallback" and self.reader is not None):
                here = slice(ends[s], ends[s + 1])
                result = self._mended(
                    record, own_words, own_tags, parses.items[here], parses.item_costs[here], totals[s], status,
                    counts[s], tokens[rows[s] : rows[s + 1]],
                )  # fmt: skip
            else:
                starts, stops, labels = (column[ends[s] : ends[s + 1]] for column in items)
                tree = Tree.trusted(own_words, own_tags, [names[label] for label in labels], starts, stops)
                result = self._told(tree, costs[ends[s] : ends[s + 1]], record, totals[s], status, counts[s])
            found.append(result)
        return found

    def _changed(
        self, parses: Parses, tokens: np.ndarray, rows: np.ndarray, firsts: np.ndarray, tags: Sequence[str]
    ) -> set[int]:
        """Return which sentences of a batch may need a repeated label over a span or have unattached tokens."""
        if not (self.settings.whole and len(self._own_labels)):
            return set()
        theirs = parses.items.copy()
        theirs[:, 2] = self._readers_labels[theirs[:, 2]]
        orphans = self.reader.has_orphans(tags, firsts, theirs, parses.firsts)
        changed = set(np.flatnonzero(orphans).tolist())
        if self._repeated:
            likely = np.flatnonzero(tokens[:, SURE] >= LIKELY)
            likely = likely[self._repeats.take(tokens[likely, BELIEVED_CHAIN], mode="clip")]
            if len(likely):
                own = np.searchsorted(rows, likely, side="right") - 1
                # the rows of a sentence after those of its tokens are its marginals
                changed |= set(own[likely - rows[own] >= np.diff(firsts)[own]].tolist())
        return changed

    def _mended(
        self, record: Removal, words: list[str], tags: list[str], items: np.ndarray, costs: np.ndarray, cost: float,
        status: str, counts: list[int], tokens: np.ndarray, tried: int = 1, ambiguity: float | None = None,
    ) -> ParseResult:  # fmt: skip
        """Return the parse after repairs by the span model; its own parse if the search found none."""
        if status == "fallback" and self.reader is not None:
            read = self.reader.parse(words, tags)
            if set(read.tree.labels) <= set(self.model.lexicon.labels):
                tree, scores = self._restored(read.tree, read.scores, record)
                return ParseResult(tree, scores, read.cost, status, counts[0], counts[1], None, tried)
        if self.settings.whole and len(self._own_labels) and status != "fallback":
            items, costs = self._with_repeats(tokens, items, costs)
            items, costs = self._taken_up(words, tags, items, costs)
        names = self.model.lexicon.labels.strings
        starts, ends, numbers = items.T.tolist()
        tree = Tree.trusted(words, tags, [names[label] for label in numbers], starts, ends)
        return self._told(tree, costs.tolist(), record, cost, status, counts, tried, ambiguity)

    def _told(
        self, tree: Tree, scores: list[float], record: Removal, cost: float, status: str, counts: list[int],
        tried: int = 1, ambiguity: float | None = None,
    ) -> ParseResult:  # fmt: skip
        """Return the result over all words, from a tree over the preprocessed words; `counts`: as in `Parses`."""
        tree, restored = self._restored(tree, tuple(scores), record)
        proven = bool(counts[2]) if status == "optimal" else None
        return ParseResult(tree, restored, cost, status, counts[0], counts[1], proven, tried, ambiguity)

    def _repeating_chains(self) -> dict[int, list[int]]:
        """Return the span model's chains with a repeated label, which no inferences build, as the model's label ids."""
        known = self.model.lexicon.labels
        chains = [name.split() for name in self.model.lexicon.chains]
        return {
            number: [known.number(label) for label in chain]
            for number, chain in enumerate(chains)
            if len(set(chain)) < len(chain) and all(label in known for label in chain)
        }

    def _with_repeats(self, tokens: np.ndarray, items: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return items and costs with a repeated label over each span for which the span model finds it likely."""
        n = count_tokens(tokens)
        likely = np.flatnonzero(tokens[n:, SURE] >= LIKELY)
        for row, number in zip(likely.tolist(), tokens[n + likely, BELIEVED_CHAIN].tolist(), strict=True):
            chain = self._repeated.get(number)
            if chain is None:
                continue
            start = int(np.searchsorted(tokens[:n, LAST_SPAN], n + row, side="right"))
            there = (items[1:, 0] == start) & (items[1:, 1] == tokens[n + row, END])
            at = 1 + np.flatnonzero(there)
            if sorted(items[at, 2].tolist()) == sorted(set(chain)):
                first, last = at[0], at[-1] + 1
                more = np.array([[start, tokens[n + row, END], label] for label in chain], dtype=INDEX)
                items = np.concatenate([items[:first], more, items[last:]])
                costs = np.concatenate([costs[:first], np.full(len(chain), costs[first]), costs[last:]])
        return items, costs

    def _taken_up(
        self, words: list[str], tags: list[str], items: np.ndarray, costs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Attach the tokens that the span model's treebanks never leave unattached; return items and costs."""
        theirs = items[1:].copy()
        theirs[:, 2] = self._readers_labels[theirs[:, 2]]
        if len(theirs) and theirs[:, 2].min() < 0:  # a label that the span model does not have
            return items, costs
        found = self.reader.take_up(words, tags, theirs, costs[1:])
        if found is None:
            return items, costs
        more = np.array(found[0], dtype=INDEX).reshape(-1, 3)
        more[:, 2] = self._own_labels[more[:, 2]]
        return np.concatenate([items[:1], more]), np.concatenate([costs[:1], found[1]])

    def _passes(self, tokens: np.ndarray, offered: Offered) -> tuple[Parses, list[int], int, float | None]:
        """Search with supertags: (parse, total counts of all searches, number of searches, mean spines per token in the
        last search, None if it allowed all)."""
        n = len(tokens)
        ends, budgets = (np.array([0, n]),) * 2, [self.settings.budget_for(n)]
        before = np.zeros(4, dtype=OFFSET)
        tried = number = 0
        for beta in self.settings.betas:
            found = self._spines.pruning(offered, beta)
            if found is not None and found.number != number:  # the number differs if and only if the spines do
                tried, number = tried + 1, found.number
                parses = self._search_all(tokens, *ends, budgets, self.settings, found)
                before[2] = 0
                before += parses.counts[0]
                if STATUSES[parses.statuses[0]] != "fallback":
                    return parses, before.tolist(), tried, found.number / n
        parses = self._search_all(tokens, *ends, budgets, self.settings)
        before[2] = 0
        return parses, (before + parses.counts[0]).tolist(), tried + 1, None


__all__ = ["KIND", "DtreeParser"]


class Pruning(NamedTuple):
    """The supertags after pruning: `levels` as in `kernels.trees.spines.Offers`, and the total `number` of spines of
    all tokens."""

    levels: np.ndarray
    number: int


class SpineReader:
    """Prunes supertags for a model with these `labels`, TOP the last."""

    def __init__(self, labels: Sequence[str]):
        self._reader = OfferReader([*labels[:-1], None])
        self._width = len(labels) + 1 + SIDES + PLACES
        self.usable = len(labels) <= MOST_LABELS

    def pruning(self, offered: Offered, beta: float) -> Pruning | None:
        """Return the spines that are at least `beta` times as probable as a token's most probable one; None if a token
        has none. A token keeps at most its `MOST_SPINES` most probable spines."""
        spines = self._reader.spines(offered, beta, MOST_SPINES)
        if spines is None:
            return None
        highest = int(np.diff(spines.ends, prepend=0).max())
        levels = np.zeros((len(offered), highest + 1, self._width), np.uint64)
        fill_levels(*spines, levels)
        return Pruning(levels, len(spines.ends))
