"""Results as Markdown, next to the published ones. `PAPER` has only numbers printed in Turian & Melamed 2006a
("Advances in discriminative parsing", ACL) and 2006b ("Computational challenges in parsing by classification",
HLT-NAACL workshop)."""

import math
from collections.abc import Callable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from ...dtparse.boosting.path_log import plot_path
from ...runs.tables import NO, markdown, percent
from ..plans import Results, Tables

PAPER: dict[str, Any] = {
    # 2006a, Table 2: λ, active features, recall, precision, F1; section 4.1: % greedy optimal, % cut short
    "strategies": {
        "l2r": ("0.040", "11.9 K", "89.86", "89.63", "89.74", NO, 0),
        "bottom_up": ("0.020", "13.7 K", "89.92", "89.84", "89.88", NO, 28),
        "r2l": ("0.014", "14.0 K", "90.66", "89.81", "90.23", 85, 0),
    },
    # 2006a, section 4.2: atoms, active ones of an example, parameters, dev F1
    "atoms": {"r2l": ("300 K", NO, "14.0 K", "90.23"), "kitchen_sink": ("1.1 M", 440, "6.3 K", "90.55")},
    # 2006a, Table 4: recall, precision, F1 on section 23
    "parsers": (
        ("Turian & Melamed (2005)", "86.47", "87.80", "87.13"),
        ("Bikel (2004)", "87.85", "88.75", "88.30"),
        ("Taskar et al. (2004)", "89.10", "89.14", "89.12"),
        ("kitchen sink", "89.26", "89.55", "89.40"),
    ),
    # 2006b, Table 2: mean and standard deviation in ms
    "profile": {
        "sample": "1,500 ± 70",
        "extract": "38,200 ± 130",
        "build": "127,600 ± 27,600",
        "percolate": "31,400 ± 4,910",
        "leaves": "6,200 ± 1,750",
        "total": "204,900 ± 32,600",
    },
}

NAMES = {"l2r": "l2r", "bottom_up": "b.u.", "r2l": "r2l"}
ATOMS = {"r2l": "baseline", "kitchen_sink": "kitchen sink"}
COUNTS = (1500, 2500, 5000, 10_000, 15_000)


def _level(found: dict[str, Any]) -> tuple[str, str]:
    """λ and parameters of the best level."""
    return f"{found['best']['lambda']:.3g}", f"{found['best']['parameters'] / 1000:.1f} K"


def _accuracy(record: dict[str, Any]) -> list[str]:
    return [percent(record["all"][figure]) for figure in ("recall", "precision", "f1")]


def _f1(found: dict[str, Any]) -> list[str]:
    """F1 on dev, and that of greedy search on dev."""
    return [percent(found[part]["all"]["f1"]) for part in ("dev", "dev_greedy")]


def pair(values: Mapping[str, float] | None, digits: int = 1) -> str:
    """Format a mean and standard deviation."""
    return NO if values is None else f"{values['mean']:,.{digits}f} ± {values['sd']:,.{digits}f}"


