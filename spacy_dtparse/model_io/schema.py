"""Schemas of model files: each kind declares its fields and arrays, which are validated before anything else uses them.

A file is untrusted data, even if its digest is right, and kernels access memory without bounds checks. So each kind
declares the type, range and length of each field, and the type, shape and values of each array; a file with missing,
wrong or additional entries is rejected. Constraints between several arrays (trees without cycles, a table that fits its
layers) are checked when the model is built from them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import Setting, short_repr

Check = Callable[[Any], str]
"""Returns the error in a value, beginning with its location in the value; "" if it is valid."""

MAX_STRINGS = 2**20
"""Maximum number of strings in a list."""
_MAX_LENGTH = 10_000
"""Maximum number of characters of a word and of a text about the model; longer ones are harmless but useless."""
_MAX_GOLDEN_PARSES, _MAX_GOLDEN_WORDS = 8, 20
"""Maximum number of golden parses, and of words in one: they are parsed when the model is loaded."""
_MAX_DEPTH, _MAX_PLAIN = 12, 100_000
"""Maximum number of levels and of values of a model's metadata."""
_LIMIT = 1e300
"""Numbers must be smaller, so that they are finite."""


@dataclass(frozen=True)
class Text:
    """Constraints on strings: minimum and maximum length, whether `blanks` are allowed, and forbidden `characters`.
    Strings that are shown to users are `printable`: without control characters, lone surrogates and line breaks."""

    minimum: int = 0
    maximum: int = _MAX_LENGTH
    printable: bool = True
    blanks: bool = True
    characters: str = ""

    def fits(self, joined: str) -> bool:
        """Whether all characters of some strings, joined, are allowed."""
        if not self.printable:
            return True
        lacked = self.characters + ("" if self.blanks else " ")
        return joined.isprintable() and not any(character in joined for character in lacked)

    @property
    def description(self) -> str:
        """Description of the constraints for messages."""
        marks = f", without {' or '.join(self.characters)}" if self.characters else ""
        kind = "printable, " + ("" if self.blanks else "without blanks, ") if self.printable else ""
        return f"{kind}of {self.minimum} to {self.maximum} characters{marks}"


LABEL = Text(1, 100, blanks=False, characters="()")
"""Labels of constituents, which are written in brackets."""
TAG = Text(0, 200, blanks=False)
"""Parts of speech and other labels of words; in treebanks some of them contain brackets."""
NAME = Text(0, 1000)
"""Names of a grammar's symbols, and label chains."""
WORD = Text(printable=False)
"""Words and parts of words from any text."""
CLUSTER = Text(maximum=10**6, printable=False)
"""Words of a cluster, separated by blanks."""
MAX_CLUSTERS = 2**14
"""Maximum number of word clusters."""


def a(setting: Setting) -> Check:
    """Check a single value; see `checks`."""
    return lambda value: "" if setting.fits(value) else f" is {short_repr(value)}; it must be {setting.allowed}"


def finite() -> Check:
    """Check a finite number."""
    return a(Setting(lambda value: type(value) in (int, float) and -_LIMIT < value < _LIMIT, "a finite number"))


def text(kind: Text) -> Check:
    """Check a string of this kind."""

    def check(value: Any) -> str:
        is_valid = isinstance(value, str) and kind.minimum <= len(value) <= kind.maximum and kind.fits(value)
        return "" if is_valid else f" is {short_repr(value)}; it must be a text, {kind.description}"

    return check


def texts(kind: Text, minimum: int = 0, maximum: int = MAX_STRINGS) -> Check:
    """Check a list of `minimum` to `maximum` strings of this kind."""

    def check(value: Any) -> str:
        wrong = _length(value, minimum, maximum)
        if wrong or not value:
            return wrong
        try:
            joined, lengths = "".join(value), list(map(len, value))
        except TypeError:
            lengths = []
        if lengths and kind.minimum <= min(lengths) and max(lengths) <= kind.maximum and kind.fits(joined):
            return ""
        one = text(kind)
        return next((f"[{k}]{one(item)}" for k, item in enumerate(value) if one(item)), "")

    return check


