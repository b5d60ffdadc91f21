"""Compile the scorer's kernels in a process of their own, while this one loads a model and compiles the rest.

Both write numba's cache; what the one has finished the other reads. It only saves time: without it the same kernels are
compiled in turn.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from ..features.lexicon import Lexicon
from ..features.tables import get_templates
from ..kernels.jit import compile_for
from ..kernels.score import WINDOW_SEED, make_cache, score_windows
from ..kernels.state import make_nodes
from ..trees.heads import COLLINS
from .dtree import compile_model, untrained

_RARE = "*rare*"


def compile_scorer() -> None:
    """Compile the kernels that score candidates, for arguments of the types that every model has."""
    lexicon = Lexicon.build(["S", "TOP"], ["NN"], [_RARE], "NN")
    model = untrained(lexicon, get_templates("standard"), COLLINS, "shift_reduce", 2, ())
    compiled = compile_model(model)
    parts, scratch = compiled.search, compiled.scratch(1)
    tokens, zero = lexicon.encode(["a"], ["NN"]), np.int64(0)
    compile_for(
        score_windows, parts.grammar, parts.heads, parts.table, parts.window_atoms, parts.window_rules, scratch.window,
        WINDOW_SEED, tokens, zero, make_nodes(4, 4), scratch.frontier, zero, zero, scratch.windows_i,
        scratch.windows_j, zero, zero, scratch.features, scratch.scores, make_cache(2, 2),
    )  # fmt: skip


def start_compiling() -> subprocess.Popen | None:
    """Start a process that runs `compile_scorer`; None on a machine of one processor, or where none can be started."""
    if (os.cpu_count() or 1) < 2:
        return None
    root = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.insert(0, {root!r}); from {__name__} import compile_scorer; compile_scorer()"
    try:
        return subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return None
