"""Groups of entries by name, and the functions that compute them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from . import asking, parsing, text_entries, training_runs
from .store import Entry

FAST, SLOW = "fast", "slow"


def _constituents(name: str) -> Iterator[Entry]:
    """Yield all entries of a constituent parser."""
    for part in (
        parsing.constituent_entries,
        asking.k_best_entries,
        asking.probability_entries,
        asking.constraint_entries,
        asking.explanation_entries,
    ):
        yield from part(name)


def _network(name: str) -> Iterator[Entry]:
    """Yield all entries of the network, and those for which any one parser is enough."""
    yield from _constituents(name)
    yield from asking.pattern_entries(name)


SHIPPED: dict[str, Callable[[str], Iterable[Entry]]] = {
    "tagger": parsing.tagger_entries,
    "en_span": _network,
    "en_dtparse": _constituents,
    "en_trees": _constituents,
    "en_pcfgla": _constituents,
    "en_bpm": parsing.dependency_entries,
    "info": text_entries.info_entries,
}
"""Groups of the shipped models."""

GROUPS: dict[str, Callable[[str], Iterable[Entry]]] = {
    **SHIPPED,
    **dict.fromkeys(training_runs.RUNS, training_runs.training_entries),
}
"""All groups: functions of the group's name."""


def names_of(chosen: Iterable[str], slow: bool = True) -> list[str]:
    """The groups that may have entries whose names begin with one of `chosen`; all groups if nothing is chosen. Without
    `slow`, the slow groups are left out."""
    wanted = tuple(chosen)
    groups = [group for group in GROUPS if slow or group not in training_runs.SLOW]
    if not wanted:
        return groups
    return [group for group in groups if any(one.startswith(f"{group}/") or group.startswith(one) for one in wanted)]


def entries_of(group: str, chosen: Iterable[str] = ()) -> list[Entry]:
    """Compute the entries of a group and return the chosen ones. Raises ValueError if two have the same name."""
    wanted = tuple(chosen)
    made = list(GROUPS[group](group))
    names = [one.name for one in made]
    if len(set(names)) < len(names):
        raise ValueError(f"two entries have one name, of {', '.join(names)}")
    return [one for one in made if not wanted or one.name.startswith(wanted)]
