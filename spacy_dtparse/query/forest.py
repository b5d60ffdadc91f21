"""Many trees as one table of nodes in pre-order, including tags and words, for searching with patterns.

Node x and all that it dominates are the nodes [x, stops[x]), so dominance is an interval test; the nodes of a label
come from an index. Tags are above words: (NN dog) is a node NN whose only child is a node dog.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dtypes import INDEX
from ..errors import PatternError
from ..symbols import IdMap
from ..trees.heads import COLLINS, HeadRules
from ..trees.labels import base_label
from ..trees.tree import Tree
from .syntax import TREE_ATTRIBUTES

Nodes = npt.NDArray[Any]
"""Indices of nodes, ascending, each once; int64, which numpy uses for indexing."""
Mask = npt.NDArray[np.bool_]

CONSTITUENT, TAG, WORD = 0, 1, 2
KINDS = ("constituent", "tag", "word")


class Node(NamedTuple):
    """A node of a tree. `tree`: index of the tree among those searched; `kind`: one of KINDS; `number`: index of the
    constituent, or of the token; [`start`, `end`): its tokens."""

    tree: int
    kind: str
    number: int
    start: int
    end: int
    label: str

    def __repr__(self) -> str:
        return f"<Node {self.label!r}: {self.kind}, tokens {self.start} to {self.end} of tree {self.tree}>"


class Order:
    """Some of the n nodes in an order: `nodes`, and back the `places` of all, -1 for those that are not in it.

    `counts`: of orders by token, the number of nodes before each token, and of all.
    """

    def __init__(self, nodes: Nodes, n: int, counts: Nodes | None = None):
        self.nodes = nodes
        self.places = np.full(n, -1, dtype=INDEX)
        self.places[nodes] = np.arange(len(nodes))
        self.counts = nodes[:0] if counts is None else counts


class Forest:
    """The n nodes of `trees` in pre-order, in columns of n int32.

    `symbols`: index of the label in `texts` (and back in `label_ids`); `parents`: -1 at a root; `stops`: one past the
    last node below; `starts`, `ends`: tokens, counted through all trees; `kinds`; `tree_of`. `words_at`: the node of
    each token's word; `roots`: the first node of each tree, and n. `rules`: head rules of all trees, or of each; they
    are read when heads are first needed. `token_values`: returns the values of an attribute for all tokens, instead of
    those stored in trees.
    """

    def __init__(
        self,
        trees: Iterable[Tree],
        rules: HeadRules | Iterable[HeadRules] = COLLINS,
        token_values: Callable[[str], Sequence[Any]] | None = None,
    ):
        self.trees = trees = tuple(trees)
        self._rules = repeat(rules) if isinstance(rules, HeadRules) else rules
        self._token_values = token_values
        lengths = np.array([len(tree.words) for tree in trees], dtype=np.int64)
        sizes = np.array([len(tree.labels) for tree in trees], dtype=np.int64)
        self.first_tokens = np.concatenate([[0], np.cumsum(lengths)])
        self.first_constituents = np.concatenate([[0], np.cumsum(sizes)])
        n_tokens, m = int(self.first_tokens[-1]), int(self.first_constituents[-1])
        self.n = n = 2 * n_tokens + m
        shift = np.repeat(self.first_tokens[:-1], sizes)
        starts = np.fromiter(chain.from_iterable(tree.starts for tree in trees), np.int64, m) + shift
        ends = np.fromiter(chain.from_iterable(tree.ends for tree in trees), np.int64, m) + shift
        tokens = np.arange(n_tokens)
        closed = np.sort(ends)
        opened_at = np.searchsorted(starts, tokens, "right")
        at = np.arange(m) + 2 * starts  # two nodes for each token before a constituent
        tags_at = 2 * tokens + opened_at
        self.words_at = words_at = tags_at + 1
        self.constituents_at = at
        self.roots = np.concatenate([at[self.first_constituents[:-1]], [n]]) if m else np.zeros(1, np.int64)
        self.label_ids: IdMap[str] = IdMap()
        label_ids = self.label_ids
        self.symbols = _column(n, at, [label_ids[text] for tree in trees for text in tree.labels])
        self.symbols[tags_at] = [label_ids[text] for tree in trees for text in tree.tags]
        self.symbols[words_at] = [label_ids[text] for tree in trees for text in tree.words]
        self.texts = tuple(label_ids)
        self.starts = _column(n, at, starts)
        self.ends = _column(n, at, ends)
        self.stops = _column(n, at, words_at[ends - 1] + 1)
        self.kinds = np.zeros(n, dtype=np.int8)
        for kind, positions in ((TAG, tags_at), (WORD, words_at)):
            self.starts[positions], self.ends[positions], self.kinds[positions] = tokens, tokens + 1, kind
            self.stops[positions] = words_at + 1
        depths = _column(n, at, np.arange(m) - np.searchsorted(closed, starts, "right"))
        depths[tags_at] = opened_at - np.searchsorted(closed, tokens, "right")
        depths[words_at] = depths[tags_at] + 1
        self._level_order = np.argsort(depths, kind="stable")
        self.parents = _parents(depths, self._level_order)
        self.tree_of = np.repeat(np.arange(len(trees), dtype=INDEX), np.diff(self.roots))
        self._cache: dict[Any, Nodes] = {}

    def __len__(self) -> int:
        """The number of nodes."""
        return self.n

    @cached_property
    def basic_texts(self) -> tuple[str, ...]:
        """The labels without function tags."""
        return tuple(map(base_label, self.texts))

    @cached_property
    def all(self) -> Nodes:
        """All nodes."""
        return np.arange(self.n)

    @cached_property
    def levels(self) -> Order:
        """All nodes by depth, so that sisters follow one another."""
        return Order(self._level_order, self.n)

    @cached_property
    def words(self) -> Order:
        """The words; in pre-order, the nodes that begin at token i end with word i."""
        return Order(self.words_at, self.n, np.concatenate([[0], self.words_at + 1, [self.n]]))

    @cached_property
    def by_end(self) -> Order:
        """All nodes by last token, those with the same one from the highest down to the word."""
        return self._by_token(self.ends - 1)

    @cached_property
    def by_head(self) -> Order:
        """All nodes by head token, those with the same one from the highest down to the word."""
        return self._by_token(self.head_tokens)

    def _by_token(self, tokens: Nodes) -> Order:
        counts = np.concatenate([[0], np.cumsum(np.bincount(tokens))])
        return Order(np.argsort(tokens, kind="stable"), self.n, counts)

    @cached_property
    def first_children(self) -> Nodes:
        """The place of the first child of each node in `levels`; that of some other node for words."""
        return self.levels.places[np.minimum(self.all + 1, self.n - 1)]

    @cached_property
    def n_children(self) -> Nodes:
        """The number of children."""
        return np.bincount(self.parents[self.parents >= 0], minlength=self.n).astype(INDEX)

    @cached_property
    def ranks(self) -> Nodes:
        """Position of a node among the children of its parent, from 1; 0 for a root."""
        return np.where(self.parents < 0, 0, self.levels.places - self.first_children[self.parents] + 1)

    @cached_property
    def chain_tops(self) -> Nodes:
        """The highest node of the chain of only children that a node ends or is in."""
        begins = np.ones(self.n, dtype=bool)
        begins[1:] = self.n_children[:-1] != 1
        return np.maximum.accumulate(np.where(begins, self.all, 0)).astype(INDEX)

    @cached_property
    def chain_ends(self) -> Nodes:
        """The lowest node of the chain of only children that a node begins or is in."""
        ends = np.where(self.n_children != 1, self.all, self.n)
        return np.minimum.accumulate(ends[::-1])[::-1].astype(INDEX)

    @cached_property
    def head_tokens(self) -> Nodes:
        """The head token of each node; nodes with the same one are a path from the highest down to the word."""
        found = self.starts.copy()
        heads = [
            np.array(rules.heads(tree)) + first
            for tree, first, rules in zip(self.trees, self.first_tokens, self._rules, strict=False)
        ]
        if heads:
            found[self.constituents_at] = np.concatenate(heads)
        return found

    @cached_property
    def _by_symbol(self) -> tuple[Nodes, Nodes]:
        """The nodes sorted by label, and the offset of each label's nodes."""
        order = np.argsort(self.symbols, kind="stable")
        return order, np.searchsorted(self.symbols[order], np.arange(len(self.texts) + 1))

    def with_labels(self, wanted: Sequence[int]) -> Nodes:
        """The nodes that have one of these labels, given as ascending indices."""
        order, first = self._by_symbol
        if 4 * len(wanted) > len(self.texts):
            chosen = np.zeros(len(self.texts) + 1, dtype=bool)
            chosen[list(wanted)] = True
            return np.flatnonzero(chosen[self.symbols])
        parts = [order[first[label] : first[label + 1]] for label in wanted]
        if len(parts) < 2:
            return parts[0] if parts else self.all[:0]
        return np.sort(np.concatenate(parts))

    def cached_nodes(self, key: Any, find: Callable[[], Nodes]) -> Nodes:
        """The cached result of `find` for a description; a few hundred are cached."""
        if key not in self._cache:
            if len(self._cache) >= 256:
                self._cache.clear()
            self._cache[key] = find()
        return self._cache[key]

    def token_values(self, attribute: str) -> Sequence[Any]:
        """The attribute of every token. Raises PatternError for one that trees do not have."""
        if self._token_values is not None:
            return self._token_values(attribute)
        words = [word for tree in self.trees for word in tree.words]
        if attribute in ("TEXT", "ORTH"):
            return words
        if attribute == "LOWER":
            return [word.lower() for word in words]
        if attribute == "LENGTH":
            return [len(word) for word in words]
        if attribute == "TAG":
            return [tag for tree in self.trees for tag in tree.tags]
        raise PatternError(
            f"TOKEN tests {attribute}, which trees do not have; they have {', '.join(TREE_ATTRIBUTES)}. Search a "
            "Doc with ConstituentMatcher instead; spaCy's components set the others"
        )

    def node(self, x: int) -> Node:
        """Node x as a `Node`."""
        tree, kind = int(self.tree_of[x]), int(self.kinds[x])
        first = int(self.first_tokens[tree])
        start, end = int(self.starts[x]) - first, int(self.ends[x]) - first
        number = start if kind else int(x - 2 * self.starts[x] - self.first_constituents[tree])
        return Node(tree, KINDS[kind], number, start, end, self.texts[self.symbols[x]])


def _column(n: int, positions: Nodes, values: Any) -> Nodes:
    """n int32 with values at some positions."""
    column = np.zeros(n, dtype=INDEX)
    column[positions] = values
    return column


def _parents(depths: Nodes, order: Nodes) -> Nodes:
    """The parents of nodes in pre-order, from their depths and the order by them: the nearest earlier node that is one
    level higher."""
    n = len(depths)
    keys = depths[order].astype(np.int64) * n + order
    wanted = keys - n
    above = np.searchsorted(keys, wanted) - 1
    parents = np.full(n, -1, dtype=INDEX)
    inner = depths[order] > 0
    parents[order[inner]] = order[above[inner]]
    return parents
