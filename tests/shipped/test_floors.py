"""Minimum scores of the shipped models on sentences that are not in their training data, with the pipeline's tags.

The scores of the models, with the commands that measure them, are in docs/experiments/shipped.md.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from spacy.tokens import Doc

import spacy_dtparse
from spacy_dtparse.models import PARSERS
from spacy_dtparse.scoring import ParsevalReport
from training.data.corpus import read_treebank
from training.data.evaluate import tag_lists

pytestmark = pytest.mark.embedded

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SENTENCES = {"sample": 62, "everyday": 406}
"""Number of sentences in the development part of each treebank."""
MIN_F1 = {  # half a point below what was measured
    ("en_span", "sample"): 93.6,  # 94.11
    ("en_span", "everyday"): 98.0,  # 98.52
    ("en_dtparse", "sample"): 94.0,  # 94.34
    ("en_dtparse", "everyday"): 98.1,  # 98.61
    ("en_trees", "sample"): 89.4,  # 89.98
    ("en_trees", "everyday"): 93.8,  # 94.32
    ("en_dtparse_lg", "sample"): 93.3,  # 93.88
    ("en_dtparse_lg", "everyday"): 98.6,  # 99.00
    ("en_pcfgla", "sample"): 82.3,  # 82.89
    ("en_pcfgla", "everyday"): 83.9,  # 84.46
}
"""Minimum F1 of all constituents."""
MIN_EXACT, MIN_TAGS = 88.5, 98.2
"""Minimum percentages of correct trees and tags of en_span on the everyday trees."""
MIN_AGREEMENT = {"sample": 96.2, "everyday": 96.9}  # 96.78, 97.49
"""Minimum percentages of the phrases of en_span in which en_bpm has one word whose head is outside. No treebank of
everyday English has its dependencies."""


@cache
def pipeline(name: str):
    return spacy_dtparse.load(name)


@cache
def tagged(treebank: str) -> tuple[list, list]:
    """The sentences, and the tags that the pipeline gives them."""
    gold = read_treebank(ASSETS / treebank / "dev.mrg")
    assert len(gold) == SENTENCES[treebank]
    return gold, tag_lists(pipeline("en_span"), (sentence.tree.words for sentence in gold))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "treebank"),
    [
        pytest.param(*key, marks=[pytest.mark.slow] if key[0] in ("en_pcfgla", "en_dtparse_lg") else [])
        for key in MIN_F1
    ],
)
def test_constituents(name: str, treebank: str) -> None:
    gold, tags = tagged(treebank)
    parser = pipeline(name).get_pipe(PARSERS[name]).parser
    report = ParsevalReport(strict=True)
    for sentence, row in zip(gold, tags, strict=True):
        report.add(sentence.tree, parser.parse(sentence.tree.words, row).tree)
    scores = report.to_dict()["all"]
    assert 100 * scores["f1"] >= MIN_F1[name, treebank]
    if (name, treebank) == ("en_span", "everyday"):
        right = sum(a == b for s, row in zip(gold, tags, strict=True) for a, b in zip(s.tree.tags, row, strict=True))
        assert 100 * scores["exact_match"] >= MIN_EXACT
        assert 100 * right / sum(map(len, tags)) >= MIN_TAGS


@pytest.mark.slow
@pytest.mark.parametrize("treebank", MIN_AGREEMENT)
def test_dependencies(treebank: str) -> None:
    nlp = pipeline("en_bpm")
    words = [sentence.tree.words for sentence in tagged(treebank)[0]]
    docs = [Doc(nlp.vocab, words=list(row), sent_starts=[True] + [False] * (len(row) - 1)) for row in words]
    found = [spacy_dtparse.head_consistency(doc) for doc in nlp.pipe(docs)]
    connected, phrases = sum(one.connected for one in found), sum(one.constituents for one in found)
    assert 100 * connected / phrases >= MIN_AGREEMENT[treebank]
