"""The tree and the named nodes while operations change them, the trees that they insert, and positions."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import EditError
from .editable import EditNode

MAX_NODES = 500_000
"""Maximum number of nodes of a tree to which operations add copies of its own nodes: a few dozen such copies could
double it each time."""
MAX_LABEL = 10_000
"""Maximum length of a label that an operation makes."""


class State:
    """A tree while the operations of one match change it.

    `names`: the nodes that have names in the match, and those that operations insert with names; `variables`: the
    strings of the pattern's variables, `#1%x`.
    """

    def __init__(self, root: EditNode, names: dict[str, EditNode], variables: dict[str, str]):
        self.root, self.names, self.variables = root, names, variables
        self._last_index: int | None = None
        self._n_nodes: int | None = None

    def next_index(self) -> int:
        """A number that no label or word of the tree has as index, NP-1."""
        if self._last_index is None:
            found = [re.fullmatch(r".+?-([0-9]+)", node.label, re.DOTALL) for node in self.root.nodes()]
            self._last_index = max((int(match[1]) for match in found if match), default=0)
        self._last_index += 1
        return self._last_index

    def get_node(self, name: str) -> EditNode:
        """The node that has a name, also if it is no longer in the tree. Raises EditError if none has it."""
        node = self.names.get(name)
        if node is None:
            raise EditError(
                f"no node has the name {name!r} in this match, where the pattern's part with this name does not apply; "
                f"write `if exists {name} OPERATION`"
            )
        return node

    def copy_node(self, name: str) -> EditNode:
        """A copy of the node that has a name. Raises EditError if the tree would have more than MAX_NODES nodes."""
        if self._n_nodes is None:
            self._n_nodes = sum(1 for _ in self.root.nodes())
        twin, copies = self.get_node(name).copy()
        self._n_nodes += len(copies)
        if self._n_nodes > MAX_NODES:
            raise EditError(
                f"with another copy of {name} ({len(copies):,} nodes) the tree would have {self._n_nodes:,} nodes; "
                f"copies may not make it larger than {MAX_NODES:,}: let the pattern exclude the result"
            )
        return twin

    def is_present(self, node: EditNode) -> bool:
        """Whether a node is in the tree."""
        return node.is_in(self.root)

    def get_present(self, name: str) -> EditNode:
        """The node of the tree that has a name. Raises EditError if there is none, or an earlier operation removed
        it."""
        node = self.get_node(name)
        if not self.is_present(node):
            raise EditError(f"{name} ({node.label!r}) is not in the tree any more: an earlier operation removed it")
        return node

    def get_inner(self, name: str, operation: str) -> EditNode:
        """The node of the tree that has a name, unless it is the root, which `operation` cannot change."""
        node = self.get_present(name)
        if node is self.root:
            raise EditError(f"{operation} {name}: {node.label!r} is the root of the tree, and a tree needs its root")
        return node

    def put(self, old: EditNode, new: EditNode) -> None:
        """Put a node without a parent in the place of one of the tree, which may be the root."""
        if old is self.root:
            self.root = new
        else:
            old.replace([new])


@dataclass(frozen=True)
class Template:
    """A tree that operations insert: `(NP=name (DT the) NN@)`. `root`: its nodes, of which copies are inserted;
    `names`: those with a name; `foot`: the one marked by @, which gets the children or the place of another node."""

    root: EditNode
    names: tuple[tuple[str, EditNode], ...] = ()
    foot: EditNode | None = None

    def copy(self, state: State) -> tuple[EditNode, EditNode | None]:
        """A copy of its root and of its foot; names stand for the nodes of the copy from now on."""
        root, copies = self.root.copy()
        state.names.update({name: copies[node] for name, node in self.names})
        return root, None if self.foot is None else copies[self.foot]


class Position(NamedTuple):
    """A place in the tree. `relation`: "$+" directly before the named node, "$-" directly after it, ">" among its
    children, as number `number`, from 1, or from -1 at the end."""

    relation: str
    name: str
    number: int = 0

    def find(self, state: State) -> tuple[EditNode, int]:
        """The parent and the index that a node gets there. Raises EditError if there is no such place."""
        if self.relation != ">":
            node = state.get_present(self.name)
            if node.parent is None:
                raise EditError(f"{self.relation} {self.name}: {node.label!r} is the root, which has no sisters")
            return node.parent, node.index() + (self.relation == "$-")
        parent = state.get_present(self.name)
        count = len(parent.children)
        index = self.number - 1 if self.number > 0 else count + self.number + 1
        if not 0 <= index <= count:
            raise EditError(
                f">{self.number} {self.name}: {parent.label!r} has {count} children, so the number is between 1 and "
                f"{count + 1}, or between -1 and {-count - 1}"
            )
        if parent.is_word:
            raise EditError(f">{self.number} {self.name}: {parent.label!r} is a word, which has no children")
        return parent, index
