"""Files of training runs that are whole or not there: written beside, then renamed; or line by line. What runs read
again has a check, so that a flipped bit is seen."""

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from spacy_dtparse.errors import ConfigError, TrainingDataError

CHECK = "check"
"""The field with the digest of the others."""
logger = logging.getLogger(__name__)


@contextmanager
def written(path: Path) -> Iterator[IO[bytes]]:
    """A file to write in the place of `path`: whatever happens within, `path` stays as it is or is whole. Raises
    TrainingDataError where the disk does not take it."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise cannot_write(path, error) from error
        raise


def cannot_write(path: Path, error: OSError) -> TrainingDataError:
    """What to say of a file that the disk did not take."""
    return TrainingDataError(
        f"cannot write {path}: {error.strerror or error}. What was written before is whole; make room there, and give "
        "the same command again to go on"
    )


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a kill leaves the old one or the new one. Raises TrainingDataError as `written` does."""
    with written(path) as file:
        file.write(data)


def write_json(path: Path, facts: Any) -> None:
    """Write `facts` as JSON, replacing the file at once."""
    write_atomically(path, (json.dumps(facts, indent=1) + "\n").encode())


def keep_json(path: Path, facts: Mapping[str, Any]) -> None:
    """`write_json` of what a run will read again by `kept_json`: with a check."""
    write_json(path, {**facts, CHECK: _check(facts)})


def kept_json(path: Path) -> dict[str, Any] | None:
    """What `keep_json` wrote; None if there is no file. Raises TrainingDataError when it is not as it was written."""
    try:
        return _checked(json.loads(path.read_text(encoding="utf8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise TrainingDataError(f"{path} is damaged ({error}); delete it to make it again") from error


def _check(facts: Any) -> str:
    """Of what is read of them again: keys are texts, in any order."""
    plain = json.dumps(json.loads(json.dumps(facts)), sort_keys=True)
    return hashlib.blake2b(plain.encode(), digest_size=8).hexdigest()


def _checked(held: Any) -> dict[str, Any]:
    """The facts, without their check. Raises ValueError where they do not have theirs."""
    if not isinstance(held, dict) or CHECK not in held:
        raise ValueError("it has no check")
    facts = {name: value for name, value in held.items() if name != CHECK}
    if held[CHECK] != _check(facts):
        raise ValueError("it is not what its check is of")
    return facts


def file_digest(path: Path) -> str:
    """SHA-256 of a file's contents."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()


def append_line(path: Path, facts: Mapping[str, Any]) -> None:
    """Append one JSON line, with a check. Raises TrainingDataError where the disk does not take it; the file is as it
    was then."""
    line = (json.dumps({**facts, CHECK: _check(facts)}) + "\n").encode()
    try:
        with path.open("ab", buffering=0) as file:
            before = file.tell()
            if file.write(line) != len(line):
                file.truncate(before)
                raise OSError("the disk took a part of a line")
    except OSError as error:
        raise cannot_write(path, error) from error


def read_lines(path: Path) -> list[dict]:
    """The lines of a log up to the first that is not whole; the file ends there from now on. A kill cuts off the last
    line at most; of any other a warning tells."""
    if not path.exists():
        return []
    data, found, place = path.read_bytes(), [], 0
    for line in data.splitlines(keepends=True):
        try:
            if not line.endswith(b"\n"):
                break
            found.append(_checked(json.loads(line)))
        except ValueError as error:
            logger.warning(
                "%s:%d: the line is damaged (%s); it and those after it are made again", path, len(found) + 1, error
            )
            break
        place += len(line)
    if place < len(data):
        with path.open("r+b") as file:
            file.truncate(place)
    return found


def read_result(path: Path, *keys: str) -> dict[str, Any] | None:
    """A run's result, as `keep_json` wrote it; None when there is none. Raises ConfigError when it is damaged, or one
    of `keys` not in it."""
    try:
        held = kept_json(path)
        return None if held is None else {**held, **{key: held[key] for key in ("facts", *keys)}}
    except (TrainingDataError, KeyError) as error:
        raise ConfigError(f"{path} is no readable result ({error!r}); delete it to make it again") from error
