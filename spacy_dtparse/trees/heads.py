"""Head rules: which child of a constituent is its head (Collins 1999; Turian & Melamed 2006)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..symbols import Memo
from . import head_tables
from .labels import base_label
from .tree import Tree

CANDIDATE = "?"
"""Pseudo-label of a candidate constituent, whose head is chosen before its label is known."""

MODES = ("left", "right", "left-any", "right-any", "first", "last")
Rule = tuple[tuple[str, tuple[str, ...]], ...]
_SETS = ("conjunctions", "no_coordination", "punctuation")
_FIELDS = ("rules", "default", "candidate", *_SETS)


@dataclass(frozen=True, repr=False)
class HeadRules:
    """A table of head rules; `head_tables` defines the scans.

    `rules`: label -> scans. `default`: for labels not in `rules`. `candidate`: for the pseudo-label CANDIDATE.
    `conjunctions`: if the child before the head is one of these and the head has index 2 or more, the head becomes the
    nearest child before the conjunction that is not punctuation (Collins: the child before it), except under a label of
    `no_coordination`. `punctuation`: tags that the last resort of a rule skips.

    Raises ConfigError for a scan that is not (mode, labels).
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    default: Rule = (("left", ()),)
    candidate: Rule = (("left", ()),)
    conjunctions: frozenset[str] = frozenset()
    no_coordination: frozenset[str] = frozenset()
    punctuation: frozenset[str] = frozenset()

    _head_of: Memo[tuple[str, tuple[str, ...]], int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "_head_of", Memo(self._find_head))
        set_field(self, "rules", {label: _rule(label, rule) for label, rule in self.rules.items()})
        set_field(self, "default", _rule("default", self.default))
        set_field(self, "candidate", _rule("candidate", self.candidate))
        for name in _SETS:
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(label, str) for label in value):
                raise ConfigError(f"head rules: {name} is {value!r}; give a list of labels")
            set_field(self, name, frozenset(value))

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True))

    def __repr__(self) -> str:
        labels = sorted(self.rules)
        shown = ", ".join(labels[:5]) + (" …" if len(labels) > 5 else "")
        return f"<HeadRules for {len(labels)} label{'s' if len(labels) != 1 else ''}{': ' if shown else ''}{shown}>"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], base: HeadRules | None = None) -> HeadRules:
        """Build rules from plain data (see `to_dict`), as changes to `base`.

        A missing key is taken from `base`, and the labels of "rules" are added to those of `base`.
        Raises ConfigError for unknown keys and malformed scans.
        """
        unknown = sorted(set(data) - set(_FIELDS))
        if unknown:
            raise ConfigError(f"head rules: unknown key {unknown[0]!r}; allowed are {', '.join(_FIELDS)}")
        if base is None:
            return cls(**data)
        return replace(base, **{**data, "rules": {**base.rules, **data.get("rules", {})}})

    @classmethod
    def from_json(cls, path: str | os.PathLike, base: HeadRules | None = None) -> HeadRules:
        """Load rules from a JSON file. Raises OSError, and ConfigError if it is not JSON or has no valid rules."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ConfigError(f"{path}: head rules must be JSON in UTF-8: {error}") from error
        if not isinstance(data, dict):
            raise ConfigError(f"{path}: head rules must be a JSON object with keys {', '.join(_FIELDS)}")
        return cls.from_dict(data, base)

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as plain lists and dicts, for JSON and msgpack."""
        return {
            "rules": {label: _plain(rule) for label, rule in sorted(self.rules.items())},
            **{name: _plain(getattr(self, name)) for name in ("default", "candidate")},
            **{name: sorted(getattr(self, name)) for name in _SETS},
        }

    def rule(self, label: str) -> Rule:
        """Return the scans for `label`, ignoring its function tags."""
        return self.candidate if label == CANDIDATE else self.rules.get(base_label(label), self.default)

    def head_child(self, label: str, child_labels: Sequence[str]) -> int:
        """Return the index of the head child. Children are given by label or tag; function tags are ignored.

        `label` may be CANDIDATE. Raises ConfigError if there is no child.
        """
        if not child_labels:
            raise ConfigError(f"a constituent {label!r} without children has no head")
        return self._head_of[label, tuple(child_labels)]

    def _find_head(self, constituent: tuple[str, tuple[str, ...]]) -> int:
        label, child_labels = constituent
        children = [base_label(child) for child in child_labels]
        head = self._scan(self.rule(label), children)
        if head > 1 and children[head - 1] in self.conjunctions and base_label(label) not in self.no_coordination:
            before = head - 2
            while before > 0 and children[before] in self.punctuation:
                before -= 1
            if children[before] not in self.punctuation:
                head = before
        return head

    def _scan(self, rule: Rule, children: list[str]) -> int:
        indices = range(len(children))
        for mode, labels in rule:
            order = indices[::-1] if starts_right(mode) else indices
            if mode in ("first", "last"):
                order = order[:1]
            for wanted in [(label,) for label in labels] if mode in ("left", "right") else [labels]:
                for index in order:
                    if children[index] in wanted:
                        return index
        order = indices[::-1] if resort_is_right(rule) else indices
        return next((index for index in order if children[index] not in self.punctuation), order[0])

    def heads(self, tree: Tree) -> tuple[int, ...]:
        """Return the head token of each constituent (m ints), in linear time."""
        return tuple(self._heads(tree, tree.child_lists()))

    def _heads(self, tree: Tree, child_lists: list[list[int]]) -> list[int]:
        found, labels, tags = [0] * len(tree.labels), tree.labels, tree.tags
        for k in range(len(tree.labels) - 1, -1, -1):
            children = child_lists[k]
            head = children[0]
            if len(children) > 1:
                names = tuple([labels[c] if c >= 0 else tags[~c] for c in children])
                head = children[self._head_of[labels[k], names]]
            found[k] = found[head] if head >= 0 else ~head
        return found

    def links(self, tree: Tree) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Convert a constituent tree to dependencies: (heads, headed, upper), each a tuple of n ints.

        `heads`: the head of each token, -1 for the sentence's head. `headed`: the largest constituent that the token
        heads, -1 if it heads none; `upper`: the parent of `headed` (or of the token), whose head token is the token's
        head, -1 for the root.
        """
        n = len(tree.words)
        heads, headed, upper = [-1] * n, [-1] * n, [-1] * n
        child_lists = tree.child_lists()
        tokens = self._heads(tree, child_lists)
        headed[tokens[0]] = 0
        for k, children in enumerate(child_lists):
            for child in children:
                token = tokens[child] if child >= 0 else ~child
                if token != tokens[k]:
                    heads[token], headed[token], upper[token] = tokens[k], max(child, -1), k
        return tuple(heads), tuple(headed), tuple(upper)


def tree_guide(tree: Tree, rules: HeadRules) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the dependencies of a constituent tree: heads from 0, -1 for the root, and labels, such as "NP<VP" for a
    token that heads an NP and depends on the head of a VP (its tag if it heads no constituent), and "root"."""
    heads, headed, upper = rules.links(tree)
    labels = tuple(
        f"{tree.labels[below] if below >= 0 else tree.tags[token]}<{tree.labels[above]}" if above >= 0 else "root"
        for token, (below, above) in enumerate(zip(headed, upper, strict=True))
    )
    return heads, labels


