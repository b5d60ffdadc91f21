"""How fast a parser is with a tagger's spines, and what that costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from spacy_dtparse.parsers.dtree import DtreeParser
from spacy_dtparse.parsers.tagging import SequenceTagger

from ..corpus import Sentence
from ..evaluate import score_trees
from ..sequence.corpus import LabelledSentence
from ..sequence.fitting import judge

SEARCHES = ("earlier", "same", "later")
AMBIGUITIES = ("fewer", "equal", "more")


def measure(
    parser: DtreeParser,
    sentences: Sequence[Sentence],
    tagger: SequenceTagger | None = None,
    labels: Sequence[LabelledSentence] = (),
) -> dict[str, Any]:
    """Parse sentences one by one in this process, with the spines of `tagger` or without any; plain data.

    `f1` and `equal`: labelled F1 against the sentences' own trees, and the share of equal ones. For each sentence
    `seconds` (CPU time, tagging included), `searches`, and `offered`, how many categories its words have together at
    each β of the parser; `tokens` of all. With `labels`, the right ones, what `judge` says of the tagger in `tagging`.
    """
    betas = [float(beta) for beta in parser.settings.betas]
    trees, seconds, searches, offered = [], [], [], []
    for number in (0, *range(len(sentences))):  # the first one twice: kernels are compiled or loaded now
        words, tags = sentences[number].tree.words, sentences[number].tags
        began = time.process_time()
        offers = [] if tagger is None else tagger.multitag(words, tags, min(betas))
        result = parser.parse(words, tags, offers)
        seconds.append(time.process_time() - began)
        trees.append(result.tree)
        searches.append(result.n_searches)
        offered.append([sum(p >= beta * offer[0][1] for offer in offers for _, p in offer) for beta in betas])
    total, _ = score_trees(sentences, trees[1:])
    return {
        "f1": total.to_dict()["all"]["f1"],
        "equal": sum(_shape(s.tree) == _shape(t) for s, t in zip(sentences, trees[1:], strict=True)) / len(sentences),
        "tokens": sum(len(sentence.tags) for sentence in sentences),
        "seconds": seconds[1:],
        "searches": searches[1:],
        "offered": offered[1:],
        "tagging": judge(tagger, labels, betas) if tagger is not None else None,
    }


def _shape(tree: Any) -> tuple[Any, ...]:
    return tree.labels, tree.starts, tree.ends


def speed(measured: dict[str, Any]) -> float:
    """Sentences per second."""
    return len(measured["seconds"]) / sum(measured["seconds"])


def breakdown(first: dict[str, Any], other: dict[str, Any]) -> list[dict[str, Any]]:
    """Where a change of speed between two taggers comes from, as Kummerfeld et al. (2010, Table 3) break it down.

    A row for each of SEARCHES (in which search the `other` finds a sentence's tree) and of AMBIGUITIES (how many
    categories its words have together, in the earlier one of the two searches; without pruning, equal ones), with
    `sentences`, and `seconds`, the change of their time in all.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {
        (search, ambiguity): {"search": search, "categories": ambiguity, "sentences": 0, "seconds": 0.0}
        for search in SEARCHES
        for ambiguity in AMBIGUITIES
    }
    columns = [zip(m["searches"], m["offered"], m["seconds"], strict=True) for m in (first, other)]
    for (was, had, before), (now, has, after) in zip(*columns, strict=True):
        at = min(was, now) - 1
        more = has[at] - had[at] if at < len(had) else 0
        row = rows[SEARCHES[_sign(now - was) + 1], AMBIGUITIES[_sign(more) + 1]]
        row["sentences"] += 1
        row["seconds"] += after - before
    return list(rows.values())


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
