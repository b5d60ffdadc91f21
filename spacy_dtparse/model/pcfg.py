"""The data of a PCFG: annotated symbols, binary and unary rules, emissions of word classes; in and out of a container.

A model holds two grammars over the same sentences: the one it parses with, and its coarse projection (vertical order 1,
horizontal order 0), which says cheaply where a constituent may be. A grammar with latent annotations fits in as well:
its symbols are the projection's, each several times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import INDEX, OFFSET, SCORE
from ..errors import DtparseError, ModelFormatError
from ..features.wordclasses import WordClasses
from ..kernels.cky import BINARY_FROM, COARSE, ITEM, RANGE_COLUMNS, RULE, UNARY_FROM
from ..kernels.latent import LatentRules
from ..symbols import SymbolTable
from ..trees.transforms import Recipe
from ..trees.tree import TOP
from .container import container_from_bytes, container_to_bytes

KIND = "pcfg"
VERSION = 1
PHRASE, PART, TAG = 0, 1, 2
"""Kinds of symbols: a constituent, a part of one (see `training.pcfg.binarise`), a part of speech."""

RULE_COLUMNS = ("parent", "left", "right")


class Emissions(NamedTuple):
    """Log probabilities of word classes.

    `from_class` int64 (C + 1,): the entries of class c are [from_class[c], from_class[c + 1]); `symbol` int32 (E,),
    ascending in a class, `weight` float64 (E,): tags that the class is known to have. `floor` float64 (S,): of a class
    that a symbol was never seen with, used where the tag is given; nan for symbols that are no tags.
    """

    from_class: np.ndarray
    symbol: np.ndarray
    weight: np.ndarray
    floor: np.ndarray


class KernelGrammar(NamedTuple):
    """A grammar as kernels take it: `rules` RULE (R,), `ranges` int32 (S, 5); see `kernels.cky`."""

    rules: np.ndarray
    ranges: np.ndarray


@dataclass(frozen=True)
class PcfgGrammar:
    """Rules over S symbols.

    `names`: readable and unique. `kind` int8 (S,): PHRASE, PART or TAG. `base` int32 (S,): number of the label (PHRASE)
    or tag (TAG) that a tree shows, in the model's tables; -1 for parts. `coarse` int32 (S,): number of the symbol in
    the coarse grammar, ascending. `frequency` float64 (S,): how common a symbol is among all nodes of the training
    trees. `binary` int32 (B, 3), `unary` int32 (U, 2): parent, left, right; `binary_weight`, `unary_weight` float64:
    log probabilities.

    Raises ModelFormatError when shapes disagree, numbers are out of range, or a weight is above 0 or not a number.
    """

    names: tuple[str, ...]
    kind: np.ndarray
    base: np.ndarray
    coarse: np.ndarray
    frequency: np.ndarray
    binary: np.ndarray
    binary_weight: np.ndarray
    unary: np.ndarray
    unary_weight: np.ndarray
    emissions: Emissions

    def __post_init__(self) -> None:
        n = len(self.names)
        if not len(self.kind) == len(self.base) == len(self.coarse) == len(self.frequency) == n or not n:
            raise ModelFormatError(f"a grammar of {n} symbols has tables of other lengths; write the model again")
        for rules, weight, width in ((self.binary, self.binary_weight, 3), (self.unary, self.unary_weight, 2)):
            if rules.ndim != 2 or rules.shape[1] != width or len(weight) != len(rules):
                raise ModelFormatError(f"rules of shape {rules.shape}, {len(weight)} weights; write the model again")
            if len(rules) and not (0 <= int(rules.min()) and int(rules.max()) < n):
                raise ModelFormatError(f"a rule names a symbol outside of the {n} there are; write the model again")
            if not bool(np.all(weight <= 0.0)):
                raise ModelFormatError("a rule's log probability is above 0 or no number; write the model again")
        e = self.emissions
        fit = len(e.floor) == n and len(e.symbol) == len(e.weight) == int(e.from_class[-1])
        if not fit or int(e.from_class[0]) != 0 or np.any(np.diff(e.from_class) < 1):
            raise ModelFormatError(
                "the emissions' tables do not fit together, or a word class has no tag; write the model again"
            )
        if len(e.symbol) and not (0 <= int(e.symbol.min()) and int(e.symbol.max()) < n):
            raise ModelFormatError(f"an emission names a symbol outside of the {n} there are; write the model again")
        if np.any(np.diff(self.coarse) < 0):
            raise ModelFormatError("symbols are not sorted by their coarse symbol; write the model again")

    @cached_property
    def kernel(self) -> KernelGrammar:
        """The rules sorted by left child, for the kernels."""
        n, n_binary = len(self.names), len(self.binary)
        binary = np.lexsort((self.binary[:, 0], self.binary[:, 2], self.binary[:, 1]))
        unary = np.lexsort((self.unary[:, 0], self.unary[:, 1]))
        rules = np.zeros(n_binary + len(self.unary), dtype=RULE)
        rules["weight"] = np.concatenate([self.binary_weight[binary], self.unary_weight[unary]])
        rules["parent"] = np.concatenate([self.binary[binary, 0], self.unary[unary, 0]])
        rules["right"] = np.concatenate([self.binary[binary, 2], np.full(len(unary), -1)])
        ranges = np.zeros((n, RANGE_COLUMNS), dtype=INDEX)
        everyone = np.arange(n)
        for column, lefts, offset in (
            (BINARY_FROM, self.binary[binary, 1], 0),
            (UNARY_FROM, self.unary[unary, 1], n_binary),
        ):
            ranges[:, column] = np.searchsorted(lefts, everyone, "left") + offset
            ranges[:, column + 1] = np.searchsorted(lefts, everyone, "right") + offset
        ranges[:, COARSE] = self.coarse
        return KernelGrammar(rules, ranges)

    @cached_property
    def probabilities(self) -> KernelGrammar:
        """`kernel` with probabilities for weights."""
        rules = self.kernel.rules.copy()
        rules["weight"] = np.exp(rules["weight"])
        return KernelGrammar(rules, self.kernel.ranges)

    @cached_property
    def closure(self) -> np.ndarray:
        """float64 (2, S, S): sums over unary chains from one symbol down to another, and the transpose.

        Raises ModelFormatError when chains do not end with probability 1.
        """
        n = len(self.names)
        step = np.zeros((n, n), dtype=SCORE)
        step[self.unary[:, 0], self.unary[:, 1]] = np.exp(self.unary_weight)
        try:
            closure = np.linalg.inv(np.eye(n) - step)
        except np.linalg.LinAlgError:
            closure = np.full((n, n), -1.0)
        if not np.all(closure >= -1e-9):
            raise ModelFormatError("the grammar has unary rules that lead back to themselves for ever; train it again")
        closure = np.maximum(closure, 0.0)
        closure[closure < 1e-300] = 0.0
        return np.ascontiguousarray(np.stack([closure, closure.T]))

    def leaves(self, classes: np.ndarray, tags: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """(leaves ITEM, leaf_from int32 (n + 1,)) of a sentence: what tags its words may have, in log probability.

        `classes` int32 (n,). `tags` int32 (n,): the given tag of each word, whose symbols alone are allowed; -1 for a
        word without one, None when no word has one.
        """
        found, leaf_from = [], np.zeros(len(classes) + 1, dtype=INDEX)
        given = [-1] * len(classes) if tags is None else tags.tolist()
        for t, (number, tag) in enumerate(zip(classes.tolist(), given, strict=True)):
            entry = self._leaves.get((number, tag))
            if entry is None:
                entry = self._leaves[number, tag] = self._leaves_of(number, tag)
            found.append(entry)
            leaf_from[t + 1] = leaf_from[t] + len(entry)
        return np.concatenate(found), leaf_from

    def _leaves_of(self, number: int, tag: int) -> np.ndarray:
        e = self.emissions
        low, high = int(e.from_class[number]), int(e.from_class[number + 1])
        symbols, weight = e.symbol[low:high], e.weight[low:high]
        wanted = np.flatnonzero((self.kind == TAG) & (self.base == tag))
        if tag >= 0 and len(wanted):
            here = np.isin(symbols, wanted)
            symbols, weight = (symbols[here], weight[here]) if here.any() else (wanted, e.floor[wanted])
        leaves = np.zeros(len(symbols), dtype=ITEM)
        leaves["symbol"], leaves["score"] = symbols, weight
        leaves["rule"] = leaves["split"] = -1
        return leaves

    @cached_property
    def _leaves(self) -> dict[tuple[int, int], np.ndarray]:
        """The leaves of (class, tag) pairs met so far: as many as there are, so it never grows out of bounds."""
        return {}


@dataclass(frozen=True)
class LatentPart:
    """A grammar with latent annotations over the S symbols of the coarse grammar.

    `sizes` int32 (S,): latent values of each symbol. `rules` int32 (R, 3): parent, left, right (-1: unary). `values`
    float64: their probabilities, block after block, [y, z, x] for X -> Y Z and [y, x] for X -> Y (x of the parent).
    `emissions`: of all latent values, those of symbol 0 first.

    Raises ModelFormatError when they do not fit together.
    """

    sizes: np.ndarray
    rules: np.ndarray
    values: np.ndarray
    emissions: Emissions

    def __post_init__(self) -> None:
        n = len(self.sizes)
        if self.rules.shape != (len(self.rules), 3) or not len(self.rules) or int(self.sizes.min(initial=0)) < 0:
            raise ModelFormatError("a latent grammar without rules, or with sizes below 0; write the model again")
        low, high = int(self.rules[:, :2].min()), int(self.rules.max())
        if low < 0 or high >= n or int(self.rules[:, 2].min()) < -1:
            raise ModelFormatError(f"a latent rule names a symbol outside of the {n} there are; write the model again")
        if int(self.starts[-1]) != len(self.values) or not bool(np.all((self.values >= 0.0) & (self.values <= 1.0))):
            raise ModelFormatError("the latent rules' probabilities do not fit their sizes; write the model again")
        e, total = self.emissions, int(self.sizes.sum())
        if len(e.floor) != total or len(e.symbol) != len(e.weight) or len(e.symbol) != int(e.from_class[-1]):
            raise ModelFormatError("the latent emissions' tables do not fit together; write the model again")
        if len(e.symbol) and not 0 <= int(e.symbol.min()) <= int(e.symbol.max()) < total:
            raise ModelFormatError("a latent emission names a value that is not there; write the model again")

    @cached_property
    def starts(self) -> np.ndarray:
        """int64 (R + 1,): where the rules' blocks begin in `values`."""
        wide = np.concatenate([self.sizes, [1]]).astype(OFFSET)
        return np.concatenate([[0], np.cumsum(wide[self.rules].prod(axis=1))]).astype(OFFSET)

    @cached_property
    def first(self) -> np.ndarray:
        """int64 (S + 1,): the number of each symbol's first latent value."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(OFFSET)

    @cached_property
    def kernel(self) -> LatentRules:
        """The rules sorted by left child, for the kernels: binary ones, then unary ones; rows of zeros left out."""
        is_unary = self.rules[:, 2] < 0
        order = np.lexsort((self.rules[:, 0], self.rules[:, 2], self.rules[:, 1], is_unary))
        parent, left, right = self.rules[order].T
        n_binary = int(np.count_nonzero(~is_unary))
        ranges = np.zeros((len(self.sizes), 4), dtype=INDEX)
        everyone = np.arange(len(self.sizes))
        for column, lefts, offset in ((0, left[:n_binary], 0), (2, left[n_binary:], n_binary)):
            ranges[:, column] = np.searchsorted(lefts, everyone, "left") + offset
            ranges[:, column + 1] = np.searchsorted(lefts, everyone, "right") + offset
        wide = np.concatenate([self.sizes, [1]]).astype(OFFSET)
        n_rows, width = wide[left] * wide[right], wide[parent]
        rule = np.repeat(np.arange(len(order)), n_rows)
        row = np.arange(len(rule)) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
        begin = self.starts[:-1][order][rule] + row * width[rule]
        at_all, of = _segments(begin, width[rule])
        kept = np.bincount(of, self.values[at_all] > 0.0, len(rule)) > 0.0
        rule, row, begin = rule[kept], row[kept], begin[kept]
        row_from = np.searchsorted(rule, np.arange(len(order) + 1))
        at_all, _ = _segments(begin, width[rule])
        sizes = np.concatenate([[0], np.cumsum(width[rule])]).astype(OFFSET)
        return LatentRules(
            self.sizes.astype(INDEX), ranges, np.ascontiguousarray(parent), np.ascontiguousarray(left),
            np.ascontiguousarray(right), row_from.astype(INDEX),
            np.stack(np.divmod(row, wide[right][rule]), axis=1).astype(INDEX), sizes[row_from[:-1]],
            np.ascontiguousarray(self.values[at_all]),
        )  # fmt: skip

    def vectors(self, number: int, tag_symbols: np.ndarray | None) -> list[tuple[int, np.ndarray]]:
        """(symbol, probabilities of a word of class `number` under each latent value) of the tags that the word may
        have: all that the class is known with, or the given symbols alone."""
        e = self.emissions
        low, high = int(e.from_class[number]), int(e.from_class[number + 1])
        values, weight = e.symbol[low:high], np.exp(e.weight[low:high])
        owner = np.searchsorted(self.first, values, "right") - 1
        wanted = np.unique(owner) if tag_symbols is None else tag_symbols
        known = np.isin(wanted, owner)
        found = []
        for symbol in (wanted[known] if known.any() else wanted).tolist():
            first, last = int(self.first[symbol]), int(self.first[symbol + 1])
            vector = np.zeros(last - first)
            if known.any():
                here = owner == symbol
                vector[values[here] - first] = weight[here]
            else:
                vector[:] = np.exp(e.floor[first:last])
            found.append((symbol, vector))
        return found


def _segments(begin: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Places of the segments that begin at `begin`, one after the other; the segment of each place.)"""
    of = np.repeat(np.arange(len(begin)), length)
    return np.arange(len(of)) - np.repeat(np.cumsum(length) - length, length) + begin[of], of


