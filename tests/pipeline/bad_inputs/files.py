"""Damaged treebanks, tags and model files."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

import pytest

from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import ModelFormatError, TrainingDataError, TreeFormatError
from spacy_dtparse.model_io.container import container_to_bytes
from spacy_dtparse.models import embedded_model
from spacy_dtparse.trees.brackets import read_trees
from training.data.corpus import read_treebank
from training.data.treebanks import TreebankFile
from training.dtparse.fit import BoostingRun
from training.dtparse.recipe import FitRecipe

from .cases import Bench, Case, Raises, Returns


def bracketed(name: str, data: bytes, gets: Raises | Returns) -> Case:
    """A file for both readers of treebanks, that of the package and that of the trainers; they must agree."""

    def make(bench: Bench) -> Any:
        path = bench.file(data, "input.mrg")
        try:
            trees = list(read_trees(path))
        except TreeFormatError as error:
            with pytest.raises(TreeFormatError, match=re.escape(str(error))):
                read_treebank(path)
            assert str(path) in str(error) and error.line is not None and error.column is not None
            raise
        assert len(read_treebank(path)) == len(trees)
        return trees

    return Case("treebank", name, make, gets)


def tagged(tags: bytes) -> Callable[[Bench], Any]:
    """Read two trees with a file of tags."""
    return lambda bench: read_treebank(
        bench.file(b"(TOP (NP (NN cat)))\n(TOP (NP (NN dog)))\n", "two.mrg"), bench.file(tags, "tags")
    )


TREEBANKS = [
    bracketed(
        "bracket never closed", b"(TOP (NP (NN cat))\n", Raises(TreeFormatError, "is never closed; is a ')' missing")
    ),
    bracketed("bracket too many", b"(TOP (NN cat)))\n", Raises(TreeFormatError, "')' closes nothing")),
    bracketed(
        "text outside of trees", b"hello (TOP (NN cat))\n", Raises(TreeFormatError, "stands outside of any tree")
    ),
    bracketed(
        "text next to leaves",
        b"(TOP (NP (DT the) cat))\n",
        Raises(TreeFormatError, "stands next to constituents or leaves"),
    ),
    bracketed("empty constituent", b"(TOP (NP ) (NN cat))\n", Raises(TreeFormatError, "'(NP)' has no word")),
    bracketed(
        "constituent without a label", b"(TOP ( (NN a)) (NN b))\n", Raises(TreeFormatError, "has no label; give it one")
    ),
    bracketed(
        "words without tags",
        b"(TOP (NP the cat))\n",
        Returns(
            "one leaf with tag NP: several words of a leaf are one token",
            lambda trees: trees[0].words == ("the\u00a0cat",),
        ),
    ),
    bracketed(
        "bytes that are not UTF-8",
        b"(TOP (NN caf\xe9))\n",
        Raises(TreeFormatError, "byte 0xe9 is not valid in the file's encoding"),
    ),
    bracketed("binary file", b"\0\0\0\0", Raises(TreeFormatError, "stands outside of any tree")),
    bracketed(
        "3,000 constituents deep",
        b"(TOP " + b"(NP " * 3000 + b"(NN a)" + b")" * 3001,
        Returns("the tree", lambda trees: len(trees[0].labels) == 3001),
    ),
    bracketed("empty file", b"", Returns("no trees", lambda trees: trees == [])),
    Case(
        "treebank",
        "empty file, to train on",
        lambda bench: TreebankFile(bench.file(b"")).read(),
        Raises(TrainingDataError, "no tree in it"),
    ),
    Case(
        "treebank",
        "no such file, to train on",
        lambda bench: TreebankFile(bench.folder / "no.mrg").read(),
        Raises(TrainingDataError, "there is no file"),
    ),
    Case(
        "treebank",
        "too few lines of tags",
        tagged(b"NN\n"),
        Raises(TrainingDataError, "0 tags for the 1 words of tree 2"),
    ),
    Case(
        "treebank",
        "too many lines of tags",
        tagged(b"NN\nNN\nNN\n"),
        Raises(TrainingDataError, "has 3 lines for the 2 trees"),
    ),
    Case(
        "treebank",
        "too many tags in a line",
        tagged(b"NN NN\nNN\n"),
        Raises(TrainingDataError, "2 tags for the 1 words of tree 1"),
    ),
    Case(
        "treebank", "tags that are not UTF-8", tagged(b"\xff\nNN\n"), Raises(TrainingDataError, "cannot read the tags")
    ),
    Case(
        "treebank",
        "training without sentences",
        lambda bench: BoostingRun(FitRecipe(), [], [], bench.folder),
        Raises(TrainingDataError, "there are no training sentences"),
    ),
]


def damaged(name: str, change: Callable[[bytes], bytes], phrase: str) -> Case:
    """A changed model, as a file; its bytes must give the same error."""

    def make(bench: Bench) -> Any:
        data = change(bench.model())
        with pytest.raises(ModelFormatError, match=re.escape(phrase)):
            load_parser(data)
        return load_parser(bench.file(data, "model"))

    return Case("model file", name, make, Raises(ModelFormatError, phrase))


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


MODELS = [
    damaged("empty", lambda data: b"", "the model is empty (0 bytes)"),
    damaged("foreign (a ZIP file)", lambda data: b"PK\x03\x04" + data, "not a spacy-dtparse model file"),
    damaged("cut off in the header", lambda data: data[:40], "truncated model file"),
    damaged("cut off near the end", lambda data: data[:-100], "truncated model file"),
    damaged("further bytes at the end", lambda data: data + b"\n", "1 bytes follow the end of the model file"),
    damaged(
        "one bit flipped in the content",
        lambda data: flipped(data, len(data) // 2),
        "does not have the digest in its header",
    ),
    damaged("one bit flipped in the digest", lambda data: flipped(data, 40), "does not have the digest in its header"),
    damaged(
        "of another kind",
        lambda data: container_to_bytes("lexicon", {}, {}),
        "no parser for model files of kind 'lexicon'",
    ),
    damaged(
        "right kind, no content", lambda data: container_to_bytes("dtree", {}, {}), "the ensemble has version None"
    ),
    damaged(
        "span network, no content",
        lambda data: container_to_bytes("span", {}, {}),
        "the span model has version None; this release reads version 1",
    ),
    damaged(
        "newer version",
        lambda data: data[:8] + struct.pack("<H", 9) + data[10:],
        "this release reads up to 1: update spacy-dtparse",
    ),
    Case(
        "model file",
        "missing",
        lambda bench: load_parser(bench.folder / "no"),
        Raises(ModelFormatError, "there is no model file"),
    ),
    Case(
        "model file",
        "a folder",
        lambda bench: load_parser(bench.folder),
        Raises(ModelFormatError, "is a folder; give the model file inside it"),
    ),
    Case(
        "model file",
        "a folder without a model, as component setting",
        lambda bench: bench.component(model=str(bench.folder)),
        Raises(ModelFormatError, "is a folder without a 'model' file"),
    ),
    Case(
        "model file",
        "of decision trees, given to pcfgla",
        lambda bench: bench.component("pcfgla", model=str(embedded_model("en_dtparse"))),
        Raises(ModelFormatError, "is not one for the factory 'pcfgla'; use it with nlp.add_pipe('dtparse'"),
    ),
    Case(
        "model file",
        "of a span network, given to pcfgla",
        lambda bench: bench.component("pcfgla", model=str(bench.file(bench.model(), "my.model"))),
        Raises(ModelFormatError, "is not one for the factory 'pcfgla'; use it with nlp.add_pipe('span_parser'"),
    ),
    Case(
        "model file",
        "junk, as component setting",
        lambda bench: bench.component(model=str(bench.file(b"junk", "my.model"))),
        Raises(ModelFormatError, "my.model: not a spacy-dtparse model file"),
    ),
]
