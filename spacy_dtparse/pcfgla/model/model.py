"""Model of a PCFG parser: annotated symbols, binary and unary rules, emissions of word classes.

A model contains two grammars: the one it parses with, and its coarse projection (vertical order 1, horizontal order 0),
which prunes the chart at low cost. It may also contain grammars with latent annotations, which split the symbols of the
projection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ...checks import Setting, boolean, integer, one_of
from ...dtypes import INDEX, SCORE
from ...errors import ModelFormatError
from ...model_io.model_format import ModelFormat, part_of
from ...model_io.schema import LABEL, MAX_STRINGS, NAME, WORD, Array, Schema, a, finite, list_of, optional, plain, texts
from ...model_io.schema import TAG as TAG_TEXT
from ...stored_names import to_stored
from ...symbols import Memo, SymbolTable
from ...trees.transforms import STEPS, Recipe
from ...trees.tree import TOP
from ..features import WordClasses
from ..kernels.cky import ITEM, RULE
from .latent_part import Emissions, LatentPart, as_type, child_ranges, declare_emissions, pair_starts

KIND = "pcfg"
PHRASE, PART, TAG = 0, 1, 2
"""Kinds of symbols: a constituent, a part of one (see `training.pcfgla.binarise`), a part of speech."""
VERSION = 1
MAX_COARSE, MAX_SYMBOLS, MAX_PARTS = 2048, 2**14, 32
"""Maximum numbers of symbols of the coarse grammar (charts store pairs of them), of symbols of the other grammars, and
of latent grammars."""
_MAX_CHAIN_COUNT = 1e6
"""Maximum expected number of occurrences of a symbol in chains of unary rules."""


def part_side(name: str) -> str:
    """Return the side whose children come next in a part with this name, "left" or "right" (`training.pcfgla.binarise`
    writes "|left<" or "|right<" in it); "" if labels in the name make it ambiguous."""
    found = [side for side in ("left", "right") if f"|{side}" in name]
    return found[0] if len(found) == 1 else ""


class KernelGrammar(NamedTuple):
    """A grammar for the kernels: `rules` RULE (R,), `ranges` int32 (S, 4); see `pcfgla.kernels.cky`. `left` int32 (R,):
    the rules' left or only children."""

    rules: np.ndarray
    ranges: np.ndarray
    left: np.ndarray


