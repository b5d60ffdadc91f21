"""How many planted errors a review finds in its first places."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from spacy_dtparse.annotation.suspicions import Suspicion

from .planting import KINDS, PlantedError


def places_of_errors(errors: Sequence[PlantedError], suspicions: Sequence[Suspicion]) -> dict[PlantedError, int]:
    """Return the place, from 1, of the first suspicion that finds each error, for errors that one finds.

    A suspicion finds an error if it names a constituent that only one of the two trees has, the right one or the wrong
    one, or the token whose tag was changed.
    """
    wanted = {}
    for error in errors:
        wanted.update({(error.sentence, *span): error for span in error.spans})
        if error.token >= 0:
            wanted[error.sentence, error.token, error.token + 1, ""] = error
    found: dict[PlantedError, int] = {}
    for place, one in enumerate(suspicions, 1):
        label = "" if one.kind == "tag" else one.given or one.better
        named = wanted.get((one.sentence, one.start, one.end, label))
        if named is not None:
            found.setdefault(named, place)
    return found


def summarize_places(
    errors: Sequence[PlantedError], suspicions: Sequence[Suspicion], places: Sequence[int]
) -> dict[str, Any]:
    """Return the number of errors found within the first `places`, of each kind and of all, as plain data."""
    found = places_of_errors(errors, suspicions)
    planted = Counter(error.kind for error in errors)
    return {
        "suspicions": len(suspicions),
        "planted": dict(planted),
        "found": {
            str(n): {kind: sum(error.kind == kind and at <= n for error, at in found.items()) for kind in planted}
            for n in places
        },
    }


def places_table(summary: dict[str, Any]) -> str:
    """Return the summary as a text table."""
    columns = list(summary["found"])
    lines = [f"{'kind':18}{'planted':>8}" + "".join(f"{'first ' + n:>12}" for n in columns)]
    kinds = [kind for kind in KINDS if kind in summary["planted"]]
    for kind in kinds:
        row = "".join(f"{summary['found'][n][kind]:12}" for n in columns)
        lines.append(f"{kind:18}{summary['planted'][kind]:8}{row}")
    total = "".join(f"{sum(summary['found'][n].values()):12}" for n in columns)
    lines.append(f"{'all':18}{sum(summary['planted'].values()):8}{total}")
    return "\n".join(lines)
