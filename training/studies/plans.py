"""Plans of runs: select runs by name, do them in order and continue after a failed one, and write the results as
Markdown tables into the marked blocks of a page, `<!-- PREFIX: NAME -->` … `<!-- /PREFIX -->`."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

from spacy_dtparse import __version__
from spacy_dtparse.errors import ConfigError, TrainingDataError

from ..runs.files import read_result
from ..runs.tables import fill_blocks as fill_text

RESULT = "result.json"
Results = Mapping[str, dict[str, Any]]  # name of a run -> its result
Tables = Mapping[str, tuple[Sequence[str], Callable[[Results], str]]]  # (runs, at least one is needed; the formatter)


@dataclass(frozen=True)
class PlanItem:
    """An item of a plan, selected by its name."""

    name: str


R = TypeVar("R", bound=PlanItem)


def select_runs(plan: Sequence[R], names: Sequence[str] | None) -> list[R]:
    """The named runs, or all, in the order of the plan. Raises ConfigError for a name that is not in the plan."""
    known = [run.name for run in plan]
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise ConfigError(f"there is no run {', '.join(map(repr, unknown))}; allowed are {', '.join(known)}")
    return [run for run in plan if not names or run.name in names]


def run_each(
    runs: Sequence[R],
    execute: Callable[[R], tuple[dict[str, Any], bool]],
    describe_scores: Callable[[dict[str, Any]], str],
) -> None:
    """Do the runs in order and print a line for each. `execute`: returns a run's result and whether it was computed
    now. `describe_scores`: formats the scores of a result. A failed run is reported on standard error, and the next one
    follows; at the end TrainingDataError names all failed runs. If there is only one run, its error is raised."""
    failed = []
    for run in runs:
        started = time.perf_counter()
        try:
            result, is_new = execute(run)
        except TrainingDataError as error:
            if len(runs) == 1:
                raise
            print(f"training: error: {run.name}: {error}", file=sys.stderr)
            failed.append(run.name)
        else:
            took = f"{time.perf_counter() - started:.0f} s" if is_new else "done before"
            print(f"{run.name}: {describe_scores(result)}{took}", flush=True)
    if failed:
        raise TrainingDataError(f"{len(failed)} of {len(runs)} runs failed: {', '.join(failed)}")


def origin(command: Sequence[str]) -> dict[str, Any]:
    """The command, version and date of a result."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"command": list(command), "version": __version__, "date": now}


def load_results(folder: Path, plan: Sequence[PlanItem], *keys: str) -> dict[str, dict[str, Any]]:
    """The results of the plan's runs below `folder`; see `read_result`."""
    return {run.name: stored for run in plan if (stored := read_result(folder / run.name / RESULT, *keys)) is not None}


def fill_blocks(page: Path, prefix: str, tables: Tables, results: Results) -> list[str]:
    """Fill the blocks of the file `page`; returns the names of the filled blocks. A block without results is unchanged.
    Raises ConfigError for a block with an unknown name."""

    def format_table(name: str) -> str | None:
        if name not in tables:
            raise ConfigError(f"{page}: there is no table {name!r}; allowed are {', '.join(tables)}")
        runs, make = tables[name]
        return make(results) if set(runs) & set(results) else None

    text, filled = fill_text(page.read_text(encoding="utf8"), prefix, format_table)
    page.write_text(text, encoding="utf8")
    return filled
