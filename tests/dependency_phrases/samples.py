"""Sentences with dependency trees, written for these tests, and the phrases that are expected of them."""

from pathlib import Path
from typing import NamedTuple

from spacy_dtparse.dependency_phrases.profile import load_profile
from spacy_dtparse.dependency_phrases.rules import find_phrases


class Sample(NamedTuple):
    """A sentence: language, columns of its tokens, and its expected phrases as brackets."""

    lang: str
    words: list[str]
    pos: list[str]
    heads: list[int]
    relations: list[str]
    features: list[str]
    expected: str


def parse_tokens(line: str) -> tuple[list[str], list[str], list[int], list[str], list[str]]:
    """The columns of tokens word/UPOS/head/relation[/features]; heads are 0-based, -1 for the root."""
    cells = [(*token.split("/"), "")[:5] for token in line.split()]
    words, pos, heads, relations, features = (list(column) for column in zip(*cells, strict=True))
    return words, pos, [int(head) - 1 for head in heads], relations, features


def read_samples() -> list[Sample]:
    """The sentences of sentences.txt."""
    text = (Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8")
    blocks = [block.strip().splitlines() for block in text.partition("\n")[2].split("\n\n") if block.strip()]
    return [Sample(block[0], *parse_tokens(block[1]), block[2] if len(block) > 2 else "") for block in blocks]


def brackets(words: list[str], spans: list[tuple[int, int, str]]) -> str:
    """Phrases as brackets around words: [S [NP he] [VP went]]."""
    opening: dict[int, str] = {}
    closing: dict[int, int] = {}
    for start, end, label in spans:
        opening[start] = opening.get(start, "") + f"[{label} "
        closing[end] = closing.get(end, 0) + 1
    return " ".join(opening.get(i, "") + word + "]" * closing.get(i + 1, 0) for i, word in enumerate(words))


def phrases_of(sample: Sample, profile: str = "universal") -> str:
    """The phrases that the rules find, as brackets."""
    columns = sample.words, sample.pos, sample.features, sample.heads, sample.relations
    return brackets(sample.words, find_phrases(*columns, load_profile(profile, sample.lang)).spans)
