"""Tsurgeon's operations on the nodes that a pattern names: `delete`, `prune`, `excise`, `relabel`, `insert`, `move`,
`replace`, `adjoin`, `adjoinF`, `adjoinH`, `coindex`, `createSubtree`, `if exists`. `operation_parser` reads them.

They change a `State`. An operation that cannot be carried out raises EditError.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import EditError
from .edit_state import MAX_LABEL, Position, State, Template


@dataclass(frozen=True)
class Operation(ABC):
    """Base of operations."""

    @property
    @abstractmethod
    def needed_names(self) -> Iterator[str]:
        """The names that the pattern, or an operation before it, must give."""

    @property
    def new_names(self) -> Iterator[str]:
        """The names of the nodes that it inserts."""
        return iter(())

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the pattern that it needs."""
        return ()

    @abstractmethod
    def apply(self, state: State) -> None:
        """Change the tree. Raises EditError."""


@dataclass(frozen=True)
class _OfNames(Operation):
    names: tuple[str, ...]

    @property
    def needed_names(self) -> Iterator[str]:
        return iter(self.names)


class Delete(_OfNames):
    """Remove each named node and all below it."""

    def apply(self, state: State) -> None:
        for name in self.names:
            if state.is_present(state.get_node(name)):  # else it was below one that is removed
                state.get_inner(name, "delete").detach()


class Prune(_OfNames):
    """Remove each named node and all below it, and the nodes above it that lose their last child."""

    def apply(self, state: State) -> None:
        for name in self.names:
            node = state.get_node(name)
            if not state.is_present(node):
                continue
            while node.parent is not None and len(node.parent.children) == 1:
                node = node.parent
            if node is state.root:
                raise EditError(f"prune {name}: no word would be left in the tree; a tree needs one")
            node.detach()


@dataclass(frozen=True)
class Excise(Operation):
    """Remove the nodes from `top` down to `bottom`; the children of `bottom` stand where `top` stood."""

    top: str
    bottom: str

    @property
    def needed_names(self) -> Iterator[str]:
        return iter((self.top, self.bottom))

    def apply(self, state: State) -> None:
        top, bottom = state.get_present(self.top), state.get_present(self.bottom)
        if not bottom.is_in(top):
            raise EditError(
                f"excise {self.top} {self.bottom}: {top.label!r} is neither {bottom.label!r} itself nor above it"
            )
        children = list(bottom.children)
        if top is state.root and len(children) != 1:
            raise EditError(
                f"excise {self.top} {self.bottom}: {top.label!r} is the root, and {len(children)} nodes would be in "
                "its place; a tree has one root"
            )
        for child in children:
            child.detach()
        if top is state.root:
            state.root = children[0]
        else:
            top.replace(children)


@dataclass(frozen=True)
class Relabel(Operation):
    """Give a node a label. With `regex`, each of its matches in the old label is replaced by the new one's parts: a
    string, a group of the regex (a number), the label of a node (=name) or the string of a variable (%name)."""

    name: str
    parts: tuple[str | int, ...]
    regex: str | None = None

    @property
    def needed_names(self) -> Iterator[str]:
        yield self.name
        yield from (part[1:] for part in self.parts if isinstance(part, str) and part[:1] == "=")

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(part[1:] for part in self.parts if isinstance(part, str) and part[:1] == "%")

    def apply(self, state: State) -> None:
        node = state.get_present(self.name)
        if self.regex is None:
            node.label = self._text(state, None)
        else:
            node.label = re.sub(self.regex, lambda match: self._text(state, match), node.label)
        if not node.label:
            raise EditError(f"relabel {self.name}: the new label is empty; give at least one character")
        if len(node.label) > MAX_LABEL:
            raise EditError(f"relabel {self.name}: the new label has more than {MAX_LABEL:,} characters")

    def _text(self, state: State, match: re.Match[str] | None) -> str:
        found = []
        for part in self.parts:
            if isinstance(part, int):
                assert match is not None
                found.append(match[part] or "")
            elif part[0] == "=":
                found.append(state.get_node(part[1:]).label)
            elif part[0] == "%":
                if part[1:] not in state.variables:
                    raise EditError(f"relabel {self.name}: the variable {part} has no string in this match")
                found.append(state.variables[part[1:]])
            else:
                found.append(part[1:])  # the text, after a quote
        return "".join(found)


@dataclass(frozen=True)
class _WithTemplates(Operation):
    templates: tuple[Template, ...]

    @property
    def new_names(self) -> Iterator[str]:
        return (name for template in self.templates for name, _ in template.names)


