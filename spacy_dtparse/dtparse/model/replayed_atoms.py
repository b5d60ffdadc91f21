"""The atoms of each window of a parse, by replaying it with the kernels that training uses."""

from typing import Any

import numpy as np

from ...dtypes import INDEX, OFFSET
from ...trees.heads_compiled import compile_head_rules
from ..features.templates import compile_templates
from ..kernels.batch import Sentences, make_workspace, search_all
from ..kernels.features import PARTS_WIDTH, TAG, Nodes
from ..kernels.marginals import count_tokens
from ..kernels.replay import ExampleExtractor, example_rows, replay, state_buffers
from ..kernels.spines import no_supertags
from ..kernels.state import SHIFT_REDUCE
from .model import DtreeModel, make_feature_scratch


def search(parser: Any, tokens: np.ndarray) -> tuple[Nodes, int]:
    """Parse encoded tokens: return the nodes, with items in the order of their inference, and the status."""
    n, model = count_tokens(tokens), parser.compiled.search
    budget = parser.settings.budget_for(n)
    rows, token_offsets = (np.array([0, end], dtype=OFFSET) for end in (len(tokens), n))
    sentence = Sentences(
        tokens, rows, np.ascontiguousarray(tokens[:n, TAG]), token_offsets, np.array([budget], dtype=OFFSET)
    )
    threshold = float(parser.settings.shift_threshold)
    min_sum = parser.model.window_filter.min_margin(parser.settings.window_filter)
    workspace = make_workspace(model, n, parser.compiled.scratch(n), budget > 0)
    parses, workspace = search_all(model, sentence, threshold, min_sum, no_supertags(), workspace)
    return workspace.nodes, int(parses.statuses[0])


def _actions(model: DtreeModel, nodes: Nodes, n: int, last: int) -> tuple[np.ndarray, list[int]]:
    """Return the derivation of the items n … last - 1 as int32 (a, 3) for `replay`, and each action's item (-1: a
    shift)."""
    strategy, n_labels = int(model.grammar().options[0]), len(model.lexicon.labels)
    actions: list[tuple[int, int, int]] = []
    items: list[int] = []
    starts = list(range(n))  # of the frontier
    cursor = unread = n
    for item in range(n, last):
        arity, label, start = (int(nodes.item[item][name]) for name in ("arity", "label", "start"))
        if strategy == SHIFT_REDUCE:
            while unread > start:
                actions.append((cursor - 1, cursor, n_labels))
                items.append(-1)
                cursor, unread = cursor - 1, unread - 1
            actions.append((cursor, cursor + arity, label))
            cursor += arity - 1
        else:
            i = starts.index(start)
            actions.append((i, i + arity, label))
            del starts[i + 1 : i + arity]
        items.append(item)
    return np.array(actions, dtype=INDEX).reshape(len(actions), 3), items


def atoms_of(model: DtreeModel, tokens: np.ndarray, nodes: Nodes, n: int, last: int) -> dict[int, np.ndarray]:
    """Return the atoms (the model's ids) of the window over which each of the items n … last - 1 was inferred, by
    replaying the parse."""
    actions, items = _actions(model, nodes, n, last)
    grammar, (table, _) = model.grammar(), compile_templates(model.templates, model.lexicon.sizes)
    heads, no_filter = compile_head_rules(model.heads, model.lexicon.symbols), np.zeros(1, dtype=np.int16)
    extractor = ExampleExtractor(grammar, heads, table, model.atoms, no_filter, 0)
    buffers, scratch = state_buffers(grammar, n, n + len(actions)), make_feature_scratch(table, model.n_atoms)
    buffers.tags[:] = tokens[:n, TAG]
    not_ready, no_parts = np.zeros((0, 3), dtype=INDEX), np.zeros((0, PARTS_WIDTH), dtype=INDEX)
    size, rows = 1, -1
    while rows < 0:
        examples = example_rows(4096 * size, (1 << 16) * size)
        rows, _ = replay(extractor, tokens, actions, not_ready, buffers, scratch, examples, no_parts)
        size *= 2
    indptr, atoms, gold, state, _ = examples
    found: dict[int, np.ndarray] = {}
    step_of = {step: item for step, item in enumerate(items) if item >= 0}
    for row in range(rows):
        item = step_of.get(int(state[row]), -1)
        if item >= 0 and item not in found and gold[row] == nodes.item[item]["label"]:
            found[item] = atoms[indptr[row] : indptr[row + 1]].copy()
    return found
