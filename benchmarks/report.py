"""Fill the result tables of the documents from the JSON files of the benchmarks.

    python benchmarks/report.py [--results build/bench] [FILE …]

A table is between `<!-- results: NAME -->` and `<!-- /results -->`, where NAME is one of TABLES. A block
whose benchmark has not been run stays unchanged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # `training` is not part of the installed package

from training.runs.tables import fill_blocks, markdown

ROOT = Path(__file__).resolve().parents[1]
FILES = tuple(ROOT / "docs" / "experiments" / f"{name}.md" for name in ("shipped", "speed", "training"))


def accuracy(records: list[dict[str, Any]]) -> str:
    """Dev F1 per treebank at the model's default budget."""
    rows = []
    chosen = [record for record in records if record["budget"] is None]
    for name in dict.fromkeys(record["treebank"] for record in chosen):
        by_tags = {record["tags"]: record for record in chosen if record["treebank"] == name}
        row: list[Any] = [name, next(iter(by_tags.values()))["sentences"]]
        for tags in ("predicted", "gold"):
            found = by_tags.get(tags)
            row += [f"{100 * found[c]['f1']:.2f}" for c in ("all", "evalb")] if found else ["", ""]
            row.append(f"{100 * found['all']['exact_match']:.1f}" if found else "")
        row.append(f"{100 * by_tags['predicted']['tag_accuracy']:.2f}" if "predicted" in by_tags else "")
        rows.append(row)
    tags = "predicted tags, ", "gold tags, "
    return markdown(
        (
            "treebank (dev)",
            "sentences",
            *(f"{t}{figure}" for t in tags for figure in ("F1 all", "F1 evalb", "exact")),
            "tag accuracy",
        ),
        rows,
    )


BUDGET_0 = "With `budget=0` a span parser runs only its first network; boosted trees are greedy."


def speed(facts: dict[str, Any]) -> str:
    """Tokens per second and milliseconds by length."""
    lengths = [row["tokens"] for row in facts["default"]["by_length"]]
    rows = []
    shown = {"greedy": "`budget=0`", "default": "default"}
    for name in [name for name in shown if name in facts]:
        cells = [f"{row['median_ms']:.1f} / {row['p99_ms']:.1f}" for row in facts[name]["by_length"]]
        rows.append((shown[name], f"{facts[name]['tokens_per_second']:,.0f}", *cells))
    optimal = facts["default"]["greedy_proven_optimal"]
    note = "" if optimal is None else f" Greedy parse proven optimal: {100 * optimal:.1f} % of the sentences."
    budget_0 = f" {BUDGET_0}" if "greedy" in facts else ""
    head = ("setting", "tokens/s", *(f"{length} tokens" for length in lengths))
    return markdown(head, rows) + f"\n\nMilliseconds: median / 99th percentile of one sentence.{budget_0}{note}"


def load(facts: dict[str, Any]) -> str:
    """Import and load times, memory, size, a column for each pipeline."""
    lines: list[tuple[str, str, float, str]] = [
        ("`import spacy_dtparse` beyond spaCy", "import_spacy_dtparse", 1000, ".0f ms"),
        ("`spacy_dtparse.load()` with its parser, imports excluded", "load", 1, ".2f s"),
        ("imports of numba and the kernels", "import_kernels", 1, ".2f s"),
        ("first parse after loading", "first_parse", 1000, ".0f ms"),
        ("resident memory of spaCy alone", "rss_after_imports_mb", 1, ".0f MB"),
        ("resident memory after loading", "rss_after_load_mb", 1, ".0f MB"),
        ("resident memory after parsing", "rss_after_parse_mb", 1, ".0f MB"),
        ("pipeline on disk", "bytes", 1e-6, ".1f MB"),
    ]
    rows = []
    for what, fact, factor, form in lines:
        digits, unit = form.split()
        rows.append((what, *(f"{factor * own[fact]:{digits}} {unit}" for own in facts.values())))
    return markdown(("what", *(f"`{name}`" for name in facts)), rows)


def treewalk(facts: dict[str, Any]) -> str:
    """Rules against the tree walk."""
    row = (
        f"{facts['candidates']:,}",
        f"{facts['trees']:,}",
        f"{facts['walk_us']:.1f} µs",
        f"{facts['rules_us']:.1f} µs",
        f"{facts['speedup']:.0f} ×",
        "yes" if facts["identical"] else "NO",
    )
    return markdown(("candidates", "trees", "tree walk", "rules", "speed-up", "identical scores"), [row])


def profile(facts: dict[str, Any]) -> str:
    """Training time by step."""
    steps = facts["ms_per_tree_by_step"]
    table = markdown(
        (f"{facts['label']} classifier", *steps, "per tree"),
        [("ms", *(f"{ms:.1f}" for ms in steps.values()), f"{1000 * facts['seconds_per_tree']:.1f}")],
    )
    wall = facts["wall_seconds"]
    total = sum(wall.values())
    return table + (
        f"\n\n{facts['trees_grown']:,} trees grown for {facts['label']}, "
        f"{facts['all_trees_grown']:,} in all, "
        f"{facts['sentences']:,} sentences; {total / 60:.1f} minutes of wall time ("
        + ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in wall.items())
        + ")."
    )


TABLES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "accuracy": ("accuracy", accuracy),
    "speed": ("speed", speed),
    "load": ("load", load),
    "treewalk": ("treewalk", treewalk),
    "profile": ("profile", profile),
}
"""Name of a block: the JSON file with its data, and the function that formats it."""


def fill(text: str, results: Path) -> tuple[str, list[str]]:
    """Return the text with its blocks filled, and the names of these. Raises SystemExit for an unknown name."""

    def format_table(name: str) -> str | None:
        if name not in TABLES:
            raise SystemExit(f"there is no table {name!r}; allowed are {', '.join(TABLES)}")
        source, make = TABLES[name]
        path = results / f"{source}.json"
        return make(json.loads(path.read_text(encoding="utf8"))["results"]) if path.is_file() else None

    return fill_blocks(text, "results", format_table)


def main() -> None:
    """Rewrite the files and print which tables were filled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=list(FILES))
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "bench")
    options = parser.parse_args()
    for path in options.files:
        text, filled = fill(path.read_text(encoding="utf8"), options.results)
        path.write_text(text, encoding="utf8")
        print(f"{path.name}: {', '.join(filled) or 'nothing to fill'}")


if __name__ == "__main__":
    main()
