"""The boosted-tree parser: words and tags in, a tree that covers every token out."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import INDEX, OFFSET, PLACES, SCORE, SIDES
from ...errors import DtparseError, ModelFormatError
from ...features.offers import Offered, OfferReader, check_offered
from ...features.trees.beliefs import with_beliefs
from ...kernels.trees.beliefs import CHAIN as BELIEVED_CHAIN
from ...kernels.trees.beliefs import END, LAST_SPAN, SURE, count_tokens
from ...kernels.trees.pruning import LIKELY
from ...kernels.trees.search import STATUSES, search
from ...kernels.trees.spines import CHAIN, MOST_LABELS, MOST_SPINES, Offers, fill_levels, no_offers
from ...kernels.trees.state import make_nodes
from ...model.trees.bundle import KIND, read_model, write_model
from ...model.trees.model import CompiledDtree, DtreeModel, compile_model
from ...trees.transforms import Removal
from ...trees.tree import Tree
from ..base import ParseResult, TaggedWords
from ..kinds import CONSTITUENTS, read_as
from ..proofs import Proof
from ..settings import SearchSettings
from ..stored import RecipeParser

EXHAUSTIVE = SearchSettings(confident=math.inf, gate=0, sure=1.0)
"""Nothing is left out."""


class DtreeParser(RecipeParser):
    """Parses with a DtreeModel. Safe to use from several threads; the same input gives the same bits in any of them.

    Raises DtparseError on words and tags of different number or on an empty word.
    """

    model: DtreeModel
    name = KIND
    PROOF = SearchSettings(confident=math.inf, gate=0.002, sure=1.0)
    """Greedy, through the gate if there is one."""

    FORMAT = read_model, write_model

    def __init__(
        self, model: DtreeModel, settings: SearchSettings | None = None, data: bytes | None = None,
        compiled: CompiledDtree | None = None, reader: Any = None,
    ):  # fmt: skip
        super().__init__(model, settings, data)
        self.reader: Any = reader
        if reader is None and model.reader:
            self.reader = read_as(model.reader, CONSTITUENTS)
        if self.reader is not None and self.reader.chain_names != model.lexicon.chains.strings:
            raise ModelFormatError(
                "the reader in the model has other label chains than its trees were trained with; fetch or write the "
                "model again"
            )
        self.compiled = compiled or compile_model(model)
        names = model.lexicon.labels.strings
        self._own_labels = self._readers_labels = np.zeros(0, dtype=INDEX)  # numbers in the other's labels
        if self.reader is not None and set(self.reader.labels) <= set(names):
            self._own_labels = np.array([names.index(label) for label in self.reader.labels], dtype=INDEX)
            known = {label: number for number, label in enumerate(self.reader.labels)}
            self._readers_labels = np.array([known.get(label, -1) for label in names], dtype=INDEX)
        self._repeated = self._repeating_chains()
        self._local = threading.local()
        self._spines = SpineReader(model.lexicon.labels.strings)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of constituents, without TOP."""
        return self.model.lexicon.labels.strings[:-1]

    def _known(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.model.lexicon.words.strings, self.model.lexicon.tags

    def _prover(self) -> DtreeParser:
        return self

    def _with(self, settings: SearchSettings) -> DtreeParser:
        return DtreeParser(self.model, settings, self._data, self.compiled, self.reader)

    def _proof(self, words: list[str], tags: list[str]) -> Proof:
        items, cost, _, _ = self._search(self.encode(words, tags, self.PROOF), 0, self.PROOF)
        return {"items": items.tolist(), "cost": cost}

    def encode(self, words: Sequence[str], tags: Sequence[str], settings: SearchSettings | None = None) -> np.ndarray:
        """The token matrix of a sentence, with the reader's beliefs where there is a reader; settings None: the
        parser's."""
        columns = self.model.lexicon.encode(words, tags)
        if self.reader is None:
            return columns
        used = settings or self.settings
        return with_beliefs(columns, self.reader.beliefs([(words, tags)])[0], used.trust, used.sure)

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> dict[tuple[int, int, str], float]:
        """The reader's probabilities of constituents: see `SpanParser.span_posteriors`. Raises DtparseError where the
        model has no reader."""
        if self.reader is None:
            raise DtparseError(
                "this model has no probabilities of constituents, as it has no reader; take one with a reader"
            )
        return self.reader.span_posteriors(words, tags)

    def _search(
        self, tokens: np.ndarray, budget: int, settings: SearchSettings = EXHAUSTIVE, pruning: Pruning | None = None
    ) -> tuple[np.ndarray, float, str, np.ndarray]:
        """(items int32 (m, 3): start, end, label in pre-order; cost; status; counts) of one token matrix."""
        local, n = self._local, count_tokens(tokens)
        room = getattr(local, "room", 0)
        if room < n:
            local.room = max(64, 2 * n) if n <= 4096 else n
            local.scratch = self.compiled.scratch(local.room)
            local.nodes = make_nodes(8 * local.room + 64, 16 * local.room + 1024)
            local.costs = np.zeros(8 * local.room + 65, dtype=SCORE)
            local.chains = np.zeros(8 * local.room + 64, dtype=CHAIN)
        nodes, costs = local.nodes, local.costs
        if local.scratch.features.mark[0] > 2**31 - 2**26:
            local.scratch.features.mark[0] = 0
            local.scratch.features.stamp[:] = 0
        offers = no_offers() if pruning is None else Offers(pruning.levels, local.chains)
        counts = np.zeros(4, dtype=OFFSET)
        tag_symbols = np.ascontiguousarray(tokens[:n, 1])
        status = search(
            self.compiled.search, tokens, tag_symbols, n, budget, float(settings.confident),
            self.model.gate.least(settings.gate), offers, nodes, local.scratch, costs, counts,
        )  # fmt: skip
        used = int(nodes.used[0])
        number = np.arange(n, used)
        start, end = nodes.item[n:used]["start"], nodes.item[n:used]["end"]
        order = np.lexsort((-number, -end, start))
        items = np.stack([start, end, nodes.item[n:used]["label"]], axis=1)[order].astype(INDEX)
        local.item_costs = costs[number[order]]
        return items, float(costs[-1]), STATUSES[status], counts

    @property
    def reads_spines(self) -> bool:
        """Whether `parse` can make use of spines: not with a model of very many labels, nor with a reader, which prunes
        more."""
        return self._spines.usable and self.reader is None

    def parse(self, words: Sequence[str], tags: Sequence[str], spines: Offered = ()) -> ParseResult:
        """Parse one sentence of raw words with their tags.

        Never fails on a non-empty sentence: `status` says whether the parse is proven optimal, the best found within
        the budget ("complete"), greedy, or glued together because no inference was left ("fallback").

        `spines`: for each word those that it may have (see Offered), with their probabilities. The search is then
        pruned to those within the first of the settings' `betas` of a word's likeliest, and where that gives no whole
        parse, to those within the next; at last it is not pruned. A status of "optimal" is then of what was left.
        """
        record, kept_words, kept_tags = self._prepared(words, tags)
        check_offered(spines, len(words))
        return self._parse(record, kept_words, kept_tags, self.encode(kept_words, kept_tags), spines)

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """`parse` of each (words, tags), the same results in less time where a reader reads some at once."""
        prepared = [self._prepared(*sentence) for sentence in sentences]
        if self.reader is None:
            return [self._parse(*one, self.encode(*one[1:])) for one in prepared]
        beliefs = self.reader.beliefs([one[1:] for one in prepared])
        trust, sure = self.settings.trust, self.settings.sure
        return [
            self._parse(*one, with_beliefs(self.model.lexicon.encode(*one[1:]), believed, trust, sure))
            for one, believed in zip(prepared, beliefs, strict=True)
        ]

    def _parse(
        self, record: Removal, kept_words: list[str], kept_tags: list[str], tokens: np.ndarray, spines: Offered = ()
    ) -> ParseResult:
        """The parse of a sentence that was prepared and encoded."""
        offered = [spines[k] for k in record.kept] if spines else []
        items, cost, status, counts, tried, ambiguity = self._passes(tokens, offered)
        if status == "fallback" and self.reader is not None:
            read = self.reader.parse(kept_words, kept_tags)
            if set(read.tree.labels) <= set(self.model.lexicon.labels):
                tree, scores = self._restored(read.tree, read.scores, record)
                return ParseResult(tree, scores, read.cost, status, int(counts[0]), int(counts[1]), None, tried)
        names, item_costs = self.model.lexicon.labels.strings, self._local.item_costs
        if self.settings.whole and len(self._own_labels) and status != "fallback":
            items, item_costs = self._with_repeats(tokens, items, item_costs)
            items, item_costs = self._taken_up(kept_words, kept_tags, items, item_costs)
        starts, ends, numbers = items.T.tolist()
        tree = Tree.trusted(kept_words, kept_tags, [names[label] for label in numbers], starts, ends)
        tree, scores = self._restored(tree, tuple(item_costs.tolist()), record)
        proven = bool(counts[2]) if status == "optimal" else None
        return ParseResult(tree, scores, cost, status, int(counts[0]), int(counts[1]), proven, tried, ambiguity)

    def _repeating_chains(self) -> dict[int, list[int]]:
        """The reader's chains with a label twice, which no inferences build, as numbers of the model's labels."""
        known = self.model.lexicon.labels
        chains = [name.split() for name in self.model.lexicon.chains]
        return {
            number: [known.number(label) for label in chain]
            for number, chain in enumerate(chains)
            if len(set(chain)) < len(chain) and all(label in known for label in chain)
        }

    def _with_repeats(self, tokens: np.ndarray, items: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Items and costs with a label twice over a span that has it once, where the reader takes that for likely."""
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
        """Items and costs with the tokens taken up that the reader's treebanks never leave bare."""
        theirs = items[1:].copy()
        theirs[:, 2] = self._readers_labels[theirs[:, 2]]
        if len(theirs) and theirs[:, 2].min() < 0:  # a label that the reader does not have
            return items, costs
        found = self.reader.take_up(words, tags, theirs, costs[1:])
        if found is None:
            return items, costs
        more = np.array(found[0], dtype=INDEX).reshape(-1, 3)
        more[:, 2] = self._own_labels[more[:, 2]]
        return np.concatenate([items[:1], more]), np.concatenate([costs[:1], found[1]])

    def _passes(
        self, tokens: np.ndarray, offered: Offered
    ) -> tuple[np.ndarray, float, str, np.ndarray, int, float | None]:
        """What `_search` gives, the number of searches, and the spines that a token had in the last, None for all.
        Counts are of all searches together."""
        n = count_tokens(tokens)
        budget = self.settings.budget_for(n)
        before = np.zeros(2, dtype=OFFSET)
        tried = number = 0
        for beta in self.settings.betas if offered and self.reads_spines else ():
            found = self._spines.pruning(offered, beta)
            if found is not None and found.number != number:  # of two betas one offers all that the other does
                tried, number = tried + 1, found.number
                items, cost, status, counts = self._search(tokens, budget, self.settings, found)
                counts[:2] += before
                if status != "fallback":
                    return items, cost, status, counts, tried, found.number / n
                before = counts[:2]
        items, cost, status, counts = self._search(tokens, budget, self.settings)
        counts[:2] += before
        return items, cost, status, counts, tried + 1, None


__all__ = ["KIND", "DtreeParser"]


class Pruning(NamedTuple):
    """What is left of the offers: `levels` as in `kernels.trees.spines.Offers`, and the `number` of spines that all
    tokens have together."""

    levels: np.ndarray
    number: int


class SpineReader:
    """Reads offers for a model with these `labels`, TOP the last."""

    def __init__(self, labels: Sequence[str]):
        self._reader = OfferReader([*labels[:-1], None])
        self._width = len(labels) + 1 + SIDES + PLACES
        self.usable = len(labels) <= MOST_LABELS

    def pruning(self, offered: Offered, beta: float) -> Pruning | None:
        """What the search takes of the spines that are at least `beta` times as likely as a token's likeliest; None
        when a token is left without one. Of more than MOST_SPINES spines the least likely are left out."""
        spines = self._reader.spines(offered, beta, MOST_SPINES)
        if spines is None:
            return None
        highest = int(np.diff(spines.ends, prepend=0).max())
        levels = np.zeros((len(offered), highest + 1, self._width), np.uint64)
        fill_levels(*spines, levels)
        return Pruning(levels, len(spines.ends))
