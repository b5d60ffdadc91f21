"""Results as Markdown, beside the figures that Matsuzaki, Miyao & Tsujii (2005) print in their tables. Their figures 7
and 8 are drawn only, so there is nothing of them to print beside ours."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..plans import NO, Results, Tables, markdown, percent
from .running import BINARISATIONS, CYCLES, DECODERS, LENGTHS, SEEDS, VALUES


def count(number: float) -> str:
    """A number of parameters."""
    return f"{number / 1e3:,.0f} K" if number < 1e6 else f"{number / 1e6:,.2f} M"


INITIAL: tuple[tuple[str, Callable[[dict[str, Any]], float | None], int, str], ...] = (
    ("log likelihood per training tree", lambda r: r["train_log"], 1, "-114 ± 0.41"),
    ("log likelihood per held-out tree", lambda r: r["held_out_log"], 1, "-114 ± 0.29"),
    ("recall, *evalb*", lambda r: 100 * r["views"]["own"]["evalb"]["recall"], 2, "86.6 ± 0.27"),
    ("precision, *evalb*", lambda r: 100 * r["views"]["own"]["evalb"]["precision"], 2, "86.0 ± 0.48"),
    ("F1, *all*", lambda r: 100 * r["views"]["own"]["all"]["f1"], 2, NO),
)
"""Table 1: name, figure of a result, digits, and the paper's mean and standard deviation over four initial values."""


def initial(results: Results) -> str:
    """The same model from other initial values (Table 1)."""
    names = ["center-parent-16", *(f"center-parent-16-seed{seed}" for seed in SEEDS[1:])]
    have = [results[name] for name in names if name in results]
    rows = []
    for name, value, digits, paper in INITIAL:
        found = [value(result) for result in have]
        known = np.array([number for number in found if number is not None])
        spread = f"{known.mean():.{digits}f} ± {known.std(ddof=1):.2f}" if len(known) > 1 else NO
        rows.append([name, *(NO if number is None else f"{number:.{digits}f}" for number in found), spread, paper])
    seeds = [f"seed {result['facts']['options']['seeds'][0]}" for result in have]
    return markdown(["", *seeds, "mean ± sd", "paper (section 22)"], rows)


def binarisations(results: Results) -> str:
    """F1 against parameters for each binarisation and number of values (Figure 7)."""
    named = [(name, str(values), results.get(f"{name}-{values}")) for name in BINARISATIONS for values in VALUES]
    rows = [[name, values, *_figures(result)] for name, values, result in named if result is not None]
    if "split-merge" in results:
        result = results["split-merge"]
        rows.append(["center-head", f"split-merge, {result['values'][0]} in all", *_figures(result)])
    return markdown(["binarisation", "\\|H\\|", *FIGURES], rows)


FIGURES = ("parameters", "own tags: F1 *all* / *evalb*", "gold tags: F1 *all* / *evalb*", "tokens/s, own")


def _figures(result: dict[str, Any]) -> list[str]:
    own, gold = result["views"]["own"], result["views"]["gold"]
    return [count(result["parameters"][0]), *(_f1(view) for view in (own, gold)), f"{own['tokens_per_second']:,.0f}"]


def _f1(view: dict[str, Any]) -> str:
    return f"{percent(view['all']['f1'])} / {percent(view['evalb']['f1'])}"


def cycles(results: Results) -> str:
    """F1 after so many cycles of split and merge (Petrov et al. 2006)."""
    have = [(number, results[f"cycles-{number}"]) for number in CYCLES if f"cycles-{number}" in results]
    rows = [[number, result["values"][0], *_figures(result)] for number, result in have]
    return markdown(["cycles", "latent values", *FIGURES], rows)


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
        views = results.get(name, {"views": {}})["views"]
        for most, tags, view in ((one.most, one.tags, views.get(one.name)) for one in LENGTHS):
            if view is not None:
                figures = view["evalb"]
                f1, recall, precision = map(percent, (view["all"]["f1"], figures["recall"], figures["precision"]))
                crossing = f"{figures['crossing']:.2f}", percent(figures["no_crossing"], 1)
                speed = f"{view['tokens_per_second']:,.0f}"
                rows.append([what, f"≤ {most}", tags, f1, recall, precision, *crossing, speed])
    rows += [
        ["paper, section 23", "≤ 40", "own", NO, "86.7", "86.6", "1.19", "61.1", NO],
        ["paper, section 23", "≤ 100", "own", NO, "86.0", "86.1", "1.39", "58.3", NO],
    ]
    return markdown(["grammar", "words", "tags", "F1 *all*", "LR", "LP", "CB", "0CB %", "tokens/s"], rows)


TABLES: Tables = {
    "initial": (("center-parent-16",), initial),
    "binarisations": (tuple(f"{name}-{values}" for name in BINARISATIONS for values in VALUES), binarisations),
    "cycles": (tuple(f"cycles-{number}" for number in CYCLES), cycles),
    "decoders": (("center-parent-16",), decoders),
    "lengths": (tuple(LENGTH_RUNS), lengths),
}
