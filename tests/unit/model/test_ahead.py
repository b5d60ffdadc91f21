"""The kernels that are compiled ahead are those that a parse wants."""

from __future__ import annotations

from spacy_dtparse.kernels.score import score_windows
from spacy_dtparse.model.ahead import compile_scorer
from spacy_dtparse.parsers.dtree import DtreeParser
from tests.unit.kernels.harness import KERNEL_MARKS, hand_made

pytestmark = KERNEL_MARKS


def test_a_parse_compiles_no_other_variant():
    compile_scorer()
    before = list(getattr(score_windows, "signatures", []))
    DtreeParser(hand_made("shift_reduce", seed=1).model).parse(["a", "cat"], ["DT", "NN"])
    assert list(getattr(score_windows, "signatures", [])) == before
