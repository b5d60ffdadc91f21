"""Features of links against the readable reference: which ones links share, and their sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from spacy_dtparse.bpm_parser.kernels.links import (
    ALL_LINKS,
    COLUMNS,
    KIND,
    LONG,
    MAX_KEYS,
    TAG,
    UNLIKELY,
    head_keys,
    label_atoms,
    list_features,
    make_guide,
    score_links,
    select_heads,
    tree_keys,
)
from spacy_dtparse.jit.decorator import callable_from_python
from spacy_dtparse.linear.kernels.feature_table import WITHOUT_BIN, FamilyTable, make_families
from tests.bpm_parser.kernels.link_cases import (
    Case,
    cases,
    check_shared,
    guide_of,
    keys_of,
    label_lists,
    paired,
    random_case,
    twin_features,
)
from tests.jit.harness import KERNEL_MARKS, SLOW
from tests.reference.dependencies import BETWEEN, GUIDED, LABELS, LINKS, Atoms, Link, label_features, tokens, trees

pytestmark = KERNEL_MARKS


@pytest.mark.parametrize("guided", [False, True], ids=["unguided", "guided"])
def test_keys_are_shared_where_features_are(guided: bool) -> None:
    keys, features = {}, {}
    for number, case in enumerate(cases(guided)):
        for head, d in case.links:
            keys[number, head, d] = keys_of(case, {d: head})
            features[number, head, d] = twin_features(case, head, d)
            assert len(keys[number, head, d]) == len(features[number, head, d])
            plain, with_bin = keys[number, head, d][::2], keys[number, head, d][1::2]
            (place,) = {key >> 56 for key in with_bin} or {0}
            assert with_bin == [key | place << 56 for key in plain] and max(plain, default=0) <= WITHOUT_BIN
    check_shared(keys, features)
    found = paired(keys, features)
    assert len(found) > 1000 and 0 not in found.values()


def names(case: Case) -> set[str]:
    return {name for head, d in case.links for name, _, _ in twin_features(case, head, d)}


def test_every_template_of_the_reference_has_features() -> None:
    rng = np.random.default_rng(0)
    several = [random_case(n, rng, True) for n in (2, 5, 7, 13)]
    assert {name for case in several for name in names(case)} == {*LINKS, *BETWEEN, *GUIDED}
    labels = {
        name for case in several for d in range(1, case.n + 1)
        for name, _, _ in label_features(tokens(case.atoms), case.tree, d)
    }  # fmt: skip
    assert labels == {*LABELS}


def test_a_long_distance_has_a_separate_bin() -> None:
    case = random_case(13, np.random.default_rng(5), False, unknown=0.0)
    bins: dict[str, set[int]] = {}
    for head, d in case.links:
        if head in (1, 13):
            bins.setdefault(Link(tokens(case.atoms), head, d).bin, set()).add(keys_of(case, {d: head})[1] >> 56)
    assert sorted(map(sorted, bins.values())) == [[number] for number in range(1, 15)]


@pytest.mark.parametrize("guided", [False, True], ids=["unguided", "guided"])
def test_unknown_values_have_no_feature(guided: bool) -> None:
    case = random_case(3, np.random.default_rng(1), guided)
    case.atoms[:, :LONG] = 0
    case = case._replace(labels=None)
    left = [name for name, _, _ in twin_features(case, 1, 2)]
    assert left == (["state", "state"] if guided else []), "only the state has no atom"
    assert all(len(keys_of(case, {d: head})) == len(left) for head, d in case.links)


def test_the_largest_atoms_do_not_run_into_each_other() -> None:
    case = random_case(3, np.random.default_rng(2), True, unknown=0.0)
    most = np.array([2**24, 2**12, 2**24, 2**24, 2**24], np.int32)
    large = case._replace(atoms=case.atoms.copy(), labels=(1, *(2**12 - label for label in case.labels[1:])))
    large.atoms[2:-1, :LONG] = most - case.atoms[2:-1, :LONG]
    lists = [{}, {}]
    for found, sentence in zip(lists, (case, large), strict=True):
        for head, d in case.links:
            found[head, d] = keys_of(sentence, {d: head})
    assert all(len(lists[0][link]) == len(lists[1][link]) for link in case.links)
    for number, one in enumerate((case, large)):
        paired(lists[number], {(head, d): twin_features(one, head, d) for head, d in case.links})


def test_a_tree_has_the_keys_of_its_links() -> None:
    for case in cases(True, 3):
        heads = dict(enumerate(case.tree[1:], 1))
        expected = Counter(key for d, head in heads.items() for key in keys_of(case, {d: head}))
        assert Counter(keys_of(case, heads)) == expected
        for size in (10, 11):
            room = np.zeros(size, np.uint64)
            count = tree_keys(case.atoms, guide_of(case), np.array(case.tree, np.int32), room)
            assert count == sum(expected.values())
            assert np.array_equal(room[:10], keys_of(case, heads)[:10]) and not room[10:].any(), "as many as fit"


@pytest.mark.parametrize("guided", [False, True], ids=["unguided", "guided"])
def test_old_contents_of_the_workspace_do_not_matter(guided: bool) -> None:
    of_head = callable_from_python(head_keys)
    for case in cases(guided, 4):
        n, found = len(case.tree) - 1, []
        for left_over in (0, 1, 3):
            room, keys = np.full((4, n + 4), left_over, np.int32), np.zeros(n * (MAX_KEYS + n), np.uint64)
            starts, ends = np.zeros((2, n + 1), np.int64)
            for head in range(n + 1):
                keys[:] = 0
                count = of_head(case.atoms, guide_of(case), ALL_LINKS, head, room.copy(), keys, starts, ends)
                found.append((left_over, head, count, keys.tolist(), starts.tolist(), ends.tolist()))
        assert [one[1:] for one in found[: n + 1]] == [one[1:] for one in found[n + 1 : 2 * n + 2]]
        assert [one[1:] for one in found[: n + 1]] == [one[1:] for one in found[2 * n + 2 :]]


def some_weights(several: Iterable[Case], seed: int) -> tuple[FamilyTable, np.ndarray, dict[int, float]]:
    """(Table, weights by place, weights by key) of the keys of the cases' trees."""
    keys = np.unique(np.concatenate([keys_of(case, dict(enumerate(case.tree[1:], 1))) for case in several]))
    table = make_families(keys.astype(np.uint64))
    values = np.random.default_rng(seed).integers(-512, 512, len(keys)) / 64  # whose sums are exact
    return table, table.weights(values), dict(zip(keys.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize("guided", [False, True], ids=["unguided", "guided"])
def test_scores_are_sums_over_the_features_of_the_reference(guided: bool) -> None:
    several = cases(guided, 7)
    table, by_place, weights = some_weights(several, 8)
    keys, features = {}, {}
    for number, case in enumerate(several):
        for head, d in case.links:
            keys[number, head, d] = keys_of(case, {d: head})
            features[number, head, d] = twin_features(case, head, d)
    key_of = paired(keys, features)
    partly = 0
    for number, case in enumerate(several):
        n = case.n
        scores = np.full((n + 1, n + 1), 77.0)
        score_links(case.atoms, guide_of(case), table.rows, by_place, ALL_LINKS, scores)
        ends, listed = np.zeros((n + 1) * n, np.int32), np.full(40_000, -1, np.int32)
        count = list_features(case.atoms, guide_of(case), table.rows, table.ids, ends, listed)
        assert count == ends[-1] and (listed[:count] >= 0).all() and (listed[count:] == -1).all()
        if count > 4:
            few = np.full(4, -1, np.int32)
            assert list_features(case.atoms, guide_of(case), table.rows, table.ids, ends.copy(), few) == count
        starts = np.concatenate([[0], ends[:-1]])
        values = np.zeros(len(weights))
        values[table.ids[1:]] = by_place[1:]
        for head in range(n + 1):
            for d in range(1, n + 1):
                link = head * n + d - 1
                own = listed[starts[link] : ends[link]]
                if head == d:
                    assert not len(own) and scores[head, d] == 77.0
                    continue
                known = [key_of[one] for one in features[number, head, d] if key_of[one] in weights]
                assert scores[head, d] == sum(weights[key] for key in known), (number, head, d)
                assert len(own) == len(set(own.tolist())) == len(known) and values[own].sum() == scores[head, d]
                partly += 0 < len(known) < len(features[number, head, d])
        assert (scores[:, 0] == 77.0).all()
    assert partly > 20, "many links have some features that a tree has, and others"


def test_a_feature_with_distance_is_looked_up_only_if_the_one_without_exists() -> None:
    case = random_case(4, np.random.default_rng(9), False)
    keys = np.array(sorted(keys_of(case, {2: 1})), np.uint64)
    with_bin = keys[keys > WITHOUT_BIN]
    scores = np.zeros((5, 5))
    for used, expected in ((keys, len(keys)), (with_bin, 0), (keys[keys <= WITHOUT_BIN], len(keys) / 2)):
        table = make_families(used)
        score_links(case.atoms, guide_of(case), table.rows, table.weights(np.ones(len(used))), ALL_LINKS, scores)
        assert scores[1, 2] == expected


def test_features_of_the_guides_link_and_of_crossing_links() -> None:
    """Without known atoms, only the state of the link in the guide remains."""
    rng = np.random.default_rng(4)
    seen: dict[str, set[tuple[int, ...]]] = {}
    for n in [1, 4, 6] if SLOW else [1, 4, 4, 6, 6, 9, 12, 12]:
        case = random_case(n, rng, True)
        case.atoms[:, :LONG] = 0
        for head, d in case.links:
            link = Link(tokens(case.atoms), head, d, case.guide or ())
            seen.setdefault(link.state, set()).add(tuple(keys_of(case, {d: head})[::2]))
    assert all(len(keys) == 1 for keys in seen.values()) and len(set.union(*seen.values())) == len(seen)
    assert {"same 0", "other 0", "other 1", "other 2", "other 3", "other above 0", "other above 1"} <= set(seen)


def test_counts_stop_at_three() -> None:
    """Many tokens of a kind between, many dependents and siblings: one token heads all, with guide and labels."""
    rng, several = np.random.default_rng(6), []
    for n, kind, middle in ((7, 1, 1), (7, 2, 4), (7, 3, 7), (5, 1, 1), (5, 3, 5), (4, 1, 1), (4, 3, 4)):
        case = random_case(n, rng, True)
        case.atoms[2:-1, :LONG] = 4
        case.atoms[:, KIND] = kind
        flat = (-1, *(0 if d == middle else middle for d in range(1, n + 1)))
        several.append(case._replace(tree=flat, guide=flat))
    keys, features = {}, {}
    for number, case in enumerate(several):
        for head, d in case.links:
            if head in (0, 1, 4, 7):
                keys[number, head, d] = keys_of(case, {d: head})
                features[number, head, d] = twin_features(case, head, d)
    paired(keys, features)
    seen = {values[0] for own in features.values() for name, _, values in own if name == "kinds; head: tag"}
    assert seen == {"0/0/0", *(part for n in "123" for part in (f"{n}/0/0", f"0/{n}/0", f"0/0/{n}"))}
    keys, features = label_lists(several)
    paired(keys, features)
    siblings = {values[1] for own in features.values() for name, _, values in own if name == "side; siblings; tag; tag"}
    assert {"0/3", "1/3", "2/3", "3/0", "3/1"} <= siblings


def test_labels_become_atoms() -> None:
    assert label_atoms(np.array([7, 0, 3, -2], np.int32)).tolist() == [1, 2, 5, 0], "no link, labels 0 and 3, unknown"


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_features_of_a_guide_follow_from_its_heads(n: int) -> None:
    for heads in trees(n)[:: 1 if n < 4 else 7]:
        guide = make_guide(np.array(heads, np.int32))
        for place in range(n + 1):
            left = [d for d in range(1, place) if heads[d] == place]
            right = [d for d in range(place + 1, n + 1) if heads[d] == place]
            assert guide.outermost[place].tolist() == [left[0] if left else 0, right[-1] if right else 0]
            assert guide.counts[place].tolist() == [len(left), len(right)]
            linked = {*left, *right, *([heads[place]] if place else [])}
            assert guide.near[place].tolist() == [len({x for x in linked if x < y}) for y in range(n + 2)]
    nothing = make_guide(None)
    assert [len(array) for array in nothing] == [1, 1, 1, 1, 1]


def test_rows_of_the_reference_are_those_of_the_kernels() -> None:
    assert len(Atoms._fields) == COLUMNS and Atoms._fields.index("long") == LONG and Atoms._fields.index("p") == TAG


@pytest.mark.parametrize("guided", [False, True], ids=["unguided", "guided"])
def test_unlikely_links_are_not_scored(guided: bool) -> None:
    """The best heads of each dependent, and the root, get their normal scores; all others are UNLIKELY."""
    several = cases(guided, 9)
    table, by_place, _ = some_weights(several, 10)
    left_out = 0
    for case in several:
        n = case.n
        scores, some = np.full((n + 1, n + 1), 77.0), np.full((n + 1, n + 1), 77.0)
        score_links(case.atoms, guide_of(case), table.rows, by_place, ALL_LINKS, scores)
        for most in (1, 2, n + 5):
            allowed = select_heads(scores, most)
            score_links(case.atoms, guide_of(case), table.rows, by_place, allowed, some)
            for d in range(1, n + 1):
                heads = [head for head in range(n + 1) if head != d]
                least = sorted((scores[head, d] for head in heads), reverse=True)[:most][-1]
                for head in heads:
                    likely = head == 0 or scores[head, d] >= least
                    assert allowed[head, d] == likely
                    assert some[head, d] == (scores[head, d] if likely else UNLIKELY)
                    left_out += not likely
    assert left_out > 20
