"""Students: parsers trained with the same recipe on a treebank and more and more silver trees, and their scores."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from spacy_dtparse import __version__
from spacy_dtparse.core import load_parser
from spacy_dtparse.errors import ConfigError, TrainingDataError

from ..data.evaluate import evaluate
from ..data.treebanks import TreebankFile, read_files
from ..dtparse.boosting.path_log import LOG_FILE, seconds_used
from ..dtparse.fit import limit_minutes, train_boosted_parser
from ..dtparse.recipe import FitRecipe
from ..runs.files import file_digest, read_lines, reuse_result, write_atomically
from ..runs.tables import markdown

logger = logging.getLogger(__name__)

RESULT, TRAINED, TABLE = "result.json", "trained.json", "table.md"


@dataclass(frozen=True)
class Experiment:
    """Training and test data of students.

    `silver_dir`: a folder of silver trees, written by `self-train`. `sizes`: for each student, the number of silver
    trees (the first ones) that it gets in addition to the treebank `train`; 0: only the treebank. `dev`: trees whose F1
    chooses λ. `test_files`: test files by name. `teacher_weight`: total weight of the silver trees, as a multiple of
    that of the treebank (words times weight), with at most weight 1 per tree; or `weight`: weight of each silver tree.
    `minutes`: wall clock of a student's λ path, over all calls; None: the recipe's. `out`: a student has the folder
    `out`/SIZE and the model `out`/SIZE.model.

    Raises ConfigError for values out of range.
    """

    recipe: FitRecipe
    silver_dir: Path
    sizes: tuple[int, ...]
    train: tuple[TreebankFile, ...]
    dev: tuple[TreebankFile, ...]
    test_files: dict[str, TreebankFile]
    out: Path
    teacher_weight: float = 1.0
    weight: float | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 0 or len(set(self.sizes)) < len(self.sizes):
            raise ConfigError(f"the sizes are {list(self.sizes)}; give different whole numbers from 0 (--sizes)")
        if not self.train:
            raise ConfigError("there is no treebank to train on; give --train FILE")
        if not self.test_files:
            raise ConfigError("there is no file to score students on; give --evaluate NAME=FILE")
        for name in ("teacher_weight", "weight", "minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ConfigError(f"the {name} is {value}; it must be above 0")

    def student_files(self, size: int) -> list[TreebankFile]:
        """The treebank and the first `size` silver trees.

        Raises TrainingDataError if there are fewer.
        """
        if size == 0:
            return list(self.train)
        silver_trees = TreebankFile(self.silver_dir / "teacher.mrg", self.silver_dir / "teacher.tags", limit=size)
        sentences = silver_trees.read()
        if len(sentences) < size:
            raise TrainingDataError(
                f"{silver_trees.path} has {len(sentences)} trees, not {size}; give smaller --sizes, or make more trees "
                "with `python -m training self-train`"
            )
        weight = self.weight
        if weight is None:
            treebank_weight = sum(s.weight * len(s.tags) for s in read_files(self.train))
            weight = round(min(1.0, self.teacher_weight * treebank_weight / sum(len(s.tags) for s in sentences)), 6)
        return [*self.train, replace(silver_trees, weight=weight)]


def parse_named_file(text: str) -> tuple[str, TreebankFile]:
    """Parse `NAME=PATH[,tags=PATH][,limit=N]` into name and file. Raises ConfigError for anything else."""
    name, sign, rest = text.partition("=")
    if not sign or not name or not rest or "," in name or "/" in name:
        raise ConfigError(f"{text!r}: give NAME=PATH[,tags=PATH][,limit=N], such as wsj=wsj/dev.mrg")
    return name, TreebankFile.parse(rest)


def run_experiment(experiment: Experiment) -> list[dict[str, Any]]:
    """Train and score a student for each size, in order; write `out`/SIZE/result.json and `out`/table.md after each.

    Existing results with the same conditions are reused; a trained student with other test files is only scored; an
    unfinished run is resumed. Returns the results.
    Raises TrainingDataError and ConfigError for unusable input, such as a folder with another student's examples.
    """
    files = {size: experiment.student_files(size) for size in experiment.sizes}
    results = []
    for size in experiment.sizes:
        compute = partial(_run_student, experiment, size, files[size])
        path = experiment.out / str(size) / RESULT
        results.append(reuse_result(path, _conditions(experiment, files[size]), compute)[0])
        write_atomically(experiment.out / TABLE, students_table(results).encode())
    return results


def _conditions(experiment: Experiment, files: Sequence[TreebankFile]) -> dict[str, Any]:
    """The conditions that determine a student and its scores."""
    return {
        "recipe": experiment.recipe.conditions(),
        "minutes": experiment.minutes,
        "train": list(map(_file_conditions, files)),
        "dev": list(map(_file_conditions, experiment.dev)),
        "judges": {name: _file_conditions(file) for name, file in experiment.test_files.items()},
    }


def _file_conditions(file: TreebankFile) -> dict[str, Any]:
    digests = {}
    for kind, path in (("trees", file.path), ("tags", file.tags)):
        if path is not None:
            if not path.is_file():
                raise TrainingDataError(f"there is no file {path}; give the path of a file that exists")
            digests[kind] = file_digest(path)
    part: dict[str, Any] = {} if file.block is None else {"block": file.block}  # older results lack this key
    part |= {} if file.fraction == 1.0 else {"share": file.fraction}
    return {"name": file.name, **digests, "weight": file.weight, "limit": file.limit, **part}


def _train_student(experiment: Experiment, size: int, files: Sequence[TreebankFile], model: Path) -> dict[str, Any]:
    """Train (or finish) a student; returns the rest of the content of its trained.json."""
    folder = experiment.out / str(size)
    recipe = limit_minutes(experiment.recipe, experiment.minutes, folder)
    began = time.perf_counter()
    fitted = train_boosted_parser(
        recipe, files, experiment.dev, folder, model, {"name": f"student-{size}", "lang": "en"}
    )
    return {
        "train_seconds_now": round(time.perf_counter() - began, 1),
        "path_seconds": round(seconds_used(read_lines(folder / "path" / LOG_FILE)), 1),
        "stopped": fitted.stopped,
        "notes": fitted.notes,
    }


def _run_student(
    experiment: Experiment, size: int, files: Sequence[TreebankFile], conditions: dict[str, Any]
) -> dict[str, Any]:
    """Train (or finish) and score one student."""
    logger.info(f"student with {size} silver trees")
    model, of_training = experiment.out / f"{size}.model", {k: v for k, v in conditions.items() if k != "judges"}
    train = partial(_train_student, experiment, size, files, model)
    trained, _ = reuse_result(experiment.out / str(size) / TRAINED, of_training, lambda _: train(), outputs=[model])
    scores: dict[str, Any] = {}
    for name, file in experiment.test_files.items():
        kinds = ("gold",) if file.tags is None else ("gold", "predicted")
        scores[name] = [{**record, "treebank": name} for record in evaluate(model, [file], kinds, (None, 0))]
    meta = load_parser(model).meta
    return {
        "size": size,
        "version": __version__,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **{key: value for key, value in trained.items() if key != "facts"},
        "sentences": [entry["sentences"] for entry in meta["treebanks"]],
        "weights": [entry["weight"] for entry in meta["treebanks"]],
        **meta["fit"],
        "megabytes": round(model.stat().st_size / 1e6, 3),
        "scores": scores,
    }


def students_table(results: Sequence[dict[str, Any]]) -> str:
    """Markdown table with a line per student: F1 as *all* / *evalb* in percent, tokens/s over all test files."""
    columns = [
        (name, kind)
        for name, records in results[0]["scores"].items()
        for kind in ("gold", "predicted")
        if any(record["tags"] == kind for record in records)
    ]
    heads = [f"{name}, {kind} tags" for name, kind in columns]
    rows = []
    for result in results:
        cells = [
            f"{100 * record['all']['f1']:.2f} / {100 * record['evalb']['f1']:.2f}"
            for name, kind in columns
            for record in result["scores"][name]
            if record["tags"] == kind and record["budget"] is None
        ]
        weight = f"{result['weights'][-1]:.3g}" if result["size"] else "–"
        speeds = [f"{_speed(result, budget):,.0f}" for budget in (None, 0)]
        known = "–" if result["lambda"] is None else f"{result['lambda']:.3g}"
        size = "–" if result["parameters"] is None else f"{result['parameters']:,}"
        line = [f"{result['size']:,}", weight, *cells, *speeds, known, size, f"{result['megabytes']:.2f}",
                f"{result['path_seconds'] / 60:.1f}"]  # fmt: skip
        rows.append(line)
    head = ["teacher's trees", "weight each", *heads, "tokens/s", "greedy", "λ", "parameters", "MB", "minutes"]
    return markdown(head, rows, left=0) + "\n"


def _speed(result: dict[str, Any], budget: int | None) -> float:
    """Tokens per second of CPU time over all test files, with predicted tags if there are some."""
    mine = [[one for one in records if one["budget"] == budget][-1] for records in result["scores"].values()]
    return sum(one["tokens"] for one in mine) / sum(one["seconds"] for one in mine)
