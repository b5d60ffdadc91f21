"""The boosted-tree parser: words and tags in, a tree that covers every token out."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import numpy as np

from ...dtypes import INDEX, OFFSET, SCORE
from ...features.offers import Offered, check_offered
from ...kernels.trees.search import STATUSES, search
from ...kernels.trees.spines import CHAIN, Offers, no_offers
from ...kernels.trees.state import make_nodes
from ...model.ahead import finish_compiling
from ...model.trees.bundle import KIND, read_model, write_model
from ...model.trees.model import CompiledDtree, DtreeModel, compile_model
from ...trees.transforms import Recipe
from ...trees.tree import Tree
from ..base import ParseResult
from ..proofs import Proof
from ..stored import StoredParser, check_sentence
from .offers import Pruning, SpineReader
from .settings import SearchSettings

EXHAUSTIVE = SearchSettings(confident=math.inf, gate=0)
"""Nothing is left out."""


class DtreeParser(StoredParser):
    """Parses with a DtreeModel. Safe to use from several threads; the same input gives the same bits in any of them.

    Raises DtparseError on words and tags of different number or on an empty word.
    """

    model: DtreeModel
    name = KIND
    PROOF = SearchSettings(confident=math.inf, gate=0.002)
    """Greedy, through the gate if there is one."""

    def __init__(
        self,
        model: DtreeModel,
        settings: SearchSettings | None = None,
        compiled: CompiledDtree | None = None,
        data: bytes | None = None,
    ):
        self.model = model
        self._data = data
        self.settings = settings or SearchSettings()
        self.compiled = compiled or compile_model(model)
        self.recipe = Recipe(model.recipe)
        self._restores = any(step != "drop_repeated_unary" for step in self.recipe.steps)
        self._local = threading.local()
        self._spines = SpineReader(model.lexicon.labels.strings)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of constituents, without TOP."""
        return self.model.lexicon.labels.strings[:-1]

    @classmethod
    def from_bytes(cls, data: bytes, settings: SearchSettings | None = None) -> DtreeParser:
        """See StoredParser."""
        model, proofs = read_model(data)
        parser = cls(model, settings, compile_model(model), bytes(data))
        finish_compiling()
        return parser.proven(proofs)

    def _write(self) -> bytes:
        return write_model(self.model, self.prove())

    def with_settings(
        self,
        *,
        budget: int | None = None,
        max_tokens: int | None = None,
        confident: float | None = None,
        gate: float | None = None,
        betas: Sequence[float] | None = None,
    ) -> DtreeParser:
        """A parser on the same model with other search settings."""
        changed = self.settings.with_given(
            budget=budget, max_tokens=max_tokens, confident=confident, gate=gate, betas=betas
        )
        return DtreeParser(self.model, changed, self.compiled, self._data)

    def _known(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.model.lexicon.words.strings, self.model.lexicon.tags

    def _prover(self) -> DtreeParser:
        return self

    def _proof(self, words: list[str], tags: list[str]) -> Proof:
        items, cost, _, _ = self._search(self.model.lexicon.encode(words, tags), 0, self.PROOF)
        return {"items": items.tolist(), "cost": cost}

    def _search(
        self, tokens: np.ndarray, budget: int, settings: SearchSettings = EXHAUSTIVE, pruning: Pruning | None = None
    ) -> tuple[np.ndarray, float, str, np.ndarray]:
        """(items int32 (m, 3): start, end, label in pre-order; cost; status; counts) of one token matrix."""
        local, n = self._local, len(tokens)
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
        tag_symbols = np.ascontiguousarray(tokens[:, 1])
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
        """Whether `parse` can make use of spines: not with a model of very many labels."""
        return self._spines.usable

    def parse(self, words: Sequence[str], tags: Sequence[str], spines: Offered = ()) -> ParseResult:
        """Parse one sentence of raw words with their tags.

        Never fails on a non-empty sentence: `status` says whether the parse is proven optimal, the best found within
        the budget ("complete"), greedy, or glued together because no inference was left ("fallback").

        `spines`: for each word those that it may have (see Offered), with their probabilities. The search is then
        pruned to those within the first of the settings' `betas` of a word's likeliest, and where that gives no whole
        parse, to those within the next; at last it is not pruned. A status of "optimal" is then of what was left.
        """
        check_sentence(words, tags)
        check_offered(spines, len(words))
        record = self.recipe.prepare(words, tags)
        kept_words = [words[k] for k in record.kept]
        kept_tags = [tags[k] for k in record.kept]
        tokens = self.model.lexicon.encode(kept_words, kept_tags)
        offered = [spines[k] for k in record.kept] if spines else []
        items, cost, status, counts, tried, ambiguity = self._passes(tokens, offered)
        names = self.model.lexicon.labels.strings
        starts, ends, labels = items.T.tolist()
        tree = Tree.trusted(kept_words, kept_tags, [names[label] for label in labels], starts, ends)
        scores = tuple(self._local.item_costs.tolist())
        if self._restores:
            tree = self.recipe.restore(tree, record)
            if len(tree.labels) != len(scores):
                scores = (float("nan"),) * len(tree.labels)
        proven = bool(counts[2]) if status == "optimal" else None
        return ParseResult(tree, scores, cost, status, int(counts[0]), int(counts[1]), proven, tried, ambiguity)

    def _passes(
        self, tokens: np.ndarray, offered: Offered
    ) -> tuple[np.ndarray, float, str, np.ndarray, int, float | None]:
        """What `_search` gives, the number of searches, and the spines that a token had in the last, None for all.
        Counts are of all searches together."""
        budget = self.settings.budget_for(len(tokens))
        before = np.zeros(2, dtype=OFFSET)
        tried = number = 0
        for beta in self.settings.betas if offered and self.reads_spines else ():
            found = self._spines.pruning(offered, beta)
            if found is not None and found.number != number:  # of two betas one offers all that the other does
                tried, number = tried + 1, found.number
                items, cost, status, counts = self._search(tokens, budget, self.settings, found)
                counts[:2] += before
                if status != "fallback":
                    return items, cost, status, counts, tried, found.number / len(tokens)
                before = counts[:2]
        items, cost, status, counts = self._search(tokens, budget, self.settings)
        counts[:2] += before
        return items, cost, status, counts, tried + 1, None


__all__ = ["KIND", "DtreeParser"]
