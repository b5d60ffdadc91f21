"""Learn head rules from the trees of a treebank, for languages and labels without a table.

A constituent has one head among its children. For each constituent label, EM estimates which child labels and tags are
heads and which are only siblings of heads: a child is more probable to be the head the more often its label is that of
a head and the less often that of a sibling. EM starts from constituents with one child, whose head is certain. So a
noun, which is often the only child of its phrase, precedes an adjective, which is not; and a preposition, which all its
phrases have, precedes the phrase next to it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from spacy_dtparse.text import raw_word
from spacy_dtparse.trees import TOP, HeadRules, Tree, base_label, head_rules

_ROUNDS = 20
_MIN_KNOWN = 0.5
"""A language's table is used if it has the labels of more than this fraction of a treebank's constituents."""
_MIN_HEAD_FRACTION = 0.002
"""A child label is listed if it has at least this fraction of the heads of a label."""
ChildSequences = Counter[tuple[str, ...]]


def rules_for(lang: str, trees: Sequence[Tree]) -> HeadRules:
    """The language's head rules if it has a table with the labels of the trees, else rules learned from the trees."""
    table = head_rules(lang)
    labels = Counter(base_label(label) for tree in trees for label in tree.labels[1:])
    known = sum(times for label, times in labels.items() if label in table.rules)
    return table if known > _MIN_KNOWN * labels.total() else learn_head_rules(trees)


def learn_head_rules(trees: Iterable[Tree]) -> HeadRules:
    """Learn head rules with one scan for each label of the trees. Tags whose words have neither letters nor digits are
    punctuation, which is a head only if there is nothing else."""
    trees = list(trees)
    marks = _punctuation(trees)
    children: defaultdict[str, ChildSequences] = defaultdict(Counter)
    for tree in trees:
        for label, sequences in zip(tree.labels, tree.child_lists(), strict=True):
            names = (base_label(tree.labels[c]) if c >= 0 else base_label(tree.tags[~c]) for c in sequences)
            if words := tuple(name for name in names if name not in marks):
                children[base_label(label)][words] += 1
    every = sum(children.values(), ChildSequences())
    rules: dict[str, Any] = {label: [_scan(sequences)] for label, sequences in sorted(children.items()) if label != TOP}
    return HeadRules.from_dict(
        {"rules": rules, "default": [_scan(every)], "candidate": [_scan(every)], "punctuation": sorted(marks)}
    )


def _punctuation(trees: Sequence[Tree]) -> set[str]:
    words: Counter[str] = Counter()
    signs: Counter[str] = Counter()
    for tree in trees:
        for word, tag in zip(tree.words, tree.tags, strict=True):
            (words if any(map(str.isalnum, raw_word(word))) else signs)[base_label(tag)] += 1
    return {tag for tag, times in signs.items() if times > words[tag]}


def _scan(sequences: ChildSequences) -> tuple[str, list[str]]:
    """The scan for constituents with these sequences of children and their counts."""
    only_children = Counter({names[0]: times for names, times in sequences.items() if len(names) == 1})
    several = {names: times for names, times in sequences.items() if len(names) > 1}
    every = Counter(name for names, times in sequences.items() for name in names for _ in range(times))
    heads = {name: only_children[name] + 0.5 for name in every}
    siblings = {name: every[name] - only_children[name] + 0.5 for name in every}
    for _ in range(_ROUNDS if several else 0):
        odds = {name: heads[name] / siblings[name] for name in every}
        heads, siblings = ({name: float(start) for name in every} for start in (0.5, 0.5))
        for name, times in only_children.items():
            heads[name] += times
        for names, times in several.items():
            total = sum(odds[name] for name in names)
            for name in names:
                part = times * odds[name] / total
                heads[name] += part
                siblings[name] += times - part
    odds = {name: heads[name] / siblings[name] for name in every}
    listed = [name for name in every if heads[name] >= _MIN_HEAD_FRACTION * sum(heads.values())]
    order = sorted(listed or every, key=lambda name: (-odds[name], name))
    return ("right" if _mostly_last(several, odds) else "left"), order


def _mostly_last(several: dict[tuple[str, ...], int], odds: dict[str, float]) -> bool:
    """Return whether heads are mostly nearer to the end, in constituents with a single most probable head."""
    balance = 0
    for names, times in several.items():
        best = max(names, key=odds.__getitem__)
        if names.count(best) == 1:
            position = names.index(best)
            balance += times * ((2 * position > len(names) - 1) - (2 * position < len(names) - 1))
    return balance > 0
