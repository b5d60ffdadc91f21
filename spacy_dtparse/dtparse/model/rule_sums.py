"""Readable rules of a model, and the rules that fired for a constituent.

A label's score is a sum over its rules; each is a conjunction of atoms that must be present and atoms that must be
absent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dtypes import CONFIDENCE_GRID, INDEX, OFFSET
from ...errors import ConfigError, DtparseError
from ...trees.heads_compiled import compile_head_rules
from ..features.names import SPAN_MODEL_PREFIX, atom_names
from ..features.templates import compile_templates
from ..kernels.batch import Sentences, make_workspace, search_all
from ..kernels.features import PARTS_WIDTH, TAG, Nodes
from ..kernels.marginals import count_tokens
from ..kernels.replay import ExampleExtractor, example_rows, replay, state_buffers
from ..kernels.search import FALLBACK
from ..kernels.spines import no_supertags
from ..kernels.state import SHIFT_REDUCE
from .model import DtreeModel, make_feature_scratch
from .rules import conjunctions


@dataclass(frozen=True)
class Rule:
    """A rule: `value` is added to the score if all of `present` and none of `absent` hold (names of atoms).

    A rule without conditions is the label's constant. `str(rule)` is one line of text.
    """

    present: tuple[str, ...]
    absent: tuple[str, ...]
    value: float

    @property
    def source(self) -> str:
        """Source of its features: "span model", "words" (also tags and partial trees), "both", or "nothing"."""
        uses_span_model = [
            name.startswith(SPAN_MODEL_PREFIX) or f" & {SPAN_MODEL_PREFIX}" in name
            for name in (*self.present, *self.absent)
        ]
        if not uses_span_model:
            return "nothing"
        only_span_model = [
            name.count(SPAN_MODEL_PREFIX) == name.count(" & ") + 1 for name in (*self.present, *self.absent)
        ]
        return "words" if not any(uses_span_model) else "span model" if all(only_span_model) else "both"

    def __str__(self) -> str:
        tests = [*self.present, *(f"not [{name}]" for name in self.absent)]
        return f"{self.value:+.4f} {'if ' + ' and '.join(tests) if tests else 'always'}"


def label_rules(model: DtreeModel, label: str) -> list[Rule]:
    """Return the rules of `label` (or of `*shift*`), the largest |value| first; equal conjunctions in several trees are
    merged. Raises ConfigError for a label that the model does not have."""
    return [rule for rule, _, _ in _sorted_rules(model, label)]


def explain(parser: Any, words: Sequence[str], tags: Sequence[str], constituent: int) -> list[Rule]:
    """Return the rules that fired for one constituent of `parser.parse(words, tags).tree`, the largest |value| first.

    `parser`: a `DtreeParser`. The values add up, exactly, to the score h of the inference that built the constituent.
    Its cost, `scores[constituent]` of the parse, is ln(1 + e^-h), plus, with a span model, that model's cost of the
    constituent and its label; only the latter if the span model allows no other inference, or if its probability
    reaches the setting `commit_threshold`. The list is empty if no rule fired (h = 0). Raises DtparseError for a
    constituent that is not in the tree or that no inference built: the root of a fallback parse, whose pieces were
    joined, or one that was added when preprocessing was undone.
    """
    result = parser.parse(words, tags)
    m = len(result.tree.labels)
    if not 0 <= constituent < m:
        raise DtparseError(f"there is no constituent {constituent}; this parse has constituents 0 to {m - 1}")
    model: DtreeModel = parser.model
    record = parser.recipe.prepare(words, tags)
    tokens = parser.encode([words[k] for k in record.kept], [tags[k] for k in record.kept])
    nodes, status = search(parser, tokens)
    n, used = count_tokens(tokens), int(nodes.used[0])
    if used - n != m:
        raise DtparseError(
            f"this parse has {m} constituents, but {used - n} were inferred before preprocessing was undone or "
            "unattached tokens were attached; they cannot be matched: use a model without such steps, or "
            "attach_unattached=False"
        )
    if status == FALLBACK and constituent == 0:
        raise DtparseError(
            "no inference built the root of this parse: no complete tree was found, so its pieces were joined"
        )
    item_ids, items = np.arange(n, used), nodes.item[n:used]
    order = np.lexsort(
        (-item_ids, -items["end"], items["start"])
    )  # as in the parser: later ones are above earlier ones
    node = int(item_ids[order[constituent]])
    active = frozenset(atoms_of(model, tokens, nodes, n, used - (status == FALLBACK))[node].tolist())
    rules = _sorted_rules(model, model.lexicon.labels[int(nodes.item[node]["label"])])
    return [rule for rule, present, absent in rules if present <= active and not absent & active]


def by_source(rules: Sequence[Rule]) -> dict[str, float]:
    """Split a score by `Rule.source`: sums of the values of rules that test span marginals only, words only, both, and
    of the label's constant ("nothing"). They add up to the score."""
    sums = dict.fromkeys(("span model", "words", "both", "nothing"), 0.0)
    for rule in rules:
        sums[rule.source] += rule.value
    return sums


