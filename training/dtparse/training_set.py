"""Training data of boosted trees: the derivations of a treebank's trees, and the tables that they are encoded with."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spacy_dtparse.dtparse.features.lexicon import Lexicon, frequent_words
from spacy_dtparse.dtparse.features.tables import get_templates
from spacy_dtparse.dtparse.features.templates import Templates
from spacy_dtparse.dtparse.kernels.state import Grammar
from spacy_dtparse.dtparse.model.model import make_grammar
from spacy_dtparse.dtparse.model.schema import MAX_LABELS, MAX_TAGS
from spacy_dtparse.dtypes import BITS
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import TOP, Recipe, Tree
from spacy_dtparse.trees.heads import HeadRules
from spacy_dtparse.trees.heads_compiled import compile_head_rules
from spacy_dtparse.trees.kernels import HeadTable

from ..data.corpus import Sentence, survey, training_tree
from ..data.heads import rules_for
from .examples import Derivation, gold_derivation
from .label_pruning import complete_marginals, label_table
from .recipe import FitRecipe


@dataclass(frozen=True)
class Resources:
    """Resources of the features. `span_parser`: span model, for feature templates that test span marginals; it computes
    the marginals of training sentences that come without them. `clusters`: word clusters, for templates that test them
    (see `training.clusters`), `texts`: the names of the texts that they were learned from. `heads`: head rules; None:
    see `data.heads.rules_for`."""

    span_parser: SpanParser | None = None
    clusters: Sequence[str] = ()
    texts: Sequence[str] = ()
    heads: HeadRules | None = None

    def check(self, name: str, templates: Templates) -> None:
        """Raise TrainingDataError if templates of that name test something that is not given, or do not test something
        that is."""
        given = self.span_parser is not None
        if templates.uses_marginals != given:
            raise TrainingDataError(
                f"the templates {name!r} test {'no ' if given else ''}span marginals; "
                + ("set the recipe's templates=standard_read" if given else "give a span model (--span-model)")
            )
        if templates.uses_clusters != bool(self.clusters):
            raise TrainingDataError(
                f"the templates {name!r} test {'no ' if self.clusters else ''}clusters of words; "
                + ("set the recipe's templates=standard_clusters" if self.clusters else "give some (--clusters)")
            )


@dataclass(frozen=True)
class TrainingSet:
    """The `derivations` of training trees, and their tables. `report`: statistics of the trees. `labels`: see
    `label_pruning.label_table`; empty without a span model."""

    report: dict[str, Any]
    templates: Templates
    heads: HeadRules
    head_table: HeadTable
    lexicon: Lexicon
    grammar: Grammar
    labels: np.ndarray
    derivations: list[Derivation]

    def sample_indices(self, n: int, seed: int) -> list[int]:
        """Indices of `n` derivations, or of all if there are not more."""
        every = len(self.derivations)
        if n >= every:
            return list(range(every))
        return sorted(np.random.default_rng(seed).choice(every, size=n, replace=False).tolist())

    @property
    def tables(self) -> tuple[Grammar, HeadTable, Templates, Lexicon]:
        """The tables from which rows are extracted."""
        return self.grammar, self.head_table, self.templates, self.lexicon


def make_training_set(recipe: FitRecipe, sentences: Sequence[Sentence], lang: str, resources: Resources) -> TrainingSet:
    """Make the training data of sentences. Raises TrainingDataError if there are none, and as `Resources.check` and
    `build_lexicon` do."""
    sentences = short_sentences(recipe, sentences)
    if not sentences:
        limit = recipe.max_words
        short = "" if limit is None else f" of at most {limit} words (recipe setting 'max_words')"
        raise TrainingDataError(f"there are no training sentences{short}; give at least one treebank with trees")
    templates, span_parser = get_templates(recipe.templates), resources.span_parser
    trees = [training_tree(sentence, Recipe(recipe.preprocessing)) for sentence in sentences]
    report, heads = survey(trees, recipe.max_arity), resources.heads or rules_for(lang, trees)
    resources.check(recipe.templates, templates)
    chains = () if span_parser is None else span_parser.chain_names
    lexicon = build_lexicon(trees, recipe.min_word_sentences, chains, resources.clusters)
    marginals: list[Any] = [None] * len(trees)
    labels = np.zeros((0, 0, 0), dtype=BITS)
    if span_parser is not None:
        marginals = complete_marginals(span_parser, trees, [sentence.marginals for sentence in sentences])
        labels = label_table(lexicon, trees, marginals)
    head_table = compile_head_rules(heads, lexicon.symbols)
    grammar = make_grammar(
        recipe.strategy, recipe.max_arity, recipe.edge_punctuation, len(lexicon.labels), templates.reach()
    )
    weights = {"negatives": recipe.negative_weight, "uniform": recipe.example_weights == "uniform"}
    derivations = [
        gold_derivation(tree, lexicon, recipe.strategy, recipe.seed + i, of_tree, weight=sentence.weight, **weights)
        for i, (tree, sentence, of_tree) in enumerate(zip(trees, sentences, marginals, strict=True))
    ]
    return TrainingSet(report, templates, heads, head_table, lexicon, grammar, labels, derivations)


def short_sentences(recipe: FitRecipe, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences that are not longer than the recipe allows."""
    return [s for s in sentences if recipe.max_words is None or len(s.tags) <= recipe.max_words]


def build_lexicon(
    trees: Sequence[Tree], min_word_sentences: int, chains: Sequence[str] = (), clusters: Sequence[str] = ()
) -> Lexicon:
    """Build the symbol tables of training trees: labels by name with TOP last, tags by name; the unknown tag is the
    most frequent one. `chains`: label chains of a span model. `clusters`: word clusters. Raises TrainingDataError for
    more labels or tags than a model may have.
    """
    labels = sorted({label for tree in trees for label in tree.labels} - {TOP})
    counts = Counter(tag for tree in trees for tag in tree.tags)
    unknown = max(sorted(counts), key=lambda tag: counts[tag])
    words = frequent_words((tree.words for tree in trees), min_word_sentences)
    for what, found, allowed in (("labels", len(labels) + 1, MAX_LABELS), ("tags", len(counts), MAX_TAGS)):
        if found > allowed:
            raise TrainingDataError(f"the trees have {found} {what}; a model has at most {allowed}: use coarser ones")
    return Lexicon.build([*labels, TOP], sorted(counts), words, unknown, chains, clusters)
