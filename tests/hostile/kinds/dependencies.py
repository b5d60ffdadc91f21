"""Dependency trees that no parser makes, for `dependency_phrases`."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import spacy
from spacy.attrs import DEP, HEAD, POS
from spacy.tokens import Doc

from spacy_dtparse import constituents, to_tree
from spacy_dtparse.dependency_phrases.profile import load_profile
from spacy_dtparse.dependency_phrases.projectivity import make_projective
from spacy_dtparse.dependency_phrases.rules import find_phrases
from spacy_dtparse.trees.tree import Tree

from ..cases import case

PARTS = ("NOUN", "VERB", "ADJ", "ADV", "AUX", "PRON", "DET", "ADP", "PUNCT", "CCONJ", "PART", "NUM", "X", "INTJ", "")
RELATIONS = (
    "nsubj", "obj", "obl", "nmod", "acl:relcl", "advcl", "xcomp", "ccomp", "conj", "cc", "case", "mark", "aux", "cop",
    "det", "amod", "advmod", "punct", "parataxis", "compound:prt", "expl", "appos", "dep", "", "root", "x" * 100,
)  # fmt: skip
WORDS = ("who", "what", "to", "(", ")", "[", "]", '"', ",", "-", "?", "a", "w", "“", "”")
PROFILE = load_profile("penn", "en", True)
_NLP = spacy.blank("en")
_PIPE = _NLP.add_pipe("dependency_phrases")


def shape(name: str, n: int, rng: random.Random) -> list[int]:
    """Heads of n tokens."""
    if name == "right chain":
        return [*range(-1, n - 1)]
    if name == "left chain":
        return [*range(1, n), -1]
    if name == "flat":
        return [-1] + [0] * (n - 1)
    if name == "flat, last":
        return [n - 1] * (n - 1) + [-1]
    if name == "gap":  # one arc crosses the end of a flat tree
        return [n - 2, *[0] * (n - 3), -1, 0]
    if name == "cycle":
        return [(i + 1) % n for i in range(n)]
    if name == "roots":
        return [-1] * n
    if name == "out of range":
        return [rng.choice([-5, n, 10**9, -1, 0]) for _ in range(n)]
    return [rng.randrange(-1, n) for _ in range(n)]


SHAPES = ("right chain", "left chain", "flat", "flat, last", "gap", "cycle", "roots", "out of range", "random")


def phrases(heads: list[int], rng: random.Random, relations: Any = RELATIONS, parts: Any = PARTS) -> Tree:
    """The tree of tokens with random words, and random relations and parts of speech of these."""
    n = len(heads)
    words = [rng.choice(WORDS) for _ in range(n)]
    pos, labels = [rng.choice(parts) for _ in range(n)], [rng.choice(relations) for _ in range(n)]
    features = [rng.choice(["", "PronType=Int", "VerbForm=Fin", "Polarity=Neg"]) for _ in range(n)]
    spans = [(0, n, "TOP"), *find_phrases(words, pos, features, heads, labels, PROFILE).spans]
    return Tree.from_spans(words, pos, spans)  # raises unless they nest


@case(seconds=30, megabytes=200, each=SHAPES)
def small_trees(name: str) -> None:
    rng = random.Random(name)
    for _ in range(300):
        phrases(shape(name, rng.randrange(3, 25), rng), rng)


@case(seconds=60, megabytes=500, each=SHAPES)
def tokens_50000(name: str) -> None:
    rng = random.Random(name)
    phrases(shape(name, 50_000, rng), rng)


@case(seconds=40, megabytes=200, each=SHAPES[:5])
def time_of_each_relation(name: str) -> None:
    """Four times as many tokens with one relation take at most ten times as long (sixteen times is quadratic)."""
    for relation in RELATIONS:
        for part in ("NOUN", "VERB", "PRON"):
            seconds = []
            for n in (500, 2000):
                rng, times = random.Random(relation), []
                for _ in range(2):
                    began = time.process_time()
                    phrases(shape(name, n, rng), rng, (relation, relation, "case"), (part,))
                    times.append(time.process_time() - began)
                seconds.append(min(times))
            assert seconds[1] < 10 * seconds[0] or seconds[1] < 0.2, f"{relation} {part}: {seconds}"


@case(seconds=60, megabytes=300)
def one_arc_over_50000() -> None:
    assert make_projective(shape("gap", 50_000, random.Random(1))).lifted == 1


@case(seconds=20, megabytes=200)
def docs_with_heads_set_by_hand() -> None:
    """Heads, merged tokens and white space of a Doc: a tree of each sentence."""
    rng = random.Random(3)
    for n in (0, 1, 2, 9, 40) * 4:
        doc = Doc(_NLP.vocab, words=[rng.choice((*WORDS, " ", "\n")) for _ in range(n)])
        heads = np.array([rng.randrange(n) - i for i in range(n)], dtype=np.int64).astype(np.uint64)
        dep, pos = (_NLP.vocab.strings.add(name) for name in ("obj", "NOUN"))
        columns = [heads, np.full(n, dep, np.uint64), np.full(n, pos, np.uint64)]
        try:
            doc.from_array([HEAD, DEP, POS], np.stack(columns, axis=1))
        except ValueError:  # spaCy refuses these heads
            continue
        _PIPE(doc)
        found = constituents(doc)
        assert len(found) == 0 or to_tree(doc[:] if len(list(doc.sents)) == 1 else next(doc.sents)) is not None
        if n > 3:
            try:
                with doc.retokenize() as retokenizer:
                    retokenizer.merge(doc[0:2])
            except RuntimeError:  # spaCy's E039: it finds no root on a cycle
                continue
            _PIPE(doc)
            constituents(doc)
