"""Strict JSON: numbers that JSON lacks (nan, infinity) become null."""

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any


def to_json(value: Any, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    """Write plain data as JSON. Numbers that JSON lacks (nan, infinity) become null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=default)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, indent=indent, default=default)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value
