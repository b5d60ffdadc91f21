"""What is compiled ahead for the boosted-tree parser; see `model.ahead`."""

from typing import Any

import numpy as np

from ...features.trees.lexicon import Lexicon
from ...features.trees.tables import get_templates
from ...kernels.trees.agenda import STATE
from ...kernels.trees.features import extract
from ...kernels.trees.gate import gate_windows
from ...kernels.trees.rules import rules_batch
from ...kernels.trees.score import WINDOW_SEED, make_cache, score_windows
from ...kernels.trees.search import rebuild
from ...kernels.trees.spines import no_offers, prune_windows
from ...kernels.trees.state import list_windows, make_nodes
from ...trees.heads import COLLINS
from .model import compile_model, untrained


def arguments() -> dict[Any, tuple[Any, ...]]:
    """Arguments of the types that every model's have, for each kernel that is worth compiling ahead."""
    lexicon = Lexicon.build(["S", "TOP"], ["NN"], ["*rare*"], "NN")
    model = untrained(lexicon, get_templates("standard"), COLLINS, "shift_reduce", 2, ())
    compiled = compile_model(model)
    s, scratch = compiled.search, compiled.scratch(1)
    tokens, tags = lexicon.encode(["a"], ["NN"]), np.zeros(1, dtype=np.int32)
    nodes, zero, offers = make_nodes(4, 4), np.int64(0), no_offers()
    frontier, windows = scratch.frontier, (scratch.windows_i, scratch.windows_j)
    return {
        extract: (
            s.table, s.window_atoms, zero, nodes, frontier, zero, zero, tokens, zero, zero, zero, zero,
            scratch.features, zero,
        ),
        gate_windows: (
            s.gate, zero, tokens, nodes, frontier, zero, zero, *windows, scratch.window_labels, zero, scratch.gate_keys,
        ),
        list_windows: (s.grammar, nodes, tokens, frontier, zero, zero, *windows),
        prune_windows: (
            offers, s.grammar, s.heads, nodes, frontier, zero, zero, scratch.features.children, *windows, zero,
            scratch.window_labels,
        ),
        rules_batch: (s.window_rules, scratch.window, scratch.features.atoms, zero, zero, scratch.scores),
        rebuild: (
            s.grammar, s.heads, tokens, tags, zero, offers, nodes, frontier, scratch.features.children,
            np.zeros(1, dtype=STATE), zero, np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.float64),
        ),
        score_windows: (
            s.grammar, s.heads, s.table, s.window_atoms, s.window_rules, scratch.window, WINDOW_SEED, tokens, zero,
            nodes, frontier, zero, zero, *windows, zero, zero, scratch.features, scratch.scores, make_cache(2, 2),
            s.labels,
        ),
    }  # fmt: skip


HERE = (extract, gate_windows, list_windows, prune_windows)
THERE = (rules_batch, rebuild, score_windows)
"""The two shares. The last kernel needs the first of the other share, which is done by then."""
