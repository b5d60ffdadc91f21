"""The span parser: maps words and tags to the tree with the greatest expected number of correct labels."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ..core.constraints import Constraints
from ..core.kbest import check_k, rank_parses
from ..core.marginals import SpanMarginals, concatenate_marginals
from ..core.parser import ParseResult, TaggedWords
from ..core.self_test import GoldenParse, Strings
from ..core.settings import SpanSettings
from ..core.stored import Data, StoredParser, check_sentence
from ..dtypes import INDEX, OFFSET, REAL, SCORE
from ..jit.warmup import SHORT, kernels_for
from ..trees.heads import HeadRules
from ..trees.tree import TOP, Tree
from ..trees.unattached import SISTERS, is_unattached
from .attach import PIECE, attach_in_pieces
from .constrained import constrained_posteriors, decode_constrained
from .kbest import CANDIDATE, alternatives
from .kernels.attach import attach_unattached, find_unattached, first_unattached
from .kernels.network import (
    compute_marginals,
    constituent_marginals,
    decode,
    encode_gaps,
    label_spans,
    span_probabilities,
)
from .long import DecodedTree, ScoredSpans, decode_long, long_posteriors
from .model import KIND, AttachTables, SpanModel, read_model, write_model
from .single_network import parse_with_one_network

_MIN_LABELLED = 0.01
"""Minimum posterior probability of spans that are labelled."""
_MIN_LISTED = 1e-3
"""Minimum posterior probability of constituents in `span_posteriors`."""
_MIN_MARGINAL = 0.002
"""Minimum posterior probability of constituents in the marginals for boosted trees."""

_BATCH_ROWS = 256
"""Rows per batch of the networks: enough to load the weights once for several sentences, and still in the cache."""


def _batches(sentences: Sequence[TaggedWords]) -> Iterator[list[TaggedWords]]:
    """Yield the sentences in batches of at most `_BATCH_ROWS` rows (words + 2 each), or of one sentence, in order."""
    part: list[TaggedWords] = []
    rows = 0
    for sentence in sentences:
        size = len(sentence[0]) + 2
        if part and rows + size > _BATCH_ROWS:
            yield part
            part, rows = [], 0
        part.append(sentence)
        rows += size
    if part:
        yield part


class SpanParser(StoredParser):
    """Parses with a SpanModel. Safe to use from several threads; the same sentence gets the same bits in any batch.

    A constituent's score is -ln of the probability that the sentence's tree contains it: the probability of its span
    among all binary trees (in a long sentence as computed by `span_parser.long`) times that of its labels there. The
    cost of a parse is the sum of its scores. Status: "optimal" from a chart over the whole sentence, "complete" if the
    settings leave out networks, "greedy" if the sentence was too long for one chart. Raises DtparseError if the numbers
    of words and tags differ, or if there are no words.
    """

    model: SpanModel
    name = KIND
    SELF_TEST_SETTINGS = SpanSettings(max_tokens=200, ensemble_threshold=0.0, penalty=0.0, attach_unattached=False)
    """Without a penalty, so that the output contains the score of every span of a binary tree."""
    TOLERANCE = 1e-4
    """Sums of float32: they differ between processors by less than 1e-6."""

    FORMAT = read_model, write_model

    def __init__(self, model: SpanModel, settings: SpanSettings | None = None, data: Data = None):
        super().__init__(model, settings, data)
        used = len(model.networks)
        if self.settings.budget == 0:
            used = 1
        elif self.settings.networks is not None:
            used = min(used, self.settings.networks)
        self._networks = model.networks[:used]
        stops_early = self.settings.budget != 0 and self.settings.ensemble_threshold > 0
        self._n_first = 1 if stops_early else used
        """Number of networks that are run first; the others run only if a score in their tree is above
        `ensemble_threshold`."""
        self._weights = np.stack([network.labels for network in self._networks])
        self._bias = np.stack([network.label_bias for network in self._networks])
        self._labels = model.labels
        label_ids = {label: label_id for label_id, label in enumerate(self._labels)}
        self._chains = [[label_ids[label] for label in chain] for chain in model.chains]
        self._chain_table = (
            np.cumsum([0, *map(len, self._chains)]).astype(INDEX),
            np.array([label_id for chain in self._chains for label_id in chain], dtype=INDEX),
        )
        self._attach_tables = self._build_attach_tables() if self.settings.attach_unattached else None
        self._foreign_attach_tables = self._build_foreign_attach_tables()
        stored_rules = model.meta.get("head_rules")
        self._custom_heads = HeadRules.from_dict(stored_rules) if stored_rules else None
        self._local = threading.local()

    def _build_attach_tables(self) -> AttachTables | None:
        """Return the tables of the model, extended by one tag for all unlisted tags."""
        if self.model.attach_tables is None:
            return None
        never, one_root = self.model.attach_tables
        other = np.zeros((*never.shape[:2], 1), dtype=np.bool_)
        return AttachTables(np.concatenate([never, other], axis=2), one_root)

    def _build_foreign_attach_tables(self) -> AttachTables | None:
        """Return `_build_attach_tables` restricted to the cases of `trees.unattached`, for trees of other parsers."""
        tables = self._build_attach_tables()
        if tables is None:
            return None
        parents, sisters = (*self._labels, TOP), self._labels
        restricted = np.zeros_like(tables.never)
        for p, parent in enumerate(parents):
            for s in [s for s, sister in enumerate(sisters) if sister in SISTERS]:
                for t, tag in enumerate(self.model.words.tables[1]):
                    restricted[p, s, t] = tables.never[p, s, t] and is_unattached(parent, sisters[s], tag)
        return AttachTables(restricted, False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of constituents, without TOP."""
        return self._labels

    @property
    def head_rules(self) -> HeadRules | None:
        """The head rules of the model; None if they are the standard ones of its language."""
        return self._custom_heads

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model and the current settings, as plain data."""
        network = self.model.networks[0]
        n_parameters = sum(array.size for packed in self.model.packed for array in packed.arrays.values())
        return {
            "networks": f"{len(self._networks)} of {len(self.model.networks)}",
            "layers": len(network.weights),
            "units": int(2 * network.recurrent.shape[3]),
            "parameters": int(n_parameters),
            "words": len(self.model.words.tables[0]),
            "label chains": len(self.model.chains) - 1,
            "max_tokens": self.settings.max_tokens,
            "ensemble_threshold": self.settings.ensemble_threshold,
            "penalty": self.settings.penalty,
            "attach_unattached": self.settings.attach_unattached and self.model.attach_tables is not None,
        }

    def _vocabulary(self) -> tuple[Strings, Strings]:
        return self.model.words.tables[0], self.model.words.tables[1].strings

    def _golden_outputs(self, words: list[str], tags: list[str]) -> GoldenParse:
        return {"scores": list(self.parse(words, tags).scores)}

    def _workspace(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return this thread's arrays (items, costs) for a sentence of n tokens."""
        local = self._local
        if getattr(local, "tokens", 0) < n:
            local.tokens = max(64, 2 * n) if n <= 4096 else n
            size = (3 * local.tokens + 1) * max(map(len, self._chains))
            local.workspace = np.empty((size, 3), INDEX), np.empty(size, SCORE)
        return local.workspace

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> ParseResult:
        """Parse one sentence of raw words with their tags; never fails on a non-empty one."""
        return self.parse_batch([(words, tags)])[0]

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """Parse all sentences (words, tags): the same results as `parse` in less time; networks run on batches."""
        for words, tags in sentences:
            check_sentence(words, tags)
        results: list[ParseResult] = []
        with kernels_for(KIND, sum(len(words) for words, _ in sentences)):
            for is_long, group in groupby(sentences, lambda sentence: len(sentence[0]) > self._max_chart_tokens):
                if len(self._networks) == self._n_first == 1 and not is_long:
                    results += parse_with_one_network(self, list(group), _BATCH_ROWS)
                    continue
                for part in _batches(list(group)):
                    encoded = [self.model.words.encode(*sentence) for sentence in part]
                    outputs = (
                        self._run_networks_batch(encoded)
                        if len(part) > 1
                        else [self._run_networks(encoded[0], self._n_first)]
                    )
                    for (words, tags), token_ids, parts in zip(part, encoded, outputs, strict=True):
                        results.append(self._parse(words, tags, token_ids, parts))
        return results

    def _run_all_networks(self, part: Sequence[TaggedWords]) -> list[tuple[np.ndarray, ...]]:
        """Run all networks on the sentences of one of `_batches`."""
        encoded = [self.model.words.encode(*sentence) for sentence in part]
        used = len(self._networks)
        if used != self._n_first or len(part) == 1:
            return [self._run_networks(token_ids, used) for token_ids in encoded]
        return self._run_networks_batch(encoded)

    def _parse(
        self, words: Sequence[str], tags: Sequence[str], token_ids: np.ndarray, parts: tuple[np.ndarray, ...]
    ) -> ParseResult:
        """Return the parse of a sentence, given the output of the first networks."""
        decoded = self._decode_sentence(token_ids, parts)
        items, costs = self._attach_unattached(decoded, decoded.items, decoded.costs)
        return self._result_of_items(words, tags, items, costs, decoded.status, decoded.tried)

    def _decode_sentence(self, token_ids: np.ndarray, parts: tuple[np.ndarray, ...]) -> DecodedTree:
        """Decode a sentence, given the output of the first networks; run the others if needed."""
        n, n_used, n_first = len(token_ids) - 2, len(self._networks), self._n_first
        threshold = self.settings.ensemble_threshold
        scored = self._long_candidates(parts)
        items, costs, tried, status = self._decode(parts, n, scored)
        if n_first < n_used and max(costs, default=0.0) > threshold:
            parts = self._run_networks(token_ids, n_used, parts)
            scored = self._long_candidates(parts)
            items, costs, more, status = self._decode(parts, n, scored)
            tried += more
        return DecodedTree(items, costs, tried, status, token_ids, parts, scored)

    def _result_of_items(
        self, words: Sequence[str], tags: Sequence[str], items: list[list[int]], costs: list[float], status: str,
        tried: int,
    ) -> ParseResult:  # fmt: skip
        columns = [*zip(*items, strict=True)] if items else [(), (), ()]
        return self._make_result(words, tags, columns, costs, status, tried)

    def _make_result(
        self, words: Sequence[str], tags: Sequence[str], columns: Sequence[Sequence[int]], costs: Sequence[float],
        status: str, tried: int,
    ) -> ParseResult:  # fmt: skip
        """Return the result for constituents, given their starts, ends and labels in pre-order, without TOP."""
        (starts, ends, labels), names, n = columns, self._labels, len(words)
        tree = Tree.unchecked(words, tags, (TOP, *[names[label] for label in labels]), (0, *starts), (n, *ends))
        return ParseResult(tree, (0.0, *costs), sum(costs), status, 0, tried)

    def parse_k_best(self, words: Sequence[str], tags: Sequence[str], k: int) -> list[ParseResult]:
        """Return the k best parses; see `KBestParser`. A margin is a difference of the expected number of correct
        constituents, the objective of the chart, before unattached tokens are attached; costs need not be in order.

        There are fewer than k if 20 k candidates contain no more distinct trees (attaching tokens can make trees
        equal), or if no more trees consist of constituents with a probability of at least 0.02. Status: "optimal" if no
        less probable constituent could give a better tree, and the tree is from one chart, else "complete". Raises
        DtparseError as `parse` does.
        """
        check_k(k)
        check_sentence(words, tags)
        token_ids = self.model.words.encode(words, tags)
        with kernels_for(KIND, len(words) if k == 1 else SHORT + 1):  # uncompiled, a list would take minutes
            decoded = self._decode_sentence(token_ids, self._run_networks(token_ids, self._n_first))
            items, costs = self._attach_unattached(decoded, decoded.items, decoded.costs)
            first = self._result_of_items(words, tags, items, costs, decoded.status, decoded.tried)
            return rank_parses(first, alternatives(self, decoded, words, tags, k), k)

    def parse_constrained(self, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
        """Parse under constraints with all networks; see `ConstrainedParser` and `span_parser.constrained`. Status:
        "optimal" from a chart over the whole sentence, else as in `parse`. Raises DtparseError as `parse` does."""
        check_sentence(words, tags)
        constraints.check(len(words), self.labels, words)
        with kernels_for(KIND, len(words)):
            return constraints.enforce(decode_constrained(self, words, tags, constraints), self.labels)

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> dict[tuple[int, int, str], float]:
        """Return {(start, end, label): probability that the sentence's tree has such a constituent}, at least 0.001.

        Probabilities are over all trees, with all networks, in a long sentence as computed by `span_parser.long`. Each
        label over a span counts separately. Raises DtparseError as `parse` does.
        """
        check_sentence(words, tags)
        probabilities: dict[tuple[int, int, str], float] = {(0, len(words), TOP): 1.0}
        spans, posteriors, logs = self._probabilities(self.run_networks(words, tags), _MIN_LISTED)
        probs = np.exp(logs) * posteriors[:, None]
        rows, labels = np.nonzero(probs[:, 1:] >= _MIN_LISTED)
        for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
            first, last = spans[row].tolist()
            for name in dict.fromkeys(self.model.chains[label + 1]):
                key = first, last, name
                probabilities[key] = min(1.0, probabilities.get(key, 0.0) + float(probs[row, label + 1]))
        return probabilities

    @property
    def _max_chart_tokens(self) -> int:
        """Maximum number of tokens that one chart parses."""
        return max(self.settings.max_tokens, 2)

    def _probabilities(self, parts: tuple[np.ndarray, ...], min_prob: float) -> ScoredSpans:
        """Return `span_probabilities` of a whole sentence of any length, given the output of the networks."""
        gaps, left_scores, weights, bias = parts
        n = left_scores.shape[1] - 1
        if n <= self._max_chart_tokens:
            return span_probabilities(*parts, 0, n, min_prob)
        spans, posteriors = long_posteriors(gaps, left_scores, self._max_chart_tokens)
        probable = posteriors >= min_prob
        spans, posteriors = spans[probable], posteriors[probable]
        logs = np.empty((len(spans), len(self._chains)), dtype=REAL)
        label_spans(gaps, weights, bias, spans, logs)
        return spans, posteriors, logs

    @property
    def chain_names(self) -> tuple[str, ...]:
        """The label chains by id, labels separated by blanks, from top to bottom."""
        return tuple(" ".join(chain) for chain in self.model.chains)

    def marginals(self, sentences: Sequence[TaggedWords]) -> list[SpanMarginals]:
        """Return the span marginals of each sentence; see `SpanMarginals`."""
        if not sentences:
            return []
        marginals, offsets = self.marginals_batch(sentences)
        return [
            SpanMarginals(*(array[start:end] for array in marginals))
            for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ]

    def marginals_batch(self, sentences: Sequence[TaggedWords]) -> tuple[SpanMarginals, np.ndarray]:
        """Return the concatenated `marginals` of S ≥ 1 sentences, and the offset of each sentence, int64 (S + 1,)."""
        parts = []
        for is_long, group in groupby(sentences, lambda sentence: len(sentence[0]) > self._max_chart_tokens):
            if len(self._networks) == self._n_first == 1 and not is_long:
                parts.append(self._single_network_marginals(list(group)))
            else:
                outputs = map(self._run_all_networks, _batches(list(group)))
                parts.append(
                    concatenate_marginals([self._marginals_of_outputs(one) for part in outputs for one in part])
                )
        if len(parts) == 1:
            return parts[0]
        offsets = np.cumsum([0, *(count for _, ends in parts for count in np.diff(ends).tolist())], dtype=OFFSET)
        return SpanMarginals(*map(np.concatenate, zip(*(results for results, _ in parts), strict=True))), offsets

    def _single_network_marginals(self, sentences: Sequence[TaggedWords]) -> tuple[SpanMarginals, np.ndarray]:
        """Return `marginals_batch` with a single network, for sentences that are short enough for one chart."""
        token_ids, token_offsets = self.model.words.encode_all(sentences)
        capacity, done, offsets = 8 * len(token_ids), 0, np.zeros(len(sentences) + 1, dtype=OFFSET)
        arrays = SpanMarginals(
            np.empty((capacity, 2), INDEX), np.empty(capacity), np.empty((capacity, 2), INDEX), np.empty((capacity, 2))
        )
        network, labels = self._networks[0], (self._weights, self._bias)
        while True:
            done = compute_marginals(
                network, *labels, token_ids, token_offsets, _BATCH_ROWS, _MIN_MARGINAL, done, arrays, offsets
            )
            if done == len(sentences):
                break
            arrays = SpanMarginals(*(np.concatenate([array, np.empty_like(array)]) for array in arrays))
        return SpanMarginals(*(array[: offsets[-1]] for array in arrays)), offsets

    def constrained_marginals(
        self, words: Sequence[str], tags: Sequence[str], constraints: Constraints
    ) -> SpanMarginals:
        """Return the `marginals` of a sentence over the trees in which the constraints hold."""
        return self._marginals_of_spans(
            constrained_posteriors(self, self.run_networks(words, tags), constraints, _MIN_MARGINAL)
        )

    def _marginals_of_outputs(self, parts: tuple[np.ndarray, ...]) -> SpanMarginals:
        """Return the marginals of a sentence, given the output of the networks."""
        return self._marginals_of_spans(self._probabilities(parts, _MIN_MARGINAL))

    def _marginals_of_spans(self, scored: ScoredSpans) -> SpanMarginals:
        spans, posteriors, logs = scored
        c = len(spans)
        arrays = SpanMarginals(np.empty((c, 2), INDEX), np.empty(c), np.empty((c, 2), INDEX), np.empty((c, 2)))
        count = constituent_marginals(spans, posteriors, logs, _MIN_MARGINAL, *arrays)
        return SpanMarginals(*(array[:count] for array in arrays))

    def run_networks(self, words: Sequence[str], tags: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Run all networks on a sentence and return their output in the format of `span_parser.kernels.network`: gaps,
        left_scores, label weights, label bias."""
        return self._run_networks(self.model.words.encode(words, tags), len(self._networks))

    def _run_networks(
        self, token_ids: np.ndarray, used: int, before: tuple[np.ndarray, ...] | None = None
    ) -> tuple[np.ndarray, ...]:
        """Run the first `used` networks; `before`: output of those that have run already."""
        size, done = len(token_ids) - 1, 0
        gaps = np.empty((used, 4, size, self._weights.shape[1]), dtype=REAL)
        left_scores = np.empty((used, size), dtype=REAL)
        if before is not None:
            done = len(before[0])
            gaps[:done], left_scores[:done] = before[:2]
        token_offsets = np.array((0, size + 1), dtype=INDEX)
        for q in range(done, used):
            encode_gaps(self._networks[q], token_ids, token_offsets, gaps[q].reshape(-1), left_scores[q])
        return gaps, left_scores, self._weights[:used], self._bias[:used]

    def _run_networks_batch(self, encoded: Sequence[np.ndarray]) -> list[tuple[np.ndarray, ...]]:
        """Run the first networks on several sentences; see `_run_networks`."""
        used, m = self._n_first, self._weights.shape[1]
        token_offsets = np.cumsum([0, *map(len, encoded)]).astype(INDEX)
        token_ids, size = np.concatenate(encoded), int(token_offsets[-1]) - len(encoded)
        gaps, left_scores = np.empty((used, 4 * m * size), dtype=REAL), np.empty((used, size), dtype=REAL)
        for q in range(used):
            encode_gaps(self._networks[q], token_ids, token_offsets, gaps[q], left_scores[q])
        results: list[tuple[np.ndarray, ...]] = []
        at = 0
        for rows in encoded:
            here = at + len(rows) - 1
            ends = gaps[:, 4 * m * at : 4 * m * here].reshape(used, 4, -1, m)
            scores = np.ascontiguousarray(left_scores[:, at:here])
            results.append((ends, scores, self._weights[:used], self._bias[:used]))
            at = here
        return results

    def _min_posterior(self) -> float:
        """Return the minimum posterior probability of useful spans: those below the penalty never gain."""
        return max(_MIN_LABELLED, float(self.settings.penalty))

    @property
    def _chart_status(self) -> str:
        """The status of a tree from a chart over the whole sentence."""
        return "optimal" if len(self._networks) == len(self.model.networks) else "complete"

    def _long_candidates(self, parts: tuple[np.ndarray, ...]) -> ScoredSpans | None:
        """Return `_probabilities` of the possible constituents of a long sentence; None if one chart suffices."""
        if parts[1].shape[1] - 1 <= self._max_chart_tokens:
            return None
        return self._probabilities(parts, min(self._min_posterior(), CANDIDATE))

    def _decode(
        self, parts: tuple[np.ndarray, ...], n: int, scored: ScoredSpans | None
    ) -> tuple[list[list[int]], list[float], int, str]:
        """Find the best tree: (items start, end, label in pre-order; their scores; labelled spans; status)."""
        workspace, penalty = self._workspace(n), float(self.settings.penalty)
        if scored is None:
            count, tried = decode(*parts, *self._chain_table, 0, n, self._min_posterior(), penalty, *workspace)
            status = self._chart_status
        else:
            count, tried, status = (
                decode_long(scored, *self._chain_table, penalty, *workspace),
                len(scored[0]),
                "greedy",
            )
        return workspace[0][:count].tolist(), workspace[1][:count].tolist(), tried, status

    def _attach_unattached(
        self, decoded: DecodedTree, items: list[list[int]], costs: list[float]
    ) -> tuple[list[list[int]], list[float]]:
        """Attach all tokens that the treebank never leaves unattached; items and scores are also in the workspace."""
        if self._attach_tables is None:
            return items, costs
        tags, count = self.model.words.tags_of(decoded.token_ids[1:-1]), len(items)
        if self._is_fully_attached(count, len(tags), tags, self._attach_tables):
            return items, costs
        candidates = self._candidates(decoded.parts) if decoded.scored is None else decoded.scored
        return self._attach(count, candidates, tags, self._attach_tables)

    def _candidates(self, parts: tuple[np.ndarray, ...]) -> ScoredSpans:
        """Return the spans to which unattached tokens may be attached."""
        return self._probabilities(parts, CANDIDATE)

    def _attach(
        self, count: int, candidates: ScoredSpans, tags: np.ndarray, tables: AttachTables
    ) -> tuple[list[list[int]], list[float]]:
        """Return the workspace's items and scores after attaching the tokens that must not be unattached."""
        workspace, scores = self._workspace(len(tags))
        if len(tags) > PIECE:
            return attach_in_pieces(workspace[:count], scores[:count], tags, tables, candidates, *self._chain_table)
        count = attach_unattached(workspace, scores, count, tags, *tables, *candidates, *self._chain_table)
        return workspace[:count].tolist(), scores[:count].tolist()

    def _is_fully_attached(self, count: int, n: int, tags: np.ndarray, tables: AttachTables) -> bool:
        """Return whether the workspace's items leave no token unattached that the tables do not allow to be."""
        workspace = self._workspace(n)[0]
        if tables.one_root and count and (workspace[0, 0] > 0 or workspace[0, 1] < n):
            return False
        return first_unattached(workspace, count, n, tags, tables.never, np.empty(n, dtype=INDEX), 0) < 0

    def attach(
        self, words: Sequence[str], tags: Sequence[str], items: np.ndarray, costs: np.ndarray
    ) -> tuple[list[list[int]], list[float]] | None:
        """Attach unattached tokens (`trees.unattached`) in another parser's tree if the treebank never leaves them so.

        Returns (constituents, costs), -ln of its probability as the cost of a new constituent; None if there is nothing
        to attach. `items` int32 (c, 3): start, end, id in `labels`, in pre-order, without TOP; `costs` float64 (c,).
        """
        n, count = len(words), len(items)
        workspace, scores = self._workspace(n)
        if self._foreign_attach_tables is None or count > len(workspace) // 2:
            return None
        workspace[:count], scores[:count] = items, costs
        tag_ids = self.model.words.tag_ids(tags)
        if self._is_fully_attached(count, n, tag_ids, self._foreign_attach_tables):
            return None
        return self._attach(
            count, self._candidates(self.run_networks(words, tags)), tag_ids, self._foreign_attach_tables
        )

    def has_unattached(
        self, tags: Sequence[str], token_offsets: np.ndarray, items: np.ndarray, item_offsets: np.ndarray
    ) -> np.ndarray:
        """bool (S,): whether `attach` would attach a token in each of S sentences.

        `tags`: tags of all tokens, those of sentence s from `token_offsets[s]`, int64 (S + 1,). `items` int32 (c, 3):
        start, end, id in `labels` (-1: not in it), in pre-order, each sentence's TOP first, those of sentence s from
        `item_offsets[s]`, int64 (S + 1,).
        """
        has_token = np.zeros(len(token_offsets) - 1, dtype=np.bool_)
        if self._foreign_attach_tables is not None:
            tag_ids = self.model.words.tag_ids(tags)
            find_unattached(
                items,
                item_offsets,
                tag_ids,
                token_offsets,
                self._foreign_attach_tables.never,
                np.empty_like(tag_ids),
                has_token,
            )
        return has_token


__all__ = ["KIND", "SpanParser"]
