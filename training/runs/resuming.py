"""What unfinished runs keep on disk: files that are whole or not there, and whether they belong to the run that goes
on.
"""

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from spacy_dtparse.errors import DtparseError, TrainingDataError

from .files import write_atomically

_SHORT = 40
"""Characters of a fact's two values that a message has room for."""


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays by name as .npz; a kill at any moment leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


@contextmanager
def saved_arrays(path: Path) -> Iterator[Mapping[str, np.ndarray]]:
    """The arrays of a file of `save_arrays`. Raises TrainingDataError, also from within the block, where the file is
    damaged or lacks what the block asks for."""
    try:
        with np.load(path) as arrays:
            yield arrays
    except DtparseError:
        raise
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise TrainingDataError(
            f"{path} is no readable training state ({error}); delete that file to train its part again from the start, "
            "or the whole folder to start over"
        ) from error


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


def read_json(path: Path) -> Any:
    """The contents of a file, None if there is none. Raises TrainingDataError when it is damaged."""
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf8"))
    except ValueError as error:
        raise TrainingDataError(f"{path} is damaged ({error}); delete it to make it again") from error


def own_json(path: Path, facts: Mapping[str, Any]) -> None:
    """`own_folder` with a file of JSON."""
    held = read_json(path)
    if held is None:
        write_atomically(path, json.dumps(facts, indent=1).encode())
    else:
        check_facts(path.parent, held, facts)


@contextmanager
def run_folder(workdir: Path | None) -> Iterator[Path]:
    """The folder of a run, a temporary one where none is given."""
    if workdir is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    else:
        workdir.mkdir(parents=True, exist_ok=True)
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
        found.append(f"{prefix}{name} (was {values})" if short else f"{prefix}{name}")
    return found
