"""The constituents of a Doc as a tree of indices, read from and written to a span group.

A group holds the constituents of the whole Doc in pre-order, a unary chain from top to bottom. TOP is not among them
unless no other constituent covers the sentence. The members of a unary chain have the same extent, so each span's `id_`
gives its level in its chain: "level-1" is the highest.
"""

import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import IDX
from spacy.strings import get_string_id
from spacy.tokens import Doc, Span, SpanGroup, Token

from ..core.parser import ParseResult
from ..errors import NonConstituentError, NotParsedError, TreeError
from ..symbols import IdMap, Memo
from ..trees.tree import TOP, Tree
from .retokenized import TokenOffsets, realign, stored_spans, token_offsets

DEFAULT_KEY = "constituents"
"""The key of the span group in `doc.spans`."""

FORMAT_VERSION = 1
"""Version of the group's attributes, `attrs["version"]`."""

_KIND = "dtparse.constituents"
_LEVELS = tuple(f"level-{number}" for number in range(1, 65))
_LEVEL_OF_ID = {get_string_id(name): number for number, name in enumerate(_LEVELS)}


class Constituents(NamedTuple):
    """The m constituents of a Doc in pre-order as parallel lists.

    `starts`, `ends`: half-open token ranges. `labels`: strings. `parents`: index of the constituent above, -1 at a
    root. `chain_tops`: index of the highest constituent of the same extent. `ends_of_subtrees`: one past the last
    constituent below. `by_extent`: (start, end) -> index of the highest constituent there.
    """

    starts: list[int]
    ends: list[int]
    labels: list[str]
    parents: list[int]
    chain_tops: list[int]
    ends_of_subtrees: list[int]
    by_extent: dict[tuple[int, int], int]


def group_key(doc: Doc, key: str | None = None, default: str = DEFAULT_KEY, kind: str = _KIND) -> str | None:
    """The key of the constituents' group: `key` or the default, else the first group a parser wrote, else None.
    `default`, `kind`: default key and kind of the group, for groups of other things."""
    wanted = default if key is None else key
    if wanted in doc.spans:
        return wanted
    written = (name for name, group in doc.spans.items() if group.attrs.get("kind") == kind)
    return next(written, None) if key is None else None


class SpanColumns(NamedTuple):
    """The m spans of a group, ordered by start, longer ones first; spans of equal extent keep the order of the group.

    `starts`, `ends`: int64 (m,), half-open token ranges. `labels`: int64 (m,), indices into `names`, the distinct
    labels.
    """

    starts: np.ndarray
    ends: np.ndarray
    labels: np.ndarray
    names: list[str]


def nest_spans(spans: SpanColumns) -> Constituents:
    """Build the tree over spans; spans of one extent are ordered from top to bottom. Raises TreeError if two cross."""
    starts, ends = spans.starts.tolist(), spans.ends.tolist()
    labels = list(map(spans.names.__getitem__, spans.labels.tolist()))
    parents, tops, subtrees = [], [], [len(starts)] * len(starts)
    by_extent: dict[tuple[int, int], int] = {}
    stack: list[int] = []
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while stack and ends[stack[-1]] <= start:
            subtrees[stack.pop()] = k
        if stack and end > ends[stack[-1]]:
            other = stack[-1]
            raise TreeError(
                f"constituents {labels[other]} [{starts[other]}, {ends[other]}) and {labels[k]} [{start}, {end}) "
                "cross; the constituents of a Doc must nest"
            )
        parents.append(stack[-1] if stack else -1)
        tops.append(by_extent.setdefault((start, end), k))
        stack.append(k)
    return Constituents(starts, ends, labels, parents, tops, subtrees, by_extent)


class _CachedGroup(NamedTuple):
    """The cached data of a group: the group, its length, the character offsets at which the Doc's tokens start, spans,
    and constituents once they are needed."""

    group: SpanGroup
    length: int
    starts: list[int]
    spans: SpanColumns
    constituents: Constituents | None = None


# Doc -> key -> cached data. The entry of a Doc is removed with the Doc.
_CACHE: weakref.WeakKeyDictionary[Doc, dict[str, _CachedGroup]] = weakref.WeakKeyDictionary()


def read_constituents(doc: Doc, key: str | None = None, where: Span | None = None) -> Constituents:
    """The constituents of `doc`, from the group under `key` (default: see `group_key`).

    They are cached until the group changes its length or is replaced, or tokens were merged or split; then the group is
    replaced by one that fits (see `retokenized`). `where`: notice such changes of tokens only in this span. Raises
    NotParsedError if there is no such group or it cannot fit the tokens, TreeError if its spans cross.
    """
    name, cached = _read_group(doc, key, where)
    if cached.constituents is None:
        cached = _CACHE[doc][name] = cached._replace(constituents=nest_spans(cached.spans))
    assert cached.constituents is not None
    return cached.constituents


