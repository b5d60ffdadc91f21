"""Read treebanks as training sentences: preprocessed trees with the tags that the parser will be given."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.core.ambiguous_tags import parse_tag
from spacy_dtparse.core.marginals import SpanMarginals
from spacy_dtparse.errors import TrainingDataError
from spacy_dtparse.model_io.schema import LABEL, TAG, text
from spacy_dtparse.symbols import Memo
from spacy_dtparse.text import raw_word
from spacy_dtparse.trees import Tree
from spacy_dtparse.trees.transforms import Recipe, strip_empty
from training.data.bad_input import input_policy, read_aligned_trees


@dataclass(frozen=True)
class Sentence:
    """One sentence of a treebank.

    `tree`: the gold tree without empty elements and function tags, its tags gold, its words raw text. `tags`: the tags
    that training or parsing uses (a tagger's, or the gold tags). `source`: name of the treebank. `weight`: of its
    states in training. `marginals`: span marginals under a span model, or None. `relations`: of the tokens, by
    `data.relations.directional_relations`; empty if they are not known.
    """

    tree: Tree
    tags: tuple[str, ...]
    source: str
    weight: float = 1.0
    marginals: SpanMarginals | None = None
    relations: tuple[str, ...] = ()


def read_treebank(
    path: str | Path, tags_path: str | Path | None = None, weight: float = 1.0, limit: int | None = None
) -> list[Sentence]:
    """Read the sentences of a bracket file. `tags_path`: file with a line of tags for each tree; default: gold tags.
    If malformed trees are skipped (--errors), the file of tags may have a line for them or not. Raises
    TrainingDataError if the tags cannot be read or do not match the trees, and for a label or a tag that models do not
    allow."""
    path = Path(path)
    lines = None if tags_path is None else read_tags(tags_path, "one line of tags per tree")
    trees = read_aligned_trees(path)
    if lines is not None and input_policy() != "strict":
        every_tree = list(trees)
        if len(lines) == len(every_tree):
            lines = [line for line, tree in zip(lines, every_tree, strict=True) if tree is not None]
        trees = iter(every_tree)
    sentences = []
    for i, tree in enumerate(islice((tree for tree in trees if tree is not None), limit), 1):
        stripped = strip_empty(tree)
        words = tuple(raw_word(word) for word in stripped.words)
        clean = Tree.unchecked(words, stripped.tags, stripped.labels, stripped.starts, stripped.ends)
        tags = stripped.tags
        if lines is not None:
            tags = lines[i - 1] if i <= len(lines) else ()
            if len(tags) != len(words):
                raise TrainingDataError(
                    f"{tags_path}, line {i}: {len(tags)} tags for the {len(words)} words of tree {i} "
                    f"of {path}; tag this treebank again"
                )
        sentences.append(Sentence(clean, tags, path.parent.name or path.stem, weight))
    if lines is not None and limit is None and len(lines) != len(sentences):
        raise TrainingDataError(f"{tags_path} has {len(lines)} lines for the {len(sentences)} trees of {path}")
    for what, kind, names in (
        ("label", LABEL, {label for s in sentences for label in s.tree.labels}),
        ("tag", TAG, {tag for s in sentences for tag in (*s.tags, *s.tree.tags)}),
    ):
        wrong = next(filter(None, map(text(kind), sorted(names))), "")
        if wrong:
            raise TrainingDataError(f"{path}: a {what}{wrong}; rename it")
    return sentences


def read_tags(path: str | Path, wanted: str) -> list[tuple[str, ...]]:
    """Read the tags of each line of a file. Raises TrainingDataError, with the `wanted` format, if it cannot be
    read."""
    try:
        lines, known = Path(path).read_text(encoding="utf8").splitlines(), Memo[str, str](parse_tag)
        return [tuple(map(known.__getitem__, line.split())) for line in lines]
    except (OSError, UnicodeDecodeError) as error:
        raise TrainingDataError(f"{path}: cannot read the tags ({error}); give a UTF-8 file with {wanted}") from error


def training_tree(sentence: Sentence, recipe: Recipe) -> Tree:
    """The tree to derive in training: the sentence's tree with its training tags, preprocessed by the recipe."""
    tree = sentence.tree
    return recipe.apply(Tree.unchecked(tree.words, sentence.tags, tree.labels, tree.starts, tree.ends))


def survey(trees: Sequence[Tree], max_arity: int) -> dict[str, Any]:
    """Statistics of the training trees for the log: counts, also of nodes over the arity, repeated unaries and one-word
    sentences, and the labels that occur once."""
    labels = Counter(label for tree in trees for label in tree.labels)
    over_arity = repeated_unary = 0
    for tree in trees:
        for node, kids in enumerate(tree.child_lists()):
            over_arity += len(kids) > max_arity
            repeated_unary += len(kids) == 1 and kids[0] >= 0 and tree.labels[kids[0]] == tree.labels[node]
    return {
        "sentences": len(trees),
        "tokens": sum(len(tree.words) for tree in trees),
        "constituents": labels.total() - len(trees),
        "over_arity": over_arity,
        "repeated_unary": repeated_unary,
        "one_word": sum(len(tree.words) == 1 for tree in trees),
        "labels_once": tuple(sorted(label for label, count in labels.items() if count == 1)),
    }


def take_evenly(sentences: Sequence[Sentence], max_size: int) -> Sequence[Sentence]:
    """At most `max_size` of the sentences, evenly spaced."""
    return sentences[:: max(1, -(-len(sentences) // max_size))]


_BLOCK = 10
"""Number of adjacent sentences in the same fold: few documents are divided, and each fold has parts of every genre."""


def long_block_folds(size: int, folds: int, block: int = 200) -> np.ndarray:
    """int32 [size]: the fold of each sentence. Blocks of consecutive sentences are assigned to the folds in turn.

    Blocks have at most `block` sentences, fewer in small treebanks so that each fold gets about four blocks. So most of
    a document is in one fold, and yet each fold has every genre of a treebank that is sorted by genre.
    """
    if folds < 2:
        raise ValueError(f"jackknifing needs at least 2 folds, not {folds}")
    block = max(1, min(block, size // (4 * folds)))
    return ((np.arange(size) // block) % folds).astype(np.int32)


def short_block_folds(n: int, folds: int) -> np.ndarray:
    """The fold of each of n sentences, int64."""
    return np.arange(n) // _BLOCK % folds
