"""The span group of a Doc's constituents: it notices edits, and its attributes are checked when they are read.

spaCy's SpanGroup stores copies of spans, so only its own methods change it. A ConstituentGroup counts these changes,
so that a cached tree is not used after one, and keeps costs with their constituents. Groups of other origin (loaded,
or assigned by a user) become one when they are read first, unless somebody else holds them: then their bytes are
compared each time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup

from ..checks import short_repr
from ..errors import SpanGroupError
from .group_values import VALUES, drop_stale_values, realign_values
from .stored_group import ATTRS, CHECKSUM, Key, bytes_of, checksum, packed_group, span_keys, stored_spans

FORMAT_VERSION = 2
"""Version of the group's attributes, `attrs["version"]`."""
_attrs_of = ATTRS.__get__


class ConstituentGroup(SpanGroup):
    """A SpanGroup whose costs and probabilities stay with their constituents when spans are replaced, deleted, added.

    `version`: number of changes of the spans. A sentence with changed constituents has the status "edited".
    """

    version = 0
    _before: list[Key] | None = None
    """The spans before the changes that the attributes do not show yet."""
    _checked_infos: tuple[Any, int] | None = None
    """The records of sentences that were found to be allowed, and their number."""
    cached: Any = None
    """Everything that was read of the spans (see `constituents`), until they change."""
    written: Any = None
    """The trees from which this process wrote the group (see `constituents.Written`), until somebody changes the spans
    or gets the attributes."""

    @classmethod
    def from_group(
        cls, group: SpanGroup, stored: np.ndarray | None = None, objects: list[Span] | None = None
    ) -> ConstituentGroup:
        """Copy a group; values that do not belong to its spans are removed. `stored`, `objects`: its `stored_spans` and
        `span_objects`, if the caller has them."""
        attrs = verified_attrs(group, stored)
        copied = cls(group.doc, name=group.name, spans=objects or ())
        if objects is None:
            packed = None if stored is None else packed_group(group.name, {}, stored)
            SpanGroup.from_bytes(copied, bytes_of(group) if packed is None else packed)
            copied.name = group.name
        ATTRS.__set__(copied, attrs)
        return copied

    @property
    def attrs(self) -> dict[str, Any]:  # type: ignore[override]
        """The attributes, up to date with the spans."""
        self.written = None
        if self._before is not None:
            self._update_attrs()
        return _attrs_of(self)

    @attrs.setter
    def attrs(self, value: dict[str, Any]) -> None:
        self.written = None
        self._update_attrs()
        ATTRS.__set__(self, value)

    def _update_attrs(self) -> None:
        if self._before is not None:
            before, self._before = self._before, None
            attrs = ATTRS.__get__(self)
            if isinstance(attrs, dict):
                ATTRS.__set__(self, realign_values(attrs, before, span_keys(self)))

    def _before_change(self) -> None:
        if self._before is None:
            self._before = span_keys(self)
        self.version += 1
        self.cached = self.written = None

    def append(self, span: Span) -> None:
        """Add a span."""
        self._before_change()
        super().append(span)

    def extend(self, spans: SpanGroup | Iterable[Span]) -> None:  # type: ignore[override]
        """Add spans."""
        self._before_change()
        super().extend(spans)

    def __iadd__(self, spans: SpanGroup | Iterable[Span]) -> ConstituentGroup:  # type: ignore[override, misc]
        self._before_change()
        super().__iadd__(spans)  # type: ignore[misc]
        return self

    def __setitem__(self, i: int, span: Span) -> None:
        self._before_change()
        super().__setitem__(i, span)  # type: ignore[misc]

    def __delitem__(self, i: int) -> None:
        rest = list(self)
        del rest[i]  # spaCy 3.8 deletes the span before it, and for the first writes outside of the group
        self._before_change()
        name, attrs = self.name, ATTRS.__get__(self)
        super().from_bytes(SpanGroup(self.doc, spans=rest).to_bytes())
        self.name = name
        ATTRS.__set__(self, attrs)

    def from_bytes(self, data: bytes) -> ConstituentGroup:
        """Replace spans and attributes by stored ones."""
        self._before = self.cached = self.written = None
        self.version += 1
        super().from_bytes(data)
        ATTRS.__set__(self, drop_stale_values(ATTRS.__get__(self), self))
        return self

    def to_bytes(self) -> bytes:
        """Store the group as spaCy does, with the checksum of its spans."""
        attrs = raw_attrs(self)
        if not isinstance(attrs, dict) or attrs.keys().isdisjoint(VALUES):
            return super().to_bytes()
        spans = stored_spans(self)
        packed = None if spans is None else packed_group(self.name, {**attrs, CHECKSUM: checksum(self, spans)}, spans)
        if packed is not None:
            return packed
        ATTRS.__set__(self, {**attrs, CHECKSUM: checksum(self)})
        try:
            return super().to_bytes()
        finally:
            ATTRS.__set__(self, attrs)

    def copy(self, doc: Doc | None = None) -> ConstituentGroup:  # type: ignore[override]
        """Copy the group, also to another Doc."""
        self._update_attrs()
        copied = super().copy(doc)
        return ConstituentGroup(copied.doc, name=copied.name, attrs=ATTRS.__get__(copied), spans=list(copied))


