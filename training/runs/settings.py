"""NAME=VALUE settings of command lines, applied to settings that may have sections."""

import copy
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

from spacy_dtparse.errors import ConfigError

C = TypeVar("C")


def plain_value(text: str, old: Any) -> Any:
    """Parse a value as JSON, or else as text, whatever the `old` value is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def like_value(text: str, old: Any) -> Any:
    """Parse a value of the type of `old`: a number, text, or comma-separated integers for a tuple of them. Raises
    ValueError if the text is no such value."""
    if isinstance(old, tuple):
        return tuple(int(part) for part in text.split(","))
    if isinstance(old, bool) and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if isinstance(old, bool) or not isinstance(old, int | float | str):
        raise ValueError(text)
    return type(old)(text)


def apply_settings(
    data: Mapping[str, Any], settings: Sequence[str], parse: Callable[[str, Any], Any] = plain_value
) -> dict[str, Any]:
    """A copy of `data` with NAME=VALUE or SECTION.NAME=VALUE settings applied; later ones override earlier ones.

    `parse`: parses a value from the text and the old value. Raises ConfigError for an unknown name and for a value that
    cannot be parsed.
    """
    result = copy.deepcopy(dict(data))
    for setting in settings:
        key, sign, text = setting.partition("=")
        *sections, name = key.split(".")
        inner: Any = result
        for section in sections:
            inner = inner.get(section) if isinstance(inner, dict) else None
        if not sign or not isinstance(inner, dict) or name not in inner:
            raise ConfigError(f"{setting}: there is no setting {key!r}; allowed are {', '.join(_names(data))}")
        try:
            inner[name] = parse(text, inner[name])
        except ValueError:
            kind = type(inner[name]).__name__
            raise ConfigError(f"{setting}: {text!r} is no {kind}; give a value like {inner[name]!r}") from None
    return result


def apply_field_settings(config: C, settings: Sequence[str], but: Collection[str] = ()) -> C:
    """`apply_settings` for a dataclass whose sections are dataclasses: values keep their types, the fields `but` cannot
    be set. Raises ConfigError as `apply_settings` does, and the errors of the dataclasses for their values."""
    data = {name: value for name, value in asdict(config).items() if name not in but}  # type: ignore[call-overload]
    new: dict[str, Any] = {}
    for name, value in apply_settings(data, settings, like_value).items():
        new[name] = replace(getattr(config, name), **value) if isinstance(value, dict) else value
    return replace(config, **new)  # type: ignore[type-var]


def _names(data: Mapping[str, Any], before: str = "") -> list[str]:
    """The names of all settings, as SECTION.NAME within sections."""
    found: list[str] = []
    for name, value in data.items():
        found += _names(value, f"{before}{name}.") if isinstance(value, dict) else [before + name]
    return found