def strategies(results: Results) -> str:
    """2006a, Table 2, and the search statistics of section 4.1."""
    rows, have = [], {name: results[name] for name in NAMES if name in results}
    for name, short in NAMES.items():
        if name in have:
            found, dev = have[name], have[name]["dev"]
            rows.append(
                (short, *_level(found), *_accuracy(dev), percent(dev["evalb"]["f1"]), _f1(found)[1],
                 percent(dev["greedy_optimal"], 1), percent(dev["cut_short"], 1), f"{dev['tokens_per_second']:,.0f}")
            )  # fmt: skip
        printed = PAPER["strategies"][name]
        rows.append((f"{short}, paper", *printed[:5], NO, NO, *printed[5:], NO))
    head = (
        "strategy, λ, parameters, recall, precision, F1, F1 evalb, F1 greedy, greedy optimal %, cut short %, tokens/s"
    )
    notes = []
    if len(have) == len(NAMES):
        order = sorted(have, key=lambda name: -have[name]["dev"]["all"]["f1"])
        notes.append("Best to worst by F1: " + ", ".join(NAMES[n] for n in order) + " (paper: r2l, b.u., l2r).")
    if "bottom_up" in have:
        budget, cut_short = have["bottom_up"]["dev"]["budget"], percent(have["bottom_up"]["dev"]["cut_short"], 1)
        notes.append(
            f"With {budget:,} scored inferences the b.u. search was cut short in {cut_short} % of the sentences."
        )
    stops = ", ".join(f"{NAMES[name]} {_stop(found)}" for name, found in have.items())
    sizes = ", ".join(f"{size:,}" for size in sorted({found["dev"]["sentences"] for found in have.values()}))
    notes.append(f"Dev: {sizes} sentences. Training ended: {stops}.")
    return markdown(head.split(", "), rows) + "\n\n" + " ".join(notes)


def _stop(found: dict[str, Any]) -> str:
    reasons = {"levels": "at the last λ", "patience": "as F1 no longer rose", "budget": "as its time was up"}
    return f"{reasons[found['stopped']]} ({found['train_seconds'] / 60:.0f} min)"


def curves(results: Results, titles: Mapping[str, str] = NAMES) -> str:
    """2006a, Figure 1, as a table: greedy dev F1 of the last λ level with at most COUNTS parameters."""
    rows = []
    for name, title in titles.items():
        if name in results:
            levels, cells = results[name]["rows"], [title]
            for count in COUNTS:
                stored = [row["f1"] for row in levels if row["parameters"] <= count and row["f1"] is not None]
                reached = any(row["parameters"] > 0.8 * count for row in levels)
                cells.append(percent(stored[-1]) if stored and reached else NO)
            rows.append(cells)
    return markdown(("greedy F1 with at most", *(f"{count / 1000:g} K" for count in COUNTS)), rows)


def atoms(results: Results) -> str:
    """2006a, Figure 2: the baseline's atomic features against the kitchen sink's."""
    rows: list[tuple[Any, ...]] = []
    for name, title in ATOMS.items():
        if name in results:
            found = results[name]
            number, length = found["examples"]["atoms"] or 0, found["examples"]["atoms_per_example"]
            rows.append((title, f"{number:,}", f"{length:.0f}", *_level(found), *_f1(found)))
        count, active, parameters, f1 = PAPER["atoms"][name]
        rows.append((f"{title}, paper", count, active, NO, parameters, f1, NO))
    head = ("atoms", "number", "per example", "λ", "parameters", "F1", "F1 greedy")
    return markdown(head, rows) + "\n\n" + curves(results, ATOMS)


def parsers(results: Results) -> str:
    """2006a, Table 4: comparison with the generative baseline."""
    rows = []
    part = "test" if all("test" in found for name, found in results.items() if "dev" in found) else "dev"
    titles = {
        "pcfg": "PCFG, parent annotation",
        "pcfgla": "PCFG, latent annotations",
        "r2l": "r2l, baseline atoms",
        "kitchen_sink": "r2l, kitchen sink",
    }
    for name, title in titles.items():
        if name in results:
            record = results[name][part]
            rows.append((f"{title} ({part})", *_accuracy(record), percent(record["evalb"]["f1"])))
    rows += [(f"{title}, paper (test)", *figures, NO) for title, *figures in PAPER["parsers"]]
    return markdown(("parser", "recall", "precision", "F1", "F1 evalb"), rows)


