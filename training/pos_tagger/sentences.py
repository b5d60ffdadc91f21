"""Tagged sentences out of treebank files, with words as spaCy's users have them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spacy_dtparse.text import raw_word
from spacy_dtparse.trees import EMPTY_TAG, base_label, read_trees


@dataclass(frozen=True)
class Sentence:
    """The words (unescaped) and gold tags (without function suffixes) of one tree."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_sentences(path: Path) -> list[Sentence]:
    """The sentences of a file of bracketed trees, in file order; empty elements (``-NONE-``) are left out.

    A tree without any word gives a Sentence of no words, so that line numbers stay in step with the trees.
    Raises TreeFormatError, naming file, line and column, at a malformed tree.
    """
    sentences = []
    for tree in read_trees(path):
        leaves = [leaf for leaf in zip(tree.words, tree.tags, strict=True) if leaf[1] != EMPTY_TAG]
        words = tuple(raw_word(word) for word, _ in leaves)
        sentences.append(Sentence(words, tuple(base_label(tag) for _, tag in leaves)))
    return sentences
