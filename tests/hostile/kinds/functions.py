"""Docs that no pipeline makes, and the functions that are newest: tables, chunks, noun chunks, phrases of dependencies,
reviews of treebanks."""

from __future__ import annotations

import importlib.util
import random
from itertools import pairwise
from typing import Any

import numpy as np
import spacy
from spacy.attrs import DEP, HEAD, POS
from spacy.tokens import Doc

import spacy_dtparse as dtparse
from spacy_dtparse.annotation.corrector import Corrector
from spacy_dtparse.annotation.suspicions import review_trees
from spacy_dtparse.errors import DtparseError
from spacy_dtparse.pipeline.records import COLUMNS
from spacy_dtparse.trees import parse_trees

from .. import growth
from ..cases import case, english
from .dependencies import shape

DEFAULT = english("en_dtparse")
_NLP = spacy.blank("en")
_PIPE = _NLP.add_pipe("dependency_phrases")
dtparse.register_extensions()


def doc_with_heads(name: str, n: int) -> Doc:
    """A Doc of n tokens whose heads have a shape; the roots of spaCy are their own heads."""
    heads = shape(name, n, random.Random(1))
    relative = np.array([(i if head < 0 else head) - i for i, head in enumerate(heads)], np.int64).astype(np.uint64)
    dep, pos = (_NLP.vocab.strings.add(text) for text in ("obj", "NOUN"))
    doc = Doc(_NLP.vocab, words=["w"] * n)
    doc.from_array([HEAD, DEP, POS], np.stack([relative, np.full(n, dep, np.uint64), np.full(n, pos, np.uint64)], 1))
    return doc


@case(
    seconds=60,
    megabytes=500,
    each=[("roots", 20_000), ("flat", 20_000), ("right chain", 5000), ("left chain", 5000), ("gap", 20_000)],
)
def dependency_phrases_of_a_large_doc(what: tuple[str, int]) -> None:
    doc = _PIPE(doc_with_heads(*what))
    found = dtparse.constituents(doc)
    assert found and all(one.label_ for one in found)
    assert dtparse.is_parsed(doc)


@case(seconds=30, megabytes=400, each=[*growth.SHAPES, "sentences"])
def noun_chunks_of_a_large_doc(name: str) -> None:
    doc = growth.doc_of_size(name, 20_000 if name in ("flat", "sentences") else 5000)
    found = dtparse.noun_chunks(doc)
    assert all(one.start < one.end for one in found)
    assert all(before.end <= after.start for before, after in pairwise(found))


@case(
    seconds=30,
    megabytes=800,
    each=[(rows, name) for rows in COLUMNS for name in ("right", "flat", "chain", "sentences")],
)
def table_of_a_large_doc(what: tuple[str, str]) -> None:
    rows, name = what
    doc = growth.doc_of_size(name, 3000)
    if importlib.util.find_spec("pandas") is None:  # an optional package: then the records that make the table
        records = dtparse.to_records(doc, rows)
        assert all([*record] == [*COLUMNS[rows]] for record in records)
        return
    frame = dtparse.to_dataframe(doc, rows)
    assert [*frame.columns] == [*COLUMNS[rows]]


@case(seconds=5, megabytes=100, each=[[], [" ", "\n"], ["\x00", "\u202e", "x" * 100_000], ["a"] * 3])
def docs_without_trees(words: list[str]) -> None:
    """Functions over Docs that were never parsed, or that are empty, give nothing or say what to do."""
    doc = Doc(_NLP.vocab, words=words)
    calls: list[Any] = [
        dtparse.constituents, dtparse.chunks, dtparse.chunk_tags, dtparse.noun_chunks, dtparse.clauses,
        dtparse.predicates, dtparse.triples, dtparse.to_records, dtparse.to_dataframe, dtparse.measure_syntax,
        dtparse.head_consistency, dtparse.to_conllu, lambda doc: dtparse.phrases(doc, "NP"),
        *(lambda doc, f=f: [f(token) for token in doc] for f in (dtparse.ancestors, dtparse.path, dtparse.depth)),
        lambda doc: [dtparse.c_commands(token, doc[-1]) for token in doc],
        lambda doc: [f(doc[:]) for f in growth.CLAUSE_FUNCTIONS],
    ]  # fmt: skip
    for call in calls:
        try:
            call(doc)
        except DtparseError as error:
            assert len(str(error)) < 1000


@case(seconds=30, megabytes=300)
def review_of_odd_trees() -> None:
    """Trees with labels, tags and words that the parser has never seen, of one word, deep and flat."""
    texts = ["(TOP (X (Y a)))", "(TOP (<b> (\u202e \x1b[31m)))", "(TOP (NP (NN w)) (. .))", "(S (S (S (S (NN a)))))"]
    trees = [*parse_trees("\n".join(texts)), *(growth.make_tree(name, 60) for name in growth.SHAPES)]
    corrector = Corrector(DEFAULT, sorted({label for tree in trees for label in tree.labels[1:]}))
    for one in review_trees(corrector.parser, corrector.tag, trees):
        assert 0 <= one.sentence < len(trees) and one.start < one.end <= len(trees[one.sentence].words)
        assert one.text(trees[one.sentence].words)