def starts_right(mode: str) -> bool:
    """Whether a scan starts at the right end."""
    return mode.startswith("right") or mode == "last"


def resort_is_right(rule: Rule) -> bool:
    """Whether a rule that finds no head falls back on the right end, where its last scan started."""
    return bool(rule) and starts_right(rule[-1][0])


def _rule(label: str, scans: Iterable[Any]) -> Rule:
    checked = []
    for scan in scans:
        mode, labels = scan if not isinstance(scan, str) and len(scan) == 2 else ("", "")
        if mode not in MODES or isinstance(labels, str) or not all(isinstance(wanted, str) for wanted in labels):
            raise ConfigError(
                f"head rule for {label!r}: {scan!r} is not a scan; a scan is [mode, [label, …]], "
                f"and the mode is one of {', '.join(MODES)}"
            )
        checked.append((mode, tuple(labels)))
    return tuple(checked)


def _plain(rule: Rule) -> list:
    return [[mode, list(labels)] for mode, labels in rule]


COLLINS = HeadRules.from_dict(head_tables.COLLINS)
"""The English head rules."""

UNIVERSAL = HeadRules.from_dict(head_tables.UNIVERSAL)
"""The rules for trees with universal parts of speech: heads as in Universal Dependencies."""

LEFTMOST = HeadRules.from_dict({"punctuation": head_tables.COLLINS["punctuation"]})
"""For languages without a table: the leftmost child that is not punctuation."""


def head_rules(language: str) -> HeadRules:
    """Return the rules for a language code (as in spaCy: "en", "de" …), or "universal"; LEFTMOST if it has no table."""
    return {"en": COLLINS, "universal": UNIVERSAL}.get(language, LEFTMOST)
