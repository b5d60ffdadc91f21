"""Checkpoints of unfinished runs: atomically written arrays, and checks that they belong to the run that is resumed."""

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

from .files import atomic_write, load_checkpoint, plain, save_checkpoint
from .lock import exclusive

logger = logging.getLogger(__name__)
_MAX_SHOWN = 40
"""Maximum characters of the two values of a setting that a message shows."""


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write named arrays as .npz, with checksums, atomically. Raises TrainingDataError as `files.atomic_write` does."""
    with atomic_write(path) as file:
        np.savez(file, **arrays)


@contextmanager
def open_arrays(path: Path) -> Iterator[Mapping[str, np.ndarray]]:
    """Context manager: the arrays in a file of `save_arrays`. Raises TrainingDataError, also from within the block, if
    the file is damaged or lacks an array that the block uses."""
    try:
        with np.load(path) as arrays:
            yield arrays
    except DtparseError:
        raise
    except Exception as error:  # a flipped bit can raise anything in zipfile, numpy, or the code that uses the arrays
        raise TrainingDataError(
            f"{path} is no readable training state ({error!r}); delete that file to repeat its part of the training, "
            "or the whole folder to start over"
        ) from error


def load_arrays(path: Path) -> dict[str, np.ndarray] | None:
    """All arrays in a file of `save_arrays` that can be computed again. None if there is no file, or if it is damaged;
    a damaged file is deleted with a warning."""
    if not path.is_file():
        return None
    try:
        with open_arrays(path) as arrays:
            return dict(arrays)
    except TrainingDataError as error:
        logger.warning("%s is damaged (%s); it is computed again", path, error.__cause__)
        path.unlink()
        return None


def as_array(data: Any) -> np.ndarray:
    """Plain data as an array of bytes, to be saved with other arrays."""
    return np.frombuffer(json.dumps(data).encode(), dtype=np.uint8)


def array_to_data(array: np.ndarray) -> Any:
    """The reverse of `as_array`."""
    return json.loads(array.tobytes())


def digest(items: Iterable[Any]) -> str:
    """A digest of plain data, 16 characters."""
    found = hashlib.sha256()
    for item in items:
        found.update(json.dumps(item).encode())
    return found.hexdigest()[:16]


def check_conditions(
    folder: Path, stored: Any, conditions: Mapping[str, Any], error: type[DtparseError] = TrainingDataError
) -> None:
    """Raise `error` if the run in a folder had other conditions than `conditions` (plain data: settings and digests of
    data); the message names those that differ."""
    now = plain(conditions)
    different = _differences(stored if isinstance(stored, Mapping) else {}, now, list(now))
    if different:
        raise error(
            f"{folder} holds a run with other {', '.join(different)}; give the same ones to resume, or another "
            "--workdir"
        )


def claim_folder(folder: Path, conditions: Mapping[str, Any]) -> None:
    """Store the conditions of a run in its folder; if it has some of an earlier run, check them with
    `check_conditions`."""
    path = folder / "run.npz"
    if path.is_file():
        with open_arrays(path) as arrays:
            check_conditions(folder, array_to_data(arrays["facts"]), conditions)
    else:
        save_arrays(path, {"facts": as_array(conditions)})


def claim_json(path: Path, conditions: Mapping[str, Any]) -> None:
    """`claim_folder` with a JSON file."""
    stored = load_checkpoint(path)
    if stored is None:
        save_checkpoint(path, conditions)
    else:
        check_conditions(path.parent, stored, conditions)


@contextmanager
def run_folder(workdir: Path | None) -> Iterator[Path]:
    """Context manager: the locked folder of a run, or a temporary one if none is given."""
    if workdir is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    else:
        with exclusive(workdir):
            yield workdir


def _differences(
    stored: Mapping[str, Any], conditions: Mapping[str, Any], names: list[str], prefix: str = ""
) -> list[str]:
    """Names of the conditions that differ, `part.name` within a part, with both values if they are short."""
    different: list[str] = []
    for name in names:
        before, now = stored.get(name), conditions.get(name)
        if before == now:
            continue
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            different += _differences(before, now, sorted({*before, *now}), f"{prefix}{name}.")
            continue
        values = f"{before!r}, now {now!r}"
        short = name in stored and name in conditions and len(values) <= _MAX_SHOWN
        shown = f"{prefix}{setting_name(name) if prefix else name}"  # parts are settings, by stored names
        different.append(f"{shown} (was {values})" if short else shown)
    return different
