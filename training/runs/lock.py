"""Locks on folders: only one run at a time uses a folder."""

import functools
import inspect
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from spacy_dtparse.errors import ConfigError

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

LOCK_FILE = ".lock"
logger = logging.getLogger(__name__)
C = TypeVar("C", bound=Callable)
_lock, _holders = threading.Lock(), dict[Path, int]()


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Context manager: create a folder and lock it against other processes; nested use within one process is allowed.

    Locks a file with the operating system's lock, which is released when the process ends, however it ends. Raises
    ConfigError with the id of the process that holds the lock. Logs a warning if the file system has no locks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.resolve()
    with _lock:
        file = None if path in _holders else _acquire(path)
        _holders[path] = _holders.get(path, 0) + 1
    try:
        yield
    finally:
        with _lock:
            _holders[path] -= 1
            if not _holders[path]:
                del _holders[path]
        if file is not None:
            file.close()


def lock_dir(name: str) -> Callable[[C], C]:
    """Decorator: hold the lock of the folder that is passed as argument `name`, or in an attribute of an argument:
    `argument.attribute`. No lock if it is None."""

    def decorate(function: C) -> C:
        signature, (argument, *attributes) = inspect.signature(function), name.split(".")

        @functools.wraps(function)
        def run(*args, **kwargs):  # type: ignore[no-untyped-def]
            bound = signature.bind(*args, **kwargs)
            folder = bound.arguments.get(argument)
            for attribute in attributes:
                folder = getattr(folder, attribute)
            if folder is None:
                return function(*args, **kwargs)
            with exclusive(Path(folder)):
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]

    return decorate


def _acquire(folder: Path) -> IO[str]:
    file = (folder / LOCK_FILE).open("a+", encoding="utf8")
    try:
        _lock_file(file)
    except (BlockingIOError, PermissionError) as error:
        file.seek(1)
        with suppress(OSError):
            holder = file.read().strip()
        file.close()
        raise ConfigError(
            f"{folder} is in use by another run (process {holder or 'unknown'}); wait until it has ended, or use "
            "another folder"
        ) from error
    except OSError as error:
        logger.warning("%s: the file system has no locks (%s); make sure that no other run uses it", folder, error)
        return file
    file.truncate(0)
    file.write(f"\n{os.getpid()}\n")
    file.flush()
    return file


def _lock_file(file: IO[str]) -> None:
    """Lock the first byte of a file, or raise an error immediately."""
    if os.name == "nt":
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
