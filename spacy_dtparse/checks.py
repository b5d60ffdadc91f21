"""Allowed values of settings, each as a test and in words, and the check that raises ConfigError for other values."""

import math
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .errors import ConfigError


class Setting(NamedTuple):
    """The allowed values of a setting, as a test (`fits`) and in words, and their type."""

    fits: Callable[[Any], bool]
    allowed: str
    type: Any = Any


def integer(minimum: int, maximum: float = math.inf) -> Setting:
    """An integer from `minimum` to `maximum`."""
    return Setting(
        lambda value: _is_number(value) and isinstance(value, int) and minimum <= value <= maximum,
        f"a whole number from {minimum}" + ("" if maximum == math.inf else f" to {maximum}"),
        int,
    )


def real(minimum: float, maximum: float = math.inf, above: bool = False, below: bool = False) -> Setting:
    """A number from `minimum` to `maximum`; `above` excludes `minimum`, `below` excludes `maximum`."""
    return Setting(
        lambda value: (
            _is_number(value)
            and (value > minimum if above else value >= minimum)
            and (value < maximum if below else value <= maximum)
        ),
        f"a number {'above' if above else 'from'} {minimum:g}"
        + ("" if maximum == math.inf else f" to {'below ' if below else ''}{maximum:g}"),
        float,
    )


def fraction() -> Setting:
    """A number of at least 0 and below 1."""
    return real(0, 1, below=True)


def fractions() -> Setting:
    """A list of numbers from 0 to 1."""
    one = real(0, 1)
    return Setting(
        lambda value: isinstance(value, list | tuple) and all(map(one.fits, value)),
        "a list of numbers from 0 to 1",
        list[float],
    )


def label_list() -> Setting:
    """A list of labels of constituents. Its type is Any, so that spaCy leaves the message to the component."""
    return Setting(
        lambda value: isinstance(value, list | tuple) and all(isinstance(one, str) and one for one in value),
        "a list of labels, such as ['FRAG', 'X']",
    )


def one_of(*choices: str) -> Setting:
    """One of the strings `choices`."""
    return Setting(lambda value: isinstance(value, str) and value in choices, " or ".join(map(repr, choices)), str)


def boolean() -> Setting:
    """True or false."""
    return Setting(lambda value: isinstance(value, bool), "true or false", bool)


def optional(setting: Setting) -> Setting:
    """The same values, or None."""
    return Setting(lambda value: value is None or setting.fits(value), f"{setting.allowed}, or None")


def check(settings: Any, allowed: Mapping[str, Setting], kind: str = "") -> None:
    """Raise ConfigError unless each attribute named in `allowed` has an allowed value. `kind`: kind of the settings,
    for the message."""
    for name, setting in allowed.items():
        value = getattr(settings, name)
        if not setting.fits(value):
            name_text = f"{kind} setting {name!r}" if kind else name
            raise ConfigError(f"{name_text} is {value!r}; it must be {setting.allowed}")


_short = reprlib.Repr()
_short.maxlevel, _short.maxstring, _short.maxother, _short.maxlong = 3, 60, 60, 40


def short_repr(value: Any) -> str:
    """The shortened repr of a value, for error messages."""
    try:
        return _short.repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits; deeper than Python can follow
        return f"a value of type {type(value).__name__}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
