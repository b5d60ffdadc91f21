"""Copies of the package with one constant changed: each must refuse the models that depend on it.

Nothing else would notice the change: the tables of a model are valid, and trees come out, but worse ones. Most of the
time the tests compile the kernels that depend on what was changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import spacy_dtparse
from spacy_dtparse.models import embedded_model, open_parser
from spacy_dtparse.spine_tagger.tagger import SequenceTagger

from ..compiled_kernels import copy_compiled_kernels
from ..tagger_models import random_tagger

pytestmark = [pytest.mark.slow, pytest.mark.embedded]

PACKAGE = Path(spacy_dtparse.__file__).resolve().parent
TAGGER = "tagger"
"""No spine tagger is shipped, so one with random weights is used."""


class Mutation(NamedTuple):
    """A change: in `file`, `old` (which occurs once) becomes `new`; then the models `refused` must not load."""

    file: str
    old: str
    new: str
    refused: tuple[str, ...]


MUTATIONS = [
    Mutation("text.py", "zero_digits(word.lower())", "zero_digits(word)", ("en_span", "en_trees", TAGGER)),
    Mutation("text.py", '_DIGIT.sub("0", word)', '_DIGIT.sub("9", word)', ("en_span", "en_trees", "en_pcfgla")),
    Mutation("text.py", "'\"': \"''\", ", "'\"': '``', ", ("en_span", "en_trees")),
    Mutation("text.py", 'if "-" in word:\n        return "hyphen"', "", ("en_span", "en_trees")),
    Mutation("text.py", 'return "Capital"', 'return "miXed"', ("en_span", "en_trees")),
    Mutation("pcfgla/features.py", "SUFFIX_LENGTHS = (3, 2, 1)", "SUFFIX_LENGTHS = (2, 1)", ("en_pcfgla",)),
    Mutation("pcfgla/features.py", '"i" if first else "C"', '"C"', ("en_pcfgla",)),
    Mutation("span_parser/features.py", "AFFIX = 3", "AFFIX = 2", ("en_span",)),
    Mutation("bpm_parser/features.py", "_PREFIX = 5", "_PREFIX = 4", ("en_bpm",)),
    Mutation("bpm_parser/features.py", r"(?:[.,:/\-٫٬]", r"(?:[.:/\-٫٬]", ("en_bpm",)),
    Mutation("spine_tagger/features.py", "column + AFFIX", "column + AFFIX - 1", (TAGGER,)),
    Mutation("dtparse/features/lexicon.py", "id_of(normal, 0)", "id_of(normal, 1)", ("en_trees",)),
    Mutation("nn/kernels/units.py", "LEAK = REAL(0.1)", "LEAK = REAL(0.2)", ("en_span",)),
    Mutation("nn/kernels/units.py", "_EDGE = REAL(9.94)", "_EDGE = REAL(3.0)", ("en_span",)),
    Mutation("bpm_parser/kernels/links.py", "step = far if far <= 5", "step = far if far <= 4", ("en_bpm",)),
    Mutation("linear/kernels/feature_table.py", "np.uint64(0x5555)", "np.uint64(0x5554)", ("en_bpm",)),
    Mutation("spine_tagger/kernels.py", "_HISTORY = 64", "_HISTORY = 65", (TAGGER,)),
    Mutation("dtparse/kernels/atoms.py", "z ^ (z >> _S27)) * MIX_3", "z ^ (z >> _S27)) * MIX_1", ("en_trees",)),
    Mutation(
        "dtparse/kernels/features.py",
        "upper = end + offset, end, highest",
        "upper = end + 1 + offset, end, highest",
        ("en_trees",),
    ),
    Mutation("dtparse/kernels/marginals.py", "0.98, 0.995]", "0.98, 0.9999]", ("en_dtparse",)),
    Mutation("dtparse/kernels/features.py", "which == WITH_LEFT:", "which == OF_RIGHT:", ("en_dtparse",)),
    Mutation("pcfgla/kernels/latent.py", "ROUNDS = 6", "ROUNDS = 1", ("en_pcfgla",)),
]

LOAD = """
import sys
from pathlib import Path
from spacy_dtparse.errors import ModelFormatError
from spacy_dtparse.model_io.container import container_kind
from spacy_dtparse.core.registry import KINDS

assert Path(sys.modules["spacy_dtparse"].__file__).is_relative_to(sys.argv[1])
for path in sys.argv[2:]:
    data = Path(path).read_bytes()
    try:
        KINDS[container_kind(data)].parser_class().from_bytes(data)
        print("loaded")
    except ModelFormatError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def tagger(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("tagger") / "model"
    SequenceTagger(random_tagger(1)).to_disk(path)
    return str(path)


def load_in_a_copy(folder: Path, change: Mutation | None, paths: list[str]) -> list[str]:
    """Load model files with a copy of the package in `folder` and return the results."""
    copy = folder / "spacy_dtparse"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("en_*", "__pycache__"))
    cache = os.environ.get("NUMBA_CACHE_DIR", "")
    if change is not None:
        file = copy / change.file
        source = file.read_text(encoding="utf8")
        assert source.count(change.old) == 1, f"{change.file} has {change.old!r} {source.count(change.old)} times"
        file.write_text(source.replace(change.old, change.new), encoding="utf8")
        if "kernels" in change.file:
            cache = str(copy_compiled_kernels(folder / "kernels"))
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder), *paths],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        encoding="utf8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def path_of(name: str, tagger: str) -> str:
    if name != "en_span":
        return tagger if name == TAGGER else embedded_model(name)
    path = Path(tagger).with_name("span_model")  # it is inside another model
    if not path.exists():
        path.write_bytes(open_parser(name).to_bytes())
    return str(path)


def test_an_unchanged_copy_loads_them_all(tmp_path: Path, tagger: str) -> None:
    names = sorted({name for mutation in MUTATIONS for name in mutation.refused})
    assert load_in_a_copy(tmp_path, None, [path_of(name, tagger) for name in names]) == ["loaded"] * len(names)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.file}: {m.new}".replace("\n", " "))
def test_every_change_is_caught(tmp_path: Path, tagger: str, mutation: Mutation) -> None:
    said = load_in_a_copy(tmp_path, mutation, [path_of(name, tagger) for name in mutation.refused])
    for name, line in zip(mutation.refused, said, strict=True):
        assert line.startswith("self-test ") and " of the model scores " in line, (name, line)