def read_spans(doc: Doc, key: str | None = None) -> SpanColumns:
    """The spans of `read_constituents`, in half of the time; does not check whether they cross."""
    return _read_group(doc, key)[1].spans


def constituents_at(doc: Doc, key: str | None, first: Token, last: Token) -> Constituents:
    """The same as `read_constituents`, in constant time if they are cached: only these two tokens are compared with the
    cached ones."""
    name = group_key(doc, key)
    cached = None if name is None else _CACHE.get(doc, {}).get(name)
    if cached is not None and cached.constituents is not None and _is_valid(doc, name, cached):
        if first.idx == cached.starts[first.i] and last.idx == cached.starts[last.i]:
            return cached.constituents
    return read_constituents(doc, key)


def _is_valid(doc: Doc, name: str | None, cached: _CachedGroup) -> bool:
    group = doc.spans[name]
    return cached.group is group and cached.length == len(group) and len(cached.starts) == len(doc)


def _read_group(doc: Doc, key: str | None, where: Span | None = None) -> tuple[str, _CachedGroup]:
    """The key of the group that `read_constituents` reads, and its cached data, read now if necessary."""
    name = group_key(doc, key)
    if name is None:
        raise NotParsedError(
            f"this Doc has no constituents (doc.spans[{key or DEFAULT_KEY!r}]): add 'dtparse' to the pipeline. "
            "Span.as_doc() and some conversions drop span groups; work on the parsed Doc itself, or use "
            "spacy_dtparse.as_doc(span)"
        )
    cached = _CACHE.get(doc, {}).get(name)
    if cached is not None and _is_valid(doc, name, cached):
        if where is None:
            starts, now = cached.starts, doc.to_array(IDX).reshape(-1).tolist()
        else:
            starts, now = cached.starts[where.start : where.end], [token.idx for token in where]
        if now == starts:
            return name, cached
    group, tokens = doc.spans[name], token_offsets(doc)
    spans = _columns(doc, group, tokens) if group.attrs.get("n_tokens", len(doc)) == len(doc) else None
    if spans is None:
        doc.spans[name] = group = realign(doc, group, name)
        spans = _columns(doc, group, tokens)
        assert spans is not None
    cached = _CACHE.setdefault(doc, {})[name] = _CachedGroup(group, len(group), tokens.starts.tolist(), spans)
    return name, cached


_MAX_SPAN_OBJECTS = 400
"""Number of spans up to which creating Span objects is as fast as reading bytes."""


def _columns(doc: Doc, group: SpanGroup, tokens: TokenOffsets) -> SpanColumns | None:
    """The spans of a group in order; None if they do not fit the tokens of the Doc."""
    spans = _columns_from_bytes(group) if len(group) > _MAX_SPAN_OBJECTS else None
    try:
        extents, chars, labels, label_hashes = spans if spans is not None else _columns_from_objects(group)
    except IndexError:  # spaCy's E035: a span beyond the end of a retokenized Doc
        return None
    if not tokens.fit(extents, chars):
        return None
    starts, ends = extents
    order_keys = starts * (len(doc) + 1) - ends
    if (order_keys[1:] < order_keys[:-1]).any():
        order = order_keys.argsort(kind="stable")
        starts, ends, labels = starts[order], ends[order], labels[order]
    return SpanColumns(starts, ends, labels, [doc.vocab.strings[label_hash] for label_hash in label_hashes])


def _columns_from_objects(group: SpanGroup) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Tokens and characters, int64 (2, m), label indices, int64 (m,), and the list of label hashes that they index, of
    the spans of a group. Raises IndexError if one does not lie in the Doc."""
    label_ids: IdMap[int] = IdMap()
    spans = [(span.start, span.end, span.start_char, span.end_char, label_ids[span.label]) for span in group]
    columns = np.array(spans, np.int64).reshape(-1, 5).T
    return columns[:2], columns[2:4], columns[4], list(label_ids)


def _columns_from_bytes(group: SpanGroup) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]] | None:
    """The same as `_columns_from_objects` in a third of the time, without creating Spans: read from the group's bytes.
    None if they cannot be read."""
    spans = stored_spans(group)
    if spans is None:
        return None
    extents, chars = (spans[name].T.astype(np.int64, order="C") for name in ("extent", "chars"))
    hashes = spans["label"].astype(np.uint64)
    distinct = np.unique(hashes)
    return extents, chars, distinct.searchsorted(hashes), distinct.tolist()


def tree_of(found: Constituents, positions: Sequence[int], words: Sequence[str], tags: Sequence[str]) -> Tree:
    """The Tree, root TOP, over the words at `positions`, ascending and at least one, of a Doc with these constituents.

    Raises NonConstituentError if a constituent crosses the edge of the words, TreeError if one begins or ends at a
    token between them that is no word.
    """
    start, end = positions[0], positions[-1] + 1
    leaf_of = {i: leaf for leaf, i in enumerate(positions)}
    first_inside = bisect_left(found.starts, start)
    above = first_inside - 1
    while above >= 0:
        if start < found.ends[above] < end:
            raise NonConstituentError(_crossing_message(found, above, start, end))
        above = found.parents[above]
    labels, starts, ends = [], [], []
    for k in range(first_inside, bisect_left(found.starts, end)):
        first, last, label = found.starts[k], found.ends[k], found.labels[k]
        if last > end:
            if first == start:  # an ancestor that starts at the first word
                continue
            raise NonConstituentError(_crossing_message(found, k, start, end))
        if first >= last or first not in leaf_of or last - 1 not in leaf_of:
            raise TreeError(f"{label} [{first}, {last}) is empty, or begins or ends with a white-space token")
        labels.append(label)
        starts.append(leaf_of[first])
        ends.append(leaf_of[last - 1] + 1)
    n = len(positions)
    if not (labels and (starts[0], ends[0], labels[0]) == (0, n, TOP)):
        labels, starts, ends = [TOP, *labels], [0, *starts], [n, *ends]
    return Tree.unchecked(words, tags, labels, starts, ends)  # they nest and are in pre-order: see `nest_spans`


def _crossing_message(found: Constituents, k: int, start: int, end: int) -> str:
    return (
        f"{found.labels[k]} [{found.starts[k]}, {found.ends[k]}) crosses the edge of "
        f"[{start}, {end}); give a sentence or a constituent"
    )


class ChainSpan(Span):
    """A Span that stands for a whole unary chain. It equals the Span of the chain's highest member, and has its id."""


