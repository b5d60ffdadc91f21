"""A tree that operations change: linked nodes, read from a `Tree` and turned back into one."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import EditError
from ..trees.tree import Tree


class EditNode:
    """A node of a tree under change: its label, its children (none for a word), and its parent (None for a root)."""

    __slots__ = ("children", "is_word", "label", "parent")

    def __init__(self, label: str, is_word: bool = False):
        self.label, self.is_word = label, is_word
        self.children: list[EditNode] = []
        self.parent: EditNode | None = None

    def __repr__(self) -> str:
        return f"<EditNode {self.label!r}>"

    def index(self) -> int:
        """Its position among the children of its parent, from 0."""
        assert self.parent is not None
        return next(k for k, child in enumerate(self.parent.children) if child is self)

    def insert(self, index: int, child: EditNode) -> None:
        """Make `child`, which has no parent, the child with this index."""
        self.children.insert(index, child)
        child.parent = self

    def detach(self) -> None:
        """Remove it, with all below it, from its parent."""
        if self.parent is not None:
            del self.parent.children[self.index()]
            self.parent = None

    def replace(self, nodes: list[EditNode]) -> None:
        """Put nodes without a parent where it stands, and detach it."""
        parent, index = self.parent, self.index()
        assert parent is not None
        self.detach()
        for shift, node in enumerate(nodes):
            parent.insert(index + shift, node)

    def take_children(self, other: EditNode) -> None:
        """Make the children of `other` its only children."""
        self.children, other.children = other.children, []
        self.is_word = other.is_word
        for child in self.children:
            child.parent = self

    def nodes(self) -> Iterator[EditNode]:
        """Yield it and all nodes below it, in pre-order."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))

    def copy(self) -> tuple[EditNode, dict[EditNode, EditNode]]:
        """A copy with all below it and without a parent, and the copy of each node."""
        copies: dict[EditNode, EditNode] = {}
        for node in self.nodes():  # a parent comes before its children
            copies[node] = twin = EditNode(node.label, node.is_word)
            if node is not self:
                above = copies[node.parent]  # type: ignore[index]
                above.insert(len(above.children), twin)
        return copies[self], copies

    def is_in(self, root: EditNode) -> bool:
        """Whether it is `root` or below it."""
        node: EditNode | None = self
        while node is not None and node is not root:
            node = node.parent
        return node is root


def editable_nodes(tree: Tree) -> list[EditNode]:
    """The nodes of a tree in pre-order: constituents, tags and words, as in `Forest`; the first is the root."""
    child_lists = tree.child_lists()
    nodes: list[EditNode] = []
    todo: list[tuple[int, EditNode | None]] = [(0, None)]
    while todo:
        k, parent = todo.pop()
        if k < 0:
            node, word = EditNode(tree.tags[~k]), EditNode(tree.words[~k], True)
            node.insert(0, word)
            nodes += (node, word)
        else:
            node = EditNode(tree.labels[k])
            nodes.append(node)
            todo.extend((child, node) for child in reversed(child_lists[k]))
        if parent is not None:
            parent.insert(len(parent.children), node)
    return nodes


def finished_tree(root: EditNode) -> Tree:
    """The `Tree` of an editable one. Raises EditError if it is none: a constituent or a tag has no word, a word has no
    tag of its own or has children, a label is empty, the root is a tag or a word."""
    words: list[str] = []
    tags: list[str] = []
    labels: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    todo: list[tuple[EditNode | None, int]] = [(root, 0)]
    while todo:
        node, number = todo.pop()
        if node is None:
            ends[number] = len(words)
            continue
        children = node.children
        if not node.label and node is not root:
            raise EditError("a node has an empty label; relabel it with at least one character")
        if node.is_word:
            if node is root or node.children:
                raise EditError(
                    f"the word {node.label!r} {'is the root' if node is root else 'has children'}; a word stands "
                    "alone below its tag, (TAG word)"
                )
            words.append(node.label)
        elif not children:
            raise EditError(
                f"{node.label!r} has no word left below it; use prune, which also removes the nodes above that become "
                "empty, or remove this node too"
            )
        elif any(child.is_word for child in children):
            if len(children) > 1:
                named = next(child for child in children if child.is_word)
                raise EditError(
                    f"the word {named.label!r} stands next to other nodes below {node.label!r}; a word stands alone "
                    "below its tag: insert (TAG word)"
                )
            if node is root:
                raise EditError(
                    f"the root would be the tag {node.label!r}; a tree has a constituent above its tags, so keep one"
                )
            tags.append(node.label)
            todo.append((children[0], 0))
        else:
            labels.append(node.label)
            starts.append(len(words))
            ends.append(-1)
            todo.append((None, len(labels) - 1))
            todo.extend((child, 0) for child in reversed(children))
    return Tree.unchecked(words, tags, labels, starts, ends)
