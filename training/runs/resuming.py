"""What unfinished runs keep on disk: files that are whole or not there, and whether they belong to the run that goes
on.
"""

import hashlib
import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.errors import DtparseError, TrainingDataError
from spacy_dtparse.stored_names import setting_name

from .alone import alone
from .files import keep_json, kept_json, written

logger = logging.getLogger(__name__)
_SHORT = 40
"""Characters of a fact's two values that a message has room for."""


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays by name as .npz, with checks; a kill at any moment leaves the old file or the new one. Raises
    TrainingDataError as `files.written` does."""
    with written(path) as file:
        np.savez(file, **arrays)


@contextmanager
def saved_arrays(path: Path) -> Iterator[Mapping[str, np.ndarray]]:
    """The arrays of a file of `save_arrays`. Raises TrainingDataError, also from within the block, where the file is
    damaged or lacks what the block asks for."""
    try:
        with np.load(path) as arrays:
            yield arrays
    except DtparseError:
        raise
    except Exception as error:  # of zipfile, of numpy, of what is made of the arrays: whatever a flipped bit does
        raise TrainingDataError(
            f"{path} is no readable training state ({error!r}); delete that file to train its part again from the "
            "start, or the whole folder to start over"
        ) from error


def kept_arrays(path: Path) -> dict[str, np.ndarray] | None:
    """All arrays of a file of `save_arrays` that can be made again: None where there is none, or a damaged one, which
    is taken away with a warning."""
    if not path.is_file():
        return None
    try:
        with saved_arrays(path) as arrays:
            return dict(arrays)
    except TrainingDataError as error:
        logger.warning("%s is damaged (%s); it is made again", path, error.__cause__)
        path.unlink()
        return None


def as_array(facts: Any) -> np.ndarray:
    """Plain data as an array of bytes, to be saved beside others."""
    return np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)


def as_facts(array: np.ndarray) -> Any:
    """The reverse of `as_array`."""
    return json.loads(array.tobytes())


def digest(items: Iterable[Any]) -> str:
    """What tells plain data from others, as 16 characters."""
    found = hashlib.sha256()
    for item in items:
        found.update(json.dumps(item).encode())
    return found.hexdigest()[:16]


def check_facts(
    folder: Path, held: Any, facts: Mapping[str, Any], error: type[DtparseError] = TrainingDataError
) -> None:
    """Raise `error` where what a folder holds was made with other facts (plain data; names of settings and digests of
    data); the message names those that differ."""
    plain = json.loads(json.dumps(facts))
    other = _differences(held if isinstance(held, Mapping) else {}, plain, list(plain))
    if other:
        raise error(
            f"{folder} holds a run with other {', '.join(other)}; give the same ones to resume, or another --workdir"
        )


def own_folder(folder: Path, facts: Mapping[str, Any]) -> None:
    """Make a folder a run's, or check that it is: `check_facts` with what it was made with."""
    path = folder / "run.npz"
    if path.is_file():
        with saved_arrays(path) as arrays:
            check_facts(folder, as_facts(arrays["facts"]), facts)
    else:
        save_arrays(path, {"facts": as_array(facts)})


def own_json(path: Path, facts: Mapping[str, Any]) -> None:
    """`own_folder` with a file of JSON."""
    held = kept_json(path)
    if held is None:
        keep_json(path, facts)
    else:
        check_facts(path.parent, held, facts)


@contextmanager
def run_folder(workdir: Path | None) -> Iterator[Path]:
    """The folder of a run, for it alone; a temporary one where none is given."""
    if workdir is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    else:
        with alone(workdir):
            yield workdir


def _differences(held: Mapping[str, Any], facts: Mapping[str, Any], names: list[str], prefix: str = "") -> list[str]:
    """Names of the facts that differ, `part.name` within a part, with both values where they are short."""
    found: list[str] = []
    for name in names:
        was, now = held.get(name), facts.get(name)
        if was == now:
            continue
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            found += _differences(was, now, sorted({*was, *now}), f"{prefix}{name}.")
            continue
        values = f"{was!r}, now {now!r}"
        short = name in held and name in facts and len(values) <= _SHORT
        shown = f"{prefix}{setting_name(name) if prefix else name}"  # parts are settings, by stored names
        found.append(f"{shown} (was {values})" if short else shown)
    return found
