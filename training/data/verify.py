"""Check treebank files against the published list: sizes, checksums, and that every tree can be read."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import TrainingDataError, TreeFormatError
from spacy_dtparse.trees import read_trees

from .treebanks import catalogue, part_file

PARTS = ("train", "dev")


@dataclass(frozen=True)
class FileCheck:
    """What was found about one file. `problem` is empty when all is well; `trees`: how many were read."""

    path: str
    problem: str
    trees: int = 0
    published: bool = False


def verify(folder: Path, names: Sequence[str], known: dict[str, dict[str, Any]] | None = None) -> list[FileCheck]:
    """Check `folder`/NAME/{train,dev}.mrg (or .psd) of every named treebank.

    A treebank of the list must have the published size and SHA-256; of any other one, all trees must be
    readable.
    Raises TrainingDataError when a treebank is not there at all.
    """
    known = catalogue() if known is None else known
    checks: list[FileCheck] = []
    for name in names:
        if not (folder / name).is_dir():
            raise TrainingDataError(
                f"{folder} has no treebank {name!r}; put its train.mrg and dev.mrg into {folder / name}"
            )
        listed = known.get(name, {}).get("files", [])
        if listed:
            checks += [_published(folder, entry) for entry in listed]
        else:
            checks += [_readable(part_file(folder, name, part), part == "train") for part in PARTS]
    return checks


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _published(folder: Path, entry: dict[str, Any]) -> FileCheck:
    path, name = folder / entry["path"], entry["path"]
    if not path.is_file():
        return FileCheck(name, "missing", published=True)
    size = path.stat().st_size
    if size != entry["bytes"]:
        return FileCheck(name, f"{size} bytes, published are {entry['bytes']}", published=True)
    found = sha256_of(path)
    if found != entry["sha256"]:
        return FileCheck(name, f"SHA-256 {found}, published is {entry['sha256']}", published=True)
    return FileCheck(name, "", entry["trees"], published=True)


def _readable(path: Path, needed: bool) -> FileCheck:
    name = f"{path.parent.name}/{path.name}"
    if not path.is_file():
        return FileCheck(name, "missing" if needed else "")
    try:
        count = sum(1 for _ in read_trees(path))
    except TreeFormatError as error:
        return FileCheck(name, str(error))
    return FileCheck(name, "" if count else "no tree in it", count)
