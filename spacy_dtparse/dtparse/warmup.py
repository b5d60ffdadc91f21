"""Warm-up of the boosted-tree parser's kernels; see `jit.warmup`."""

from typing import Any

import numpy as np

from ..core.marginals import SpanMarginals
from ..dtypes import INDEX, OFFSET
from ..trees.heads import COLLINS
from .features.lexicon import Lexicon
from .features.tables import get_templates
from .kernels.batch import Parses, Sentences, make_workspace, search_from
from .kernels.marginals import COLUMNS, write_marginals_batch
from .kernels.spines import no_supertags
from .model.model import compile_model, untrained_model


def kernel_arguments() -> dict[str, dict[Any, tuple[Any, ...]]]:
    """Return the kernels of each part, with arguments of the types that every model has."""
    lexicon = Lexicon.build(["S", "TOP"], ["NN"], ["*rare*"], "NN")
    model = untrained_model(lexicon, get_templates("standard"), COLLINS, "shift_reduce", 2, ())
    compiled = compile_model(model)
    tokens, ends = lexicon.encode(["a"], ["NN"]), np.array([0, 1], dtype=OFFSET)
    items, floats = np.zeros((1, 3), dtype=INDEX), np.zeros(1)
    pairs = np.zeros((1, 2), dtype=INDEX)
    marginals, rows = SpanMarginals(pairs, floats, pairs, np.zeros((1, 2))), np.zeros((2, COLUMNS), dtype=INDEX)
    parses = Parses(items, floats, ends, floats, ends, np.zeros((1, 4), dtype=OFFSET))
    sentences = Sentences(tokens, ends, np.zeros(1, dtype=INDEX), ends, ends)
    workspace = make_workspace(compiled.search, 1, compiled.scratch(1), queue_states=True)
    search = compiled.search, sentences, 0, 1.0, 0, no_supertags(), workspace, parses
    return {
        "search": {search_from: search},
        "span_model": {write_marginals_batch: (tokens, ends, marginals, ends, 0.5, 0.9, rows, ends, floats)},
    }
