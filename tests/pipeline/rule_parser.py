"""A small parser for the tests of the pipeline: it chunks noun phrases by tag, then branches to the right."""

from __future__ import annotations

import json
import math

from spacy_dtparse.core import Parser, ParseResult
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.trees.tree import Tree

MAGIC = b"RULE-PARSER\n"
NOMINAL = {"DT", "JJ", "NN", "NNS", "NNP", "PRP"}


class RuleParser(Parser):
    """NP over each run of determiners, adjectives and nouns; VP from each verb to the end; S over all, in a
    chain.

    A budget above 0 adds an ADVP over every adverb (the "search"), so that a test can see which setting was
    used.
    """

    name = "rule"
    labels = ("S", "VP", "NP", "ADVP", "FRAG")

    def __init__(self, note: str = "", budget: int = 10, max_tokens: int = 100):
        self.note, self.budget, self.max_tokens = note, budget, max_tokens

    @property
    def meta(self):
        return {"name": self.name, "note": self.note, "licence": "none"}

    def with_settings(self, budget=None, max_tokens=None):
        return RuleParser(
            self.note, self.budget if budget is None else budget, self.max_tokens if max_tokens is None else max_tokens
        )

    def parse_batch(self, sentences):
        return [self.parse(*sentence) for sentence in sentences]

    def parse(self, words, tags, spines=()):
        if any(not word or any(map(str.isspace, word)) for word in words):
            raise ValueError("the pipeline must not show white space to a parser")
        if "CRASH" in words:
            raise RuntimeError("this parser was told to crash")
        n = len(words)
        budget = self.budget if n <= self.max_tokens else 0
        verbs = [k for k, tag in enumerate(tags) if tag.startswith("VB")]
        spans = [(0, n, "TOP")]
        if n > 1 or verbs:
            spans.append((0, n, "S" if verbs else "FRAG"))
        if not (n == 1 and tags[0] in (".", ",", "XX")):
            spans += [(verb, n, "VP") for verb in verbs]
            start = None
            for k in range(n + 1):
                nominal = k < n and tags[k] in NOMINAL
                if nominal and start is None:
                    start = k
                elif not nominal and start is not None:
                    spans.append((start, k, "NP"))
                    start = None
            if budget:
                spans += [(k, k + 1, "ADVP") for k in range(n) if tags[k] == "RB"]
        tree = Tree.from_spans(words, tags, spans)
        scores = tuple([math.nan, *(0.25 * k for k in range(1, len(tree.labels)))])
        status = "optimal" if budget else "greedy"
        return ParseResult(tree, scores, sum(scores[1:]), status, n, 2 * n, budget > 0 or None)

    def to_bytes(self):
        return MAGIC + json.dumps({"note": self.note}).encode()

    @classmethod
    def from_bytes(cls, data):
        if not data.startswith(MAGIC):
            raise ModelFormatError("not a rule parser")
        return cls(**json.loads(data[len(MAGIC) :]))
