"""Profile of training: time by step of one classifier (Turian & Melamed 2006b, Table 2), and of the run.

    python benchmarks/profile_training.py WORKDIR [--label NP]

It reads the log of `python -m training train-boosted --workdir WORKDIR` and measures nothing itself.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from common import save

from training.dtparse.boosting.learner import STEPS
from training.dtparse.boosting.path import REPORTS_FILE
from training.dtparse.boosting.path_log import LOG_FILE
from training.runs.files import read_lines


def profile(workdir: Path, label: str) -> dict[str, Any]:
    """Return trees, seconds and seconds per tree by step of `label`'s classifier, and the totals of all classifiers.

    Raises SystemExit if the folder has no log of that label.
    """
    reports = read_lines(workdir / "path" / REPORTS_FILE)
    mine = [report for report in reports if report["name"] == label]
    if not mine:
        names = sorted({report["name"] for report in reports})
        raise SystemExit(f"{workdir} has no log of a classifier {label!r}; it has {', '.join(names) or 'none'}")
    trees = max(1, sum(report["grown"] for report in mine))
    steps = {name: sum(report["steps"][k] for report in mine) for k, name in enumerate(STEPS)}
    fit_log = {line["what"]: line for line in read_lines(workdir / "fit.jsonl")}
    rows = read_lines(workdir / "path" / LOG_FILE)
    return {
        "label": label,
        "trees": mine[-1]["trees"],
        "trees_grown": trees,
        "parameters": mine[-1]["parameters"],
        "seconds": sum(report["seconds"] for report in mine),
        "seconds_per_tree": sum(report["seconds"] for report in mine) / trees,
        "ms_per_tree_by_step": {name: 1000 * seconds / trees for name, seconds in steps.items()},
        "all_trees_grown": sum(report["grown"] for report in reports),
        "all_task_seconds": sum(report["seconds"] for report in reports),
        "wall_seconds": {what: line["seconds"] for what, line in fit_log.items() if "seconds" in line},
        "sentences": fit_log.get("corpus", {}).get("sentences"),
        "levels": len(rows),
        "path": [{name: row[name] for name in ("lambda", "parameters", "trees", "f1", "seconds")} for row in rows],
    }


def main() -> None:
    """Print and save the profile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workdir", type=Path, help="the working folder of the run")
    parser.add_argument("--label", default="NP")
    parser.add_argument("--out", type=Path, help="JSON file (default: build/bench/profile.json)")
    options = parser.parse_args()
    facts = profile(options.workdir, options.label)
    print(f"{facts['label']}: {facts['trees_grown']} trees grown, {facts['seconds_per_tree']:.3f} s per tree")
    for name, value in facts["ms_per_tree_by_step"].items():
        print(f"  {name:10} {value:10.2f} ms")
    print("wall seconds: " + ", ".join(f"{k} {v:.0f}" for k, v in facts["wall_seconds"].items()))
    save(options, "profile", facts)


if __name__ == "__main__":
    main()
