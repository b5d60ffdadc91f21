"""What a model file may hold: fields and arrays as each kind declares them, checked before anything else looks at them.

A file is foreign data, whatever its digest says, and kernels read memory without a look at bounds. So a kind says of
each field its type, range and length, of each array its type, shape and values, and a file with anything missing,
anything else or anything more is refused. What is between several arrays (trees without circles, a table that fits its
layers) is checked where the model is built from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import Setting, shown

Check = Callable[[Any], str]
"""What is wrong with a value, beginning with where in it; "" where nothing is."""

MOST_STRINGS = 2**20
"""Strings of a list."""
_LONGEST = 10_000
"""Characters of a word and of a text about the model; whatever is longer does no harm, but helps nobody."""
_MOST_PROOFS, _LONGEST_PROOF = 8, 40
"""Sentences of proofs, and words of one of them: they are parsed while the model loads."""
_DEEPEST, _MOST_PLAIN = 12, 100_000
"""Levels and values of plain data about a model."""
_LIMIT = 1e300
"""Numbers are finite."""


@dataclass(frozen=True)
class Text:
    """What strings of a sort may be: how long, whether with `blanks`, and which `characters` they lack. Control
    characters, lone surrogates and line breaks are in none that is shown to people (`printable`)."""

    least: int = 0
    most: int = _LONGEST
    printable: bool = True
    blanks: bool = True
    characters: str = ""

    def fits(self, joined: str) -> bool:
        """Whether all characters of some strings, joined, may be there."""
        if not self.printable:
            return True
        lacked = self.characters + ("" if self.blanks else " ")
        return joined.isprintable() and not any(character in joined for character in lacked)

    @property
    def allowed(self) -> str:
        """In words."""
        marks = f", without {' or '.join(self.characters)}" if self.characters else ""
        kind = "printable, " + ("" if self.blanks else "without blanks, ") if self.printable else ""
        return f"{kind}of {self.least} to {self.most} characters{marks}"


LABEL = Text(1, 100, blanks=False, characters="()")
"""Labels of constituents, which stand in brackets."""
TAG = Text(0, 200, blanks=False)
"""Parts of speech and other labels of words; treebanks have brackets among them."""
NAME = Text(0, 1000)
"""Names of a grammar's symbols, and chains of labels."""
WORD = Text(printable=False)
"""Words, and parts of them, of any text."""


def a(setting: Setting) -> Check:
    """A single value; see `checks`."""
    return lambda value: "" if setting.fits(value) else f" is {shown(value)}; it must be {setting.allowed}"


def finite() -> Check:
    """A number."""
    return a(Setting(lambda value: type(value) in (int, float) and -_LIMIT < value < _LIMIT, "a finite number"))


def text(kind: Text) -> Check:
    """A string of this kind."""

    def check(value: Any) -> str:
        fits = isinstance(value, str) and kind.least <= len(value) <= kind.most and kind.fits(value)
        return "" if fits else f" is {shown(value)}; it must be a text, {kind.allowed}"

    return check


def texts(kind: Text, least: int = 0, most: int = MOST_STRINGS) -> Check:
    """A list of so many strings of this kind."""

    def check(value: Any) -> str:
        wrong = _length(value, least, most)
        if wrong or not value:
            return wrong
        try:
            joined, lengths = "".join(value), list(map(len, value))
        except TypeError:
            lengths = []
        if lengths and kind.least <= min(lengths) and max(lengths) <= kind.most and kind.fits(joined):
            return ""
        one = text(kind)
        return next((f"[{k}]{one(item)}" for k, item in enumerate(value) if one(item)), "")

    return check


def listed(of: Check, least: int = 0, most: int = MOST_STRINGS) -> Check:
    """A list of so many values."""

    def check(value: Any) -> str:
        wrong = _length(value, least, most)
        return wrong or next((f"[{k}]{found}" for k, found in enumerate(map(of, value)) if found), "")

    return check


def _length(value: Any, least: int, most: int) -> str:
    if isinstance(value, list) and least <= len(value) <= most:
        return ""
    seen = f"has {len(value)} entries" if isinstance(value, list) else f"is {shown(value)}"
    return f" {seen}; it must be a list of {least} to {most}"


def row(*of: Check) -> Check:
    """A list of one value for each check."""

    def check(value: Any) -> str:
        wrong = _length(value, len(of), len(of))
        found = (
            []
            if wrong
            else [f"[{k}]{one(item)}" for k, (one, item) in enumerate(zip(of, value, strict=True)) if one(item)]
        )
        return wrong or "".join(found[:1])

    return check


def record(needed: Mapping[str, Check], also: Mapping[str, Check] | None = None) -> Check:
    """A dict with all fields of `needed`, perhaps some of `also`, and no others."""
    known = {**needed, **(also or {})}

    def check(value: Any) -> str:
        if not isinstance(value, dict):
            return f" is {shown(value)}; it must be a dict"
        for name in needed:
            if name not in value:
                return f" lacks {name!r}"
        for name, part in value.items():
            if name not in known:
                return f" has {shown(name)}, which this release does not know"
            wrong = known[name](part)
            if wrong:
                return f".{name}{wrong}"
        return ""

    return check


def table(key: Text, of: Check, most: int) -> Check:
    """A dict of at most so many entries."""

    def check(value: Any) -> str:
        if not isinstance(value, dict) or len(value) > most:
            return f" is {shown(value)}; it must be a dict of at most {most} entries"
        return texts(key)(list(value)) or next((f".{k}{of(part)}" for k, part in value.items() if of(part)), "")

    return check