def raw_attrs(group: SpanGroup) -> Any:
    """The attributes of a group, up to date, for a caller that only reads them."""
    return _attrs_of(group) if isinstance(group, ConstituentGroup) and group._before is None else group.attrs


def revision_of(group: SpanGroup) -> Any:
    """A value that differs after each change of the spans of this group object; of a ConstituentGroup, which forgets
    what was read of it when its own methods change it, their number."""
    if isinstance(group, ConstituentGroup):
        return len(group)
    stored = stored_spans(group)
    return bytes_of(group) if stored is None else stored.tobytes()


_probe = {"group": object()}
_UNSHARED = sys.getrefcount(_probe["group"])
"""The reference count of a value that only a dict holds."""


def adopt_group(doc: Doc, name: str, stored: np.ndarray | None = None, objects: list[Span] | None = None) -> SpanGroup:
    """The group of a Doc, replaced by a ConstituentGroup with the same spans unless somebody else holds it. `stored`,
    `objects`: as for `from_group`."""
    data = doc.spans.data
    if not isinstance(data[name], ConstituentGroup) and sys.getrefcount(data[name]) <= _UNSHARED:
        data[name] = ConstituentGroup.from_group(data[name], stored, objects)
    return data[name]


def verified_attrs(group: SpanGroup, stored: np.ndarray | None = None) -> dict[str, Any]:
    """The attributes of a group without values that do not belong to its spans. `stored`: its `stored_spans`."""
    attrs = group.attrs
    if isinstance(group, ConstituentGroup) or not isinstance(attrs, dict):
        return attrs
    return drop_stale_values(attrs, group, stored)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_value(value: Any) -> bool:
    if type(value) is float:
        return isfinite(value)
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value))


def _is_info(info: Any) -> bool:
    """Whether a value is the record of a sentence."""
    if not isinstance(info, dict):
        return False
    get = info.get
    start, end = get("start"), get("end")
    if type(start) is not int or type(end) is not int or not 0 <= start <= end or not isinstance(get("status"), str):
        return False
    for name in ("cost", "ambiguity", "tree_probability"):
        value = get(name)
        if value is not None and not _is_value(value):
            return False
    return True


_USUAL_TYPES = {float, type(None)}


def _are_values(value: Any) -> bool:
    if type(value) is list and _USUAL_TYPES.issuperset(map(type, value)):  # the usual case, in a third of the time
        try:
            total = sum(value)
        except TypeError:  # None
            total = sum(filter(None, value))
        if isfinite(total):
            return True
    return isinstance(value, list | tuple) and all(map(_is_value, value))


_LISTS = (list, tuple)  # faster than list | tuple


def _is_list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, _LISTS) and all(map(fits, value))


_ALLOWED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "version": (lambda value: _is_count(value) and value == FORMAT_VERSION, str(FORMAT_VERSION)),
    "kind": (lambda value: isinstance(value, str), "a string"),
    "n_tokens": (_is_count, "the number of tokens of its Doc"),
    "parser": (lambda value: isinstance(value, str), "the name of a parser, a string"),
    **{name: (_are_values, "a list of finite numbers or None, one for each span") for name in VALUES[:2]},
    "supertags": (_is_list_of(lambda row: row is None or isinstance(row, list | tuple)), "a list of lists"),
    "sentences": (_is_list_of(_is_info), "a list of dicts with start, end and status: see sentence_infos"),
    "head_rules": (lambda value: value is None or isinstance(value, str | dict), "a language code, or rules as a dict"),
    "noun_chunks": (
        lambda value: isinstance(value, str) and value in ("auto", "constituents", "dependencies"),
        "'auto', 'constituents' or 'dependencies'",
    ),
    "universal_tags": (lambda value: isinstance(value, bool), "True or False"),
    "later_sentence_setters": (_is_list_of(lambda one: isinstance(one, str)), "a list of names of components"),
}
"""Attributes of a group of constituents: a test, and the allowed values in words."""


