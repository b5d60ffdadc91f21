"""Dependency treebanks: CoNLL-U, and constituent trees with heads by rule, as training sentences; their parts of speech
as labels of words, and back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.features.linear.linkparts import TextRules, TokenColumns
from spacy_dtparse.parsers.tagging import SequenceTagger
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.heads import HeadRules, tree_guide

_COLUMNS = 10
_BETWEEN, _NOTHING = "|", "-"


@dataclass(frozen=True)
class DependencySentence:
    """A sentence with its tree. `heads`: place from 1 of each token's head, 0 for the root's one dependent; `labels`:
    of the links, "root" for that; `punctuation`: which tokens are. Raises TrainingDataError unless heads form one tree
    under one dependent of the root."""

    columns: TokenColumns
    heads: tuple[int, ...]
    labels: tuple[str, ...]
    punctuation: tuple[bool, ...]

    def __post_init__(self) -> None:
        if problem := tree_problem(self.heads):
            raise TrainingDataError(problem)


def tree_problem(heads: Sequence[int]) -> str:
    """What keeps heads (from 1, 0 for the root) from being a tree with one dependent of the root; "" if nothing."""
    n = len(heads)
    roots = [place for place, head in enumerate(heads, 1) if head == 0]
    if len(roots) != 1:
        return f"{len(roots)} tokens have the head 0; exactly one must be the root"
    reached = {0}
    for start in range(1, n + 1):
        path = [start]
        while path[-1] not in reached:
            head = heads[path[-1] - 1]
            if not 0 <= head <= n:
                return f"token {path[-1]} has the head {head}; allowed are 0 to {n}"
            if head in path:
                return f"token {start} is on or below a cycle of heads ({' -> '.join(map(str, [*path, head]))})"
            path.append(head)
        reached.update(path)
    return ""


def read_conllu(path: str | Path) -> Iterator[DependencySentence]:
    """The sentences of a CoNLL-U file; ranges (1-2) and empty nodes (1.1) are passed over. Raises TrainingDataError
    with file and line for what is not CoNLL-U, or is no tree."""
    path = Path(path)
    rows: list[list[str]] = []
    first = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(chain(file, [b""]), 1):
                line = raw.decode().rstrip("\r\n")
                if not line.strip():
                    if rows:
                        yield _sentence(rows, f"{path}:{first}")
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
                    first = first if rows else number
                    rows.append(cells)
    except UnicodeDecodeError as error:
        raise TrainingDataError(
            f"{path}:{number}: this is not UTF-8 ({error.reason} at byte {error.start} of the line)"
        ) from error


def _sentence(rows: list[list[str]], place: str) -> DependencySentence:
    def column(number: int) -> tuple[str, ...]:
        return tuple("" if row[number] == "_" and row[1] != "_" else row[number] for row in rows)

    words = tuple(row[1].replace("\xa0", " ").replace(" ", "_") for row in rows)
    pos, heads = column(3), tuple(int(row[6]) for row in rows)
    labels = tuple("root" if row[6] == "0" else row[7] for row in rows)
    columns, punctuation = TokenColumns(words, column(4), pos, column(2)), tuple(tag == "PUNCT" for tag in pos)
    try:
        return DependencySentence(columns, heads, labels, punctuation)
    except TrainingDataError as error:
        raise TrainingDataError(f"{place}: in the sentence that begins here, {error}") from None


def from_tree(tree: Tree, rules: HeadRules, tags: Sequence[str] | None = None) -> DependencySentence:
    """The dependency tree of a constituent tree by head rules, as the paper converts the Penn Treebanks.

    A token's head is the head of the smallest constituent around the largest one that the token heads; the link is
    labelled with that largest constituent's label, or the token's tag, and the constituent's in which they meet:
    "NP<VP". `tags`: to be used instead of the tree's.
    """
    heads, labels = tree_guide(tree, rules)
    columns = TokenColumns(tree.words, tree.tags if tags is None else tuple(tags))
    punctuation = tuple(tag in rules.punctuation for tag in tree.tags)
    return DependencySentence(columns, tuple(head + 1 for head in heads), tuple(labels), punctuation)


def part_labels(sentence: DependencySentence, rules: TextRules) -> tuple[str, ...]:
    """What a tagger learns from a sentence: of its parts of speech, coarse and fine ("NOUN|NN"), all that `rules` read;
    characters of a positional tag that they pass over are "-"."""
    tags, pos = sentence.columns.tags, sentence.columns.pos
    if rules.places:
        tags = tuple(
            "".join(char if place in rules.places else _NOTHING for place, char in enumerate(tag)) for tag in tags
        )
    none = ("",) * len(sentence.heads)
    coarse, fine = none if rules.source == "tag" else pos, none if rules.source == "pos" else tags
    return tuple(f"{one}{_BETWEEN}{other}" for one, other in zip(coarse, fine, strict=True))


def with_labels(sentence: DependencySentence, labels: Sequence[str]) -> DependencySentence:
    """The sentence with parts of speech from labels such as `part_labels` gives."""
    parts = [label.partition(_BETWEEN) for label in labels]
    columns = sentence.columns._replace(tags=tuple(fine for *_, fine in parts), pos=tuple(part[0] for part in parts))
    return replace(sentence, columns=columns)


def retagged(tagger: SequenceTagger, sentences: Sequence[DependencySentence]) -> list[DependencySentence]:
    """The sentences with parts of speech by a tagger of such labels."""
    return [with_labels(sentence, tagger.tag(sentence.columns.words)) for sentence in sentences]
