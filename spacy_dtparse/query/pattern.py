"""Compiled patterns and their matches."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ..checks import short_repr
from ..errors import PatternError
from ..trees.bracket_writer import write_leaf, write_tree
from ..trees.heads import COLLINS, HeadRules
from ..trees.tree import Tree
from .dicts import parse_dict
from .forest import Forest, Node, Nodes
from .limits import SearchLimits
from .matching import Matching
from .parser import parse_pattern
from .syntax import NodePattern, names_of

BATCH_SIZE = 4000
"""Number of trees that are searched at once: enough for numpy, and few enough for memory."""


class Match(NamedTuple):
    """A node that matches, and the nodes that the pattern's names stand for."""

    node: Node
    names: dict[str, Node]

    def __repr__(self) -> str:
        nodes = {"": self.node, **self.names}
        shown = (f"{name}{'=' if name else ''}{node.label}[{node.start}:{node.end}]" for name, node in nodes.items())
        return f"<Match in tree {self.node.tree}: {', '.join(shown)}>"


class Pattern:
    """A compiled pattern. `source`: the pattern as given; `names`: the names of its nodes, in order."""

    __slots__ = ("names", "parsed", "source")

    def __init__(self, source: str | Mapping[str, Any], parsed: NodePattern):
        self.source, self.parsed = source, parsed
        self.names = names_of(parsed)

    def __repr__(self) -> str:
        return f"<Pattern {self.source!r}>"

    def matches(
        self, tree: Tree, rules: HeadRules = COLLINS, *, max_matches: int | None = None, timeout: float | None = None
    ) -> list[Match]:
        """The matches in one tree: see `search`."""
        return list(self.search([tree], rules, max_matches=max_matches, timeout=timeout))

    def search(
        self,
        trees: Iterable[Tree] | Forest,
        rules: HeadRules = COLLINS,
        *,
        max_matches: int | None = None,
        timeout: float | None = None,
    ) -> Iterator[Match]:
        """Yield the matches in trees, in order; a node that matches is yielded once per assignment of the names.

        `rules`: head rules. Trees are read some thousands at a time; a `Forest` is searched as it is, with its rules,
        which saves time if many patterns are searched for. `max_matches`, `timeout`: of each tree (of the whole Forest,
        if one is given), for patterns of strangers; None is no limit. Raises PatternError for an attribute of tokens
        that trees do not have, SearchLimitError after the matches before the limit, ConfigError for other limits.
        """
        first = 0
        limits = SearchLimits(max_matches, timeout)
        batch_size = 1 if limits else BATCH_SIZE
        for forest in [trees] if isinstance(trees, Forest) else forests(trees, rules, batch_size):
            for x, names in Matching(forest, limits).ways(self.parsed):
                node = forest.node(x)._replace(tree=int(forest.tree_of[x]) + first)
                named = {name: forest.node(y)._replace(tree=node.tree) for name, y in names.items()}
                yield Match(node, named)
            first += len(forest.trees)

    def nodes(self, forest: Forest) -> Nodes:
        """The indices of the nodes of a forest that match, ascending; `forest.node` gives the details of one."""
        return Matching(forest).nodes(self.parsed)


def compile_pattern(source: str | Mapping[str, Any]) -> Pattern:
    """Compile a pattern from its text (Tregex) or from dicts. Raises PatternError, which shows the location."""
    if isinstance(source, str):
        return Pattern(source, parse_pattern(source))
    if isinstance(source, Mapping):
        return Pattern(source, parse_dict(source))
    raise PatternError(
        f"a pattern is {short_repr(source)}; give a text, such as 'NP < NN', or a dict, such as {{'LABEL': 'NP'}}"
    )


def forests(trees: Iterable[Tree], rules: HeadRules = COLLINS, batch_size: int = BATCH_SIZE) -> Iterator[Forest]:
    """Yield the trees as forests of `batch_size` trees each."""
    rest = iter(trees)
    while batch := list(islice(rest, batch_size)):
        yield Forest(batch, rules)


def write_node(tree: Tree, node: Node) -> str:
    """Format the subtree at a node in Penn brackets; a word alone."""
    if node.kind != "constituent":
        leaf = write_leaf(tree, node.number)
        return leaf if node.kind == "tag" else leaf[1:-1].partition(" ")[2]
    k, start, end = node.number, node.start, node.end
    last = next((j for j in range(k + 1, len(tree.labels)) if tree.starts[j] >= end), len(tree.labels))
    starts, ends = ([token - start for token in tokens[k:last]] for tokens in (tree.starts, tree.ends))
    return write_tree(Tree.unchecked(tree.words[start:end], tree.tags[start:end], tree.labels[k:last], starts, ends))
