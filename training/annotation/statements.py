"""The number of statements of a simulated annotator, who makes the statement that corrects most brackets directly."""

from collections.abc import Sequence
from typing import Any

from spacy_dtparse.annotation.alternatives import MAX_PICKS
from spacy_dtparse.annotation.corrector import Corrector
from spacy_dtparse.annotation.edits import add_constraints, local_alternatives, unary_chains
from spacy_dtparse.core.constraints import Constraints
from spacy_dtparse.core.parser import Capability, ParseResult
from spacy_dtparse.errors import ConstraintError
from spacy_dtparse.trees.tree import TOP, Tree

from ..data.corpus import Sentence
from .simulation import MAX_STATEMENTS, choose_best, count_errors

K_BEST = 20
"""Number of trees that alternatives come from: less than on the page, since every dev tree is annotated twice."""


class FlatParser:
    """The parser of an annotation from nothing: its trees have no constituents."""

    labels: tuple[str, ...] = ()
    capabilities = frozenset({Capability.CONSTRAINTS})

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> ParseResult:
        """Return the tree without constituents."""
        return ParseResult(Tree(words, tags, (TOP,), (0,), (len(words),)), (0.0,), 0.0, "empty")

    def parse_k_best_constrained(
        self, words: Sequence[str], tags: Sequence[str], constraints: Constraints, k: int
    ) -> list[ParseResult]:
        """Return the tree without constituents; the caller inserts required ones."""
        return [self.parse(words, tags)]


class ParserCorrector(Corrector):
    """A corrector without a pipeline: a parser, and further labels that trees may have."""

    def __init__(self, parser: Any, labels: Sequence[str]):
        self.parser, self.scheme, self.reparses = parser, None, True
        self.labels = tuple(dict.fromkeys((*parser.labels, *labels)))


def choose_way(corrector: Corrector, sentences: Sequence[Sentence]) -> tuple[int, ...]:
    """Set `reparses` to the way in which the sentences need fewer statements; return those of each sentence."""
    ways = {}
    for corrector.reparses in (True, False):
        ways[corrector.reparses] = tuple(count_statements(corrector, sentence) for sentence in sentences)
    corrector.reparses = sum(ways[True]) <= sum(ways[False])
    return ways[corrector.reparses]


def count_statements(corrector: Corrector, sentence: Sentence) -> int:
    """Return the number of statements until the tree of a sentence is the gold tree. Brackets that no statement
    reaches count as one each."""
    goal, words, tags = sentence.tree, sentence.tree.words, sentence.tags
    constraints, trees = Constraints(), corrector.parse(words, tags, k=K_BEST)
    tree = trees[0]
    for count in range(MAX_STATEMENTS):
        if unary_chains(tree) == unary_chains(goal):
            return count
        others = [one for one in trees if one != tree]
        parts = local_alternatives(tree, others, MAX_PICKS).values()
        statement = choose_best(tree, goal, others[:MAX_PICKS], [one for listed in parts for one in listed])
        if statement is None:
            return count + count_errors(tree, goal)
        _, edit, picked = statement
        if picked is not None and unary_chains(picked) == unary_chains(goal):
            return count + 1
        try:
            constraints = add_constraints(constraints, edit, words)
            tree = corrector.correct(picked or tree, tags, constraints)
            trees = corrector.parse(words, tags, constraints, K_BEST)
        except ConstraintError:
            return count + count_errors(tree, goal)
    return MAX_STATEMENTS + count_errors(tree, goal)
