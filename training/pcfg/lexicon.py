"""Emission probabilities: how likely a symbol of a part of speech is to have a word of each class.

A word that was seen a few times has not shown all its tags. Its counts get `unseen_weight` tokens more, spread as the
tags of rare words of the same signature are; words seen OFTEN times or more have shown what they are. The symbols of
one tag (NN below NP, NN below ADJP) share the tag's distribution: each leans on it with a Dirichlet prior of
`variant_weight`. So every symbol's probabilities sum to 1 over all classes.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spacy_dtparse.dtypes import INDEX, OFFSET, SCORE
from spacy_dtparse.features.pcfg.wordclasses import UNKNOWN, WordClasses
from spacy_dtparse.model.pcfg.latent_part import Emissions

from .binarise import TAG, Symbol

OFTEN = 50


def tag_shares(
    counts: Mapping[tuple[str, int], float], words: WordClasses, unseen_weight: float
) -> dict[int, dict[str, float]]:
    """Smoothed counts class -> tag -> tokens from counts of (tag, class)."""
    by_class: dict[int, dict[str, float]] = defaultdict(dict)
    all_tags: Any = Counter()
    for (tag, number), count in sorted(counts.items()):
        by_class[number][tag] = count
        all_tags[tag] += count
    rare: Any = Counter()
    for number, tags in by_class.items():
        if words.classes[number].startswith("*"):
            rare.update(tags)
    rare = rare or all_tags
    for number in range(len(words)):
        total = sum(by_class[number].values())
        name = words.classes[number]
        prior = rare
        if total < OFTEN and not name.startswith("*"):
            prior = by_class.get(words.signature_number(name, False)) or rare
        elif total and name != UNKNOWN:
            continue
        whole = sum(prior.values())
        new: Any = Counter({tag: unseen_weight * count / whole for tag, count in prior.items()})
        new.update(by_class[number])
        by_class[number] = new
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
    for (symbol, number), count in counts.items():
        plain[symbol.label, number] += count
        of_symbol[symbol] += count
    shares = tag_shares(plain, words, unseen_weight)
    totals: Any = Counter()
    for tags in shares.values():
        totals.update(tags)
    variants: dict[str, list[int]] = defaultdict(list)
    floor = np.full(len(symbols), np.nan, dtype=SCORE)
    for place, symbol in enumerate(symbols):
        if symbol.kind == TAG:
            variants[symbol.label].append(place)
            floor[place] = np.log(0.5 / (totals[symbol.label] + 1.0))
    from_class, entries, weights = np.zeros(len(words) + 1, dtype=OFFSET), [], []
    for number in range(len(words)):
        found = {}
        for tag, share in shares[number].items():
            probability = share / totals[tag]
            for place in variants[tag]:
                symbol, lean = symbols[place], variant_weight * probability
                value = (counts.get((symbol, number), 0.0) + lean) / (of_symbol[symbol] + variant_weight)
                found[place] = probability if len(variants[tag]) == 1 else value
        entries += sorted(found)
        weights += [found[place] for place in sorted(found)]
        from_class[number + 1] = len(entries)
    return Emissions(from_class, np.array(entries, dtype=INDEX), np.log(np.array(weights, dtype=SCORE)), floor)
