"""Keys of features are part of model files: those of a fixed sentence must not change. Changing them requires another
version of the models' format, and the shipped models must be trained again."""

from __future__ import annotations

import hashlib

import numpy as np

from spacy_dtparse.bpm_parser.kernels.links import COLUMNS, KIND, LONG
from tests.jit.harness import KERNEL_MARKS

from ..bpm_parser.kernels.link_cases import Case, keys_of, label_key_lists

pytestmark = KERNEL_MARKS

HEADS = (-1, 2, 0, 2, 3, 2, 2, 9, 9, 2, 2, 4, 4, 4, 4)
GUIDE = (-1, 0, 1, 5, 3, 1, 5, 5, 7, 8, 5, 5, 10, 10, 5)


def fixed_case() -> Case:
    """A case computed by arithmetic; some heads have five dependents on a side."""
    n = len(HEADS) - 1
    rows = [[4 + (7 * row + 3 * column) % 23 for column in range(COLUMNS)] for row in range(n + 3)]
    for number, row in enumerate(rows):
        row[LONG], row[KIND] = number % 2, number % 4
    labels = tuple(2 + (3 * d) % 7 for d in range(n + 1))
    return Case(np.array(rows, np.int32), HEADS, GUIDE, labels)


def digest(numbers: list) -> str:
    return hashlib.sha256(repr(numbers).encode()).hexdigest()[:16]


def test_keys_of_links_and_labels_stay() -> None:
    case = fixed_case()
    links = dict(enumerate(HEADS[1:], 1))
    assert digest(sorted(keys_of(case, links))) == "41ca133cb71e8982"
    assert digest(sorted(keys_of(case._replace(guide=None, labels=None), links))) == "87f355c7e4f0d57a"
    assert digest([sorted(own) for own in label_key_lists(case)]) == "e25ffb0c0571465e"
