"""Small honest dependency parsers for the tests of bpm_parser."""

from __future__ import annotations

import itertools
import random

from spacy_dtparse.parsers.dependency import DependencyResult


class Chain:
    """Each word depends on the one before; remembers what it was given, and crashes at the word CRASH."""

    name = "dependency"
    labels = ("next",)
    source = "tag"
    needs_lemmas = False
    needs_guide = False

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
    """Each word depends on another one anywhere in the sentence, so that spaCy gives up on where the tree's edges
    are."""

    def heads(self, n):
        order = random.Random(n).sample(range(n), n)
        found = [-1] * n
        for above, below in itertools.pairwise(order):
            found[below] = above
        return found
