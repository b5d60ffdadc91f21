"""The public treebanks from the layouts that their projects publish to NAME/train.mrg and NAME/dev.mrg."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.trees import Tree, read_trees, write_tree

SPLITS = Path(__file__).resolve().parents[2] / "assets" / "splits.json"
PARTS = ("train", "dev")
TEST = "test"
FETCH = "mkdir -p build/assets && python -m spacy project assets --extra --sparse"
UNLISTED = "in no list of assets/splits.json"
_NO_LABEL = "( ("
_JOINED = re.compile(r"(?<=[^\s(])\u00a0(?=[^\s)])")


@dataclass(frozen=True)
class Layout:
    """How a project publishes a treebank: a folder of bracket files, each a document, and their parts.

    `suffix`: of the bracket files. `parts`: documents of train, dev and test, in the order in which their trees
    are written. `left_out`: patterns of documents that are not wanted, by reason. `division`: where the parts come
    from. `note`: what must be said of the result.
    """

    name: str
    repository: str
    path: str
    suffix: str
    division: str
    note: str
    parts: Mapping[str, Sequence[str]]
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        listed = Counter(document for documents in self.parts.values() for document in documents)
        twice = [document for document, count in listed.items() if count > 1]
        if twice:
            raise ConfigError(f"{self.name}: {_some(twice)} is listed twice; a document belongs to one part")
        missing = [part for part in PARTS if not self.parts.get(part)]
        if missing or set(self.parts) - {*PARTS, TEST}:
            raise ConfigError(
                f"{self.name}: the parts are {', '.join(self.parts) or 'none'}; allowed are train, dev and test, "
                "and train and dev must have documents"
            )

    def unwanted(self, document: str) -> str:
        """Why a document of neither train nor dev is left out."""
        if document in self.parts.get(TEST, ()):
            return "test part"
        for reason, patterns in self.left_out.items():
            if any(fnmatchcase(document, pattern) for pattern in patterns):
                return reason
        return UNLISTED


@dataclass
class Collected:
    """What became of a treebank: files and trees by part, documents left out by reason, listed ones not found."""

    name: str
    note: str
    files: dict[str, int]
    trees: dict[str, int]
    left_out: dict[str, list[str]]
    missing: list[str]

    def lines(self) -> list[str]:
        """The account of it, for a person to read."""
        left = sum(map(len, self.left_out.values()))
        counts = ", ".join(f"{part} {self.trees[part]} ({self.files[part]} files)" for part in PARTS)
        lines = [
            f"{self.name}: {sum(self.files.values()) + left} files, {sum(self.trees.values())} trees: {counts}; "
            f"left out {left} files"
        ]
        for reason, documents in sorted(self.left_out.items()):
            names = f": {_some(documents)}" if reason == UNLISTED else ""
            lines.append(f"  left out, {reason}: {len(documents)}{names}")
        if self.missing:
            lines.append(f"  listed, but not there: {len(self.missing)}: {_some(self.missing)}")
        if self.note:
            lines.append(f"  note: {self.note}")
        return lines


def layouts(path: Path = SPLITS) -> dict[str, Layout]:
    """The known treebanks by name.

    Raises ConfigError when the list cannot be read, names a document twice or has an empty train or dev part.
    """
    try:
        document = json.loads(path.read_text(encoding="utf8"))
        return {name: Layout(name=name, **entry) for name, entry in document["treebanks"].items()}
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: cannot read the lists of documents ({error})") from error


def find_documents(folder: Path, suffix: str) -> dict[str, Path]:
    """The files below `folder` whose names end in `suffix`, at any depth, by name without it, sorted by name.

    Raises TrainingDataError when there is no such folder, no such file, or two of one name.
    """
    if not folder.is_dir():
        raise TrainingDataError(
            f"there is no folder {folder}; fetch the treebanks ({FETCH}), or give the folder that has "
            f"{folder.name}/ in it"
        )
    found: dict[str, Path] = {}
    seen: Counter[str] = Counter()
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        seen[path.suffix or path.name] += 1
        if not path.name.endswith(suffix):
            continue
        document = path.name.removesuffix(suffix)
        if document in found:
            raise TrainingDataError(
                f"two files of the document {document}: {found[document]} and {path}; leave one of them there, "
                "or fetch only the folder that holds each document once"
            )
        found[document] = path
    if not found:
        kinds = ", ".join(f"{count} {kind}" for kind, count in seen.most_common(5)) or "none"
        raise TrainingDataError(
            f"{folder}: no *{suffix} file in it or below it (files seen: {kinds}); expected is one *{suffix} file "
            "of Penn brackets per document"
        )
    return dict(sorted(found.items()))


def collect_treebank(folder: Path, name: str, out: Path, known: Mapping[str, Layout] | None = None) -> Collected:
    """Write `out`/`name`/{train,dev}.mrg from the bracket files in and below `folder`/`name`.

    One tree per line, with the labels, function tags and empty elements of the source; documents come in the order
    of the lists in assets/splits.json. Files of the test part, of `left_out` and of no list are not even read. Both
    files are written beside their places and put there when both are complete: after an error nothing is left of
    this run, and what an earlier one wrote stays.

    Raises ConfigError for a treebank without a list or an output folder that is the input folder,
    TrainingDataError when the folder, its files or all documents of a part are missing or a file has no tree,
    TreeFormatError with file, line and column at a malformed tree.

    Where the layouts were looked up (stored copies of the repositories, November 2026):

    - craft: one .tree file per article, one tree per line, `( (S …) )`; ids in articles/ids/craft-ids-*.txt.
    - genia: dev.trees, test.trees and future_use.trees, one tree per line, `(S1 …)`; train.trees is in no stored
      copy, its name and number of trees (14,326) are known from ORIGINAL_README.md and train.pmids.
    - gum: one .ptb file per document, trees over several lines with blank lines between them, `(ROOT …)`; splits.md.
    - masc: one .mrg file per document, indented trees, `( (S …))`, in the Penn_Treebank folder of the original
      annotations. The stored copies hold few of these files, and `data` of the repository has stand-off XML and
      no brackets; most document names are known from other annotations of the same documents only. No official
      division exists. Sorted by name and with every sixth document taken for dev and another sixth for test, the
      documents follow one another as they do in the files that the published figures were measured with.

    Folders that hold the files at another depth are read as well.
    """
    known = layouts() if known is None else known
    layout = known.get(name)
    if layout is None:
        raise ConfigError(
            f"no list of documents for the treebank {name!r}; known are {', '.join(known)}. Add it to {SPLITS}, or "
            f"put its train.mrg and dev.mrg into {out / name} yourself"
        )
    source, target = folder / name, out / name
    if target.resolve() == source.resolve():
        raise ConfigError(f"{target} is where the source files are; give another folder with --out")
    documents = find_documents(source, layout.suffix)
    files = {part: _files(layout, part, documents, source) for part in PARTS}
    used = {document for part in PARTS for document in layout.parts[part]}
    left_out: dict[str, list[str]] = {}
    for document in documents:
        if document not in used:
            left_out.setdefault(layout.unwanted(document), []).append(document)
    trees = _write_parts(files, target)
    return Collected(
        name=name,
        note=layout.note,
        files={part: len(paths) for part, paths in files.items()},
        trees=trees,
        left_out=left_out,
        missing=[document for part in PARTS for document in layout.parts[part] if document not in documents],
    )


def tree_line(tree: Tree) -> str:
    """`tree`, read with its top as written, on one line; `((S …))` for brackets without a label.

    A leaf of several words has plain spaces between them, as in the source; reading the line joins them again.
    """
    return _JOINED.sub(" ", write_tree(tree).replace(_NO_LABEL, "(("))


def _files(layout: Layout, part: str, documents: Mapping[str, Path], source: Path) -> list[Path]:
    listed = layout.parts[part]
    files = [documents[document] for document in listed if document in documents]
    if not files:
        raise TrainingDataError(
            f"{source}: none of the {len(listed)} {part} documents is among its {len(documents)} *{layout.suffix} "
            f"files; expected are names such as {listed[0]}{layout.suffix}, seen was "
            f"{next(iter(documents))}{layout.suffix}. Fetch {layout.path} of {layout.repository}"
        )
    return files


def _write_parts(files: Mapping[str, Iterable[Path]], target: Path) -> dict[str, int]:
    """Write the parts to temporary files, then put all of them in place; trees by part."""
    target.mkdir(parents=True, exist_ok=True)
    partial = {part: target / f"{part}.mrg.partial" for part in files}
    try:
        trees = {part: _write_part(paths, partial[part]) for part, paths in files.items()}
        for part, path in partial.items():
            os.replace(path, target / f"{part}.mrg")
        return trees
    finally:
        for path in partial.values():
            path.unlink(missing_ok=True)
        if not any(target.iterdir()):
            target.rmdir()


def _write_part(sources: Iterable[Path], target: Path) -> int:
    total = 0
    with target.open("w", encoding="utf8", newline="\n") as file:
        for source in sources:
            count = 0
            # Read as the trainer does, for its checks (a missing bracket shows at the next top), and as written.
            for _, tree in zip(read_trees(source), read_trees(source, top=None), strict=True):
                file.write(tree_line(tree) + "\n")
                count += 1
            if not count:
                raise TrainingDataError(
                    f"{source}: no tree in it ({source.stat().st_size} bytes); expected are Penn brackets, "
                    f"(S (NP (NN test))). Fetch the file again"
                )
            total += count
    return total


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
