"""Changes of a model's plain data and arrays, each drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()
ODD: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 7, 64, 255, 4096, 2**16, 2**24, 2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1,
    -(2**31), -(2**63), 2**64 - 1, 0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"), -float("inf"), "", "x",
    "TOP", "a b", "(", "NP)", "a\nb", "\0", "\ud800", "\u200b", "\u2028", "\x1b[2J", "é" * 50, "x" * 10**6, b"",
    b"\0" * 10, [], {}, [[]], [0] * 1000, ["x"] * 1000, {"a": 1}, [None], "(a+)+$", "a|b", "|NP+NP", "*unknown*",
    "*rare*", "<root>", "-NONE-",
]  # fmt: skip


def mutate(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: tuple[dict[str, Any], Arrays]) -> str:
    """Change something in place; return a description. `others`: metadata and arrays of a model of another kind."""
    change: Callable[..., str] = rng.choice(
        [_scalar] * 6
        + [_numbers] * 6
        + [_nested] * 3
        + [_dtype, _shape, _length, _swap, _exchange, _drop, _extra, _bomb]
    )
    return change(rng, meta, arrays, others)


def _paths(value: Any, most: int = 4000) -> list[tuple[Any, Any]]:
    """(Container, key) of every value within."""
    found, waiting = [], [value]
    while waiting and len(found) < most:
        outer = waiting.pop()
        keys = list(outer) if isinstance(outer, dict) else range(min(len(outer), 200))
        for key in keys:
            found.append((outer, key))
            if isinstance(outer[key], dict | list):
                waiting.append(outer[key])
    return found


def _place(rng: random.Random, meta: dict[str, Any]) -> tuple[Any, Any]:
    """A value at any depth; values of the first level are chosen as often as all others together."""
    name = rng.choice(sorted(meta, key=str))
    if rng.random() < 0.5 or not isinstance(meta[name], dict | list) or not meta[name]:
        return meta, name
    return rng.choice(_paths(meta[name]))


def _odd(rng: random.Random, old: Any) -> Any:
    if type(old) is int and rng.random() < 0.5:
        return min(max(old + rng.choice([-2, -1, 1, 2, 10]), -(2**63)), 2**64 - 1)
    if isinstance(old, str) and old and rng.random() < 0.4:
        at = rng.randrange(len(old))
        return old[:at] + rng.choice(["", "(", " ", "\n", "\ud800", "x", "é", "-", "+"]) + old[at + 1 :]
    return rng.choice(ODD)


def _scalar(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: Any) -> str:
    outer, key = _place(rng, meta)
    outer[key] = _odd(rng, outer[key])
    return f"{str(key)[:40]!r} = {str(outer[key])[:40]!r}"


def _nested(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: Any) -> str:
    """Delete, add, double, shuffle or exchange entries of a list or a dict."""
    outer, key = _place(rng, meta)
    if isinstance(outer, list):
        what = rng.choice(["delete", "double", "shuffle", "repeat", "exchange", "insert"])
        if what == "delete":
            del outer[key]
        elif what == "double":
            outer.insert(key, outer[key])
        elif what == "shuffle":
            rng.shuffle(outer)
        elif what == "repeat":
            outer.extend(outer[:1000] * rng.choice([1, 5]))
        elif what == "insert":
            outer.insert(key, rng.choice(ODD))
        else:
            other, its = _place(rng, meta)
            outer[key], other[its] = other[its], outer[key]
        return f"{what} in a list"
    what = rng.choice(["delete", "rename", "add", "exchange"])
    if what == "delete":
        del outer[key]
    elif what == "rename":
        outer[rng.choice(["x", "", "\ud800", str(key) + "s", *map(str, list(outer)[:3])])] = outer.pop(key)
    elif what == "add":
        outer[rng.choice(["x", "calibration", "lang", "options", "clusters", "ordered", "one_root"])] = rng.choice(ODD)
    else:
        other = rng.choice(list(outer))
        outer[key], outer[other] = outer[other], outer[key]
    return f"{what} {str(key)[:40]!r}"


def _pick(rng: random.Random, arrays: Arrays) -> str:
    return rng.choice(sorted(arrays)) if arrays else ""


def _extreme(rng: random.Random, array: np.ndarray) -> Any:
    if array.dtype.kind == "b":
        return rng.random() < 0.5
    if array.dtype.kind == "f":
        return rng.choice([0.0, -1.0, 1.0, 1e-9, 2.0, 1e30, -1e30, np.nan, np.inf, -np.inf, 0.5])
    info = np.iinfo(array.dtype)
    near = [
        0,
        1,
        -1,
        -2,
        2,
        3,
        5,
        array.size,
        array.size - 1,
        100,
        1000,
        65535,
        0x7C00,
        0x7BFF,
        2**20,
        2**31 - 1,
        2**40,
    ]
    return min(max(rng.choice([*near, info.min, info.max, int(array.flat[0]) + 1]), info.min), info.max)


def _numbers(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: Any) -> str:
    """Change numbers of an array."""
    name = _pick(rng, arrays)
    if not name or not arrays[name].size:
        return "nothing"
    array = arrays[name] = arrays[name].copy()
    flat, places = array.reshape(-1), np.random.default_rng(rng.randrange(2**32))
    what = rng.choice(["one", "one", "one", "some", "all", "random", "shuffle", "near", "scale", "bits"])
    if what == "one":
        flat[rng.randrange(len(flat))] = _extreme(rng, array)
    elif what == "some":
        flat[places.integers(0, len(flat), max(1, len(flat) // 10))] = _extreme(rng, array)
    elif what == "all":
        flat[:] = _extreme(rng, array)
    elif what == "random":
        low, high = (0, 2) if array.dtype.kind in "bf" else (int(array.min()), int(array.max()) + 2)
        flat[:] = places.integers(low, min(high, 2**62), len(flat)).astype(array.dtype) if low < 2**62 else 0
    elif what == "shuffle":
        places.shuffle(flat)
    elif what == "near" and array.dtype.kind in "iuf":
        at = rng.randrange(len(flat))
        flat[at] += np.array(rng.choice([1, 2]), dtype=array.dtype)
    elif what == "scale" and array.dtype.kind == "f":
        flat *= rng.choice([1e3, 1e30, -1.0, 0.0])
    elif what == "bits":
        raw = flat.view(np.uint8)
        raw[places.integers(0, len(raw), 3)] ^= np.uint8(1 << rng.randrange(8))
        if array.dtype == bool:
            raw &= 1
    return f"{what} of {name}"


def _dtype(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: Any) -> str:
    name = _pick(rng, arrays)
    if name:
        with np.errstate(all="ignore"):
            arrays[name] = arrays[name].astype(rng.choice(DTYPES))
    return f"type of {name}"


def _shape(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: Any) -> str:
    name = _pick(rng, arrays)
    if name:
        array = arrays[name]
        shapes = [
            array.T,
            array[None],
            array.reshape(-1),
            array[:, None] if array.ndim else array,
            array.reshape(-1)[:0],
        ]
        shapes += [np.array(array.flat[0])] if array.size else [np.zeros((0, 7), array.dtype)]
        arrays[name] = np.ascontiguousarray(rng.choice(shapes)) if rng.random() < 0.9 else np.array(3, array.dtype)
    return f"shape of {name}"


def _length(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: Any) -> str:
    """Fewer or more rows."""
    name = _pick(rng, arrays)
    if name and arrays[name].ndim:
        array = arrays[name]
        cut, end = rng.randrange(len(array) + 1), len(array) - 1
        rows = [array[:cut], array[cut:], array[:end], array[1:], array[::-1], np.concatenate([array, array[:cut]])]
        arrays[name] = np.ascontiguousarray(rng.choice([*rows, np.repeat(array, rng.choice([2, 100]), axis=0)]))
    return f"length of {name}"


def _swap(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: Any) -> str:
    one, other = _pick(rng, arrays), _pick(rng, arrays)
    if one:
        arrays[one], arrays[other] = arrays[other], arrays[one]
    return f"{one} for {other}"


def _exchange(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: tuple[dict[str, Any], Arrays]) -> str:
    """Copy fields or arrays from a model of another kind."""
    source: dict[str, Any] = rng.choice(others)  # type: ignore[assignment]
    own: dict[str, Any] = meta if source is others[0] else arrays  # type: ignore[assignment]
    name = rng.choice(sorted(source))
    place = rng.choice([name, *sorted(own)[:50]])
    own[place] = source[name]
    return f"{place} of another kind"


def _drop(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: Any) -> str:
    own: dict[str, Any] = rng.choice([meta, arrays])  # type: ignore[assignment]
    name = rng.choice(sorted(own)) if own else ""
    own.pop(name, None)
    return f"without {name}"


def _extra(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: Any) -> str:
    name = _pick(rng, arrays)
    if name:
        new = rng.choice([name + "x", name[:-1], name.replace("0", "1"), "reader", "x", "\ud800"])
        arrays[new] = arrays.pop(name) if rng.random() < 0.5 else arrays[name]
        return f"{name} as {new!r}"
    return "nothing"


def _bomb(rng: random.Random, meta: dict[str, Any], arrays: Arrays, others: Any) -> str:
    """Values that expand to much data."""
    what = rng.choice(["deep", "wide", "lists", "strings", "zeros", "counts", "number"])
    outer, key = _place(rng, meta)
    if what == "deep":
        value: Any = []
        for _ in range(rng.choice([20, 200, 400])):
            value = [value] if rng.random() < 0.5 else {"a": value}
        outer[key] = value
    elif what == "wide":
        outer[key] = [0] * 300_000
    elif what == "lists":
        outer[key] = [[] for _ in range(100_000)]
    elif what == "strings":
        outer[key] = [str(number) for number in range(100_000)]
    elif what == "zeros" and arrays:
        name = _pick(rng, arrays)
        arrays[name] = np.zeros(rng.choice([10**6, 3 * 10**6]), arrays[name].dtype)
    elif what == "counts":
        for name in [
            name for name in arrays if "nodes" in name or "counts" in name or "sizes" in name or "from" in name
        ]:
            arrays[name] = np.full(arrays[name].shape, rng.choice([0, 1, 2**20, 2**31 - 1])).astype(arrays[name].dtype)
    else:
        numbers = [(o, k) for o, k in _paths(meta) if type(o[k]) is int]
        if numbers:
            outer, key = rng.choice(numbers)
            outer[key] = rng.choice([2**20, 2**28, 2**31, 2**32, 2**62, -1])
    return f"bomb: {what}"
