"""Calibration errors of the package's parsers on dev parts, with predicted tags.

    python benchmarks/bench_calibration.py --corpus FOLDER --names masc gum craft genia wsj [--models en_dtparse …]
        [--limit N] [--plot FILE.svg] [--write]

The everyday trees come first. `--limit`: sentences of each treebank, for slow parsers. `--plot`: draw the reliability
diagram, before and after. `--write`: save the calibrations for the package's models (by the digest of their files).
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from common import EVERYDAY_DEV, arguments, save

import spacy_dtparse
from spacy_dtparse.cli.pipelines import get_component
from spacy_dtparse.core.calibration import PACKAGED
from spacy_dtparse.model_io.container import container_digest
from training.data.calibrating import calibration_table, collect_probabilities, errors_by_treebank, fit_calibration
from training.data.evaluate import tag_lists
from training.data.treebanks import TreebankFile, corpus_files

MODELS = ("en_dtparse", "en_span", "en_trees", "en_pcfgla")


def main() -> None:
    """Measure, print, save."""
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    files = [TreebankFile(EVERYDAY_DEV, limit=options.limit)]
    files += [
        TreebankFile(file.path, limit=options.limit) for file in corpus_files(options.corpus, options.names, "dev")
    ]
    kept = json.loads(PACKAGED.read_text(encoding="utf8"))
    found: dict[str, Any] = {}
    for name in options.models:
        nlp = spacy_dtparse.load(name)
        own = get_component(nlp).configured_parser.inner_parser
        measured, began = {}, time.process_time()
        for file in files:
            gold = file.read()
            measured[file.name] = collect_probabilities(
                own, gold, tag_lists(nlp, (sentence.tree.words for sentence in gold))
            )
        calibration = fit_calibration(list(measured.values()))
        records = errors_by_treebank(measured, calibration)
        print(
            f"\n{name}: {calibration.to_dict()}, {time.process_time() - began:.0f} s\n\n{calibration_table(records)}",
            flush=True,
        )
        found[name] = {"calibration": calibration.to_dict(), "treebanks": records}
        kept[container_digest(own.to_bytes())] = calibration.to_dict()
    save(options, "calibration", found)
    if options.write:
        PACKAGED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf8")
    if options.plot is not None:
        plot(found, options.plot)


def plot(found: dict[str, Any], out: Path) -> None:
    """Draw the calibration curves of constituents for each treebank, before and after, one row per model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4 * len(found)), layout="constrained")
    axes = figure.subplots(len(found), 2, squeeze=False)
    for row, (name, facts) in zip(axes, found.items(), strict=True):
        for axis, curve, when in zip(row, ("curve_raw", "curve"), ("uncalibrated", "calibrated"), strict=True):
            axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
            for record in facts["treebanks"]:
                points = [one for one in record["constituents"][curve] if one["count"] >= 30]
                axis.plot(
                    [one["mean"] for one in points],
                    [one["right"] for one in points],
                    marker="o",
                    markersize=3,
                    linewidth=1,
                    label=record["treebank"],
                )
            axis.set(
                title=f"{name}, {when}", xlabel="probability", ylabel="fraction of correct constituents", aspect="equal"
            )
        row[0].legend(frameon=False, fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, metadata={"Date": None}, bbox_inches="tight")
    print(f"drawn to {out}")


if __name__ == "__main__":
    main()