@dataclass(frozen=True)
class Insert(_WithTemplates):
    """Insert a template, or a copy of a named node, at a position."""

    source: str | None
    position: Position

    @property
    def needed_names(self) -> Iterator[str]:
        return iter((self.position.name,) if self.source is None else (self.source, self.position.name))

    def apply(self, state: State) -> None:
        parent, index = self.position.find(state)
        node = self.templates[0].copy(state)[0] if self.source is None else state.copy_node(self.source)
        parent.insert(index, node)


@dataclass(frozen=True)
class Move(Operation):
    """Move a node, with all below it, to a position, which is counted without it."""

    name: str
    position: Position

    @property
    def needed_names(self) -> Iterator[str]:
        return iter((self.name, self.position.name))

    def apply(self, state: State) -> None:
        node = state.get_inner(self.name, "move")
        if state.get_present(self.position.name).is_in(node):
            raise EditError(
                f"move {self.name}: the position is at {self.position.name}, which is {node.label!r} itself or below it"
            )
        node.detach()
        parent, index = self.position.find(state)
        parent.insert(index, node)


@dataclass(frozen=True)
class Replace(_WithTemplates):
    """Put templates, or a copy of a named node, in the place of a node."""

    name: str
    source: str | None

    @property
    def needed_names(self) -> Iterator[str]:
        return iter((self.name,) if self.source is None else (self.name, self.source))

    def apply(self, state: State) -> None:
        old = state.get_present(self.name)
        if self.source is not None:
            new = [state.copy_node(self.source)]
        else:
            new = [template.copy(state)[0] for template in self.templates]
        if old is not state.root:
            old.replace(new)
        elif len(new) == 1:
            state.root = new[0]
        else:
            raise EditError(f"replace {self.name}: {old.label!r} is the root; give one tree to replace it")


@dataclass(frozen=True)
class Adjoin(_WithTemplates):
    """Adjoin a template to a node. `kept`: "" if the template takes its place and the foot its children; "F" if the
    node becomes the foot; "H" if it becomes the root, and the foot takes its children."""

    name: str
    kept: str = ""

    @property
    def needed_names(self) -> Iterator[str]:
        return iter((self.name,))

    def apply(self, state: State) -> None:
        node = state.get_present(self.name)
        root, foot = self.templates[0].copy(state)
        assert foot is not None  # the parser of operations requires one
        if self.kept == "F":
            state.put(node, root)
            if foot is root:
                state.put(root, node)
            else:
                foot.replace([node])
            foot_takes_place = [name for name, known in state.names.items() if known is foot]
            state.names.update(dict.fromkeys(foot_takes_place, node))
            return
        if self.kept == "H":
            if foot is not root:
                foot.take_children(node)
                node.take_children(root)
            root_takes_place = [name for name, known in state.names.items() if known is root]
            state.names.update(dict.fromkeys(root_takes_place, node))
            return
        foot.take_children(node)
        state.put(node, root)


@dataclass(frozen=True)
class CreateSubtree(_WithTemplates):
    """Put a node above the sisters from `first` to `last`: a label, or the foot of a template."""

    first: str
    last: str

    @property
    def needed_names(self) -> Iterator[str]:
        return iter((self.first, self.last))

    def apply(self, state: State) -> None:
        command = "createSubtree " + " ".join(dict.fromkeys((self.first, self.last)))
        first, last = state.get_inner(self.first, "createSubtree"), state.get_inner(self.last, "createSubtree")
        parent = first.parent
        if parent is not last.parent or parent is None:
            raise EditError(f"{command}: {first.label!r} and {last.label!r} have different parents; name two sisters")
        low, high = sorted((first.index(), last.index()))
        covered = parent.children[low : high + 1]
        for node in covered:
            node.detach()
        root, foot = self.templates[0].copy(state)
        assert foot is not None
        for node in covered:
            foot.insert(len(foot.children), node)
        parent.insert(low, root)


class Coindex(_OfNames):
    """Append an index to the labels of the named nodes: -N, where no label of the tree has N yet."""

    def apply(self, state: State) -> None:
        index = state.next_index()
        for name in self.names:
            state.get_present(name).label += f"-{index}"


@dataclass(frozen=True)
class IfExists(Operation):
    """Carry out an operation if a name has a node in the match, or, `negated`, if it has none."""

    name: str
    negated: bool
    operation: Operation

    @property
    def needed_names(self) -> Iterator[str]:
        return iter((self.name, *self.operation.needed_names))

    @property
    def new_names(self) -> Iterator[str]:
        return self.operation.new_names

    @property
    def variables(self) -> tuple[str, ...]:
        return self.operation.variables

    def apply(self, state: State) -> None:
        if (self.name in state.names) != self.negated:
            self.operation.apply(state)
