"""Constraints: conflicts are reported, trees repaired, and every parser's trees satisfy them."""

from __future__ import annotations

import random
from functools import cache
from math import isnan
from pathlib import Path

import numpy as np
import pytest

import spacy_dtparse
from spacy_dtparse.cli.pipelines import get_component
from spacy_dtparse.core import Capability, ParseResult
from spacy_dtparse.core.constraints import Constraint, Constraints, read_label
from spacy_dtparse.core.settings import SearchSettings
from spacy_dtparse.dtparse.parser import DtreeParser
from spacy_dtparse.errors import ConstraintError
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import Tree, parse_tree, read_trees
from spacy_dtparse.trees.tree import TOP
from tests.jit.harness import SLOW, hand_made, sentence
from tests.reference.states import STRATEGIES
from tests.span_models import SENTENCES, random_model

ASSETS = Path(__file__).resolve().parents[2] / "assets"
NAMES = ("en_dtparse", "en_span", "en_trees", "en_pcfgla", "en_dtparse_lg")


def some(*texts: str) -> Constraints:
    """Constraints from texts "start end label"."""
    parts = [text.split() for text in texts]
    return Constraints(
        Constraint(int(start), int(end), *read_label(label[0] if label else "")) for start, end, *label in parts
    )


def test_labels_as_text():
    texts = ("NP", "", "!NP", "!")
    assert list(map(read_label, texts)) == [
        ("NP", True, False),
        ("", True, False),
        ("NP", False, False),
        ("", False, False),
    ]
    assert [str(one) for one in some("0 2 NP", "0 2", "1 3 !S", "1 3 !")] == [
        "[0, 2) NP",
        "[0, 2) any label",
        "[1, 3) !S",
        "[1, 3) !any label",
    ]


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (some("0 3 NP", "2 5"), r"\[0, 3\) NP \('a b c'\) and \[2, 5\) any label \('c d e'\) cross"),
        (some("0 5", "1 3 NP", "2 4 NP"), r"\[1, 3\) NP \('b c'\) and \[2, 4\) NP \('c d'\) cross"),
        (some("0 3 NP", "0 3 !NP"), r"\[0, 3\) NP .* and \[0, 3\) !NP .* contradict each other"),
        (some("0 3 NP", "0 3 !"), "contradict"),
        (some("0 3", "0 3 !"), "contradict"),
        (some("0 3 QQ"), r"QQ \('a b c'\) has a label .* labels are NP, S"),
        (some("3 6"), "outside of its sentence of 5 tokens"),
        (some("3 3"), "outside"),
    ],
)
def test_conflicts_are_named(constraints, message):
    with pytest.raises(ConstraintError, match=message):
        constraints.check(5, ("S", "NP"), ("a", "b", "c", "d", "e"))


def test_satisfiable_constraints_are_no_conflict():
    constraints = some("0 3 NP", "0 3 S", "0 3", "0 3 !VP", "1 3 NP", "1 2", "3 5", "0 5 S", "2 4 !", "0 4 !S")
    constraints.check(5, ("S", "NP", "VP"))


def test_constraints_go_with_their_tokens():
    kept = [0, 2, 3, 6]
    moved = some("0 3 NP", "1 2 NP", "3 7", "4 6 S", "6 7 !").restrict_to(kept)
    assert moved == some("0 2 NP", "2 4", "3 4 !")
    assert some("1 4 NP", "2 4 NP").restrict_to(kept) == some("1 3 NP")


def test_a_tree_is_repaired():
    tree = parse_tree("(TOP (S (NP (DT a) (NN b)) (VP (VB c) (NP (NN d))) (. .)))")
    result = ParseResult(tree, (0.0, 1.0, 2.0, 3.0, 4.0), 10.0, "optimal")
    labels = ("S", "NP", "VP", "X")
    assert some("0 2 NP", "2 4", "1 2 !").enforce(result, labels) is result
    held = some("1 3 NP", "0 5 !S", "3 4 S", "0 1").enforce(result, labels)
    assert str(held.tree) == "(TOP (X (DT a)) (NP (NN b) (VB c)) (S (NP (NN d))) (. .))"
    assert held.status == "fallback" and [isnan(cost) for cost in held.costs] == [False, True, True, True, False]
    assert some("0 2 !").violations(tree) == list(some("0 2 !")) and not some("0 2 !S").violations(tree)
    assert some("0 2", "0 2 !X", "0 2 !NP").enforce(result, labels).tree.spans()[2] == (0, 2, "S")


