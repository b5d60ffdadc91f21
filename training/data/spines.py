"""Spines of treebanks: which there are, how many of new text they cover, how far a word or its tag tells them.

A token's category is its written spine or its sided spine.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from spacy_dtparse.errors import TrainingDataError, TreeError
from spacy_dtparse.trees import HeadRules, Recipe, Tree, read_trees, round_trip_problem

from .corpus import Sentence, training_tree

SHARES = {
    "category": "category is in the inventory",
    "word": "word was seen",
    "word_category": "word was seen with the category",
    "tag": "tag was seen",
    "tag_category": "tag was seen with the category",
    "guess": "category is the tag's most frequent",
    "whole": "sentences with all categories in the inventory",
}
"""What `Inventory.coverage` measures: all but the last are shares of tokens."""


class Token(NamedTuple):
    """A word as in text, its tag, and its category."""

    word: str
    tag: str
    category: str


def categorised(
    sentences: Iterable[Sentence], recipe: Recipe, categories: Callable[[Tree], Sequence[str]]
) -> list[list[Token]]:
    """The tokens of each sentence's training tree (see `training_tree`) with what `categories` says of it.

    Raises TrainingDataError for a tree that has no categories.
    """
    made = []
    for sentence in sentences:
        tree = training_tree(sentence, recipe)
        try:
            made.append(list(map(Token, tree.words, tree.tags, categories(tree))))
        except TreeError as error:
            raise TrainingDataError(f"treebank {sentence.source}, {tree!r}: {error}") from error
    return made


def without_rare(sentences: Sequence[Sequence[Token]], least: int) -> list[list[Token]]:
    """The sentences where categories met less than `least` times are replaced by the tag's most frequent of the others
    (of all tags together, where it has none).

    Raises TrainingDataError when no category is met as often.
    """
    counts = Counter(token.category for sentence in sentences for token in sentence)
    frequent = [[token for token in sentence if counts[token.category] >= least] for sentence in sentences]
    if not any(frequent):
        raise TrainingDataError(
            f"no category is met {least} times, the most frequent one {max(counts.values(), default=0)} times; give a "
            "smaller number"
        )
    guess = cache(Inventory(frequent).guess)
    return [
        [token if counts[token.category] >= least else token._replace(category=guess(token.tag)) for token in sentence]
        for sentence in sentences
    ]


class Inventory:
    """The categories of a treebank's tokens: `counts` of each, `of_word` and `of_tag` their counts by word and by tag.

    Raises TrainingDataError when there is no token.
    """

    def __init__(self, sentences: Iterable[Sequence[Token]]):
        self.sentences = 0
        self.counts: Counter[str] = Counter()
        self.of_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.of_tag: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for sentence in sentences:
            self.sentences += 1
            for word, tag, category in sentence:
                self.counts[category] += 1
                self.of_word[word][category] += 1
                self.of_tag[tag][category] += 1
        if not self.counts:
            raise TrainingDataError("there is no token to take categories from; give a file of bracketed trees")

    def guess(self, tag: str) -> str:
        """The most frequent category of a tag (of all tokens, for a tag not seen); of equals the first in order."""
        return _most(self.of_tag[tag] if tag in self.of_tag else self.counts)

    def describe(self, most: int = 20) -> dict[str, Any]:
        """Plain data: `sentences`, `tokens`, `categories`, `once`: those met once, `frequent`: the `most` frequent with
        their counts, `entropy` of the categories in bits, and `by_word`, `by_tag`, `tags`.

        `by_word` and `by_tag` have `kinds`: how many there are, `mean` number of categories of each, `mean_of_tokens`:
        the same over tokens, `entropy` that is left when they are known, and `right`: the share of tokens that have
        the most frequent category of their word or tag. `tags` has each tag, the most frequent first, with its
        `tokens`, `categories`, `entropy`, `guess` (its most frequent category) and `right`.
        """
        ranked = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        tags = {}
        for tag, counts in sorted(self.of_tag.items(), key=lambda item: (-item[1].total(), item[0])):
            guess = _most(counts)
            tags[tag] = {
                "tokens": counts.total(), "categories": len(counts), "entropy": entropy(counts), "guess": guess,
                "right": counts[guess] / counts.total(),
            }  # fmt: skip
        return {
            "sentences": self.sentences,
            "tokens": self.counts.total(),
            "categories": len(self.counts),
            "once": sum(count == 1 for count in self.counts.values()),
            "frequent": dict(ranked[:most]),
            "entropy": entropy(self.counts),
            "by_word": _ambiguity(self.of_word),
            "by_tag": _ambiguity(self.of_tag),
            "tags": tags,
        }

    def coverage(self, sentences: Iterable[Sequence[Token]]) -> dict[str, Any]:
        """What this inventory knows of held-out text: `sentences`, `tokens`, and the SHARES from 0 to 1; `guess` is the
        share of tokens whose category `guess` finds from the tag.

        Raises TrainingDataError when there is no token.
        """
        hits: Counter[str] = Counter()
        whole = number = tokens = 0
        none: Counter[str] = Counter()
        guess = cache(self.guess)
        for sentence in sentences:
            number += 1
            tokens += len(sentence)
            whole += all(token.category in self.counts for token in sentence)
            for word, tag, category in sentence:
                hits["category"] += category in self.counts
                hits["word"] += word in self.of_word
                hits["tag"] += tag in self.of_tag
                hits["word_category"] += category in self.of_word.get(word, none)
                hits["tag_category"] += category in self.of_tag.get(tag, none)
                hits["guess"] += category == guess(tag)
        if not tokens:
            raise TrainingDataError("there is no held-out token; give a file of bracketed trees")
        shares = {name: hits[name] / tokens for name in SHARES if name != "whole"}
        return {"sentences": number, "tokens": tokens, **shares, "whole": whole / number}


def entropy(counts: Mapping[str, int]) -> float:
    """The entropy of relative frequencies, in bits."""
    total = sum(counts.values())
    return -sum(count / total * math.log2(count / total) for count in counts.values()) + 0.0


def _most(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda category: (-counts[category], category))


def _ambiguity(table: Mapping[str, Counter[str]]) -> dict[str, float]:
    """What `Inventory.describe` says of words or tags."""
    total = sum(counts.total() for counts in table.values())
    return {
        "kinds": len(table),
        "mean": sum(map(len, table.values())) / len(table),
        "mean_of_tokens": sum(counts.total() * len(counts) for counts in table.values()) / total,
        "entropy": sum(counts.total() * entropy(counts) for counts in table.values()) / total,
        "right": sum(max(counts.values()) for counts in table.values()) / total,
    }


def report(described: Mapping[str, Any], covered: Mapping[str, Any] | None, tags: int = 20) -> str:
    """What `Inventory.describe` and `Inventory.coverage` found, as text; the `tags` most frequent tags have a row."""
    total = described["tokens"]
    lines = [
        f"{described['sentences']} sentences, {total} tokens, {described['categories']} categories, "
        f"{described['once']} of them met once, entropy {described['entropy']:.3f} bits",
        "most frequent: " + ", ".join(f"{name} {count / total:.2%}" for name, count in described["frequent"].items()),
    ]
    for kind in ("word", "tag"):
        found = described[f"by_{kind}"]
        means = f"{found['mean']:.2f} categories each, {found['mean_of_tokens']:.2f} a token"
        lines.append(
            f"{found['kinds']} {kind}s with {means}; {found['entropy']:.3f} bits left when the {kind} is known, "
            f"{found['right']:.2%} of tokens have its most frequent one"
        )
    lines.append(f"{'tag':8}{'tokens':>9}{'categories':>11}{'entropy':>9}{'right':>9}  most frequent")
    for tag, row in list(described["tags"].items())[:tags]:
        lines.append(
            f"{tag:8}{row['tokens']:9}{row['categories']:11}{row['entropy']:9.3f}{row['right']:9.2%}  {row['guess']}"
        )
    if covered is not None:
        lines.append(f"held out: {covered['sentences']} sentences, {covered['tokens']} tokens")
        lines += [f"{covered[name]:9.3%}  {what}" for name, what in SHARES.items()]
    return "\n".join(lines)


def check_file(path: Path, rules: HeadRules, most: int = 5, sided: bool = False) -> tuple[int, int, list[str]]:
    """How many trees a file has, function tags and empty elements kept, how many of them do not come back from their
    spines and brackets (from their sided spines alone), and why, for the first `most` of these."""
    trees = failed = 0
    problems: list[str] = []
    for tree in read_trees(path):
        trees += 1
        problem = round_trip_problem(tree, rules, sided)
        if problem:
            failed += 1
            if len(problems) < most:
                problems.append(f"{path}, tree {trees}: {problem}")
    return trees, failed, problems
