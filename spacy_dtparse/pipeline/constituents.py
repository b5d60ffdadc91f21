"""The constituents of a Doc as a tree of indices, read from a span group; `writing` writes it.

A group holds the constituents of the whole Doc in pre-order, a unary chain from top to bottom. TOP is not among them
unless no other constituent covers the sentence. The members of a unary chain have the same extent, so each span's `id_`
gives its level in its chain: "level-1" is the highest.
"""

import weakref
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import IDX
from spacy.strings import get_string_id
from spacy.tokens import Doc, Span, SpanGroup, Token

from ..errors import NonConstituentError, NotParsedError, TreeError
from ..symbols import IdMap
from ..trees.tree import TOP, Tree
from .constituent_group import (
    ConstituentGroup,
    adopt_group,
    attribute_is_set,
    check_attributes,
    constituent_value,
    constituent_values,
    revision_of,
)
from .retokenized import TokenOffsets, realign, token_offsets
from .sentences import blank_tokens
from .span_checks import check_spans
from .stored_group import SPAN_LAYOUT, span_objects, stored_spans

DEFAULT_KEY = "constituents"
"""The key of the span group in `doc.spans`."""

KIND = "dtparse.constituents"
"""The value of `kind` in the attrs of a group of constituents."""
LEVELS = tuple(f"level-{number}" for number in range(1, 65))
"""The ids of spans by their level in a unary chain."""
_LEVEL_OF_ID = {get_string_id(name): number for number, name in enumerate(LEVELS)}


class Constituents(NamedTuple):
    """The m constituents of a Doc in pre-order as parallel lists.

    `starts`, `ends`: half-open token ranges. `labels`: strings. `parents`: index of the constituent above, -1 at a
    root. `chain_tops`: index of the highest constituent of the same extent. `ends_of_subtrees`: one past the last
    constituent below. `by_extent`: (start, end) -> index of the highest constituent there. `blanks`: the tokens
    without visible text, which belong to no constituent.
    """

    starts: list[int]
    ends: list[int]
    labels: list[str]
    parents: list[int]
    chain_tops: list[int]
    ends_of_subtrees: list[int]
    by_extent: dict[tuple[int, int], int]
    blanks: frozenset[int] = frozenset()


def group_key(doc: Doc, key: str | None = None, default: str = DEFAULT_KEY, kind: str = KIND) -> str | None:
    """The key of the constituents' group: `key` or the default, else the first group a parser wrote, else None.
    `default`, `kind`: default key and kind of the group, for groups of other things."""
    wanted, groups = default if key is None else key, doc.spans.data  # the dict, without the calls of UserDict
    if wanted in groups:
        return wanted
    written = (name for name, group in groups.items() if (group.attrs or {}).get("kind") == kind)
    return next(written, None) if key is None else None


class SpanColumns(NamedTuple):
    """The m spans of a group, ordered by start, longer ones first; spans of equal extent keep the order of the group.

    `starts`, `ends`: int64 (m,), half-open token ranges. `labels`: int64 (m,), indices into `names`, the distinct
    labels. `order`: int64 (m,), the index of each in the group; None if the group has this order.
    """

    starts: np.ndarray
    ends: np.ndarray
    labels: np.ndarray
    names: list[str]
    order: np.ndarray | None = None


def nest_spans(spans: SpanColumns, blanks: frozenset[int]) -> Constituents:
    """Build the tree over spans; spans of one extent are ordered from top to bottom. `blanks`: the tokens without
    visible text. Raises TreeError if two cross, and as `check_spans`."""
    if blanks or "" in spans.names:
        check_spans(*spans[:4], blanks)
    starts, ends = spans.starts.tolist(), spans.ends.tolist()
    labels = list(map(spans.names.__getitem__, spans.labels.tolist()))
    parents, tops, subtrees = [], [], [len(starts)] * len(starts)
    by_extent: dict[tuple[int, int], int] = {}
    stack: list[int] = []
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while stack and ends[stack[-1]] <= start:
            subtrees[stack.pop()] = k
        if start >= end or (stack and end > ends[stack[-1]]):
            check_spans(*spans[:4], blanks)  # raises the error of an empty span
            other = stack[-1]
            raise TreeError(
                f"constituents {labels[other]} [{starts[other]}, {ends[other]}) and {labels[k]} [{start}, {end}) "
                "cross; the constituents of a Doc must nest"
            )
        parents.append(stack[-1] if stack else -1)
        tops.append(by_extent.setdefault((start, end), k))
        stack.append(k)
    return Constituents(starts, ends, labels, parents, tops, subtrees, by_extent, blanks)


