"""Open or continue a session of annotation or adjudication."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language

from ..errors import ConfigError
from ..scoring.annotators import align_trees
from ..trees.tree import TOP, Tree
from .adjudication import AdjudicationAnswers, given_trees, ranking
from .answers import AnnotationAnswers
from .corrector import Corrector
from .scheme import Scheme, load_scheme
from .session import Session


def open_session(
    sentences: Iterable[str | Sequence[str] | Tree], out: str | Path, nlp: Language, *, labels: Sequence[str] = (),
    annotator: str = "", order: str = "expected-errors", dev_fraction: float = 0.2, seed: int = 0,
    scheme: str | Path | None = None,
) -> AnnotationAnswers:  # fmt: skip
    """Open or continue a session; return its answers. See `annotate`."""
    rules = None if scheme is None else load_scheme(scheme, labels)
    corrector = _make_corrector(nlp, labels, rules)
    words: list[Sequence[str]] = []
    trees: dict[int, Tree] = {}
    for one in sentences:
        if isinstance(one, Tree):
            trees[len(words)] = one
            words.append(one.words)
        elif isinstance(one, str):
            words += corrector.read_text(one)
        elif not one or not all(isinstance(word, str) and word.strip() for word in one):
            raise ConfigError(f"a sentence is {str(one)[:60]!r}; give a text, a list of words, or a Tree")
        else:
            words.append(tuple(one))
    corrector = _with_labels(corrector, labels, trees.values())
    guess = _guess(corrector, words, trees)

    def estimate(index: int) -> float | None:
        tree = guess(index)
        return corrector.expected_errors(tree.words, tree.tags, tree)

    session = Session(
        words, out, guess, estimate if corrector.has_probabilities else None, annotator, order, dev_fraction, seed,
        root=TOP if rules is None else rules.root,
    )  # fmt: skip
    return AnnotationAnswers(corrector, session, _tags(trees), rules)


def open_adjudication(
    first: Iterable[Tree], second: Iterable[Tree], out: str | Path, nlp: Language, *,
    names: Sequence[str] = ("first", "second"), labels: Sequence[str] = (), annotator: str = "",
    scheme: str | Path | None = None,
) -> AdjudicationAnswers:  # fmt: skip
    """Open or continue an adjudication; return its answers. See `adjudicate`."""
    if len(set(names)) != 2 or not all(isinstance(name, str) and name for name in names):
        raise ConfigError(f"names is {names!r}; give two different names")
    pairs = align_trees(first, second)
    trees, rules = given_trees(pairs), None if scheme is None else load_scheme(scheme, labels)
    both = [tree for pair in pairs for tree in pair if tree is not None]
    corrector = _with_labels(_make_corrector(nlp, labels, rules), labels, both)
    session = Session(
        [trees[index].words for index in range(len(pairs))], out, trees.__getitem__, None, annotator, "given", 0.0,
        ranking=ranking(pairs), root=TOP if rules is None else rules.root,
    )  # fmt: skip
    try:
        return AdjudicationAnswers(corrector, session, pairs, names, _tags(dict(enumerate(both))), rules)
    except BaseException:
        session.close()
        raise


def _make_corrector(nlp: Language, labels: Sequence[str], scheme: Scheme | None) -> Corrector:
    return Corrector(nlp, labels if scheme is None else scheme.labels, scheme)


def _with_labels(corrector: Corrector, labels: Sequence[str], trees: Iterable[Tree]) -> Corrector:
    """Return a corrector that also has the labels of given trees."""
    missing = sorted({label for tree in trees for label in tree.labels[1:]} - set(corrector.labels))
    if not missing:
        return corrector
    more = labels if corrector.scheme is None else corrector.scheme.labels
    return Corrector(corrector.nlp, (*more, *missing), corrector.scheme)


def _guess(corrector: Corrector, words: Sequence[Sequence[str]], trees: Mapping[int, Tree]) -> Callable[[int], Tree]:
    def guess(index: int) -> Tree:
        if index in trees:
            return trees[index]
        return corrector.parse(words[index], corrector.tag(words[index]))[0]

    return guess


def _tags(trees: Mapping[int, Tree]) -> list[Any]:
    return sorted({tag for tree in trees.values() for tag in tree.tags})