def attribute(group: SpanGroup, name: str, default: Any = None) -> Any:
    """An attribute of a group. Raises SpanGroupError if its value is not allowed."""
    attrs = _checked_dict(group)
    return _check(group, name, attrs[name]) if name in attrs else default


def attribute_is_set(group: SpanGroup, name: str) -> bool:
    """Whether a group has an attribute that is not an empty list."""
    attrs = _checked_dict(group)
    return name in attrs and attrs[name] != []


def constituent_value(group: ConstituentGroup, name: str, index: int) -> float | None:
    """The entry of one of VALUES for the constituent `index` of `group.cached`; None if it is unknown. Raises
    SpanGroupError if its value is not allowed."""
    cached = group.cached  # since it is there, the attributes show all changes of the spans
    order = cached.spans.order
    if order is not None:
        index = int(order[index])
    attrs = _attrs_of(group)
    values = attrs.get(name) if type(attrs) is dict else None
    if type(values) is list and len(values) == cached.content:  # the usual case, first
        value = values[index]
        if (type(value) is float and value - value == 0.0) or value is None:  # not inf, not nan
            return value
    attrs = _checked_dict(group)
    if name not in attrs:
        return None
    values = attrs[name] if isinstance(attrs[name], list | tuple) else _check(group, name, attrs[name])
    if len(values) != len(group):
        return None
    return values[index] if _is_value(values[index]) else _check(group, name, values)


def constituent_values(group: SpanGroup, name: str, stored: np.ndarray | None = None) -> list[float | None] | None:
    """One of VALUES for each span of a group; None if the group has none, or they are not those of its spans.
    `stored`: its `stored_spans`."""
    attrs: Mapping[str, Any] = _checked_dict(group)
    if name not in attrs:
        return None
    _check(group, name, attrs[name])
    attrs = verified_attrs(group, stored)
    return list(attrs[name]) if len(attrs[name]) == len(group) else None


def sentence_records(group: SpanGroup) -> list[dict[str, Any]]:
    """The records of sentences of a group; see `sentence_infos`."""
    if not isinstance(group, ConstituentGroup):
        attribute(group, "sentences", ())
        return list(verified_attrs(group).get("sentences", ()))
    infos = _checked_dict(group).get("sentences", ())
    checked = group._checked_infos
    if checked is None or checked[0] is not infos or checked[1] != len(infos):
        attribute(group, "sentences", ())
        group._checked_infos = infos, len(infos)
    return list(infos)


def check_attributes(group: SpanGroup) -> Mapping[str, Any]:
    """The attributes of a group of constituents. Raises SpanGroupError unless all have allowed values."""
    attrs = _checked_dict(group)
    for name, value in attrs.items():
        if (allowed := _ALLOWED.get(name)) and not allowed[0](value):
            _check(group, name, value)
    return attrs


def _checked_dict(group: SpanGroup) -> Mapping[str, Any]:
    attrs = raw_attrs(group)
    if not isinstance(attrs, dict):
        raise SpanGroupError(f"the attrs of the span group {group.name!r} are {short_repr(attrs)}; {_ADVICE}")
    return attrs


_ADVICE = "they must be a dict, such as a parser writes; parse the Doc again, or set attrs = {} to keep only the spans"


def _check(group: SpanGroup, name: str, value: Any) -> Any:
    fits, allowed = _ALLOWED[name]
    if not fits(value):
        hint = "; another version of spacy-dtparse wrote it" if name == "version" and _is_count(value) else ""
        raise SpanGroupError(
            f"attrs[{name!r}] of the span group {group.name!r} is {_describe_value(value, fits)}{hint}; it must be "
            f"{allowed}. Parse the Doc again, or delete the entry: del doc.spans[{group.name!r}].attrs[{name!r}]"
        )
    return value


def _describe_value(value: Any, fits: Callable[[Any], bool]) -> str:
    """A value in short; of a list the first entry that is not allowed."""
    if isinstance(value, list | tuple):
        wrong = next((k for k, one in enumerate(value) if not fits([one])), None)
        if wrong is not None:
            return f"a list whose entry {wrong} is {short_repr(value[wrong])}"
    return short_repr(value)