@pytest.mark.kernel
def test_spans_that_cross_required_constituents():
    spans = np.array([(0, 5), (0, 2), (1, 3), (1, 4), (2, 4), (2, 5), (3, 5), (0, 3), (4, 5)])
    assert some("1 4 NP").crosses_required(spans).tolist() == [
        False,
        True,
        False,
        False,
        False,
        True,
        True,
        True,
        False,
    ]
    assert not some("1 4 !NP").crosses_required(spans).any()


@pytest.mark.kernel
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_search_satisfies_constraints(strategy):
    """Nothing has to be inserted afterwards, and a search without limits is still optimal."""
    rng, n_changed = random.Random(strategy), 0
    for seed in range(1 if SLOW else 4):
        parser = DtreeParser(hand_made(strategy, ("NP", "VP", "TOP"), seed).model, SearchSettings(budget=10**6))
        for n in (2,) if SLOW else (2, 3, 4):
            words, tags = sentence(rng, n)
            free = parser.parse(words, tags)
            for texts in (
                ("0 2 NP",),
                (f"1 {n}",),
                ("0 1 NP", f"1 {n} VP"),
                (f"0 {n} NP", "0 1 !"),
                ("0 1 !NP",),
                ("0 1 VP", "0 1 NP"),
                ("1 2 !", f"0 {n} !NP"),
                ("0 1",),
                (f"0 {n}",),
            ):
                found = parser.parse_constrained(words, tags, some(*texts))
                assert found.status == "optimal" and not some(*texts).violations(found.tree), (texts, str(found.tree))
                n_changed += found.tree != free.tree
                if not some(*texts).violations(free.tree):
                    assert found.cost <= free.cost + 1e-9
    assert n_changed > (0 if SLOW else 20)


@pytest.mark.kernel
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_a_greedy_search_does_not_shift_past_required_constituents():
    """A stack that has a wanted constituent's first word on top does not shift, however likely that is, even where a
    single window is left: what is shifted past is never built."""
    wanted = some("1 3", "1 2 !")  # with "b c" on the stack, only those two together
    rng, n_shifts = random.Random(1), 0
    for seed in range(6):
        model = hand_made("shift_reduce", ("NP", "VP", "TOP"), seed).model
        parser = DtreeParser(model, SearchSettings(budget=0))
        words, tags = sentence(rng, 3)
        found = parser.parse_constrained(words, tags, wanted)
        assert found.status == "greedy" and not wanted.violations(found.tree), str(found.tree)
        n_shifts += bool(wanted.violations(parser.parse(words, tags).tree))
    assert n_shifts > 2  # the parser would rather do something else


@pytest.mark.kernel
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_a_search_continues_after_constituents_that_it_cannot_build():
    """A constituent of three words, no two of which may form one, in a grammar of at most two children: it is
    inserted afterwards, but the words before it are parsed normally."""
    wanted = some("3 6", "3 5 !", "4 6 !", "3 4 !")
    for seed in range(3):
        model = hand_made("shift_reduce", ("NP", "VP", "TOP"), seed, max_arity=2).model
        words, tags = sentence(random.Random(seed), 6)
        found = DtreeParser(model, SearchSettings(budget=0)).parse_constrained(words, tags, wanted)
        assert found.status == "fallback" and not wanted.violations(found.tree)
        assert any(end <= 3 for _, end, _ in found.tree.spans()), str(found.tree)


