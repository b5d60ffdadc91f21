"""Convert the public treebanks from the layouts that their projects publish to NAME/train.mrg and NAME/dev.mrg."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from spacy_dtparse import trees
from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.trees import write_tree
from spacy_dtparse.trees.bad_input import on_error

from .bad_input import input_policy, read_trees
from .treebanks import PARTS

SPLITS = Path(__file__).resolve().parents[2] / "assets" / "splits.json"
TEST = "test"
FETCH = "mkdir -p build/assets && python -m spacy project assets --extra --sparse"
UNLISTED = "in no list of assets/splits.json"
_NO_LABEL = "( ("
_JOINED = re.compile(r"(?<=[^\s(])\u00a0(?=[^\s)])")


@dataclass(frozen=True)
class Layout:
    """The layout in which a project publishes a treebank: a folder of bracket files, one per document, and their parts.

    `suffix`: of the bracket files. `parts`: documents of train, dev and test, in the order in which their trees
    are written. `left_out`: patterns of documents to leave out, by reason. `division`: source of the division into
    parts. `note`: a remark on the result.
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
        if twice := [document for document, count in listed.items() if count > 1]:
            raise ConfigError(f"{self.name}: {_shorten(twice)} is listed twice; list each document in one part")
        missing = [part for part in PARTS if not self.parts.get(part)]
        if missing or set(self.parts) - {*PARTS, TEST}:
            raise ConfigError(
                f"{self.name}: the parts are {', '.join(self.parts) or 'none'}; allowed are train, dev and test, "
                "and train and dev must have documents"
            )

    def exclusion_reason(self, document: str) -> str:
        """The reason to leave out a document of neither train nor dev."""
        if document in self.parts.get(TEST, ()):
            return "test part"
        for reason, patterns in self.left_out.items():
            if any(fnmatchcase(document, pattern) for pattern in patterns):
                return reason
        return UNLISTED


@dataclass
class CollectionReport:
    """The result of collecting a treebank: numbers of files and trees by part, documents left out by reason, listed
    documents that were not found."""

    name: str
    note: str
    files: dict[str, int]
    trees: dict[str, int]
    left_out: dict[str, list[str]]
    missing: list[str]

    def lines(self) -> list[str]:
        """A report for the user."""
        left = sum(map(len, self.left_out.values()))
        counts = ", ".join(f"{part} {self.trees[part]} ({self.files[part]} files)" for part in PARTS)
        lines = [
            f"{self.name}: {sum(self.files.values()) + left} files, {sum(self.trees.values())} trees: {counts}; "
            f"left out {left} files"
        ]
        for reason, documents in sorted(self.left_out.items()):
            names = f": {_shorten(documents)}" if reason == UNLISTED else ""
            lines.append(f"  left out, {reason}: {len(documents)}{names}")
        if self.missing:
            lines.append(f"  listed, but not there: {len(self.missing)}: {_shorten(self.missing)}")
        if self.note:
            lines.append(f"  note: {self.note}")
        return lines


def layouts(path: Path = SPLITS) -> dict[str, Layout]:
    """The layouts of the public treebanks by name. Raises ConfigError if the list cannot be read, names a document
    twice or has an empty train or dev part."""
    try:
        document = json.loads(path.read_text(encoding="utf8"))
        return {name: Layout(name=name, **entry) for name, entry in document["treebanks"].items()}
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: cannot read the lists of documents ({error})") from error


def find_documents(folder: Path, suffix: str) -> dict[str, Path]:
    """The files below `folder`, at any depth, whose names end in `suffix`, by name without it, sorted by name. Raises
    TrainingDataError if there is no such folder, no such file, or two files with the same name."""
    if not folder.is_dir():
        raise TrainingDataError(
            f"there is no folder {folder}; download the treebanks ({FETCH}), or give the folder that contains "
            f"{folder.name}/"
        )
    found: dict[str, Path] = {}
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in (path for path in files if path.name.endswith(suffix)):
        document = path.name.removesuffix(suffix)
        if document in found:
            raise TrainingDataError(
                f"two files of the document {document}: {found[document]} and {path}; delete one of them, or download "
                "only the folder that contains each document once"
            )
        found[document] = path
    if not found:
        seen = Counter(path.suffix or path.name for path in files).most_common(5)
        kinds = ", ".join(f"{count} {kind}" for kind, count in seen) or "none"
        raise TrainingDataError(
            f"{folder}: no *{suffix} file in it or below it (files found: {kinds}); give a folder with one *{suffix} "
            "file of Penn brackets per document"
        )
    return dict(sorted(found.items()))


