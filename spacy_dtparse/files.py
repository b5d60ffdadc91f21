"""Files that are written completely or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def atomic_write(path: str | Path) -> Iterator[IO[bytes]]:
    """Context manager: a file whose contents replace `path` at the end; after an error `path` is unchanged.

    The contents are written to a new file beside it (PATH.….tmp), which is then renamed. Devices and pipes are written
    directly. Raises OSError if the file cannot be written.
    """
    given = Path(path)
    if given.exists() and not given.is_file():  # also /dev/stdout, whose real path is not a file's
        with given.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(path)
        elif isinstance(error, OSError) and error.filename is None:  # such as a full disk
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def write_atomically(path: str | Path, data: bytes | str) -> None:
    """Write a file atomically, a text as UTF-8. Raises OSError as `atomic_write` does."""
    with atomic_write(path) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)
