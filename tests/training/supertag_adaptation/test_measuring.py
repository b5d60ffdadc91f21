"""Measurements of an adaptation: speed and agreement, where a change of speed comes from, the choice of betas."""

from __future__ import annotations

import gc

import pytest

from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.spine_tagger.tagger import SequenceTagger
from spacy_dtparse.trees import COLLINS
from spacy_dtparse.trees.directional import category_writer
from tests.jit.harness import hand_made
from tests.tagger_models import random_tagger
from training.data.corpus import Sentence
from training.supertag_adaptation import measuring
from training.supertag_adaptation.measuring import (
    TaggerVariant,
    best_betas,
    breakdown,
    changes_table,
    gc_disabled,
    measure,
)
from training.supertag_adaptation.running import label_sentences


def test_breakdown_by_search_and_categories():
    """One sentence of each kind; the earlier search's categories count where the searches differ."""
    first = {
        "searches": [1, 1, 1, 2, 2, 1, 3, 3],
        "offered": [[5, 9], [5, 9], [5, 9], [5, 9], [5, 9], [5, 9], [5, 9], [5, 9]],
        "seconds": [0.5] * 8,
    }
    other = {
        "searches": [1, 1, 1, 1, 1, 2, 3, 2],
        "offered": [[4, 9], [5, 1], [6, 1], [4, 20], [6, 2], [4, 8], [1, 1], [7, 12]],
        "seconds": [0.25, 0.5, 0.75, 0.25, 1.5, 1.0, 0.5, 0.25],
    }
    rows = {(r["search"], r["categories"]): (r["sentences"], r["seconds"]) for r in breakdown(first, other)}
    assert {place: row for place, row in rows.items() if row[0]} == {
        ("same", "fewer"): (1, -0.25),
        ("same", "equal"): (2, 0.0),
        ("same", "more"): (1, 0.25),
        ("earlier", "fewer"): (1, -0.25),
        ("earlier", "more"): (2, 0.75),
        ("later", "fewer"): (1, 0.5),
    }
    assert len(rows) == 9 and sum(row[0] for row in rows.values()) == 8
    shown = changes_table({"size": 0, "text": first}, {"size": 5000, "text": other})
    assert "with 5,000 trees of the parser against 0, on 8 held-out sentences" in shown
    assert "| earlier | more | 2 | +375.00 | +0.750 | 75 % |" in shown and "| later | equal | 0 | – | – | – |" in shown


@pytest.mark.parametrize(
    ("was", "now", "had", "has", "row"),
    [
        (2, 2, [5, 5, 9], [5, 7, 8], ("same", "fewer")),  # 9 against 7: the second β of the first one was no search
        (2, 2, [5, 5, 9], [9, 9, 9], ("same", "more")),  # 9 against all that there are
        (1, 2, [5, 5, 9], [5, 5, 8], ("later", "equal")),
        (3, 2, [5, 5, 9], [5, 5, 9], ("earlier", "equal")),
    ],
)
def test_breakdown_counts_searches_not_betas(was, now, had, has, row):
    first, other = (
        {"searches": [at], "offered": [counts], "seconds": [1.0]} for at, counts in ((was, had), (now, has))
    )
    assert [(r["search"], r["categories"]) for r in breakdown(first, other) if r["sentences"]] == [row]


def test_measurements():
    parser = DtreeParser(hand_made("shift_reduce", ("NP", "VP", "S", "PP", "TOP"), seed=1).model)
    parser = parser.with_settings(budget=30, betas=(0.5, 0.01))
    tagger = SequenceTagger(random_tagger(0, 0.3, cutoff=99))
    words, tags = ("The", "old", "cat", "sat", "."), ("DT", "JJ", "NN", "VBD", ".")
    own = [parser.parse(words[:n], tags[:n]).tree for n in (5, 4, 3)]
    sentences = [Sentence(tree, tree.tags, "text") for tree in own]
    labels = label_sentences(sentences, parser.recipe, category_writer("spine", COLLINS))
    variants = [TaggerVariant(None, ()), TaggerVariant(tagger, (0.5, 0.01))]
    plain, pruned = measure(parser.with_settings(betas=(0.2,)), sentences, labels, variants)
    assert (plain["f1"], plain["equal"], plain["tokens"], plain["searches"]) == (1.0, 1.0, 12, [1, 1, 1])
    assert plain["offered"] == [[]] * 3 and plain["tagging"] is None
    supertags = [tagger.multitag(words[:n], tags[:n], 0.01) for n in (5, 4, 3)]
    results = [parser.parse(words[:n], tags[:n], given) for n, given in zip((5, 4, 3), supertags, strict=True)]
    assert pruned["searches"] == [result.n_searches for result in results]
    assert pruned["offered"] == [
        [sum(p >= beta * max(q for _, q in of) for of in given for _, p in of) for beta in (0.5, 0.01)]
        for given in supertags
    ]
    assert pruned["offered"][0][0] < pruned["offered"][0][1]
    same = [(r.tree.labels, r.tree.starts) == (t.labels, t.starts) for r, t in zip(results, own, strict=True)]
    assert pruned["equal"] == sum(same) / 3 < 1 and pruned["f1"] < 1 and len(pruned["seconds"]) == 3
    assert list(pruned["tagging"]["betas"]) == ["0.5", "0.01"]


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([(0.8, 2.0), (0.81, 3.0), (0.79, 1.0)], (0.3,)),  # as accurate as alone, and faster than the other such one
        ([(0.7, 2.0), (0.79, 3.0), (0.5, 1.0)], (0.1,)),  # none is: the most accurate
        ([(0.9, 3.0), (0.9, 3.0), (0.8, 2.5)], (0.01,)),
    ],
)
def test_betas_are_chosen_by_speed_among_those_that_lose_nothing(monkeypatch, rows, wanted):
    asked = []

    def measured(parser, sentences, labels, variants):
        asked.append((parser, sentences, labels, variants))
        return [{"f1": f1, "seconds": [seconds / 2] * 2} for f1, seconds in [(0.8, 9.0), *rows]]

    monkeypatch.setattr(measuring, "measure", measured)
    assert best_betas("parser", "sentences", "labels", "tagger", [(0.3,), (0.1,), (0.01,)]) == wanted
    variants = [TaggerVariant(None, ()), *(TaggerVariant("tagger", betas) for betas in [(0.3,), (0.1,), (0.01,)])]
    assert asked == [("parser", "sentences", "labels", variants)]


@pytest.mark.slow
def test_garbage_is_collected_before_and_after():
    assert gc.isenabled()
    with pytest.raises(KeyError), gc_disabled():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    try:
        with gc_disabled():
            pass
        assert not gc.isenabled(), "left as it was"
    finally:
        gc.enable()
