"""Constituents after tokens were merged or split, and in a Doc of their own (`as_doc`).

spaCy leaves span groups as they are when tokens are merged or split by `doc.retokenize()`: the token numbers of their
spans are wrong then, their character offsets still right. Here the spans get new token numbers.
"""

from bisect import bisect_left
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import IDX, LENGTH
from spacy.tokens import Doc, Span, SpanGroup

from ..errors import NonConstituentError, NotParsedError
from .constituent_group import ConstituentGroup, attribute, verified_attrs
from .group_values import VALUES
from .sentences import is_blank
from .stored_group import stored_spans

ADVICE = "retokenize before 'dtparse' in the pipeline, or parse again"


class TokenOffsets(NamedTuple):
    """The character offsets of a Doc's tokens: `starts`, `ends`, int64 (n,)."""

    starts: np.ndarray
    ends: np.ndarray

    def fit(self, extents: np.ndarray, chars: np.ndarray) -> bool:
        """Whether spans with these tokens, int64 (2, m), lie in the Doc and have these characters, int64 (2, m)."""
        first, last = extents
        if not ((first >= 0) & (first <= last) & (last <= len(self.starts))).all():
            return False
        full = first < last
        first, last, (begin, end) = first[full], last[full], chars[:, full]
        return bool((self.starts[first] == begin).all() and (self.ends[last - 1] == end).all())


def token_offsets(doc: Doc) -> TokenOffsets:
    """The character offsets of the tokens of a Doc."""
    starts, lengths = doc.to_array([IDX, LENGTH]).reshape(-1, 2).T.astype(np.int64)
    return TokenOffsets(starts, starts + lengths)


def realign(doc: Doc, group: SpanGroup, name: str) -> SpanGroup:
    """A new group with the constituents of a group whose Doc's tokens were merged or split.

    Constituents within one merged token are left out, and one whose words became one token covers that token. Costs,
    probabilities and the records of sentences are kept. Raises NotParsedError if a token crosses the edge of a
    constituent, or the group cannot be read.
    """
    stale = f"the tokens of this Doc were merged or split after parsing, so doc.spans[{name!r}] no longer fits them"
    attrs, stored = verified_attrs(group), stored_spans(group)
    if stored is None or (len(stored) and not len(doc)):
        raise NotParsedError(f"{stale}: {ADVICE}")
    starts, ends = _visible_offsets(doc)
    begin, end = stored["chars"].T.astype(np.int64)
    first = starts.searchsorted(begin, "right") - 1  # the token that contains the first character
    last = ends.searchsorted(end, "left")  # the one that contains the last
    inside = (first >= 0) & (last < len(ends)) & (first <= last)
    if not inside.all():
        raise NotParsedError(f"{stale}: {ADVICE}")
    fits = (starts[first] == begin) & (ends[last] == end)
    cut = ~fits & (first != last)
    if cut.any():
        k = int(cut.argmax())
        token = doc[int(first[k] if starts[first[k]] != begin[k] else last[k])]
        label, text = doc.vocab.strings[int(stored["label"][k])], doc.text[int(begin[k]) : int(end[k])]
        raise NotParsedError(f"{stale}: the token {token.text!r} crosses the edge of {label} {text[:60]!r}; {ADVICE}")
    kept = np.flatnonzero(fits).tolist()
    spans = [
        Span(doc, int(first[k]), int(last[k]) + 1, int(stored["label"][k]), span_id=int(stored["id"][k])) for k in kept
    ]
    new_attrs = _select(attrs, kept, len(doc))
    if "sentences" in attrs:
        old_starts, old_ends = stored["extent"].T.tolist()
        new = {k: (span.start, span.end) for k, span in zip(kept, spans, strict=True)}
        new_attrs["sentences"] = _realign_sentences(attrs["sentences"], old_starts, old_ends, new, len(doc))
    return ConstituentGroup(doc, name=name, attrs=new_attrs, spans=spans)


