"""Training and held-out sentences of a folder of treebanks, or of the Penn Treebank's WSJ sections."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.stored_names import stored_as, to_stored

from ..data.corpus import Sentence, read_tags, read_treebank
from ..data.treebanks import corpus_files, every, read_files

SECTIONS = {"train": range(2, 22), "dev": range(22, 23), "test": range(23, 24)}  # of the WSJ part, as in the papers
PTB = "ptb"  # name of a treebank given by its sections, in its files of tags and in results


@stored_as("train", "dev", "test")
class Sources(NamedTuple):
    """Sentences by part. `test` is empty unless requested."""

    train: tuple[Sentence, ...]
    dev: tuple[Sentence, ...]
    test: tuple[Sentence, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Numbers of sentences per treebank and part, and a digest of trees and tags, to identify the data."""
        digest = hashlib.blake2b(digest_size=12)
        for sentence in chain(*self):
            tree = sentence.tree
            identity = tree.words, tree.labels, tree.starts, tree.ends, sentence.tags, sentence.weight
            digest.update(repr(identity).encode())
        counts = {part: dict(Counter(s.source for s in sentences)) for part, sentences in to_stored(self).items()}
        return {"sentences": counts, "digest": digest.hexdigest()}


def corpus_sources(folder: Path, names: Sequence[str], tags: Path | None, scale: float = 1.0) -> Sources:
    """The train and dev parts of `folder`/NAME; see `treebanks.corpus_files`. `scale`: fraction of each part to use."""
    if not names:
        raise ConfigError("--corpus needs --names, the treebanks of the folder to use")
    parts = (read_files(corpus_files(folder, names, part, tags)) for part in ("train", "dev"))
    return Sources(*(every(part, scale) for part in parts))


def section_files(root: Path, part: str) -> list[Path]:
    """The files of the sections of `part`, in order: root/SS/wsj_*.mrg, or .prd if there is no .mrg of that name.
    Raises TrainingDataError if a section has none."""
    files, sections = [], [f"{section:02}" for section in SECTIONS[part]]
    for section in sections:
        folder = root / section
        found = {path.stem: path for ending in ("prd", "mrg") for path in folder.glob(f"wsj_*.{ending}")}
        if not found:
            raise TrainingDataError(
                f"{folder} has no wsj_*.mrg or wsj_*.prd; {part} needs the sections {', '.join(sections)} of {root}, "
                "one folder each"
            )
        files += [found[stem] for stem in sorted(found)]
    return files


def treebank_sources(root: Path, tags: Path | None, scale: float = 1.0, test: bool = False) -> Sources:
    """Read the Penn Treebank by its WSJ sections; section 23 is read only with `test`. `tags`: folder with
    ptb.train.tags, ptb.dev.tags (and ptb.test.tags), a line per tree of `section_files`. Raises TrainingDataError for
    missing sections and for tags that do not match the trees."""
    parts = []
    for part in ("train", "dev", "test") if test else ("train", "dev"):
        sentences = [replace(found, source=PTB) for path in section_files(root, part) for found in read_treebank(path)]
        if tags is not None:
            sentences = _replace_tags(sentences, tags / f"{PTB}.{part}.tags", root)
        parts.append(every(sentences, scale))
    return Sources(*parts)


def _replace_tags(sentences: list[Sentence], path: Path, root: Path) -> list[Sentence]:
    rows = read_tags(path, "a line of tags per tree")
    wrong = next((n for n, (s, row) in enumerate(zip(sentences, rows, strict=False)) if len(row) != len(s.tags)), None)
    if wrong is not None or len(rows) != len(sentences):
        where = f"line {wrong + 1} does not match its tree" if wrong is not None else f"{len(rows)} lines"
        raise TrainingDataError(
            f"{path}: {where}; there must be one line for each of the {len(sentences)} trees of {root}, in the order "
            "of sections and files, with a tag per word"
        )
    return [replace(sentence, tags=row) for sentence, row in zip(sentences, rows, strict=True)]
