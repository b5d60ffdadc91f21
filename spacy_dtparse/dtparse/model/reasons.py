"""Reasons of a decision: the rules that fired, in groups and in plain words, compared with those of the runner-up.

A rule's value is divided equally among its conditions, in integer units of the values' grid, so that the conditions'
values add up to the score exactly; a condition with several tests divides its value among them in the same way. Tests
of the same thing are one fact: "the next word on the right is a full stop" summarizes all tests of the next word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ...core.time_limit import TimeLimit
from ...dtypes import CONFIDENCE_GRID
from ...errors import ConfigError
from ...stored_names import stored_as
from ..encoder import EncodedBatch
from ..features.fact_clauses import fact_clause, topic_of
from ..features.names import SPAN_MODEL_PREFIX, atom_names
from ..features.wording import ALWAYS, AtomTest, atom_tests, canonical_subject, group_of, is_counted
from ..kernels import marginals as b
from ..kernels.features import Nodes
from ..kernels.marginals import count_tokens
from ..kernels.pruning import AFTER, CERTAIN, LIKELY
from ..kernels.search import FALLBACK
from .model import DtreeModel
from .replayed_atoms import atoms_of, search
from .rules import Conjunctions, Rule, conjunctions
from .subject_values import marginal_values, next_item, node_values, right_item_values


@stored_as("words", "value", "over")
@dataclass(frozen=True)
class Fact:
    """One fact that the rules tested. `value`: its contribution to the score; `over`: how much more this is than its
    contribution to the runner-up's score."""

    words: str
    value: float
    over: float