class Written(NamedTuple):
    """The sources of a written group: the trees of its sentences, each with the Doc's token for each leaf and the
    number of its first constituent in the group (1 without TOP), and the offsets in characters of the tokens, (n,)."""

    trees: list[tuple[Tree, Sequence[int], int]]
    token_starts: np.ndarray

    def spans(self, n_spans: int, token_starts: list[int]) -> SpanColumns | None:
        """The spans of the group; None if they are not in order, or if the number of spans or the start of a token
        has changed."""
        starts: list[int] = []
        ends: list[int] = []
        names: list[str] = []
        for tree, positions, first in self.trees:
            starts += map(positions.__getitem__, tree.starts[first:])
            ends += [positions[end - 1] + 1 for end in tree.ends[first:]]
            names += tree.labels[first:]
        if len(starts) != n_spans or starts != sorted(starts) or self.token_starts.tolist() != token_starts:
            return None
        ids: IdMap[str] = IdMap()
        labels = np.array([ids[name] for name in names], np.int64)
        return SpanColumns(np.array(starts, np.int64), np.array(ends, np.int64), labels, list(ids))


class _CachedGroup(NamedTuple):
    """The cached data of a group: its content (see `revision_of`), the character offsets at which the Doc's tokens
    start, spans, and constituents once they are needed."""

    content: Any
    starts: list[int]
    spans: SpanColumns
    constituents: Constituents | None = None


# Doc -> key -> a group that is not a ConstituentGroup, and its cached data. A ConstituentGroup has them itself, and
# forgets them when it is edited. The entry of a Doc is removed with the Doc.
_CACHE: weakref.WeakKeyDictionary[Doc, dict[str, tuple[SpanGroup, _CachedGroup]]] = weakref.WeakKeyDictionary()


def _valid_cache(doc: Doc, name: str) -> _CachedGroup | None:
    """The cached data of a group; None if there are none, or if its spans or the number of tokens have changed."""
    group = doc.spans.data[name]
    if isinstance(group, ConstituentGroup):
        cached = group.cached
        if cached is None or cached.content != len(group):
            return None
    else:
        entry = _CACHE.get(doc, {}).get(name)
        if entry is None or entry[0] is not group or entry[1].content != revision_of(group):
            return None
        cached = entry[1]
    return cached if len(cached.starts) == len(doc) else None


def _cache(doc: Doc, name: str, cached: _CachedGroup) -> _CachedGroup:
    """Keep the cached data of a group."""
    group = doc.spans.data[name]
    if isinstance(group, ConstituentGroup):
        group.cached = cached
    else:
        _CACHE.setdefault(doc, {})[name] = group, cached
    return cached


def read_constituents(doc: Doc, key: str | None = None, where: Span | None = None) -> Constituents:
    """The constituents of `doc`, from the group under `key` (default: see `group_key`).

    They are cached until the group is edited or replaced, or tokens were merged or split; then the group is
    replaced by one that fits (see `retokenized`). `where`: notice such changes of tokens only in this span. Raises
    NotParsedError if there is no such group or it cannot fit the tokens, TreeError if its spans cross, if one is empty,
    has no label, or begins or ends with white space, SpanGroupError if its attributes are not those of constituents.
    """
    name, cached = _read_group(doc, key, where)
    if cached.constituents is None:
        constituents = nest_spans(cached.spans, blank_tokens(doc))
        cached = _cache(doc, name, cached._replace(constituents=constituents))
    assert cached.constituents is not None
    return cached.constituents


def read_spans(doc: Doc, key: str | None = None) -> SpanColumns:
    """The spans of `read_constituents`, in half of the time; does not check whether they cross."""
    return _read_group(doc, key)[1].spans


def constituents_at(doc: Doc, key: str | None, first: Token, last: Token) -> Constituents:
    """The same as `read_constituents`, in constant time if they are cached: only these two tokens are compared with the
    cached ones."""
    name = group_key(doc, key)
    cached = None if name is None else _valid_cache(doc, name)
    if cached is not None and cached.constituents is not None:
        if first.idx == cached.starts[first.i] and last.idx == cached.starts[last.i]:
            return cached.constituents
    return read_constituents(doc, key)


