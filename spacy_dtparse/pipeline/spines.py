"""The spines of a Doc's words, read from and written to a span group: a span for each word, labelled with its best.

A spine is the chain of constituents that a word heads; a word's candidate spines serve as supertags.
"""

import warnings
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from spacy.tokens import Doc, Span, SpanGroup, Token

from ..checks import short_repr
from ..errors import SpanGroupError
from ..symbols import IdMap
from .constituent_group import ConstituentGroup, adopt_group, attribute, verified_attrs
from .constituents import group_key

SPINES_KEY = "spines"
"""The key of the span group in `doc.spans`."""
FORMAT_VERSION = 2
_KIND = "dtparse.spines"

Supertags = Sequence[tuple[str, float]]
"""Candidate spines of a word with their probabilities, best first."""


def write_spines(doc: Doc, positions: Sequence[int], supertags: Sequence[Supertags], key: str = SPINES_KEY) -> None:
    """Set `doc.spans[key]` to the words at `positions` (ascending), each labelled with its best spine.

    The group's attrs are plain data: `version`; `kind`; `n_tokens` of the Doc; `names`, distinct spines; `supertags`,
    one list per word: the index of each candidate in `names` and its probability, alternating.
    """
    ids: IdMap[str] = IdMap()
    packed = [[part for name, p in candidates for part in (ids[name], p)] for candidates in supertags]
    spans = [Span(doc, i, i + 1, label=candidates[0][0]) for i, candidates in zip(positions, supertags, strict=True)]
    attrs = {"version": FORMAT_VERSION, "kind": _KIND, "n_tokens": len(doc), "names": list(ids), "supertags": packed}
    doc.spans[key] = ConstituentGroup(doc, name=key, attrs=attrs, spans=spans)


def spine(token: Token, key: str | None = None) -> str:
    """The best spine of a word, the constituents that it heads from the lowest to the highest; "" if there is none.

    `key`: the span group; by default "spines", else the first one that a component wrote. Warns if tokens were merged
    or split since.
    """
    found = _find(token, key)
    return "" if found is None else found[0][found[1]].label_


def spines(token: Token, key: str | None = None) -> tuple[tuple[str, float], ...]:
    """The candidate spines of a word with their probabilities, best first; () if there is none, and if Doc.from_docs or
    JSON dropped the probabilities. `key`: see `spine`."""
    found = _find(token, key)
    return () if found is None else _supertags_of(*found)


def read_supertags(doc: Doc, key: str | None = None) -> dict[int, Supertags]:
    """`spines` of all words that have some, by position in the Doc."""
    group = _group(doc, key)
    if group is None or not _supertag_rows(group):
        return {}
    return {span.start: _supertags_of(group, index) for index, span in enumerate(group)}


def _supertags_of(group: SpanGroup, index: int) -> tuple[tuple[str, float], ...]:
    """The candidate spines of the word of span `index`; () if they were dropped."""
    rows = _supertag_rows(group)
    row = rows[index] if rows else None
    if row is None:
        return ()
    names: Any = group.attrs.get("names")
    try:
        return tuple((names[name], prob) for name, prob in zip(row[::2], row[1::2], strict=True))
    except (TypeError, ValueError, IndexError):
        raise SpanGroupError(
            f"attrs['supertags'] of the span group {group.name!r} has an entry {short_repr(row)}, not a tagger's: "
            "tag the Doc again, or delete the entry: del doc.spans[…].attrs['supertags']"
        ) from None


def _supertag_rows(group: SpanGroup) -> Sequence[Any]:
    """The candidates of each span, None for a span without; [] if they were dropped."""
    rows = attribute(group, "supertags", [])
    if not isinstance(group, ConstituentGroup):
        rows = verified_attrs(group).get("supertags", [])
    return rows if len(rows) == len(group) else []


def has_spines(doc: Doc, key: str | None = None) -> bool:
    """Whether the Doc has spines."""
    return group_key(doc, key, SPINES_KEY, _KIND) is not None


def _find(token: Token, key: str | None) -> tuple[SpanGroup, int] | None:
    """The group, and the index of the token's span in it."""
    group = _group(token.doc, key)
    if group is None:
        return None
    index = bisect_left(group, token.i, key=lambda span: span.start)
    if index < len(group) and group[index].start == token.i:
        return group, index
    if isinstance(group, ConstituentGroup) and group.version == 0:
        return None
    return next(((group, k) for k, span in enumerate(group) if span.start == token.i), None)  # perhaps not in order


def _group(doc: Doc, key: str | None) -> SpanGroup | None:
    """The group with the Doc's spines. Warns if its tokens were merged or split since."""
    name = group_key(doc, key, SPINES_KEY, _KIND)
    if name is None:
        return None
    group = adopt_group(doc, name)
    if attribute(group, "n_tokens", len(doc)) != len(doc):
        warnings.warn(
            f"the tokens of this Doc were merged or split after tagging, so doc.spans[{name!r}] no longer fits them: "
            "retokenize before the tagger of the pipeline, or tag again",
            stacklevel=5,
        )
        return None
    return group
