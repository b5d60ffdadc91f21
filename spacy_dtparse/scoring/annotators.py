"""Agreement of two annotators of the same sentences: brackets, labels and tags of two lists of trees."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from ..trees.labels import TOP_LABELS
from ..trees.tree import Tree
from .report import f1, ratio

MAX_PAIRS = 10
"""Maximum number of pairs of labels that a table lists."""


class Pair(NamedTuple):
    """The trees of two annotators for a sentence; None for one who does not have it."""

    first: Tree | None
    second: Tree | None

    @property
    def is_same(self) -> bool:
        """Whether both have the same tree with the same tags."""
        return self.first is not None and self.first == self.second


def align_trees(first: Iterable[Tree], second: Iterable[Tree]) -> list[Pair]:
    """Return the trees of two annotators by sentence: in the order of the first, then those that only the second has.

    Two trees belong together if their texts without white space are equal, so tokens may differ. The n-th tree of a
    text belongs to the n-th of the other annotator.
    """
    others: dict[str, deque[int]] = defaultdict(deque)
    second = list(second)
    for index, tree in enumerate(second):
        others["".join(tree.words)].append(index)
    pairs, used = [], set()
    for tree in first:
        same = others["".join(tree.words)]
        found = same.popleft() if same else None
        used.add(found)
        pairs.append(Pair(tree, None if found is None else second[found]))
    return pairs + [Pair(None, tree) for index, tree in enumerate(second) if index not in used]


def brackets(tree: Tree) -> Counter[tuple[int, int, str]]:
    """Return the constituents of a tree without its root, each as first and last character of the text without white
    space, and label, with function labels."""
    edges = _edges(tree)
    return Counter((edges[start], edges[end], label) for start, end, label in tree.spans() if label not in TOP_LABELS)


def differing_constituents(tree: Tree, other: Tree) -> list[int]:
    """Return the indices of the constituents of a tree that another one of the same text does not have."""
    left, edges, found = brackets(other), _edges(tree), []
    for index, (start, end, label) in enumerate(tree.spans()):
        one = edges[start], edges[end], label
        if label in TOP_LABELS:
            continue
        if left[one]:
            left[one] -= 1
        else:
            found.append(index)
    return found


class AnnotatorAgreement:
    """Counts of the agreement of two annotators, over the sentences that both have.

    `brackets`: constituents of the first, of the second, of both, without roots; `by_label`: the same for each label;
    `unlabelled`: those of both if labels are ignored; `tags`: tokens of both, and those of them with the same tag;
    `same_trees`: sentences without any difference; `only`: sentences that only the first, or the second, has;
    `chains`: for the same words, the labels of the first and of the second from top to bottom, with their number.
    """

    def __init__(self, pairs: Iterable[Pair]):
        self.sentences = self.same_trees = self.unlabelled = 0
        self.only, self.tags, self.brackets = [0, 0], [0, 0], [0, 0, 0]
        self.by_label: dict[str, list[int]] = {}
        self.chains: Counter[tuple[str, str]] = Counter()
        for pair in pairs:
            if pair.first is None or pair.second is None:
                self.only[pair.first is None] += 1
            else:
                self._add(pair.first, pair.second)
                self.same_trees += pair.is_same

    def _add(self, first: Tree, second: Tree) -> None:
        self.sentences += 1
        ours, theirs = brackets(first), brackets(second)
        for column, counted in enumerate((ours, theirs, ours & theirs)):
            self.brackets[column] += counted.total()
            for (_, _, label), count in counted.items():
                self.by_label.setdefault(label, [0, 0, 0])[column] += count
        self.unlabelled += (_extents(ours) & _extents(theirs)).total()
        chains = [_chains(first), _chains(second)]
        self.chains.update((chains[0][span], chains[1][span]) for span in chains[0].keys() & chains[1].keys())
        tags = [dict(zip(pairwise(_edges(one)), one.tags, strict=True)) for one in (first, second)]
        shared = tags[0].keys() & tags[1].keys()
        self.tags[0] += len(shared)
        self.tags[1] += sum(tags[0][token] == tags[1][token] for token in shared)

    @property
    def kappa(self) -> float:
        """Cohen's kappa of the labels over the words that both make a constituent; 1 if both use one label only."""
        total = self.chains.total()
        first_counts, second_counts = Counter[str](), Counter[str]()
        for (ours, theirs), count in self.chains.items():
            first_counts[ours] += count
            second_counts[theirs] += count
        expected = (
            sum(count * second_counts[label] for label, count in first_counts.items()) / total**2 if total else 1.0
        )
        same = sum(count for (ours, theirs), count in self.chains.items() if ours == theirs)
        return (same / total - expected) / (1 - expected) if expected < 1 else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return rates in [0, 1] and counts as plain data; labels by descending number, then pairs of labels that the
        annotators gave to the same words."""
        first, second, both = self.brackets
        differing = Counter({pair: count for pair, count in self.chains.items() if pair[0] != pair[1]})
        return {
            "sentences": self.sentences,
            "same_trees": self.same_trees,
            "only_first": self.only[0],
            "only_second": self.only[1],
            "first": first,
            "second": second,
            "both": both,
            "f1": _f1(first, second, both),
            "unlabelled_f1": _f1(first, second, self.unlabelled),
            "kappa": self.kappa,
            "tokens": self.tags[0],
            "same_tags": ratio(self.tags[1], self.tags[0]),
            "labels": {
                label: {"first": a, "second": b, "both": same, "f1": _f1(a, b, same)}
                for label, (a, b, same) in sorted(self.by_label.items(), key=lambda one: (-sum(one[1]), one[0]))
            },
            "pairs": [
                {"first": ours, "second": theirs, "count": count}
                for (ours, theirs), count in sorted(differing.items(), key=lambda one: (-one[1], one[0]))
            ],
        }

    def to_table(self, names: Sequence[str] = ("first", "second")) -> str:
        """Format a text table. `names`: of the annotators."""
        return format_agreement(self.to_dict(), names)


def format_agreement(data: Mapping[str, Any], names: Sequence[str]) -> str:
    """Format the plain data of an agreement as a text table."""
    ours, theirs = names
    n = data["sentences"]
    lines = [
        f"sentences of both: {n}, {data['same_trees']} with the same tree ({100 * ratio(data['same_trees'], n):.1f} %)",
        f"only of {ours}: {data['only_first']}, only of {theirs}: {data['only_second']}",
        f"constituents: {data['first']} and {data['second']}, {data['both']} the same; F1 {100 * data['f1']:.2f}, "
        f"without labels {100 * data['unlabelled_f1']:.2f}",
        f"labels over the same words: kappa {data['kappa']:.3f}",
        f"tags: {100 * data['same_tags']:.2f} % of {data['tokens']} tokens the same",
        "",
        f"{'label':12}{'first':>8}{'second':>8}{'both':>8}{'F1':>8}",
    ]
    for label, one in data["labels"].items():
        lines.append(f"{label:12}{one['first']:8}{one['second']:8}{one['both']:8}{100 * one['f1']:8.2f}")
    if data["pairs"]:
        lines += ["", "different labels over the same words, the first's and the second's:"]
        lines += [f"{one['count']:6}  {one['first']} / {one['second']}" for one in data["pairs"][:MAX_PAIRS]]
    return "\n".join(lines)


def _f1(first: int, second: int, both: int) -> float:
    """Return the F1 of two annotators; it is the same for both as gold, and 1 if neither has any."""
    return f1(both, first, second) if first + second else 1.0


def _edges(tree: Tree) -> list[int]:
    """Return the first character of each token, and the end of the last one, in the text without white space."""
    return [0, *accumulate(map(len, tree.words))]


def _extents(counted: Counter[tuple[int, int, str]]) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for (start, end, _), count in counted.items():
        found[start, end] += count
    return found


def _chains(tree: Tree) -> dict[tuple[int, int], str]:
    """Return the labels over each extent of a tree, from top to bottom."""
    edges, found = _edges(tree), defaultdict[tuple[int, int], list[str]](list)
    for start, end, label in tree.spans():
        if label not in TOP_LABELS:
            found[edges[start], edges[end]].append(label)
    return {extent: " ".join(labels) for extent, labels in found.items()}
