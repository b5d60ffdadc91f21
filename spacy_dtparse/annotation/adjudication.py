"""Adjudication: the trees of two annotators side by side, and a file of the right ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import ConfigError
from ..scoring.annotators import AnnotatorAgreement, Pair, differing_constituents, format_agreement
from ..trees.tree import Tree
from .answers import AnnotationAnswers
from .corrector import Corrector
from .page_state import drawing
from .request_values import integer, space, theme
from .scheme import Scheme
from .sentence import NO_CONSTRAINTS, Sentence
from .session import Session


def given_trees(pairs: Sequence[Pair]) -> dict[int, Tree]:
    """Return the tree that a sentence of an adjudication begins with: the first annotator's, else the second's."""
    return {index: tree for index, pair in enumerate(pairs) if (tree := pair.first or pair.second) is not None}


def ranking(pairs: Sequence[Pair]) -> list[int]:
    """Return the order of an adjudication: sentences with two different trees, then those that one annotator has."""
    return sorted(range(len(pairs)), key=lambda index: None in pairs[index])


class AdjudicationAnswers(AnnotationAnswers):
    """The answers of an adjudication. `pairs`: the trees of both annotators for each sentence; `names`: of the two.

    At the beginning, the sentences with the same tree are accepted.
    """

    def __init__(
        self, corrector: Corrector, session: Session, pairs: Sequence[Pair], names: Sequence[str],
        tags: Sequence[str] = (), scheme: Scheme | None = None,
    ):  # fmt: skip
        super().__init__(corrector, session, tags, scheme)
        self.pairs, self.names = pairs, tuple(names)
        self._actions["take"] = self._take
        self._agreement = AnnotatorAgreement(pairs).to_dict()
        session.accept_unopened([index for index, pair in enumerate(pairs) if pair.is_same])

    def about(self) -> dict[str, Any]:
        return {**super().about(), "agreement": format_agreement(self._agreement, self.names)}

    def _take(self, index: int, sentence: Sentence, request: Mapping[str, Any]) -> None:
        """Take the tree of the first or second annotator: `number` 1 or 2. `accept`: true to accept it, too."""
        number, pair = integer(request, "number"), self._pair(index, sentence)
        tree = pair[number - 1] if pair is not None and number in (1, 2) else None
        if tree is None:
            raise ConfigError(f"there is no tree of annotator {number} for this sentence")
        accept = request.get("accept") is True
        if accept:
            self._check_labels(tree)
        state = replace(sentence, words=tree.words, tags=tree.tags, tree=tree, constraints=NO_CONSTRAINTS, fixed=())
        self.session.change(index, "take", replace(state, accepted=accept, flagged=False))

    def _pair(self, index: int, sentence: Sentence) -> Pair | None:
        """Return the annotators' trees for a sentence; None if it was split or joined."""
        tree = given_trees([self.pairs[index]])[0] if index < len(self.pairs) else None
        return self.pairs[index] if tree and "".join(tree.words) == "".join(sentence.words) else None

    def _state(self, index: int | None, request: Mapping[str, Any]) -> dict[str, Any]:
        state = super()._state(index, request)
        if index is None:
            return state
        sentence = self.session.sentences[index]
        pair = self._pair(index, sentence)
        shown, (width, height) = [], space(request)
        for tree, other, name in zip(pair or (), reversed(pair or ()), self.names, strict=False):
            if tree is None:
                continue
            compared = tree if other is None else other
            shown.append(
                {
                    "name": name,
                    "number": 1 + self.names.index(name),
                    "drawing": drawing(tree, theme(request), (width // 2 - 10, height)),
                    "differing": differing_constituents(tree, compared),
                    "tags": differing_tags(tree, compared),
                    "taken": tree == sentence.tree,
                }
            )
        return {**state, "pair": shown, "has_alternatives": state["has_alternatives"] and not shown}


def differing_tags(tree: Tree, other: Tree) -> list[int]:
    """Return the tokens of a tree that another one of the same text does not have, or has with another tag."""
    theirs = set(_tokens(other))
    return [index for index, token in enumerate(_tokens(tree)) if token not in theirs]


def _tokens(tree: Tree) -> list[tuple[int, str, str]]:
    """Return the first character of each token, its text and its tag."""
    found, at = [], 0
    for word, tag in zip(tree.words, tree.tags, strict=True):
        found.append((at, word, tag))
        at += len(word)
    return found
