"""Estimate a PcfgModel from training sentences."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spacy_dtparse.checks import check, integer, optional, real
from spacy_dtparse.dtypes import INDEX, SCORE
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.pcfgla.features import WordClasses
from spacy_dtparse.pcfgla.model.latent_part import Emissions
from spacy_dtparse.pcfgla.model.model import PcfgGrammar, PcfgModel
from spacy_dtparse.stored_names import to_stored
from spacy_dtparse.symbols import SymbolTable
from spacy_dtparse.trees import Recipe, Tree

from ..data.corpus import Sentence, training_tree
from .binarise import KINDS, PHRASE, TAG, Markov, Symbol, binarise
from .counting import Rule, RuleCounts, emissions, relative_frequencies, smoothed_frequencies


@dataclass(frozen=True)
class PcfgOptions:
    """Options for estimating a grammar.

    `markov`: the annotation of symbols. `recipe`: preprocessing. `smoothing`: see `counting.smoothed_frequencies`.
    `given_tags`: whether the parser must use the tags of its input. `max_words`: longer training sentences, counted
    after preprocessing, are left out. `min_word_count`: rarer words are represented by their signature.
    `unseen_weight`, `variant_weight`: see `counting`. Raises ConfigError for values out of range.
    """

    markov: Markov = field(default_factory=Markov)
    recipe: Recipe = Recipe.PLAIN
    smoothing: float = 0.0
    given_tags: bool = True
    max_words: int | None = None
    min_word_count: int = 3
    unseen_weight: float = 1.0
    variant_weight: float = 10.0

    def __post_init__(self) -> None:
        above = real(0, math.inf, above=True, below=True)
        check(self, {
            "max_words": optional(integer(1)), "min_word_count": integer(1), "unseen_weight": above,
            "variant_weight": above, "smoothing": real(0, math.inf, below=True),
        })  # fmt: skip


def train_pcfg(
    sentences: Iterable[Sentence], options: PcfgOptions | None = None, meta: Mapping[str, Any] | None = None
) -> PcfgModel:
    """Estimate a grammar from treebank sentences by relative frequencies; their weights are ignored.

    Raises TrainingDataError if no sentence is left, or a name is both a label and a tag.
    """
    options = options or PcfgOptions()
    trees, words, counts_meta = training_trees(sentences, options.recipe, options.max_words, options.min_word_count)
    counts = count_trees(trees, options.markov, words)
    coarse_counts = counts.coarse()
    coarse_symbols = sorted({s for rule in coarse_counts.rules for s in rule}, key=lambda s: (KINDS.index(s.kind), s))
    coarse_ids = {symbol: i for i, symbol in enumerate(coarse_symbols)}
    rules = smoothed_frequencies(counts.rules, options.markov, options.smoothing)
    fine_symbols = sorted({s for rule in rules for s in rule}, key=lambda s: (coarse_ids[s.coarse()], s))
    labels, tags = label_tables(fine_symbols)

    def make(symbols: list[Symbol], probabilities: Mapping[Rule, float], counts_of: RuleCounts) -> PcfgGrammar:
        ids = [coarse_ids[symbol.coarse()] for symbol in symbols]
        found = emissions(counts_of.tokens, symbols, words, options.unseen_weight, options.variant_weight)
        return make_grammar(symbols, ids, probabilities, counts_of.frequencies(symbols), found, labels, tags)

    fine = make(fine_symbols, rules, counts)
    coarse = make(coarse_symbols, relative_frequencies(coarse_counts.rules), coarse_counts)
    meta = {**(meta or {}), **counts_meta, "options": describe_options(options)}
    return PcfgModel(labels, tags, words, fine, coarse, options.recipe.steps, options.given_tags, meta)


def training_trees(
    sentences: Iterable[Sentence], recipe: Recipe, max_words: int | None, min_word_count: int
) -> tuple[list[Tree], WordClasses, dict[str, Any]]:
    """(Training trees, classes of their words, numbers of sentences used and left out, for a model's meta). Raises
    TrainingDataError if none is left."""
    trees = [training_tree(sentence, recipe) for sentence in sentences]
    used = [tree for tree in trees if max_words is None or len(tree.words) <= max_words]
    if not used:
        raise TrainingDataError(
            f"all {len(trees)} sentences were left out; give trees, or a larger max_words than {max_words}"
        )
    words = WordClasses.learn([tree.words for tree in used], min_word_count)
    return used, words, {"sentences": len(used), "left_out": len(trees) - len(used)}


def label_tables(symbols: Iterable[Symbol]) -> tuple[SymbolTable, SymbolTable]:
    """(Labels of constituents, parts of speech) among the symbols."""
    found = {(s.kind, s.label) for s in symbols}
    labels, tags = (SymbolTable(sorted(label for kind, label in found if kind == which)) for which in (PHRASE, TAG))
    return labels, tags


def make_grammar(
    symbols: Sequence[Symbol],
    coarse: Sequence[int],
    probabilities: Mapping[Rule, float],
    frequency: np.ndarray,
    emitted: Emissions,
    labels: SymbolTable,
    tags: SymbolTable,
) -> PcfgGrammar:
    """Convert a grammar to the format of models: S symbols in the order of the ids of their coarse symbols (`coarse`),
    `frequency` float64 (S,)."""
    ids = {symbol: i for i, symbol in enumerate(symbols)}
    binary, unary = (
        sorted((tuple(ids[s] for s in rule), p) for rule, p in probabilities.items() if len(rule) == width)
        for width in (3, 2)
    )

    def logs(rules: list[tuple[tuple[int, ...], float]]) -> np.ndarray:
        return np.minimum(np.log(np.array([p for _, p in rules], dtype=SCORE)), 0.0)

    shows = {PHRASE: labels, TAG: tags}
    base = [shows[s.kind].id_of(s.label) if s.kind in shows else -1 for s in symbols]
    return PcfgGrammar(
        tuple(str(s) if s.kind != TAG else f"{s}.{TAG}" for s in symbols),
        np.array([KINDS.index(s.kind) for s in symbols], dtype=np.int8),
        np.array(base, dtype=INDEX),
        np.array(coarse, dtype=INDEX),
        frequency,
        np.array([rule for rule, _ in binary], dtype=INDEX).reshape(-1, 3),
        logs(binary),
        np.array([rule for rule, _ in unary], dtype=INDEX).reshape(-1, 2),
        logs(unary),
        emitted,
    )


def count_trees(trees: Iterable[Tree], markov: Markov, words: WordClasses) -> RuleCounts:
    """Count the rules of all trees, binarised."""
    counts = RuleCounts()
    for tree in trees:
        counts.add(binarise(tree, markov), words.encode(tree.words).tolist())
    return counts


def describe_options(options: PcfgOptions) -> dict[str, Any]:
    """The options as plain data, for a model's meta."""
    return {
        **to_stored(options.markov),
        "smoothing": options.smoothing,
        "max_words": options.max_words,
        "min_word_count": options.min_word_count,
        "unseen_weight": options.unseen_weight,
        "variant_weight": options.variant_weight,
    }
