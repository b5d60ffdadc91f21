"""Entries of tiny trainings: every file that a trainer writes, models and the files of unfinished runs.

Each run is a list of commands of `python -m training` on the sample treebank, in a separate folder. Each file in this
folder at the end has an entry under its path; the files of a folder within a folder have one common entry. So the
entries also pin the names of files and of metadata.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from . import project
from .store import Entry, bits, digest_of, same, text

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "assets" / "sample"
TRAIN, DEV = f"{SAMPLE}/train.mrg,limit=40", f"{SAMPLE}/dev.mrg,limit=6"
TEXT, LINKS = f"{SAMPLE}/plain.txt", f"{SAMPLE}/dependencies.conllu"
RECIPE = {
    "min_word_sentences": 2,
    "min_atom_count": 3,
    "atom_table_bits": 16,
    "filter_bits": 10,
    "n_workers": 1,
    "learner": {"sample_size": 1000},
    "path": {"max_levels": 4, "max_trees_per_level": 6, "lambda_start": 10.0, "decay": 0.5, "quiet": True},
}
NETWORK = ["epochs=1", "batch_tokens=200", "warmup_steps=5", "shape.layers=1", "shape.width=16"]
TAGGER = [part for one in ("network.width=16", "network.layers=1", "fit.epochs=0.3") for part in ("--set", one)]
LINK_MEMBERS = ["members=2", "epochs=2", "folds=2", "guide_members=1", "label_members=1", "label_epochs=1"]

Commands = Callable[[Path], list[list[str]]]


def tree_commands(at: Path) -> list[list[str]]:
    """Boosted trees, with a window filter trained again, and with word clusters."""
    (at / "recipe.json").write_text(json.dumps(RECIPE), encoding="utf8")
    fit = ["train-boosted", "--recipe", f"{at}/recipe.json", "--train", TRAIN, "--dev", DEV]
    return [
        [*fit, "--workdir", f"{at}/work", "--out", f"{at}/model"],
        ["train-window-filter", f"{at}/model", "--train", TRAIN, "--bits", "8", "--out", f"{at}/gated"],
        ["clusters", "--text", TEXT, "--n", "6", "--min-count", "2", "--rounds", "3", "--out", f"{at}/clusters.txt"],
        [*fit, "--clusters", f"{at}/clusters.txt", "--set", "templates=standard_clusters",
         "--workdir", f"{at}/work_clusters", "--out", f"{at}/with_clusters"],
        ["evaluate", f"{at}/model", DEV, "--json", f"{at}/scores.json"],
    ]  # fmt: skip


def network_commands(at: Path) -> list[list[str]]:
    """Span networks, trained on trees and by distillation from a teacher's shards; jackknifed marginals, and boosted
    trees that use them."""
    (at / "recipe.json").write_text(json.dumps({**RECIPE, "templates": "standard_read"}), encoding="utf8")
    (at / "shards").mkdir()
    project.write_shard(at / "shards" / "made.00000.npz")
    span = ["--train", TRAIN, "--seeds", "0", "--workers", "1", "--set", *NETWORK]
    return [
        ["train-span", *span, "--dev", DEV, "--workdir", f"{at}/work", "--out", f"{at}/model"],
        ["train-span", *span, "--distill", f"{at}/shards", "--workdir", f"{at}/work_taught", "--out", f"{at}/taught"],
        ["jackknife-marginals", *span, "--folds", "2", "--workdir", f"{at}/work_readers", "--out", f"{at}/marginals"],
        ["train-boosted", "--recipe", f"{at}/recipe.json", "--train", TRAIN, "--dev", DEV,
         "--span-model", f"{at}/model", "--marginals", f"{at}/marginals",
         "--workdir", f"{at}/work_reading", "--out", f"{at}/reading"],
        ["calibrate", project.model_file(project.NETWORK), "--dev", f"{SAMPLE}/dev.mrg", "--tags", "gold",
         "--out", f"{at}/calibrated"],
    ]  # fmt: skip


def grammar_commands(at: Path) -> list[list[str]]:
    """Treebank grammars, and grammars with latent annotations."""
    return [
        ["train-pcfg", "--train", TRAIN, "--out", f"{at}/plain"],
        ["train-pcfg", "--train", TRAIN, "--recipe-steps", "tm2006", "--smoothing", "2", "--horizontal", "2",
         "--binarise", "left", "--parse-tags", "own", "--out", f"{at}/smoothed"],
        ["train-pcfgla", "--train", TRAIN, "--cycles", "2", "--iterations", "3", "--threads", "1", "--seeds", "0", "1",
         "--candidates", "--workdir", f"{at}/work", "--out", f"{at}/latent"],
        ["evaluate", f"{at}/latent", DEV, "--decoder", "rerank", "--candidates-n", "5", "--json", f"{at}/rerank.json"],
    ]  # fmt: skip


def self_training_commands(at: Path) -> list[list[str]]:
    """A grammar, and the trees that it finds in raw text, for self-training."""
    return [
        ["train-pcfgla", "--train", TRAIN, "--cycles", "1", "--iterations", "2", "--threads", "1",
         "--out", f"{at}/teacher"],
        ["self-train", "--teacher", f"{at}/teacher", "--text", TEXT, "--max-words", "9", "--sizes", "5",
         "--workers", "1", "--workdir", f"{at}/work", "--out", f"{at}/taught"],
        ["evaluate", f"{at}/teacher", DEV, "--decoder", "viterbi", "--json", f"{at}/viterbi.json"],
    ]  # fmt: skip


def link_commands(at: Path) -> list[list[str]]:
    """Dependency parsers: one of two stages with labels, and one that constituents guide."""
    guide = project.model_file(project.NETWORK)
    members = ["--workers", "1", "--set", *LINK_MEMBERS]
    return [
        ["train-bpm", "--train", LINKS, *members, "stages=2", "--workdir", f"{at}/work", "--out", f"{at}/model"],
        ["train-bpm", "--train", f"{SAMPLE}/train.mrg,limit=30", *members, "--guide", guide, "--decoder", "spanning",
         "--workdir", f"{at}/work_guided", "--out", f"{at}/guided"],
        ["evaluate-bpm", f"{at}/model", LINKS, "--json", f"{at}/scores.json"],
    ]  # fmt: skip


def label_commands(at: Path) -> list[list[str]]:
    """Log-linear spine taggers by all estimators, and jackknifed spines."""
    fit = ["train-spine-tagger", "--train", f"{at}/spines", "--workers", "1"]
    found = [
        ["spines", f"{SAMPLE}/train.mrg,limit=60", "--min-count", "2", "--json", f"{at}/spines.json",
         "--write", f"{at}/spines"],
        ["spines", f"{SAMPLE}/train.mrg,limit=20", "--categories", "directional", "--write", f"{at}/directional"],
        [*fit, "--jackknife", "2", "--set", "epochs=1", "--workdir", f"{at}/work_folds", "--out", f"{at}/jackknifed"],
    ]  # fmt: skip
    for name, setting in (
        ("perceptron", "epochs=2"),
        ("mira", "epochs=2"),
        ("gis", "iterations=3"),
        ("lbfgs", "iterations=3"),
    ):
        found.append(
            [*fit, "--estimator", name, "--set", setting, "--workdir", f"{at}/work_{name}", "--out", f"{at}/{name}"]
        )
    return found


def tagger_commands(at: Path) -> list[list[str]]:
    """Recurrent taggers: jackknifed tags, and a pipeline assembled with a parser."""
    return [
        ["jackknife-tags", "--treebank", str(SAMPLE), "--folds", "2", *TAGGER, "--out", f"{at}/tags"],
        ["train-tagger", "--treebank", str(SAMPLE), *TAGGER, "--out", f"{at}/final", "--model", f"{at}/tagger"],
        ["train-pcfg", "--train", TRAIN, "--out", f"{at}/plain"],
        ["assemble", "--tagger", f"{at}/tagger", "--model", f"{at}/plain", "--names", "sample", "--version", "1.0.0",
         "--out", f"{at}/pipeline"],
    ]  # fmt: skip


def data_commands(at: Path) -> list[list[str]]:
    """Conversion and random split of treebanks, and head rules learned from them."""
    return [
        ["convert", str(ROOT / "assets"), "sample", "--out", f"{at}/corpus"],
        ["split", f"{SAMPLE}/dev.mrg", "--parts", "train=20", "dev=10", "--out", f"{at}/parts"],
        ["heads", f"{SAMPLE}/train.mrg", "--out", f"{at}/heads.json"],
    ]


def adapting_commands(at: Path) -> list[list[str]]:
    """A shipped pipeline with a spine tagger that prunes its parser's search."""
    return [
        ["adapt", "en_trees", "--text", TEXT, "--limit", "40", "--max-words", "25", "--set", "epochs=2",
         "--dev", DEV, "--workers", "1", "--workdir", f"{at}/work", "--out", f"{at}/adapted"],
    ]  # fmt: skip


