"""Measure the speed and accuracy of a parser that is restricted to a tagger's spines; format Markdown tables."""

import gc
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from operator import attrgetter
from typing import Any, NamedTuple

from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.pcfgla.parser import PcfgParser
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.trees import Tree

from ..data.corpus import Sentence
from ..data.evaluate import score_trees
from ..runs.tables import markdown
from ..spine_tagger.corpus import LabelledSentence
from ..spine_tagger.fitting import evaluate_tagger

Prunable = DtreeParser | PcfgParser
"""Parsers that can be restricted to spines: a search is a pass over an agenda in the one, over a chart in the other."""

SEARCHES = ("earlier", "same", "later")
AMBIGUITIES = ("fewer", "equal", "more")
_TEXT = ("tags a word", "right tag offered", "sentences/s", "equal trees", "F1 of the parser's trees")
_DEV = ("dev: tags a word", "right tag offered", "sentences/s", "F1")


class TaggerVariant(NamedTuple):
    """A tagger whose spines restrict the parser (None: unrestricted), and the betas of the search."""

    tagger: SequenceTagger | None
    betas: tuple[float, ...]


class _Measurement(NamedTuple):
    """The measurements on a sentence with one tagger."""

    tree: Tree
    seconds: float
    searches: int
    n_categories: list[int]


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Context manager: disable garbage collection, whose time would count for one of the compared variants."""
    was = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def measure(
    parser: Prunable,
    sentences: Sequence[Sentence],
    labels: Sequence[LabelledSentence],
    variants: Sequence[TaggerVariant],
    agreement: bool = False,
) -> list[dict[str, Any]]:
    """Parse sentences one by one in this process, each with every variant in turn, so that other load on the machine
    affects all of them equally; returns plain data for each variant.

    `f1` and `equal`: labelled F1 against the sentences' trees, with `agreement` against the trees of the first
    variant, and the fraction of equal trees. For each sentence `seconds` (CPU time, including tagging), `searches`,
    and `offered`: total number of categories of its words at each β; `tokens`: of all sentences. `tagging`: scores of
    the tagger by `evaluate_tagger`, with the gold `labels`.
    """
    runs: list[list[_Measurement]] = [[] for _ in variants]
    parsers = [parser if tagger is None else parser.with_settings(betas=betas) for tagger, betas in variants]
    with gc_disabled():
        for sentence in (sentences[0], *sentences):  # the first one twice: to compile or load the kernels
            for variant_parser, variant, run in zip(parsers, variants, runs, strict=True):
                run.append(_parse(variant_parser, variant, sentence))
    if agreement:
        sentences = [replace(s, tree=one.tree) for s, one in zip(sentences, runs[0][1:], strict=True)]
    return [
        _results(run[1:], sentences, None if tagger is None else evaluate_tagger(tagger, labels, betas))
        for (tagger, betas), run in zip(variants, runs, strict=True)
    ]


def best_betas(
    parser: Prunable,
    sentences: Sequence[Sentence],
    labels: Sequence[LabelledSentence],
    tagger: SequenceTagger,
    choices: Sequence[tuple[float, ...]],
) -> tuple[float, ...]:
    """The betas with which the parser is fastest on these sentences without a lower F1 than unrestricted; if there are
    none, the most accurate ones."""
    variants = [TaggerVariant(tagger, betas) for betas in choices]
    unrestricted, *found = measure(parser, sentences, labels, [TaggerVariant(None, ()), *variants])
    able = [
        (sum(one["seconds"]), betas)
        for one, betas in zip(found, choices, strict=True)
        if one["f1"] >= unrestricted["f1"]
    ]
    return min(able)[1] if able else max(zip(found, choices, strict=True), key=lambda pair: pair[0]["f1"])[1]


def _parse(parser: Prunable, variant: TaggerVariant, sentence: Sentence) -> _Measurement:
    words, tags, (tagger, betas) = sentence.tree.words, sentence.tags, variant
    started = time.process_time()
    candidates = [] if tagger is None else tagger.multitag(words, tags, min(betas))
    result = parser.parse(words, tags, candidates)
    seconds = time.process_time() - started
    n_categories = [
        sum(p >= beta * word_candidates[0][1] for word_candidates in candidates for _, p in word_candidates)
        for beta in betas
    ]
    return _Measurement(result.tree, seconds, result.n_searches, n_categories)


def _results(
    run: Sequence[_Measurement], sentences: Sequence[Sentence], tagging: dict[str, Any] | None
) -> dict[str, Any]:
    """The results of a run."""
    total, _ = score_trees(sentences, [one.tree for one in run])
    shape = attrgetter("labels", "starts", "ends")
    equal = [shape(s.tree) == shape(one.tree) for s, one in zip(sentences, run, strict=True)]
    return {
        "f1": total.to_dict()["all"]["f1"],
        "equal": sum(equal) / len(equal),
        "tokens": sum(len(sentence.tags) for sentence in sentences),
        "seconds": [one.seconds for one in run],
        "searches": [one.searches for one in run],
        "offered": [one.n_categories for one in run],
        "tagging": tagging,
    }


def speed(measured: dict[str, Any]) -> float:
    """Sentences per second."""
    return len(measured["seconds"]) / sum(measured["seconds"])


def breakdown(first: dict[str, Any], other: dict[str, Any]) -> list[dict[str, Any]]:
    """Break down the change of speed between two taggers, as Kummerfeld et al. (2010, Table 3) do.

    A row for each of SEARCHES (the search in which the `other` finds a sentence's tree) and of AMBIGUITIES (the total
    number of categories of its words in the earlier of the two searches; equal without pruning), with `sentences`, and
    `seconds`: the total change of their time.
    """
    pairs = product(SEARCHES, AMBIGUITIES)
    rows: dict[tuple[str, str], dict[str, Any]] = {
        (search, more): {"search": search, "categories": more, "sentences": 0, "seconds": 0.0} for search, more in pairs
    }
    columns = [zip(m["searches"], m["offered"], m["seconds"], strict=True) for m in (first, other)]
    for (was, had, before), (now, has, after) in zip(*columns, strict=True):
        at = min(was, now)
        more = _order(_in_search(had, at), _in_search(has, at))
        row = rows[SEARCHES[_order(was, now) + 1], AMBIGUITIES[more + 1]]
        row["sentences"] += 1
        row["seconds"] += after - before
    return list(rows.values())


def _in_search(n_categories: Sequence[int], index: int) -> float:
    """The number of categories in search `index`, from 1. A β with the same categories as the previous one gets no
    search, and after the last β the search is unrestricted."""
    tried = [count for at, count in enumerate(n_categories) if at == 0 or count != n_categories[at - 1]]
    return tried[index - 1] if index <= len(tried) else math.inf


def _order(first: float, second: float) -> int:
    """1 for an increase, -1 for a decrease, else 0."""
    return (second > first) - (second < first)


def report(plain: dict[str, Any], results: Sequence[dict[str, Any]]) -> str:
    """The table by sizes and, for each size except the first, the breakdown of its change of speed."""
    return "\n".join([speed_table(plain, results), *(changes_table(results[0], result) for result in results[1:])])


def speed_table(plain: dict[str, Any], results: Sequence[dict[str, Any]]) -> str:
    """A Markdown table with a row for the unrestricted parser (`plain`), then one for each size. Tags per word are
    those at the first β, like the fraction of words whose right tag is among them; in text, the right tag is that of
    the parser's tree."""
    heads = ["parser's trees", "β", *(f"text: {_TEXT[0]}", *_TEXT[1:]), *(_DEV if plain["dev"] else ())]
    rows = []
    for result in (plain, *results):
        cells = ["no tagger" if result is plain else f"{result['size']:,}"]
        cells.append("–" if result is plain else ", ".join(f"{beta:g}" for beta in result["betas"]))
        for part, agrees in (("text", True), ("dev", False)):
            measured = result[part]
            if measured is not None:
                cells += [*_tagging(measured), f"{speed(measured):.1f}"]
                cells += [f"{100 * measured['equal']:.1f} %"] if agrees else []
                cells.append(f"{100 * measured['f1']:.2f}")
        rows.append(cells)
    return markdown(heads, rows, left=0) + "\n"


