"""Check treebank files against the published list: sizes, checksums, and that every tree can be read."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import TrainingDataError, TreeFormatError

from .bad_input import read_trees
from .treebanks import PARTS, catalogue, part_file


@dataclass(frozen=True)
class FileCheck:
    """The result of checking one file. `problem` is empty if there is none; `trees`: number of trees read."""

    path: str
    problem: str
    trees: int = 0
    published: bool = False


def verify(folder: Path, names: Sequence[str], known: dict[str, dict[str, Any]] | None = None) -> list[FileCheck]:
    """Check `folder`/NAME/{train,dev}.mrg (or .psd) of every named treebank: a listed one must have the published size
    and SHA-256; of any other one, all trees must be readable. Raises TrainingDataError if a treebank is missing."""
    known = catalogue() if known is None else known
    checks: list[FileCheck] = []
    for name in names:
        if not (folder / name).is_dir():
            raise TrainingDataError(
                f"{folder} has no treebank {name!r}; put its train.mrg and dev.mrg into {folder / name}"
            )
        listed = known.get(name, {}).get("files", [])
        if listed:
            checks += [_check_published(folder, entry) for entry in listed]
        else:
            checks += [_check_readable(part_file(folder, name, part), part == "train") for part in PARTS]
    return checks


def _check_published(folder: Path, entry: dict[str, Any]) -> FileCheck:
    path, name = folder / entry["path"], entry["path"]
    if not path.is_file():
        return FileCheck(name, "missing", published=True)
    data = path.read_bytes()
    if len(data) != entry["bytes"]:
        return FileCheck(name, f"{len(data)} bytes, published are {entry['bytes']}", published=True)
    found = hashlib.sha256(data).hexdigest()
    if found != entry["sha256"]:
        return FileCheck(name, f"SHA-256 {found}, published is {entry['sha256']}", published=True)
    return FileCheck(name, "", entry["trees"], published=True)


def _check_readable(path: Path, needed: bool) -> FileCheck:
    name = f"{path.parent.name}/{path.name}"
    if not path.is_file():
        return FileCheck(name, "missing" if needed else "")
    try:
        count = sum(1 for _ in read_trees(path))
    except TreeFormatError as error:
        return FileCheck(name, str(error))
    return FileCheck(name, "" if count else "no tree in it", count)
