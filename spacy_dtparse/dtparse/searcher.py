"""The search of the boosted-tree parser: from token matrices to parses, with one workspace per thread."""

import math
import threading
from collections.abc import Sequence

import numpy as np

from ..core.settings import SearchSettings
from ..core.time_limit import TimeLimit
from ..dtypes import OFFSET
from .kernels.batch import Parses, Sentences, make_workspace, search_all
from .kernels.features import TAG
from .kernels.marginals import COLUMNS, count_tokens
from .kernels.search import STATUSES
from .kernels.spines import CHAIN, no_supertags
from .list_search import search_list
from .model.model import CompiledDtree, DtreeModel
from .pruner import Pruning

_MAX_CACHED_STATES, _MAX_CACHED_ENTRIES = 1 << 18, 1 << 15
"""A larger agenda (states) or cache (entries) is freed after a batch, so that memory stays small."""
EXHAUSTIVE = SearchSettings(shift_threshold=math.inf, window_filter=0, commit_threshold=1.0)
"""Settings that skip nothing."""


class Searcher:
    """Searches with a compiled model."""

    def __init__(self, model: DtreeModel, compiled: CompiledDtree):
        self._model, self._compiled = model, compiled
        self._no_supertags = no_supertags()
        self.local = threading.local()
        """This thread's `capacity`, `scratch`, and `workspaces` by whether there is a search."""

    def search(
        self, tokens: np.ndarray, budget: int, settings: SearchSettings = EXHAUSTIVE, pruning: Pruning | None = None
    ) -> tuple[np.ndarray, float, str, np.ndarray]:
        """Parse one token matrix: (items int32 (m, 3): start, end, label in pre-order; cost; status; counts)."""
        parses = self.search_all(
            tokens, np.array([0, len(tokens)]), np.array([0, count_tokens(tokens)]), [budget], settings, pruning
        )
        return parses.items, float(parses.costs[0]), STATUSES[parses.statuses[0]], parses.counts[0]

    def search_all(
        self, tokens: np.ndarray, row_offsets: np.ndarray, token_offsets: np.ndarray, budgets: Sequence[int],
        settings: SearchSettings, pruning: Pruning | None = None, k: int = 1, constraints: np.ndarray | None = None,
        symbols: np.ndarray | None = None, limit: TimeLimit | None = None,
    ) -> Parses:  # fmt: skip
        """Return the k best parses of token matrices, sentence s in the rows [`row_offsets[s]`, `row_offsets[s + 1]`)
        of `tokens`.

        `token_offsets`: cumulative numbers of their tokens, from 0. Either all or none of the budgets are 0; k > 1
        needs a positive budget and a single sentence, and its search asks for the `limit`. `pruning`, `constraints` (in
        the format of `dtparse.kernels.constraints`): for a single sentence only. `symbols` int32 (tokens,): ids of all
        tags, if they are computed already.
        """
        local, searches = self.local, budgets[0] > 0
        n = int(np.diff(token_offsets).max())
        if vars(local).get("capacity", 0) < n:
            local.capacity, local.workspaces = max(64, 2 * n) if n <= 4096 else n, {}
            local.scratch = self._compiled.scratch(local.capacity)
        workspace = local.workspaces.get(searches) or make_workspace(
            self._compiled.search, local.capacity, local.scratch, searches
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
        arguments = (
            self._compiled.search,
            Sentences(tokens, row_offsets, symbols, token_offsets, np.array(budgets, OFFSET)),
            float(settings.shift_threshold),
            self._model.window_filter.min_margin(settings.window_filter),
            supertags,
            workspace,
        )
        parses, workspace = search_all(*arguments) if k == 1 else search_list(*arguments, k, limit or TimeLimit())
        if len(workspace.agenda.states) <= _MAX_CACHED_STATES and len(workspace.cache.entries) <= _MAX_CACHED_ENTRIES:
            local.workspaces[searches] = workspace
        else:
            local.workspaces.pop(searches, None)
        return parses