def _visible_offsets(doc: Doc) -> tuple[np.ndarray, np.ndarray]:
    """The character offsets of the tokens without white space at their edges, which belongs to no constituent."""
    starts, ends = token_offsets(doc)
    starts, ends = starts.copy(), ends.copy()
    for token in doc:
        text = token.text
        if text != text.strip() and not is_blank(text):
            starts[token.i] += len(text) - len(text.lstrip())
            ends[token.i] -= len(text) - len(text.rstrip())
    return starts, ends


def _select(attrs: dict[str, Any], kept: list[int], n_tokens: int) -> dict[str, Any]:
    """The attrs of a group of which only some spans remain, in a Doc of so many tokens."""
    selected = {name: n_tokens if name == "n_tokens" else value for name, value in attrs.items()}
    for name in VALUES:
        values = attrs.get(name)
        if isinstance(values, list):
            selected[name] = [values[k] for k in kept if k < len(values)]
    return selected


def _realign_sentences(
    infos: list[dict[str, Any]], starts: list[int], ends: list[int], new: dict[int, tuple[int, int]], n_tokens: int
) -> list[dict[str, Any]]:
    """The records of sentences with new token numbers. `starts`, `ends`: the old ones of the constituents; `new`: the
    new ones of those that are kept. [], as if the records were lost, if a sentence lacks its root."""
    found, k = [], 0
    ends_before = 0
    for info in infos:
        while k < len(starts) and starts[k] < info["start"]:
            k += 1
        start, end = ends_before, ends_before + info["end"] - info["start"]
        if info.get("status") != "empty":
            if k not in new or ends[k] > info["end"]:
                return []
            start = max(new[k][0] - (starts[k] - info["start"]), ends_before)
            end = new[k][1] + info["end"] - ends[k]
        found.append({**info, "start": start, "end": max(start, end)})
        ends_before = found[-1]["end"]
    for one, after in pairwise(found):
        one["end"] = after["start"]
    if found:
        found[0]["start"], found[-1]["end"] = 0, n_tokens
    return found


def as_doc(span: Span, key: str | None = None, copy_user_data: bool = False) -> Doc:
    """A Doc of the tokens of a span with its constituents, which spaCy's `Span.as_doc()` drops.

    Constituents around the span are left out. `sentence_infos` of the new Doc has the sentences that are completely in
    the span. `key`: as for `constituents`. `copy_user_data`: as for `Span.as_doc`. Raises NonConstituentError if a
    constituent crosses the edge of the span, NotParsedError if the Doc has no valid parse.
    """
    from .constituents import group_key, read_constituents

    doc, start, end = span.doc, span.start, span.end
    found = read_constituents(doc, key)
    name = group_key(doc, key)
    assert name is not None
    for k in range(bisect_left(found.starts, end)):
        a, b = found.starts[k], found.ends[k]
        if (a < start < b < end) or (start < a and b > end):
            raise NonConstituentError(
                f"{found.labels[k]} [{a}, {b}) crosses the edge of [{start}, {end}); give a sentence or a constituent"
            )
    group = doc.spans[name]
    kept = [k for k, one in enumerate(group) if start <= one.start and one.end <= end and one.start < one.end]
    new_doc = span.as_doc(copy_user_data=copy_user_data)
    strings = new_doc.vocab.strings
    spans = [
        Span(new_doc, one.start - start, one.end - start, strings.add(one.label_), span_id=one.id)
        for one in map(group.__getitem__, kept)
    ]
    attribute(group, "sentences")
    group_attrs = verified_attrs(group)
    attrs = _select(group_attrs, kept, len(new_doc))
    if "sentences" in attrs:
        attrs["sentences"] = [
            {**info, "start": info["start"] - start, "end": info["end"] - start}
            for info in group_attrs["sentences"]
            if start <= info["start"] and info["end"] <= end
        ]
    new_doc.spans[name] = ConstituentGroup(new_doc, name=name, attrs=attrs, spans=spans)
    return new_doc
