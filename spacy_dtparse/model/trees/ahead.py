"""Warm-up of the boosted-tree parser's kernels; see `model.ahead`."""

from typing import Any

import numpy as np

from ...dtypes import INDEX, OFFSET
from ...features.trees.lexicon import Lexicon
from ...features.trees.tables import get_templates
from ...kernels.trees.batch import Parses, Sentences, make_room, search_each
from ...kernels.trees.beliefs import COLUMNS, write_all
from ...kernels.trees.spines import no_offers
from ...trees.heads import COLLINS
from .model import compile_model, untrained


def arguments() -> dict[Any, tuple[Any, ...]]:
    """Return arguments of the types that every model has, for each kernel to compile."""
    lexicon = Lexicon.build(["S", "TOP"], ["NN"], ["*rare*"], "NN")
    model = untrained(lexicon, get_templates("standard"), COLLINS, "shift_reduce", 2, ())
    compiled = compile_model(model)
    tokens, ends = lexicon.encode(["a"], ["NN"]), np.array([0, 1], dtype=OFFSET)
    items, floats = np.zeros((1, 3), dtype=INDEX), np.zeros(1)
    pairs = np.zeros((1, 2), dtype=INDEX)
    parses = Parses(items, floats, ends, floats, ends, np.zeros((1, 4), dtype=OFFSET))
    sentences = Sentences(tokens, ends, np.zeros(1, dtype=INDEX), ends, ends)
    room = make_room(compiled.search, 1, compiled.scratch(1), keep=True)
    return {
        search_each: (compiled.search, sentences, 0, 1.0, 0, no_offers(), *room, parses),
        write_all: (
            tokens, ends, pairs, floats, pairs, np.zeros((1, 2)), ends, 0.5, 0.9, np.zeros((2, COLUMNS), dtype=INDEX),
            ends, floats,
        ),
    }  # fmt: skip


SEARCH = (search_each,)
"""Kernels for a parse."""
BELIEFS = (write_all,)
"""Additional kernels for a parse with a span model."""
