"""Files of training runs: written atomically (to a temporary file that is then renamed), or line by line. Files that
runs read again contain a checksum, which detects flipped bits."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from spacy_dtparse import files
from spacy_dtparse.errors import ConfigError, TrainingDataError

CHECK = "check"
"""The field with the checksum of the others."""
logger = logging.getLogger(__name__)


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Context manager: a file whose contents replace `path` at the end. After an error `path` is unchanged; it is never
    incomplete. Raises TrainingDataError if the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.atomic_write(path) as file:
            yield file
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: Path, error: OSError) -> TrainingDataError:
    """The error for a file that cannot be written."""
    return TrainingDataError(
        f"cannot write {path}: {error.strerror or error}. Files written earlier are complete; free some disk space, "
        "and repeat the command to resume"
    )


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file atomically: after a crash there is the old file or the new one. Raises TrainingDataError as
    `atomic_write` does."""
    with atomic_write(path) as file:
        file.write(data)


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON, atomically."""
    write_atomically(path, (json.dumps(data, indent=1) + "\n").encode())


def save_checkpoint(path: Path, data: Mapping[str, Any]) -> None:
    """Write a checkpoint as JSON with a checksum, to be read by `load_checkpoint`."""
    write_json(path, {**data, CHECK: _checksum(data)})


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """Read a checkpoint that `save_checkpoint` wrote; None if there is no file. Raises TrainingDataError if it is
    damaged."""
    try:
        return _verify(json.loads(path.read_text(encoding="utf8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise TrainingDataError(f"{path} is damaged ({error}); delete it to compute it again") from error


def _checksum(data: Any) -> str:
    """Checksum of the JSON form of plain data, independent of the order of keys."""
    return hashlib.blake2b(json.dumps(plain(data), sort_keys=True).encode(), digest_size=8).hexdigest()


def _verify(stored: Any) -> dict[str, Any]:
    """Verify a checksum and return the data without it. Raises ValueError if it is missing or wrong."""
    if not isinstance(stored, dict) or CHECK not in stored:
        raise ValueError("it has no checksum")
    data = {name: value for name, value in stored.items() if name != CHECK}
    if stored[CHECK] != _checksum(data):
        raise ValueError("its checksum does not match")
    return data


def file_digest(path: Path) -> str:
    """SHA-256 of a file's contents."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def append_line(path: Path, data: Mapping[str, Any]) -> None:
    """Append one JSON line, with a checksum. Raises TrainingDataError if it cannot be written; the file is unchanged
    then."""
    line = (json.dumps({**data, CHECK: _checksum(data)}) + "\n").encode()
    try:
        with path.open("ab", buffering=0) as file:
            before = file.tell()
            if file.write(line) != len(line):
                file.truncate(before)
                raise OSError("only a part of a line was written")
    except OSError as error:
        raise write_error(path, error) from error


def read_lines(path: Path) -> list[dict]:
    """The lines of a log before the first damaged one, at which the file is truncated. A killed process leaves at most
    the last line incomplete; any other damage is logged as a warning."""
    if not path.exists():
        return []
    data, lines_read, end = path.read_bytes(), [], 0
    for line in data.splitlines(keepends=True):
        try:
            if not line.endswith(b"\n"):
                break
            lines_read.append(_verify(json.loads(line)))
        except ValueError as error:
            logger.warning(
                "%s:%d: the line is damaged (%s); it and the following ones are computed again",
                path,
                len(lines_read) + 1,
                error,
            )
            break
        end += len(line)
    if end < len(data):
        with path.open("r+b") as file:
            file.truncate(end)
    return lines_read


def read_result(path: Path, *keys: str) -> dict[str, Any] | None:
    """The result of a run, as `save_checkpoint` wrote it; None if there is none. Raises ConfigError if it is damaged or
    lacks one of `keys`."""
    try:
        stored = load_checkpoint(path)
        return None if stored is None else {**stored, **{key: stored[key] for key in ("facts", *keys)}}
    except (TrainingDataError, KeyError) as error:
        raise ConfigError(f"{path} is no readable result ({error!r}); delete it to compute it again") from error


def plain(data: Any) -> Any:
    """Data as JSON stores them: lists for tuples, text for keys."""
    return json.loads(json.dumps(data))


def reuse_result(
    path: Path,
    conditions: Mapping[str, Any],
    compute: Callable[[dict[str, Any]], Mapping[str, Any]],
    outputs: Iterable[Path] = (),
) -> tuple[dict[str, Any], bool]:
    """(The result of a run in the file `path`, whether it was computed now). `compute` is called with the conditions,
    as plain data, unless the file has a result under the same conditions, and the files `outputs` exist. Raises
    ConfigError as `read_result` does, and the errors of `compute`."""
    facts, result = plain(conditions), read_result(path)
    if result is not None and result["facts"] == facts and all(output.is_file() for output in outputs):
        return result, False
    result = {"facts": facts, **compute(facts)}
    save_checkpoint(path, result)
    return result, True
