"""Names under which the fields of a class are stored in model files, checkpoints, fingerprints and JSON.

A class whose fields are stored says so with `stored_as`, one name per field, in the order of the fields. Files depend
on these names alone, so a field can be renamed in Python and every file stays as it is.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

C = TypeVar("C", bound=type)
_FIELDS: dict[str, set[str]] = {}
"""{stored name: the fields that all classes store under it}."""


def stored_as(*names: str) -> Callable[[C], C]:
    """Declare the stored names of a dataclass or NamedTuple, also as one text with blanks; put it above the class.

    Raises TypeError unless there is one name for each field and no name occurs twice.
    """
    names = tuple(" ".join(names).split())

    def declare(kind: C) -> C:
        n_fields = len(_field_names(kind))
        if len(names) != n_fields or len(set(names)) != n_fields:
            raise TypeError(f"{kind.__name__} has {n_fields} fields; give one stored name for each, not {names}")
        kind.STORED_NAMES = names  # type: ignore[attr-defined]
        for stored, field in stored_fields(kind).items():
            _FIELDS.setdefault(stored, set()).add(field)
        return kind

    return declare


def stored_names(kind: type) -> tuple[str, ...]:
    """The stored names of a class, in the order of its fields.

    Raises TypeError where the class itself declares none.
    """
    names = vars(kind).get("STORED_NAMES")
    if names is None:
        raise TypeError(f"{kind.__name__} is written to files but declares no names for that; use stored_as")
    return names


def stored_fields(kind: type) -> dict[str, str]:
    """{stored name: name of the field} of a class, in the order of its fields. Raises TypeError as `stored_names`."""
    return dict(zip(stored_names(kind), _field_names(kind), strict=True))


def to_stored(value: Any, without: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass or NamedTuple by their stored names, dataclasses within them as well.

    `without`: fields, by their Python names, that are left out. Raises TypeError as `stored_names`, and for a name in
    `without` that the class does not have.
    """
    left_out = set(without)
    pairs = stored_fields(type(value)).items()
    if unknown := left_out.difference(field for _, field in pairs):
        raise TypeError(f"{type(value).__name__} has no fields {', '.join(sorted(unknown))} to leave out")
    return {stored: _plain(getattr(value, field)) for stored, field in pairs if field not in left_out}


def from_stored(kind: type, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a class from the plain data of `to_stored`; unknown names are passed on as they are."""
    known = stored_fields(kind)
    return {known.get(name, name): value for name, value in stored.items()}


def setting_name(stored: str) -> str:
    """Return the name by which people set what is stored under a name; the stored name where there is no single one."""
    names = _FIELDS.get(stored, set())
    return next(iter(names)) if len(names) == 1 else stored


def _field_names(kind: type) -> tuple[str, ...]:
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    return kind._fields  # type: ignore[attr-defined]


def _plain(value: Any) -> Any:
    return to_stored(value) if is_dataclass(value) and not isinstance(value, type) else value