def perhaps(of: Check) -> Check:
    """The same, or None."""
    return lambda value: "" if value is None else of(value)


def plain(**known: Check) -> Check:
    """Plain data about a model, which nobody calculates with; some entries are `known`."""

    def check(value: Any) -> str:
        if not isinstance(value, dict):
            return f" is {shown(value)}; it must be a dict"
        level, values = [value], 0
        for _ in range(_DEEPEST):
            values += len(level)
            if values > _MOST_PLAIN or not all(map(_is_harmless, level)):
                break
            level = [inner for outer in level for inner in _within(outer)]
            if not level:
                return next((f".{k}{of(value[k])}" for k, of in known.items() if k in value and of(value[k])), "")
        return (
            f" is {shown(value)}; it must be plain data of at most {_MOST_PLAIN} values in {_DEEPEST} levels, with "
            f"texts of at most {_LONGEST} characters, none of them a control character"
        )

    return check


def _within(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _is_harmless(value: Any) -> bool:
    if not isinstance(value, str):
        return True
    return len(value) <= _LONGEST and (value.isprintable() or value.translate(_WHITE).isprintable())


_WHITE = dict.fromkeys(map(ord, "\n\t\u00a0\u200d"), " ")


@dataclass(frozen=True)
class Array:
    """An array of a file. `shape`: lengths, or names of sizes, which are the same wherever they stand; as a last
    resort None, any. `least`, `most`: of its numbers; `below`: a limit that they do not reach, or the size of that
    name, of what they count. `order`: "up" where each number is above the one before, "level" where it may be equal.
    `missing`: nan may stand for a number. `empty`: there may be nothing in it. `needed`: it must be there."""

    dtype: str
    shape: tuple[int | str | None, ...]
    least: float | None = None
    most: float | None = None
    below: int | str | None = None
    order: str = ""
    missing: bool = False
    empty: bool = True
    needed: bool = True

    def fault(self, array: np.ndarray, sizes: dict[str, int]) -> str:
        """What is wrong with it, "" where nothing is; new sizes are added to `sizes`."""
        if array.dtype.name != self.dtype or array.ndim != len(self.shape):
            return f" is {array.dtype} of {array.ndim} dimensions; it must be {self.dtype} of {len(self.shape)}"
        if not array.size and not self.empty:
            return f" has the shape {array.shape}, and nothing in it"
        for place, (wanted, length) in enumerate(zip(self.shape, array.shape, strict=True)):
            size = sizes.setdefault(wanted, length) if isinstance(wanted, str) else wanted
            if size is not None and length != size:
                named = f" ({wanted})" if isinstance(wanted, str) else ""
                return f" has the shape {array.shape}, where place {place} must be {size}{named}"
        return self._wrong_numbers(array, sizes) if array.size else ""

    def _wrong_numbers(self, array: np.ndarray, sizes: Mapping[str, int]) -> str:
        below = sizes[self.below] if isinstance(self.below, str) else self.below
        if self.least is not None or self.most is not None or below is not None:
            low, high = array.min(), array.max()
            if self.missing and np.isnan(low):
                low, high = np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None)  # without nan
            missing = self.missing and bool(np.isnan(low))
            wrong = not missing and not (self.least is None or low >= self.least)
            wrong |= not missing and not (self.most is None or high <= self.most)
            if wrong or (below is not None and int(high) >= below):
                limits = [] if self.least is None else [f"from {self.least}"]
                limits += [] if self.most is None else [f"to {self.most}"]
                limits += [] if below is None else [f"below {below}"]
                return f" has numbers from {low} to {high}; they must be {' '.join(limits)}"
        if self.order and not (array[1:] > array[:-1] if self.order == "up" else array[1:] >= array[:-1]).all():
            return " is not in ascending order"
        return ""


_ABOUT = plain()


@dataclass(frozen=True)
class Schema:
    """What a file of a kind holds, beside its version and its fingerprint.

    `fields`, and fields that may be left out, `more`. `arrays`: from the fields, which are checked by then, and from
    the arrays, which are not, the declarations of all arrays. `sizes`: numbers that the fields give names in shapes.
    `proof`: what a proof has beside its words and tags. `about`: of the plain data about the model.
    """

    fields: Mapping[str, Check]
    arrays: Callable[[Mapping[str, Any], Mapping[str, np.ndarray]], Mapping[str, Array]]
    proof: Mapping[str, Check]
    more: Mapping[str, Check] = field(default_factory=dict)
    sizes: Callable[[Mapping[str, Any]], dict[str, int]] = lambda fields: {}
    about: Check = _ABOUT

    def fault(self, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
        """What is wrong with a file, "" where nothing is."""
        strings = texts(WORD, 1, _LONGEST_PROOF)
        proofs = listed(record({"words": strings, "tags": strings, **self.proof}), 0, _MOST_PROOFS)
        usual = {"fingerprint": text(NAME), "proofs": proofs, "meta": self.about}
        wrong = record({"version": lambda _: "", **usual, **self.fields}, self.more)(fields)
        if wrong:
            return f"its data{wrong}"
        declared, sizes = self.arrays(fields, arrays), self.sizes(fields)
        for name, array in declared.items():
            if name not in arrays and array.needed:
                return f"it lacks the array {name!r}"
        for name in arrays:
            if name not in declared:
                return f"it has an array {name!r}, which this release does not know"
        for name, array in declared.items():
            wrong = array.fault(arrays[name], sizes) if name in arrays else ""
            if wrong:
                return f"its array {name!r}{wrong}"
        return ""
