"""Select silver trees by the source parser's confidence, and write them to files."""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacy_dtparse.errors import ConfigError, TrainingDataError

from ..runs.files import write_atomically, write_json
from .teaching import Lesson

BIN = 5
"""Width of the length bins: sentences of 1-5 words are compared with each other, those of 6-10 words, and so on."""

QUANTILES = (0, 5, 10, 25, 50, 75, 90, 95, 100)
WHOLE = ("optimal", "complete")
"""Statuses of complete parses of the source parser."""


@dataclass(frozen=True)
class Selection:
    """Criteria of the selection.

    `sure`: of each file's sentences of similar length (see BIN), the fraction with the highest confidence; at least one
    sentence. `least_sure`: minimum confidence (geometric mean per word, 0 to 1; `exp` of `teaching.sureness`). If both
    are given, a tree must satisfy both. `sizes`: numbers of trees written to separate files. `seed`: seed of the
    order.

    Raises ConfigError for values out of range.
    """

    sure: float = 0.5
    least_sure: float | None = None
    sizes: tuple[int, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.sure <= 1:
            raise ConfigError(f"the fraction to keep is {self.sure}; it must be above 0, at most 1 (--keep-fraction)")
        if self.least_sure is not None and not 0 <= self.least_sure <= 1:
            raise ConfigError(f"the minimum confidence is {self.least_sure}; it must be 0 to 1 (--min-confidence)")
        if any(size < 1 for size in self.sizes) or len(set(self.sizes)) < len(self.sizes):
            raise ConfigError(f"the sizes are {list(self.sizes)}; give different whole numbers from 1 (--sizes)")


def chosen(lesson: Lesson, selection: Selection) -> tuple[list[int], list[Counter[str]]]:
    """Select sentences. Returns (their indices in the order of the text, the counts of excluded sentences of each file:
    "incomplete", "unsure")."""
    bins: dict[tuple[int, int], list[int]] = defaultdict(list)
    dropped = [Counter[str]() for _ in lesson.counts]
    for number, (sentence, taught) in enumerate(zip(lesson.sentences, lesson.trees, strict=True)):
        if taught.status in WHOLE:
            bins[sentence.file, (len(sentence.words) - 1) // BIN].append(number)
        else:
            dropped[sentence.file]["incomplete"] += 1
    kept = []
    for (file, _), numbers in bins.items():
        best = sorted(numbers, key=lambda number: (-lesson.trees[number].sure, number))
        best = best[: max(1, math.ceil(selection.sure * len(best) - 1e-9))]
        if selection.least_sure is not None:
            best = [number for number in best if math.exp(lesson.trees[number].sure) >= selection.least_sure]
        dropped[file]["unsure"] += len(numbers) - len(best)
        kept += best
    return sorted(kept), dropped


def write_selection(lesson: Lesson, selection: Selection, out: Path) -> dict[str, Any]:
    """Write `out`/teacher.mrg (a tree per line, in an order drawn with the seed), teacher.tags (the tags of each),
    teacher.json (counts of read, selected and excluded sentences, also returned), and for each size teacher.SIZE.mrg
    and .tags, the first trees of teacher.mrg.

    Raises TrainingDataError if no tree is selected, or, after everything else is written, for sizes above the number of
    selected trees.
    """
    kept, dropped = chosen(lesson, selection)
    if not kept:
        raise TrainingDataError(
            f"none of the {len(lesson.trees)} trees is selected; give a lower --min-confidence, a higher "
            "--keep-fraction or more text"
        )
    report = {
        **lesson.facts,
        "sure": selection.sure,
        "least_sure": selection.least_sure,
        "seed": selection.seed,
        "parsed": len(lesson.trees),
        "kept": len(kept),
        "kept_words": sum(len(lesson.sentences[number].words) for number in kept),
        "files": _by_file(lesson, kept, dropped),
        "sureness_parsed": quantiles([math.exp(taught.sure) for taught in lesson.trees]),
        "sureness_kept": quantiles([math.exp(lesson.trees[number].sure) for number in kept]),
        "sizes": [size for size in selection.sizes if size <= len(kept)],
    }
    random.Random(selection.seed).shuffle(kept)
    trees = [lesson.trees[number].tree + "\n" for number in kept]
    tags = [" ".join(lesson.sentences[number].tags) + "\n" for number in kept]
    for size in (None, *selection.sizes):
        if size is None or size <= len(kept):
            name = "teacher" if size is None else f"teacher.{size}"
            write_atomically(out / f"{name}.mrg", "".join(trees[:size]).encode())
            write_atomically(out / f"{name}.tags", "".join(tags[:size]).encode())
    write_json(out / "teacher.json", report)
    large = [size for size in selection.sizes if size > len(kept)]
    if large:
        raise TrainingDataError(
            f"--sizes {large[0]}: only {len(kept)} trees are selected (all are in {out / 'teacher.mrg'}); give smaller "
            "sizes, a higher --keep-fraction or more text"
        )
    return report


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """The values at QUANTILES percent of the sorted values."""
    ordered = sorted(values)
    return {str(q): round(ordered[round(q / 100 * (len(ordered) - 1))], 6) for q in QUANTILES}


def _by_file(lesson: Lesson, kept: Sequence[int], dropped: Sequence[Counter[str]]) -> list[dict[str, Any]]:
    """The counts of each file: sentences parsed, selected, and excluded by reason."""
    parsed = Counter(sentence.file for sentence in lesson.sentences)
    left = Counter(lesson.sentences[number].file for number in kept)
    found = []
    for number, counts in enumerate(lesson.counts):
        why = {**counts["dropped"], **{name: dropped[number][name] for name in ("incomplete", "unsure")}}
        found.append({**counts, "dropped": why, "parsed": parsed[number], "kept": left[number]})
    return found
