"""Treebanks as training sentences: trees read, preprocessed, with the tags that the parser will see."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.text import raw_word
from spacy_dtparse.trees import Tree, read_trees
from spacy_dtparse.trees.transforms import Recipe, strip_empty


@dataclass(frozen=True)
class Sentence:
    """One sentence of a treebank.

    `tree`: the gold tree without empty elements and function tags, its tags gold, its words raw text. `tags`: the tags
    that training or parsing uses (a tagger's, or the gold ones). `source`: name of the treebank. `weight`: of its
    states in training.
    """

    tree: Tree
    tags: tuple[str, ...]
    source: str
    weight: float = 1.0


def read_treebank(
    path: str | Path, tags_path: str | Path | None = None, weight: float = 1.0, limit: int | None = None
) -> list[Sentence]:
    """The sentences of a bracket file; `tags_path`: a line of tags for each tree, else gold tags.

    Raises TrainingDataError when the tags cannot be read or do not fit the trees.
    """
    path = Path(path)
    lines: list[str] | None = None
    if tags_path is not None:
        try:
            lines = Path(tags_path).read_text(encoding="utf8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise TrainingDataError(
                f"{tags_path}: cannot read the tags ({error}); give a UTF-8 file with one line of tags per tree"
            ) from error
    sentences = []
    number = -1
    for number, tree in enumerate(read_trees(path)):
        if limit is not None and number >= limit:
            break
        stripped = strip_empty(tree)
        words = tuple(raw_word(word) for word in stripped.words)
        clean = Tree.trusted(words, stripped.tags, stripped.labels, stripped.starts, stripped.ends)
        tags = stripped.tags
        if lines is not None:
            tags = tuple(lines[number].split()) if number < len(lines) else ()
            if len(tags) != len(words):
                raise TrainingDataError(
                    f"{tags_path}, line {number + 1}: {len(tags)} tags for the {len(words)} words of tree {number + 1} "
                    f"of {path}; make the tags again from this treebank"
                )
        sentences.append(Sentence(clean, tags, path.parent.name or path.stem, weight))
    if lines is not None and limit is None and len(lines) != number + 1:
        raise TrainingDataError(f"{tags_path} has {len(lines)} lines for the {number + 1} trees of {path}")
    return sentences


def training_tree(sentence: Sentence, recipe: Recipe) -> Tree:
    """The tree a derivation is made of: the sentence's tree with its training tags, through the recipe."""
    tree = sentence.tree
    tagged = Tree.trusted(tree.words, sentence.tags, tree.labels, tree.starts, tree.ends)
    return recipe.apply(tagged)


@dataclass
class CorpusReport:
    """What training meets in its trees, to be logged: counts of nodes over the arity, repeated unaries, one-word
    sentences, labels met once."""

    sentences: int = 0
    tokens: int = 0
    constituents: int = 0
    over_arity: int = 0
    repeated_unary: int = 0
    one_word: int = 0
    labels_once: tuple[str, ...] = ()


def survey(trees: Iterable[Tree], children: Callable[[Tree], list[list[int]]], max_arity: int) -> CorpusReport:
    """Count oddities; `children(tree)` gives the child lists of a tree."""
    report = CorpusReport()
    labels: Counter[str] = Counter()
    for tree in trees:
        report.sentences += 1
        report.tokens += len(tree.words)
        report.constituents += len(tree.labels) - 1
        report.one_word += len(tree.words) == 1
        labels.update(tree.labels)
        lists = children(tree)
        for node, kids in enumerate(lists):
            report.over_arity += len(kids) > max_arity
            report.repeated_unary += len(kids) == 1 and kids[0] >= 0 and tree.labels[kids[0]] == tree.labels[node]
    report.labels_once = tuple(sorted(label for label, count in labels.items() if count == 1))
    return report
