"""Change trees: Tsurgeon's operations on the matches of a pattern, repeated until it matches no more.

edit = compile_edit("NP < (PP=pp $- NP)", "prune pp")
edit.apply(tree)
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ..errors import ConfigError, EditError, PatternError, shorten
from ..trees.heads import COLLINS, HeadRules
from ..trees.tree import Tree
from .edit_state import State
from .editable import editable_nodes, finished_tree
from .forest import Forest
from .matching import Matching
from .operation_parser import names_problem, parse_operations
from .operations import Operation
from .pattern import BATCH_SIZE, Pattern, compile_pattern
from .syntax import Description, walk

MAX_CHANGES = 1000
"""Default of the maximum number of matches of one pattern that change one tree."""

_COMMENT = re.compile(r"(?<!\\)%.*")


class Edit:
    """A pattern and the operations on its matches. `pattern`: compiled; `operations`: as parsed, in their order."""

    __slots__ = ("operations", "pattern", "source")

    def __init__(self, pattern: Pattern, source: str, operations: Sequence[Operation]):
        self.pattern, self.source, self.operations = pattern, source, tuple(operations)

    def __repr__(self) -> str:
        return f"<Edit {self}>"

    def __str__(self) -> str:
        return f"'{self.pattern.source}': '{'; '.join(self.source.splitlines())}'"

    def apply(self, tree: Tree, *, rules: HeadRules = COLLINS, max_changes: int = MAX_CHANGES) -> Tree:
        """The tree after the operations: see `edit_trees`."""
        result = next(edit_results([tree], [self], rules=rules, max_changes=max_changes))
        if isinstance(result, EditError):
            raise result
        return result


def compile_edit(pattern: str | Mapping[str, Any], operations: str) -> Edit:
    """Compile a pattern and operations in Tsurgeon's language, separated by line ends, by ; or in [ ].

    Raises PatternError, which shows the location, for a malformed pattern or operation, and for a name or variable
    that neither the pattern nor an earlier operation defines.
    """
    compiled = compile_pattern(pattern)
    parsed = parse_operations(operations)
    variables: dict[str, None] = {}
    for node in walk(compiled.parsed):
        if isinstance(node.what, Description):
            variables.update(dict.fromkeys(node.what.label_variables))
            variables.update({name: None for regex in node.what.regexes for _, name in regex.groups})
    problem = names_problem(parsed, compiled.names, tuple(variables))
    if problem is not None:
        shown = shorten(str(pattern)), shorten(" ; ".join(operations.splitlines()))
        raise PatternError(f"{problem}\n  pattern: {shown[0]}\n  operations: {shown[1]}")
    return Edit(compiled, operations, parsed)


def parse_script(text: str) -> list[Edit]:
    r"""Compile a script in Tsurgeon's format: a pattern, a blank line, its operations, one on each line, a blank line,
    the next pattern, and so on. From % to the end of the line is a comment, and \% is the character.

    Raises PatternError as `compile_edit`, with the line, and for a pattern without operations.
    """
    blocks: list[tuple[int, list[str]]] = []  # line number and lines of each part between blank lines
    open_block = False
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        content = _COMMENT.sub("", line).replace("\\%", "%").rstrip()
        if content:
            if not open_block:
                blocks.append((number, []))
            blocks[-1][1].append(content)
            open_block = True
        elif not line.strip():  # a line with a comment alone does not end a part
            open_block = False
    if not blocks:
        raise PatternError("the script is empty; write a pattern, a blank line, and the operations, one on each line")
    if len(blocks) % 2:
        raise PatternError(
            f"line {blocks[-1][0]} of the script: no operations follow the pattern {blocks[-1][1][0]!r}; write a blank "
            "line after it, and then the operations, one on each line"
        )
    edits = []
    for (first, pattern), (_, operations) in zip(blocks[::2], blocks[1::2], strict=True):
        try:
            edits.append(compile_edit("\n".join(pattern), "\n".join(operations)))
        except PatternError as error:
            raise PatternError(f"in the part of the script that begins in line {first}: {error}") from None
    return edits


def edit_trees(
    trees: Iterable[Tree], edits: Sequence[Edit], *, rules: HeadRules = COLLINS, max_changes: int = MAX_CHANGES
) -> Iterator[Tree]:
    """Yield each tree after all edits, one after another. The trees given are not changed.

    An edit finds the first match of its pattern, from the root down and from left to right, carries out all its
    operations on it, and searches the new tree again, until the pattern matches no more. `rules`: head rules of the
    pattern. Raises EditError, after the trees before it, for an operation that cannot be carried out or does not give a
    tree, and if an edit goes round in circles or changes a tree more than `max_changes` times; ConfigError if that is
    not at least 1.
    """
    for number, result in enumerate(edit_results(trees, edits, rules=rules, max_changes=max_changes), 1):
        if isinstance(result, EditError):
            raise EditError(f"tree {number}: {result}") from None
        yield result


def edit_results(
    trees: Iterable[Tree],
    edits: Sequence[Edit],
    *,
    rules: HeadRules = COLLINS,
    max_changes: int = MAX_CHANGES,
    batch_size: int = BATCH_SIZE,
) -> Iterator[Tree | EditError]:
    """As `edit_trees`, but the error of a tree stands in its place, and the trees after it follow."""
    if max_changes < 1:
        raise ConfigError(f"max_changes={max_changes}; give at least 1")
    rest = iter(trees)
    while batch := list(islice(rest, batch_size)):
        results: list[Tree | EditError] = list(batch)
        for edit in edits:
            _edit_batch(edit, results, rules, max_changes)
        yield from results


def _edit_batch(edit: Edit, results: list[Tree | EditError], rules: HeadRules, max_changes: int) -> None:
    """Apply an edit to all trees of a list that have no error, in rounds: one match of each tree in a round."""
    active = [k for k, result in enumerate(results) if isinstance(result, Tree)]
    seen: dict[int, set[int]] = {k: set() for k in active}  # hashes: a thousand large trees would take a gigabyte
    for change in range(max_changes + 1):
        trees = [results[k] for k in active]
        forest = Forest([tree for tree in trees if isinstance(tree, Tree)], rules)
        found = Matching(forest).first_ways(edit.pattern.parsed)
        changed = []
        for place, (x, names) in found.items():
            k, tree = active[place], forest.trees[place]
            if change == max_changes:
                results[k] = EditError(
                    f"{edit} changed it {max_changes} times, and the pattern still matches; if that does not go on "
                    "without end, allow a larger max_changes"
                )
                continue
            seen[k].add(hash(tree))
            try:
                results[k] = new = _apply(edit, tree, int(forest.roots[place]), x, names)
            except EditError as error:
                results[k] = error
                continue
            if hash(new) in seen[k]:
                same = "does not change it" if new == tree else "changes it back and forth"
                results[k] = EditError(
                    f"{edit} {same}, and the pattern still matches, so this would never end; let the pattern exclude "
                    "the result"
                )
                continue
            changed.append(k)
        active = changed
        if not active:
            return


def _apply(edit: Edit, tree: Tree, first: int, x: int, names: Mapping[str, Any]) -> Tree:
    """Carry out the operations on one match. `first`: the node of the forest that is the root of the tree."""
    nodes = editable_nodes(tree)
    state = State(
        nodes[0],
        {name: nodes[node - first] for name, node in names.items() if name[0] != "%"},
        {name[1:]: text for name, text in names.items() if name[0] == "%"},
    )
    try:
        for operation in edit.operations:
            operation.apply(state)
        return finished_tree(state.root)
    except EditError as error:
        raise EditError(f"{edit}, at {nodes[x - first].label!r}: {error}") from None