def list_of(of: Check, minimum: int = 0, maximum: int = MAX_STRINGS) -> Check:
    """Check a list of `minimum` to `maximum` values."""

    def check(value: Any) -> str:
        wrong = _length(value, minimum, maximum)
        return wrong or next((f"[{k}]{found}" for k, found in enumerate(map(of, value)) if found), "")

    return check


def _length(value: Any, minimum: int, maximum: int) -> str:
    if isinstance(value, list) and minimum <= len(value) <= maximum:
        return ""
    seen = f"has {len(value)} entries" if isinstance(value, list) else f"is {short_repr(value)}"
    return f" {seen}; it must be a list of {minimum} to {maximum}"


def row(*of: Check) -> Check:
    """Check a list of one value for each check."""

    def check(value: Any) -> str:
        wrong = _length(value, len(of), len(of))
        found = (
            []
            if wrong
            else [f"[{k}]{one(item)}" for k, (one, item) in enumerate(zip(of, value, strict=True)) if one(item)]
        )
        return wrong or "".join(found[:1])

    return check


def record(needed: Mapping[str, Check], optional_fields: Mapping[str, Check] | None = None) -> Check:
    """Check a dict with all fields of `needed`, any of `optional_fields`, and no others."""
    known = {**needed, **(optional_fields or {})}

    def check(value: Any) -> str:
        if not isinstance(value, dict):
            return f" is {short_repr(value)}; it must be a dict"
        for name in needed:
            if name not in value:
                return f" lacks {name!r}"
        for name, part in value.items():
            if name not in known:
                return f" has {short_repr(name)}, which this release does not know"
            wrong = known[name](part)
            if wrong:
                return f".{name}{wrong}"
        return ""

    return check


def table(key: Text, of: Check, maximum: int) -> Check:
    """Check a dict of at most `maximum` entries."""

    def check(value: Any) -> str:
        if not isinstance(value, dict) or len(value) > maximum:
            return f" is {short_repr(value)}; it must be a dict of at most {maximum} entries"
        return texts(key)(list(value)) or next((f".{k}{of(part)}" for k, part in value.items() if of(part)), "")

    return check


def optional(of: Check) -> Check:
    """Check a value that may also be None."""
    return lambda value: "" if value is None else of(value)


def plain(**known: Check) -> Check:
    """Check a model's metadata: plain data that is not used in computations; `known`: checks of some entries."""

    def check(value: Any) -> str:
        if not isinstance(value, dict):
            return f" is {short_repr(value)}; it must be a dict"
        level, values = [value], 0
        for _ in range(_MAX_DEPTH):
            values += len(level)
            if values > _MAX_PLAIN or not all(map(_is_harmless, level)):
                break
            level = [inner for outer in level for inner in _within(outer)]
            if not level:
                return next((f".{k}{of(value[k])}" for k, of in known.items() if k in value and of(value[k])), "")
        return (
            f" is {short_repr(value)}; it must be plain data of at most {_MAX_PLAIN} values in {_MAX_DEPTH} levels, "
            f"with texts of at most {_MAX_LENGTH} characters, none of them a control character"
        )

    return check


