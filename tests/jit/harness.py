"""Helpers for the tests of the parser's kernels: small tables, kernel states, models built by hand."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from spacy_dtparse.dtparse.features.lexicon import Lexicon, tag_class
from spacy_dtparse.dtparse.features.names import atom_names
from spacy_dtparse.dtparse.features.tables import get_templates
from spacy_dtparse.dtparse.features.templates import Templates, compile_templates
from spacy_dtparse.dtparse.kernels import features as k
from spacy_dtparse.dtparse.kernels import state as states
from spacy_dtparse.dtparse.kernels.atoms import AtomMap
from spacy_dtparse.dtparse.kernels.state import make_nodes, make_windows
from spacy_dtparse.dtparse.model.model import DtreeModel, compose, make_grammar, renumber, used_atoms
from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.text import SHAPES, normal_word, word_shape
from spacy_dtparse.trees.heads import COLLINS
from spacy_dtparse.trees.heads_compiled import compile_head_rules
from tests.reference.decision_trees import GRID, flatten, random_tree, score
from tests.reference.features import AtomReader
from tests.reference.states import SHIFT, STRATEGIES, Rules, State, spans
from tests.reference.states import random_tree as random_gold
from tests.trees.naive import with_leaves
from training.dtparse.examples import Derivation, Replayer
from training.dtparse.oracle import derivation, ready_steps

SLOW = os.environ.get("NUMBA_DISABLE_JIT", "0") == "1"
"""The kernels run as plain Python: fewer and smaller cases."""

FIRST_STRATEGY = ["shift_reduce", *(pytest.param(s, marks=pytest.mark.slow) for s in STRATEGIES if s != "shift_reduce")]
"""All strategies, those but the shipped model's in the slow tests."""

KERNEL_MARKS = [
    pytest.mark.kernel,
    # plain numpy numbers warn where a 64-bit hash wraps around, which is what a hash is meant to do
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]

infer = callable_from_python(states.infer)
is_complete = callable_from_python(states.is_complete)
is_label_legal = callable_from_python(states.is_label_legal)
list_windows = callable_from_python(states.list_windows)
start_sentence = callable_from_python(states.start_sentence)

TAGS = ("DT", "NN", "VBD", ",", "XX")
WORDS = ("*rare*", "the", "nothing", "cat", "saw", ",")
TEXT = {"DT": ("The", "a"), "NN": ("cat", "nothing", "X9"), "VBD": ("saw", "ran"), ",": (",",), "XX": ("re-do", "&")}
CLUSTERS = ("the a", "cat x0 re-do", "saw ran")

EVERY_KIND = Templates(
    "every_kind",
    unary=(
        (("item", "left", 1), "label"),
        (("child", "first", ("item", "left", 0)), "tag"),
        (("terminal", "left", 0), "tag"),
        (("item", "start", 0), "word"),
        (("child", "head", ("child", "last", ("item", "end", 0))), "label"),
        (("terminal", "head", -1), "shape"),
        (("terminal", "right", 1), "class"),
        (("terminal", "start", 1), "label"),
        (("item", "front", 2), "label"),
    ),
    tuples=(
        ((("item", "start", 0), "label"), (("item", "end", 0), "label")),
        ((("item", "front", 0), "label"), (("terminal", "left", 0), "tag")),
        ((("item", "left", 0), "label"), (("item", "head", 0), "word"), (("item", "right", 1), "class")),
        ((("item", "start", 1), "label"), (("item", "end", 1), "tag")),
    ),
    grouped=(
        ("some_item", "left_context", 2, False, "label"),
        ("some_item", "span_first", 2, False, "word"),
        ("some_terminal", "non_head", 0, True, "tag"),
        ("some_item", "right_of_head", 1, True, "label"),
        ("items", "span", 0, False, None),
        ("items", "left_context", 0, False, None),
        ("terminals", "right_context", 0, False, None),
        ("terminals", "non_leftmost", 0, True, None),
    ),
    sequence=True,
)


NEAR_LEFT = Templates(
    "near_left",
    unary=((("item", "left", 0), "label"), (("item", "left", 1), "label"), (("item", "start", 0), "label")),
    grouped=(("some_item", "left_context", 2, False, "label"),),
)
"""Sees a few items to the left and no further."""

SEQUENCES = Templates("sequences", unary=(), sequence=True)
"""Sees nothing but the labels in the window, so that the first atom of all is one of those."""


def templates(name: str) -> Templates:
    return {table.name: table for table in (EVERY_KIND, NEAR_LEFT, SEQUENCES)}.get(name) or get_templates(name)


def small_lexicon(labels: tuple[str, ...] = ("NP", "VP", "TOP")) -> Lexicon:
    return Lexicon.build(labels, TAGS, WORDS, "XX", clusters=CLUSTERS)


