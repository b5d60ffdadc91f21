"""The span parser: maps words and tags to the tree with the greatest expected number of correct labels."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ...dtypes import INDEX, OFFSET, REAL, SCORE
from ...features.trees.beliefs import Beliefs, together
from ...kernels.span.network import (
    constituent_beliefs,
    decode,
    label_spans,
    read_beliefs,
    read_gaps,
    span_probabilities,
)
from ...kernels.span.whole import find_bare, place_of_bare, take_up_bare
from ...model.ahead import SHORT, kernels_for
from ...model.span.model import KIND, BareTables, SpanModel, read_model, write_model
from ...trees.heads import HeadRules
from ...trees.orphans import SISTERS, is_orphan
from ...trees.tree import TOP, Tree
from ..base import ParseResult, TaggedWords
from ..constraints import Constraints
from ..kbest import check_k, ranked
from ..proofs import Proof, Strings
from ..settings import SpanSettings
from ..stored import Data, StoredParser, check_sentence
from .kbest import CANDIDATE, others_than
from .long import Made, Told, decode_long, long_posteriors
from .steered import steered, told_under
from .together import parse_together
from .whole import PIECE, take_up_in_pieces

_LEAST = 0.01
"""Minimum posterior probability of spans that are labelled."""
_BELIEVED = 1e-3
"""Minimum posterior probability of constituents in `span_posteriors`."""
_READ = 0.002
"""Minimum posterior probability of constituents in the marginals for boosted trees."""

_TOGETHER = 256
"""Rows per batch of the networks: enough to load the weights once for several sentences, and still in the cache."""


def _batches(sentences: Sequence[TaggedWords]) -> Iterator[list[TaggedWords]]:
    """Yield the sentences in batches of at most `_TOGETHER` rows (words + 2 each), or of one sentence, in order."""
    part: list[TaggedWords] = []
    rows = 0
    for sentence in sentences:
        size = len(sentence[0]) + 2
        if part and rows + size > _TOGETHER:
            yield part
            part, rows = [], 0
        part.append(sentence)
        rows += size
    if part:
        yield part


class SpanParser(StoredParser):
    """Parses with a SpanModel. Safe to use from several threads; the same sentence gets the same bits in any batch.

    A constituent's score is -ln of the probability that the sentence's tree contains it: the probability of its span
    among all binary trees (in a long sentence as computed by `parsers.span.long`) times that of its labels there. The
    cost of a parse is the sum of its scores. Status: "optimal" from a chart over the whole sentence, "complete" if the
    settings leave out networks, "greedy" if the sentence was too long for one chart. Raises DtparseError if the numbers
    of words and tags differ, or if there are no words.
    """

    model: SpanModel
    name = KIND
    PROOF = SpanSettings(max_tokens=200, confident=0.0, penalty=0.0, whole=False)
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
        sure = self.settings.budget != 0 and self.settings.confident > 0
        self._first = 1 if sure else used
        """Number of networks that are run first; the others run only if these leave doubts."""
        self._weights = np.stack([network.labels for network in self._networks])
        self._bias = np.stack([network.label_bias for network in self._networks])
        self._labels = model.labels
        numbers = {label: number for number, label in enumerate(self._labels)}
        self._chains = [[numbers[label] for label in chain] for chain in model.chains]
        self._chain_table = (
            np.cumsum([0, *map(len, self._chains)]).astype(INDEX),
            np.array([number for chain in self._chains for number in chain], dtype=INDEX),
        )
        self._bare = self._bare_tables() if self.settings.whole else None
        self._orphans = self._orphan_tables()
        told = model.meta.get("head_rules")
        self._own_heads = HeadRules.from_dict(told) if told else None
        self._local = threading.local()

    def _bare_tables(self) -> BareTables | None:
        """Return the tables of the model, extended by one tag for all unlisted tags."""
        if self.model.bare is None:
            return None
        never, one_root = self.model.bare
        other = np.zeros((*never.shape[:2], 1), dtype=np.bool_)
        return BareTables(np.concatenate([never, other], axis=2), one_root)

    def _orphan_tables(self) -> BareTables | None:
        """Return `_bare_tables` restricted to the cases of `trees.unattached`, for trees of other parsers."""
        tables = self._bare_tables()
        if tables is None:
            return None
        parents, sisters = (*self._labels, TOP), self._labels
        never = np.zeros_like(tables.never)
        for p, parent in enumerate(parents):
            for s in [s for s, sister in enumerate(sisters) if sister in SISTERS]:
                for t, tag in enumerate(self.model.words.tables[1]):
                    never[p, s, t] = tables.never[p, s, t] and is_orphan(parent, sisters[s], tag)
        return BareTables(never, False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of constituents, without TOP."""
        return self._labels

    @property
    def head_rules(self) -> HeadRules | None:
        """The head rules of the model; None if they are the standard ones of its language."""
        return self._own_heads

    def describe(self) -> dict[str, Any]:
        """Return sizes of the model and the current settings, as plain data."""
        network = self.model.networks[0]
        numbers = sum(array.size for packed in self.model.packed for array in packed.arrays.values())
        return {
            "networks": f"{len(self._networks)} of {len(self.model.networks)}",
            "layers": len(network.weights),
            "units": int(2 * network.recurrent.shape[3]),
            "numbers": int(numbers),
            "words": len(self.model.words.tables[0]),
            "label chains": len(self.model.chains) - 1,
            "max_tokens": self.settings.max_tokens,
            "confident": self.settings.confident,
            "penalty": self.settings.penalty,
            "whole": self.settings.whole and self.model.bare is not None,
        }

    def _known(self) -> tuple[Strings, Strings]:
        return self.model.words.tables[0], self.model.words.tables[1].strings

    def _proof(self, words: list[str], tags: list[str]) -> Proof:
        return {"scores": list(self.parse(words, tags).scores)}

    def _room(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return this thread's arrays (items, costs) for a sentence of n tokens."""
        local = self._local
        if getattr(local, "tokens", 0) < n:
            local.tokens = max(64, 2 * n) if n <= 4096 else n
            size = (3 * local.tokens + 1) * max(map(len, self._chains))
            local.room = np.empty((size, 3), INDEX), np.empty(size, SCORE)
        return local.room

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> ParseResult:
        """Parse one sentence of raw words with their tags; never fails on a non-empty one."""
        return self.parse_batch([(words, tags)])[0]

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """Parse all sentences (words, tags): the same results as `parse` in less time; networks run on batches."""
        for words, tags in sentences:
            check_sentence(words, tags)
        results: list[ParseResult] = []
        with kernels_for(KIND, sum(len(words) for words, _ in sentences)):
            for is_long, group in groupby(sentences, lambda sentence: len(sentence[0]) > self._most):
                if len(self._networks) == self._first == 1 and not is_long:
                    results += parse_together(self, list(group), _TOGETHER)
                    continue
                for part in _batches(list(group)):
                    encoded = [self.model.words.encode(*sentence) for sentence in part]
                    read = self._read_batch(encoded) if len(part) > 1 else [self._read(encoded[0], self._first)]
                    for (words, tags), numbers, parts in zip(part, encoded, read, strict=True):
                        results.append(self._parse(words, tags, numbers, parts))
        return results

    def _read_part(self, part: Sequence[TaggedWords]) -> list[tuple[np.ndarray, ...]]:
        """Run all networks on the sentences of one of `_batches`."""
        encoded = [self.model.words.encode(*sentence) for sentence in part]
        used = len(self._networks)
        if used != self._first or len(part) == 1:
            return [self._read(numbers, used) for numbers in encoded]
        return self._read_batch(encoded)

    def _parse(
        self, words: Sequence[str], tags: Sequence[str], numbers: np.ndarray, parts: tuple[np.ndarray, ...]
    ) -> ParseResult:
        """Return the parse of a sentence, given the output of the first networks."""
        made = self._made(numbers, parts)
        items, costs = self._whole(made, made.items, made.costs)
        return self._result(words, tags, items, costs, made.status, made.tried)

    def _made(self, numbers: np.ndarray, parts: tuple[np.ndarray, ...]) -> Made:
        """Decode a sentence, given the output of the first networks; run the others if needed."""
        n, used, first = len(numbers) - 2, len(self._networks), self._first
        sure = self.settings.confident
        told = self._told_long(parts)
        items, costs, tried, status = self._decode(parts, n, told)
        if first < used and max(costs, default=0.0) > sure:
            parts = self._read(numbers, used, parts)
            told = self._told_long(parts)
            items, costs, more, status = self._decode(parts, n, told)
            tried += more
        return Made(items, costs, tried, status, numbers, parts, told)

    def _result(
        self, words: Sequence[str], tags: Sequence[str], items: list[list[int]], costs: list[float], status: str,
        tried: int,
    ) -> ParseResult:  # fmt: skip
        columns = [*zip(*items, strict=True)] if items else [(), (), ()]
        return self._told(words, tags, columns, costs, status, tried)

    def _told(
        self, words: Sequence[str], tags: Sequence[str], columns: Sequence[Sequence[int]], costs: Sequence[float],
        status: str, tried: int,
    ) -> ParseResult:  # fmt: skip
        """Return the result for constituents, given their starts, ends and labels in pre-order, without TOP."""
        (starts, ends, labels), names, n = columns, self._labels, len(words)
        tree = Tree.trusted(words, tags, (TOP, *[names[label] for label in labels]), (0, *starts), (n, *ends))
        return ParseResult(tree, (0.0, *costs), sum(costs), status, 0, tried)

    def parse_k(self, words: Sequence[str], tags: Sequence[str], k: int) -> list[ParseResult]:
        """Return the k best parses; see `KBestParser`. A margin is a difference of the expected number of correct
        constituents, the objective of the chart, before unattached tokens are attached; costs need not be in order.

        There are fewer than k if 20 k candidates contain no more distinct trees (attaching tokens can make trees
        equal), or if no more trees consist of constituents with a probability of at least 0.02. Status: "optimal" if no
        less probable constituent could give a better tree, and the tree is from one chart, else "complete". Raises
        DtparseError as `parse` does.
        """
        check_k(k)
        check_sentence(words, tags)
        numbers = self.model.words.encode(words, tags)
        with kernels_for(KIND, len(words) if k == 1 else SHORT + 1):  # uncompiled, a list would take minutes
            made = self._made(numbers, self._read(numbers, self._first))
            items, costs = self._whole(made, made.items, made.costs)
            first = self._result(words, tags, items, costs, made.status, made.tried)
            return ranked(first, others_than(self, made, words, tags, k), k)

    def parse_under(self, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
        """Parse under constraints with all networks; see `SteeredParser` and `parsers.span.constrained`. Status:
        "optimal" from a chart over the whole sentence, else as in `parse`. Raises DtparseError as `parse` does."""
        check_sentence(words, tags)
        constraints.check(len(words), self.labels, words)
        with kernels_for(KIND, len(words)):
            return constraints.enforce(steered(self, words, tags, constraints), self.labels)

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str]) -> dict[tuple[int, int, str], float]:
        """Return {(start, end, label): probability that the sentence's tree has such a constituent}, at least 0.001.

        Probabilities are over all trees, with all networks, in a long sentence as computed by `parsers.span.long`. Each
        label over a span counts separately. Raises DtparseError as `parse` does.
        """
        check_sentence(words, tags)
        found: dict[tuple[int, int, str], float] = {(0, len(words), TOP): 1.0}
        spans, posteriors, logs = self._probabilities(self.read(words, tags), _BELIEVED)
        mass = np.exp(logs) * posteriors[:, None]
        rows, labels = np.nonzero(mass[:, 1:] >= _BELIEVED)
        for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
            first, last = spans[row].tolist()
            for name in dict.fromkeys(self.model.chains[label + 1]):
                key = first, last, name
                found[key] = min(1.0, found.get(key, 0.0) + float(mass[row, label + 1]))
        return found

    @property
    def _most(self) -> int:
        """Maximum number of tokens that one chart parses."""
        return max(self.settings.max_tokens, 2)

    def _probabilities(self, parts: tuple[np.ndarray, ...], least: float) -> Told:
        """Return `span_probabilities` of a whole sentence of any length, given the output of the networks."""
        gaps, own, weights, bias = parts
        n = own.shape[1] - 1
        if n <= self._most:
            return span_probabilities(*parts, 0, n, least)
        spans, posteriors = long_posteriors(gaps, own, self._most)
        probable = posteriors >= least
        spans, posteriors = spans[probable], posteriors[probable]
        logs = np.empty((len(spans), len(self._chains)), dtype=REAL)
        label_spans(gaps, weights, bias, spans, logs)
        return spans, posteriors, logs

    @property
    def chain_names(self) -> tuple[str, ...]:
        """The label chains by id, labels separated by blanks, from top to bottom."""
        return tuple(" ".join(chain) for chain in self.model.chains)

    def beliefs(self, sentences: Sequence[TaggedWords]) -> list[Beliefs]:
        """Return the span marginals of each sentence; see `Beliefs`."""
        if not sentences:
            return []
        found, begins = self.beliefs_together(sentences)
        return [
            Beliefs(*(array[start:end] for array in found))
            for start, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True)
        ]

    def beliefs_together(self, sentences: Sequence[TaggedWords]) -> tuple[Beliefs, np.ndarray]:
        """Return the concatenated `beliefs` of S ≥ 1 sentences, and the offset of each sentence, int64 (S + 1,)."""
        parts = []
        for is_long, group in groupby(sentences, lambda sentence: len(sentence[0]) > self._most):
            if len(self._networks) == self._first == 1 and not is_long:
                parts.append(self._believe(list(group)))
            else:
                read = map(self._read_part, _batches(list(group)))
                parts.append(together([self._beliefs(one) for part in read for one in part]))
        if len(parts) == 1:
            return parts[0]
        begins = np.cumsum([0, *(count for _, own in parts for count in np.diff(own).tolist())], dtype=OFFSET)
        return Beliefs(*map(np.concatenate, zip(*(found for found, _ in parts), strict=True))), begins

    def _believe(self, sentences: Sequence[TaggedWords]) -> tuple[Beliefs, np.ndarray]:
        """Return `beliefs_together` with a single network, for sentences that are short enough for one chart."""
        numbers, firsts = self.model.words.encode_all(sentences)
        room, done, ends = 8 * len(numbers), 0, np.zeros(len(sentences) + 1, dtype=OFFSET)
        made = Beliefs(np.empty((room, 2), INDEX), np.empty(room), np.empty((room, 2), INDEX), np.empty((room, 2)))
        network, labels = self._networks[0], (self._weights, self._bias)
        while True:
            done = read_beliefs(network, *labels, numbers, firsts, _TOGETHER, _READ, done, *made, ends)
            if done == len(sentences):
                break
            made = Beliefs(*(np.concatenate([array, np.empty_like(array)]) for array in made))
        return Beliefs(*(array[: ends[-1]] for array in made)), ends

    def beliefs_under(self, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> Beliefs:
        """Return the `beliefs` of a sentence over the trees in which the constraints hold."""
        return self._beliefs_of(told_under(self, self.read(words, tags), constraints, _READ))

    def _beliefs(self, parts: tuple[np.ndarray, ...]) -> Beliefs:
        """Return the marginals of a sentence, given the output of the networks."""
        return self._beliefs_of(self._probabilities(parts, _READ))

    def _beliefs_of(self, told: Told) -> Beliefs:
        spans, posteriors, logs = told
        c = len(spans)
        made = Beliefs(np.empty((c, 2), INDEX), np.empty(c), np.empty((c, 2), INDEX), np.empty((c, 2)))
        count = constituent_beliefs(spans, posteriors, logs, _READ, *made)
        return Beliefs(*(array[:count] for array in made))

    def read(self, words: Sequence[str], tags: Sequence[str]) -> tuple[np.ndarray, ...]:
        """Run all networks on a sentence and return their output in the format of `kernels.span.network`: gaps, own,
        label weights, label bias."""
        return self._read(self.model.words.encode(words, tags), len(self._networks))

    def _read(
        self, numbers: np.ndarray, used: int, before: tuple[np.ndarray, ...] | None = None
    ) -> tuple[np.ndarray, ...]:
        """Run the first `used` networks; `before`: output of those that have run already."""
        size, done = len(numbers) - 1, 0
        gaps = np.empty((used, 4, size, self._weights.shape[1]), dtype=REAL)
        own = np.empty((used, size), dtype=REAL)
        if before is not None:
            done = len(before[0])
            gaps[:done], own[:done] = before[:2]
        firsts = np.array((0, size + 1), dtype=INDEX)
        for q in range(done, used):
            read_gaps(self._networks[q], numbers, firsts, gaps[q].reshape(-1), own[q])
        return gaps, own, self._weights[:used], self._bias[:used]

    def _read_batch(self, encoded: Sequence[np.ndarray]) -> list[tuple[np.ndarray, ...]]:
        """Run the first networks on several sentences; see `_read`."""
        used, m = self._first, self._weights.shape[1]
        firsts = np.cumsum([0, *map(len, encoded)]).astype(INDEX)
        numbers, size = np.concatenate(encoded), int(firsts[-1]) - len(encoded)
        gaps, own = np.empty((used, 4 * m * size), dtype=REAL), np.empty((used, size), dtype=REAL)
        for q in range(used):
            read_gaps(self._networks[q], numbers, firsts, gaps[q], own[q])
        found: list[tuple[np.ndarray, ...]] = []
        at = 0
        for rows in encoded:
            here = at + len(rows) - 1
            ends = gaps[:, 4 * m * at : 4 * m * here].reshape(used, 4, -1, m)
            found.append((ends, np.ascontiguousarray(own[:, at:here]), self._weights[:used], self._bias[:used]))
            at = here
        return found

    def _least(self) -> float:
        """Return the minimum posterior probability of useful spans: those below the penalty never gain."""
        return max(_LEAST, float(self.settings.penalty))

    @property
    def _chart_status(self) -> str:
        """The status of a tree from a chart over the whole sentence."""
        return "optimal" if len(self._networks) == len(self.model.networks) else "complete"

    def _told_long(self, parts: tuple[np.ndarray, ...]) -> Told | None:
        """Return `_probabilities` of the possible constituents of a long sentence; None if one chart suffices."""
        if parts[1].shape[1] - 1 <= self._most:
            return None
        return self._probabilities(parts, min(self._least(), CANDIDATE))

    def _decode(
        self, parts: tuple[np.ndarray, ...], n: int, told: Told | None
    ) -> tuple[list[list[int]], list[float], int, str]:
        """Find the best tree: (items start, end, label in pre-order; their scores; labelled spans; status)."""
        room, penalty = self._room(n), float(self.settings.penalty)
        if told is None:
            count, tried = decode(*parts, *self._chain_table, 0, n, self._least(), penalty, *room)
            status = self._chart_status
        else:
            count, tried, status = decode_long(told, *self._chain_table, penalty, *room), len(told[0]), "greedy"
        return room[0][:count].tolist(), room[1][:count].tolist(), tried, status

    def _whole(self, made: Made, items: list[list[int]], costs: list[float]) -> tuple[list[list[int]], list[float]]:
        """Attach all tokens that the treebank never leaves unattached; items and scores are also in the workspace."""
        if self._bare is None:
            return items, costs
        tags, count = self.model.words.tags_of(made.numbers[1:-1]), len(items)
        if self._hangs_together(count, len(tags), tags, self._bare):
            return items, costs
        candidates = self._candidates(made.parts) if made.told is None else made.told
        return self._taken_up(count, candidates, tags, self._bare)

    def _candidates(self, parts: tuple[np.ndarray, ...]) -> Told:
        """Return the spans to which unattached tokens may be attached."""
        return self._probabilities(parts, CANDIDATE)

    def _taken_up(
        self, count: int, candidates: Told, tags: np.ndarray, bare: BareTables
    ) -> tuple[list[list[int]], list[float]]:
        """Return the workspace's items and scores after attaching the tokens that must not be unattached."""
        room, scores = self._room(len(tags))
        if len(tags) > PIECE:
            return take_up_in_pieces(room[:count], scores[:count], tags, bare, candidates, *self._chain_table)
        count = take_up_bare(room, scores, count, tags, *bare, *candidates, *self._chain_table)
        return room[:count].tolist(), scores[:count].tolist()

    def _hangs_together(self, count: int, n: int, tags: np.ndarray, bare: BareTables) -> bool:
        """Return whether the workspace's items leave no token unattached that the tables do not allow to be."""
        room = self._room(n)[0]
        if bare.one_root and count and (room[0, 0] > 0 or room[0, 1] < n):
            return False
        return place_of_bare(room, count, n, tags, bare.never, np.empty(n, dtype=INDEX), 0) < 0

    def take_up(
        self, words: Sequence[str], tags: Sequence[str], items: np.ndarray, costs: np.ndarray
    ) -> tuple[list[list[int]], list[float]] | None:
        """Attach unattached tokens (`trees.unattached`) in another parser's tree if the treebank never leaves them so.

        Returns (constituents, costs), -ln of its probability as the cost of a new constituent; None if there is nothing
        to attach. `items` int32 (c, 3): start, end, id in `labels`, in pre-order, without TOP; `costs` float64 (c,).
        """
        n, count = len(words), len(items)
        room, scores = self._room(n)
        if self._orphans is None or count > len(room) // 2:
            return None
        room[:count], scores[:count] = items, costs
        kinds = self.model.words.tag_numbers(tags)
        if self._hangs_together(count, n, kinds, self._orphans):
            return None
        return self._taken_up(count, self._candidates(self.read(words, tags)), kinds, self._orphans)

    def has_orphans(
        self, tags: Sequence[str], firsts: np.ndarray, items: np.ndarray, item_firsts: np.ndarray
    ) -> np.ndarray:
        """bool (S,): whether `take_up` would attach a token in each of S sentences.

        `tags`: tags of all tokens, those of sentence s from `firsts[s]`, int64 (S + 1,). `items` int32 (c, 3): start,
        end, id in `labels` (-1: not in it), in pre-order, each sentence's TOP first, those of sentence s from
        `item_firsts[s]`, int64 (S + 1,).
        """
        found = np.zeros(len(firsts) - 1, dtype=np.bool_)
        if self._orphans is not None:
            kinds = self.model.words.tag_numbers(tags)
            find_bare(items, item_firsts, kinds, firsts, self._orphans.never, np.empty_like(kinds), found)
        return found


__all__ = ["KIND", "SpanParser"]