def test_a_chart_finds_the_best_tree_that_satisfies_constraints():
    parser = SpanParser(random_model(1)).with_settings(penalty=0.3, attach_unattached=False)
    sizes = {chain: len(chain) for chain in parser.model.chains}
    for words, tags in (SENTENCES[1], SENTENCES[2]):
        n = len(words)
        for wanted in (some(f"0 {n - 1}"), some("1 3 NP"), some("1 3 !NP", "0 2"), some("0 1 VP", "1 3 !")):
            found = parser.parse_constrained(words, tags, wanted)
            assert not wanted.violations(found.tree) and found.status == "optimal"
            gains = _gains(parser, words, tags, wanted, sizes)
            best = max(_worth(gains, sets) for sets in _bracketings(0, n))
            own = sum(gains.get(extent, (0.0, False))[0] for extent in {span[:2] for span in found.tree.spans()[1:]})
            assert own == pytest.approx(best, abs=1e-4)


def _gains(parser, words, tags, constraints, sizes):
    """{span: (gain of its best chain, whether it is required)} under the constraints, by enumeration."""
    from spacy_dtparse.span_parser.constrained import constrained_posteriors

    constrained = constrained_posteriors(
        parser.decoder, parser.model.chains, parser.run_networks(words, tags), constraints, 0.0
    )
    gains = {}
    for span, posterior, logs in zip(constrained[0].tolist(), constrained[1].tolist(), constrained[2], strict=True):
        chain = 1 + int(np.argmax(logs[1:]))
        gain = sizes[parser.model.chains[chain]] * (posterior * (1 - np.exp(float(logs[0]))) - parser.settings.penalty)
        must = any(one.required and [*one[:2]] == span for one in constraints)
        if constraints.crosses_required(np.array([span]))[0]:
            continue
        gains[tuple(span)] = (gain, must) if gain > 0 or must else (0.0, False)
    return gains


def _worth(gains, spans):
    missing = any(must and span not in spans for span, (_, must) in gains.items())
    return -np.inf if missing else sum(gains.get(span, (0.0, False))[0] for span in spans)


@cache
def _bracketings(start, end):
    """The sets of spans of all binary trees over [start, end)."""
    if end - start == 1:
        return [frozenset({(start, end)})]
    return [
        left | right | {(start, end)}
        for middle in range(start + 1, end)
        for left in _bracketings(start, middle)
        for right in _bracketings(middle, end)
    ]


@cache
def _parser(name):
    return get_component(spacy_dtparse.load(name)).configured_parser


def _gold() -> list[Tree]:
    """Every fourth of the sample treebank's development trees."""
    from training.data.corpus import read_treebank

    return [sentence.tree for sentence in read_treebank(ASSETS / "sample" / "dev.mrg")][::4]


def _spans(tree):
    return [Constraint(*span) for span in tree.spans() if span[2] != TOP]


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", NAMES)
def test_every_parser_satisfies_constraints(name):
    parser = _parser(name)
    assert Capability.CONSTRAINTS in parser.capabilities
    generator, enforced, tried = random.Random(0), 0, 0
    for gold in _gold():
        words, tags = gold.words, gold.tags
        plain = parser.parse(words, tags)
        known = [one for one in _spans(gold) if one.label in parser.labels]
        for share in (0.2, 0.6, 1.0):
            for labelled in (True, False):
                chosen = Constraints(
                    one if labelled else one._replace(label="") for one in known if generator.random() < share
                )
                found = parser.parse_constrained(words, tags, chosen)
                assert not chosen.violations(found.tree) and found.tree.words == tuple(words)
                tried, enforced = tried + 1, enforced + (found.status == "fallback")
        for one in _spans(plain.tree)[:6]:
            forbidden = Constraints([one._replace(required=False)])
            assert not forbidden.violations(parser.parse_constrained(words, tags, forbidden).tree)
        crossing = Constraints([Constraint(k, k + 3) for k in range(0, len(words) - 2, 4)])
        assert not crossing.violations(parser.parse_constrained(words, tags, crossing).tree)
    assert enforced <= (0.2 if name == "en_pcfgla" else 0.05) * tried  # a grammar has no rule for many of them


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", NAMES)
def test_constraints_that_hold_already_change_nothing(name):
    parser = _parser(name)
    same = tried = 0
    for gold in _gold():
        plain = parser.parse(gold.words, gold.tags)
        if plain.status in ("optimal", "complete"):
            spans = _spans(plain.tree)
            found = parser.parse_constrained(gold.words, gold.tags, Constraints(spans[:2] + spans[-2:]))
            tried, same = tried + 1, same + (found.tree == plain.tree)
    assert same >= 0.8 * tried > 5


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", NAMES)
def test_long_sentences_satisfy_constraints(name):
    parser = _parser(name)
    gold = next(iter(read_trees(ASSETS / "sample" / "dev.mrg")))
    times = 300 // gold.n_tokens + 1 if name != "en_pcfgla" else 160 // gold.n_tokens + 1
    words, tags = gold.words * times, gold.tags * times
    chosen = some("0 3", f"{gold.n_tokens} {2 * gold.n_tokens} S", f"{len(words) - 4} {len(words) - 1} NP", "5 7 !")
    assert not chosen.violations(parser.parse_constrained(words, tags, chosen).tree)


