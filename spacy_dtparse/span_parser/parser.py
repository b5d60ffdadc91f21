"""The span parser: maps words and tags to the tree with the greatest expected number of correct labels."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from ..core.constraints import Constraints
from ..core.kbest import CANDIDATES_PER_TREE, check_k, rank_parses
from ..core.marginals import SpanMarginals
from ..core.parser import Capability, Decision, Decisions, ParseList, Parser, ParseResult, Posteriors, TaggedWords
from ..core.pieces import iter_batches
from ..core.self_test import GoldenParse, Strings
from ..core.settings import SpanSettings
from ..core.stored import Data, StoredParser, check_sentence
from ..core.time_limit import TimeLimit
from ..jit.warmup import SHORT, kernels_for
from ..nn.packing import self_test_tolerance
from ..trees.heads import HeadRules
from ..trees.tree import TOP, Tree
from .attacher import Attacher, attach_rules, attach_rules_for_others
from .batch import decode_batch
from .constrained import constrained_posteriors, decode_constrained
from .decoder import MIN_MARGINAL, Decoder
from .encoder import NetworkOutput, SentenceEncoder, n_tokens, output_of, select_encoded
from .features import WordParts
from .kbest import alternatives
from .kernels.batch import ChainListing, Encoded
from .model import KIND, PackedNetwork, SpanModel, read_model, write_model
from .posteriors import MIN_LISTED, ChainLabels, new_listing


class NetworkDecisions(Decisions):
    """The decisions of a parse by networks."""

    def decision(self, constituent: int, only: bool = False) -> Decision:
        """Return a decision without reasons."""
        return Decision(
            "network",
            "A network decided. It has probabilities but no rules, so it gives no reasons (boosted trees, as in "
            "en_dtparse, have rules).",
        )


def _parts(sentences: Sequence[TaggedWords]) -> Iterator[list[TaggedWords]]:
    """Yield the sentences in parts. Raises as `check_sentence`."""
    for words, tags in sentences:
        check_sentence(words, tags)
    yield from iter_batches(sentences, lambda sentence: len(sentence[0]))


class SpanParser(StoredParser, Parser):
    """Parses with a SpanModel. Safe to use from several threads; the same sentence gets the same bits in any batch.

    The `encoder` runs the networks, once per batch; the `decoder` finds trees and probabilities in their output; the
    `attacher` changes trees.

    A constituent's cost is -ln of the probability that the sentence's tree contains it: the probability of its span
    among all binary trees (in a long sentence as computed by `span_parser.long`) times that of its labels there. The
    cost of a parse is the sum of these costs. Status: "optimal" from a chart over the whole sentence, "complete" if the
    settings leave out networks, "greedy" if the sentence was too long for one chart. Raises DtparseError if the numbers
    of words and tags differ, or if there are no words.
    """

    model: SpanModel
    name = KIND
    SELF_TEST_SETTINGS = SpanSettings(
        max_tokens=200, ensemble_threshold=0.0, penalty=0.0, attach_unattached=False, exclude_labels=()
    )
    """Without a penalty, so that the output contains the score of every span of a binary tree."""
    TOLERANCE = 2e-3
    """Matrices are rounded before they are multiplied (`nn.kernels.products`): the scores of another release, which
    rounds in another way, may differ by some 1e-3. See `tolerance` for older files."""

    FORMAT = read_model, write_model
    DECISIONS = NetworkDecisions
    ENCODER: ClassVar[type[SentenceEncoder]] = SentenceEncoder
    """The class that runs networks of this kind."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """A model with second-best tags among its features uses them."""
        found = {Capability.K_BEST, Capability.CONSTRAINTS, Capability.POSTERIORS}
        if isinstance(self.model.words, WordParts) and self.model.words.second_tags:
            found.add(Capability.SECOND_TAGS)
        return frozenset(found)

    @property
    def tolerance(self) -> float:
        """The tolerance of the self-test; larger for files of older versions."""
        packed = [p.arrays for p in self.model.packed if isinstance(p, PackedNetwork)]
        return max(map(self_test_tolerance, packed), default=self.TOLERANCE)

    def __init__(self, model: SpanModel, settings: SpanSettings | None = None, data: Data = None):
        super().__init__(model, settings, data)
        used = len(model.networks)
        if self.settings.budget == 0:
            used = 1
        elif self.settings.networks is not None:
            used = min(used, self.settings.networks)
        stops_early = self.settings.budget != 0 and self.settings.ensemble_threshold > 0
        self.n_first = 1 if stops_early else used
        """Number of networks that are run first; the others run only if a cost in their tree is above
        `ensemble_threshold`."""
        chain_ids = model.chains_without(self.settings.exclude_labels)
        self.chains = tuple(model.chains[chain_id] for chain_id in chain_ids.tolist())
        """The label chains that constituents may have: those of the model without `exclude_labels`."""
        self.encoder = self.ENCODER(model, used, chain_ids)
        exact_status = "optimal" if used == len(model.networks) else "complete"
        self.decoder = Decoder(model.labels, self.chains, self.settings, exact_status)
        self.attacher = Attacher(self.decoder, attach_rules(model) if self.settings.attach_unattached else None)
        self._foreign_attacher = Attacher(self.decoder, attach_rules_for_others(model))
        self._labels = model.labels
        self._excluded_labels = frozenset(self.settings.exclude_labels)
        self._allowed_labels = tuple(label for label in self._labels if label not in self._excluded_labels)
        self._chain_labels = ChainLabels(self.chains, self._labels)
        stored_rules = model.meta.get("head_rules")
        self._custom_heads = HeadRules.from_dict(stored_rules) if stored_rules else None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that constituents may have: those of the model without TOP and `exclude_labels`."""
        return self._allowed_labels

    @property
    def excluded_labels(self) -> frozenset[str]:
        """The setting `exclude_labels`."""
        return self._excluded_labels

    @property
    def chain_names(self) -> tuple[str, ...]:
        """The label chains by id, labels separated by blanks, from top to bottom."""
        return tuple(" ".join(chain) for chain in self.chains)

    def describe(self) -> dict[str, Any]:
        n_parameters = sum(array.size for packed in self.model.packed for array in packed.arrays.values())
        return {
            "networks": f"{len(self.encoder.networks)} of {len(self.model.networks)}",
            **self.network_sizes(int(n_parameters)),
            "label chains": len(self.chains) - 1,
            "max_tokens": self.settings.max_tokens,
            "ensemble_threshold": self.settings.ensemble_threshold,
            "penalty": self.settings.penalty,
            "attach_unattached": self.settings.attach_unattached and self.model.attach_tables is not None,
            "exclude_labels": list(self.settings.exclude_labels),
        }

    def network_sizes(self, n_parameters: int) -> dict[str, int]:
        """Return sizes of the model's networks, by their names for people."""
        network = self.model.networks[0]
        units = int(2 * network.recurrent.shape[3])
        sizes = {"layers": len(network.weights), "units": units, "parameters": n_parameters}
        return {**sizes, "words": len(self.model.words.tables[0])}

    @property
    def vocabulary(self) -> tuple[Strings, Strings]:
        return self.model.words.tables[0], self.model.words.tables[1].strings

    def golden_outputs(self, words: list[str], tags: list[str]) -> GoldenParse:
        """Return the scores of the parse."""
        return {"scores": list(self.parse(words, tags).costs)}

    # ---- encoding ----

    def encode(self, sentences: Sequence[TaggedWords]) -> Encoded:
        """Return the output of all networks for sentences, for `parse_encoded`, `marginals_of` and `attach`."""
        return self.encoder.encode(sentences)

    def run_networks(self, words: Sequence[str], tags: Sequence[str]) -> NetworkOutput:
        """Return the output of all networks for one sentence, in the format of `span_parser.kernels.network`: gaps,
        left_scores, label layer."""
        return output_of(self.encode([(words, tags)]), 0)

    # ---- parsing ----

    def parse_batch(self, sentences: Sequence[TaggedWords]) -> list[ParseResult]:
        """Parse all sentences (words, tags). Never fails on a non-empty one."""
        results: list[ParseResult] = []
        with kernels_for(self.name, sum(len(words) for words, _ in sentences)):
            for part in _parts(sentences):
                results += self.parse_encoded(part, self.encoder.encode(part, self.n_first))[0]
        return results

    def parse_with_posteriors(self, sentences: Sequence[TaggedWords]) -> list[tuple[ParseResult, Posteriors]]:
        """Return the parse and the `span_posteriors` of each sentence, from one run of the networks."""
        if self.n_first < len(self.encoder.networks):
            return super().parse_with_posteriors(sentences)
        found: list[tuple[ParseResult, Posteriors]] = []
        with kernels_for(self.name, sum(len(words) for words, _ in sentences)):
            for part in _parts(sentences):
                results, listing = self.parse_encoded(part, self.encoder.encode(part), True)
                found += zip(results, self.listed_posteriors(listing, part), strict=True)
        return found

    def parse_encoded(
        self, sentences: Sequence[TaggedWords], encoded: Encoded, posteriors: bool = False
    ) -> tuple[list[ParseResult], ChainListing]:
        """Return the parses of the S ≥ 1 sentences of a batch, and the listing for `listed_posteriors`, which is empty
        unless `posteriors`. Networks that have not run do so for the sentences that need them."""
        listing = new_listing(len(sentences), len(encoded.ids), posteriors)
        trees, listing = decode_batch(self.decoder, self.attacher, encoded, listing)
        if len(encoded.layer.weights) < len(self.encoder.networks):
            unsure = [s for s, tree in enumerate(trees) if tree.max_cost > self.settings.ensemble_threshold]
            if unsure:
                complete = self.encoder.complete(encoded, unsure)
                again, _ = decode_batch(self.decoder, self.attacher, complete, new_listing(len(unsure), 0, False))
                for s, tree in zip(unsure, again, strict=True):
                    trees[s] = tree._replace(tried=trees[s].tried + tree.tried)
        results = [
            self.make_result(sentence, tree.columns, tree.costs, tree.status, tree.tried)
            for sentence, tree in zip(sentences, trees, strict=True)
        ]
        return results, listing

    def parse_sentence(self, sentence: TaggedWords, encoded: Encoded, s: int) -> ParseResult:
        """Return the parse of a sentence, number s of a batch that `encode` returned."""
        if self.n_first < len(self.encoder.networks):
            return self.parse(*sentence)
        return self.parse_encoded([sentence], select_encoded(encoded, [s]))[0][0]

    def make_result(
        self, sentence: TaggedWords, columns: Sequence[Sequence[int]], costs: Sequence[float], status: str, tried: int
    ) -> ParseResult:
        """Return the result for constituents, given their starts, ends and labels in pre-order, without TOP."""
        (words, tags), (starts, ends, labels), names = sentence, columns, self._labels
        tree = Tree.unchecked(
            words, tags, (TOP, *[names[label] for label in labels]), (0, *starts), (len(words), *ends)
        )
        return ParseResult(tree, (0.0, *costs), sum(costs, 0.0), status, 0, tried)

    def result_of_items(
        self, sentence: TaggedWords, items: Sequence[Sequence[int]], costs: Sequence[float], status: str, tried: int
    ) -> ParseResult:
        """Return the result for items (start, end, label) in pre-order, without TOP."""
        return self.make_result(sentence, [*zip(*items, strict=True)] or [(), (), ()], costs, status, tried)

    def parse_k_best(
        self, words: Sequence[str], tags: Sequence[str], k: int, limit: TimeLimit | None = None
    ) -> ParseList:
        """Return the k best parses; see `Parser`. A margin is a difference of the expected number of correct
        constituents, the objective of the chart, before unattached tokens are attached; costs need not be in order.

        There are fewer than k if 20 k candidates contain no more distinct trees (attaching tokens can make trees
        equal), or if no more trees consist of constituents with a probability of at least 0.02. Status: "optimal" if no
        less probable constituent could give a better tree, and the tree is from one chart, else "complete". Raises
        DtparseError as `parse` does.
        """
        check_k(k)
        check_sentence(words, tags)
        with kernels_for(self.name, len(words) if k == 1 else SHORT + 1):  # uncompiled, a list would take minutes
            encoded = self.encoder.encode([(words, tags)], self.n_first)
            output = output_of(encoded, 0)
            decoded, threshold = self.decoder.decode(output), self.settings.ensemble_threshold
            if self.n_first < len(self.encoder.networks) and max(decoded.costs, default=0.0) > threshold:
                output, tried = output_of(self.encoder.complete(encoded, [0]), 0), decoded.tried
                decoded = self.decoder.decode(output)
                decoded = decoded._replace(tried=tried + decoded.tried)
            items, costs = self.attacher.attach(len(decoded.items), encoded.tags[1:-1], output, decoded.scored)
            first = self.result_of_items((words, tags), items, costs, decoded.status, decoded.tried)
            return rank_parses(first, alternatives(self, decoded, output, (words, tags), k), k, limit or TimeLimit())

    def parse_constrained(self, words: Sequence[str], tags: Sequence[str], constraints: Constraints) -> ParseResult:
        """Parse under constraints with all networks; see `Parser` and `span_parser.constrained`. Status: "optimal" from
        a chart over the whole sentence, else as in `parse`. Raises DtparseError as `parse` does."""
        check_sentence(words, tags)
        constraints.check(len(words), self.labels, words, self.excluded_labels)
        with kernels_for(self.name, len(words)):
            result = self.parse_constrained_sentence((words, tags), self.encode([(words, tags)]), constraints)
            return constraints.enforce(result, self.labels)

    def parse_constrained_sentence(
        self, sentence: TaggedWords, encoded: Encoded, constraints: Constraints
    ) -> ParseResult:
        """Return the best parse of the sentence of a batch of one in which the constraints hold, as far as chains of
        the model can express them."""
        return next(decode_constrained(self, sentence, output_of(encoded, 0), constraints))[1]

    def parse_k_best_constrained(
        self, words: Sequence[str], tags: Sequence[str], constraints: Constraints, k: int,
        limit: TimeLimit | None = None,
    ) -> ParseList:  # fmt: skip
        """Return the k best parses in which the constraints hold; see `Parser`. Margins are as in `parse_k_best`."""
        check_k(k)
        check_sentence(words, tags)
        constraints.check(len(words), self.labels, words, self.excluded_labels)
        with kernels_for(self.name, len(words) if k == 1 else SHORT + 1):
            found = decode_constrained(self, (words, tags), self.run_networks(words, tags), constraints)
            enforced = ((worse, constraints.enforce(one, self.labels)) for worse, one in found)
            first = next(enforced)[1]
            return rank_parses(first, islice(enforced, CANDIDATES_PER_TREE * k), k, limit or TimeLimit())

    # ---- probabilities ----

    def span_posteriors(self, words: Sequence[str], tags: Sequence[str], min_prob: float = MIN_LISTED) -> Posteriors:
        """Return {(start, end, label): probability that the sentence's tree has such a constituent}, at least
        `min_prob`.

        Probabilities are over all trees, with all networks, in a long sentence as computed by `span_parser.long`. Each
        label over a span counts separately. Raises DtparseError as `parse` does.
        """
        check_sentence(words, tags)
        encoded = self.encode([(words, tags)])
        listing = self.decoder.marginals(encoded, new_listing(1, len(encoded.ids), True, min_prob))[2]
        return self.listed_posteriors(listing, [(words, tags)])[0]

    def listed_posteriors(self, listing: ChainListing, sentences: Sequence[TaggedWords]) -> list[Posteriors]:
        """Return the `span_posteriors` of each sentence of a batch, given a filled listing."""
        return self._chain_labels.posteriors(listing, [len(words) for words, _ in sentences])

    def marginals(self, sentences: Sequence[TaggedWords]) -> list[SpanMarginals]:
        """Return the span marginals of each sentence; see `SpanMarginals`."""
        if not sentences:
            return []
        marginals, offsets, _ = self.marginals_of(self.encode(sentences))
        return [
            SpanMarginals(*(array[start:end] for array in marginals))
            for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ]

    def marginals_of(
        self, encoded: Encoded, posteriors: bool = False
    ) -> tuple[SpanMarginals, np.ndarray, ChainListing]:
        """Return the concatenated marginals of the S ≥ 1 sentences of a batch, the offset of each sentence, int64
        (S + 1,), and the listing for `listed_posteriors`, which is empty unless `posteriors`."""
        return self.decoder.marginals(encoded, new_listing(len(encoded.offsets) - 1, len(encoded.ids), posteriors))

    def constrained_marginals(self, encoded: Encoded, constraints: Constraints) -> SpanMarginals:
        """Return the marginals of the sentence of a batch of one over the trees in which the constraints hold."""
        scored = constrained_posteriors(self.decoder, self.chains, output_of(encoded, 0), constraints, MIN_MARGINAL)
        return self.decoder.marginals_of_spans(scored)

    # ---- trees of other parsers ----

    def attach(
        self, tags: Sequence[str], items: np.ndarray, costs: np.ndarray, encoded: Encoded, s: int
    ) -> tuple[list[list[int]], list[float]] | None:
        """Attach unattached tokens (`trees.unattached`) in another parser's tree if the treebank never leaves them so.

        Returns (constituents, costs), -ln of its probability as the cost of a new constituent; None if there is nothing
        to attach. `items` int32 (c, 3): start, end, id in `labels`, in pre-order, without TOP; `costs` float64 (c,).
        The sentence is number s of the batch that `encode` returned.
        """
        attacher, count = self._foreign_attacher, len(items)
        workspace, scores = self.decoder.workspace(n_tokens(encoded, s))
        if attacher.rules is None or count > len(workspace) // 2:
            return None
        workspace[:count], scores[:count] = items, costs
        tag_ids = self.model.words.tag_ids(tags)
        if attacher.is_fully_attached(count, tag_ids):
            return None
        return attacher.attach(count, tag_ids, output_of(encoded, s))

    def has_unattached(
        self, tags: Sequence[str], token_offsets: np.ndarray, items: np.ndarray, item_offsets: np.ndarray
    ) -> np.ndarray:
        """bool (S,): whether `attach` would attach a token in each of S sentences.

        `tags`: tags of all tokens, those of sentence s from `token_offsets[s]`, int64 (S + 1,). `items` int32 (c, 3):
        start, end, id in `labels` (-1: not in it), in pre-order, each sentence's TOP first, those of sentence s from
        `item_offsets[s]`, int64 (S + 1,).
        """
        tag_ids = self.model.words.tag_ids(tags)
        return self._foreign_attacher.has_unattached(tag_ids, token_offsets, items, item_offsets)


__all__ = ["KIND", "SpanParser"]
