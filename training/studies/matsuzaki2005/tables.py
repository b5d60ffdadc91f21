"""Results as Markdown, beside the figures that Matsuzaki, Miyao & Tsujii (2005) print in their tables.

Their figures 7 and 8 are drawn only, so there is nothing of them to print beside ours.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..tables import NO, markdown, percent
from .plan import CYCLES, DECODERS, SEEDS, VALUES

Results = Mapping[str, dict[str, Any]]

PAPER_INITIAL = {
    "train_log": (-114, 0.41), "held_out_log": (-114, 0.29), "recall": (86.6, 0.27), "precision": (86.0, 0.48),
}  # fmt: skip
"""Table 1: mean and standard deviation over four initial values, section 22."""

PAPER_LENGTHS = {40: (86.7, 86.6, 1.19, 61.1), 100: (86.0, 86.1, 1.39, 58.3)}
"""Table 2, section 23: LR, LP, CB, 0CB at most words."""

BINARISATIONS = ("center-parent", "center-head", "left", "right")


def count(number: float) -> str:
    """A number of parameters."""
    return f"{number / 1e3:,.0f} K" if number < 1e6 else f"{number / 1e6:,.2f} M"


def initial(results: Results) -> str:
    """The same model from other initial values (Table 1)."""
    names = ["center-parent-16", *(f"center-parent-16-seed{seed}" for seed in SEEDS[1:])]
    have = [name for name in names if name in results]
    rows = []
    figures: dict[str, tuple[str, Callable[[dict[str, Any]], float | None], int]] = {
        "train_log": ("log likelihood per training tree", lambda r: r["train_log"], 1),
        "held_out_log": ("log likelihood per held-out tree", lambda r: r["held_out_log"], 1),
        "recall": ("recall, *evalb*", lambda r: 100 * r["views"]["own"]["evalb"]["recall"], 2),
        "precision": ("precision, *evalb*", lambda r: 100 * r["views"]["own"]["evalb"]["precision"], 2),
        "f1": ("F1, *all*", lambda r: 100 * r["views"]["own"]["all"]["f1"], 2),
    }
    for key, (name, value, digits) in figures.items():
        found = [value(results[run]) for run in have]
        known = np.array([number for number in found if number is not None])
        spread = f"{known.mean():.{digits}f} ± {known.std(ddof=1):.2f}" if len(known) > 1 else NO
        paper = PAPER_INITIAL.get(key)
        rows.append(
            [name, *(NO if number is None else f"{number:.{digits}f}" for number in found), spread,
             NO if paper is None else f"{paper[0]} ± {paper[1]}"]
        )  # fmt: skip
    seeds = [str(results[name]["facts"]["options"]["seeds"][0]) for name in have]
    return markdown(["", *(f"seed {seed}" for seed in seeds), "mean ± sd", "paper (section 22)"], rows)


def binarisations(results: Results) -> str:
    """F1 against parameters for each binarisation and number of values (Figure 7)."""
    rows = []
    for name in BINARISATIONS:
        for values in VALUES:
            result = results.get(f"{name}-{values}")
            if result is not None:
                rows.append([name, str(values), *_figures(result)])
    if "split-merge" in results:
        result = results["split-merge"]
        mean = result["values"][0]
        rows.append(["center-head", f"split-merge, {mean} in all", *_figures(result)])
    head = ["binarisation", "\\|H\\|", "parameters", "own tags: F1 *all* / *evalb*", "gold tags: F1 *all* / *evalb*",
            "tokens/s, own"]  # fmt: skip
    return markdown(head, rows)


def _figures(result: dict[str, Any]) -> list[str]:
    own, gold = result["views"]["own"], result["views"]["gold"]
    return [count(result["parameters"][0]), *(_f1(view) for view in (own, gold)), f"{own['tokens_per_second']:,.0f}"]


def _f1(view: dict[str, Any]) -> str:
    return f"{percent(view['all']['f1'])} / {percent(view['evalb']['f1'])}"


def cycles(results: Results) -> str:
    """F1 after so many cycles of split and merge (Petrov et al. 2006)."""
    rows = []
    for number in CYCLES:
        result = results.get(f"cycles-{number}")
        if result is not None:
            rows.append([str(number), str(result["values"][0]), *_figures(result)])
    head = ["cycles", "latent values", "parameters", "own tags: F1 *all* / *evalb*", "gold tags: F1 *all* / *evalb*",
            "tokens/s, own"]  # fmt: skip
    return markdown(head, rows)


def decoders(results: Results) -> str:
    """F1 against time of the decoders, one grammar (Figure 8)."""
    views = results["center-parent-16"]["views"]
    rows = []
    for decoder in DECODERS:
        of = [(name, view) for name, view in views.items() if view["settings"].get("decoder") == decoder]
        for _, view in sorted(of, key=lambda pair: -pair[1]["tokens_per_second"]):
            settings = view["settings"]
            what = f"N = {settings['candidates_n']}" if "candidates_n" in settings else ""
            what = f"prune {settings['prune']:g}" if "prune" in settings else what or "default"
            seconds = view["seconds"] / view["sentences"]
            rows.append([decoder, what, f"{1000 * seconds:,.1f}", _f1(view)])
    return markdown(["decoder", "candidates", "ms per sentence", "F1 *all* / *evalb*"], rows)


LENGTH_RUNS = {
    "split-merge": "wsj, one grammar", "product": "wsj, four grammars", "craft": "craft, one grammar",
    "craft-product": "craft, two grammars",
}  # fmt: skip


def lengths(results: Results) -> str:
    """Recall, precision and crossing brackets of short and of nearly all sentences (Table 2)."""
    rows = []
    for name, what in LENGTH_RUNS.items():
        for most in (40, 100):
            for tags in ("own", "gold", "predicted"):
                view = results.get(name, {"views": {}})["views"].get(f"{tags} {most}")
                if view is not None:
                    figures = view["evalb"]
                    rows.append(
                        [what, f"≤ {most}", tags, percent(view["all"]["f1"]), percent(figures["recall"]),
                         percent(figures["precision"]), f"{figures['crossing']:.2f}",
                         percent(figures["no_crossing"], 1), f"{view['tokens_per_second']:,.0f}"]
                    )  # fmt: skip
    for most, printed in PAPER_LENGTHS.items():
        rows.append(["paper, section 23", f"≤ {most}", "own", NO, *map(str, printed), NO])
    return markdown(["grammar", "words", "tags", "F1 *all*", "LR", "LP", "CB", "0CB %", "tokens/s"], rows)


TABLES: dict[str, tuple[tuple[str, ...], Callable[[Results], str]]] = {
    "initial": (("center-parent-16",), initial),
    "binarisations": (tuple(f"{name}-{values}" for name in BINARISATIONS for values in VALUES), binarisations),
    "cycles": (tuple(f"cycles-{number}" for number in CYCLES), cycles),
    "decoders": (("center-parent-16",), decoders),
    "lengths": (tuple(LENGTH_RUNS), lengths),
}
"""Table by name: the runs that it needs at least one of, and what makes it."""