@dataclass(frozen=True)
class PcfgModel:
    """A PCFG with everything that a parser needs.

    `labels` (TOP among them), `tags`: what trees show. `words`: the word classes. `fine`: the grammar; `coarse`: its
    projection. `recipe`: names of preprocessing steps. `given_tags`: whether a word may only have the tag it comes
    with. `meta`: plain data. `latent`: grammars with latent annotations over the coarse grammar's symbols, of which the
    parser takes the product; where there are some, `fine` is not used. `pruners`: smaller ones, which say first what
    the others may leave out. `candidates`: a grammar with the same tables whose symbols are finer than the coarse
    ones, for the parser's decoder "rerank"; None where there is none.

    Raises ModelFormatError when the parts do not fit together.
    """

    labels: SymbolTable
    tags: SymbolTable
    words: WordClasses
    fine: PcfgGrammar
    coarse: PcfgGrammar
    recipe: tuple[str, ...]
    given_tags: bool
    meta: dict[str, Any] = field(default_factory=dict)
    latent: tuple[LatentPart, ...] = ()
    pruners: tuple[LatentPart, ...] = ()
    candidates: PcfgGrammar | None = None

    @property
    def grammars(self) -> tuple[PcfgGrammar, ...]:
        """The grammars without latent annotations: fine, coarse, and candidates where there are some."""
        return (self.fine, self.coarse) if self.candidates is None else (self.fine, self.coarse, self.candidates)

    def __post_init__(self) -> None:
        Recipe(self.recipe)
        for part in (*self.pruners, *self.latent):
            if len(part.sizes) != len(self.coarse.names) or len(part.emissions.from_class) != len(self.words) + 1:
                raise ModelFormatError("a latent grammar is of other symbols or word classes; write the model again")
            if int(part.sizes[self.root(self.coarse)]) != 1:
                raise ModelFormatError("the root of a latent grammar has several values; write the model again")
        for grammar in self.grammars:
            if int(grammar.coarse[-1]) >= len(self.coarse.names) or int(grammar.coarse[0]) < 0:
                raise ModelFormatError("a symbol's coarse symbol is not in the coarse grammar; write the model again")
            if len(grammar.emissions.from_class) != len(self.words) + 1:
                raise ModelFormatError("the emissions are of other word classes; write the model again")
            for kind, table in ((PHRASE, self.labels), (TAG, self.tags)):
                base = grammar.base[grammar.kind == kind]
                if len(base) and not 0 <= int(base.min()) <= int(base.max()) < len(table):
                    raise ModelFormatError("a symbol shows a label that is not in the table; write the model again")
            self.root(grammar)

    @cached_property
    def _roots(self) -> dict[int, int]:
        return {}

    def root(self, grammar: PcfgGrammar) -> int:
        """The symbol of the root. Raises ModelFormatError when it is not there or not alone."""
        if id(grammar) not in self._roots:
            self._roots[id(grammar)] = self._find_root(grammar)
        return self._roots[id(grammar)]

    def _find_root(self, grammar: PcfgGrammar) -> int:
        found = np.flatnonzero((grammar.kind == PHRASE) & (grammar.base == self.labels.number(TOP)))
        if TOP not in self.labels or len(found) != 1:
            raise ModelFormatError(f"a grammar needs one root symbol {TOP}, this one has {len(found)}; train it again")
        return int(found[0])

    def groups(self, grammar: PcfgGrammar | None = None) -> np.ndarray:
        """int32 (coarse symbols + 1,): where the symbols of each coarse symbol stand in a grammar, the fine one if not
        given."""
        return np.searchsorted((grammar or self.fine).coarse, np.arange(len(self.coarse.names) + 1)).astype(INDEX)

    def fingerprint(self) -> str:
        """Digest of tables and rules (16 hex digits)."""
        digest = hashlib.sha256()
        for table in (self.labels, self.tags, self.words.classes, self.fine.names, self.coarse.names, self.recipe):
            digest.update("\0".join(table).encode() + b"\1")
        for grammar in self.grammars:
            for array in _arrays("", grammar).values():
                digest.update(np.ascontiguousarray(array).tobytes() + b"\2")
        for part in (*self.pruners, *self.latent):
            for array in _latent_arrays("", part).values():
                digest.update(np.ascontiguousarray(array).tobytes() + b"\3")
        if self.candidates is not None:
            digest.update("\0".join(self.candidates.names).encode() + b"\4")
        return digest.hexdigest()[:16]