def _read_group(doc: Doc, key: str | None, where: Span | None = None) -> tuple[str, _CachedGroup]:
    """The key of the group that `read_constituents` reads, and its cached data, read now if necessary."""
    name = group_key(doc, key)
    if name is None:
        raise NotParsedError(
            f"this Doc has no constituents (doc.spans[{key or DEFAULT_KEY!r}]): add 'dtparse' to the pipeline. "
            "Span.as_doc() and some conversions drop span groups; work on the parsed Doc itself, or use "
            "spacy_dtparse.as_doc(span)"
        )
    cached = _valid_cache(doc, name)
    if cached is not None:
        if where is None:
            starts, now = cached.starts, doc.to_array(IDX).reshape(-1).tolist()
        else:
            starts, now = cached.starts[where.start : where.end], token_values(where, IDX).tolist()
        if now == starts:
            return name, cached
    cached = _cache_written(doc, name)
    if cached is not None:
        return name, cached
    # No name for the group before `adopt_group`, which counts the references to it.
    objects = span_objects(doc.spans.data[name])
    stored, tokens = stored_spans(doc.spans.data[name], objects), token_offsets(doc)
    group = adopt_group(doc, name, stored, objects)
    attrs = check_attributes(group)
    spans = _columns(doc, stored, tokens) if attrs.get("n_tokens", len(doc)) == len(doc) else None
    if spans is None:
        doc.spans[name] = group = realign(doc, group, name)
        spans = _columns(doc, stored_spans(group), tokens)
        assert spans is not None
    return name, _cache(doc, name, _CachedGroup(revision_of(group), tokens.starts.tolist(), spans))


def _cache_written(doc: Doc, name: str) -> _CachedGroup | None:
    """Cache the data of a group that this process wrote, from the trees that were written, and return them; None if the
    group may be another now."""
    group = doc.spans.data[name]
    if not isinstance(group, ConstituentGroup) or group.written is None:
        return None
    token_starts: list[Any] = doc.to_array(IDX).reshape(-1).tolist()
    spans, group.written = group.written.spans(len(group), token_starts), None
    return None if spans is None else _cache(doc, name, _CachedGroup(len(group), token_starts, spans))


def are_tokens_unchanged(doc: Doc, positions: Iterable[int]) -> bool:
    """Whether these tokens begin where they began when the constituents of the Doc were read."""
    name = group_key(doc)
    cached = None if name is None else _valid_cache(doc, name)
    return cached is not None and all(doc[i].idx == cached.starts[i] for i in positions)


def token_values(where: Span, attribute: int) -> np.ndarray:
    """The values of an attribute of the tokens of a Span, uint64 (n,)."""
    doc = where.doc
    if 8 * len(where) < len(doc):
        return where.to_array([attribute]).reshape(-1)  # type: ignore[attr-defined]
    return doc.to_array(attribute).reshape(-1)[where.start : where.end]  # several times as fast per token


def value_at(doc: Doc, name: str, field: str, constituent: int) -> float | None:
    """One of `group_values.VALUES` for one constituent, right after `read_constituents`; None if it is unknown."""
    group = doc.spans.data[name]
    if isinstance(group, ConstituentGroup):
        return constituent_value(group, field, constituent)
    values = values_in_order(doc, name, field)
    return None if values is None else values[constituent]


def values_at(doc: Doc, name: str, field: str, indices: Iterable[int]) -> list[float | None] | None:
    """The values of some constituents: see `values_in_order`."""
    if not attribute_is_set(doc.spans[name], field):
        return None
    return [value_at(doc, name, field, k) for k in indices]


def values_in_order(doc: Doc, name: str, field: str) -> list[float | None] | None:
    """One of `group_values.VALUES` for each constituent, right after `read_constituents`; None if there are
    none."""
    group = doc.spans.data[name]
    if isinstance(group, ConstituentGroup):
        cached, stored = group.cached, None
    else:
        cached = _CACHE[doc][name][1]
        stored = np.frombuffer(cached.content, SPAN_LAYOUT)
    values, order = constituent_values(group, field, stored), cached.spans.order
    return values if values is None or order is None else [values[k] for k in order.tolist()]


def _columns(doc: Doc, stored: np.ndarray | None, tokens: TokenOffsets) -> SpanColumns | None:
    """The spans of a group, from its `stored_spans`, in order; None if they do not fit the tokens of the Doc."""
    if stored is None:
        return None
    extents, chars = (stored[name].T.astype(np.int64, order="C") for name in ("extent", "chars"))
    if not tokens.fit(extents, chars):
        return None
    label_ids: IdMap[int] = IdMap()
    labels = np.array([label_ids[label_hash] for label_hash in stored["label"].tolist()], np.int64)
    starts, ends = extents
    order = None
    order_keys = starts * (len(doc) + 1) - ends
    if (order_keys[1:] < order_keys[:-1]).any():
        order = order_keys.argsort(kind="stable")
        starts, ends, labels = starts[order], ends[order], labels[order]
    return SpanColumns(starts, ends, labels, [doc.vocab.strings[label_hash] for label_hash in label_ids], order)


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
    span_id = LEVELS[level] if level < len(LEVELS) else 0  # 0: no id, beyond the named levels
    return (Span if with_level else ChainSpan)(doc, start, end, label=label, span_id=span_id)
