"""Labels of links: features against the readable reference, and the label with the greatest sum."""

from __future__ import annotations

import numpy as np

from spacy_dtparse.bpm_parser.kernels.link_labels import label_links
from spacy_dtparse.bpm_parser.kernels.links import LONG, make_guide
from spacy_dtparse.linear.kernels.feature_table import PairTable, make_slots, pack_pair
from tests.bpm_parser.kernels.link_cases import (
    Case,
    cases,
    check_shared,
    keys_of,
    label_key_lists,
    label_lists,
    paired,
    random_case,
    random_tree,
)
from tests.jit.harness import KERNEL_MARKS, SLOW

pytestmark = KERNEL_MARKS


def labelled_cases() -> list[Case]:
    """Each sentence several times, with other trees."""
    rng, found = np.random.default_rng(11), []
    for case in cases(False, 12) * (2 if SLOW else 6):
        found.append(case._replace(tree=random_tree(case.n, rng)))
    return found


def test_label_keys_are_shared_where_features_are() -> None:
    keys, features = label_lists(labelled_cases())
    check_shared(keys, features)
    found = paired(keys, features)
    assert len(found) > (200 if SLOW else 1000) and 0 not in found.values()
    unknown = labelled_cases()[2]
    unknown.atoms[:, :LONG] = 0
    assert label_key_lists(unknown) == [[]] * unknown.n


def test_keys_of_labels_are_none_of_links() -> None:
    several = cases(True)
    links = {key for case in several for key in keys_of(case, dict(enumerate(case.tree[1:], 1)))}
    assert not links & {key for case in several for own in label_key_lists(case) for key in own}


def test_a_link_gets_the_label_of_the_greatest_sum() -> None:
    several, n_labels, root = labelled_cases(), 5, 3
    keys, features = label_lists(several)
    key_of = paired(keys, features)
    table = np.unique(np.concatenate(list(keys.values())).astype(np.uint64))[::2]
    rng = np.random.default_rng(13)
    dense = rng.integers(-2, 3, (len(table), n_labels)) * (rng.random((len(table), n_labels)) < 0.3)
    rows, pair_labels = np.nonzero(dense)
    starts = np.zeros(len(table) + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=len(table)), out=starts[1:])
    weights = {key: dense[row] for row, key in enumerate(table.tolist())}
    tables = PairTable(*make_slots(table), starts, pack_pair(pair_labels, dense[rows, pair_labels].astype(np.int16)))
    ties = 0
    for number, case in enumerate(several):
        found = np.full(case.n + 1, -1, np.int32)
        label_links(case.atoms, make_guide(np.array(case.tree, np.int32)), tables, n_labels, root, found)
        assert found[0] == -1
        for d in range(1, case.n + 1):
            if case.tree[d] == 0:
                assert found[d] == root
                continue
            sums = np.zeros(n_labels)
            for one in features[number, d]:
                sums += weights.get(key_of[one], 0.0)
            sums[root] = -np.inf
            assert found[d] == int(np.argmax(sums)), "the first of equals"
            ties += int((sums == sums.max()).sum() > 1)
    assert ties or SLOW


def test_without_another_label_all_have_the_roots() -> None:
    case = random_case(3, np.random.default_rng(1), False)
    empty = PairTable(*make_slots(np.zeros(0, np.uint64)), np.zeros(1, np.int32), np.zeros(0, np.int32))
    found = np.full(4, -1, np.int32)
    label_links(case.atoms, make_guide(np.array(case.tree, np.int32)), empty, 1, 0, found)
    assert found.tolist() == [-1, 0, 0, 0]
