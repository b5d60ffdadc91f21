"""Measurements of bench_adaptation.py: sets of sentences, a parser with and without taggers on them, and tables."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from common import ROOT  # noqa: F401 (makes `training` importable)

from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.scoring.report import ParsevalReport
from spacy_dtparse.scoring.significance import paired_bootstrap
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.trees import Tree
from training.data.corpus import Sentence
from training.spine_tagger.corpus import LabelledSentence
from training.supertag_adaptation.measuring import gc_disabled

LENGTHS = ((5, 20), (21, 40), (41, 250))
"""Ranges of sentence lengths in words (Kummerfeld et al. 2010)."""


class Run(NamedTuple):
    """A configuration: a supertagger (None: no spines) and the betas of the search."""

    name: str
    tagger: SequenceTagger | None
    betas: tuple[float, ...]

    @property
    def key(self) -> str:
        """A name for tables."""
        return self.name if self.tagger is None else f"{self.name} {', '.join(map(str, self.betas))}"


Sets = dict[str, list[Sentence]]


def spread(sentences: Sequence[Any], number: int) -> list[Any]:
    """Return `number` of the sentences at equal steps."""
    n = len(sentences)
    return list(sentences) if n <= number else [sentences[k * n // number] for k in range(number)]


def sets_of(target: Sequence[Sentence], own: Sequence[Sentence], held: Sequence[LabelledSentence], number: int) -> Sets:
    """Return the sets of sentences. `tune`, `target`: the even and the odd sentences of the target domain's dev part;
    `own`: the dev part of the training domain; `text`: held-out text, without trees; `5-20` ...: the odd sentences by
    length, the same number for each range."""
    tune, target = target[::2], target[1::2]
    without_trees = [
        Sentence(Tree.unchecked(s.words, s.tags, ("TOP",), (0,), (len(s.words),)), s.tags, "text") for s in held
    ]
    sets = {
        "tune": spread(tune, number),
        "target": spread(target, number),
        "own": spread(own, number),
        "text": spread(without_trees, number),
    }
    for low, high in LENGTHS:
        of_length = [s for s in target if low <= len(s.tags) <= high]
        sets[f"{low}-{high}"] = spread(of_length, number)
    return sets


def measure(parser: PcfgParser, sets: Sets, runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """Return for each set and run: `seconds` (CPU, including tagging), `tagging` (tagging only), `searches` (counts of
    the numbers of searches), `ambiguity` (categories per word at the β that gave the tree), F1 of both conventions and
    the p-value of the difference to the parser alone, the fraction of `equal` trees; `detail`, by sentence: seconds,
    searches, categories at each β."""
    parsers = {run.key: parser.with_settings(betas=run.betas) if run.tagger else parser for run in runs}
    found: dict[str, dict[str, Any]] = {}
    for name, sentences in sets.items():
        rows_of_run: dict[str, list[Any]] = {run.key: [] for run in runs}
        with gc_disabled():
            for sentence in (sentences[0], *sentences):  # the first one twice: it compiles or loads the kernels
                for run in runs:
                    words, tags = sentence.tree.words, sentence.tags
                    began = time.process_time()
                    supertags = [] if run.tagger is None else run.tagger.multitag(words, tags, min(run.betas))
                    tagged = time.process_time()
                    result = parsers[run.key].parse(words, tags, supertags)
                    ended = time.process_time()
                    n_candidates = [
                        sum(prob >= beta * word[0][1] for word in supertags for _, prob in word) for beta in run.betas
                    ]
                    rows_of_run[run.key].append((result, ended - began, tagged - began, n_candidates))
        plain = [row[0].tree for row in rows_of_run[runs[0].key][1:]]
        scored = name != "text"
        base = counts(sentences, plain) if scored else None
        found[name] = {key: results_of(sentences, rows[1:], plain, base) for key, rows in rows_of_run.items()}
    return found


def operating_points(runs: dict[str, dict[str, Any]], names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Choose two runs of each tagger on the tuning set: the betas at which the first tagger is the most accurate, and
    the fastest betas at which F1 is not significantly lower than that (paired bootstrap, p >= 0.05; the most accurate
    ones if there are none)."""
    own = {name: [key for key in runs if key.split()[0] == name] for name in names}
    best = max(own[names[0]], key=lambda key: runs[key]["all"])
    chosen = {}
    for name in names:
        able = [key for key in own[name] if not _lower(runs[key], runs[best])]
        fastest = (
            min(able, key=lambda key: runs[key]["seconds"]) if able else max(own[name], key=lambda k: runs[k]["all"])
        )
        chosen[name] = (name + best.removeprefix(names[0]), fastest)
    return chosen


