"""Files that a kill leaves whole: written at once, or line by line."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import ConfigError


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a kill leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(data)
    os.replace(temporary, path)


def write_json(path: Path, facts: Any) -> None:
    """Write `facts` as JSON, replacing the file at once."""
    write_atomically(path, (json.dumps(facts, indent=1) + "\n").encode())


def file_digest(path: Path) -> str:
    """SHA-256 of a file's contents."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def append_line(path: Path, facts: Any) -> None:
    """Append one JSON line."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(facts) + "\n")


def read_lines(path: Path) -> list[dict]:
    """All whole JSON lines of a log; a last line that was cut off by a kill is cut off the file as well."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        with open(path, "r+b") as file:
            file.truncate(len(whole))
    return [json.loads(line) for line in whole.decode("utf-8").splitlines()]


def read_result(path: Path, *keys: str) -> dict[str, Any] | None:
    """A run's result; None when there is none. Raises ConfigError when it is damaged, or one of `keys` not in it."""
    if not path.is_file():
        return None
    try:
        held = json.loads(path.read_text(encoding="utf8"))
        return {**held, **{key: held[key] for key in ("facts", *keys)}}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is no readable result ({error!r}); delete it to make it again") from error