def _tagging(measured: dict[str, Any]) -> list[str]:
    """Tags per word and the fraction of words whose right tag is among them, at the first β."""
    if measured["tagging"] is None:
        return ["–", "–"]
    at_first = next(iter(measured["tagging"]["betas"].values()))
    return [f"{at_first['labels']:.3f}", f"{100 * at_first['accuracy']:.2f} %"]


def changes_table(first: dict[str, Any], other: dict[str, Any]) -> str:
    """The breakdown of the time on held-out text with one size against that with the first."""
    rows = breakdown(first["text"], other["text"])
    n, total = len(first["text"]["seconds"]), sum(row["seconds"] for row in rows)
    title = f"Time with {other['size']:,} trees of the parser against {first['size']:,}, on {n:,} held-out sentences:"
    heads = ["search", "categories", "sentences", "mean change, ms", "total change, s", "share of the change"]
    lines = []
    for row in rows:
        count, seconds = row["sentences"], row["seconds"]
        cells = [row["search"], row["categories"], f"{count:,}", "–", "–", "–"]
        if count:
            fraction = f"{100 * seconds / total:.0f} %" if total else "–"
            cells[3:] = [f"{1000 * seconds / count:+.2f}", f"{seconds:+.3f}", fraction]
        lines.append(cells)
    return f"{title}\n\n{markdown(heads, lines, left=2)}\n"
