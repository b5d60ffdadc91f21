"""Model of the boosted-tree parser: tables, templates, atoms and ensembles, and the compiled form for the search."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dtypes import BITS, INDEX, OFFSET, SCORE
from ...errors import ConfigError
from ...model_io.file_backed import FileBackedBytes
from ...trees.heads import HeadRules
from ...trees.heads_compiled import compile_head_rules
from ..features.lexicon import Lexicon
from ..features.templates import Templates, compile_templates, max_atoms
from ..kernels.atoms import AtomMap, insert_keys
from ..kernels.features import PARTS_WIDTH, FeatureScratch, TemplateTable
from ..kernels.pruning import LABEL_BITS, LEVELS
from ..kernels.rules import make_scratch as make_rule_scratch
from ..kernels.score import SearchModel, SearchScratch
from ..kernels.state import STRATEGIES, Grammar, make_windows
from ..kernels.window_filter import N_KEYS, N_VALUES
from ..kernels.window_filter import REACH as FILTER_REACH
from .ensemble import LabelEnsemble, empty_ensemble
from .rules import compile_rules
from .window_filter import WindowFilter

SHIFT = "*shift*"
"""Name of the shift classifier, which follows the labels."""


@dataclass(frozen=True)
class DtreeModel:
    """Data of a boosted-tree parser.

    `atoms`: ids of the atoms that some tree tests. `parts` int32 (n_atoms, PARTS_WIDTH): the templates and values of
    hashed atoms. `ensembles`: one per label of `lexicon.labels`, then the shift classifier's. `recipe`: names of the
    preprocessing steps. `meta`: metadata (treebanks, licence, scores, date). `window_filter`: drops unlikely windows
    before scoring. `span_model`: the bytes of the span model whose marginals the templates test; empty: there is none.
    `labels`: the labels that the span model allows for a window, see `dtparse.kernels.pruning`.
    """

    lexicon: Lexicon
    templates: Templates
    heads: HeadRules
    strategy: str
    max_arity: int
    edge_punctuation: bool
    recipe: tuple[str, ...]
    atoms: AtomMap
    parts: np.ndarray
    ensembles: Sequence[LabelEnsemble]
    meta: dict[str, Any] = field(default_factory=dict)
    window_filter: WindowFilter = field(default_factory=WindowFilter)
    span_model: bytes | FileBackedBytes = b""
    labels: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0), dtype=BITS))

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ConfigError(f"unknown strategy {self.strategy!r}; allowed are {', '.join(STRATEGIES)}")
        if not 2 <= self.max_arity <= 64:
            raise ConfigError(f"max_arity is {self.max_arity}; it must be between 2 and 64")
        if len(self.ensembles) != len(self.lexicon.labels) + 1:
            counts = f"{len(self.ensembles)} ensembles for {len(self.lexicon.labels)} labels"
            raise ConfigError(f"{counts}; there must be one per label and one for shift")
        if (self.templates.uses_marginals or self.span_model) and self.labels.shape != (
            2,
            LEVELS,
            len(self.lexicon.chains) + 1,
        ):
            raise ConfigError(
                f"the table of the span model's labels has the shape {self.labels.shape}, which does not fit "
                f"{len(self.lexicon.chains)} label chains; train the model again"
            )
        if self.labels.size and len(self.lexicon.labels) > LABEL_BITS:
            raise ConfigError(
                f"{len(self.lexicon.labels)} labels with a span model; at most {LABEL_BITS} are possible: train "
                "without one"
            )

    @property
    def n_atoms(self) -> int:
        return int(self.atoms.state[0])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classifiers, in the order of `ensembles`."""
        return (*self.lexicon.labels.strings, SHIFT)

    def grammar(self) -> Grammar:
        """Return strategy, arity and label ids in the kernels' format."""
        of_templates = self.templates.reach(), self.templates.reach_right()
        n_labels = len(self.lexicon.labels)
        return make_grammar(self.strategy, self.max_arity, self.edge_punctuation, n_labels, *of_templates)

    def fingerprint(self) -> str:
        """Return the digest of template table, symbol tables, head rules and grammar (16 hex digits)."""
        tables = [self.templates.fingerprint(), self.lexicon.fingerprint(), self.heads.to_dict()]
        grammar = [self.strategy, self.max_arity, self.edge_punctuation, list(self.recipe)]
        return hashlib.sha256(json.dumps(tables + grammar, sort_keys=True).encode()).hexdigest()[:16]


def make_grammar(
    strategy: str, max_arity: int, edge_punctuation: bool, n_labels: int, reach: int, reach_right: int = -1
) -> Grammar:
    """Build a `dtparse.kernels.state.Grammar`; TOP is label n_labels - 1. The window filter's reach is a lower bound of
    the templates' reach."""
    first = [STRATEGIES.index(strategy), max_arity, int(edge_punctuation), n_labels, n_labels - 1]
    return Grammar(np.array([*first, max(reach, FILTER_REACH), reach_right], dtype=INDEX))


