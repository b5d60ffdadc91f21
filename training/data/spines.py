"""Spines of treebanks: their inventory, its coverage of new text, and how well words and tags predict them.

The category of a token is its spine or its directional spine, as text.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from spacy_dtparse.errors import TrainingDataError, TreeError
from spacy_dtparse.trees import HeadRules, Recipe, Tree, round_trip_problem
from training.data.bad_input import read_trees

from .corpus import Sentence, training_tree

COVERAGE = {
    "category": "category is in the inventory",
    "word": "word was seen",
    "word_category": "word was seen with the category",
    "tag": "tag was seen",
    "tag_category": "tag was seen with the category",
    "guess": "category is the tag's most frequent",
    "whole": "sentences with all categories in the inventory",
}
"""The measures of `Inventory.coverage`: fractions of tokens, except the last."""


class SpineToken(NamedTuple):
    """A word as in raw text, its tag, and its category."""

    word: str
    tag: str
    category: str


def categorise(
    sentences: Iterable[Sentence], recipe: Recipe, categories: Callable[[Tree], Sequence[str]]
) -> list[list[SpineToken]]:
    """The tokens of each sentence's training tree (see `training_tree`) with the categories that `categories` returns.
    Raises TrainingDataError for a tree without categories."""
    tokens = []
    for sentence in sentences:
        tree = training_tree(sentence, recipe)
        try:
            tokens.append(list(map(SpineToken, tree.words, tree.tags, categories(tree))))
        except TreeError as error:
            raise TrainingDataError(f"treebank {sentence.source}, {tree!r}: {error}") from error
    return tokens


def replace_rare(sentences: Sequence[Sequence[SpineToken]], min_count: int) -> list[list[SpineToken]]:
    """Replace categories that occur less than `min_count` times by the tag's most frequent category among the others
    (among those of all tags if it has none). Raises TrainingDataError if no category occurs so often."""
    counts = Counter(token.category for sentence in sentences for token in sentence)
    frequent = [[token for token in sentence if counts[token.category] >= min_count] for sentence in sentences]
    if not any(frequent):
        raise TrainingDataError(
            f"no category occurs {min_count} times, the most frequent one {max(counts.values(), default=0)} times; "
            "give a smaller number"
        )
    guess = cache(Inventory(frequent).guess)
    return [
        [
            token if counts[token.category] >= min_count else token._replace(category=guess(token.tag))
            for token in sentence
        ]
        for sentence in sentences
    ]


class Inventory:
    """The categories of a treebank's tokens: `counts` of each, `by_word` and `by_tag` their counts by word and by tag.
    Raises TrainingDataError when there is no token."""

    def __init__(self, sentences: Iterable[Sequence[SpineToken]]):
        self.sentences = 0
        self.counts: Counter[str] = Counter()
        self.by_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.by_tag: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for sentence in sentences:
            self.sentences += 1
            for word, tag, category in sentence:
                self.counts[category] += 1
                self.by_word[word][category] += 1
                self.by_tag[tag][category] += 1
        if not self.counts:
            raise TrainingDataError("no tokens; give a file of bracketed trees")

    def guess(self, tag: str) -> str:
        """The most frequent category of a tag (of all tokens, for an unseen tag); ties are broken alphabetically."""
        return _most_frequent(self.by_tag.get(tag, self.counts))

    def describe(self, max_frequent: int = 20) -> dict[str, Any]:
        """Plain data: "sentences", "tokens", "categories", "once": categories that occur once, "frequent": the most
        frequent ones, at most `max_frequent`, with their counts, "entropy" of the categories in bits, and "by_word",
        "by_tag", "tags".

        "by_word" and "by_tag" have "kinds": number of words or tags, "mean": mean number of categories of each,
        "mean_of_tokens": that mean over tokens, "entropy": conditional entropy given the word or tag, and "right":
        fraction of tokens that have the most frequent category of their word or tag. "tags" has each tag, the most
        frequent first, with its "tokens", "categories", "entropy", "guess" (its most frequent category) and "right".
        """
        ranked = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        tags = {}
        for tag, counts in sorted(self.by_tag.items(), key=lambda item: (-item[1].total(), item[0])):
            guess = _most_frequent(counts)
            tags[tag] = {**_size(counts), "guess": guess, "right": counts[guess] / counts.total()}
        return {
            "sentences": self.sentences,
            **_size(self.counts),
            "once": sum(count == 1 for count in self.counts.values()),
            "frequent": dict(ranked[:max_frequent]),
            "by_word": _ambiguity(self.by_word),
            "by_tag": _ambiguity(self.by_tag),
            "tags": tags,
        }

    def coverage(self, sentences: Iterable[Sequence[SpineToken]]) -> dict[str, Any]:
        """The coverage of held-out text: "sentences", "tokens", and the `COVERAGE` from 0 to 1; "guess" is the fraction
        of tokens whose category `guess` predicts from the tag. Raises TrainingDataError if there is no token."""
        hits: Counter[str] = Counter()
        n_sentences = tokens = 0
        guess = cache(self.guess)
        for sentence in sentences:
            n_sentences += 1
            tokens += len(sentence)
            hits["whole"] += all(token.category in self.counts for token in sentence)
            for word, tag, category in sentence:
                hits["category"] += category in self.counts
                hits["word"] += word in self.by_word
                hits["tag"] += tag in self.by_tag
                hits["word_category"] += category in self.by_word.get(word, ())
                hits["tag_category"] += category in self.by_tag.get(tag, ())
                hits["guess"] += category == guess(tag)
        if not tokens:
            raise TrainingDataError("no held-out tokens; give a file of bracketed trees")
        fractions = {name: hits[name] / (n_sentences if name == "whole" else tokens) for name in COVERAGE}
        return {"sentences": n_sentences, "tokens": tokens, **fractions}


def entropy(counts: Mapping[str, int]) -> float:
    """The entropy of relative frequencies, in bits."""
    total = sum(counts.values())
    return -sum(count / total * math.log2(count / total) for count in counts.values()) + 0.0


def _size(counts: Counter[str]) -> dict[str, float]:
    return {"tokens": counts.total(), "categories": len(counts), "entropy": entropy(counts)}


def _most_frequent(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda category: (-counts[category], category))


def _ambiguity(table: Mapping[str, Counter[str]]) -> dict[str, float]:
    """The entry of `Inventory.describe` for words or for tags."""
    total = sum(counts.total() for counts in table.values())
    return {
        "kinds": len(table),
        "mean": sum(map(len, table.values())) / len(table),
        "mean_of_tokens": sum(counts.total() * len(counts) for counts in table.values()) / total,
        "entropy": sum(counts.total() * entropy(counts) for counts in table.values()) / total,
        "right": sum(max(counts.values()) for counts in table.values()) / total,
    }


def report(described: Mapping[str, Any], covered: Mapping[str, Any] | None, tags: int = 20) -> str:
    """The results of `Inventory.describe` and `Inventory.coverage` as text; with a row for each of the `tags` most
    frequent tags."""
    total = described["tokens"]
    lines = [
        f"{described['sentences']} sentences, {total} tokens, {described['categories']} categories, "
        f"{described['once']} of them occur once, entropy {described['entropy']:.3f} bits",
        "most frequent: " + ", ".join(f"{name} {count / total:.2%}" for name, count in described["frequent"].items()),
    ]
    for kind in ("word", "tag"):
        found = described[f"by_{kind}"]
        means = f"{found['mean']:.2f} categories each, {found['mean_of_tokens']:.2f} a token"
        lines.append(
            f"{found['kinds']} {kind}s with {means}; entropy given the {kind} {found['entropy']:.3f} bits, "
            f"{found['right']:.2%} of tokens have its most frequent category"
        )
    lines.append(f"{'tag':8}{'tokens':>9}{'categories':>11}{'entropy':>9}{'right':>9}  most frequent")
    for tag, row in list(described["tags"].items())[:tags]:
        lines.append(
            f"{tag:8}{row['tokens']:9}{row['categories']:11}{row['entropy']:9.3f}{row['right']:9.2%}  {row['guess']}"
        )
    if covered is not None:
        lines.append(f"held out: {covered['sentences']} sentences, {covered['tokens']} tokens")
        lines += [f"{covered[name]:9.3%}  {what}" for name, what in COVERAGE.items()]
    return "\n".join(lines)


def check_round_trips(
    path: Path, rules: HeadRules, max_problems: int = 5, directional: bool = False
) -> tuple[int, int, list[str]]:
    """(Number of trees of a file, number that cannot be rebuilt from spines and brackets, or from directional spines
    alone, problems of the first `max_problems` of these). Function tags and empty elements are retained."""
    found = [round_trip_problem(tree, rules, directional) for tree in read_trees(path)]
    problems = [f"{path}, tree {i}: {problem}" for i, problem in enumerate(found, 1) if problem]
    return len(found), len(problems), problems[:max_problems]