def write_model(model: PcfgModel) -> bytes:
    """The model as a container; equal models give equal bytes."""
    meta = {
        "version": VERSION,
        "fingerprint": model.fingerprint(),
        "labels": list(model.labels),
        "tags": list(model.tags),
        "classes": list(model.words.classes),
        "fine_names": list(model.fine.names),
        "coarse_names": list(model.coarse.names),
        "recipe": list(model.recipe),
        "given_tags": model.given_tags,
        "meta": model.meta,
    }
    arrays = {**_arrays("fine.", model.fine), **_arrays("coarse.", model.coarse)}
    for number, part in enumerate((*model.pruners, *model.latent)):
        arrays.update(_latent_arrays(f"latent{number}.", part))
    more: dict[str, Any] = {"n_latent": len(model.latent), "n_pruners": len(model.pruners)}
    if model.candidates is not None:
        more["candidate_names"] = list(model.candidates.names)
        arrays.update(_arrays("candidates.", model.candidates))
    return container_to_bytes(KIND, {**meta, **more}, arrays)


def read_model(data: bytes) -> PcfgModel:
    """The model of a container.

    Raises ModelFormatError if the bytes are no container of kind "pcfg", are damaged, of another version, or do not
    have the fingerprint they name.
    """
    meta, arrays = container_from_bytes(data, KIND)
    if meta.get("version") != VERSION:
        raise ModelFormatError(
            f"the PCFG has version {meta.get('version')!r}; this release reads version {VERSION}: "
            "install the release that made it, or train it again"
        )
    try:
        n_pruners = int(meta.get("n_pruners", 0))
        count = n_pruners + int(meta.get("n_latent", 0))
        latent = tuple(_latent(f"latent{number}.", arrays) for number in range(count))
        names = meta.get("candidate_names")
        model = PcfgModel(
            SymbolTable(meta["labels"]),
            SymbolTable(meta["tags"]),
            WordClasses(meta["classes"]),
            _grammar(meta["fine_names"], "fine.", arrays),
            _grammar(meta["coarse_names"], "coarse.", arrays),
            tuple(meta["recipe"]),
            bool(meta["given_tags"]),
            dict(meta["meta"]),
            latent[n_pruners:],
            latent[:n_pruners],
            None if names is None else _grammar(names, "candidates.", arrays),
        )
        fingerprint, named = model.fingerprint(), meta["fingerprint"]
    except ModelFormatError:
        raise
    except (DtparseError, KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFormatError(
            f"the model's parts do not fit together ({type(error).__name__}: {error}); fetch or write it again"
        ) from error
    if fingerprint != named:
        raise ModelFormatError(f"the model has fingerprint {fingerprint}, but names {named!r}; fetch or write it again")
    return model


def _arrays(prefix: str, grammar: PcfgGrammar) -> dict[str, np.ndarray]:
    e = grammar.emissions
    return {
        prefix + name: array
        for name, array in {
            "kind": grammar.kind, "base": grammar.base, "coarse": grammar.coarse,
            "frequency": grammar.frequency,
            "binary": grammar.binary, "binary_weight": grammar.binary_weight,
            "unary": grammar.unary, "unary_weight": grammar.unary_weight,
            "from_class": e.from_class, "symbol": e.symbol, "weight": e.weight, "floor": e.floor,
        }.items()
    }  # fmt: skip


def _grammar(names: Sequence[str], prefix: str, arrays: dict[str, np.ndarray]) -> PcfgGrammar:
    def get(name: str, dtype: Any) -> np.ndarray:
        return np.ascontiguousarray(arrays[prefix + name].astype(dtype))

    return PcfgGrammar(
        tuple(names), get("kind", np.int8), get("base", INDEX), get("coarse", INDEX), get("frequency", SCORE),
        get("binary", INDEX), get("binary_weight", SCORE), get("unary", INDEX), get("unary_weight", SCORE),
        Emissions(get("from_class", OFFSET), get("symbol", INDEX), get("weight", SCORE), get("floor", SCORE)),
    )  # fmt: skip


def _latent_arrays(prefix: str, part: LatentPart) -> dict[str, np.ndarray]:
    e = part.emissions
    return {
        prefix + name: array
        for name, array in {
            "sizes": part.sizes, "rules": part.rules, "values": part.values,
            "from_class": e.from_class, "symbol": e.symbol, "weight": e.weight, "floor": e.floor,
        }.items()
    }  # fmt: skip


def _latent(prefix: str, arrays: dict[str, np.ndarray]) -> LatentPart:
    def get(name: str, dtype: Any) -> np.ndarray:
        return np.ascontiguousarray(arrays[prefix + name].astype(dtype))

    emissions = Emissions(get("from_class", OFFSET), get("symbol", INDEX), get("weight", SCORE), get("floor", SCORE))
    return LatentPart(get("sizes", INDEX), get("rules", INDEX), get("values", SCORE), emissions)