@stored_as("name", "value", "over", "facts")
@dataclass(frozen=True)
class Group:
    """The facts of one group, the largest first; their `value` and `over` add up to the group's."""

    name: str
    value: float
    over: float
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Reasons:
    """The evidence for a window's label.

    `score`: h, the sum of the rules that fired, and of the groups' values. `runner_up`: the label with the next highest
    score for this window, among those that the span model allows if it allows others; None if there is none. `margin`:
    the difference between their scores, the sum of the groups' `over`. `scores`: of all labels. `n_rules`: number of
    rules that fired for the label.
    """

    label: str
    score: float
    runner_up: str | None
    margin: float
    scores: Mapping[str, float]
    groups: tuple[Group, ...]
    n_rules: int
    make_rules: Callable[[], tuple[Rule, ...]] = field(repr=False, compare=False)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that fired for the label, the largest first."""
        return self.make_rules()


class RuleBook:
    """A model's rules, unpacked once, and the descriptions of its atoms. `rule_book` caches one in its model."""

    def __init__(self, model: DtreeModel):
        self.names = model.names
        self.atoms = atom_names(model)
        self._rules: Conjunctions = conjunctions(list(model.ensembles))
        size = np.diff(self._rules.start)
        rule = np.repeat(np.arange(len(size)), size)
        index = np.arange(len(rule)) - self._rules.start[rule]
        each, rest = np.divmod(self._rules.units, np.maximum(size, 1))
        self._condition_units = each[rule] + (index < rest[rule])  # each rule's add up to its units
        self._rule_of = rule
        self.label_of_rule, self.units, self.bias = self._rules.label, self._rules.units, self._rules.bias
        self.tests: Callable[[int], tuple[AtomTest, ...]] = cache(lambda atom: atom_tests(self.atoms[atom]))
        self._topic_ids: dict[tuple[str, str, str], int] = {}
        self._counter = count()
        self._topics: dict[int, tuple[str, str, str]] = {}
        """Topics by id: group, topic, and the value if each value is a separate topic."""
        self._is_counted = cache(lambda atom: any(is_counted(test.subject) for test in self.tests(atom)))
        self._parts = lru_cache(1 << 17)(self._parts_of)

    def label_id(self, label: str) -> int:
        """Return the id of a label, or of `*shift*`. Raises ConfigError for an unknown label."""
        if label not in self.names:
            raise ConfigError(f"the model has no label {label!r}; its labels are {', '.join(self.names)}")
        return self.names.index(label)

    def firing(self, active: np.ndarray) -> np.ndarray:
        """bool (R,): whether each rule fires; `active`: ids of the atoms that are present."""
        there = np.zeros(len(self.atoms), dtype=np.int8)
        there[active] = 1
        if not len(self._rules.units):
            return np.zeros(0, dtype=np.bool_)
        literal = self._rules.literal
        return np.logical_and.reduceat(there[literal >> 1] == (literal & 1), self._rules.start[:-1])

    def conditions(self, rule: int) -> list[int]:
        """Return the conditions of a rule, each 2 · atom + present."""
        return self._rules.literal[self._rules.start[rule] : self._rules.start[rule + 1]].tolist()

    def scores(self, fired: np.ndarray) -> np.ndarray:
        """Return the score of each label in units of the grid."""
        units = self._rules.bias.copy()
        np.add.at(units, self._rules.label[fired], self._rules.units[fired])
        return units

    def condition_values(self, fired: np.ndarray, label: int) -> dict[int, int]:
        """Sum the values of the conditions (2 · atom + present) over a label's rules, in units; -1: its constant."""
        of_label = fired & (self._rules.label == label)
        is_taken = of_label[self._rule_of] if len(of_label) else np.zeros(0, dtype=np.bool_)
        conditions, at = np.unique(self._rules.literal[is_taken], return_inverse=True)
        sums = np.zeros(len(conditions), dtype=np.int64)
        np.add.at(sums, at, self._condition_units[is_taken])
        found = dict(zip(conditions.tolist(), sums.tolist(), strict=True))
        return {-1: int(self._rules.bias[label]), **found} if self._rules.bias[label] else found

    def rules(self, fired: np.ndarray, label: int) -> tuple[Rule, ...]:
        """Return the rules of a label that fired, the largest |value| first."""
        found = []
        for rule_id in np.flatnonzero(fired & (self._rules.label == label)).tolist():
            conditions = self.conditions(rule_id)
            present, absent = (tuple(self.atoms[c >> 1] for c in conditions if c & 1 == kind) for kind in (1, 0))
            found.append(Rule(present, absent, int(self._rules.units[rule_id]) * CONFIDENCE_GRID))
        if self._rules.bias[label]:
            found.append(Rule((), (), int(self._rules.bias[label]) * CONFIDENCE_GRID))
        return tuple(sorted(found, key=lambda rule: -abs(rule.value)))

    def rules_of_label(self, label: str) -> tuple[Rule, ...]:
        """Return all rules of a label (or of `*shift*`), the largest |value| first. Raises ConfigError for a label that
        the model does not have."""
        return self.rules(np.ones(len(self.units), dtype=np.bool_), self.label_id(label))

    def _parts_of(self, atom: int, held: bool, window: _Window | None) -> tuple[tuple[int, AtomTest], ...]:
        """Return the tests of an atom, each with the id of its topic."""
        parts = []
        for subject, operator, value in self.tests(atom):
            name = subject if window is None else window.name(subject)
            member = value if held and operator == "has" else ""
            topic = group_of(name), topic_of(name), member
            topic_id = self._topic_ids.setdefault(topic, next(self._counter))  # also with several threads
            self._topics[topic_id] = topic
            parts.append((topic_id, AtomTest(name, operator, value)))
        return tuple(parts)

    def known_values(self, active: np.ndarray, window: _Window) -> dict[str, str]:
        """Return the values of the subjects that the present atoms test."""
        tests = (test for atom in active.tolist() for test in self.tests(atom))
        return {window.name(test.subject): test.value for test in tests if test.operator == "="}

    def groups(
        self, values: Mapping[int, int], others: Mapping[int, int], known: Mapping[str, str], window: _Window,
        limit: TimeLimit,
    ) -> tuple[Group, ...]:  # fmt: skip
        """Build groups of facts from the conditions' values in the score of a label (`values`) and of the runner-up
        (`others`); () if the `limit` is reached."""
        topics: dict[int, list[tuple[int, int, AtomTest, bool]]] = {}
        for number, condition in enumerate(dict.fromkeys([*values, *others])):
            if number % _CONDITIONS == 0 and limit.is_over():
                return ()
            value = values.get(condition, 0)
            over, held = value - others.get(condition, 0), bool(condition & 1)
            atom = condition >> 1
            parts = self._parts(atom, held, window if self._is_counted(atom) else None) if condition >= 0 else _ALWAYS
            if len(parts) == 1:
                topics.setdefault(parts[0][0], []).append((value, over, parts[0][1], held))
                continue
            (each, rest), (each_over, rest_over) = divmod(value, len(parts)), divmod(over, len(parts))
            for index, (key, test) in enumerate(parts):
                topics.setdefault(key, []).append((each + (index < rest), each_over + (index < rest_over), test, held))
        found: dict[str, list[tuple[str, int, int]]] = {}
        for topic_id, parts_of_topic in topics.items():
            group, topic, _ = self._topics[topic_id] if topic_id >= 0 else (ALWAYS, ALWAYS, "")
            value, over = sum(part[0] for part in parts_of_topic), sum(part[1] for part in parts_of_topic)
            parts_of_topic.sort(key=_size, reverse=True)
            words = _CONSTANT if group == ALWAYS else fact_clause(topic, known, [part[2:] for part in parts_of_topic])
            found.setdefault(group, []).append((words, value, over))
        groups = []
        for group, facts in found.items():
            facts.sort(key=lambda one: -max(abs(one[1]), abs(one[2])))
            sums = [sum(one[1] for one in facts) * CONFIDENCE_GRID, sum(one[2] for one in facts) * CONFIDENCE_GRID]
            facts_of_group = tuple(
                Fact(words, value * CONFIDENCE_GRID, over * CONFIDENCE_GRID) for words, value, over in facts
            )
            groups.append(Group(group, sums[0], sums[1], facts_of_group))
        return tuple(sorted(groups, key=lambda group: -max(abs(group.value), abs(group.over))))