def test_exact_chains():
    assert read_label("=S VP") == ("S VP", True, True) and read_label("=") == ("", False, False)
    chain = Constraint(0, 2, "NP NP", exact=True)
    assert str(chain) == "[0, 2) =NP NP" and chain.labels == ("NP", "NP")
    tree = parse_tree("(TOP (S (NP (DT a) (NN b)) (VP (VB c) (NP (NN d))) (. .)))")
    result = ParseResult(tree, (0.0, 1.0, 2.0, 3.0, 4.0), 10.0, "optimal")
    labels = ("S", "NP", "VP", "X")
    assert Constraints([chain]).violations(tree) == [chain]
    held = Constraints([chain, Constraint(3, 4, "S VP", exact=True)]).enforce(result, labels)
    assert str(held.tree) == "(TOP (S (NP (NP (DT a) (NN b))) (VP (VB c) (S (VP (NN d)))) (. .)))"
    order = Constraints([Constraint(3, 4, "VP S", exact=True)])
    assert order.violations(held.tree) and not order.violations(order.enforce(held, labels).tree)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            [Constraint(0, 2, "NP NP", exact=True), Constraint(0, 2, "S VP", exact=True)],
            "=NP NP .* =S VP .* contradict",
        ),
        ([Constraint(0, 2, "S VP", exact=True), Constraint(0, 2, "NP")], "contradict"),
        ([Constraint(0, 2, "S VP", exact=True), Constraint(0, 2, "VP", False)], "contradict"),
        ([Constraint(0, 3, "S VP", exact=True), Constraint(2, 4)], "cross"),
        ([Constraint(0, 3, "S QQ", exact=True)], "QQ .* does not have"),
    ],
)
def test_conflicts_of_chains(constraints, message):
    with pytest.raises(ConstraintError, match=message):
        Constraints(constraints).check(5, ("S", "NP", "VP"), ("a", "b", "c", "d", "e"))
    Constraints([Constraint(0, 2, "NP NP", exact=True), Constraint(0, 2, "NP"), Constraint(0, 2)]).check(5, ("NP",))


def test_chains_over_tokens_that_become_the_same():
    both = Constraints(
        [Constraint(0, 2, "NP", exact=True), Constraint(0, 3, "S", exact=True), Constraint(0, 2, "S", False)]
    )
    assert both.restrict_to([0, 1, 3]) == some("0 2 NP", "0 2 S")
    assert both.restrict_to([0, 1, 2]) == both
    assert Constraints([Constraint(0, 2, "S", exact=True)]).without_chains(("S", "NP")) == some("0 2 S", "0 2 !NP")


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("name", NAMES)
def test_every_parser_reaches_the_gold_chains(name):
    """All chains of a tree together give this tree: also labels that occur twice, and in another order."""
    parser = _parser(name)
    for gold in _gold()[:12]:
        chains: dict[tuple[int, int], list[str]] = {}
        for start, end, label in gold.spans():
            if label in parser.labels:
                chains.setdefault((start, end), []).append(label)
        chains[0, 1] = [*chains.get((0, 1), ()), "NP", "NP"]
        wanted = Constraints(Constraint(*extent, " ".join(chain), exact=True) for extent, chain in chains.items())
        found = parser.parse_k_best_constrained(gold.words, gold.tags, wanted, 3)
        assert found[0].margin == 0.0 and found[0].tree == parser.parse_constrained(gold.words, gold.tags, wanted).tree
        assert not any(wanted.violations(one.tree) for one in found)
