"""Categories of tokens as text: spines or sided spines of a tree, by the name of the kind."""

from collections.abc import Callable
from functools import partial

from ..errors import ConfigError
from .heads import HeadRules
from .sided import sided_spines, write_sided
from .spines import spines, write_spine
from .tree import Tree


def written_spines(tree: Tree, rules: HeadRules) -> list[str]:
    """The spine of each token as text. Raises TreeError as `write_spine` does."""
    return [write_spine(spine) for spine in spines(tree, rules)]


def written_sided(tree: Tree, rules: HeadRules) -> list[str]:
    """The sided spine of each token as text. Raises TreeError as `write_sided` does."""
    return [write_sided(spine) for spine in sided_spines(tree, rules)]


_WRITTEN = {"spine": written_spines, "sided": written_sided}
CATEGORIES = tuple(_WRITTEN)
"""The kinds of categories that a token may have."""


def check_categories(name: str) -> None:
    """Raise ConfigError unless it is one of CATEGORIES."""
    if name not in CATEGORIES:
        raise ConfigError(f"categories are {name!r}; they must be one of {', '.join(CATEGORIES)}")


def written_categories(name: str, rules: HeadRules) -> Callable[[Tree], list[str]]:
    """What gives the tokens of a tree their categories of that name. Raises ConfigError if it is none of CATEGORIES."""
    check_categories(name)
    return partial(_WRITTEN[name], rules=rules)
