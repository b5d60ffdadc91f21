"""Select silver trees by the source parser's confidence, and write them to files."""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spacy_dtparse.core.ambiguous_tags import format_tag
from spacy_dtparse.errors import ConfigError, TrainingDataError

from ..runs.files import write_atomically, write_json
from .silver import SilverTreebank

BIN = 5
"""Width of the length bins: sentences of 1-5 words are compared with each other, those of 6-10 words, and so on."""

QUANTILES = (0, 5, 10, 25, 50, 75, 90, 95, 100)
COMPLETE_STATUSES = ("optimal", "complete")
"""Statuses of complete parses of the source parser."""


@dataclass(frozen=True)
class Selection:
    """Criteria of the selection.

    `keep_fraction`: of each file's sentences of similar length (see BIN), the fraction with the highest confidence; at
    least one sentence. `min_confidence`: minimum confidence (geometric mean per word, 0 to 1; `exp` of
    `parsing.log_confidence`). If both are given, a tree must satisfy both. `sizes`: numbers of trees written to
    separate files. `seed`: seed of the order.

    Raises ConfigError for values out of range.
    """

    keep_fraction: float = 0.5
    min_confidence: float | None = None
    sizes: tuple[int, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.keep_fraction <= 1:
            raise ConfigError(
                f"the fraction to keep is {self.keep_fraction}; it must be above 0, at most 1 (--keep-fraction)"
            )
        if self.min_confidence is not None and not 0 <= self.min_confidence <= 1:
            raise ConfigError(f"the minimum confidence is {self.min_confidence}; it must be 0 to 1 (--min-confidence)")
        if any(size < 1 for size in self.sizes) or len(set(self.sizes)) < len(self.sizes):
            raise ConfigError(f"the sizes are {list(self.sizes)}; give different whole numbers from 1 (--sizes)")


def select(silver_trees: SilverTreebank, selection: Selection) -> tuple[list[int], list[Counter[str]]]:
    """Select sentences. Returns (their indices in the order of the text, the counts of excluded sentences of each file:
    "incomplete", "unsure")."""
    bins: dict[tuple[int, int], list[int]] = defaultdict(list)
    dropped = [Counter[str]() for _ in silver_trees.counts]
    for i, (sentence, silver_tree) in enumerate(zip(silver_trees.sentences, silver_trees.trees, strict=True)):
        if silver_tree.status in COMPLETE_STATUSES:
            bins[sentence.file, (len(sentence.words) - 1) // BIN].append(i)
        else:
            dropped[sentence.file]["incomplete"] += 1
    selected = []
    for (file, _), indices in bins.items():
        best = sorted(indices, key=lambda i: (-silver_trees.trees[i].confidence, i))
        best = best[: max(1, math.ceil(selection.keep_fraction * len(best) - 1e-9))]
        if selection.min_confidence is not None:
            best = [i for i in best if math.exp(silver_trees.trees[i].confidence) >= selection.min_confidence]
        dropped[file]["unsure"] += len(indices) - len(best)
        selected += best
    return sorted(selected), dropped


def write_selection(silver_trees: SilverTreebank, selection: Selection, out: Path) -> dict[str, Any]:
    """Write `out`/teacher.mrg (a tree per line, in an order drawn with the seed), teacher.tags (the tags of each),
    teacher.json (counts of read, selected and excluded sentences, also returned), and for each size teacher.SIZE.mrg
    and .tags, the first trees of teacher.mrg.

    Raises TrainingDataError if no tree is selected, or, after everything else is written, for sizes above the number of
    selected trees.
    """
    selected, dropped = select(silver_trees, selection)
    if not selected:
        raise TrainingDataError(
            f"none of the {len(silver_trees.trees)} trees is selected; give a lower --min-confidence, a higher "
            "--keep-fraction or more text"
        )
    report = {
        **silver_trees.conditions,
        "sure": selection.keep_fraction,
        "least_sure": selection.min_confidence,
        "seed": selection.seed,
        "parsed": len(silver_trees.trees),
        "kept": len(selected),
        "kept_words": sum(len(silver_trees.sentences[i].words) for i in selected),
        "files": _counts_by_file(silver_trees, selected, dropped),
        "sureness_parsed": quantiles([math.exp(silver_tree.confidence) for silver_tree in silver_trees.trees]),
        "sureness_kept": quantiles([math.exp(silver_trees.trees[i].confidence) for i in selected]),
        "sizes": [size for size in selection.sizes if size <= len(selected)],
    }
    random.Random(selection.seed).shuffle(selected)
    trees = [silver_trees.trees[i].tree + "\n" for i in selected]
    tags = [" ".join(map(format_tag, silver_trees.sentences[i].tags)) + "\n" for i in selected]
    for size in (None, *selection.sizes):
        if size is None or size <= len(selected):
            name = "teacher" if size is None else f"teacher.{size}"
            write_atomically(out / f"{name}.mrg", "".join(trees[:size]).encode())
            write_atomically(out / f"{name}.tags", "".join(tags[:size]).encode())
    write_json(out / "teacher.json", report)
    large = [size for size in selection.sizes if size > len(selected)]
    if large:
        raise TrainingDataError(
            f"--sizes {large[0]}: only {len(selected)} trees are selected (all are in {out / 'teacher.mrg'}); give "
            "smaller sizes, a higher --keep-fraction or more text"
        )
    return report


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """The values at QUANTILES percent of the sorted values."""
    ordered = sorted(values)
    return {str(q): round(ordered[round(q / 100 * (len(ordered) - 1))], 6) for q in QUANTILES}


def _counts_by_file(
    silver_trees: SilverTreebank, selected: Sequence[int], dropped: Sequence[Counter[str]]
) -> list[dict[str, Any]]:
    """The counts of each file: sentences parsed, selected, and excluded by reason."""
    parsed = Counter(sentence.file for sentence in silver_trees.sentences)
    n_selected = Counter(silver_trees.sentences[i].file for i in selected)
    found = []
    for i, counts in enumerate(silver_trees.counts):
        reasons = {**counts["dropped"], **{name: dropped[i][name] for name in ("incomplete", "unsure")}}
        found.append({**counts, "dropped": reasons, "parsed": parsed[i], "kept": n_selected[i]})
    return found