def chain_level(span: Span) -> int | None:
    """The level (from 0) that the span's id names; None if the span stands for its whole chain: a ChainSpan, or a span
    without such an id."""
    return None if isinstance(span, ChainSpan) else _LEVEL_OF_ID.get(span.id)


def make_span(doc: Doc, constituents: Constituents, index: int, *, with_level: bool) -> Span:
    """Create the Span of constituent `index`, with its chain level as id; with `with_level` it stands for this
    constituent, else for the chain of which it is the highest."""
    start, end, label = constituents.starts[index], constituents.ends[index], constituents.labels[index]
    level = index - constituents.chain_tops[index]
    return (Span if with_level else ChainSpan)(doc, start, end, label=label, span_id=_id(level))


def _id(level: int) -> str | int:
    """The span id of a level of a chain (from 0); 0, no id, for levels beyond the named ones."""
    return _LEVELS[level] if level < len(_LEVELS) else 0


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

    The group's attrs are plain data: `version`; `kind`; `n_tokens` of the Doc; `parser`, its name; `scores`, one number
    or None per span; `sentences`, one dict each with `start`, `end`, `status`, `cost`, `n_states`, `n_scored`,
    `greedy_optimal`, `n_searches`, `ambiguity`, `tree_probability`, and `deadline_exceeded` if the deadline was
    exceeded (see `ParseResult`; only status "gold" if a tree was given, "empty" if nothing was); `probabilities`, one
    number or None per span, if a parse has some; `head_rules`, unless None: a language code, or rules as plain data;
    and `noun_chunks`, unless "auto": the source of `doc.noun_chunks` (see `phrases.NounChunks`). Raises TreeError if a
    tree and its positions disagree.
    """
    spans: list[Span] = []
    scores: list[float | None] = []
    probabilities: list[float | None] = []
    infos: list[dict[str, Any]] = []
    strings = doc.vocab.strings
    hashes = Memo(strings.add)  # creating spans from hashes takes a third of the time
    for start, end, positions, parse in sentences:
        info: dict[str, Any] = {"start": start, "end": end, "status": "empty"}
        infos.append(info)
        if parse is None:
            continue
        if isinstance(parse, Tree):
            tree, costs, probs = parse, None, None
            info["status"] = "gold"
        else:
            tree, costs, probs = parse.tree, parse.scores, parse.probabilities
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
        level, extent = 0, (-1, -1)
        for label, first, last in zip(labels[skip_top:], starts[skip_top:], ends[skip_top:], strict=True):
            level = level + 1 if (first, last) == extent else 0
            extent = (first, last)
            name = _LEVELS[level] if level < len(_LEVELS) else ""
            spans.append(Span(doc, positions[first], positions[last - 1] + 1, hashes[label], span_id=hashes[name]))
        scores += [None] * (len(labels) - skip_top) if costs is None else map(_finite, costs[skip_top:])
        probabilities += [None] * (len(labels) - skip_top) if probs is None else probs[skip_top:]
    header = {"version": FORMAT_VERSION, "kind": _KIND, "n_tokens": len(doc), "parser": parser}
    attrs = {**header, "scores": scores, "sentences": infos}
    if any(prob is not None for prob in probabilities):
        attrs["probabilities"] = probabilities
    if head_rules is not None:
        attrs["head_rules"] = head_rules
    if noun_chunks != "auto":
        attrs["noun_chunks"] = noun_chunks
    doc.spans[key] = SpanGroup(doc, name=key, attrs=attrs, spans=spans)