def _size(part: tuple[int, int, AtomTest, bool]) -> int:
    """Return the maximum absolute contribution of a part of a fact."""
    return max(abs(part[0]), abs(part[1]))


_CONDITIONS = 256
"""Number of conditions after which the time is checked."""
_ALWAYS = ((-1, AtomTest(ALWAYS, "=", "")),)
_CONSTANT = "the constant of this label, the same for every span"


class _Window(NamedTuple):
    """The number of children of a window, and the index of its head."""

    arity: int
    head: int

    def name(self, subject: str) -> str:
        return canonical_subject(subject, self.arity, self.head)


def rule_book(model: DtreeModel) -> RuleBook:
    """Return the model's RuleBook, built at the first call."""
    cache: dict[str, Any] = vars(model)
    if "_rule_book" not in cache:
        cache["_rule_book"] = RuleBook(model)
    return cache["_rule_book"]


def reasons(
    parser: Any, batch: EncodedBatch, only: tuple[int, int, str] | None = None, limit: TimeLimit | None = None
) -> dict[tuple[int, int, str], Reasons]:
    """Return {(start, end, label): reasons} for each inference in the parse of a sentence by a `DtreeParser`, or for
    `only` one; when the `limit` is reached, for those so far. `batch`: the sentence, as `DtreeParser.encode_sentence`
    returns it.

    The spans refer to the given words. Constituents that no inference built are not included: those added by the span
    model at the end or when preprocessing was undone, and the root of pieces that were joined.
    """
    model: DtreeModel = parser.model
    record, kept_words, kept_tags = batch.prepared[0]
    limit = limit or TimeLimit()
    with limit.pause():
        book = rule_book(model)
    tokens, _ = batch.tokens(parser.settings)
    nodes, status = search(parser, tokens)
    n, last = count_tokens(tokens), int(nodes.used[0]) - (status == FALLBACK)
    found = {}
    for node, active in atoms_of(model, tokens, nodes, n, last).items():
        item = nodes.item[node]
        start, end, at, arity = (int(item[name]) for name in ("start", "end", "child_at", "arity"))
        key = record.kept[start], record.kept[end - 1] + 1, book.names[int(item["label"])]
        if only not in (None, key):
            continue
        if limit.is_over():
            break
        children = nodes.pool[at : at + arity].tolist()
        window = _Window(arity, children.index(int(item["middle"])))
        known = book.known_values(active, window) | node_values(model, nodes, node, n, children, kept_words, kept_tags)
        known |= right_item_values(model, nodes, node, n, kept_words, kept_tags)
        row, right = (
            _row(tokens, start, end),
            int(nodes.item[next_item(nodes, node, n, end)]["end"]) if end < n else -1,
        )
        spans = {"window": row, "with left": _row(tokens, start - 1, end)}
        spans |= {"with right": _row(tokens, start, right), "of right": _row(tokens, end, right)}
        for name, at_row in spans.items() if model.span_model else ():
            known |= marginal_values(model, tokens, at_row, f"{SPAN_MODEL_PREFIX}{name}")
        fired, label = book.firing(active), int(item["label"])
        units, below = book.scores(fired), _labels_below(nodes, node)
        allowed = {k for k in range(len(model.lexicon.labels) - 1)} - below - {label}
        left = allowed & _allowed_labels(model, tokens, row, bool(below))
        second = max(left or allowed, key=lambda k: int(units[k]), default=None)
        other = {} if second is None else book.condition_values(fired, second)
        groups = book.groups(book.condition_values(fired, label), other, known, window, limit)
        if limit.reached:
            break
        found[key] = Reasons(
            book.names[label],
            int(units[label]) * CONFIDENCE_GRID,
            None if second is None else book.names[second],
            int(units[label] - (0 if second is None else units[second])) * CONFIDENCE_GRID,
            {name: int(score) * CONFIDENCE_GRID for name, score in zip(book.names[:-1], units[:-1], strict=True)},
            groups,
            int((fired & (book.label_of_rule == label)).sum()) + bool(book.bias[label]),
            partial(book.rules, fired, label),
        )
    return found


