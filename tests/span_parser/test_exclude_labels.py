"""The setting `exclude_labels` of the span parser: labels that no constituent may have."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest

from spacy_dtparse.core.constraints import Constraint, Constraints
from spacy_dtparse.core.deadline import Deadline
from spacy_dtparse.core.settings import SpanSettings
from spacy_dtparse.errors import ConfigError, ConstraintError
from spacy_dtparse.span_parser.parser import SpanParser
from spacy_dtparse.trees import Tree
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.span_models import CHAINS, SENTENCES, random_model, with_attach_table

pytestmark = KERNEL_MARKS

LABELS = ("NP", "PP", "S", "VP")
EXCLUDED = [[label] for label in LABELS] + [list(pair) for pair in combinations(LABELS, 2)]
WORDS, TAGS = SENTENCES[0]


def all_forbidden(n: int, labels: list[str]) -> Constraints:
    """The constraints that forbid the labels over each span."""
    return Constraints(
        Constraint(i, j, label, False) for i in range(n) for j in range(i + 1, n + 1) for label in labels
    )


@pytest.mark.parametrize("excluded", EXCLUDED, ids="-".join)
@pytest.mark.parametrize("settings", [{}, {"penalty": 0.2}], ids=str)
def test_the_tree_is_that_of_constraints_that_forbid_the_labels_everywhere(settings: dict, excluded: list) -> None:
    for seed in range(1 if SLOW else 4):
        plain = SpanParser(random_model(2, seed)).with_settings(**settings)
        parser = plain.with_settings(exclude_labels=excluded)
        for words, tags in SENTENCES:
            found = parser.parse(words, tags)
            wanted = plain.parse_constrained(words, tags, all_forbidden(len(words), excluded))
            assert found.tree == wanted.tree and found.status == "optimal"
            assert found.costs == pytest.approx(wanted.costs, abs=1e-4)
            assert set(found.tree.labels).isdisjoint(excluded)


def test_it_is_the_best_of_all_trees_over_the_chains_that_remain() -> None:
    """The probabilities of the chains that remain add up to 1, and have the same ratios as without the setting."""
    plain = SpanParser(random_model(2))
    parser = plain.with_settings(exclude_labels=["VP"])
    assert parser.chains == ((), ("NP",), ("S",), ("PP",)) and parser.labels == ("NP", "PP", "S")
    assert parser.chain_names == ("", "NP", "S", "PP") and parser.excluded_labels == {"VP"}
    kept = [chain for chain, labels in enumerate(CHAINS) if "VP" not in labels]
    before, after = (one.decoder.scored_spans(one.run_networks(WORDS, TAGS), 0.001) for one in (plain, parser))
    assert before[0].tolist() == after[0].tolist() and before[1].tolist() == after[1].tolist()
    wanted = before[2][:, kept] - np.logaddexp.reduce(before[2][:, kept], axis=1, keepdims=True)
    np.testing.assert_allclose(after[2], wanted, atol=1e-4)


@pytest.mark.parametrize("one_root", [False, True])
@pytest.mark.parametrize("settings", [{}, {"penalty": 0.9}, {"max_tokens": 3}, {"ensemble_threshold": 0.3}], ids=str)
def test_no_result_has_them(settings: dict, one_root: bool) -> None:
    attached = 0
    for seed in range(1 if SLOW else 3):
        plain = SpanParser(with_attach_table(random_model(2, seed), 0.5, one_root, seed=1)).with_settings(**settings)
        for excluded in (["NP"], ["S", "VP"], ["NP", "PP", "S"]):
            parser = plain.with_settings(exclude_labels=excluded)
            loose = parser.with_settings(attach_unattached=False)
            results = parser.parse_batch(SENTENCES)
            assert results == [parser.parse(*sentence) for sentence in SENTENCES]
            for result in results:
                tree = result.tree
                assert tree == Tree(tree.words, tree.tags, tree.labels, tree.starts, tree.ends), "well formed"
                assert set(tree.labels).isdisjoint(excluded)
                attached += len(tree) > len(loose.parse(tree.words, tree.tags).tree)
            for one in parser.parse_k_best(WORDS, TAGS, 6):
                assert set(one.tree.labels).isdisjoint(excluded)
            assert parser.parse_k_best(WORDS, TAGS, 6)[0].tree == parser.parse(WORDS, TAGS).tree
            ((result, posteriors),) = parser.parse_with_posteriors([(WORDS, TAGS)])
            assert result == parser.parse(WORDS, TAGS) and posteriors == parser.span_posteriors(WORDS, TAGS)
            assert {label for _, _, label in posteriors} <= {"TOP", *LABELS} - set(excluded)
            names = parser.chain_names
            (marginals,) = parser.marginals([(WORDS, TAGS)])
            assert all(set(names[chain].split()).isdisjoint(excluded) for chain in marginals.chains[:, 0])
    assert attached or SLOW


def test_under_constraints_they_may_be_forbidden_but_not_required() -> None:
    parser = SpanParser(random_model()).with_settings(exclude_labels=["NP"])
    held = Constraints([Constraint(0, 2), Constraint(3, 6, "NP", False), Constraint(2, 3, "PP")])
    for one in (parser.parse_constrained(WORDS, TAGS, held), *parser.parse_k_best_constrained(WORDS, TAGS, held, 4)):
        assert not held.violations(one.tree) and "NP" not in one.tree.labels
    slow = Deadline(parser, 1e-9)  # in pieces
    assert not held.violations(slow.parse_constrained(WORDS, TAGS, held).tree)
    for wanted in (Constraint(0, 2, "NP"), Constraint(0, 2, "S NP", exact=True)):
        for one in (parser, slow):
            with pytest.raises(ConstraintError, match=r"'The cat'\) requires a label of the parser's setting"):
                one.parse_constrained(WORDS, TAGS, Constraints([wanted]))
        with pytest.raises(ConstraintError, match=r"exclude_labels \(NP\); take the constraint out"):
            parser.parse_k_best_constrained(WORDS, TAGS, Constraints([wanted]), 3)
    with pytest.raises(ConstraintError, match="that this parser does not have; its labels are PP, S, VP"):
        parser.parse_constrained(WORDS, TAGS, Constraints([Constraint(0, 2, "QP")]))
    only = parser.with_settings(exclude_labels=["NP", "S", "VP"])
    nothing_left = Constraints([Constraint(0, 2), Constraint(0, 2, "PP", False)])
    with pytest.raises(ConstraintError, match=r"others forbid all labels of the parser there \(PP\); take one"):
        only.parse_constrained(WORDS, TAGS, nothing_left)


def test_nothing_changes_without_it() -> None:
    plain = SpanParser(with_attach_table(random_model()))
    assert plain.settings.exclude_labels == () and plain.chains == CHAINS and plain.labels == LABELS
    again = plain.with_settings(exclude_labels=["NP"]).with_settings(exclude_labels=[])
    assert again.parse(WORDS, TAGS) == plain.parse(WORDS, TAGS)


def test_files_do_not_contain_it_but_pickles_do() -> None:
    plain = SpanParser(random_model())
    parser = plain.with_settings(exclude_labels=["NP", "PP"])
    assert parser.to_bytes() == plain.to_bytes(), "with the self-test of the whole model"
    copied = pickle.loads(pickle.dumps(parser))
    assert copied.settings == parser.settings == SpanSettings(exclude_labels=("NP", "PP"))
    assert copied.parse(WORDS, TAGS) == parser.parse(WORDS, TAGS)
    assert parser.describe()["exclude_labels"] == ["NP", "PP"] and parser.describe()["label chains"] == 3


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["NPP"], "exclude_labels has 'NPP', which is no label of the model; did you mean 'PP'?"),
        (["np"], "which is no label of the model; did you mean 'NP'?"),
        (["NP", "QUUX"], r"which is no label of the model\. Its labels are NP, PP, S, VP"),
        (["S", "TOP"], "exclude_labels has 'TOP', the root of every tree"),
        (list(LABELS), "leaves the parser no constituent; its labels are NP, PP, S, VP: take some out"),
        ("NP", "'exclude_labels' is 'NP'; it must be a list of labels, such as"),
        ([""], "it must be a list of labels"),
        ([3], "it must be a list of labels"),
        ({"NP": True}, "it must be a list of labels"),
        (True, "it must be a list of labels"),
    ],
)
def test_bad_values_are_refused(value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SpanParser(random_model(1)).with_settings(exclude_labels=value)