def collect_treebank(folder: Path, name: str, out: Path, known: Mapping[str, Layout] | None = None) -> CollectionReport:
    """Write `out`/`name`/{train,dev}.mrg from the bracket files in and below `folder`/`name`.

    Writes one tree per line, with the labels, function tags and empty elements of the source, documents in the order
    of the lists in assets/splits.json. Files of the test part, of `left_out` and of no list are not read. Both files
    are written under temporary names and renamed when both are complete: after an error nothing of this run is left,
    and the files of an earlier one are unchanged.

    Raises ConfigError for a treebank without a list or an output folder that is the input folder, TrainingDataError
    if the folder, its files or all documents of a part are missing or a file has no tree, TreeFormatError with file,
    line and column for a malformed tree.

    The layouts (stored copies of the repositories, November 2026), at any depth:

    - craft: one .tree file per article, one tree per line, `( (S …) )`; ids in articles/ids/craft-ids-*.txt.
    - genia: dev.trees, test.trees and future_use.trees, one tree per line, `(S1 …)`; train.trees is in no stored copy;
      ORIGINAL_README.md and train.pmids give its name and number of trees (14,326).
    - gum: one .ptb file per document, trees over several lines with blank lines between them, `(ROOT …)`; splits.md.
    - masc: one .mrg file per document, indented trees, `( (S …))`, in the Penn_Treebank folder of the original
      annotations. The stored copies hold few of these files, and `data` of the repository has stand-off XML and no
      brackets; most document names come from other annotations of the same documents. There is no official division:
      sorted by name, every sixth document belongs to dev and another sixth to test, and the documents are in the order
      of the files with which the published results were measured.
    """
    known = layouts() if known is None else known
    layout = known.get(name)
    if layout is None:
        raise ConfigError(
            f"no list of documents for the treebank {name!r}; there are lists for {', '.join(known)}. Add one to "
            f"{SPLITS}, or put its train.mrg and dev.mrg into {out / name} yourself"
        )
    source, target = folder / name, out / name
    if target.resolve() == source.resolve():
        raise ConfigError(f"{target} is the folder of the source files; give another one with --out")
    documents = find_documents(source, layout.suffix)
    files = {part: _files(layout, part, documents, source) for part in PARTS}
    used = {document for part in PARTS for document in layout.parts[part]}
    left_out: dict[str, list[str]] = {}
    for document in documents:
        if document not in used:
            left_out.setdefault(layout.exclusion_reason(document), []).append(document)
    counts = {part: len(paths) for part, paths in files.items()}
    missing = [document for part in PARTS for document in layout.parts[part] if document not in documents]
    return CollectionReport(name, layout.note, counts, _write_parts(files, target), left_out, missing)


def _files(layout: Layout, part: str, documents: Mapping[str, Path], source: Path) -> list[Path]:
    listed = layout.parts[part]
    files = [documents[document] for document in listed if document in documents]
    if not files:
        raise TrainingDataError(
            f"{source}: none of the {len(listed)} {part} documents is among its {len(documents)} *{layout.suffix} "
            f"files; names should be like {listed[0]}{layout.suffix}, not like "
            f"{next(iter(documents))}{layout.suffix}. Download {layout.path} of {layout.repository}"
        )
    return files


def _write_parts(files: Mapping[str, Iterable[Path]], target: Path) -> dict[str, int]:
    """Write the parts to temporary files, then rename all of them; returns the number of trees by part."""
    target.mkdir(parents=True, exist_ok=True)
    partial = {part: target / f"{part}.mrg.partial" for part in files}
    trees = dict.fromkeys(files, 0)
    try:
        for part, sources in files.items():
            with partial[part].open("w", encoding="utf8", newline="\n") as file:
                for source in sources:
                    lines = _tree_lines(source)
                    file.writelines(lines)
                    trees[part] += len(lines)
        for part, path in partial.items():
            os.replace(path, target / f"{part}.mrg")
        return trees
    finally:
        for path in partial.values():
            path.unlink(missing_ok=True)
        if not any(target.iterdir()):
            target.rmdir()


def _tree_lines(source: Path) -> list[str]:
    """The trees of a file, one per line, with the root labels of the source; `((S …))` for brackets without a label.

    A leaf of several words has plain spaces between them, as in the source; reading the line joins them again.
    """
    # Read twice: as the trainer does, for its checks (a missing bracket is found at the next root), and unchanged.
    checked = list(read_trees(source))
    as_written = trees.read_trees(source, top=None, on_error=on_error(input_policy()), errors=[])
    lines: list[str] = []
    for words in (tree.words for tree in checked):
        tree = next((tree for tree in as_written if tree.words == words), None)  # others are skipped by --errors
        if tree is None:
            raise TrainingDataError(f"{source}: no tree fits after tree {len(lines)}; repair the file")
        lines.append(_JOINED.sub(" ", write_tree(tree).replace(_NO_LABEL, "((")) + "\n")
    if not lines:
        raise TrainingDataError(
            f"{source}: no tree in it ({source.stat().st_size} bytes); it should contain Penn brackets, "
            f"(S (NP (NN test))). Download the file again"
        )
    return lines


def _shorten(names: Sequence[str], max_names: int = 5) -> str:
    return ", ".join(names[:max_names]) + (", …" if len(names) > max_names else "")
