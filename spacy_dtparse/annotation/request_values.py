"""Values in the requests of the annotation page, checked."""

from collections.abc import Mapping
from typing import Any

from ..checks import short_repr
from ..errors import ConfigError, EditError
from ..trees.tree import Tree


def integer(request: Mapping[str, Any], name: str) -> int:
    """Return a whole number. Raises ConfigError for any other value."""
    value = request.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError(f"{name} is {short_repr(value)}; it must be a whole number")
    return value


def string(request: Mapping[str, Any], name: str) -> str:
    """Return a string without white space around it, "" if there is none. Raises ConfigError for any other value."""
    value = request.get(name, "")
    if not isinstance(value, str):
        raise ConfigError(f"{name} is {short_repr(value)}; it must be a string")
    return value.strip()


def extent(request: Mapping[str, Any], n_tokens: int) -> tuple[int, int]:
    """Return the tokens from `start` to `end`. Raises ConfigError if the sentence of `n_tokens` does not have them."""
    start, end = integer(request, "start"), integer(request, "end")
    if not 0 <= start < end <= n_tokens:
        raise ConfigError(f"the tokens {start} to {end} are not in the sentence of {n_tokens}")
    return start, end


def constituent(request: Mapping[str, Any], name: str, tree: Tree) -> int:
    """Return the index of a constituent. Raises EditError if the tree does not have it."""
    index = integer(request, name)
    if not 0 <= index < len(tree):
        raise EditError(f"there is no constituent {index} in this tree")
    return index


def theme(request: Mapping[str, Any]) -> str:
    """Return the theme of the page, "light" or "dark"."""
    return "dark" if request.get("theme") == "dark" else "light"


def space(request: Mapping[str, Any]) -> tuple[int, int]:
    """Return the width of the page and the height that a drawing may have, in pixels; 1000 for one that is missing."""
    values = request.get("width"), request.get("height")
    width, height = (one if isinstance(one, int) and 0 < one < 100_000 else 1000 for one in values)
    return width, height