def profile(results: Results) -> str:
    """2006b, Table 2: milliseconds per step of an NP tree."""
    steps, rows, notes = PAPER["profile"], [], []
    titles = {"profile": "baseline", "profile_kitchen_sink": "kitchen sink"}
    for title, found in ((title, results[name]) for name, title in titles.items() if name in results):
        for variant, measured in found["variants"].items():
            words = "" if variant == "sampled" else f", {variant.replace('_', ' ')}"
            if measured["ms"] is not None:
                cells = [pair(measured["ms"][step]) for step in steps]
                rows.append((f"{title}{words} ({measured['trees']} trees)", *cells, pair(measured["splits"])))
        size, length = f"{found['examples']:,} examples", f"{found['atoms_per_example']:.0f} atoms on average"
        notes.append(f"{title}: {size} of {length}, {found['atoms']:,} atoms.")
    rows.append(("kitchen sink, paper", *steps.values(), "40.8 ± 7.8"))
    notes.append("Paper: 1,650,000 examples of 440 atoms, 1.1 M atoms, on an AMD Opteron 242.")
    return markdown(("ms", *steps, "splits"), rows) + "\n\n" + " ".join(notes)


def ensemble(results: Results) -> str:
    """2006b, section 4.2: the NP classifier."""
    paper: dict[str, str] = {
        "trees": "2,316", "leaves": "96,871", "non-zero leaves": "2,339", "splits per tree": "40.8 ± 7.8",
        "splits above a non-zero leaf": "40.4 ± 7.4", "negated tests above non-zero leaves, %": "nearly all",
        "non-zero leaves with negations only, %": "nearly all", "size of non-zero confidences": "0.107 ± 0.069",
        "margin, correct": "11.7 ± 2.92", "margin, incorrect": "30.6 ± 11.2",
        "least weight lost by sampling, %": "below 1 after a day",
    }  # fmt: skip
    columns = {}
    for name, title in ATOMS.items():
        stored = results.get(name, {}).get("ensemble")
        if stored is not None:
            lost = [row["NP"]["weight_lost"] for row in results[name]["rows"] if row["NP"]["weight_lost"] is not None]
            columns[title] = (
                *(f"{stored[count]:,}" for count in ("trees", "leaves", "nonzero_leaves")),
                pair(stored["splits"]),
                pair(stored["splits_above"]),
                percent(stored["negated"], 1),
                percent(stored["all_negated"], 1),
                pair(stored["confidence"], 3),
                pair(stored["margins"]["correct"]),
                pair(stored["margins"]["incorrect"]),
                percent(min(lost, default=None)),
            )
    rows = list(zip(paper, *columns.values(), paper.values(), strict=True))
    return markdown(("NP classifier", *columns, "paper"), rows)


def choices(results: Results) -> str:
    """Claims of the papers without a table: weights, trees, threshold, and λ chosen on dev against a fixed λ."""
    titles = {
        "r2l": "half/half, trees, soft threshold",
        "uniform": "uniform weights",
        "stumps": "stumps",
        "hard": "hard threshold",
    }
    fixed = results["r2l"]["best"]["lambda"] if "r2l" in results else None
    rows = []
    for name, title in titles.items():
        if name in results:
            found = results[name]
            others = (at_lambda(found, value) for value in (fixed, 1.0, 10.0))
            stop = f"{found['train_seconds'] / 60:.0f} min, {_stop(found).partition(' (')[0]}"
            rows.append((title, *_level(found), *_f1(found), *others, stop))
    at = f"greedy at λ {NO if fixed is None else format(fixed, '.3g')}"
    head = ("r2l, baseline atoms", "best λ", "parameters", "F1", "F1 greedy", at, "at λ 1", "at λ 10", "training")
    return markdown(head, rows) + "\n\n" + curves(results, titles)


def at_lambda(found: dict[str, Any], value: float | None) -> str:
    """Greedy dev F1 of the λ level nearest to `value`, if one is within a step of it."""
    rows = [row for row in found["rows"] if row["f1"] is not None and not row["partial"]]
    if value is None or not rows:
        return NO
    distance, f1 = min(((abs(math.log(row["lambda"] / value)), row["f1"]) for row in rows), key=lambda pair: pair[0])
    return percent(f1) if distance < 0.11 else NO