def hash_table(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Build an open-addressing table (uint64 keys, int32 values; at most half full) of the given pairs, for AtomMap."""
    size = max(8, 1 << (2 * len(keys)).bit_length())
    new_keys, new_values = np.zeros(size, dtype=np.uint64), np.full(size, -1, dtype=INDEX)
    order = np.argsort(keys)  # the table does not depend on the order of the pairs
    insert_keys(keys[order], values[order].astype(INDEX), new_keys, new_values)
    return new_keys, new_values


def compose(atoms: AtomMap, new_ids: np.ndarray) -> AtomMap:
    """Return an AtomMap that maps atom a to `new_ids[a]` (int32, -1: unused); keys of unused atoms are removed."""
    direct = np.full(len(atoms.direct), -1, dtype=INDEX)
    used = np.flatnonzero(atoms.direct >= 0)
    direct[used] = new_ids[atoms.direct[used]]
    used = np.flatnonzero(atoms.keys)
    values = new_ids[atoms.values[used]]
    keys, values = hash_table(atoms.keys[used][values >= 0], values[values >= 0])
    n_atoms = int(new_ids.max(initial=-1)) + 1
    return AtomMap(direct, keys, values, np.array([n_atoms, int((values >= 0).sum()), 0], dtype=OFFSET))


def used_atoms(ensembles: Sequence[LabelEnsemble], n_atoms: int) -> np.ndarray:
    """Return new ids, int32 (n_atoms,), of the atoms that some tree tests, -1 for the others."""
    used = np.zeros(n_atoms, dtype=bool)
    for ensemble in ensembles:
        used[ensemble.atom[ensemble.atom >= 0]] = True
    return np.where(used, np.cumsum(used) - 1, -1).astype(INDEX)


def renumber(ensemble: LabelEnsemble, new_ids: np.ndarray) -> LabelEnsemble:
    """Replace each atom a of the ensemble by `new_ids[a]`."""
    return ensemble._replace(atom=np.append(new_ids, INDEX(-1))[ensemble.atom])  # -1, at a leaf, selects the last


@dataclass(frozen=True)
class CompiledDtree:
    """A model compiled for the search."""

    search: SearchModel
    n_stamps: int

    def scratch(self, n_tokens: int) -> SearchScratch:
        """Allocate working memory for sentences of at most `n_tokens`."""
        grammar, table = self.search.grammar.options, self.search.table
        windows = int(grammar[1]) * (1 if grammar[0] == STRATEGIES.index("shift_reduce") else n_tokens + 1) + 1
        n_labels = int(grammar[3])
        return SearchScratch(
            frontier=np.zeros(n_tokens + 1, dtype=INDEX),
            windows=make_windows(windows),
            scores=np.zeros((windows, n_labels), dtype=SCORE),
            shift=np.zeros((1, 1), dtype=SCORE),
            window_keys=np.zeros(N_KEYS + N_VALUES, dtype=OFFSET),
            features=make_feature_scratch(table, self.n_stamps, windows=int(grammar[1]), tokens=n_tokens),
            window=make_rule_scratch(self.search.window_rules),
            shifts=make_rule_scratch(self.search.shift_rules),
        )


def make_feature_scratch(table: TemplateTable, n_stamps: int, windows: int = 0, tokens: int = 2**16) -> FeatureScratch:
    """Allocate working memory of the feature kernel for atom ids below `n_stamps`. `windows`: number of windows, in
    addition to one, whose atoms it can store. `tokens`: length of the longest sentence."""
    capacity = min(n_stamps + len(table.tuples) + 1, max_atoms(table, tokens))  # equal hashes may repeat a tuple's
    return FeatureScratch(
        position=np.full(len(table.positions) + 1, -1, dtype=INDEX),
        slot=np.full(len(table.slots) + 1, -1, dtype=INDEX),
        atoms=np.zeros(max(capacity, 1) * (1 + windows), dtype=INDEX),
        stamp=np.zeros(max(n_stamps, 1), dtype=INDEX),
        mark=np.zeros(1, dtype=INDEX),
        children=np.zeros(1024, dtype=INDEX),
    )


def compile_model(model: DtreeModel) -> CompiledDtree:
    """Compile a model: templates to codes, well-formed ensembles to rules, atom ids to compact ids of the rules."""
    table, _ = compile_templates(model.templates, model.lexicon.sizes)
    window = compile_rules(model.ensembles[:-1], model.n_atoms)
    shift = compile_rules(model.ensembles[-1:], model.n_atoms)
    search = SearchModel(
        grammar=model.grammar(),
        heads=compile_head_rules(model.heads, model.lexicon.symbols),
        table=table,
        window_atoms=compose(model.atoms, window.atom_map),
        shift_atoms=compose(model.atoms, shift.atom_map),
        window_rules=window,
        shift_rules=shift,
        window_filter=model.window_filter.weights if len(model.window_filter.weights) else np.zeros(1, dtype=np.int16),
        labels=model.labels,
    )
    stamps = 1 + max(int(window.atom_map.max(initial=-1)), int(shift.atom_map.max(initial=-1)))
    return CompiledDtree(search, stamps)


def untrained_model(
    lexicon: Lexicon, templates: Templates, heads: HeadRules, strategy: str, max_arity: int, recipe: tuple[str, ...]
) -> DtreeModel:
    """Return a model without trees, which scores every inference 0: the trainer's initial model, and a baseline."""
    direct = np.full(compile_templates(templates, lexicon.sizes)[1], -1, dtype=INDEX)
    none = np.zeros(0, dtype=INDEX)
    empty = AtomMap(direct, *hash_table(none, none), np.zeros(3, dtype=OFFSET))
    parts = np.zeros((0, PARTS_WIDTH), dtype=INDEX)
    ensembles = tuple(empty_ensemble() for _ in range(len(lexicon.labels) + 1))
    return DtreeModel(lexicon, templates, heads, strategy, max_arity, True, recipe, empty, parts, ensembles)
