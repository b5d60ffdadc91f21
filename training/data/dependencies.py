"""Dependency treebanks as training sentences: CoNLL-U files, and constituency trees converted by head rules. Their
parts of speech as labels for a tagger, and back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from spacy_dtparse.bpm_parser.features import TextRules, TokenColumns
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.heads import HeadRules, tree_guide

from .bad_input import decoding_errors, skip_or_raise

_COLUMNS = 10
_BETWEEN, _NOTHING = "|", "-"


@dataclass(frozen=True)
class DependencySentence:
    """A sentence with its dependency tree. `heads`: 1-based position of each token's head, 0 for the only dependent of
    the root; `labels`: of the dependencies, "root" for that one; `punctuation`: whether each token is punctuation.
    Raises TrainingDataError unless the heads form a tree with one dependent of the root."""

    columns: TokenColumns
    heads: tuple[int, ...]
    labels: tuple[str, ...]
    punctuation: tuple[bool, ...]

    def __post_init__(self) -> None:
        if problem := tree_problem(self.heads):
            raise TrainingDataError(problem)


def tree_problem(heads: Sequence[int]) -> str:
    """The reason why heads (1-based, 0 for the root) are not a tree with one dependent of the root; "" if they are."""
    n = len(heads)
    roots = [position for position, head in enumerate(heads, 1) if head == 0]
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
    """Read the sentences of a CoNLL-U file, without ranges (1-2) and empty nodes (1.1). Raises TrainingDataError with
    file and line for a line that is not CoNLL-U, or a sentence that is no tree."""
    for rows, line in _sentence_rows(Path(path), with_heads=True):
        try:
            sentence = _make_sentence(rows, f"{path}:{line}")
        except TrainingDataError as error:
            skip_or_raise(error)
        else:
            yield sentence


def read_conllu_columns(path: str | Path) -> Iterator[TokenColumns]:
    """Read the words and parts of speech of a CoNLL-U file, whose column HEAD may contain anything. Raises
    TrainingDataError with file and line for a line that is not CoNLL-U."""
    return (_make_columns(rows) for rows, _ in _sentence_rows(Path(path), with_heads=False))


def _sentence_rows(path: Path, with_heads: bool) -> Iterator[tuple[list[list[str]], int]]:
    """The cells of each sentence's tokens, and its first line; a sentence with a malformed line is skipped or raises by
    --errors. `with_heads`: check that heads are numbers."""
    rows: list[list[str]] = []
    first_line, is_bad = 0, False
    with path.open("rb") as file:
        for lineno, raw in enumerate(chain(file, [b""]), 1):
            if not raw.strip():
                if rows and not is_bad:
                    yield rows, first_line
                rows, is_bad = [], False
            elif not is_bad and not raw.startswith(b"#"):
                try:
                    cells = _read_row(raw, f"{path}:{lineno}", len(rows) + 1, with_heads)
                except TrainingDataError as error:
                    skip_or_raise(error)
                    is_bad = True
                    continue
                if cells is not None:
                    first_line = first_line if rows else lineno
                    rows.append(cells)


def _read_row(raw: bytes, location: str, number: int, with_heads: bool) -> list[str] | None:
    """The cells of the line of token `number`; None for a range or an empty node. Raises TrainingDataError with
    `location`."""
    try:
        cells = raw.decode("utf8", decoding_errors()).rstrip("\r\n").split("\t")
    except UnicodeDecodeError as error:
        raise TrainingDataError(
            f"{location}: this is not UTF-8 ({error.reason} at byte {error.start} of the line)"
        ) from error
    if len(cells) != _COLUMNS:
        raise TrainingDataError(f"{location}: {len(cells)} columns; CoNLL-U has {_COLUMNS}, separated by tabs")
    if "-" in cells[0] or "." in cells[0]:
        return None
    if cells[0] != str(number):
        raise TrainingDataError(
            f"{location}: token {cells[0]!r}, but {number} is expected; is a blank line missing before it?"
        )
    if with_heads and not (cells[6].isascii() and cells[6].isdigit()):
        raise TrainingDataError(f"{location}: the head is {cells[6]!r}; it must be a token's number, or 0 for the root")
    return cells


def _make_columns(rows: list[list[str]]) -> TokenColumns:
    def column(index: int) -> tuple[str, ...]:
        return tuple("" if row[index] == "_" and row[1] != "_" else row[index] for row in rows)

    words = tuple(row[1].replace("\xa0", " ").replace(" ", "_") for row in rows)
    return TokenColumns(words, column(4), column(3), column(2))


def _make_sentence(rows: list[list[str]], location: str) -> DependencySentence:
    columns, heads = _make_columns(rows), tuple(int(row[6]) for row in rows)
    labels = tuple("root" if row[6] == "0" else row[7] for row in rows)
    punctuation = tuple(tag == "PUNCT" for tag in columns.pos)
    try:
        return DependencySentence(columns, heads, labels, punctuation)
    except TrainingDataError as error:
        raise TrainingDataError(f"{location}: in the sentence that begins here, {error}") from None


def from_tree(tree: Tree, rules: HeadRules, tags: Sequence[str] | None = None) -> DependencySentence:
    """Convert a constituency tree to a dependency tree by head rules, as the paper converts the Penn Treebanks.

    Take the largest constituent that a token heads: the token's head is the head of its parent. The label of the
    dependency consists of the label of that constituent, or the token's tag, and the label of the parent: "NP<VP".
    `tags`: replace the tree's.
    """
    heads, labels = tree_guide(tree, rules)
    columns = TokenColumns(tree.words, tree.tags if tags is None else tuple(tags))
    punctuation = tuple(tag in rules.punctuation for tag in tree.tags)
    return DependencySentence(columns, tuple(head + 1 for head in heads), tuple(labels), punctuation)


def part_labels(sentence: DependencySentence, rules: TextRules) -> tuple[str, ...]:
    """The labels of a sentence for a tagger: coarse and fine parts of speech ("NOUN|NN"), as far as `rules` use them;
    the characters of a positional tag that they ignore are "-"."""
    tags, pos = sentence.columns.tags, sentence.columns.pos
    if rules.places:
        tags = tuple(
            "".join(char if position in rules.places else _NOTHING for position, char in enumerate(tag)) for tag in tags
        )
    none = ("",) * len(sentence.heads)
    coarse, fine = none if rules.source == "tag" else pos, none if rules.source == "pos" else tags
    return tuple(f"{one}{_BETWEEN}{other}" for one, other in zip(coarse, fine, strict=True))


def with_labels(sentence: DependencySentence, labels: Sequence[str]) -> DependencySentence:
    """The sentence with parts of speech from labels in the format of `part_labels`."""
    parts = [label.partition(_BETWEEN) for label in labels]
    columns = sentence.columns._replace(tags=tuple(fine for *_, fine in parts), pos=tuple(part[0] for part in parts))
    return replace(sentence, columns=columns)


def retag_sentences(tagger: SequenceTagger, sentences: Sequence[DependencySentence]) -> list[DependencySentence]:
    """The sentences with parts of speech predicted by a tagger with labels in the format of `part_labels`."""
    return [with_labels(sentence, tagger.tag(sentence.columns.words)) for sentence in sentences]