@dataclass(frozen=True)
class PcfgGrammar:
    """Rules over S symbols.

    `names`: readable and unique. `kind` int8 (S,): PHRASE, PART or TAG. `base` int32 (S,): id, in the model's tables,
    of the label (PHRASE) or tag (TAG) in a tree; -1 for parts. `coarse` int32 (S,): id of the symbol in the coarse
    grammar, ascending. `frequency` float64 (S,): relative frequency of a symbol among all nodes of the training trees.
    `binary` int32 (B, 3), `unary` int32 (U, 2): parent, left, right; `binary_weight`, `unary_weight` float64: log
    probabilities.

    Raises ModelFormatError if shapes are inconsistent, ids are out of range, or a weight is above 0 or not a number.
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
            if rules.shape != (len(weight), width):
                raise ModelFormatError(f"rules of shape {rules.shape}, {len(weight)} weights; write the model again")
            if len(rules) and not (0 <= int(rules.min()) and int(rules.max()) < n):
                raise ModelFormatError(f"a rule names a symbol outside of the {n} there are; write the model again")
            if not bool(np.all(weight <= 0.0)):
                raise ModelFormatError("a rule's log probability is above 0 or not a number; write the model again")
        self.emissions.check(n, "symbol")
        if int(self.emissions.from_class[0]) != 0 or np.any(np.diff(self.emissions.from_class) < 1):
            fault = "the emissions' tables do not fit together: a word class has no tag"
            raise ModelFormatError(f"{fault}; write the model again")
        if np.any(np.diff(self.coarse) < 0):
            raise ModelFormatError("symbols are not sorted by their coarse symbol; write the model again")

    @cached_property
    def kernel(self) -> KernelGrammar:
        """Rules for the kernels, sorted by left child."""
        binary = np.lexsort((self.binary[:, 0], self.binary[:, 2], self.binary[:, 1]))
        unary = np.lexsort((self.unary[:, 0], self.unary[:, 1]))
        rules = np.zeros(len(binary) + len(unary), dtype=RULE)
        rules["weight"] = np.concatenate([self.binary_weight[binary], self.unary_weight[unary]])
        rules["parent"] = np.concatenate([self.binary[binary, 0], self.unary[unary, 0]])
        rules["right"] = np.concatenate([self.binary[binary, 2], np.full(len(unary), -1)])
        lefts = self.binary[binary, 1], self.unary[unary, 1]
        return KernelGrammar(rules, child_ranges(len(self.names), *lefts), np.concatenate(lefts))

    @cached_property
    def probabilities(self) -> KernelGrammar:
        """`kernel` with probabilities as weights."""
        rules = self.kernel.rules.copy()
        rules["weight"] = np.exp(rules["weight"])
        return self.kernel._replace(rules=rules)

    @cached_property
    def pair_from(self) -> np.ndarray:
        """int32 (S, S + 1): `pair_starts` of the rules of `kernel`."""
        n_binary = len(self.binary)
        return pair_starts(len(self.names), self.kernel.left[:n_binary], self.kernel.rules["right"][:n_binary])

    @cached_property
    def joins(self) -> np.ndarray:
        """uint8 (S, S): whether some binary rule has the children b and c."""
        return (np.diff(self.pair_from, axis=1) > 0).astype(np.uint8)

    @cached_property
    def closure(self) -> np.ndarray:
        """float64 (2, S, S): sums over unary chains from one symbol down to another, and the transpose.

        Raises ModelFormatError unless chains end with probability 1.
        """
        n = len(self.names)
        step = np.zeros((n, n), dtype=SCORE)
        step[self.unary[:, 0], self.unary[:, 1]] = np.exp(self.unary_weight)
        try:
            closure = np.linalg.inv(np.eye(n) - step)
        except np.linalg.LinAlgError:
            closure = np.full((n, n), -1.0)
        if not np.all((closure >= -1e-9) & (closure <= _MAX_CHAIN_COUNT)):
            raise ModelFormatError("the grammar has endless cycles of unary rules; train it again")
        closure = np.maximum(closure, 0.0)
        closure[closure < 1e-300] = 0.0
        return np.ascontiguousarray(np.stack([closure, closure.T]))

    def leaves(self, classes: np.ndarray, tags: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return (leaves ITEM, leaf_from int32 (n + 1,)) of a sentence: the possible tags of its words with their log
        probabilities.

        `classes` int32 (n,). `tags` int32 (n,): the given tag of each word, which restricts it to the symbols of that
        tag; -1 for a word without one, None if no word has one.
        """
        given = [-1] * len(classes) if tags is None else tags.tolist()
        known = self._leaves
        found = [known[pair] for pair in zip(classes.tolist(), given, strict=True)]
        ends = accumulate(len(leaves) // ITEM.itemsize for leaves in found)
        return np.frombuffer(bytearray().join(found), dtype=ITEM), np.array([0, *ends], dtype=INDEX)

    def _leaves_of(self, pair: tuple[int, int]) -> bytes:
        """Return the leaves of a word (class, given tag) as bytes, which are faster to concatenate than arrays."""
        (class_id, tag), e = pair, self.emissions
        low, high = int(e.from_class[class_id]), int(e.from_class[class_id + 1])
        symbols, weight = e.symbol[low:high], e.weight[low:high]
        wanted = np.flatnonzero((self.kind == TAG) & (self.base == tag))
        if tag >= 0 and len(wanted):
            here = np.isin(symbols, wanted)
            symbols, weight = (symbols[here], weight[here]) if here.any() else (wanted, e.floor[wanted])
        leaves = np.full(len(symbols), -1, dtype=ITEM)
        leaves["symbol"], leaves["score"] = symbols, weight
        return leaves.tobytes()

    @cached_property
    def _leaves(self) -> Memo[tuple[int, int], bytes]:
        return Memo(self._leaves_of)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a file contains, by name; with the symbols' names `from_arrays` is the inverse."""
        return {**{name: getattr(self, name) for name in _ARRAYS}, **to_stored(self.emissions)}

    @classmethod
    def from_arrays(cls, names: Sequence[str], arrays: Mapping[str, np.ndarray]) -> PcfgGrammar:
        """Build a grammar from the names of its symbols and its `arrays`."""
        columns = {name: as_type(arrays[name], dtype) for name, dtype in _ARRAYS.items()}
        return cls(tuple(names), **columns, emissions=Emissions.from_arrays(arrays))


_ARRAYS: dict[str, Any] = {
    "kind": np.int8, "base": INDEX, "coarse": INDEX, "frequency": SCORE, "binary": INDEX, "binary_weight": SCORE,
    "unary": INDEX, "unary_weight": SCORE,
}  # fmt: skip


@dataclass(frozen=True)
class PcfgModel:
    """A PCFG with all data that a parser needs.

    `labels` (including TOP), `tags`: symbols of trees. `words`: the word classes. `fine`: the grammar; `coarse`: its
    projection. `recipe`: names of preprocessing steps. `given_tags`: whether a word may only have its input tag.
    `meta`: metadata. `latent`: grammars with latent annotations over the coarse grammar's symbols; the parser uses
    their product instead of `fine` if there are any. `pruners`: smaller latent grammars that prune the chart for the
    others. `candidates`: a grammar with the same tables whose symbols are finer than the coarse ones, for the parser's
    decoder "rerank"; None if there is none.

    Raises ModelFormatError if the parts are inconsistent.
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
        """Grammars without latent annotations: fine, coarse, and candidates if there is one."""
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

    @property
    def binarisation(self) -> str:
        """Name of the binarisation (see `training.pcfgla.binarise`), "" if it is not in `meta`."""
        options = self.meta.get("options") or {}
        return str((options.get("markov") or options).get("binarisation", ""))

    def root(self, grammar: PcfgGrammar) -> int:
        """Return the symbol of the root. Raises ModelFormatError unless there is exactly one."""
        found = np.flatnonzero((grammar.kind == PHRASE) & (grammar.base == self.labels.id_of(TOP)))
        if TOP not in self.labels or len(found) != 1:
            raise ModelFormatError(f"a grammar needs one root symbol {TOP}, this one has {len(found)}; train it again")
        return int(found[0])

    def groups(self, grammar: PcfgGrammar | None = None) -> np.ndarray:
        """int32 (coarse symbols + 1,): offsets of the symbols of each coarse symbol in a grammar, by default the fine
        one."""
        return np.searchsorted((grammar or self.fine).coarse, np.arange(len(self.coarse.names) + 1)).astype(INDEX)

    def fingerprint(self) -> str:
        """Return the digest of tables and rules (16 hex digits)."""
        digest = hashlib.sha256()
        for table in (self.labels, self.tags, self.words.classes, self.fine.names, self.coarse.names, self.recipe):
            digest.update("\0".join(table).encode() + b"\1")
        for parts, end in ((self.grammars, b"\2"), ((*self.pruners, *self.latent), b"\3")):
            for array in (array for part in parts for array in part.arrays().values()):
                digest.update(array.tobytes() + end)
        if self.candidates is not None:
            digest.update("\0".join(self.candidates.names).encode() + b"\4")
        return digest.hexdigest()[:16]


def _pcfg_to_arrays(model: PcfgModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    meta: dict[str, Any] = {"labels": model.labels.strings, "tags": model.tags.strings, "recipe": model.recipe}
    meta |= {"classes": model.words.classes.strings, "fine_names": model.fine.names, "coarse_names": model.coarse.names}
    meta |= {"given_tags": model.given_tags, "n_latent": len(model.latent), "n_pruners": len(model.pruners)}
    parts: dict[str, PcfgGrammar | LatentPart] = {"fine.": model.fine, "coarse.": model.coarse}
    parts |= {f"latent{index}.": part for index, part in enumerate((*model.pruners, *model.latent))}
    if model.candidates is not None:
        meta["candidate_names"], parts["candidates."] = model.candidates.names, model.candidates
    arrays = {prefix + name: array for prefix, part in parts.items() for name, array in part.arrays().items()}
    return meta, arrays


def _pcfg_from_arrays(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> PcfgModel:
    n_pruners, n_latent = meta["n_pruners"], meta["n_latent"]
    latent = tuple(LatentPart.from_arrays(part_of(arrays, f"latent{k}.")) for k in range(n_pruners + n_latent))

    def grammar(names: str, prefix: str) -> PcfgGrammar:
        return PcfgGrammar.from_arrays(meta[names], part_of(arrays, prefix))

    tables = SymbolTable(meta["labels"]), SymbolTable(meta["tags"]), WordClasses(meta["classes"])
    grammars = grammar("fine_names", "fine."), grammar("coarse_names", "coarse.")
    candidates = None if meta.get("candidate_names") is None else grammar("candidate_names", "candidates.")
    rest: tuple[Any, ...] = tuple(meta["recipe"]), meta["given_tags"], dict(meta["meta"])
    rest += latent[n_pruners:], latent[:n_pruners], candidates
    return PcfgModel(*tables, *grammars, *rest)


def _declare_arrays(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Array]:
    declared = {**_declare_grammar("fine"), **_declare_grammar("coarse")}
    if meta.get("candidate_names") is not None:
        declared |= _declare_grammar("candidates")
    for index in range(meta["n_pruners"] + meta["n_latent"]):
        declared |= LatentPart.declare_arrays(f"latent{index}.")
    return declared


def _declare_grammar(name: str) -> dict[str, Array]:
    """Declare the arrays of a PcfgGrammar in a file."""
    binary, unary = f"{name} binary rules", f"{name} unary rules"
    columns = {
        "kind": Array("int8", (name,), PHRASE, TAG),
        "base": Array("int32", (name,), -1),
        "coarse": Array("int32", (name,), 0, below="coarse", order="level"),
        "frequency": Array("float64", (name,), 0, 1 + 1e-9),
        "binary": Array("int32", (binary, 3), 0, below=name),
        "binary_weight": Array("float64", (binary,), maximum=0),
        "unary": Array("int32", (unary, 2), 0, below=name),
        "unary_weight": Array("float64", (unary,), maximum=0),
    }
    return {f"{name}.{column}": array for column, array in columns.items()} | declare_emissions(f"{name}.", name)


_OPTIONS = a(Setting(lambda value: isinstance(value, dict) and isinstance(value.get("markov", {}), dict), "a dict"))
SCHEMA = Schema(
    fields={
        "labels": texts(LABEL, 1, MAX_COARSE), "tags": texts(TAG_TEXT, 0, MAX_COARSE),
        "recipe": list_of(a(one_of(*STEPS)), 0, len(STEPS)), "classes": texts(WORD, 1, MAX_STRINGS - 1),
        "fine_names": texts(NAME, 1, MAX_SYMBOLS), "coarse_names": texts(NAME, 1, MAX_COARSE),
        "given_tags": a(boolean()), "n_latent": a(integer(0, MAX_PARTS)), "n_pruners": a(integer(0, MAX_PARTS)),
    },
    optional_fields={"candidate_names": optional(texts(NAME, 1, MAX_SYMBOLS))},
    arrays=_declare_arrays,
    golden_fields={"cost": finite()},
    sizes=lambda fields: {
        "fine": len(fields["fine_names"]), "coarse": len(fields["coarse_names"]),
        "candidates": len(fields.get("candidate_names") or ()), "classes and one": len(fields["classes"]) + 1,
    },
    about=plain(options=_OPTIONS),
)  # fmt: skip
FORMAT = ModelFormat(KIND, VERSION, "PCFG", _pcfg_to_arrays, _pcfg_from_arrays, SCHEMA)
read_model, write_model = FORMAT.read, FORMAT.write
