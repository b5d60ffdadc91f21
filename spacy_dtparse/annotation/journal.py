"""The journal of an annotation: a file of all steps."""

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..checks import integer, short_repr
from ..errors import ConfigError, shorten

JOURNAL_SUFFIX = ".journal.jsonl"


class Journal:
    """A file of JSON lines, one for each step. A line is on the disk before `append` returns.

    A process that is killed while it writes leaves an incomplete last line; it is ignored, and cut off before the next
    line is written. While a journal is open, other processes cannot open it (where the system has `flock`). Raises
    ConfigError for a damaged line in the middle, and if another process has the journal open.
    """

    def __init__(self, path: Path):
        self.path = path
        self.events: list[dict[str, Any]] = []
        """The steps that the file already had."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        try:
            self._lock()
            self._read()
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        with suppress(ImportError):  # Windows
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigError(
                    f"another process is annotating with the journal {self.path}; end it first, or give another --out"
                ) from None

    def _read(self) -> None:
        path = self.path
        data = path.read_bytes()
        complete = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                event = None
            if not isinstance(event, dict):
                raise ConfigError(
                    f"{path}, line {number}: {line[:60]!r} is no step of an annotation; restore the file from a copy, "
                    "or move it away to begin anew"
                )
            self.events.append(event)
        if len(complete) < len(data):
            self._file.truncate(len(complete))

    @contextmanager
    def reading(self, number: int) -> Iterator[None]:
        """Raise ConfigError, which names the line `number`, for an error of a step that cannot be carried out."""
        try:
            yield
        except ConfigError:
            raise
        except (LookupError, TypeError, AttributeError, OverflowError, ValueError) as error:
            raise ConfigError(
                f"{self.path}, line {number}: this step cannot be carried out ({type(error).__name__}: "
                f"{shorten(str(error))}); restore the file from a copy, or move it away to begin anew"
            ) from error

    def append(self, event: Mapping[str, Any]) -> None:
        """Write a step. After an OSError, such as for a full disk, nothing of it is in the file."""
        # in JSON a surrogate, as in names that are no UTF-8, has the form that "backslashreplace" gives it
        line = json.dumps(event, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        size = os.fstat(self._file.fileno()).st_size
        try:
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(size)
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def check_step(event: Mapping[str, Any], n_sentences: int, n_done: int, n_steps: int) -> None:
    """Raise ValueError for a step that refers to what does not exist. `n_done`: of the `n_steps` changes so far, the
    number of those that are not undone."""
    kind, index = event["event"], event.get("sentence", -1)
    if not integer(-1, n_sentences - 1).fits(index):
        raise ValueError(f"there is no sentence {short_repr(index)}")
    if kind in ("undo", "redo") and not 0 <= n_done - (kind == "undo") < n_steps:
        raise ValueError(f"there is no step to {kind}")
    if kind == "written" and not (isinstance(event["sentences"], list) and isinstance(event["file"], str)):
        raise ValueError("a file of trees has a name and a list of sentences")


def digest(text: str) -> str:
    """Return a digest of a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
