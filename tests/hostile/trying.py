"""One hostile file: built from its number, read, and used for parsing."""

from __future__ import annotations

import copy
import math
import random
import re
import time
from typing import Any, NamedTuple

import numpy as np

from spacy_dtparse.bpm_parser.features import TokenColumns
from spacy_dtparse.core.registry import KINDS, parser_from_bytes
from spacy_dtparse.errors import DtparseError, ModelFormatError
from spacy_dtparse.model_io.container import container_from_bytes, container_kind
from spacy_dtparse.trees.brackets import parse_trees
from spacy_dtparse.trees.tree import Tree

from .files import container
from .mutations import mutate

SENTENCES = [
    (["The", "cat", "sat", "on", "the", "mat", "."], ["DT", "NN", "VBD", "IN", "DT", "NN", "."]),
    (["Dogs", "bark"], ["NNS", "VBP"]),
    (
        ["X9", "(", "re-do", "a", "cat", ",", "123", "saw", "http://x.org/", "ran", "!"],
        ["NN", "-LRB-", "XX", "DT", "NN", ",", "CD", "VBD", "ADD", "VBD", "."],
    ),
]
REFUSED, SAME, OTHER, FAULT = "refused", "parsed as before", "another model", "FAULT"
"""How a file ends: with a clear error, with the parses of the file that was changed, with other ones where its author
also recomputed fingerprint and golden parses (then they must be well formed, for it is a valid model), or in any
other way.
"""


class Outcome(NamedTuple):
    """The outcome of a file: one of REFUSED … FAULT, and descriptions of the change and of the message."""

    what: str
    changes: str
    said: str
    seconds: float = 0.0
    megabytes: float = 0.0


