"""Attachment scores, with a separate sentence for each count."""

from __future__ import annotations

import pytest

from spacy_dtparse.errors import TreeError
from spacy_dtparse.scoring import paired_bootstrap
from spacy_dtparse.scoring.attachment import AttachmentReport, AttachmentTotals

GOLD, LABELS = [1, -1, 1, 1], ["nsubj", "root", "obj", "punct"]
NONE, LAST = [False] * 4, [False, False, False, True]


def report(heads: list[int], labels: list[str] = LABELS, marks: list[bool] = LAST) -> AttachmentReport:
    made = AttachmentReport()
    made.add(GOLD, heads, marks, LABELS, labels)
    return made


def test_a_right_tree() -> None:
    found = report(GOLD)
    assert found.everything == AttachmentTotals(4, 4, 4, 1, 1, 1)
    assert found.words == AttachmentTotals(3, 3, 3, 1, 1, 1)
    assert found.roots == 1 and found.counts == [(3, 3, 3)]


def test_a_wrong_head_is_wrong_whatever_its_label() -> None:
    found = report([1, -1, 0, 1])
    assert found.everything == AttachmentTotals(4, 3, 3, 1, 0, 0)
    assert found.words == AttachmentTotals(3, 2, 2, 1, 0, 0) and found.counts == [(2, 3, 3)]


def test_a_wrong_label_does_not_touch_the_head() -> None:
    found = report(GOLD, ["obj", "root", "obj", "punct"])
    assert found.everything == AttachmentTotals(4, 4, 3, 1, 1, 0)
    assert found.words == AttachmentTotals(3, 3, 2, 1, 1, 0)


def test_errors_of_punctuation_do_not_count_among_words() -> None:
    found = report([1, -1, 1, 0], ["nsubj", "root", "obj", "dep"])
    assert found.everything == AttachmentTotals(4, 3, 3, 1, 0, 0)
    assert found.words == AttachmentTotals(3, 3, 3, 1, 1, 1)
    assert report([1, -1, 1, 0], marks=NONE).words == AttachmentTotals(4, 3, 3, 1, 0, 0)


def test_without_labels_on_either_side_none_is_right() -> None:
    for gold_labels, labels in (([], LABELS), (LABELS, []), ([], [])):
        made = AttachmentReport()
        made.add(GOLD, GOLD, LAST, gold_labels, labels)
        assert made.everything == AttachmentTotals(4, 4, 0, 1, 1, 0)


def test_roots_in_either_numbering() -> None:
    assert report([-1, 0, 1, 1]).roots == 0 and report([1, -1, 0, 0]).roots == 1
    made = AttachmentReport()
    made.add([2, 0, 2], [2, 0, 1], [False] * 3)
    made.add([2, 0, 2], [0, 1, 2], [False] * 3)
    assert made.roots == 1 and made.to_dict()["root_accuracy"] == 0.5


def test_a_sentence_of_punctuation_does_not_count_among_words() -> None:
    made = AttachmentReport()
    made.add([-1, 0], [1, -1], [True, True])
    assert made.everything == AttachmentTotals(2, 0, 0, 1, 0, 0)
    assert made.words == AttachmentTotals() and made.counts == [(0, 0, 0)] and made.roots == 0
    assert made.to_dict()["without_punctuation"]["uas"] == 0.0


def test_counts_add_up() -> None:
    made = AttachmentReport()
    made.add(GOLD, GOLD, LAST, LABELS, LABELS)
    made.add(GOLD, [1, -1, 0, 0], LAST, LABELS, LABELS)
    assert made.to_dict() == {
        "all": {"uas": 6 / 8, "las": 6 / 8, "complete": 0.5, "complete_labelled": 0.5, "tokens": 8, "sentences": 2},
        "without_punctuation": {
            "uas": 5 / 6,
            "las": 5 / 6,
            "complete": 0.5,
            "complete_labelled": 0.5,
            "tokens": 6,
            "sentences": 2,
        },
        "root_accuracy": 1.0,
    }
    assert made.line() == (
        "UAS 75.00 LAS 75.00 complete 50.0; without punctuation UAS 83.33 LAS 83.33 complete 50.0; root 100.0"
    )
    assert AttachmentReport().to_dict()["all"]["uas"] == AttachmentReport().to_dict()["root_accuracy"] == 0.0


def test_counts_have_the_format_of_the_bootstrap() -> None:
    worse, better = AttachmentReport(), AttachmentReport()
    for heads in ([1, -1, 0, 1], GOLD, [1, -1, 0, 0]):
        worse.add(GOLD, heads, NONE)
        better.add(GOLD, GOLD, NONE)
    result = paired_bootstrap(better.counts, worse.counts, samples=50)
    assert result.difference == pytest.approx(1 - 9 / 12) and result.sentences == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1, -1], NONE, LABELS, LABELS), "2 heads for 4 gold heads; give one for each token"),
        ((GOLD, [True], LABELS, LABELS), "1 marks of punctuation for 4 gold heads"),
        ((GOLD, NONE, ["root"], LABELS), "1 gold labels for 4 tokens; give one for each, or none at all"),
        ((GOLD, NONE, LABELS, ["root"]), "1 labels for 4 tokens"),
    ],
)
def test_lengths_are_checked(given: tuple, message: str) -> None:
    made = AttachmentReport()
    with pytest.raises(TreeError, match=message):
        made.add(GOLD, *given)
    assert made == AttachmentReport(), "nothing was counted"
