"""Two more decoders of Matsuzaki, Miyao & Tsujii (2005): the Viterbi complete tree (section 3.1), and the trees of an
observable grammar ranked by their exact probabilities (section 3)."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..core.kbest import CANDIDATES_PER_TREE
from ..dtypes import INDEX, OFFSET, SCORE
from .kernels.cky import LEXICAL
from .kernels.latent import BEST, LatentRules, latent_inside, observed_probability
from .kernels.latent_trees import viterbi_tree
from .latent import Decoded, DecodingStep, Leaves, Vectors, allocate_chart, leaves_of
from .model.model import PART, PcfgGrammar

NO_RULE = -2


def viterbi(rules: LatentRules, vectors: Vectors, allowed: np.ndarray, root: int) -> Decoded | None:
    """Return the most probable tree together with its latent values (not part of the result); None if there is no tree.

    `allowed` uint8 (cells, S): allowed symbols of each cell. The scores of steps are log probabilities.
    """
    words, chart = leaves_of(vectors), allocate_chart(rules, allowed)
    step = np.empty((len(chart.whole), 2), dtype=INDEX)
    latent_inside(rules, words, chart, chart.whole, step)
    capacity = 8 * len(words.leaf_from) + 64
    while True:
        nodes, stack = np.empty(capacity, dtype=BEST), np.empty((capacity, 4), dtype=OFFSET)
        count = int(viterbi_tree(rules, words, root, chart, step, nodes, stack))
        if count == 0:
            return None
        if count > 0:
            columns = (nodes[name][:count].tolist() for name in ("symbol", "start", "end", "weight"))
            steps = [DecodingStep(*entry) for entry in zip(*columns, strict=True)]
            return Decoded(steps, math.fsum(step.posterior for step in steps), len(chart.whole))
        capacity *= 2


class TreeScorer:
    """Computes exact probabilities, under a grammar with latent annotations, of trees of another grammar.

    `candidates`: the other grammar, whose coarse symbols are the symbols of `rules`.
    """

    def __init__(self, rules: LatentRules, candidates: PcfgGrammar):
        self.rules = rules
        table = zip(rules.parent.tolist(), rules.left.tolist(), rules.right.tolist(), strict=True)
        rule_ids = {rule: index for index, rule in enumerate(table)}
        rules_of_candidates, _, left = candidates.kernel
        coarse = candidates.coarse
        right = np.where(rules_of_candidates["right"] < 0, -1, coarse[rules_of_candidates["right"]])
        triples = zip(
            coarse[rules_of_candidates["parent"]].tolist(), coarse[left].tolist(), right.tolist(), strict=True
        )
        self._rule = np.array([rule_ids.get(triple, NO_RULE) for triple in triples], dtype=INDEX)
        self._coarse, self._max_values = coarse.astype(INDEX), int(rules.sizes.max())

    def words(self, vectors: Vectors) -> tuple[Leaves, np.ndarray]:
        """Return (the vectors of the words, the offset of each word and symbol in them int64 (n, S), -1: none)."""
        leaves = leaves_of(vectors)
        offsets = np.full((leaves.n_words, len(self.rules.sizes)), -1, dtype=OFFSET)
        word = np.repeat(np.arange(leaves.n_words), np.diff(leaves.leaf_from))
        offsets[word, leaves.leaves[:, 0]] = leaves.leaves[:, 1]
        return leaves, offsets

    def log(self, steps: np.ndarray, words: tuple[Leaves, np.ndarray]) -> float:
        """Return the log probability of a tree of the candidate grammar (steps STEP in pre-order) and its words, summed
        over all annotations; -inf if the latent grammar lacks one of its rules."""
        leaves, offsets = words
        is_word = steps["rule"] == LEXICAL
        rule = np.where(is_word, -1, self._rule[np.maximum(steps["rule"], 0)]).astype(INDEX)
        if np.any(rule == NO_RULE):
            return -math.inf
        symbol = self._coarse[steps["symbol"]]
        word = np.where(is_word, offsets[steps["start"], symbol], -1)
        stack = np.empty((len(offsets) + 1, self._max_values), dtype=SCORE)
        return float(observed_probability(self.rules, rule, symbol, word, leaves.emissions, stack))


class Candidate(NamedTuple):
    """A tree of the candidate grammar: `steps` STEP in pre-order, `log`: its log probability under that grammar."""

    log: float
    steps: np.ndarray


def distinct(derivations: Iterator[tuple[float, np.ndarray]], grammar: PcfgGrammar, k: int) -> list[Candidate]:
    """Return the first k derivations of distinct trees; derivations of one tree differ in parts and annotations."""
    seen: set[bytes] = set()
    found: list[Candidate] = []
    for tries, (log, steps) in enumerate(derivations):
        visible = steps[grammar.kind[steps["symbol"]] != PART]
        columns = (grammar.coarse[visible["symbol"]], visible["start"], visible["end"])
        key = np.stack(columns, axis=1).astype(OFFSET).tobytes()
        if key not in seen:
            seen.add(key)
            found.append(Candidate(log, steps))
        if len(found) == k or tries + 1 >= CANDIDATES_PER_TREE * k:
            break
    return found


def rerank(
    candidates: Sequence[Candidate], grammar: PcfgGrammar, observed: Sequence[TreeScorer], vectors: Sequence[Vectors]
) -> Iterator[Decoded]:
    """Yield the candidates in order of the sum, over the latent grammars, of their exact log probabilities, best first.

    Candidates of probability 0 come last, in their original order and with their original cost. Scores of steps are log
    probabilities of the rules of the candidate grammar.
    """
    weights = grammar.kernel.rules["weight"]
    words = [scorer.words(vector) for scorer, vector in zip(observed, vectors, strict=True)]
    exact = [sum(one.log(steps, of) for one, of in zip(observed, words, strict=True)) for _, steps in candidates]
    for k in sorted(range(len(exact)), key=lambda k: -exact[k]):
        log, steps = candidates[k]
        weight = np.where(steps["rule"] == LEXICAL, 0.0, weights[np.maximum(steps["rule"], 0)])
        columns = (grammar.coarse[steps["symbol"]], steps["start"], steps["end"], weight)
        named = [DecodingStep(*entry) for entry in zip(*(column.tolist() for column in columns), strict=True)]
        yield Decoded(named, exact[k] if exact[k] > -math.inf else log, len(candidates))
