"""Figures about an annotation: statements, time, accuracy of the parser's first trees."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..scoring import ParsevalReport
from ..scoring.report import f1
from .sentence import JOIN, Sentence, Step


def session_figures(
    steps: Iterable[Step], sentences: Mapping[int, Sentence], seconds: Mapping[int, float]
) -> dict[str, Any]:
    """Return figures about the accepted sentences: statements and minutes per sentence, F1 of first trees; and `curve`:
    the statements and the F1 of each, in the order in which they were accepted.

    `steps`: those that are not undone. `sentences`: the opened ones, by index. `seconds`: time spent on each.
    """
    counts: dict[int, int] = {}
    accepted: dict[int, None] = {}
    for step in steps:
        if step.is_statement:
            counts[step.sentence] = counts.get(step.sentence, 0) + 1
        if step.kind == JOIN and step.neighbour is not None:
            counts[step.sentence] += counts.pop(step.neighbour.index, 0)
        if step.after.accepted:
            accepted[step.sentence] = None
    done = [index for index in accepted if index in sentences and sentences[index].accepted]
    total, curve = ParsevalReport(strict=True), []
    for index in done:
        one, single = sentences[index], ParsevalReport(strict=True)
        if one.first.words == one.tree.words:
            total.add(one.tree, one.first)
            single.add(one.tree, one.first)
        curve.append({"statements": counts.get(index, 0), "f1": round(_f1(single), 4)})
    n = max(len(done), 1)
    return {
        "accepted": sum(one.accepted for one in sentences.values()),
        "flagged": sum(one.flagged for one in sentences.values()),
        "statements": sum(counts.get(index, 0) for index in done) / n,
        "minutes": sum(seconds.get(index, 0.0) for index in done) / n / 60,
        "f1": _f1(total) if done else None,
        "curve": curve,
    }


def _f1(report: ParsevalReport) -> float:
    """Return the F1 of all brackets; 1 if both trees of each sentence have none, as for one word."""
    scores = report.totals["all"]
    return f1(scores.matched, scores.gold, scores.predicted) if scores.gold + scores.predicted else 1.0