def study_commands(at: Path) -> list[list[str]]:
    """Runs of the studies of the papers, each at a small size."""
    for name in ("wsj", "craft"):  # the sample, under the names of the study's plan
        shutil.copytree(SAMPLE, at / "corpus" / name)
    fit = (
        "path.decay=0.4", "path.lambda_start=30", "path.lambda_floor=5", "path.quiet=true", "n_workers=1",
        "path.max_trees_per_level=10", "min_word_sentences=2", "min_atom_count=2", "learner.sample_size=3000",
    )  # fmt: skip
    settings = [part for one in fit for part in ("--set", one)]
    return [
        ["reproduce", "--corpus", str(ROOT / "assets"), "--names", "sample", "--out", f"{at}/turian", "--scale", "0.2",
         "--budget", "1000", *settings,
         "--runs", "r2l", "l2r", "bottom_up", "hard", "stumps", "uniform", "full_length", "pcfg"],
        ["pcfgla-study", "--corpus", f"{at}/corpus", "--runs", "left-1", "--scale", "0.2", "--threads", "1",
         "--out", f"{at}/matsuzaki"],
    ]  # fmt: skip


def whole_commands(at: Path) -> list[list[str]]:
    """Trainings on the whole sample as in the documents, with several processes."""
    train, dev = ["--train", f"{SAMPLE}/train.mrg"], ["--dev", f"{SAMPLE}/dev.mrg"]
    recipe = ["--recipe", str(ROOT / "training" / "recipes" / "sample.json")]
    links = ["members=3", "epochs=3", "folds=3", "stages=2"]
    return [
        ["train-boosted", *recipe, *train, *dev, "--set", "path.lambda_floor=3", "n_workers=2", "path.quiet=true",
         "--workdir", f"{at}/work_trees", "--out", f"{at}/trees"],
        ["train-span", *train, *dev, "--seeds", "0", "1", "--workers", "2", "--set", "epochs=2", "shape.width=32",
         "--workdir", f"{at}/work_network", "--out", f"{at}/network"],
        ["train-pcfgla", *train, "--cycles", "3", "--iterations", "10", "--threads", "2", "--out", f"{at}/latent"],
        ["train-bpm", "--train", f"{SAMPLE}/train.mrg", "--jackknife", "2", "--set", *links, "--workers", "2",
         "--workdir", f"{at}/work_links", "--out", f"{at}/links"],
    ]  # fmt: skip


