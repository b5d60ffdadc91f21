"""Attachment scores of dependency trees: heads, labels, roots, complete trees, with and without punctuation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import TreeError
from .report import ratio


@dataclass
class AttachmentTotals:
    """Additive counts: tokens, those with the correct head, and those with the correct head and label; sentences, those
    without a wrong head, and those without a wrong head or label."""

    tokens: int = 0
    heads: int = 0
    labelled: int = 0
    sentences: int = 0
    complete: int = 0
    complete_labelled: int = 0

    def add(self, tokens: Sequence[tuple[bool, bool]]) -> None:
        """Count a sentence, unless it is empty; `tokens`: (correct head, correct head and label) of each."""
        heads, labelled = sum(head for head, _ in tokens), sum(with_label for _, with_label in tokens)
        self.tokens += len(tokens)
        self.heads += heads
        self.labelled += labelled
        if tokens:
            self.sentences += 1
            self.complete += heads == len(tokens)
            self.complete_labelled += labelled == len(tokens)

    def to_dict(self) -> dict[str, float | int]:
        """Return rates in [0, 1] (0 if the denominator is 0) and counts."""
        return {
            "uas": ratio(self.heads, self.tokens),
            "las": ratio(self.labelled, self.tokens),
            "complete": ratio(self.complete, self.sentences),
            "complete_labelled": ratio(self.complete_labelled, self.sentences),
            "tokens": self.tokens,
            "sentences": self.sentences,
        }


@dataclass
class AttachmentReport:
    """Attachment scores of a corpus: `everything` counts all tokens, `words` excludes punctuation (and sentences of
    punctuation alone). `roots`: number of sentences with the correct root. `counts`: for each sentence (correct heads,
    tokens, tokens) without punctuation, in the format of `paired_bootstrap`."""

    everything: AttachmentTotals = field(default_factory=AttachmentTotals)
    words: AttachmentTotals = field(default_factory=AttachmentTotals)
    roots: int = 0
    counts: list[tuple[int, int, int]] = field(default_factory=list)

    def add(
        self,
        gold_heads: Sequence[int],
        heads: Sequence[int],
        punctuation: Sequence[bool],
        gold_labels: Sequence[str] = (),
        labels: Sequence[str] = (),
    ) -> None:
        """Count one sentence. Heads may have any numbering, the same for both trees, in which the head of the root is
        not the number of a token. If labels are missing on either side, none counts as correct. Raises TreeError if
        lengths differ."""
        n = len(gold_heads)
        for what, column in (("heads", heads), ("marks of punctuation", punctuation)):
            if len(column) != n:
                raise TreeError(f"{len(column)} {what} for {n} gold heads; give one for each token")
        for what, names in (("gold labels", gold_labels), ("labels", labels)):
            if len(names) not in (0, n):
                raise TreeError(f"{len(names)} {what} for {n} tokens; give one for each, or none at all")
        right = [gold == found for gold, found in zip(gold_heads, heads, strict=True)]
        with_label = [False] * n
        if gold_labels and labels:
            with_label = [r and gold == found for r, gold, found in zip(right, gold_labels, labels, strict=True)]
        words = [index for index, mark in enumerate(punctuation) if not mark]
        self.everything.add([*zip(right, with_label, strict=True)])
        self.words.add([(right[index], with_label[index]) for index in words])
        self.counts.append((sum(right[index] for index in words), len(words), len(words)))
        self.roots += _roots(gold_heads) == _roots(heads)

    def to_dict(self) -> dict[str, Any]:
        """Return the scores with and without punctuation, and `root_accuracy` in [0, 1] per sentence."""
        return {
            "all": self.everything.to_dict(),
            "without_punctuation": self.words.to_dict(),
            "root_accuracy": ratio(self.roots, len(self.counts)),
        }

    def line(self) -> str:
        """Format the main scores in per cent, in one line."""
        scores = self.to_dict()
        everything, words = scores["all"], scores["without_punctuation"]
        return (
            f"UAS {100 * everything['uas']:.2f} LAS {100 * everything['las']:.2f} complete "
            f"{100 * everything['complete']:.1f}; without punctuation UAS {100 * words['uas']:.2f} LAS "
            f"{100 * words['las']:.2f} complete {100 * words['complete']:.1f}; root "
            f"{100 * scores['root_accuracy']:.1f}"
        )


def _roots(heads: Sequence[int]) -> list[int]:
    """Return the tokens whose head is not a token: negative, or 0 if numbering starts at 1."""
    lowest = min(heads, default=0)
    return [index for index, head in enumerate(heads) if head == lowest and lowest <= 0]
