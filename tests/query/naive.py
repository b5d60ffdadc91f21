"""Reference implementation of the relations: each decided for two nodes by definition, by paths from the root."""

from __future__ import annotations

from spacy_dtparse.trees.heads import COLLINS
from spacy_dtparse.trees.tree import Tree

Path = tuple[int, ...]


class NaiveTree:
    """A tree as paths: () is the root, (0, 1) the second child of its first child; tags and words are nodes."""

    def __init__(self, tree: Tree):
        self.labels: dict[Path, str] = {}
        self.leaves: list[Path] = []
        self._add((), tree, 0, tree.child_lists())

    def _add(self, path: Path, tree: Tree, child: int, lists: list[list[int]]) -> None:
        if child < 0:
            self.labels[path], self.labels[(*path, 0)] = tree.tags[~child], tree.words[~child]
            self.leaves.append((*path, 0))
            return
        self.labels[path] = tree.labels[child]
        for place, inner in enumerate(lists[child]):
            self._add((*path, place), tree, inner, lists)

    def children(self, a: Path) -> list[Path]:
        return sorted(path for path in self.labels if path[:-1] == a and path)

    def head(self, a: Path) -> Path | None:
        children = self.children(a)
        if len(children) < 2:
            return children[0] if children else None
        return children[COLLINS.head_child(self.labels[a], [self.labels[child] for child in children])]

    def yields(self, a: Path) -> list[int]:
        return [k for k, leaf in enumerate(self.leaves) if leaf[: len(a)] == a]

    def heads(self, a: Path) -> list[Path]:
        found = []
        head = self.head(a)
        while head is not None:
            found.append(head)
            head = self.head(head)
        return found

    def follows(self, b: Path, a: Path) -> bool:
        """Tregex: b, or an ancestor of it, is a right sister of a or of an ancestor of a."""
        same = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
        return same is not None and b[same] > a[same]

    def just_follows(self, b: Path, a: Path) -> bool:
        return self.follows(b, a) and not any(self.follows(b, c) and self.follows(c, a) for c in self.labels)

    def chain(self, a: Path, b: Path, step, passes) -> bool:
        """Whether steps lead from a to b, over nodes that pass."""
        todo, seen = [a], set()
        while todo:
            x = todo.pop()
            for y in self.labels:
                if step(x, y):
                    if y == b:
                        return True
                    if y not in seen and passes(y):
                        seen.add(y)
                        todo.append(y)
        return False

    def related(self, a: Path, b: Path, relation: str, number: int = 0, passes=None) -> bool:
        """Whether `a relation b`."""
        if relation in (">", ">>", ">i", ">:", ">>:", ">>,", ">>-", ">#", ">>#"):
            return self.related(b, a, relation.replace(">", "<"), number)
        if relation in ("$-", "$--", ",", ",,"):
            return self.related(b, a, {"$-": "$+", "$--": "$++", ",": ".", ",,": ".."}[relation])
        children = self.children(a)
        below = len(b) > len(a) and b[: len(a)] == a
        sisters = len(a) == len(b) and a != b and a[:-1] == b[:-1]
        if relation == "<i":
            return 0 < abs(number) <= len(children) and children[number - (number > 0)] == b
        if relation == "<<<i":
            leaves = [leaf for leaf in self.leaves if leaf[: len(a)] == a and leaf != a]
            return 0 < abs(number) <= len(leaves) and leaves[number - (number > 0)] == b
        if relation == "<+":
            return self.chain(a, b, lambda x, y: self.related(x, y, "<"), passes)
        if relation == ">+":
            return self.chain(a, b, lambda x, y: self.related(x, y, ">"), passes)
        if relation == ".+":
            return self.chain(a, b, lambda x, y: self.just_follows(y, x), passes)
        if relation == ",+":
            return self.chain(a, b, lambda x, y: self.just_follows(x, y), passes)
        return {
            "<": lambda: b in children,
            "<<": lambda: below,
            "<<<": lambda: below and b in self.leaves,
            "<:": lambda: children == [b],
            "<<:": lambda: below and all(len(self.children(b[:k])) == 1 for k in range(len(a), len(b))),
            "<<,": lambda: below and not any(b[len(a) :]),
            "<<-": lambda: below and all(b[: k + 1] == self.children(b[:k])[-1] for k in range(len(a), len(b))),
            "<#": lambda: self.head(a) == b,
            "<<#": lambda: b in self.heads(a),
            "$": lambda: sisters,
            "$+": lambda: sisters and b[-1] == a[-1] + 1,
            "$++": lambda: sisters and b[-1] > a[-1],
            ".": lambda: self.just_follows(b, a),
            "..": lambda: self.follows(b, a),
            "==": lambda: a == b,
            "<=": lambda: a == b or b in children,
            ":": lambda: True,
        }[relation]()