def _lower(run: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether F1 is significantly lower."""
    test = paired_bootstrap(run["counts"], other["counts"])
    return test.difference < 0 and test.p_value < 0.05


def compare_runs(runs: dict[str, dict[str, Any]], keys: Sequence[str]) -> list[str]:
    """Format the chosen runs on another set: speed and F1, compared with the parser alone and with the first run."""
    plain, first, lines = next(iter(runs.values())), runs[keys[0]], []
    for key in keys:
        run = runs[key]
        line = f"  {key}: {plain['seconds'] / run['seconds']:.2f}x, {first['seconds'] / run['seconds']:.2f}x the first"
        if "counts" in run:
            against = [paired_bootstrap(run["counts"], other["counts"]) for other in (plain, first)]
            line += f", F1 {100 * run['all']:.2f} / {100 * run['evalb']:.2f}, against the parser alone and the first: "
            line += ", ".join(f"{100 * test.difference:+.2f} (p {test.p_value:.3f})" for test in against)
        lines.append(line)
    return lines


def counts(sentences: Sequence[Sentence], trees: Sequence[Tree]) -> ParsevalReport:
    """Return the PARSEVAL report of the trees."""
    report = ParsevalReport(strict=True)
    for sentence, tree in zip(sentences, trees, strict=True):
        report.add(sentence.tree, tree)
    return report


def results_of(
    sentences: Sequence[Sentence], rows: Sequence[Any], plain: Sequence[Tree], base: ParsevalReport | None
) -> dict[str, Any]:
    """Return the results of a run on a set."""
    results = [row[0] for row in rows]
    seconds, tagging = sum(row[1] for row in rows), sum(row[2] for row in rows)
    ambiguities = [(r.ambiguity, len(s.tags)) for r, s in zip(results, sentences, strict=True) if r.ambiguity]
    words = sum(n for _, n in ambiguities)
    made: dict[str, Any] = {
        "sentences": len(sentences),
        "tokens": sum(len(s.tags) for s in sentences),
        "seconds": seconds,
        "tagging": tagging,
        "searches": {str(k): v for k, v in sorted(Counter(r.n_searches for r in results).items())},
        "ambiguity": sum(a * n for a, n in ambiguities) / words if words else None,
        "equal": sum(r.tree == t for r, t in zip(results, plain, strict=True)) / len(sentences),
        "detail": [(round(row[1], 6), row[0].n_searches, row[3]) for row in rows],
    }
    if base is not None:
        report = counts(sentences, [r.tree for r in results])
        totals = report.to_dict()
        made |= {convention: totals[convention]["f1"] for convention in ("all", "evalb")}
        test = paired_bootstrap(report.counts["all"], base.counts["all"])
        made |= {"p": test.p_value, "counts": report.counts["all"]}
    return made


def run_details(runs: dict[str, dict[str, Any]], run: Run) -> dict[str, Any]:
    """Return a run on held-out text in the format that `training.supertag_adaptation.measuring.changes_table` takes."""
    seconds, searches, n_candidates = (list(column) for column in zip(*runs[run.key]["detail"], strict=True))
    return {
        "size": int(run.name.split("-")[1]),
        "text": {"seconds": seconds, "searches": searches, "offered": n_candidates},
    }


def format_tables(table: dict[str, Any]) -> str:
    """Format the tables as Markdown."""
    lines = []
    for name, row in table["taggers"].items():
        shown = {
            part: ", ".join(f"{100 * v['accuracy']:.2f}@{v['labels']:.2f}" for beta, v in row[part]["betas"].items())
            for part in ("target", "text")
        }
        best = {part: f"{100 * row[part]['accuracy']:.2f}" for part in ("target", "text")}
        lines.append(
            f"{name}: {row['sentences']} sentences, {row['labels']} labels, {row['megabytes']} MB, "
            f"{row['seconds']} s; target {best['target']} ({shown['target']}); text {best['text']} "
            f"({shown['text']})"
        )
    for name, runs in table["sets"].items():
        plain = next(iter(runs.values()))
        lines.append(f"\n{name}: {plain['sentences']} sentences, {plain['tokens']} tokens")
        for key, run in runs.items():
            score = f"F1 {100 * run['all']:.2f} / {100 * run['evalb']:.2f}, p {run['p']:.3f}" if "all" in run else ""
            ambiguity = f"{run['ambiguity']:.2f}" if run["ambiguity"] else "–"
            lines.append(
                f"  {key}: {run['sentences'] / run['seconds']:.1f} sentences/s, {run['tokens'] / run['seconds']:.0f} "
                f"tokens/s, {plain['seconds'] / run['seconds']:.2f}x (tagging {run['tagging'] / run['seconds']:.0%}), "
                f"searches {run['searches']}, ambiguity {ambiguity}, equal {run['equal']:.1%}, {score}"
            )
    for names in table.get("chains", []):
        chosen = operating_points(table["sets"]["tune"], names)
        for name, runs in table["sets"].items():
            same, fastest = zip(*chosen.values(), strict=True)
            for title, keys in (("the same betas", same), ("the fastest betas", fastest)):
                lines += [f"\n{title} by the tuning set, on {name}:", *compare_runs(runs, keys)]
    return "\n".join(lines)
