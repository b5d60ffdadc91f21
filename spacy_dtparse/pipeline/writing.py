"""Write the constituents of a Doc to a span group, in the format that `constituents` reads."""

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any, NamedTuple

from spacy.attrs import IDX
from spacy.tokens import Doc, Span

from ..core.parser import ParseResult
from ..errors import TreeError
from ..symbols import Memo
from ..trees.tree import TOP, Tree
from .constituent_group import FORMAT_VERSION, ConstituentGroup
from .constituents import DEFAULT_KEY, KIND, LEVELS, Written


class ParsedSentence(NamedTuple):
    """A tree for part of a Doc: its leaf k is token `positions[k]` of the Doc; [start, end) is the sentence's range."""

    start: int
    end: int
    positions: Sequence[int]
    result: ParseResult | Tree | None


def _finite(value: float) -> float | None:
    """A plain float; None for nan and infinity, which JSON lacks."""
    return float(value) if isfinite(value) else None


_INFO_FIELDS: dict[str, Callable[[Any], Any]] = {
    "status": str, "cost": _finite, "n_states": int, "n_scored": int, "greedy_optimal": bool, "n_searches": int,
    "ambiguity": _finite, "tree_probability": _finite,
}  # fmt: skip
"""Fields of a ParseResult that a group's attrs contain, each with its conversion to plain data."""


def write_constituents(
    doc: Doc,
    sentences: Iterable[ParsedSentence],
    key: str = DEFAULT_KEY,
    parser: str = "",
    head_rules: Any = None,
    noun_chunks: str = "auto",
) -> None:
    """Set `doc.spans[key]` to the constituents of the sentences, in order.

    The group's attrs are plain data: `version`; `kind`; `n_tokens` of the Doc; `parser`, its name; `costs`, one number
    or None per span; `sentences`, one dict each with `start`, `end`, `status`, `cost`, `n_states`, `n_scored`,
    `greedy_optimal`, `n_searches`, `ambiguity`, `tree_probability`, and `deadline_exceeded` if the deadline was
    exceeded (see `ParseResult`; only status "gold" if a tree was given, "empty" if nothing was); `probabilities`, one
    number or None per span, if a parse has some; `head_rules`, unless None: a language code, or rules as plain data;
    and `noun_chunks`, unless "auto": the source of `doc.noun_chunks` (see `phrases.NounChunks`). Raises TreeError if a
    tree and its positions disagree.
    """
    spans: list[Span] = []
    costs: list[float | None] = []
    probabilities: list[float | None] = []
    infos: list[dict[str, Any]] = []
    trees: list[tuple[Tree, Sequence[int], int]] = []
    strings = doc.vocab.strings
    hashes = Memo(strings.add)  # creating spans from hashes takes a third of the time
    for start, end, positions, parse in sentences:
        info: dict[str, Any] = {"start": start, "end": end, "status": "empty"}
        infos.append(info)
        if parse is None:
            continue
        if isinstance(parse, Tree):
            tree, own_costs, probs = parse, None, None
            info["status"] = "gold"
        else:
            tree, own_costs, probs = parse.tree, parse.costs, parse.probabilities
            for name, plain in _INFO_FIELDS.items():
                value = getattr(parse, name)
                info[name] = None if value is None else plain(value)
            if parse.deadline_exceeded:
                info["deadline_exceeded"] = True
        if len(positions) != len(tree.words):
            raise TreeError(
                f"a tree of {len(tree.words)} leaves for the {len(positions)} words of tokens {start} to {end}; "
                "a parse must cover every token it was given"
            )
        labels, starts, ends = tree.labels, tree.starts, tree.ends
        skip_top = labels[0] == TOP and len(labels) > 1 and ends[1] - starts[1] == ends[0] - starts[0]
        trees.append((tree, positions, int(skip_top)))
        level, extent = 0, (-1, -1)
        for label, first, last in zip(labels[skip_top:], starts[skip_top:], ends[skip_top:], strict=True):
            level = level + 1 if (first, last) == extent else 0
            extent = (first, last)
            name = LEVELS[level] if level < len(LEVELS) else ""
            spans.append(Span(doc, positions[first], positions[last - 1] + 1, hashes[label], span_id=hashes[name]))
        costs += [None] * (len(labels) - skip_top) if own_costs is None else map(_finite, own_costs[skip_top:])
        probabilities += [None] * (len(labels) - skip_top) if probs is None else probs[skip_top:]
    header = {"version": FORMAT_VERSION, "kind": KIND, "n_tokens": len(doc), "parser": parser}
    attrs = {**header, "costs": costs, "sentences": infos}
    if any(prob is not None for prob in probabilities):
        attrs["probabilities"] = probabilities
    if head_rules is not None:
        attrs["head_rules"] = head_rules
    if noun_chunks != "auto":
        attrs["noun_chunks"] = noun_chunks
    doc.spans[key] = group = ConstituentGroup(doc, name=key, attrs=attrs, spans=spans)
    group.written = Written(trees, doc.to_array(IDX).reshape(-1))