def sentence(rng: random.Random, n: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    tags = tuple(rng.choice(TAGS) for _ in range(n))
    return tuple(rng.choice(TEXT[tag]) for tag in tags), tags


@dataclass
class KernelState:
    """One state in the kernels' arrays."""

    grammar: Any
    heads: Any
    lexicon: Lexicon
    tokens: np.ndarray
    nodes: k.Nodes
    frontier: np.ndarray
    low: int = 0
    cursor: int = 0
    size: int = 0

    @classmethod
    def start(cls, rules: Rules, lexicon: Lexicon, words, tags, reach: int = 2**30) -> KernelState:
        grammar = make_grammar(rules.strategy, rules.max_arity, rules.edge_punctuation, len(lexicon.labels), reach)
        tokens, n = lexicon.encode(words, tags), len(words)
        state = cls(
            grammar,
            compile_head_rules(rules.heads, lexicon.symbols),
            lexicon,
            tokens,
            make_nodes(8 * n + 8, 16 * n + 16),
            np.zeros(n + 1, dtype=np.int32),
            size=n,
        )
        state.cursor = n if rules.strategy == "shift_reduce" else 0
        start_sentence(tokens, n, np.ascontiguousarray(tokens[:, k.TAG]), state.nodes, state.frontier)
        return state

    def copy(self) -> KernelState:
        return replace(self, nodes=k.Nodes(*(a.copy() for a in self.nodes)), frontier=self.frontier.copy())

    def view(self) -> k.ParseState:
        """The state as the kernels take it."""
        return k.ParseState(self.tokens, len(self.tokens), self.nodes, self.frontier, self.low, self.cursor, self.size)

    def windows(self) -> list[tuple[int, int]]:
        room = len(self.tokens) * int(self.grammar.options[1]) + 1
        listed = make_windows(room)
        count = list_windows(self.grammar, self.view(), listed)
        found = zip(listed.i[:count].tolist(), listed.j[:count].tolist(), strict=True)
        return [(a - self.low, b - self.low) for a, b in found]

    def candidates(self) -> list[tuple[int, int, str]]:
        found = [
            (i, j, name)
            for i, j in self.windows()
            for label, name in enumerate(self.lexicon.labels)
            if is_label_legal(self.grammar, self.view(), i + self.low, j + self.low, label)
        ]
        if self.cursor > self.low:
            found.append((self.cursor - self.low - 1, self.cursor - self.low, SHIFT))
        return found

    def apply(self, i: int, j: int, label: str) -> None:
        number = self.lexicon.labels.id_of(label, len(self.lexicon.labels))
        children = np.zeros(len(self.tokens) + 1, dtype=np.int32)
        i, j = i + self.low, j + self.low
        self.low, self.cursor, self.size = infer(self.grammar, self.heads, self.view(), i, j, number, children)

    def complete(self) -> bool:
        return bool(is_complete(self.grammar, self.view()))

    def agrees(self, state: State) -> bool:
        """Whether the frontier, and everything below it, equals that of a reference state."""
        pairs = list(zip(self.frontier[self.low : self.size].tolist(), state.frontier, strict=True))
        nodes = self.nodes
        while pairs:
            number, node = pairs.pop()
            item = nodes.item[number]
            at, arity = int(item["child_at"]), int(item["arity"])
            below = nodes.pool[at : at + arity].tolist()
            seen = (
                self.lexicon.symbols[item["label"]],
                int(item["start"]),
                int(item["end"]),
                int(item["head"]),
                len(below),
            )
            if seen != (node.label, node.start, node.end, node.head, len(node.children)):
                return False
            if below:
                middle = node.children.index(node.middle)
                if [item["first"], item["last"], item["middle"]] != [below[0], below[-1], below[middle]]:
                    return False
                pairs += zip(below, node.children, strict=True)
            elif (item["first"], item["last"], item["middle"]) != (-1, -1, -1):
                return False
        return True


def atom_reader(rules: Rules, lexicon: Lexicon, table: Templates, words, tags) -> AtomReader:
    """The reference implementation of atoms for words and tags as encoded by the lexicon."""
    known = [tag if tag in lexicon.tags else lexicon.unknown_tag for tag in tags]
    normal = [normal_word(word) for word in words]
    columns = {
        "word": [word if word in lexicon.words else lexicon.words[0] for word in normal],
        "tag": known,
        "class": [tag_class(tag) for tag in known],
        "shape": [word_shape(word) for word in words],
        "cluster": [cluster_of(word) for word in normal],
    }
    assert set(columns["shape"]) <= set(SHAPES)
    return AtomReader(table, rules, columns)


def cluster_of(word: str) -> str:
    """The cluster of a word as text in the format of atom names."""
    held = [words.split() for words in CLUSTERS if word in words.split()]
    return "{" + ", ".join(held[0][:3]) + ", …}" if held else "nothing"


def gold_trees(rng: random.Random, lexicon: Lexicon, sizes, most: int) -> list:
    """Random trees over random sentences, with their words."""
    trees = []
    for n in sizes:
        words, tags = sentence(rng, n)
        trees.append(with_leaves(random_gold(rng, tags, lexicon.labels.strings, most), words))
    return trees


def collecting(table: Templates, lexicon: Lexicon, bits: int = 14) -> tuple[AtomMap, np.ndarray]:
    """An AtomMap that assigns an id to every atom looked up, and the parts to name them."""
    _, n_direct = compile_templates(table, lexicon.sizes)
    atoms = AtomMap(
        np.arange(n_direct, dtype=np.int32),
        np.zeros(1 << bits, dtype=np.uint64),
        np.full(1 << bits, -1, dtype=np.int32),
        np.array([n_direct, 0, 1], dtype=np.int64),
    )
    return atoms, np.zeros((n_direct + (1 << bits), k.PARTS_WIDTH), dtype=np.int32)


def replayer(rules: Rules, lexicon: Lexicon, table: Templates, atoms: AtomMap, parts: np.ndarray) -> Replayer:
    grammar = make_grammar(rules.strategy, rules.max_arity, rules.edge_punctuation, len(lexicon.labels), table.reach())
    heads = compile_head_rules(rules.heads, lexicon.symbols)
    n_stamps = len(parts) if len(parts) else int(atoms.state[0])
    return Replayer(grammar, heads, compile_templates(table, lexicon.sizes)[0], atoms, n_stamps, parts)


def gold(lexicon: Lexicon, tree, strategy: str, seed: int = 0, weight: float = 1.0) -> Derivation:
    actions = derivation(tree, lexicon.labels, strategy, seed)
    ready = ready_steps(actions, len(tree.words), strategy)
    return Derivation(lexicon.encode(tree.words, tree.tags), actions, weight, ready=ready)


@dataclass
class HandMade:
    """A model built by hand and the same trees as nested tuples: `trees[name]`, over atoms by name."""

    model: DtreeModel
    rules: Rules
    trees: dict[str, list]
    numbers: dict[str, int]

    def scorer(self, words, tags) -> Callable[[State, tuple[int, int, str]], float]:
        """A function that scores an inference by walking the nested tuples over the reference's atoms."""
        read = atom_reader(self.rules, self.model.lexicon, self.model.templates, words, tags)
        active: dict = {}
        held: dict = {}

        def scores(state: State, action: tuple[int, int, str]) -> float:
            i, j, label = action
            if (state, action) not in held:
                window = (state, i, j, label == SHIFT)
                if window not in active:
                    found = read.atoms(state, i, j, shift=label == SHIFT)
                    active[window] = {self.numbers[name] for name in found if name in self.numbers}
                held[state, action] = score(self.trees[label], active[window]) * GRID
            return held[state, action]

        return scores


@cache
def hand_made(
    strategy: str,
    labels: tuple[str, ...] = ("NP", "VP", "TOP"),
    seed: int = 0,
    table: str = "every_kind",
    n_trees: int = 6,
    edge_punctuation: bool = True,
    max_arity: int = 3,
) -> HandMade:
    """A model of random trees over atoms that occur in random sentences."""
    rng = random.Random(seed)
    lexicon, used_table = small_lexicon(labels), templates(table)
    rules = Rules(strategy, labels, COLLINS, max_arity, edge_punctuation)
    atoms, parts = collecting(used_table, lexicon)
    runner = replayer(rules, lexicon, used_table, atoms, parts)
    seen: set[int] = set()
    for tree in gold_trees(rng, lexicon, (2, 3, 4, 5), max_arity):
        seen.update(runner.run(gold(lexicon, tree, strategy))[1].tolist())
    atoms.state[2] = 0
    pool = sorted(seen)
    rng.shuffle(pool)
    pool = pool[:80]
    trees = {
        name: [random_tree(rng, len(pool), rng.randint(1, 4)) for _ in range(n_trees)] for name in (*labels, SHIFT)
    }
    chosen = np.full(len(parts), -1, dtype=np.int32)
    chosen[pool] = np.arange(len(pool))
    ensembles = [flatten(trees[name], rng) for name in (*labels, SHIFT)]
    numbers = used_atoms(ensembles, len(pool))  # as the trainer does: only atoms that some tree tests
    chosen[pool] = numbers
    kept = parts[[atom for atom in range(len(parts)) if chosen[atom] >= 0]]
    order = np.argsort(chosen[chosen >= 0])
    model = DtreeModel(
        lexicon,
        used_table,
        COLLINS,
        strategy,
        max_arity,
        edge_punctuation,
        ("drop_repeated_unary",),
        compose(atoms, chosen),
        kept[order],
        tuple(renumber(e, numbers) for e in ensembles),
        {"seed": seed},
    )
    renumbered = {name: [_renumber(tree, numbers) for tree in trees[name]] for name in trees}
    return HandMade(model, rules, renumbered, {name: at for at, name in enumerate(atom_names(model))})


def _renumber(tree: Any, numbers: np.ndarray) -> Any:
    if isinstance(tree, int):
        return tree
    atom, yes, no = tree
    return int(numbers[atom]), _renumber(yes, numbers), _renumber(no, numbers)


__all__ = [
    "EVERY_KIND",
    "FIRST_STRATEGY",
    "GRID",
    "KERNEL_MARKS",
    "NEAR_LEFT",
    "SEQUENCES",
    "SHIFT",
    "SLOW",
    "STRATEGIES",
    "HandMade",
    "KernelState",
    "atom_reader",
    "collecting",
    "gold",
    "gold_trees",
    "hand_made",
    "replayer",
    "sentence",
    "small_lexicon",
    "spans",
    "templates",
]
