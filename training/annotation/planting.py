"""Plant errors of known kinds in the trees of a treebank, to measure how many a review finds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spacy_dtparse.annotation.edits import move_extent
from spacy_dtparse.errors import ConfigError, EditError
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.tree import TOP

Span = tuple[int, int, str]
_TRIES = 20
"""Attempts to plant an error of a kind in a sentence."""


@dataclass(frozen=True)
class PlantedError:
    """An error. `sentence`: index of the tree; `kind`: one of `KINDS`; `spans`: the constituents (start, end, label)
    that only one of the two trees has; `token`: of a wrong tag, else -1; `old`, `new`: what stands in the two trees."""

    sentence: int
    kind: str
    spans: tuple[Span, ...]
    token: int
    old: str
    new: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "spans": [list(span) for span in self.spans]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PlantedError:
        """Build an error from the plain data of `to_dict`. Raises ConfigError for other data."""
        try:
            return cls(**{**data, "spans": tuple((start, end, label) for start, end, label in data["spans"])})
        except (TypeError, KeyError, ValueError):
            raise ConfigError(
                f"{str(data)[:60]!r} is no planted error; give the list that `python -m training plant-errors` writes"
            ) from None


class _Planter:
    """Draws errors. Labels and tags that replace others have the frequencies of the treebank."""

    def __init__(self, trees: Sequence[Tree], chance: random.Random):
        self.chance = chance
        self.labels = Counter(label for tree in trees for label in tree.labels if label != TOP)
        self.tags = Counter(
            tag for tree in trees for word, tag in zip(tree.words, tree.tags, strict=True) if _is_word(word)
        )

    def wrong_label(self, tree: Tree) -> Tree | None:
        """Give a constituent another label."""
        spans = tree.spans()
        k = self._constituent(spans)
        start, end, label = spans[k]
        spans[k] = (start, end, self._other(self.labels, label))
        return Tree.from_spans(tree.words, tree.tags, spans)

    def wrong_attachment(self, tree: Tree) -> Tree | None:
        """Move a PP to another parent."""
        spans = tree.spans()
        phrases = [span for span in spans if span[2] == "PP"]
        if not phrases:
            return None
        start, end, _ = self.chance.choice(phrases)
        targets = [
            k for k, (a, b, label) in enumerate(spans)
            if label != TOP and (b == start or (a <= start and end <= b and (a, b) != (start, end)))
        ]  # fmt: skip
        try:
            return move_extent(tree, start, end, self.chance.choice(targets))[0] if targets else None
        except EditError:
            return None

    def missing(self, tree: Tree) -> Tree | None:
        """Remove a constituent."""
        spans = tree.spans()
        del spans[self._constituent(spans)]
        return Tree.from_spans(tree.words, tree.tags, spans)

    def superfluous(self, tree: Tree) -> Tree | None:
        """Insert a constituent of two or more words over children of another."""
        start, end = sorted(self.chance.sample(range(tree.n_tokens + 1), 2))
        spans = tree.spans()
        if end - start < 2 or any(span[:2] == (start, end) or _crosses(span, start, end) for span in spans):
            return None
        return Tree.from_spans(tree.words, tree.tags, [*spans, (start, end, self._other(self.labels, ""))])

    def wrong_boundary(self, tree: Tree) -> Tree | None:
        """Move one boundary of a constituent by one word."""
        spans = tree.spans()
        k = self._constituent(spans)
        start, end, label = spans.pop(k)
        step = self.chance.choice((-1, 1))
        start, end = (start + step, end) if self.chance.random() < 0.5 else (start, end + step)
        outside = not 0 <= start < end <= tree.n_tokens
        if outside or any(span[:2] == (start, end) or _crosses(span, start, end) for span in spans):
            return None
        return Tree.from_spans(tree.words, tree.tags, [*spans, (start, end, label)])

    def wrong_tag(self, tree: Tree) -> Tree | None:
        """Give a word another tag."""
        token = self.chance.randrange(tree.n_tokens)
        if not _is_word(tree.words[token]):
            return None
        tags = (*tree.tags[:token], self._other(self.tags, tree.tags[token]), *tree.tags[token + 1 :])
        return Tree(tree.words, tags, tree.labels, tree.starts, tree.ends)

    def _constituent(self, spans: Sequence[Span]) -> int:
        return self.chance.choice([k for k, span in enumerate(spans) if span[2] != TOP])

    def _other(self, counts: Counter[str], name: str) -> str:
        names = sorted(set(counts) - {name})
        return self.chance.choices(names, [counts[one] for one in names])[0]


KINDS: dict[str, Callable[[_Planter, Tree], Tree | None]] = {
    "wrong label": _Planter.wrong_label,
    "wrong attachment": _Planter.wrong_attachment,
    "missing": _Planter.missing,
    "superfluous": _Planter.superfluous,
    "wrong boundary": _Planter.wrong_boundary,
    "wrong tag": _Planter.wrong_tag,
}


def plant_errors(trees: Sequence[Tree], n: int, seed: int = 0) -> tuple[list[Tree], list[PlantedError]]:
    """Return the trees with n errors, at most one in each, and the errors by sentence. The kinds have equal numbers,
    as nearly as possible. Raises ConfigError if there are not enough trees that can have these errors."""
    chance, planted = random.Random(seed), list(trees)
    planter, errors = _Planter(trees, chance), []
    order = [index for index, tree in enumerate(trees) if len(tree) > 1]
    chance.shuffle(order)
    kinds = list(KINDS)
    for number in range(n):
        kind = kinds[number % len(kinds)]
        for index in order:
            found = _plant(planter, kind, index, trees[index])
            if found is not None:
                planted[index], error = found
                errors.append(error)
                order.remove(index)
                break
        else:
            raise ConfigError(
                f"{len(errors)} errors are planted, and none of the {len(order)} sentences that are left can have the "
                f"kind {kind!r}; plant fewer, or give more trees"
            )
    return planted, sorted(errors, key=lambda error: error.sentence)


def _plant(planter: _Planter, kind: str, index: int, tree: Tree) -> tuple[Tree, PlantedError] | None:
    for _ in range(_TRIES):
        changed = KINDS[kind](planter, tree)
        if changed is None or str(changed) == str(tree):
            continue
        ours, theirs = Counter(tree.spans()), Counter(changed.spans())
        old, new = sorted((ours - theirs).elements()), sorted((theirs - ours).elements())
        token = next((i for i, (a, b) in enumerate(zip(tree.tags, changed.tags, strict=True)) if a != b), -1)
        names = [" ".join(f"{label} {a}-{b}" for a, b, label in part) for part in (old, new)]
        if token >= 0:
            names = [f"{one.tags[token]} {token}" for one in (tree, changed)]
        if old or new or token >= 0:
            return changed, PlantedError(index, kind, (*old, *new), token, *names)
    return None


def _crosses(span: Span, start: int, end: int) -> bool:
    a, b, _ = span
    return a < start < b < end or start < a < end < b


def _is_word(text: str) -> bool:
    return any(map(str.isalnum, text))
