"""Small dependency parsers for the tests of bpm_parser, Docs for them, and a check of the annotation."""

from __future__ import annotations

import itertools
import random

from spacy.tokens import Doc

from spacy_dtparse.bpm_parser.parser import DependencyResult
from training.data.dependencies import tree_problem


class Chain:
    """A parser in which each word depends on the one before; it stores its inputs and crashes at the word CRASH."""

    name = "dependency"
    labels = ("next",)
    source = "tag"
    needs_lemmas = False
    needs_guide = False
    settings = None
    known_tags = frozenset()

    def __init__(self):
        self.seen = []

    def with_settings(self, **settings):
        return self

    def heads(self, n):
        return range(-1, n - 1)

    def parse(self, sentence):
        if any(not word or any(map(str.isspace, word)) for word in sentence.words):
            raise ValueError("the pipeline must not show white space to a parser")
        if "CRASH" in sentence.words:
            raise RuntimeError("this parser was told to crash")
        self.seen.append(tuple(sentence.words))
        return DependencyResult(tuple(self.heads(len(sentence.words))), ("next",) * len(sentence.words), 0.0)


class Zigzag(Chain):
    """A parser in which each word depends on another one anywhere, so that spaCy does not find the edges of the
    tree."""

    def heads(self, n):
        order = random.Random(n).sample(range(n), n)
        found = [-1] * n
        for above, below in itertools.pairwise(order):
            found[below] = above
        return found


def tagged(vocab, words, tags, starts=None):
    """Make a Doc of words and tags between spaces; `starts`: positions where sentences begin, None for no
    boundaries."""
    words, tags = words.split(" "), tags.split(" ")
    flags = None if starts is None else [k in starts for k in range(len(words))]
    return Doc(vocab, words=words, tags=tags, sent_starts=flags)


def whole(doc, bounds):
    """Check that every sentence of `bounds` is one tree: one root, all other tokens below it."""
    assert [(sent.start, sent.end) for sent in doc.sents] == bounds
    for start, end in bounds:
        heads = [0 if token.head.i == token.i else token.head.i - start + 1 for token in doc[start:end]]
        assert tree_problem(heads) == ""
        assert [token.dep_ == "ROOT" for token in doc[start:end]] == [head == 0 for head in heads]
    assert all(token.dep_ for token in doc)
    return doc