def _within(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _is_harmless(value: Any) -> bool:
    if not isinstance(value, str):
        return not isinstance(value, bytes)
    return len(value) <= _MAX_LENGTH and (value.isprintable() or value.translate(_WHITE).isprintable())


_WHITE = dict.fromkeys(map(ord, "\n\t\u00a0\u200d"), " ")


@dataclass(frozen=True)
class Array:
    """Constraints on an array of a file. `shape`: lengths, or names of sizes, where equal names mean equal lengths; as
    a last resort None, any length. `minimum`, `maximum`: bounds of its values. `below`: an exclusive upper bound, or
    the name of a size that the values index. `order`: "up" if the values must be strictly ascending, "level" if they
    may be equal. `missing`: nan is allowed. `empty`: it may have no elements. `needed`: it is required."""

    dtype: str
    shape: tuple[int | str | None, ...]
    minimum: float | None = None
    maximum: float | None = None
    below: int | str | None = None
    order: str = ""
    missing: bool = False
    empty: bool = True
    needed: bool = True

    def fault(self, array: np.ndarray, sizes: dict[str, int]) -> str:
        """Return the error in the array, "" if it is valid; new sizes are added to `sizes`."""
        if array.dtype.name != self.dtype or array.ndim != len(self.shape):
            return f" is {array.dtype} of {array.ndim} dimensions; it must be {self.dtype} of {len(self.shape)}"
        if not array.size and not self.empty:
            return f" has the shape {array.shape}, and nothing in it"
        for dimension, (wanted, length) in enumerate(zip(self.shape, array.shape, strict=True)):
            size = sizes.setdefault(wanted, length) if isinstance(wanted, str) else wanted
            if size is not None and length != size:
                named = f" ({wanted})" if isinstance(wanted, str) else ""
                return f" has the shape {array.shape}, where dimension {dimension} must be {size}{named}"
        return self._wrong_numbers(array, sizes) if array.size else ""

    def _wrong_numbers(self, array: np.ndarray, sizes: Mapping[str, int]) -> str:
        below = sizes[self.below] if isinstance(self.below, str) else self.below
        if self.minimum is not None or self.maximum is not None or below is not None:
            low, high = array.min(), array.max()
            if self.missing and np.isnan(low):
                low, high = np.fmin.reduce(array, axis=None), np.fmax.reduce(array, axis=None)  # without nan
            missing = self.missing and bool(np.isnan(low))
            wrong = not missing and not (self.minimum is None or low >= self.minimum)
            wrong |= not missing and not (self.maximum is None or high <= self.maximum)
            if wrong or (below is not None and int(high) >= below):
                limits = [] if self.minimum is None else [f"from {self.minimum}"]
                limits += [] if self.maximum is None else [f"to {self.maximum}"]
                limits += [] if below is None else [f"below {below}"]
                return f" has numbers from {low} to {high}; they must be {' '.join(limits)}"
        if self.order and not (array[1:] > array[:-1] if self.order == "up" else array[1:] >= array[:-1]).all():
            return " is not in ascending order"
        return ""


_ABOUT = plain()


@dataclass(frozen=True)
class Schema:
    """The content of a kind of file, in addition to its version and fingerprint.

    `fields`: required fields; `optional_fields`: optional ones. `arrays`: returns the declarations of all arrays, from
    the fields, which are validated by then, and from the arrays, which are not. `sizes`: returns sizes by name, from
    the fields. `golden_fields`: fields of a golden parse in addition to its words and tags. `about`: check of metadata.
    """

    fields: Mapping[str, Check]
    arrays: Callable[[Mapping[str, Any], Mapping[str, np.ndarray]], Mapping[str, Array]]
    golden_fields: Mapping[str, Check]
    optional_fields: Mapping[str, Check] = field(default_factory=dict)
    sizes: Callable[[Mapping[str, Any]], dict[str, int]] = lambda fields: {}
    about: Check = _ABOUT

    def fault(self, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
        """Return the error in a file, "" if it is valid."""
        strings = texts(WORD, 1, _MAX_GOLDEN_WORDS)
        golden_parses = list_of(
            record({"words": strings, "tags": strings, **self.golden_fields}), 0, _MAX_GOLDEN_PARSES
        )
        usual = {"fingerprint": text(NAME), "proofs": golden_parses, "meta": self.about}
        wrong = record({"version": lambda _: "", **usual, **self.fields}, self.optional_fields)(fields)
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
