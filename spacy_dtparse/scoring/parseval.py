"""PARSEVAL scores of one sentence (Black et al. 1991), counted over multisets of brackets as EVALB does."""

from collections import Counter
from itertools import accumulate
from typing import NamedTuple
from unicodedata import category

from ..errors import TreeError
from ..trees.labels import EMPTY_TAG, TOP_LABELS, base_label
from ..trees.tree import Tree
from ..trees.universal import PARTS_OF_SPEECH


class Convention(NamedTuple):
    """Rules for which brackets and tokens count.

    `ignored_tags`: tokens with these tags are removed before spans are compared, with brackets over nothing else. If
    there are any, tokens whose tag is not in the Penn Treebank are removed as well if they are punctuation marks other
    than brackets.
    `equal`: label -> label it counts as. Under every convention root labels (TOP, ROOT, S1 …) and empty elements do not
    count, and function tags are ignored.
    """

    name: str
    ignored_tags: frozenset[str]
    equal: dict[str, str]


ALL = Convention("all", frozenset(), {})
"""Every bracket but the root; punctuation counts as tokens."""

EVALB = Convention("evalb", frozenset((",", ":", ".", "``", "''", "?", "!")), {"PRT": "ADVP"})
"""The rules of EVALB with its COLLINS.prm (and the ? ! of new.prm); -LRB- and -RRB- are not ignored."""

CONVENTIONS = (ALL, EVALB)
_BRACKETS = frozenset("()[]{}") | {f"-{side}{kind}B-" for side in "LR" for kind in "RSC"}


class SentenceScore(NamedTuple):
    """Counts for one sentence under one convention.

    `matched`, `gold`, `predicted`: labelled brackets; `unlabelled`: matched when labels are ignored. `crossing`:
    predicted brackets that cross some gold bracket. `tags`: tokens with the correct tag, out of `tokens`. `by_label`:
    label -> (matched, gold, predicted).
    """

    matched: int
    gold: int
    predicted: int
    unlabelled: int
    crossing: int
    tags: int
    tokens: int
    by_label: dict[str, tuple[int, int, int]]

    @property
    def exact(self) -> bool:
        """Whether all brackets are correct and none is missing."""
        return self.matched == self.gold == self.predicted


def score_sentence(gold: Tree, predicted: Tree, convention: Convention = ALL) -> SentenceScore:
    """Compare two trees over the same words.

    The gold tags determine the ignored tokens of both trees, so that, unlike in EVALB, a wrong tag never makes a
    sentence invalid. With equal tags there is no difference. Raises TreeError if the words differ (except for empty
    elements).
    """
    gold_tokens = [i for i, tag in enumerate(gold.tags) if tag != EMPTY_TAG]
    predicted_tokens = [i for i, tag in enumerate(predicted.tags) if tag != EMPTY_TAG]
    _check_words(gold, gold_tokens, predicted, predicted_tokens)
    counts = [not _is_ignored(gold.words[i], gold.tags[i], convention) for i in gold_tokens]
    gold_brackets = _brackets(gold, gold_tokens, counts, convention)
    predicted_brackets = _brackets(predicted, predicted_tokens, counts, convention)
    shared = gold_brackets & predicted_brackets
    by_label: dict[str, list[int]] = {}
    for column, brackets in enumerate((shared, gold_brackets, predicted_brackets)):
        for (_, _, label), count in brackets.items():
            by_label.setdefault(label, [0, 0, 0])[column] += count
    gold_spans, predicted_spans = _spans(gold_brackets), _spans(predicted_brackets)
    pairs = [
        (gold.tags[i], predicted.tags[j])
        for i, j, counted in zip(gold_tokens, predicted_tokens, counts, strict=True)
        if counted
    ]
    return SentenceScore(
        matched=shared.total(),
        gold=gold_brackets.total(),
        predicted=predicted_brackets.total(),
        unlabelled=(gold_spans & predicted_spans).total(),
        crossing=_crossing(gold_spans, predicted_spans, sum(counts)),
        tags=sum(a == b for a, b in pairs),
        tokens=len(pairs),
        by_label={label: (m, g, p) for label, (m, g, p) in sorted(by_label.items())},
    )


def _is_ignored(word: str, tag: str, convention: Convention) -> bool:
    if tag in PARTS_OF_SPEECH or tag in convention.ignored_tags or not convention.ignored_tags:
        return tag in convention.ignored_tags
    return word not in _BRACKETS and all(category(sign)[0] == "P" for sign in word)


def _check_words(gold: Tree, gold_tokens: list[int], predicted: Tree, predicted_tokens: list[int]) -> None:
    if len(gold_tokens) != len(predicted_tokens):
        raise TreeError(
            f"the gold tree has {len(gold_tokens)} tokens and the predicted one {len(predicted_tokens)} "
            f"(empty elements aside); score trees of the same sentence (gold: {' '.join(gold.words[:5])!r} …)"
        )
    for index, (i, j) in enumerate(zip(gold_tokens, predicted_tokens, strict=True)):
        if gold.words[i] != predicted.words[j]:
            raise TreeError(
                f"token {index} is {gold.words[i]!r} in gold and {predicted.words[j]!r} in the predicted "
                "tree; score trees of the same sentence, with words escaped in the same way"
            )


def _brackets(tree: Tree, kept_tokens: list[int], counts: list[bool], convention: Convention) -> Counter:
    """Return the multiset of (start, end, label) that count, in indices of counted tokens."""
    counting = [0] * len(tree.words)
    for i, counted in zip(kept_tokens, counts, strict=True):
        counting[i] = int(counted)
    before = list(accumulate(counting, initial=0))  # number of counted tokens before each position
    brackets: Counter = Counter()
    for start, end, raw_label in zip(tree.starts, tree.ends, tree.labels, strict=True):
        label = base_label(raw_label)
        if label not in TOP_LABELS and before[start] < before[end]:
            brackets[before[start], before[end], convention.equal.get(label, label)] += 1
    return brackets


def _spans(brackets: Counter) -> Counter:
    spans: Counter = Counter()
    for (start, end, _), count in brackets.items():
        spans[start, end] += count
    return spans


def _crossing(gold: Counter, predicted: Counter, n: int) -> int:
    """Count the predicted spans that overlap some gold span without one containing the other."""
    furthest = list(range(n + 1))  # the last end of a gold span that starts at a position
    nearest = list(range(n + 1))  # the first start of a gold span that ends at a position
    for start, end in gold:
        furthest[start] = max(furthest[start], end)
        nearest[end] = min(nearest[end], start)
    crossing = 0
    for (start, end), count in predicted.items():
        if end - start > 1 and (start, end) not in gold:
            if max(furthest[start + 1 : end]) > end or min(nearest[start + 1 : end]) < start:
                crossing += count
    return crossing
