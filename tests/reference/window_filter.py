"""The window filter over reference states: its atoms as lists of their parts, hashed by integer arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacy_dtparse.dtparse.features.lexicon import Lexicon, tag_class
from spacy_dtparse.text import normal_word

from .states import Node, Rules, State

_FULL = 2**64 - 1


def _mix(state: int, value: int) -> int:
    z = ((state ^ (value + 2)) * 0x9E3779B97F4A7C15) & _FULL
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _FULL
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _FULL
    return z ^ (z >> 31)


def _fold(state: int, key: int) -> int:
    z = (((state << 1) ^ (state >> 31) ^ key) * 0x9E3779B97F4A7C15) & _FULL
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _FULL
    return z ^ (z >> 31)


def _join(state: int, *values: int) -> int:
    for value in values:
        state = _mix(state, value)
    return state


SEED = 0xA0761D6478BD642F


def keys(state: State, i: int, j: int, lexicon: Lexicon, words: Sequence[str], tags: Sequence[str], entries: int):
    """The entries of the window [i, j), in the order of `dtparse.kernels.window_filter.window_keys`."""
    line, arity = state.frontier, j - i

    def at(k: int, lo: int = 0, hi: int | None = None) -> Node | None:
        return line[k] if lo <= k < (len(line) if hi is None else hi) else None

    def symbol(node: Node | None) -> int:
        return -1 if node is None else lexicon.symbols.id_of(node.label)

    def word(node: Node | None) -> int:
        return -1 if node is None else lexicon.words.id_of(normal_word(words[node.head]), 0)

    def tag(node: Node | None) -> int:
        return -1 if node is None else lexicon.symbols.id_of(tags[node.head])

    def kind(node: Node | None) -> int:
        return -1 if node is None else lexicon.classes.id_of(tag_class(tags[node.head]))

    first, last, left, left2, right, right2 = line[i], line[j - 1], at(i - 1), at(i - 2), at(j), at(j + 1)
    inner_first = symbol(first.children[0]) if first.children else -1
    inner_last = symbol(last.children[-1]) if last.children else -1
    whole = _join(SEED, arity, *(symbol(node) for node in line[i:j]))
    ends = _join(SEED, arity + 100, symbol(first), symbol(last))
    outer = _join(SEED, arity + 200, symbol(left), symbol(right))
    atoms = [
        (whole,), (whole, symbol(left)), (whole, symbol(right)), (whole, symbol(left), symbol(right)),
        (whole, inner_first, inner_last), (whole, word(last)), (whole, word(first)),
        (whole, symbol(right), symbol(right2)), (whole, symbol(left2), symbol(left)),
        (ends,), (_fold(ends, outer),), (ends, word(right)), (ends, word(left)),
        (ends, word(last), symbol(right)), (ends, tag(last), tag(right)), (ends, inner_last, symbol(right)),
        (ends, min(len(last.children), 4), symbol(right)),
        (outer,), (outer, word(first), symbol(first)), (outer, symbol(last), symbol(right2)),
        (outer, symbol(first), symbol(left2)),
        (SEED, word(last), word(right), arity), (SEED, word(left), word(first), arity),
        (SEED, tag(first), word(right), kind(right), arity),
        (SEED, symbol(first), symbol(at(i + 1, i, j)), symbol(left), arity), (SEED, symbol(left), word(first)),
    ]  # fmt: skip
    return [_join(base, number, *rest) % entries for number, (base, *rest) in enumerate(atoms)]


@dataclass(frozen=True)
class FilteredRules(Rules):
    """Rules with a window filter: `weights` are integers, `least` the minimum sum of a window."""

    weights: tuple[int, ...] = ()
    least: int = 0
    lexicon: Lexicon | None = None
    words: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    cache: dict = field(default_factory=dict, compare=False)

    def windows(self, state: State) -> list[tuple[int, int]]:
        if state not in self.cache:
            assert self.lexicon is not None
            found = super().windows(state)
            passing = [
                (i, j)
                for i, j in found
                if sum(
                    self.weights[key]
                    for key in keys(state, i, j, self.lexicon, self.words, self.tags, len(self.weights))
                )
                >= self.least
            ]
            self.cache[state] = passing if passing or self.may_shift(state) else found
        return self.cache[state]
