"""Plans of runs: choosing some by name, and doing one after the other without one bad run taking the others along."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from spacy_dtparse.errors import ConfigError, TrainingDataError


class Named(Protocol):
    """What a plan is made of."""

    @property
    def name(self) -> str:
        """By which a run is asked for."""


R = TypeVar("R", bound=Named)


def chosen(plan: Sequence[R], names: Sequence[str] | None) -> list[R]:
    """The named runs in the plan's order, or all. Raises ConfigError for a name that is not in the plan."""
    known = {run.name for run in plan}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        allowed = ", ".join(run.name for run in plan)
        raise ConfigError(f"there is no run {', '.join(map(repr, unknown))}; allowed are {allowed}")
    return [run for run in plan if not names or run.name in names]


def run_each(
    runs: Sequence[R], execute: Callable[[R], tuple[dict[str, Any], bool]], told: Callable[[dict[str, Any]], str]
) -> None:
    """Do the runs in order and print a line for each.

    `execute`: gives a run's result and whether it was made now. `told`: the result's figures in a few words. A run that
    cannot be done is said on standard error and passed over; in the end TrainingDataError names all such runs. A run
    alone raises its own error.
    """
    failed = []
    for run in runs:
        began = time.perf_counter()
        try:
            result, made = execute(run)
        except TrainingDataError as error:
            if len(runs) == 1:
                raise
            print(f"training: error: {run.name}: {error}", file=sys.stderr)
            failed.append(run.name)
            continue
        took = f"{time.perf_counter() - began:.0f} s" if made else "done before"
        print(f"{run.name}: {told(result)}{took}", flush=True)
    if failed:
        raise TrainingDataError(f"{len(failed)} of {len(runs)} runs failed: {', '.join(failed)}")
