"""What an adaptation found, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .measuring import breakdown, speed

_TEXT = ("tags a word", "right tag offered", "sentences/s", "equal trees", "F1 of the parser's trees")
_DEV = ("dev: tags a word", "right tag offered", "sentences/s", "F1")


def report(plain: dict[str, Any], results: Sequence[dict[str, Any]]) -> str:
    """The table by sizes and, where there are several, for each but the first the breakdown of its change of speed."""
    parts = [table(plain, results)]
    parts += [changes(results[0], result) for result in results[1:]]
    return "\n".join(parts)


def table(plain: dict[str, Any], results: Sequence[dict[str, Any]]) -> str:
    """A row for each size after that of the parser without spines (`plain`). Tags a word are those at the first β, as
    is the share of words whose tag is among them: in text the one of the parser's own tree."""
    heads = ["parser's trees", "β", *(f"text: {_TEXT[0]}", *_TEXT[1:]), *(_DEV if plain["dev"] else ())]
    lines = [f"| {' | '.join(heads)} |", "|" + "---:|" * len(heads)]
    for result in (plain, *results):
        cells = ["no tagger" if result is plain else f"{result['size']:,}"]
        cells.append("–" if result is plain else ", ".join(f"{beta:g}" for beta in result["betas"]))
        for part, agrees in (("text", True), ("dev", False)):
            measured = result[part]
            if measured is not None:
                cells += [*_tagging(measured), f"{speed(measured):.1f}"]
                cells += [f"{100 * measured['equal']:.1f} %"] if agrees else []
                cells.append(f"{100 * measured['f1']:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _tagging(measured: dict[str, Any]) -> list[str]:
    """Tags a word and the share of right ones at the first β."""
    if measured["tagging"] is None:
        return ["–", "–"]
    at_first = next(iter(measured["tagging"]["betas"].values()))
    return [f"{at_first['labels']:.3f}", f"{100 * at_first['accuracy']:.2f} %"]


def changes(first: dict[str, Any], other: dict[str, Any]) -> str:
    """The breakdown of the time on held-out text of one size against that of the first."""
    rows = breakdown(first["text"], other["text"])
    n, total = len(first["text"]["seconds"]), sum(row["seconds"] for row in rows)
    lines = [
        f"Time with {other['size']:,} trees of the parser against {first['size']:,}, on {n:,} held-out sentences:",
        "",
        "| search | categories | sentences | mean change, ms | total change, s | share of the change |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        count, seconds = row["sentences"], row["seconds"]
        cells = [row["search"], row["categories"], f"{count:,}", "–", "–", "–"]
        if count:
            share = f"{100 * seconds / total:.0f} %" if total else "–"
            cells[3:] = [f"{1000 * seconds / count:+.2f}", f"{seconds:+.3f}", share]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