def describe_marginals(parser: Any, words: Sequence[str], tags: Sequence[str], start: int, end: int) -> str:
    """Describe the span model's probabilities of constituents over the tokens [start, end).

    `parser`: a `DtreeParser`; the tokens are those that its preprocessing keeps. Raises DtparseError if the model has
    no span model.
    """
    if parser.span_parser is None:
        raise DtparseError("this model has no span model; its trees use words and tags only")
    marginals = parser.span_parser.marginals([(words, tags)])[0]
    row = next((k for k, span in enumerate(marginals.spans.tolist()) if span == [start, end]), None)
    prefix = f"the span model gives [{start}, {end})"
    if row is None:
        return f"{prefix} no constituent"
    names, parts = parser.span_parser.chain_names, []
    for chain, prob in zip(marginals.chains[row].tolist(), marginals.chain_probs[row].tolist(), strict=True):
        if chain >= 0 and prob >= _MIN_PROB:
            parts.append(f"{names[chain]} {prob:.2f}")
    none = 1 - float(marginals.span_probs[row])
    return f"{prefix} {', '.join([*parts, *([f'no constituent {none:.2f}'] if none >= _MIN_PROB else [])])}"


_MIN_PROB = 0.01
"""Minimum probability of the alternatives that are described."""


def cached_atom_names(model: DtreeModel) -> tuple[str, ...]:
    """Return `atom_names(model)`, cached in the model."""
    cache: dict[str, Any] = vars(model)
    if "_names_of_atoms" not in cache:
        cache["_names_of_atoms"] = atom_names(model)
    return cache["_names_of_atoms"]


def _sorted_rules(model: DtreeModel, label: str) -> list[tuple[Rule, frozenset[int], frozenset[int]]]:
    """Return rules with the ids of their present and absent atoms, the largest |value| first."""
    if label not in model.names:
        raise ConfigError(f"the model has no label {label!r}; its labels are {', '.join(model.names)}")
    found = conjunctions([model.ensembles[model.names.index(label)]])
    literals, names = np.split(found.literal, found.start[1:-1]) if len(found.units) else [], cached_atom_names(model)
    rules: list[tuple[int, list[int], list[int]]] = [(int(found.bias[0]), [], [])] if found.bias[0] else []
    for units, codes in zip(found.units.tolist(), literals, strict=True):
        rules.append((units, (codes[codes & 1 == 1] >> 1).tolist(), (codes[codes & 1 == 0] >> 1).tolist()))
    readable = []
    for units, present, absent in sorted(rules, key=lambda rule: (-abs(rule[0]), *rule[1:])):
        rule = Rule(tuple(names[a] for a in present), tuple(names[a] for a in absent), units * CONFIDENCE_GRID)
        readable.append((rule, frozenset(present), frozenset(absent)))
    return readable


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
