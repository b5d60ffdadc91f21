"""Convert treebanks to cleaned bracketed trees and to spaCy's binary format."""

import codecs
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from spacy_dtparse.errors import ConfigError, TrainingDataError
from spacy_dtparse.pipeline.corpus import convert_brackets
from spacy_dtparse.text import remove_backslashes
from spacy_dtparse.trees import EMPTY_TAG, Tree, write_tree
from spacy_dtparse.trees.psd import SUFFIX
from spacy_dtparse.trees.transforms import strip_empty
from training.data.bad_input import read_trees

from ..runs.files import write_atomically
from .phrase_trees import read_phrase_trees
from .scheme import Scheme
from .surveying import findings
from .tokens import blank_pipeline
from .treebanks import CONLLU, blocks, part_file


@dataclass(frozen=True)
class Conversion:
    """Options for converting a treebank.

    `lang`: its language, for spaCy's tokenizer. `scheme`: new labels and tags. `encoding`: of its files. `limit`: use
    only the first trees of train. `dev`: "K/N": if there is no dev file, every N-th block of ten trees, starting with
    the K-th, becomes the dev part. `splits`: additional parts, such as "test". `profile`: of the rules for CoNLL-U
    files (see `dependency_phrases`).
    """

    lang: str = "en"
    scheme: Scheme = field(default_factory=Scheme)
    encoding: str = "utf-8"
    limit: int | None = None
    dev: str | None = None
    splits: tuple[str, ...] = ()
    profile: str = "universal"


@dataclass(frozen=True)
class ConversionReport:
    """The number of trees written, by part, and messages about the treebank."""

    counts: dict[str, int]
    findings: list[str]


def _advice(folder: Path, part: str) -> str:
    """The end of the message about a missing part of a treebank."""
    names = f"{part}.mrg, {part}{SUFFIX}, {part}{CONLLU} or …-{part}{CONLLU}"
    if not folder.is_dir():
        return f"give a folder with {names}"
    others = sorted(path.name for path in folder.iterdir() if path.suffix in (".mrg", SUFFIX, CONLLU))
    if not others:
        return f"put the trees into {folder}, as {names}"
    return f"the folder has {', '.join(others[:3])}{' …' * (len(others) > 3)}; name the file {names}"


def convert_treebank(folder: Path, name: str, out: Path, conversion: Conversion | None = None) -> ConversionReport:
    """Convert `folder`/`name`/{train,dev}.mrg (or .psd, .conllu) to `out`/`name`/{train,dev}.mrg and dev.spacy.

    Dependencies in CoNLL-U become phrases by rule (see `phrase_trees`), and are also written to {train,dev}.conllu.
    Writes trees without empty elements, function tags and backslashes, one per line; trees that consist of empty
    elements are left out. A token that contains white space becomes several tokens. The dev part may be missing.
    Raises TrainingDataError if another file is missing or has no tree, TreeFormatError for a malformed tree,
    ConfigError for an unknown encoding or language.
    """
    conversion = conversion or Conversion()
    nlp = blank_pipeline(conversion.lang)
    sources = {part: part_file(folder, name, part) for part in ("train", "dev", *conversion.splits)}
    for part, path in sources.items():
        if part != "dev" and not path.is_file():
            raise TrainingDataError(f"there is no file {path}; {_advice(path.parent, part)}")
    notes: list[str] = []
    parts = {part: _read_trees(path, conversion, notes) for part, path in sources.items() if path.is_file()}
    parts["train"] = parts["train"][: conversion.limit]
    if conversion.dev is not None and "dev" not in parts:
        where = f"{name}: the dev part"
        parts["dev"] = blocks(parts["train"], conversion.dev, where)
        parts["train"] = blocks(parts["train"], f"-{conversion.dev}", where)
        if not parts["dev"] or not parts["train"]:
            raise ConfigError(
                f"{where} {conversion.dev} leaves {len(parts['train'])} trees for train and {len(parts['dev'])} for "
                "dev; give another --dev K/N"
            )
    raw = {part: [tree for tree, _ in pairs] for part, pairs in parts.items()}
    clean = {part: list(map(clean_tree, trees)) for part, trees in raw.items()}
    for part, trees in clean.items():
        if not trees:
            raise TrainingDataError(
                f"{sources[part]}: no tree in it; give a file of bracketed trees, (TOP (NP (NN test)))"
            )
        target = out / name / f"{part}.mrg"
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, "".join(write_tree(tree) + "\n" for tree in trees).encode())
        if dependencies := "".join(rows for _, rows in parts[part]):
            write_atomically(target.with_suffix(CONLLU), dependencies.encode())
        if part == "dev":
            convert_brackets(target, target.with_suffix(".spacy"), lang=conversion.lang)
    counts = {part: len(trees) for part, trees in clean.items()}
    return ConversionReport(counts, [*notes, *findings(raw["train"], clean["train"], clean.get("dev", []), nlp)])


def clean_tree(tree: Tree) -> Tree:
    """Remove empty elements, function tags, backslashes, and white space within tokens."""
    tree = strip_empty(tree)
    words = tuple(map(remove_backslashes, tree.words))
    return split_tokens(Tree(words, tree.tags, tree.labels, tree.starts, tree.ends))


def split_tokens(tree: Tree) -> Tree:
    """Split tokens that contain white space (or no-break spaces) into several ones, each with the tag of the whole."""
    parts = [word.split() or [word] for word in tree.words]
    if all(len(part) == 1 for part in parts):
        return tree
    at = list(accumulate(map(len, parts), initial=0))
    tags = tuple(tag for tag, part in zip(tree.tags, parts, strict=True) for _ in part)
    words = tuple(word for part in parts for word in part)
    return Tree(words, tags, tree.labels, tuple(at[k] for k in tree.starts), tuple(at[k] for k in tree.ends))


def _read_trees(path: Path, conversion: Conversion, notes: list[str]) -> list[tuple[Tree, str]]:
    """The trees of a file, with the scheme applied, and the dependencies of each in CoNLL-U, "" for bracketed trees."""
    try:
        codecs.lookup(conversion.encoding)
    except LookupError:
        raise ConfigError(f"--encoding {conversion.encoding} is unknown; give one such as utf-8 or latin-1") from None
    if path.suffix == CONLLU:
        trees, rows, counts = read_phrase_trees(path, conversion.lang, conversion.profile, conversion.encoding)
        notes.append(f"{path.name}: {counts}")
        return [(conversion.scheme.apply(tree), links) for tree, links in zip(trees, rows, strict=True)]
    return [
        (conversion.scheme.apply(tree), "")
        for tree in read_trees(path, encoding=conversion.encoding)
        if any(tag != EMPTY_TAG for tag in tree.tags)
    ]
