"""Compile the kernels in two processes: what a search calls is compiled by halves, before the search itself is.

Both write numba's cache; what the one has finished the other reads. It only saves time: without it the same kernels are
compiled in turn.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..features.lexicon import Lexicon
from ..features.tables import get_templates
from ..kernels.features import extract
from ..kernels.gate import gate_windows
from ..kernels.jit import compile_for
from ..kernels.rules import rules_batch
from ..kernels.score import WINDOW_SEED, make_cache, score_windows
from ..kernels.search import STATE, rebuild
from ..kernels.state import list_windows, make_nodes
from ..trees.heads import COLLINS
from .dtree import compile_model, untrained

_LONGEST = 120.0
"""Seconds to wait for the other process; then its share is compiled here."""

_other: subprocess.Popen | None = None


def _arguments() -> dict[Any, tuple[Any, ...]]:
    """Arguments of the types that every model's have, for each kernel that is worth compiling ahead."""
    lexicon = Lexicon.build(["S", "TOP"], ["NN"], ["*rare*"], "NN")
    model = untrained(lexicon, get_templates("standard"), COLLINS, "shift_reduce", 2, ())
    compiled = compile_model(model)
    s, scratch = compiled.search, compiled.scratch(1)
    tokens, tags = lexicon.encode(["a"], ["NN"]), np.zeros(1, dtype=np.int32)
    nodes, zero = make_nodes(4, 4), np.int64(0)
    frontier, windows = scratch.frontier, (scratch.windows_i, scratch.windows_j)
    return {
        extract: (
            s.table, s.window_atoms, zero, nodes, frontier, zero, zero, tokens, zero, zero, zero, zero,
            scratch.features, zero,
        ),
        gate_windows: (s.gate, zero, tokens, nodes, frontier, zero, zero, *windows, zero, scratch.gate_keys),
        list_windows: (s.grammar, nodes, tokens, frontier, zero, zero, *windows),
        rules_batch: (s.window_rules, scratch.window, scratch.features.atoms, zero, zero, scratch.scores),
        rebuild: (
            s.grammar, s.heads, tokens, tags, zero, nodes, frontier, scratch.features.children,
            np.zeros(1, dtype=STATE), zero, np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.float64),
        ),
        score_windows: (
            s.grammar, s.heads, s.table, s.window_atoms, s.window_rules, scratch.window, WINDOW_SEED, tokens, zero,
            nodes, frontier, zero, zero, *windows, zero, zero, scratch.features, scratch.scores, make_cache(2, 2),
        ),
    }  # fmt: skip


HERE = (extract, gate_windows, list_windows)
THERE = (rules_batch, rebuild, score_windows)
"""The two shares. The last kernel needs the first of the other share, which is done by then."""


def compile_share(kernels: tuple[Any, ...]) -> None:
    """Compile these kernels for arguments of the types that every model has."""
    arguments = _arguments()
    for kernel in kernels:
        compile_for(kernel, *arguments[kernel])


def start_compiling() -> bool:
    """Start a process that compiles the share THERE, and say so; not on a machine of one processor, or where no process
    can be started."""
    global _other
    if (os.cpu_count() or 1) < 2:
        return False
    root = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.insert(0, {root!r}); from {__name__} import *; compile_share(THERE)"
    try:
        _other = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return False
    return True


def finish_compiling() -> None:
    """Wait for the process that `start_compiling` started, if there is one."""
    global _other
    other, _other = _other, None
    if other is not None:
        try:
            other.wait(_LONGEST)
        except subprocess.TimeoutExpired:
            other.kill()
            other.wait()