def _row(tokens: np.ndarray, start: int, end: int) -> int:
    """Return the row of a span's marginals, -1 if the span model has none."""
    if tokens.shape[1] != b.COLUMNS or start < 0 or end < 0:
        return -1
    rows = range(int(tokens[start, b.FIRST_SPAN]), int(tokens[start, b.LAST_SPAN]))
    return next((row for row in rows if tokens[row, b.END] == end), -1)


def _allowed_labels(model: DtreeModel, tokens: np.ndarray, row: int, unary: bool) -> set[int]:
    """Return the labels that the span model allows for a window over a row's span (see `dtparse.kernels.pruning`)."""
    if row < 0:
        return set()
    level = int(tokens[row, b.CHAIN_PROB] >= LIKELY) + int(tokens[row, b.CHAIN_PROB] >= CERTAIN)
    found = int(model.labels[int(unary), level, tokens[row, b.CHAIN]])
    if level < 2:
        found |= int(model.labels[int(unary), AFTER, tokens[row, b.CHAIN_2]])
    return {k for k in range(len(model.lexicon.labels)) if found >> k & 1}


def _labels_below(nodes: Nodes, node: int) -> set[int]:
    """Return the labels of the unary chain below a node, which the node cannot have."""
    found, item = set(), nodes.item
    while item[node]["arity"] == 1 and item[item[node]["first"]]["first"] >= 0:
        node = int(item[node]["first"])
        found.add(int(item[node]["label"]))
    return found