RUNS: dict[str, tuple[Commands, Callable[[str, Any], Entry]]] = {
    "train_data": (data_commands, same),
    "train_trees": (tree_commands, bits),
    "train_networks": (network_commands, bits),
    "train_grammars": (grammar_commands, bits),
    "train_taught": (self_training_commands, bits),
    "train_links": (link_commands, same),
    "train_labels": (label_commands, bits),
    "train_taggers": (tagger_commands, bits),
    "train_adapted": (adapting_commands, bits),
    "train_studies": (study_commands, bits),
    "train_whole": (whole_commands, bits),
}
"""Trainings by the name of the group: the commands, and the kind of the entries. The names of files are compared on
every machine."""
SLOW = (
    "en_bpm", "en_pcfgla", "en_trees", "info", "train_adapted", "train_grammars", "train_labels", "train_links",
    "train_networks", "train_studies", "train_taggers", "train_taught", "train_whole",
)  # fmt: skip
"""Groups that the fast tests leave out."""

_CHANGING = re.compile(r"seconds|per_second|^ms$|^ms_per|^steps$|^peak_bytes$|^spacy_version$|^check$|^command$|^date$")
"""Fields about the machine or the time; `steps` are seconds of a tree's steps, `check` is a digest of the other
fields."""
_LEFT_OUT = (".lock", "table.md")
"""Names of files that contain the id of a process, or the time that parsing took."""
_INPUT = "recipe.json"
"""The input file of a run; its settings have the current names."""
_SETTINGS = "config.cfg"
"""The file with the names of all settings; it is text for people."""


