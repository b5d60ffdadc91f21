"""A pipeline as the annotator's helper: tags, trees under constraints, other trees to pick from, probabilities."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from ..core.calibration import ResultCalibrator
from ..core.constraints import Constraint, Constraints
from ..core.parser import Capability, ParseResult
from ..errors import ConfigError, DtparseError, MissingAnnotationError
from ..pipeline.constituent_pipe import constituent_parsers
from ..pipeline.registration import PARSER_FACTORIES
from ..pipeline.second_tags import read_ambiguous_tags
from ..trees.labels import base_label
from ..trees.tree import TOP, Tree
from .edits import add_constraints, unary_chains
from .scheme import Scheme, check_labels

NO_CONSTRAINTS = Constraints()
_UNUSED = {*PARSER_FACTORIES, "visible_sentences", "senter", "parser", "sentencizer", "dependency_phrases"}


class Corrector:
    """Parses one sentence at a time under an annotator's constraints, from any thread.

    `labels`: further labels that trees may have; `scheme`: an annotation scheme, whose labels they may have, too. A
    constituent with a label that the parser does not know is parsed as one with the label before "-" (NP for NP-SBJ),
    or else of any label, and then renamed. `reparses`: whether a statement is followed by a new parse; a poor parser
    needs fewer statements if all the rest of the tree is kept. Raises ConfigError if the parser supports no
    constraints, and for a label that cannot be written.
    """

    def __init__(self, nlp: Language, labels: Sequence[str] = (), scheme: Scheme | None = None):
        check_labels(labels)
        self.nlp = nlp
        component: Any = constituent_parsers(nlp, active=True)[0]
        self.parser = component.configured_parser
        if Capability.CONSTRAINTS not in self.parser.capabilities:
            raise ConfigError(
                f"a parser of kind {self.parser.name!r} does not support constraints, which annotation needs; use "
                "en_dtparse, en_span, en_trees or en_pcfgla"
            )
        self.scheme, self.reparses = scheme, True
        self.labels = tuple(dict.fromkeys((*self.parser.labels, *labels)))
        self._calibrator: ResultCalibrator | None = None
        self.use_parser(self.parser)
        self._skipped = [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory in _UNUSED]
        self._lock = Lock()  # spaCy's vocabulary is not thread-safe

    def use_parser(self, parser: Any, reparses: bool = True) -> None:
        """Parse with a parser from now on, and take probabilities from it if it is calibrated; else they stay those of
        the parser before. `reparses`: see the class."""
        self.parser, self.reparses = parser, reparses
        self.labels = tuple(dict.fromkeys((*self.labels, *parser.labels)))
        if Capability.POSTERIORS in parser.capabilities and parser.calibration is not None:
            self._calibrator = ResultCalibrator(parser)

    @property
    def has_probabilities(self) -> bool:
        """Whether the parser has calibrated probabilities."""
        return self._calibrator is not None

    def read_text(self, text: str) -> list[list[str]]:
        """Return the words of each sentence of a text, without white space. Raises MissingAnnotationError if no
        component of the pipeline finds sentences."""
        parsers = [name for name in self._skipped if self.nlp.get_pipe_meta(name).factory in PARSER_FACTORIES]
        with self._lock, self.nlp.select_pipes(disable=parsers):
            doc = self.nlp(text)
        if len(doc) > 1 and not doc.has_annotation("SENT_START"):
            raise MissingAnnotationError(
                'no component of this pipeline finds sentences; add one, such as nlp.add_pipe("sentencizer", '
                "first=True), or give pre-tokenized sentences (`--pretokenized`: one on each line)"
            )
        found = ([token.text for token in sentence if not token.is_space] for sentence in doc.sents)
        return [words for words in found if words]

    def tag(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the pipeline's tags for the words of a sentence; the tag XX for one that the tagger leaves open."""
        with self._lock, self.nlp.select_pipes(disable=self._skipped):
            starts: list[Any] = [index == 0 for index in range(len(words))]
            doc = self.nlp(Doc(self.nlp.vocab, words=list(words), sent_starts=starts))
        ambiguous = read_ambiguous_tags(doc)
        return tuple(ambiguous.get(token.i, token.tag_ or "XX") for token in doc)

    def parse(
        self, words: Sequence[str], tags: Sequence[str], constraints: Constraints = NO_CONSTRAINTS, k: int = 1
    ) -> list[Tree]:
        """Return the best tree in which the constraints hold, and up to k − 1 others, best first.

        Raises ConstraintError for constraints in conflict or with a label that is not in `labels`.
        """
        labels = self._labels(constraints)
        constraints.check(len(words), labels, words)
        known = set(self.parser.labels)
        usable = [one if known.issuperset(one.labels) else _stand_in(one, known) for one in constraints]
        stand_ins = {one for one in usable if one is not None and one not in constraints}
        parsed = Constraints(
            dict.fromkeys(one for one in usable if one is not None and not _forbids_stand_in(one, stand_ins))
        )
        if parsed:
            results = self.parser.parse_k_best_constrained(words, tags, parsed, k)
        elif k > 1 and Capability.K_BEST in self.parser.capabilities:
            results = self.parser.parse_k_best(words, tags, k)
        else:
            results = [self.parser.parse(words, tags)]
        named = (replace(one, tree=_add_functions(one.tree, constraints, known)) for one in results)
        trees = (_drop_stand_ins(constraints.enforce(one, labels).tree, constraints, known) for one in named)
        return list(dict.fromkeys(trees))

    def correct(self, tree: Tree, tags: Sequence[str], constraints: Constraints) -> Tree:
        """Return the tree after a statement about `tree`: the best one under all constraints, or, unless `reparses`,
        the same tree but for what they change. Raises ConstraintError as `parse`."""
        words = tree.words
        if self.reparses:
            return self.parse(words, tags, constraints)[0]
        labels = self._labels(constraints)
        constraints.check(len(words), labels, words)
        present = unary_chains(tree)
        named = Constraints(
            one._replace(label=self.best_label(words, tags, constraints, one.start, one.end))
            if one.required and not one.label and (one.start, one.end) not in present
            else one
            for one in constraints
        )
        shown = ParseResult(Tree(words, tags, tree.labels, tree.starts, tree.ends), (0.0,) * len(tree), 0.0, "fallback")
        return named.enforce(shown, labels).tree

    def _labels(self, constraints: Constraints) -> tuple[str, ...]:
        """Return `labels`, and those of constraints that the scheme allows, such as NP-SBJ."""
        if self.scheme is None:
            return self.labels
        named = (label for one in constraints for label in one.labels if self.scheme.allows(label))
        return tuple(dict.fromkeys((*self.labels, *named)))

    def probabilities(self, words: Sequence[str], tags: Sequence[str], tree: Tree) -> tuple[float | None, ...]:
        """Return the calibrated probability of each constituent of a tree, None for each without calibration."""
        if self._calibrator is None:
            return (None,) * len(tree)
        known = set(self._calibrator.parser.labels)
        bases = [
            label if label in known or base_label(label) not in known else base_label(label) for label in tree.labels
        ]
        return self._calibrator.probabilities(words, tags, tree.with_labels(bases))[0]

    def expected_errors(self, words: Sequence[str], tags: Sequence[str], tree: Tree) -> float | None:
        """Return the expected number of wrong and missing constituents per token, by calibrated probabilities; None
        without calibration."""
        if self._calibrator is None:
            return None
        posteriors = {
            span: p for span, p in self._calibrator.parser.span_posteriors(words, tags).items() if span[2] != TOP
        }
        spans = [span for span in tree.spans() if span[2] != TOP]
        known = self._calibrator.calibration.calibrate_constituents(
            np.array([posteriors.get(span, 0.0) for span in spans] + [0.0])
        )[:-1]
        missing = np.array([p for span, p in sorted(posteriors.items()) if span not in set(spans)] + [0.0])
        others = self._calibrator.calibration.calibrate_constituents(missing)[:-1]
        return float(np.sum(1 - known) + np.sum(others)) / len(words)

    def best_label(
        self, words: Sequence[str], tags: Sequence[str], constraints: Constraints, start: int, end: int
    ) -> str:
        """Return the label that the parser gives to the tokens [start, end) if they must be a constituent; "" if it
        cannot, as for tokens that cross a constituent stated before."""
        try:
            tree = self.parse(words, tags, add_constraints(constraints, [Constraint(start, end)], words))[0]
        except DtparseError:
            return ""
        labels = [label for a, b, label in tree.spans() if (a, b) == (start, end) and label != TOP]
        return labels[0] if labels else ""


