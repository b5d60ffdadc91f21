"""Dependency treebanks: CoNLL-U, and constituent trees with heads by rule, as training sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.features.linear.linkparts import TokenColumns
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.heads import HeadRules, tree_guide

_COLUMNS = 10


@dataclass(frozen=True)
class DependencySentence:
    """A sentence with its tree. `heads`: place from 1 of each token's head, 0 for the root's one dependent; `labels`:
    of the links, "root" for that; `punctuation`: which tokens are; `source`: name of the treebank.

    Raises TrainingDataError unless heads form one tree under one dependent of the root.
    """

    columns: TokenColumns
    heads: tuple[int, ...]
    labels: tuple[str, ...]
    punctuation: tuple[bool, ...]
    source: str = ""

    def __post_init__(self) -> None:
        problem = tree_problem(self.heads)
        if problem:
            raise TrainingDataError(problem)


def tree_problem(heads: Sequence[int]) -> str:
    """What keeps heads (from 1, 0 for the root) from being a tree with one dependent of the root; "" if nothing."""
    n = len(heads)
    roots = [place for place, head in enumerate(heads, 1) if head == 0]
    if len(roots) != 1:
        return f"{len(roots)} tokens have the head 0; exactly one must be the root"
    reached = [False] * (n + 1)
    for start in range(1, n + 1):
        path: list[int] = []
        place = start
        while place and not reached[place]:
            if not 0 <= heads[place - 1] <= n:
                return f"token {place} has the head {heads[place - 1]}; allowed are 0 to {n}"
            if place in path:
                return f"token {start} is on or below a cycle of heads ({' -> '.join(map(str, [*path, place]))})"
            path.append(place)
            place = heads[place - 1]
        for place in path:
            reached[place] = True
    return ""


def read_conllu(path: str | Path, source: str = "") -> Iterator[DependencySentence]:
    """The sentences of a CoNLL-U file; ranges (1-2) and empty nodes (1.1) are passed over.

    Raises TrainingDataError with file and line for what is not CoNLL-U, or is no tree.
    """
    path = Path(path)
    source = source or path.stem
    rows: list[list[str]] = []
    first = 0
    try:
        with path.open(encoding="utf8") as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip("\r\n")
                if not line.strip():
                    if rows:
                        yield _sentence(rows, f"{path}:{first}", source)
                        rows = []
                elif not line.startswith("#"):
                    cells = line.split("\t")
                    if len(cells) != _COLUMNS:
                        raise TrainingDataError(
                            f"{path}:{number}: {len(cells)} columns; CoNLL-U has {_COLUMNS}, with tabs between"
                        )
                    if "-" in cells[0] or "." in cells[0]:
                        continue
                    if cells[0] != str(len(rows) + 1):
                        raise TrainingDataError(
                            f"{path}:{number}: token {cells[0]!r} where {len(rows) + 1} is next; is a blank line "
                            "missing before it?"
                        )
                    if not cells[6].isascii() or not cells[6].isdigit():
                        raise TrainingDataError(
                            f"{path}:{number}: the head is {cells[6]!r}; it must be a token's number, or 0 for the root"
                        )
                    if not rows:
                        first = number
                    rows.append(cells)
    except UnicodeDecodeError as error:
        raise TrainingDataError(f"{path}: this is not UTF-8 ({error.reason} at byte {error.start})") from error
    if rows:
        yield _sentence(rows, f"{path}:{first}", source)


def _sentence(rows: list[list[str]], place: str, source: str) -> DependencySentence:
    def column(number: int) -> tuple[str, ...]:
        return tuple("" if row[number] == "_" and row[1] != "_" else row[number] for row in rows)

    words = tuple(row[1].replace("\xa0", " ").replace(" ", "_") for row in rows)
    pos = column(3)
    columns = TokenColumns(words, column(4), pos, column(2))
    labels = tuple("root" if row[6] == "0" else row[7] for row in rows)
    try:
        return DependencySentence(
            columns, tuple(int(row[6]) for row in rows), labels, tuple(tag == "PUNCT" for tag in pos), source
        )
    except TrainingDataError as error:
        raise TrainingDataError(f"{place}: in the sentence that begins here, {error}") from None


def from_tree(tree: Tree, rules: HeadRules, tags: Sequence[str] | None = None, source: str = "") -> DependencySentence:
    """The dependency tree of a constituent tree by head rules, as the paper converts the Penn Treebanks.

    A token's head is the head of the smallest constituent around the largest one that the token heads; the link is
    labelled with that largest constituent's label, or the token's tag, and the constituent's in which they meet:
    "NP<VP". `tags`: to be used instead of the tree's.
    """
    found, labels = tree_guide(tree, rules)
    heads = [head + 1 for head in found]
    punctuation = tuple(tag in rules.punctuation for tag in tree.tags)
    used = tuple(tree.tags if tags is None else tags)
    return DependencySentence(TokenColumns(tuple(tree.words), used), tuple(heads), tuple(labels), punctuation, source)


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no two links of a tree cross; heads from 1, 0 for the root."""
    links = [(min(h, d), max(h, d)) for d, h in enumerate(heads, 1)]
    stack: list[int] = []
    for start, end in sorted(links, key=lambda link: (link[0], -link[1])):
        while stack and stack[-1] <= start:
            stack.pop()
        if stack and end > stack[-1]:
            return False
        stack.append(end)
    return True
