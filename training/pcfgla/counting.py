"""Rule counts of binarised trees, relative frequencies, smoothing of the rules of parts, and emission probabilities.

Emissions: a word that occurs only a few times has not occurred with all its tags. So `unseen_weight` tokens are added
to its counts, distributed like the tags of rare words with the same signature; words that occur at least OFTEN times
are not smoothed. The symbols of one tag (NN below NP, NN below ADJP) are smoothed towards the tag's distribution, each
with a Dirichlet prior of weight `variant_weight`. So every symbol's probabilities sum to 1 over all classes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spacy_dtparse.dtypes import INDEX, OFFSET, SCORE
from spacy_dtparse.errors import ConfigError
from spacy_dtparse.pcfgla.features import UNKNOWN, WordClasses
from spacy_dtparse.pcfgla.model.latent_part import Emissions

from .binarise import PART, TAG, BinaryTree, Markov, Symbol

Rule = tuple[Symbol, ...]
"""Parent, left child and, unless it is a unary rule, right child."""

ANY = "*any*"
"""Placeholder in a symbol for the label that smoothing abstracts from."""

OFTEN = 50


@dataclass
class RuleCounts:
    """Counts: `rules`: of each rule that expands a constituent or a part; `tokens`: of (tag symbol, word class)."""

    rules: Counter[Rule] = field(default_factory=Counter)
    tokens: Counter[tuple[Symbol, int]] = field(default_factory=Counter)

    def add(self, tree: BinaryTree, classes: Sequence[int]) -> None:
        """Count the rules of a tree and the classes of its words."""
        for symbol, left, right, token in zip(*tree, strict=True):
            if token >= 0:
                self.tokens[symbol, classes[token]] += 1
            else:
                children = (tree.symbols[child] for child in (left, right) if child >= 0)
                self.rules[(symbol, *children)] += 1

    def frequencies(self, symbols: Sequence[Symbol]) -> np.ndarray:
        """The relative frequency of each symbol among all nodes of the trees, float64 (S,)."""
        nodes: Counter[Symbol] = Counter()
        for rule, count in self.rules.items():
            nodes[rule[0]] += count
        for (symbol, _), count in self.tokens.items():
            nodes[symbol] += count
        return np.array([nodes[symbol] for symbol in symbols], dtype=SCORE) / max(sum(nodes.values()), 1)

    def coarse(self) -> RuleCounts:
        """The counts projected to vertical order 1 and horizontal order 0."""
        found = RuleCounts()
        for rule, count in self.rules.items():
            found.rules[tuple(symbol.coarse() for symbol in rule)] += count
        for (symbol, class_id), count in self.tokens.items():
            found.tokens[symbol.coarse(), class_id] += count
        return found


def relative_frequencies(counts: Mapping[Rule, float]) -> dict[Rule, float]:
    """The probability of each rule given its parent, by maximum likelihood."""
    totals: dict[Symbol, float] = defaultdict(float)
    for rule, count in counts.items():
        totals[rule[0]] += count
    return {rule: count / totals[rule[0]] for rule, count in counts.items()}


def smoothed_frequencies(counts: Mapping[Rule, float], markov: Markov, strength: float) -> dict[Rule, float]:
    """`relative_frequencies`, with the rules of each part smoothed towards those of the same part in other contexts.

    The part of NP below S and the part of NP below VP have similar sequences of children. So a part's distribution has
    a Dirichlet prior of weight `strength`, whose mean is the distribution that ignores the uppermost noted label. Rules
    that only the prior contributes can lead to unseen parts; their distribution is the mean. Without noted labels
    (vertical order 1) nothing changes. Raises ConfigError for a negative strength, and if the vertical order of parts
    of speech is higher than that of constituents.
    """
    if not strength >= 0.0:
        raise ConfigError(f"smoothing of {strength!r}; give 0 for none, or the weight of the prior")
    found = relative_frequencies(counts)
    if strength == 0.0 or markov.vertical == 1:
        return found
    if markov.tag_vertical > markov.vertical:
        raise ConfigError(
            f"tag_vertical {markov.tag_vertical} is above vertical {markov.vertical}: parts cannot be smoothed then; "
            "make it smaller, or set smoothing to 0"
        )
    width = markov.vertical - (markov.binarisation != "center-head")  # labels noted in full
    open_counts: dict[Rule, float] = defaultdict(float)
    of_part: dict[Symbol, dict[Rule, float]] = defaultdict(dict)
    for rule, count in counts.items():
        if rule[0].kind == PART:
            of_part[rule[0]][rule] = count
            if len(rule[0].above) == width:
                open_counts[_noting(rule, width, ANY)] += count
    means: dict[Symbol, dict[Rule, float]] = defaultdict(dict)
    for rule, share in sorted(relative_frequencies(open_counts).items()):
        means[rule[0]][rule] = share
    todo = sorted(symbol for symbol in of_part if len(symbol.above) == width)
    done = set(todo)
    while todo:
        part = todo.pop()
        part_counts = of_part.get(part, {})
        total = sum(part_counts.values()) + strength
        for rule, share in means[_noting((part,), width, ANY)[0]].items():
            closed = _noting(rule, width, part.above[-1])
            found[closed] = (part_counts.get(closed, 0.0) + strength * share) / total
            new = [symbol for symbol in closed[1:] if symbol.kind == PART and symbol not in done]
            done.update(new)
            todo += new
    return found


def _noting(rule: Rule, width: int, label: str) -> Rule:
    """Replace the uppermost label of the parts of a rule that note `width` labels."""
    return tuple(
        s._replace(above=(*s.above[:-1], label)) if s.kind == PART and len(s.above) == width else s for s in rule
    )


def smoothed_tag_counts(
    counts: Mapping[tuple[str, int], float], words: WordClasses, unseen_weight: float
) -> dict[int, dict[str, float]]:
    """Smoothed counts, class -> tag -> tokens, from counts of (tag, class)."""
    by_class: dict[int, dict[str, float]] = defaultdict(dict)
    all_tags: Any = Counter()
    for (tag, class_id), count in sorted(counts.items()):
        by_class[class_id][tag] = count
        all_tags[tag] += count
    rare: Any = Counter()
    for class_id, tags in by_class.items():
        if words.classes[class_id].startswith("*"):
            rare.update(tags)
    rare = rare or all_tags
    for class_id in range(len(words)):
        total = sum(by_class[class_id].values())
        name = words.classes[class_id]
        prior = rare
        if total < OFTEN and not name.startswith("*"):
            prior = by_class.get(words.signature_id(name, False)) or rare
        elif total and name != UNKNOWN:
            continue
        prior_total = sum(prior.values())
        new: Any = Counter({tag: unseen_weight * count / prior_total for tag, count in prior.items()})
        new.update(by_class[class_id])
        by_class[class_id] = new
    return by_class


def emissions(
    counts: Mapping[tuple[Symbol, int], float],
    symbols: Sequence[Symbol],
    words: WordClasses,
    unseen_weight: float,
    variant_weight: float,
) -> Emissions:
    """The emission probabilities of all tag symbols among `symbols`, from counts of (symbol, class)."""
    plain: dict[tuple[str, int], float] = defaultdict(float)
    of_symbol: dict[Symbol, float] = defaultdict(float)
    for (symbol, class_id), count in counts.items():
        plain[symbol.label, class_id] += count
        of_symbol[symbol] += count
    shares = smoothed_tag_counts(plain, words, unseen_weight)
    totals: Any = Counter()
    for tags in shares.values():
        totals.update(tags)
    variants: dict[str, list[int]] = defaultdict(list)
    floor = np.full(len(symbols), np.nan, dtype=SCORE)
    for i, symbol in enumerate(symbols):
        if symbol.kind == TAG:
            variants[symbol.label].append(i)
            floor[i] = np.log(0.5 / (totals[symbol.label] + 1.0))
    from_class, entries, weights = np.zeros(len(words) + 1, dtype=OFFSET), [], []
    for class_id in range(len(words)):
        found = {}
        for tag, share in shares[class_id].items():
            probability = share / totals[tag]
            for i in variants[tag]:
                symbol, prior = symbols[i], variant_weight * probability
                value = (counts.get((symbol, class_id), 0.0) + prior) / (of_symbol[symbol] + variant_weight)
                found[i] = probability if len(variants[tag]) == 1 else value
        entries += sorted(found)
        weights += [found[i] for i in sorted(found)]
        from_class[class_id + 1] = len(entries)
    return Emissions(from_class, np.array(entries, dtype=INDEX), np.log(np.array(weights, dtype=SCORE)), floor)