def _stand_in(one: Constraint, known: set[str]) -> Constraint | None:
    """Return a constraint with an unknown label as one with its labels before "-", or else for any label; None for a
    prohibition, which always holds."""
    if not one.required:
        return None
    bases = [base_label(label) for label in one.labels]
    return one._replace(label=" ".join(bases)) if known.issuperset(bases) else Constraint(one.start, one.end)


def _forbids_stand_in(one: Constraint, stand_ins: Iterable[Constraint]) -> bool:
    """Return whether a prohibition, as of NP where NP-SBJ is required, is against a stand-in for another label."""
    return not one.required and any(one[:2] == other[:2] and one.label in other.labels for other in stand_ins)


def _add_functions(tree: Tree, constraints: Constraints, known: set[str]) -> Tree:
    """Return the tree with the unknown labels that constraints require in place of the known ones before "-"."""
    labels = list(tree.labels)
    for one in constraints:
        for label in one.labels if one.required else ():
            base = base_label(label)
            if label in known or base not in known:
                continue
            same = [k for k, span in enumerate(tree.spans()) if span[:2] == (one.start, one.end)]
            found = [k for k in same if labels[k] == base]
            if found and all(labels[k] != label for k in same):
                labels[found[0]] = label
    return tree.with_labels(labels)


def _drop_stand_ins(tree: Tree, constraints: Constraints, known: set[str]) -> Tree:
    """Return the tree without the stand-ins of unknown labels: constituents over the tokens of an unknown label that no
    constraint names."""
    unknown = {
        (one.start, one.end)
        for one in constraints
        if one.required and not known.issuperset(map(base_label, one.labels)) and not known.issuperset(one.labels)
    }
    named = {(one.start, one.end, label) for one in constraints if one.required for label in one.labels}
    spans = [span for span in tree.spans() if span[2] == TOP or span[:2] not in unknown or span in named]
    return Tree.from_spans(tree.words, tree.tags, spans)