class Trier:
    """Makes and tries hostile files from these bases, by name."""

    def __init__(self, bases: dict[str, bytes], seed: int):
        self._seed, self._bases = seed, bases
        self._parts = {name: container_from_bytes(data, container_kind(data)) for name, data in bases.items()}
        self._parses = {
            name: parses(parser_from_bytes(data, KINDS[name.split("-")[0]].builds)) for name, data in bases.items()
        }

    def make(self, name: str, number: int) -> tuple[bytes, str, bool]:
        """(A file, a description of the change, whether fingerprint and golden parses were recomputed.)"""
        rng = random.Random(f"{self._seed} {name} {number}")
        meta, arrays = copy.deepcopy(self._parts[name])
        others = self._parts[rng.choice([other for other in sorted(self._parts) if other != name])]
        changes = [mutate(rng, meta, arrays, copy.deepcopy(others)) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        more: list[Any] = []
        if rng.random() < 0.03:
            more = rng.choice(
                [
                    [[f"e{k}", "int8", "int8", [0]] for k in range(200_000)],
                    [["e", "int8", "int8", [0, 2**30, 2**30]]],
                    [["e" * 10**6, "int8", "int8", [0]]],
                    [["e", "int8", "int8", [2**30]]],
                    [[]],
                    [None],
                ]
            )
            changes.append("more arrays")
        kind, anew = name.split("-")[0], rng.random() < 0.5
        data = container(kind, meta, arrays, more, rng.choice(["none", "zlib", "zlib", "lzma"]))
        return (self._signed(kind, data, meta, arrays) if anew else data), "; ".join(changes), anew

    def _signed(self, kind: str, data: bytes, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
        """The file with fingerprint and golden parses recomputed, as an author who has the program can do."""
        parser_class = KINDS[kind].parser_class()
        try:
            for _ in range(3):
                try:
                    parser = parser_class.from_bytes(data, self_test=False)
                    break
                except ModelFormatError as error:
                    found = re.search(r"the model has (fingerprint|digest) (\w+), but", str(error))
                    if not found:
                        return data
                    meta[found[1]] = found[2]
                    data = container(kind, meta, arrays)
            meta["proofs"] = parser.make_golden_parses()
        except DtparseError:
            return data
        return container(kind, meta, arrays)

    def try_one(self, name: str, number: int) -> Outcome:
        """Make file `number` of a base, read it and parse with it."""
        changes = "(while it was made)"
        started = time.perf_counter()
        try:
            data, changes, anew = self.make(name, number)
            changes += "; signed anew" if anew else ""
            started = time.perf_counter()
            found = parses(parser_from_bytes(data, KINDS[name.split("-")[0]].builds))
        except DtparseError as error:
            said = str(error)
            what = REFUSED if len(said) < 2000 and said.isprintable() else FAULT
            return Outcome(what, changes, f"{type(error).__name__}: {said[:300]}", time.perf_counter() - started)
        except Exception as error:
            import traceback

            where = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__}: {str(error)[:200]} at {where.filename.rpartition('/')[2]}:{where.lineno}"
            return Outcome(FAULT, changes, said, time.perf_counter() - started)
        seconds, same = time.perf_counter() - started, repr(found) == repr(self._parses[name])
        if not same and not anew:
            return Outcome(FAULT, changes, "parsed otherwise, with the old fingerprint and golden parses", seconds)
        return Outcome(SAME if same else OTHER, changes, "", seconds)


def parses(parser: Any) -> list[Any]:
    """The result of a parser of any kind for SENTENCES; AssertionError if it is not well formed."""
    _ = parser.calibration  # checked on first access
    if parser.name == "recurrent":
        return _tagged(parser)
    if parser.name == "dependency":
        return [_linked(parser, words, tags) for words, tags in SENTENCES]
    if parser.name == "tagger":
        return [_labelled(parser, words, tags) for words, tags in SENTENCES]
    return [_tree(parser, words, tags) for words, tags in SENTENCES]


def _tree(parser: Any, words: list[str], tags: list[str]) -> tuple[Any, ...]:
    result = parser.parse(words, tags)
    tree = result.tree
    checked = Tree(tree.words, tree.tags, tree.labels, tree.starts, tree.ends)  # raises unless it is a valid tree
    assert list(checked.words) == words and list(checked.tags) == tags and checked.labels[0] == "TOP"
    (again,) = parse_trees(str(checked))
    assert again.spans() == checked.spans(), f"{checked} is read back as {again}"
    assert len(result.costs) == len(tree.labels) and not math.isnan(result.cost), f"cost {result.cost}"
    return tree.spans(), round(result.cost, 3), result.status


def _linked(parser: Any, words: list[str], tags: list[str]) -> tuple[Any, ...]:
    pos, lemmas = ["NOUN"] * len(words), [word.lower() for word in words]
    guide = [-1, *range(len(words) - 1)], ["NP<S"] * len(words)
    found = parser.parse(TokenColumns(words, tags, pos, lemmas, *guide))
    heads = found.heads
    assert len(heads) == len(words) and heads.count(-1) == 1, heads
    for token in range(len(words)):
        for _ in range(len(words)):
            token = heads[token] if token >= 0 else -1
        assert token == -1, heads
    assert not found.labels or len(found.labels) == len(words)
    assert all(isinstance(label, str) for label in found.labels) and math.isfinite(found.score)
    return heads, found.labels, round(found.score, 3)


def _labelled(parser: Any, words: list[str], tags: list[str]) -> tuple[Any, ...]:
    given = tags if parser.needs_tags else ()
    labels = parser.tag(words, given)
    multitags = parser.multitag(words, given)
    assert len(labels) == len(multitags) == len(words) and all(label in parser.labels for label in labels)
    assert all(0 <= chance <= 1 + 1e-9 for probs in multitags for _, chance in probs)
    return labels, [[(label, round(chance, 5)) for label, chance in probs] for probs in multitags]


def _tagged(parser: Any) -> list[Any]:
    found = parser.tag([words for words, _ in SENTENCES])
    names = [[parser.names[number] if number >= 0 else "" for number in numbers.tolist()] for numbers, _ in found]
    assert [len(own) for own in names] == [len(words) for words, _ in SENTENCES]
    return [names, [starts.tolist() for _, starts in found]]
