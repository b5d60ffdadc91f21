"""Files of training runs: written atomically (to a temporary file that is then renamed), or line by line. Files that
runs read again contain a checksum, which detects flipped bits."""

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
"""The field with the checksum of the others."""
logger = logging.getLogger(__name__)


@contextmanager
def written(path: Path) -> Iterator[IO[bytes]]:
    """Context manager: a file whose contents replace `path` at the end. After an error `path` is unchanged; it is never
    incomplete. Raises TrainingDataError if the file cannot be written."""
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
    """The error for a file that cannot be written."""
    return TrainingDataError(
        f"cannot write {path}: {error.strerror or error}. Files written earlier are complete; free some disk space, "
        "and repeat the command to resume"
    )


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file atomically: after a crash there is the old file or the new one. Raises TrainingDataError as
    `written` does."""
    with written(path) as file:
        file.write(data)


def write_json(path: Path, facts: Any) -> None:
    """Write `facts` as JSON, atomically."""
    write_atomically(path, (json.dumps(facts, indent=1) + "\n").encode())


def keep_json(path: Path, facts: Mapping[str, Any]) -> None:
    """Write a checkpoint as JSON with a checksum, to be read by `kept_json`."""
    write_json(path, {**facts, CHECK: _check(facts)})


def kept_json(path: Path) -> dict[str, Any] | None:
    """Read a checkpoint that `keep_json` wrote; None if there is no file. Raises TrainingDataError if it is
    damaged."""
    try:
        return _checked(json.loads(path.read_text(encoding="utf8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise TrainingDataError(f"{path} is damaged ({error}); delete it to compute it again") from error


def _check(facts: Any) -> str:
    """Checksum of the JSON form of plain data, independent of the order of keys."""
    plain = json.dumps(json.loads(json.dumps(facts)), sort_keys=True)
    return hashlib.blake2b(plain.encode(), digest_size=8).hexdigest()


def _checked(held: Any) -> dict[str, Any]:
    """Verify a checksum and return the data without it. Raises ValueError if it is missing or wrong."""
    if not isinstance(held, dict) or CHECK not in held:
        raise ValueError("it has no checksum")
    facts = {name: value for name, value in held.items() if name != CHECK}
    if held[CHECK] != _check(facts):
        raise ValueError("its checksum does not match")
    return facts


def file_digest(path: Path) -> str:
    """SHA-256 of a file's contents."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found.update(part)
    return found.hexdigest()


def append_line(path: Path, facts: Mapping[str, Any]) -> None:
    """Append one JSON line, with a checksum. Raises TrainingDataError if it cannot be written; the file is unchanged
    then."""
    line = (json.dumps({**facts, CHECK: _check(facts)}) + "\n").encode()
    try:
        with path.open("ab", buffering=0) as file:
            before = file.tell()
            if file.write(line) != len(line):
                file.truncate(before)
                raise OSError("only a part of a line was written")
    except OSError as error:
        raise cannot_write(path, error) from error


def read_lines(path: Path) -> list[dict]:
    """The lines of a log before the first damaged one, at which the file is truncated. A killed process leaves at most
    the last line incomplete; any other damage is logged as a warning."""
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
                "%s:%d: the line is damaged (%s); it and the following ones are computed again",
                path,
                len(found) + 1,
                error,
            )
            break
        place += len(line)
    if place < len(data):
        with path.open("r+b") as file:
            file.truncate(place)
    return found


def read_result(path: Path, *keys: str) -> dict[str, Any] | None:
    """The result of a run, as `keep_json` wrote it; None if there is none. Raises ConfigError if it is damaged or
    lacks one of `keys`."""
    try:
        held = kept_json(path)
        return None if held is None else {**held, **{key: held[key] for key in ("facts", *keys)}}
    except (TrainingDataError, KeyError) as error:
        raise ConfigError(f"{path} is no readable result ({error!r}); delete it to compute it again") from error
