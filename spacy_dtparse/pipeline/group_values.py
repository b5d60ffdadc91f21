"""The values and records of sentences in a group's attributes after its spans have changed: values follow their
constituents, and what belongs to other spans is removed."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from spacy.tokens import SpanGroup

from .stored_group import CHECKSUM, Key, checksum

VALUES = ("costs", "probabilities", "supertags")
"""The attributes that have an entry for each span; "supertags" are the candidates of spines."""
EDITED = "edited"
"""The status of a sentence whose constituents were edited after parsing."""


def drop_stale_values(attrs: dict[str, Any], group: SpanGroup, stored: np.ndarray | None = None) -> dict[str, Any]:
    """The attributes of a stored or assigned group, without its checksum. Values are removed, and records of
    sentences marked as edited, unless the checksum is that of the group's spans."""
    found = attrs.copy()
    stated = found.pop(CHECKSUM, None)
    if ("costs" in found or any(name in found for name in VALUES)) and stated != checksum(group, stored):
        for name in VALUES:
            if isinstance(found.get(name), list):
                found[name] = [None] * len(group)
        if isinstance(found.get("sentences"), list):
            found["sentences"] = [_edited_record(info) for info in found["sentences"]]
    return found


def realign_values(attrs: dict[str, Any], before: list[Key], now: list[Key]) -> dict[str, Any]:
    """The attributes of a group that had other spans before: values follow their constituents, new ones have none."""
    if before == now:
        return attrs
    waiting: dict[Key, list[int]] = {}
    for index in range(len(before) - 1, -1, -1):
        waiting.setdefault(before[index], []).append(index)
    sources = [waiting[key].pop() if waiting.get(key) else -1 for key in now]
    moved = dict(attrs)
    for name in VALUES:
        values = attrs.get(name)
        if isinstance(values, list):
            known = values if len(values) == len(before) else [None] * len(before)
            moved[name] = [known[index] if index >= 0 else None for index in sources]
    old, new = _labels_by_extent(before), _labels_by_extent(now)
    changed = [extent for extent in {*old, *new} if old.get(extent) != new.get(extent)]
    infos = attrs.get("sentences")
    if isinstance(infos, list):
        moved["sentences"] = [
            _edited_record(info) if any(_touches(info, extent) for extent in changed) else info for info in infos
        ]
    return moved


def _labels_by_extent(keys: Iterable[Key]) -> dict[tuple[int, int], list[int]]:
    labels: dict[tuple[int, int], list[int]] = {}
    for start, end, label in keys:
        labels.setdefault((start, end), []).append(label)
    return labels


def _touches(info: Any, extent: tuple[int, int]) -> bool:
    try:
        start, end = info["start"], info["end"]
        return start <= extent[0] < end or (extent[0] < end and extent[1] > start)
    except (TypeError, KeyError):  # garbage, which is reported when it is read
        return False


def _edited_record(info: Any) -> Any:
    """The record of a sentence whose tree is no longer the parser's."""
    if not isinstance(info, dict):
        return info
    return {**{name: info[name] for name in ("start", "end") if name in info}, "status": EDITED}