def training_entries(group: str) -> Iterator[Entry]:
    """Yield the entries of a training."""
    commands, kind = RUNS[group]
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder).resolve()
        for command in commands(at):
            with redirect_stdout(StringIO()):
                code = project.run_training(command)
            if code:
                raise RuntimeError(f"python -m training {' '.join(command)} ended with {code}")
        paths = [path for path in sorted(at.rglob("*")) if path.is_file() and path.name not in _LEFT_OUT]
        if group == "train_whole":  # several processes write its run folders, in the order in which they end
            paths = [path for path in paths if not path.relative_to(at).parts[0].startswith("work_")]
        yield same(f"{group}/files", [str(path.relative_to(at)) for path in paths])
        together: dict[str, dict[str, Any]] = {}
        for path in paths:
            inner = path.parent.relative_to(at)
            if path.name == _INPUT:
                continue
            own = together.setdefault(f"{inner}/" if len(inner.parts) > 1 else str(inner / path.name), {})
            own[path.name] = content_of(path, at)
        for name, contents in together.items():
            yield (text if name.endswith(_SETTINGS) else kind)(f"{group}/{name}", contents)


def content_of(path: Path, folder: Path) -> Any:
    """Return the content of a file: arrays of .npz by name, data of JSON without fields about the machine, else bytes;
    with placeholders for the paths of the run and of the project."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {name: _plain_array(arrays[name], folder) for name in sorted(arrays.files)}
    data = path.read_bytes()
    try:
        if path.suffix != ".jsonl":
            return plain_data(json.loads(data.decode("utf8")), folder)
        lines = [plain_data(json.loads(line), folder) for line in data.decode("utf8").splitlines()]
        return sorted(lines, key=digest_of)  # the order of labels in a level depends on how long each took
    except ValueError:
        return _without_paths(data, folder)


def plain_data(data: Any, folder: Path) -> Any:
    """Data without the fields of `_CHANGING` and without paths, in order of names."""
    if isinstance(data, Mapping):
        return {name: plain_data(data[name], folder) for name in sorted(data) if not _CHANGING.search(name)}
    if isinstance(data, list):
        return [plain_data(one, folder) for one in data]
    return _without_paths(data.encode("utf8"), folder) if isinstance(data, str) else data


def _plain_array(array: np.ndarray, folder: Path) -> Any:
    """An array; if its bytes are JSON, their data."""
    if array.dtype == np.uint8 and array.ndim == 1:
        try:
            return plain_data(json.loads(array.tobytes()), folder)
        except ValueError:
            pass
    return array if array.dtype != object else array.tolist()


def _without_paths(data: bytes, folder: Path) -> bytes:
    return data.replace(str(folder).encode(), b"RUN").replace(str(ROOT).encode(), b"PROJECT")