def scale(results: Results) -> str:
    """2006b, section 5: sentences of any length."""
    rows, notes = [], []
    if "r2l" in results:
        rows.append(("≤ 15 words", *_sizes(results["r2l"]), NO, NO, NO))
    if "full_length" in results:
        found = results["full_length"]
        measured = found.get("profile") or {}
        ms, memory = measured.get("ms"), found["peak_bytes"]
        storage = "direct" if found["direct"] else "indirect"
        size = NO if memory is None else f"{memory / 1e9:.2f} GB"
        seconds = NO if ms is None else f"{ms['total']['mean'] / 1000:.1f} s"
        rows.append(("any length", *_sizes(found), storage, size, seconds))
        if ms is not None:
            steps = ", ".join(f"{step} {values['mean'] / 1000:.1f}" for step, values in ms.items())
            notes.append(
                f"\n\nSeconds of a tree by step: {steps} ({measured['trees']} NP trees of {pair(measured['splits'])} "
                f"splits at λ {measured['lambda']:g}); the stores took {found['prepare_seconds'] / 60:.0f} min."
            )
        counts = sorted(found["examples"]["positives"].items(), key=lambda item: -item[1])
        notes.append("\n\nCorrect inferences by label: " + ", ".join(f"{name} {n:,}" for name, n in counts) + ".")
    rows += [
        ("≤ 15 words, paper", "9,753", "1,650,000", "168.8", NO, "indirect", "0.4 GB", "204.9 s"),
        ("any length, paper", "39,832", "41,700,000", "1,050", NO, NO, NO, "940 s or more, estimated"),
    ]
    head = "sentences, number, examples of each label, per sentence, right for NP, storage, memory, per tree"
    return markdown(head.split(", "), rows) + "".join(notes)


def _sizes(found: dict[str, Any]) -> tuple[str, ...]:
    examples, right = found["examples"], found["examples"]["positives"].get("NP", 0)
    sizes = f"{found['corpus']['sentences']:,}", f"{examples['rows']['window']:,}"
    return *sizes, f"{examples['per_sentence']:.1f}", f"{right:,}"


TABLES: Tables = {
    "strategies": (tuple(NAMES), strategies),
    "curves": (tuple(NAMES), curves),
    "atoms": (tuple(ATOMS), atoms),
    "parsers": (("pcfg", "pcfgla", "r2l", "kitchen_sink"), parsers),
    "profile": (("profile", "profile_kitchen_sink"), profile),
    "ensemble": (tuple(ATOMS), ensemble),
    "choices": (("r2l", "uniform", "stumps", "hard"), choices),
    "scale": (("full_length",), scale),
}


def weight_lost(row: dict[str, Any]) -> float | None:
    """Percentage of the NP examples' weight that samples left out at a λ level; None if no NP tree was grown."""
    return None if row["NP"]["weight_lost"] is None else 100 * row["NP"]["weight_lost"]


def draw_plots(results: Results, folder: Path) -> list[Path]:
    """Draw the plots for which there are runs into `folder`; returns the files. Without matplotlib draws nothing."""
    plots: tuple[tuple[str, dict[str, str], Callable[[dict], float | None], str], ...] = (
        ("2006_f1_parameters.svg", NAMES, itemgetter("f1"), "dev F1, greedy"),
        ("2006_kitchen_sink.svg", ATOMS, itemgetter("f1"), "dev F1, greedy"),
        ("2006_weight_lost.svg", ATOMS, weight_lost, "NP example weight lost by sampling, %"),
    )
    drawn = []
    for file, names, value, what in plots:
        have = {title: results[run]["rows"] for run, title in names.items() if run in results}
        if have:
            folder.mkdir(parents=True, exist_ok=True)
            drawn += [folder / file] if plot_path(have, folder / file, value, what) else []
    return drawn
