"""PARSEVAL scores of a corpus: additive counts, and reports."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import TreeError
from ..json_text import to_json
from ..trees.labels import EMPTY_TAG
from ..trees.tree import Tree
from .parseval import CONVENTIONS, SentenceScore, score_sentence

CUTOFF = 40
"""Sentences of at most this many tokens are also reported separately, as in EVALB."""


def f1(matched: int, gold: int, predicted: int) -> float:
    """Return the harmonic mean of precision and recall, 0 if nothing was matched."""
    return 2 * matched / (gold + predicted) if matched else 0.0


def _rates(matched: int, gold: int, predicted: int) -> dict[str, float]:
    return {"precision": ratio(matched, predicted), "recall": ratio(matched, gold), "f1": f1(matched, gold, predicted)}


def _counts(matched: int, gold: int, predicted: int) -> dict[str, int]:
    return {"matched": matched, "gold": gold, "predicted": predicted}


def ratio(part: int, total: int) -> float:
    """Return part / whole, 0 if `total` is 0."""
    return part / total if total else 0.0


@dataclass
class Totals:
    """Sums of SentenceScore over sentences under one convention; all are counts, so they add up exactly."""

    sentences: int = 0
    matched: int = 0
    gold: int = 0
    predicted: int = 0
    unlabelled: int = 0
    exact: int = 0
    crossing: int = 0
    no_crossing: int = 0
    two_or_less_crossing: int = 0
    tags: int = 0
    tokens: int = 0
    by_label: dict[str, list[int]] = field(default_factory=dict)

    def add(self, score: SentenceScore) -> None:
        """Count one sentence."""
        self.sentences += 1
        for name in ("matched", "gold", "predicted", "unlabelled", "crossing", "tags", "tokens"):
            setattr(self, name, getattr(self, name) + getattr(score, name))
        self.exact += score.exact
        self.no_crossing += score.crossing == 0
        self.two_or_less_crossing += score.crossing <= 2
        for label, counts in score.by_label.items():
            sums = self.by_label.setdefault(label, [0, 0, 0])
            for k, count in enumerate(counts):
                sums[k] += count

    def to_dict(self) -> dict[str, Any]:
        """Return rates in [0, 1], `crossing` per sentence, and counts; labels by descending gold count."""
        return {
            **_rates(self.matched, self.gold, self.predicted),
            "unlabelled_precision": ratio(self.unlabelled, self.predicted),
            "unlabelled_recall": ratio(self.unlabelled, self.gold),
            "unlabelled_f1": f1(self.unlabelled, self.gold, self.predicted),
            "exact_match": ratio(self.exact, self.sentences),
            "crossing": ratio(self.crossing, self.sentences),
            "no_crossing": ratio(self.no_crossing, self.sentences),
            "two_or_less_crossing": ratio(self.two_or_less_crossing, self.sentences),
            "tag_accuracy": ratio(self.tags, self.tokens),
            "sentences": self.sentences,
            **_counts(self.matched, self.gold, self.predicted),
            "per_type": {
                label: {**_rates(*counts), **_counts(*counts)}
                for label, counts in sorted(self.by_label.items(), key=lambda item: (-item[1][1], item[0]))
            },
        }


class ParsevalReport:
    """Micro-averaged PARSEVAL of a corpus under every convention ("all", "evalb"), also for short sentences only.

    `cutoff`: maximum length of a short sentence, in tokens without empty elements. Sentences whose words differ are
    counted in `errors` and excluded from all scores, like those without a parse (counted in `skipped`), as in EVALB;
    with `strict` they raise TreeError. `counts` stores (matched, gold, predicted) of every sentence for significance
    tests, None for errors and skipped sentences.
    """

    def __init__(self, *, cutoff: int = CUTOFF, strict: bool = False):
        self.cutoff, self.strict = cutoff, strict
        self.errors = self.skipped = 0
        self.messages: list[str] = []
        self.totals = {convention.name: Totals() for convention in CONVENTIONS}
        self.short = {convention.name: Totals() for convention in CONVENTIONS}
        self.counts: dict[str, list[tuple[int, int, int] | None]] = {c.name: [] for c in CONVENTIONS}

    def add(self, gold: Tree, predicted: Tree | None) -> None:
        """Count one sentence; `predicted` is None if there is no parse.

        Raises TreeError if the trees' words differ and the report is strict.
        """
        scores: Sequence[SentenceScore | None] = [None] * len(CONVENTIONS)
        if predicted is None:
            self.skipped += 1
        else:
            try:
                scores = [score_sentence(gold, predicted, c) for c in CONVENTIONS]
            except TreeError as error:
                if self.strict:
                    raise
                self.errors += 1
                self.messages.append(str(error))
        for convention, score in zip(CONVENTIONS, scores, strict=True):
            name = convention.name
            self.counts[name].append(None if score is None else (score.matched, score.gold, score.predicted))
            if score is not None:
                self.totals[name].add(score)
                if sum(tag != EMPTY_TAG for tag in gold.tags) <= self.cutoff:
                    self.short[name].add(score)

    @property
    def sentences(self) -> int:
        """Number of all sentences, including those with errors or without a parse."""
        return len(self.counts[CONVENTIONS[0].name])

    def to_dict(self) -> dict[str, Any]:
        """Return all scores as plain data; see `Totals.to_dict`."""
        return {
            "sentences": self.sentences,
            "errors": self.errors,
            "skipped": self.skipped,
            **{name: totals.to_dict() for name, totals in self.totals.items()},
            "short": {"cutoff": self.cutoff, **{name: totals.to_dict() for name, totals in self.short.items()}},
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON."""
        return to_json(self.to_dict(), indent=indent)

    def to_table(self) -> str:
        """Format a text table: one column per convention and length class, then one row per label."""
        groups = [(name, totals.to_dict()) for name, totals in self.totals.items()]
        groups += [(f"{name} ≤{self.cutoff}", totals.to_dict()) for name, totals in self.short.items()]
        lines = [
            f"sentences {self.sentences}, errors {self.errors}, without a parse {self.skipped}",
            "",
            f"{'':24}" + "".join(f"{name:>12}" for name, _ in groups),
        ]
        for key, title, scale in _ROWS:
            row = [scale * scores[key] for _, scores in groups]
            cells = (f"{value:12.2f}" if isinstance(value, float) else f"{value:12}" for value in row)
            lines.append(f"{title:24}{''.join(cells)}")
        heads = "".join(f"{head:>9}" for head in ("P", "R", "F1", "matched", "gold", "pred."))
        for name, scores in groups[: len(self.totals)]:
            lines += ["", f"{name + ', per type':24}{heads}"]
            for label, row in scores["per_type"].items():
                rates = "".join(f"{100 * row[key]:9.2f}" for key in ("precision", "recall", "f1"))
                lines.append(f"{label:24}{rates}{row['matched']:9}{row['gold']:9}{row['predicted']:9}")
        return "\n".join(lines)


_ROWS = (
    ("precision", "labelled precision", 100),
    ("recall", "labelled recall", 100),
    ("f1", "labelled F1", 100),
    ("unlabelled_f1", "unlabelled F1", 100),
    ("exact_match", "exact match", 100),
    ("crossing", "crossing per sentence", 1),
    ("no_crossing", "no crossing", 100),
    ("two_or_less_crossing", "2 or less crossing", 100),
    ("tag_accuracy", "tagging accuracy", 100),
    ("sentences", "sentences scored", 1),
)


def score_trees(gold: Iterable[Tree], predicted: Iterable[Tree | None], **options: Any) -> ParsevalReport:
    """Score two parallel sequences of trees; `options` are passed to ParsevalReport.

    Raises TreeError if their lengths differ.
    """
    report = ParsevalReport(**options)
    gold, predicted = list(gold), list(predicted)
    if len(gold) != len(predicted):
        raise TreeError(
            f"{len(gold)} gold and {len(predicted)} predicted trees; give a predicted tree, or None, for each"
        )
    for gold_tree, predicted_tree in zip(gold, predicted, strict=True):
        report.add(gold_tree, predicted_tree)
    return report
