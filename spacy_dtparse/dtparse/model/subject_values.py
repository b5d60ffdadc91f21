"""The values of what atoms test, for a node of a parse: "the next word on the right" and others, as text."""

from collections.abc import Sequence

import numpy as np

from ..features.names import NOTHING
from ..features.templates import MARGINALS
from ..kernels import marginals as b
from ..kernels.features import MARGINAL_COLUMN, Nodes
from .model import DtreeModel


def marginal_values(model: DtreeModel, tokens: np.ndarray, row: int, prefix: str) -> dict[str, str]:
    """Return the span model's values for the span of a row, by the subjects of atoms at the position `prefix`."""
    names = ("chain", "second chain", "mass", "sure", "second sure", "starting", "ending", "crossing")
    if row < 0:
        return {f"{prefix} {name}": NOTHING for name in names}
    values = {}
    for name, column in (("chain", b.CHAIN), ("second chain", b.CHAIN_2)):
        chain_id = int(tokens[row, column])
        values[name] = model.lexicon.chains[chain_id] if chain_id >= 0 else NOTHING
    for name in names[2:]:
        low, high = ((0.0, *b.LIMITS, 1.0)[int(tokens[row, MARGINALS[name] - MARGINAL_COLUMN]) + k] for k in (0, 1))
        values[name] = f"{low:g} to {high:g}"
    return {f"{prefix} {name}": value for name, value in values.items()}


def node_values(
    model: DtreeModel,
    nodes: Nodes,
    node: int,
    n: int,
    children: Sequence[int],
    words: Sequence[str],
    tags: Sequence[str],
) -> dict[str, str]:
    """Return the values of a node and of the words next to it, by the subjects of atoms."""
    symbols, arity = model.lexicon.symbols, len(children)
    start, end = int(nodes.item[node]["start"]), int(nodes.item[node]["end"])
    labels = [symbols[int(nodes.item[child]["label"])] for child in children]
    values = {"labels": " ".join(labels), "items of span": str(arity), "terminals of span": str(end - start)}
    tokens = dict.fromkeys((f"{side} terminal {k}" for side in ("left", "right") for k in range(4)), -1)
    for k in range(4):
        tokens |= {f"left terminal {k}": start - 1 - k, f"right terminal {k}": end + k}
        if k < end - start:
            tokens |= {f"start terminal {k}": start + k, f"end terminal {k}": end - 1 - k}
    for k, child in enumerate(children):
        name = "first" if k == 0 else "last" if k == arity - 1 else f"start item {k}"
        tokens[name], values[f"{name} label"] = int(nodes.item[child]["head"]), labels[k]
    middle = int(nodes.item[node]["middle"])
    tokens["head"], values["head label"] = int(nodes.item[node]["head"]), symbols[int(nodes.item[middle]["label"])]
    inner = {"first": children[0], "last": children[-1], "head": middle}
    if int(nodes.item[node]["end"]) < n:
        inner["right item 0"] = next_item(nodes, node, n, end)
    for name, child in inner.items():
        for which, column in (("first", "first"), ("head", "middle"), ("last", "last")):
            below, inside = int(nodes.item[child][column]), f"{which} child of {name}"
            values[f"{inside} label"] = symbols[int(nodes.item[below]["label"])] if below >= 0 else NOTHING
            tokens[inside] = int(nodes.item[below]["head"]) if below >= 0 else -1
    for k in range(arity, 4):
        for side in ("start", "end"):
            tokens[f"{side} item {k}"], values[f"{side} item {k} label"] = -1, NOTHING
    if arity == 1:
        tokens["last"], values["last label"] = tokens["first"], labels[0]
    for name, token in tokens.items():
        there = 0 <= token < len(words)
        values[f"{name} tag"] = tags[token] if there else NOTHING
        values[f"{name} word"] = f'"{words[token]}"' if there else NOTHING
    return values


def next_item(nodes: Nodes, node: int, n: int, at: int) -> int:
    """Return the frontier item that began at token `at` when `node` was inferred: the last one built there before."""
    built = np.flatnonzero(nodes.item["start"][n:node] == at)
    return n + int(built[-1]) if len(built) else at


def right_item_values(
    model: DtreeModel, nodes: Nodes, node: int, n: int, words: Sequence[str], tags: Sequence[str]
) -> dict[str, str]:
    """Return the values of the next items to the right of a node, by the subjects of atoms."""
    result: dict[str, str] = {}
    at, count = int(nodes.item[node]["end"]), 0
    for k in range(_COUNTED):
        values = (NOTHING, NOTHING, NOTHING)
        if at < n:
            item = nodes.item[next_item(nodes, node, n, at)]
            head, at = int(item["head"]), int(item["end"])
            values = model.lexicon.symbols[int(item["label"])], tags[head], f'"{words[head]}"'
            count += 1
        result |= {
            f"right item {k} {name}": value for name, value in zip(("label", "tag", "word"), values, strict=True)
        }
    return result | {f"items of {_COUNTED} of right context": str(count)}


_COUNTED = 4
"""Number of items on the right that the standard template tables count."""
